"""The files for pre-commit and GitHub type what a person would type, and it works."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.contexts.making import write_files
from tests.processes import run_context
from tests.release.making import REPOSITORY


def loaded(name: str) -> Any:
    return YAML(typ="safe").load((REPOSITORY / name).read_text())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_files(
        tmp_path,
        {
            "README.md": "# P\n\nA project to try.\n",
            "src/a b.py": '"""Runs what it is given."""\n\ndef run() -> None: ...\n',
        },
    )
    run_context("init", cwd=tmp_path)
    write_files(tmp_path, {"src/a b.py": '"""Runs what it is given."""\n\ndef ran() -> None: ...\n'})
    return tmp_path


def with_context() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_the_hook_for_pre_commit_fails_on_what_changed(project: Path) -> None:
    [hook] = loaded(".pre-commit-hooks.yaml")
    names = {"src/a b.py": 8, "README.md": 0}
    for name, code in names.items():
        command = [*shlex.split(hook["entry"]), name]
        done = subprocess.run(command, cwd=project, env=with_context(), capture_output=True, check=False)
        assert done.returncode == code, done.stderr
        assert (b"interface src" in done.stdout) == (code != 0)


def test_the_action_checks_the_names_that_git_gives_and_passes_no_input_as_code(project: Path) -> None:
    action = loaded("action.yml")
    step = action["runs"]["steps"][-1]
    assert "${{" not in step["run"]
    script = step["run"].replace('git fetch --quiet --depth=1 origin "$BASE"\n', "")
    git = project.parent / "bin" / "git"
    write_files(git.parent, {"git": "#!/bin/sh\nprintf 'src/a b.py\\0'\n"})
    git.chmod(0o755)
    summary = project.parent / "summary"
    env = with_context() | {
        "BASE": "x",
        "DRIFT": action["inputs"]["drift"]["default"],
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    env["PATH"] = f"{git.parent}:{env['PATH']}"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, check=False)
    assert done.returncode == 8, done.stderr
    assert "| src | interface |" in summary.read_text()

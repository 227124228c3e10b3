"""Do GitHub's workflows type what people type, with no more rights than they need?"""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.release.making import REPOSITORY, make_targets, supported_pythons

FILES = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
# GitHub's machines bring a browser, which the workflow names; their Ubuntu has Debian's Chromium only as a snap.
BROUGHT_BY_GITHUB = {"browser"}
ATTACH = "gh release create"


def workflow(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(file.read_text())
    return found


def steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(file)["jobs"].values() for step in job["steps"]]


def typed(file: Path) -> list[str]:
    return [step["run"] for step in steps(file) if "run" in step]


def targets_of(commands: list[str]) -> set[str]:
    alone = [command.split(" || ")[0] for command in commands if command.startswith("make ")]
    words = [word for command in alone for word in command.split()[1:]]
    return {word for word in words if "=" not in word}


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert [file.stem for file in FILES] == ["check", "release", "test"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_command_is_a_make_target_that_is_there(file: Path) -> None:
    commands = [command for command in typed(file) if not command.startswith(ATTACH)]
    assert commands
    assert [command for command in commands if not re.fullmatch(r"make \w+( [A-Z]+=\w+)*", command)] == []
    assert targets_of(commands) <= make_targets()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_may_read_the_sources_and_nothing_else(file: Path) -> None:
    assert workflow(file)["permissions"] == {"contents": "read"}


def test_only_the_job_that_attaches_a_release_may_write_and_it_runs_nothing_of_ours() -> None:
    jobs = [job for file in FILES for job in workflow(file)["jobs"].values() if "permissions" in job]
    assert [job["permissions"] for job in jobs] == [{"contents": "write"}]
    assert [step.get("run", "").startswith(ATTACH) for step in jobs[0]["steps"]] == [False, True]
    assert "actions/checkout" not in str(jobs[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_action_is_githubs_own_in_a_version_that_is_named(file: Path) -> None:
    used = [step["uses"] for step in steps(file) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


def test_the_tests_are_run_on_every_python_that_the_classifiers_name() -> None:
    job = workflow(REPOSITORY / ".github" / "workflows" / "test.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == supported_pythons()
    [installed] = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert installed.split() == [*supported_pythons(), "${{", "matrix.python", "}}"]


def test_the_workflows_leave_out_nothing_that_ci_runs() -> None:
    here = (REPOSITORY / ".ci" / "run").read_text().splitlines()
    assert targets_of(here) - targets_of([each for file in FILES for each in typed(file)]) == BROUGHT_BY_GITHUB

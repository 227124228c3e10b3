"""Can the hall be had with one line, whichever installer a person has?

`make installers` brings uv, pipx and the wheels that the hall needs; nothing is fetched here. That `pip install` of the
wheel works is tried for every Python in `test_installed.py`.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.machine import must_be_here
from tests.processes import PATIENCE_SECONDS
from tests.release.making import REPOSITORY, checkout

from contexthall import __version__
from contexthall.faces.cli.ourselves import uvx_command

INSTALLERS = (REPOSITORY / ".installers").resolve()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("ways-in") / "clone")


@pytest.fixture
def around(tmp_path: Path) -> dict[str, str]:
    """What a new user's environment says, where there is no network and every wheel is a file."""
    must_be_here(
        (INSTALLERS / "installed").exists(), "NO INSTALLERS: there is no uv below .installers; type `make installers`"
    )
    wheels = str(INSTALLERS / "wheels")
    return {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path / '.local' / 'bin'}:{os.defpath}",
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": wheels,
        "UV_PYTHON_DOWNLOADS": "never",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": wheels,
    }


def run(around: dict[str, str], *command: str, words: int = subprocess.PIPE) -> str:
    program = INSTALLERS / "bin" / command[0]
    line = [str(program) if program.exists() else command[0], *command[1:]]
    ran = subprocess.run(
        line,
        cwd=around["HOME"],
        env=around,
        stdout=subprocess.PIPE,
        stderr=words,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr or ran.stdout
    return ran.stdout


@pytest.mark.slow
def test_uvx_runs_it_and_writes_a_command_that_outlives_the_cache_of_uv(clone: Path, around: dict[str, str]) -> None:
    assert run(around, "uvx", "--from", str(clone), "contexthall", "--version") == f"context {__version__}\n"
    told = json.loads(run(around, "uvx", "--from", str(clone), "contexthall", "connect", "cursor"))
    entry = told["mcpServers"]["context-hall"]
    command = [entry["command"], *entry["args"]]
    assert command[:5] == [str(INSTALLERS / "bin" / "uvx"), "--from", str(clone), "contexthall", "serve"]


@pytest.mark.slow
def test_uvx_leads_to_what_can_be_typed_after_it_is_gone(clone: Path, around: dict[str, str]) -> None:
    project = Path(around["HOME"]) / "shop"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "keys.md").write_text("# Keys\n\n## How to rotate\n\nEvery month.\n")
    hall = ("uvx", "--from", str(clone), "contexthall")
    said = run(around, *hall, "setup", "--yes", "--path", "shop", "--only", "caches", words=subprocess.STDOUT)
    assert f'try it: `{INSTALLERS}/bin/uvx --from {clone} contexthall ask "How to rotate" --path {project}`' in said
    assert f"type: uv tool install {clone}\n" in run(around, *hall, "doctor", "--path", "shop")


@pytest.mark.slow
@pytest.mark.parametrize("installing", [("uv", "tool", "install"), ("pipx", "install")], ids=["uv", "pipx"])
def test_an_installer_puts_both_names_of_the_command_on_the_path(
    installing: tuple[str, ...], clone: Path, around: dict[str, str]
) -> None:
    run(around, *installing, str(clone))
    home = Path(around["HOME"]) / ".local" / "bin"
    for name in ("context", "contexthall"):
        assert run(around, str(home / name), "--version") == f"context {__version__}\n"
        entry = json.loads(run(around, str(home / name), "connect", "cursor"))["mcpServers"]["context-hall"]
        assert entry["command"] == str(home / name)


def test_what_came_from_an_index_is_run_by_its_name() -> None:
    assert uvx_command({}, "") == ["uvx", "contexthall"]
    assert uvx_command({"UV": "/opt/uv"}, "/a clone") == ["/opt/uvx", "--from", "/a clone", "contexthall"]

"""A project that may be read and not written: whoever reads is answered, whoever writes is told which file refused."""

import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.contexts.making import write_files

from contexthall.clients.hook_events import HOOK_CLIENTS
from contexthall.core.errors import DiskError
from contexthall.faces.cli.table import run
from contexthall.faces.hooks.entry import respond
from contexthall.system.disk import Disk

KEYS = '"""Keeps the keys."""\n\n\ndef rotate(key: str) -> str:\n    return key[::-1]\n'
FILES = {"README.md": "# P\n\nA project to try.\n", "src/keys.py": KEYS, "docs/a.md": "# A\n\nHow to.\n"}
READING: Mapping[str, tuple[int, str]] = {
    "status": (0, "src/   Keeps the keys. (evidence)"),
    "status --check": (8, "stale"),
    "show src": (0, "Never log a key."),
    "brief src/keys.py": (0, "NO LONGER HOLDS: src/keys.py#rotate changed"),
    "check --changed -": (8, "Never log a key."),
    "validate": (0, "valid"),
    "regen --dry-run": (0, "src"),
}
WRITING: Mapping[str, str] = {
    "note docs --constraint Never.": "docs/.context.yaml",
    "note src --claim constraints/1 --cite README.md": ".context.lock",
    "rehash src": "src/.context.yaml",
    "regen --stale": "src/.context.yaml",
    "init": "new/.context.yaml",
}


@pytest.fixture
def project(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Iterator[Path]:
    """A project with a claim in doubt and a directory without a context, in which nothing can be written."""
    root = tmp_path / "p"
    write_files(root, FILES)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run(["init"]) == 0
    assert run(["note", "src", "--constraint", "Never log a key.", "--cite", "src/keys.py#rotate"]) == 0
    write_files(root, {"src/keys.py": KEYS.replace("key: str", "key: bytes"), "new/store.py": KEYS})
    # Once as whoever may: what is loaded only now, somebody else might not be allowed to load.
    for command in (*READING, "rehash docs"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"src/keys.py\n")))
        run(command.split())
    ask(tmp_path / "another home", "PostToolUse", "Edit")
    places = [root, *root.rglob("*")]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    request.getfixturevalue("bound_by_permissions")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"src/keys.py\n")))
    monkeypatch.setenv("HOME", str(tmp_path / "home of nobody"))
    capfd.readouterr()
    before = contents(root)
    yield root
    assert contents(root) == before


@pytest.fixture(autouse=True)
def _written_again(tmp_path: Path) -> Iterator[None]:
    """Let whoever clears away do so."""
    yield
    for path in (tmp_path / "p").rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


def contents(root: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def ask(home: Path, event: str, tool: str = "") -> str:
    root = home.parent / "p"
    values = {"session_id": "s", "cwd": str(root), "tool_name": tool, "tool_input": {"file_path": "src/keys.py"}}
    data = json.dumps(values | {"source": "startup"}).encode()
    return respond(HOOK_CLIENTS["claude-code"], event, data, {"HOME": str(home)}, Disk())


@pytest.mark.parametrize("command", READING)
@pytest.mark.usefixtures("project")
def test_whoever_reads_is_answered(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, words = READING[command]
    assert run(command.split()) == code
    assert words in "".join(capfd.readouterr())


@pytest.mark.parametrize("command", WRITING)
def test_whoever_writes_is_told_which_file_refused(
    command: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(command.split()) == DiskError.exit_code
    assert f"{project / WRITING[command]}: Permission denied" in capfd.readouterr().err


def test_hooks_say_what_they_have_to(project: Path) -> None:
    home = project.parent / "home of nobody"
    assert ask(home, "SessionStart") == ""
    assert "Never log a key." in ask(home, "PreToolUse", "Edit")
    assert ask(home, "PreToolUse", "Edit") == ""
    assert "src/keys.py#rotate changed" in ask(home, "PostToolUse", "Edit")

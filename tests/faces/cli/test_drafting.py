"""`context init` and `context regen`, as they are typed."""

import json
from pathlib import Path

import pytest
from tests.contexts.making import write_files

from contexthall.faces.cli.table import run


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path / "p", {"README.md": "# P\n\nA project to try.\n", "src/a.py": '"""Does a."""\n'})
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def test_init_prints_what_was_written_and_says_how_much(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    assert capfd.readouterr() == ("src\n.\n", "2 written, 0 updated, 0 unchanged, 0 failed; AGENTS.md: created\n")
    assert run(["status", "--check"]) == 0
    capfd.readouterr()
    assert run(["init"]) == 0
    assert capfd.readouterr() == ("", "nothing to draft; AGENTS.md: unchanged\n")


def test_init_as_json(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {"data/a.ex": ""})
    assert run(["init", "--json", "--dry-run", "--no-agents"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "written": ["src", "."],
        "updated": [],
        "unchanged": [],
        "failed": [],
        "agents": "left alone",
        "replaced": {},
        "kept": {},
        "missing": ["data"],
        "unread": {"Elixir": 1},
        "dry_run": True,
    }
    assert not [*project.rglob(".context.yaml")]


def test_what_is_left_to_people_is_said(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {"data/a.ex": "", "data/b.exs": "", "data/c.zig": ""})
    assert run(["init"]) == 0
    said = "2 Elixir files, 1 Zig file, not read\n"
    counts = "2 written, 0 updated, 0 unchanged, 0 failed; 1 to be written by people; AGENTS.md: created\n"
    assert capfd.readouterr() == ("src\n.\n", said + counts)
    assert run(["status"]) == 0
    assert said in capfd.readouterr().err


def test_a_part_of_a_repository_is_drafted_only_when_it_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / ".git").mkdir()
    monkeypatch.chdir(project / "src")
    assert run(["init"]) == 1
    assert f"`context init --path {project}`" in capfd.readouterr().err
    assert not [*project.rglob(".context.yaml")]
    assert run(["init", "--path", "."]) == 0
    assert [*project.rglob(".context.yaml")] == [project / "src/.context.yaml"]


def test_regen_takes_scopes_or_all_or_what_is_stale(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["init"])
    write_files(project, {"src/a.py": '"""Does b."""\n'})
    capfd.readouterr()
    assert run(["regen", "--dry-run"]) == 0
    out, err = capfd.readouterr()
    assert out == "src\n"
    assert err.startswith("src: would replace summary\nnothing was written; it would be 0 written, 1 updated")
    assert run(["regen"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "src"
    assert run(["regen", "--all", "--full", "--json"]) == 0
    assert "src" in json.loads(capfd.readouterr().out)["updated"]
    assert run(["regen", "src", "--stale"]) == 1
    assert run(["regen", ".."]) == 1
    assert run(["show", "src", "--field", "summary", "--field", "files"]) == 0
    assert "Does b." in capfd.readouterr().out


def test_what_fails_is_said_and_the_exit_code_too(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "src/.context.yaml").symlink_to("elsewhere")
    assert run(["init"]) == 6
    out, err = capfd.readouterr()
    assert out == ".\n"
    assert "src: Cannot do that: a symlink is in the place of .context.yaml" in err
    assert "1 written, 0 updated, 0 unchanged, 1 failed" in err

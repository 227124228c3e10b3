"""`context doctor`, as it is typed; members are real processes, and so is the hall at the port."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import click
import pytest
from packaging.requirements import Requirement
from tests.caches.making import build_cache
from tests.contexts.making import make_project, write_context, write_files
from tests.faces.web.serving import HttpHall
from tests.guild.making import FakeFactory, FakeServer, is_alive, make_member, manager_of, read_cache, tool, write_cache
from tests.processes import CONTEXT, NOBODY, free_port, run_context
from tests.waiting import wait_until

from contexthall import __version__
from contexthall.faces.cli.diagnostics.environment import (
    check_command,
    check_installation,
    fits,
    installed_version,
    read_requirements,
)
from contexthall.faces.cli.diagnostics.findings import DoctorFinding, run_check
from contexthall.faces.cli.table import context, run
from contexthall.guild.manager import Member, Trial
from contexthall.guild.members.manifest import Launch
from contexthall.hall import Hall

Typed: TypeAlias = Callable[..., tuple[int, str, str]]
Asked: TypeAlias = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.usefixtures("project")

SECTIONS = ["hall", "roots", "caches", "contexts", "guild", "clients", "port"]
REPOSITORY = Path(__file__).parents[3]
SPEAKING = '"""Keeps the keys."""\n\n' + "x = 1\n" * 500


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a fresh context and a cache, in which the commands are typed, and a user who has nothing yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "built").mkdir()
    root = tmp_path / "project"
    make_project(root, {"README.md": "The shop. " * 100})
    (root / ".context" / "caches").mkdir(parents=True)
    add_cache(root, "handbook")
    monkeypatch.chdir(root)
    return root


def add_cache(project: Path, name: str) -> Path:
    """Build a cache of two documents below the cache root."""
    cache = build_cache(project.parent / "built", {"a.md": "rotate keys", "b.md": "other words"}, name=name)
    return cache.rename(project / ".context" / "caches" / name)


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Typed:
    """Type `context doctor`; give exit code, standard output and standard error."""

    def typed(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        port = () if "--port" in arguments else ("--port", str(free_port()))
        code = run(["doctor", *port, *arguments])
        return code, *capfd.readouterr()

    return typed


@pytest.fixture
def asked(typed: Typed) -> Asked:
    """Type `context doctor --json`; give what it says."""

    def asked(*arguments: str) -> dict[str, Any]:
        code, out, _ = typed("--json", *arguments)
        report: dict[str, Any] = json.loads(out)
        assert code == (0 if report["sound"] else 8)
        return report

    return asked


@pytest.fixture
def bound(project: Path, asked: Asked, request: pytest.FixtureRequest) -> None:
    """The project is that of somebody whom permissions bind, who might not be allowed to load what was not yet."""
    assert asked()["sound"]
    if os.geteuid() == 0:
        for path in (project, *project.rglob("*"), *project.parent.iterdir()):
            os.chown(path, NOBODY, NOBODY)
    request.getfixturevalue("bound_by_permissions")


def wrongs(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, each["subject"]) for name in SECTIONS for each in report[name] if each["mark"] == "wrong"]


def finding(report: dict[str, Any], section: str, subject: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = [each for each in report[section] if each["subject"] == subject]
    assert len(found) == 1, report[section]
    return found[0]


def files_below(*directories: Path) -> dict[str, bytes]:
    paths = [path for directory in directories for path in directory.rglob("*")]
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}


# The screen:


def test_a_sound_hall_is_told_so_on_one_screen(project: Path, typed: Typed) -> None:
    code, out, err = typed()
    assert code == 0
    assert err.startswith("nothing is wrong; ")
    lines = out.splitlines()
    assert len(lines) + len(err.splitlines()) <= 40
    titles = [line for line in lines if not line.startswith(" ")]
    assert titles == ["The hall", "Roots and settings", "Caches", "Contexts", "Guild", "Clients", "Port"]
    assert all(line[2:9] in {"ok     ", "note   ", " " * 7} for line in lines if line not in titles)
    assert f"  ok     project     {project}" in lines


def test_what_is_wrong_is_told_with_a_command_to_paste_and_exit_code_8(project: Path, typed: Typed) -> None:
    (next((project / ".context" / "caches" / "handbook" / "documents").iterdir())).unlink()
    code, out, err = typed()
    assert code == 8
    assert err.startswith("error[check_failed]: The check does not hold: 1 wrong")
    lines = out.splitlines()
    wrong = next(number for number, line in enumerate(lines) if line.startswith("  wrong"))
    assert lines[wrong].split()[1] == "handbook"
    building = "context build --sources DIR --cache .context/caches/handbook --force"
    assert lines[wrong + 1] == f"         type: {building}"


def test_many_that_are_sound_are_summed_up_but_none_that_is_wrong(project: Path, typed: Typed) -> None:
    for number in range(10):
        add_cache(project, f"sound-{number}")
    for number in range(3):
        (add_cache(project, f"worse-{number}") / "index.json").unlink()
    code, out, _ = typed()
    assert code == 8
    assert [f"worse-{number}" in out for number in range(3)] == [True] * 3
    assert "and 6 more, all sound; --json has all" in out
    assert len(out.splitlines()) <= 40


def test_json_has_every_section_and_every_finding(project: Path, asked: Asked) -> None:
    for number in range(10):
        add_cache(project, f"sound-{number}")
    report = asked()
    assert list(report) == ["sound", "wrong", "notes", *SECTIONS]
    assert report["wrong"] == 0
    assert report["notes"] == sum(each["mark"] == "note" for name in SECTIONS for each in report[name])
    assert all(
        list(each) == ["mark", "subject", "found", "type", "facts"] for name in SECTIONS for each in report[name]
    )
    assert len(report["caches"]) == 11
    assert finding(report, "hall", "contexthall")["facts"]["version"] == __version__


def test_what_others_wrote_is_shown_and_not_obeyed(project: Path, typed: Typed, tmp_path: Path) -> None:
    (project / ".context" / "caches" / "a\x1b[2Jb\nwrong").mkdir()
    make_member(tmp_path / "guild", "echo")
    (tmp_path / "guild" / "echo").rename(tmp_path / "guild" / "x\x1b]0;y")
    (tmp_path / "guild" / "x\x1b]0;y" / "plugin.json").write_text("{")
    with listening(b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok","version":"\\u001b[2J\\nwrong"}') as port:
        _, out, err = typed("--guild", str(tmp_path / "guild"), "--port", str(port))
    assert "\x1b" not in out + err
    assert "a Context Hall \\x1b[2J\\nwrong listens" in out
    assert "a\\x1b[2Jb\\nwrong" in out
    assert "x\\x1b]0;y" in out


# One bad thing hides no other:


def test_everything_that_is_wrong_is_found_at_once(
    project: Path, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "contexthall.toml").write_text("x = [")
    monkeypatch.setenv("CONTEXT_TOOL_TIMEOUT_SECS", "soon")
    (project / ".context" / "caches" / "handbook" / "manifest.json").write_text("{}")
    write_files(project, {"src/a.py": "x = 1\n" * 500, "src/.context.yaml": "version: 1\n"})
    (tmp_path / "guild").write_text("no directory")
    (project / ".mcp.json").write_text("{")
    report = asked("--guild", str(tmp_path / "guild"))
    assert wrongs(report) == [
        ("roots", "settings"),
        ("roots", "settings"),
        ("caches", "handbook"),
        ("contexts", "invalid"),
        ("guild", "guild"),
        ("clients", "Claude Code"),
    ]
    commands = [each["type"] for name in SECTIONS for each in report[name] if each["mark"] == "wrong"]
    assert commands == [
        f"${{EDITOR:-vi}} {project}/contexthall.toml",
        "unset CONTEXT_TOOL_TIMEOUT_SECS",
        "context build --sources DIR --cache .context/caches/handbook --force",
        "context validate",
        f"ls -ld {tmp_path}/guild",
        f"${{EDITOR:-vi}} {project}/.mcp.json",
    ]


def test_settings_that_can_be_used_count_where_others_cannot(project: Path, asked: Asked, tmp_path: Path) -> None:
    (project / "contexthall.toml").write_text('cache_root = "elsewhere"')
    own = tmp_path / "home" / ".config" / "contexthall" / "contexthall.toml"
    own.parent.mkdir(parents=True)
    own.write_text('guild = "guild"\nnothing = 1')
    (project / "elsewhere").mkdir()
    report = asked()
    assert wrongs(report) == [("roots", "settings")]
    assert finding(report, "roots", "cache root")["found"] == str(project / "elsewhere")
    assert finding(report, "guild", "guild")["mark"] == "note"
    settings = [each["facts"] for each in report["roots"] if each["subject"] == "settings"]
    assert settings == [
        {"source": str(project / "contexthall.toml"), "there": True},
        {"source": str(own), "there": True},
    ]


def test_a_cache_root_that_leads_out_of_a_confined_project_is_wrong(
    project: Path, asked: Asked, tmp_path: Path
) -> None:
    own = tmp_path / "home" / ".config" / "contexthall" / "contexthall.toml"
    own.parent.mkdir(parents=True)
    own.write_text("confine = true")
    (project / ".context" / "caches").rename(tmp_path / "outside")
    (project / ".context" / "caches").symlink_to(tmp_path / "outside")
    assert ("roots", "settings") in wrongs(asked())


def test_a_symlink_to_nowhere_in_the_place_of_the_cache_root_is_wrong(project: Path, asked: Asked) -> None:
    (project / ".context" / "caches").rename(project / "moved")
    (project / ".context" / "caches").symlink_to("nowhere")
    report = asked()
    assert wrongs(report) == [("roots", "cache root")]
    assert finding(report, "roots", "cache root")["found"].endswith("No such file or directory")


@pytest.mark.usefixtures("bound")
def test_a_cache_root_that_cannot_be_read_is_one_wrong_line(project: Path, asked: Asked) -> None:
    root = project / ".context" / "caches"
    root.chmod(0)
    try:
        report = asked()
    finally:
        root.chmod(0o755)
    assert wrongs(report) == [("roots", "cache root")]
    assert finding(report, "roots", "cache root")["type"] == f"ls -ld {root}"
    assert finding(report, "contexts", "directories")["facts"]["fresh"] == 1


@pytest.mark.usefixtures("bound")
def test_a_cache_that_cannot_be_read_hides_no_other(project: Path, asked: Asked) -> None:
    locked = add_cache(project, "locked")
    (add_cache(project, "later") / "index.json").unlink()
    locked.chmod(0)
    try:
        report = asked()
    finally:
        locked.chmod(0o755)
    assert wrongs(report) == [("caches", "later"), ("caches", "locked")]
    assert "Permission denied" in finding(report, "caches", "locked")["found"]
    assert finding(report, "caches", "locked")["type"] == "context verify --cache locked"


@pytest.mark.usefixtures("bound")
def test_a_project_that_cannot_be_read_hides_nothing_else(project: Path, asked: Asked, tmp_path: Path) -> None:
    make_project(tmp_path / "locked", {})
    add_cache(project, "more")
    (tmp_path / "locked").chmod(0o100)
    try:
        report = asked("--path", str(tmp_path / "locked"), "--cache-root", str(project / ".context" / "caches"))
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert wrongs(report) == [("roots", "project")]
    assert [each["subject"] for each in report["caches"]] == ["handbook", "more"]


@pytest.mark.usefixtures("bound")
def test_what_can_be_read_but_not_written_is_a_note(project: Path, asked: Asked) -> None:
    project.chmod(0o555)
    try:
        report = asked()
    finally:
        project.chmod(0o755)
    assert report["sound"]
    assert finding(report, "roots", "project")["mark"] == "note"


def test_a_section_that_fails_is_a_finding_and_keeps_what_it_found(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_hall: Hall) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(Hall, "survey_contexts", fail)
    report = asked("--cache-root", ".context/caches")
    assert wrongs(report) == [("contexts", "contexts")]
    told = finding(report, "contexts", "contexts")
    assert "a mistake of ours" in told["found"]
    assert told["type"] == "CONTEXT_DEBUG=1 context doctor --cache-root .context/caches"

    def examine() -> Iterator[DoctorFinding]:
        yield DoctorFinding("ok", "first", "sound")
        raise ImportError("no module")

    assert [each.subject for each in run_check("room", examine)] == ["first", "room"]


def test_whoever_debugs_gets_the_trace_of_a_section_that_fails(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hall, "survey_contexts", lambda _hall: 1 // 0)
    monkeypatch.setenv("CONTEXT_DEBUG", "1")
    code, _, err = typed()
    assert code == 7
    assert "Traceback" in err


def test_what_was_typed_wrongly_is_a_usage_error(typed: Typed) -> None:
    assert typed("--path", "nowhere")[0] == 1
    assert typed("--port", "0")[0] == 1


def test_every_command_that_is_told_can_be_typed(project: Path, asked: Asked, tmp_path: Path) -> None:
    (project / ".context" / "caches" / "handbook" / "postings.bin").unlink()
    write_files(project, {"src/a.py": SPEAKING, "silent/a.py": "x = 1\n" * 500, "README.md": "Changed. " * 100})
    write_files(project, {"bad/a.py": "x = 1\n" * 500, "bad/.context.yaml": "version: 1\n"})
    make_member(tmp_path / "guild", "echo")
    (make_member(tmp_path / "guild", "bad") / "plugin.json").write_text("{")
    report = asked("--no-start", "--path", str(project), "--guild", str(tmp_path / "guild"))
    typed = [each["type"] for name in SECTIONS for each in report[name] if each["type"]]
    ours = [shlex.split(each)[1:] for each in typed if each.startswith("context ")]
    assert {words[0] for words in ours} == {"build", "regen", "init", "note", "validate", "guild", "connect"}
    for words in ours:
        parse([word.replace("CLIENT", "cursor") for word in words])


def parse(words: list[str]) -> None:
    """Read what was typed as click does, without doing it."""
    command: click.Command = context
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    with command.make_context("context", words):
        pass


# Roots, caches and contexts:


def test_a_project_in_which_nothing_was_done_yet_has_only_notes(
    tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "new", {"src/a.py": "x = 1\n" * 500})
    monkeypatch.chdir(tmp_path / "new")
    report = asked()
    assert report["sound"]
    told = {each["subject"]: each["type"] for name in SECTIONS[2:6] for each in report[name] if each["mark"] == "note"}
    assert told == {
        "caches": "context build --sources DIR --cache .context/caches/NAME",
        "missing": "context init",
        "for people": "context note src --constraint TEXT",
        "guild": "context guild add --guild DIR NAME -- COMMAND",
        "clients": "context connect CLIENT --write",
    }


def test_a_cache_root_that_was_named_and_is_not_there_is_wrong(asked: Asked) -> None:
    assert wrongs(asked("--cache-root", "nowhere")) == [("roots", "cache root")]


def test_a_cache_whose_index_is_not_believed_is_told_of(project: Path, asked: Asked) -> None:
    report = asked()
    facts = finding(report, "caches", "handbook")["facts"]
    known = {"documents": 2, "version": "", "violations": 0, "index": "used", "state": "unknown", "changed": 0}
    assert facts | {"version": ""} == known
    other = add_cache(project, "other")
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"created_at": "2026-03-04T05:06:07Z"}))
    (project / ".context" / "caches" / "handbook" / "postings.bin").unlink()
    report = asked()
    assert report["sound"]
    reasons = {name: finding(report, "caches", name) for name in ("handbook", "other")}
    assert {each["mark"] for each in reasons.values()} == {"note"}
    assert reasons["handbook"]["facts"]["index"] == "there is none"
    assert reasons["other"]["facts"]["index"] == "header is damaged"


def test_a_cache_whose_sources_changed_or_are_gone_is_a_note_with_what_to_type(project: Path, asked: Asked) -> None:
    for name in ("docs", "notes"):
        write_files(project, {f"{name}/a.md": "# A\n\nred apple\n"})
        assert run(["build", "--sources", name, "--cache", f".context/caches/{name}"]) == 0
    assert finding(asked(), "caches", "docs")["facts"]["state"] == "fresh"
    write_files(project, {"docs/a.md": "# A\n\ngreen apple\n", "docs/b.md": "new"})
    (project / "notes").rename(project / "elsewhere")
    report = asked()
    stale, gone = finding(report, "caches", "docs"), finding(report, "caches", "notes")
    assert report["sound"]
    assert (stale["mark"], stale["type"]) == ("note", "context refresh docs")
    assert stale["found"].endswith("; 2 changed: added b.md; modified a.md")
    assert stale["facts"]["state"] == "stale"
    assert (gone["mark"], gone["facts"]["state"]) == ("note", "unknown")
    assert gone["found"].endswith(f"; the sources are not there any more: {project}/notes")
    assert gone["type"] == "context build --sources DIR --cache .context/caches/notes --force"
    assert run(["refresh", "docs"]) == 0
    assert finding(asked(), "caches", "docs")["mark"] == "ok"


def test_sources_that_are_left_out_or_hide_others_are_named_with_their_folder(project: Path, asked: Asked) -> None:
    name = os.fsdecode(b"docs/bad\xe9.md")
    write_files(project, {"docs/a.md": "# A\n", name: "# Bad\n", "docs/t.html": "{{ x }}", "docs/u.html": "{{ y }}"})
    assert run(["build", "--sources", "docs", "--cache", ".context/caches/docs"]) == 0
    told = finding(asked(), "caches", "docs")
    assert (told["mark"], told["facts"]["state"]) == ("note", "fresh")
    templates = "t.html, u.html (it is a template of pages, and no page)"
    assert told["found"].endswith(f"; left out of {project}/docs: bad\ufffd.md (its name is not UTF-8), {templates}")
    write_files(project, {"docs/A.md": "# A\n"})
    told = finding(asked(), "caches", "docs")
    assert told["found"].endswith("; A.md and a.md have the same id, a.md")
    assert told["type"] == "context refresh docs"


def test_what_a_killed_build_left_and_what_is_no_cache_are_notes(project: Path, asked: Asked) -> None:
    (project / ".context" / "caches" / ".contexthall-notes").mkdir()
    (project / ".context" / "caches" / "empty").mkdir()
    report = asked()
    assert report["sound"]
    assert finding(report, "caches", "notes")["type"].endswith("--cache .context/caches/notes --force")
    assert finding(report, "caches", "empty")["mark"] == "note"


def test_contexts_are_counted_and_those_that_are_not_fresh_are_named(project: Path, asked: Asked) -> None:
    for name in ("stale", "missing", "invalid"):
        write_files(project, {f"{name}/a.py": SPEAKING})
    write_files(project, {"silent/a.py": "x = 1\n" * 500})
    write_context(project / "stale", "stale", fingerprint="00000000")
    write_context(project / "invalid", "invalid", more="fields: nobody knows\nversion: two\n")
    write_context(project, ".")
    report = asked()
    assert finding(report, "contexts", "directories")["facts"] == {"fresh": 1, "stale": 1, "missing": 2, "invalid": 1}
    assert finding(report, "contexts", "stale")["found"] == "stale"
    assert finding(report, "contexts", "missing")["found"] == "missing"
    people = finding(report, "contexts", "for people")
    assert (people["found"], people["type"]) == (
        "only people can say what silent is for",
        "context note silent --constraint TEXT",
    )
    assert finding(report, "contexts", "invalid")["found"].startswith("invalid: ")
    assert wrongs(report) == [("contexts", "invalid")]


def test_a_bad_configuration_of_contexts_is_wrong(project: Path, asked: Asked) -> None:
    (project / ".context.config.yaml").write_text("min_tokens: many\n")
    assert wrongs(asked()) == [("contexts", "contexts")]


def test_nothing_is_written(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Late enough for everything that is seen to be worth remembering.
    monkeypatch.setattr("contexthall.hall.time.time_ns", lambda: 2**62)
    write_cache(make_member(tmp_path / "guild", "echo"), tool("echo"))
    before = files_below(tmp_path)
    asked("--no-start", "--guild", str(tmp_path / "guild"))
    assert files_below(tmp_path) == before


def test_a_user_without_a_home_is_told_that_nothing_is_remembered(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    report = asked()
    assert report["sound"]
    assert finding(report, "roots", "user state")["type"] == "export HOME=DIR"


def test_a_place_where_nothing_can_be_remembered_is_a_note(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "home" / ".cache").mkdir()
    (tmp_path / "home" / ".cache" / "contexthall").write_text("no directory")
    report = asked()
    assert report["sound"]
    told = finding(report, "roots", "user cache")
    assert (told["mark"], told["type"]) == ("note", f"ls -ld {tmp_path}/home/.cache/contexthall")


def test_clients_that_know_this_hall_or_another_are_named(project: Path, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert run(["connect", "cursor", "--write"]) == 0
    assert run(["connect", "codex", "--write", "--path", str(tmp_path / "other")]) == 0
    report = asked()
    assert report["sound"]
    cursor, codex = finding(report, "clients", "Cursor"), finding(report, "clients", "Codex")
    assert (cursor["mark"], cursor["facts"]["file"]) == ("ok", str(project / ".cursor" / "mcp.json"))
    assert codex["mark"] == "note"
    assert f"a hall of {tmp_path}/other" in codex["found"]
    assert "claude-code" in finding(report, "clients", "others")["facts"]["absent"]


def test_a_client_that_knows_the_hall_of_another_project_is_told_of_this_one_too(asked: Asked, tmp_path: Path) -> None:
    for name in ("context-hall", "context-hall-2"):
        (tmp_path / name).mkdir()
        assert run(["connect", "codex", "--write", "--name", name, "--path", str(tmp_path / name)]) == 0
    remedy = finding(asked(), "clients", "Codex")["type"]
    assert remedy == "context connect codex --write --name context-hall-3"
    assert run(shlex.split(remedy)[1:]) == 0
    assert finding(asked(), "clients", "Codex")["mark"] == "ok"


def test_a_hall_whose_command_is_gone_is_written_anew_under_its_own_name(asked: Asked, project: Path) -> None:
    gone = {"command": "/no/such/context", "args": ["serve", "--path", str(project)]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"ours": gone}}))
    report = asked()
    assert wrongs(report) == [("clients", "Claude Code")]
    told = finding(report, "clients", "Claude Code")
    assert told["found"].startswith("cannot start this hall: its command is gone: /no/such/context")
    assert "claude-code" not in finding(report, "clients", "others")["facts"]["absent"]
    remedy = told["type"]
    assert remedy == "context connect claude-code --write --name ours"
    assert run(shlex.split(remedy)[1:]) == 0
    assert finding(asked(), "clients", "Claude Code")["mark"] == "ok"


@pytest.mark.usefixtures("bound")
def test_a_client_whose_command_may_not_be_looked_at_hides_no_other(asked: Asked, project: Path) -> None:
    (project.parent / "alice").mkdir(mode=0)
    entry = {"command": f"{project.parent}/alice/context", "args": ["serve", "--path", str(project)]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"context-hall": entry}}))
    report = asked()
    assert wrongs(report) == [("clients", "Claude Code")]
    told = finding(report, "clients", "Claude Code")
    assert told["found"].startswith("cannot start this hall: its command may not be looked at: ")
    assert told["facts"]["state"] == "gone"
    assert finding(report, "clients", "others")["mark"] == "ok"


def test_a_client_that_asks_at_the_port_knows_this_hall_whatever_it_calls_it(asked: Asked) -> None:
    port = str(free_port())
    assert run(["connect", "cursor", "--http", "--at", port, "--name", "shop", "--write"]) == 0
    report = asked("--port", port)
    assert finding(report, "clients", "Cursor")["mark"] == "ok"
    assert finding(report, "port", f"port {port}")["found"] == "nobody listens, and Cursor would ask there"


def test_a_client_knows_the_project_that_a_symlink_leads_to(asked: Asked, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert run(["connect", "codex", "--write", "--path", str(tmp_path / "link")]) == 0
    assert finding(asked(), "clients", "Codex")["mark"] == "ok"


# The guild:


def test_each_member_is_started_and_asked_and_its_list_stays_as_it_was(asked: Asked, tmp_path: Path) -> None:
    guild, record = tmp_path / "guild", tmp_path / "record"
    write_cache(make_member(guild, "echo", "--record", str(record), "--say", "hello"), tool("old"))
    make_member(guild, "ends", "--exit", "3")
    make_member(guild, "hangs", "--mute", startTimeoutSeconds=0.5)
    make_member(guild, "lists-badly", "--list-error")
    make_member(guild, "needs", env={"TOKEN": "${NOBODY_HAS_SET_IT}", "PATH": "${PATH}"})
    before = files_below(guild)
    report = asked("--guild", str(guild))
    assert wrongs(report) == [("guild", name) for name in ("ends", "hangs", "lists-badly", "needs")]
    echo = finding(report, "guild", "echo")
    assert re.fullmatch(r"starts in \d+\.\d\d s, 2 tools", echo["found"])
    assert echo["facts"]["seconds"] > 0
    started, pid = record.read_text().splitlines()[0].split()
    assert started == "started"
    assert not is_alive(int(pid))
    assert "within 0.5 s" in finding(report, "guild", "hangs")["found"]
    assert finding(report, "guild", "ends")["type"] == f"context guild why ends --guild {guild}"
    assert finding(report, "guild", "needs")["type"] == "export NOBODY_HAS_SET_IT=VALUE"
    assert finding(report, "guild", "needs")["facts"]["unset"] == ["NOBODY_HAS_SET_IT"]
    assert files_below(guild) == before
    state = tmp_path / "home" / ".local" / "state" / "contexthall" / "guild"
    assert [path.name for path in state.iterdir()] == ["logs"]


def test_who_shall_not_start_members_starts_none(asked: Asked, tmp_path: Path) -> None:
    guild, record = tmp_path / "guild", tmp_path / "record"
    write_cache(make_member(guild, "echo", "--record", str(record)), tool("echo"))
    make_member(guild, "needs", env={"TOKEN": "${NOBODY_HAS_SET_IT}"})
    report = asked("--guild", str(guild), "--no-start")
    assert not record.exists()
    assert finding(report, "guild", "echo")["found"].startswith("1 tool on its list")
    assert wrongs(report) == [("guild", "needs")]
    assert finding(report, "guild", "guild")["found"] == "nobody was started, because of --no-start"


def test_lists_that_are_old_changed_or_held_are_notes(asked: Asked, tmp_path: Path) -> None:
    guild, tools = tmp_path / "guild", tmp_path / "tools.json"
    tools.write_text(json.dumps([tool("echo")]))
    make_member(guild, "changed", "--tools-file", str(tools))
    make_member(guild, "old", "--tools", "1")
    make_member(guild, "unknown")
    run(["guild", "refresh", "--guild", str(guild), "changed", "old"])
    tools.write_text(json.dumps([tool("echo", "another description")]))
    run(["guild", "refresh", "--guild", str(guild), "changed"])
    make_member(guild, "old", "--tools", "2")
    report = asked("--guild", str(guild), "--no-start", "--guild-trust", "hold")
    assert report["sound"]
    told = {name: finding(report, "guild", name) for name in ("changed", "old", "unknown")}
    assert {each["mark"] for each in told.values()} == {"note"}
    assert told["changed"]["found"].endswith("held back: echo")
    assert told["changed"]["facts"]["held"] is True
    assert told["changed"]["type"] == f"context guild why changed --guild {guild}"
    assert [told[name]["facts"]["list"] for name in ("old", "unknown")] == ["outdated", "missing"]
    assert told["old"]["type"] == f"context guild refresh old --guild {guild}"


def test_what_is_left_out_of_a_list_or_lost_is_a_note(asked: Asked, tmp_path: Path) -> None:
    guild = tmp_path / "guild"
    make_member(guild, "bad-schema", "--bad-schema")
    make_member(guild, "forgotten")
    run(["guild", "refresh", "--guild", str(guild)])
    state = tmp_path / "home" / ".local" / "state" / "contexthall" / "guild"
    next(state.glob("forgotten-*.json")).write_text("{")
    report = asked("--guild", str(guild), "--no-start")
    assert report["sound"]
    assert finding(report, "guild", "bad-schema")["mark"] == "note"
    assert "inputSchema" in finding(report, "guild", "bad-schema")["found"]
    assert any("what was remembered of forgotten is ignored" in each["found"] for each in report["guild"])


def test_a_failure_of_the_past_is_told_only_of_who_was_not_tried(asked: Asked, tmp_path: Path) -> None:
    guild, tools = tmp_path / "guild", tmp_path / "tools.json"
    tools.write_text(json.dumps([tool("echo")]))
    make_member(guild, "echo", "--tools-file", str(tools))
    run(["guild", "refresh", "--guild", str(guild)])
    tools.unlink()
    assert run(["guild", "refresh", "--guild", str(guild)]) == 8
    tools.write_text(json.dumps([tool("echo")]))
    assert "failed at " in finding(asked("--guild", str(guild), "--no-start"), "guild", "echo")["found"]
    assert finding(asked("--guild", str(guild)), "guild", "echo")["mark"] == "ok"


def test_every_variable_that_a_launch_needs_is_named_once() -> None:
    launch = Launch(env={"A": "${TOKEN}", "B": "$${NOT}"}, headers={"Authorization": "Bearer ${TOKEN} ${OTHER}"})
    assert launch.variables == ["OTHER", "TOKEN"]


@pytest.mark.parametrize("guild", ["nowhere", "empty"])
def test_a_guild_of_nobody_says_how_to_add_somebody(guild: str, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = asked("--guild", str(tmp_path / guild))
    assert report["sound"] == (guild == "empty")
    assert finding(report, "guild", "guild")["type"] == f"context guild add --guild {tmp_path / guild} NAME -- COMMAND"


def tried(guild: Path, factory: FakeFactory) -> list[Trial]:
    trials: list[Trial] = []

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        async with manager.running():
            await manager.try_members(trials.append)

    asyncio.run(work())
    return sorted(trials)


def test_at_most_four_members_start_at_a_time(tmp_path: Path) -> None:
    for number in range(9):
        make_member(tmp_path, f"m{number}")
    factory = FakeFactory(tool("a"), tool("b"))
    assert [trial.tools for trial in tried(tmp_path, factory)] == [2] * 9
    assert factory.most_starting == 4
    assert all(server.was_stopped for server in factory.servers)


def test_a_trial_tells_whatever_fails_and_the_others_go_on(tmp_path: Path) -> None:
    class HalfOfThemFail(FakeFactory):
        async def spawn(self, member: Member) -> FakeServer:
            if member.name == "bad":
                raise OSError("no such thing")
            return await super().spawn(member)

    make_member(tmp_path, "bad")
    make_member(tmp_path, "good")
    bad, good = tried(tmp_path, HalfOfThemFail(tool("a")))
    assert "no such thing" in bad.error
    assert (good.tools, good.error) == (1, "")


def test_a_member_that_announces_other_tools_during_its_trial_is_not_refreshed(tmp_path: Path) -> None:
    class Announcing(FakeServer):
        async def list_tools(self) -> list[dict[str, Any]]:
            assert self.on_tools_changed is not None
            self.on_tools_changed()
            return await super().list_tools()

    class Factory(FakeFactory):
        async def spawn(self, member: Member) -> FakeServer:
            self.started.append(member.name)
            return Announcing(self.tools)

    directory = make_member(tmp_path, "echo")
    write_cache(directory, tool("before"))

    async def work() -> None:
        manager, _ = manager_of(tmp_path, Factory(tool("after")))
        await manager.initialize_roster()
        await manager.try_members(lambda _trial: None)
        assert not manager._tasks
        await manager.shutdown()

    asyncio.run(work())
    assert [each["name"] for each in read_cache(directory)["tools"]] == ["before"]


# The installation:


@pytest.mark.parametrize(
    ("version", "wanted", "is_fit"),
    [
        ("2.3.0", "<3,>=2.3", True),
        ("2.10", ">=2.9", True),
        ("2.2.9", "<3,>=2.3", False),
        ("3.0", "<3,>=2.3", False),
        ("3", "<=3.0.0", True),
        ("3.0rc1", ">=3.0", False),
        ("3.0.dev1", ">=3.0", False),
        ("3.0.post1", ">=3.0", True),
        ("0.26.0", "!=0.26.0,>=0.25", False),
        ("0.26.1", "!=0.26.0,>=0.25", True),
        ("1.2", "==1.2.0", True),
        ("1.2", ">1.2", False),
        ("1.2", "", True),
        ("unknown", ">=1", False),
    ],
)
def test_a_version_fits_a_range_or_does_not(version: str, wanted: str, is_fit: bool) -> None:
    assert fits(version, Requirement(f"package{wanted}")) == is_fit


def test_everything_that_the_project_requires_is_understood_and_installed() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = list(read_requirements(declared))
    assert len(wanted) == len(declared)
    assert all(each.specifier for each in wanted)
    assert [each.name for each in wanted if not fits(installed_version(each.name), each)] == []


def test_the_requirements_of_extras_are_nobodys_duty() -> None:
    declared = ["mcp<3,>=2.3", "uvicorn[standard] >= 0.35", "pytest>=8; extra == 'dev'"]
    assert [*read_requirements(declared)] == [Requirement("mcp<3,>=2.3"), Requirement("uvicorn[standard]>=0.35")]


def test_packages_that_are_missing_or_of_another_version_are_wrong() -> None:
    wanted = [*map(Requirement, ("mcp<3,>=2.3", "pydantic>=2.12", "pyyaml>=6"))]
    installed = {"mcp": "1.9.0", "pyyaml": "6.0.2"}
    found = {each.subject: each for each in check_installation(wanted, lambda name: installed.get(name, ""))}
    assert {name for name, each in found.items() if each.mark == "wrong"} == {"mcp", "pydantic"}
    assert found["mcp"].found == "version 1.9.0, <3,>=2.3 is needed"
    assert found["pydantic"].found == "not installed, >=2.12 is needed"
    assert found["pydantic"].remedy.endswith("-m pip install 'pydantic>=2.12'")
    assert found["packages"].found.startswith("1 of 3 fit")


def test_a_hall_that_was_not_installed_as_a_package_cannot_say_what_it_needs() -> None:
    assert [each.mark for each in check_installation(None)] == ["ok", "note"]


def test_the_command_on_the_path_is_this_one_another_or_none() -> None:
    links = {"/usr/bin/context": "/opt/hall/bin/context"}
    ours = ["/home/me/my venv/bin/context", "/opt/hall/bin/context"]

    def real(path: str) -> str:
        return links.get(path, path)

    assert check_command("/usr/bin/context", ours, real).mark == "ok"
    other = check_command("/usr/local/bin/context", ours, real)
    assert other.mark == "note"
    assert "another command: /usr/local/bin/context" in other.found
    assert other.remedy == "export PATH='/home/me/my venv/bin':\"$PATH\""
    assert check_command("", ours, real).found.startswith("not on the PATH")
    assert check_command("", [], real).remedy == ""


def test_what_is_typed_is_found_as_a_shell_finds_it(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("directory", "plain", "right", "later"):
        (tmp_path / name).mkdir()
    (tmp_path / "directory" / "context").mkdir()
    for name, mode in (("plain", 0o644), ("right", 0o755), ("later", 0o755)):
        (tmp_path / name / "context").touch(mode)
    folders = [tmp_path / name for name in ("nowhere", "directory", "plain", "right", "later")]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    told = finding(asked(), "hall", "context")
    assert (told["mark"], told["facts"]) == ("note", {"command": str(tmp_path / "right" / "context")})


def test_the_place_of_the_command_that_is_told_is_good_anywhere(
    asked: Asked, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bin").mkdir()
    (project / "bin" / "context").touch(0o755)
    monkeypatch.setattr(sys, "argv", ["bin/context"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert finding(asked(), "hall", "context")["type"] == f'export PATH={project}/bin:"$PATH"'


# The port:


@contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """Listen as somebody who says this to whoever comes, or nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                if answer is None:
                    connection.recv(1 << 16)  # until whoever asks gives up
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port: int = server.getsockname()[1]
        yield port
        thread.join()


def test_a_port_that_nobody_has_is_free(asked: Asked) -> None:
    port = free_port()
    report = asked("--port", str(port))
    assert finding(report, "port", f"port {port}")["facts"] == {"port": port, "state": "free"}


def test_where_somebody_else_listens_another_port_is_told_for_the_same_hall(asked: Asked) -> None:
    with listening(b"HTTP/1.1 200 OK\r\n\r\nhello") as port:
        told = finding(asked("--port", str(port), "--cache-root", "caches"), "port", f"port {port}")
    assert (told["found"], told["type"]) == ("something else listens", "context serve --http 0 --cache-root caches")


def test_a_client_that_would_ask_where_nobody_listens_is_named(asked: Asked) -> None:
    port = str(free_port())
    assert run(["connect", "codex", "--http", "--at", port, "--write"]) == 0
    told = finding(asked("--port", port), "port", f"port {port}")
    assert (told["mark"], told["type"]) == ("note", f"context serve --http {port}")
    assert told["found"] == "nobody listens, and Codex would ask there"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok","version":"9.9.9"}', "hall"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"status":"ok"}', "taken"),
        (b"HTTP/1.1 404 Not Found\r\n\r\nnobody", "taken"),
        (b"\x00\xff" * 1000, "taken"),
        (b"", "taken"),
    ],
)
def test_whoever_has_the_port_is_asked_who_it_is(answer: bytes, state: str, asked: Asked) -> None:
    with listening(answer) as port:
        report = asked("--port", str(port))
    told = finding(report, "port", f"port {port}")
    assert (told["mark"], told["facts"]["state"]) == ("note", state)


def test_whoever_says_nothing_at_the_port_is_not_waited_for_long(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.core.limits.DOCTOR_PROBE_SECONDS", 0.2)
    with listening(None) as port:
        report = asked("--port", str(port))
    assert finding(report, "port", f"port {port}")["facts"]["state"] == "taken"


def test_a_hall_at_the_port_is_known_with_and_without_its_token(project: Path, asked: Asked) -> None:
    for options, words in (((), f"a Context Hall {__version__} listens"), (("--token", "x"), "wants its token")):
        with HttpHall(*options, cwd=project) as hall:
            port = hall.url.rpartition(":")[2]
            told = finding(asked("--port", port), "port", f"port {port}")
            assert (told["mark"], told["facts"]["state"]) == ("ok", "hall")
            assert words in told["found"]


def test_an_interrupt_stops_the_member_that_is_tried_and_is_130(project: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "record")
    make_member(tmp_path / "guild", "hangs", "--mute", "--record", str(tmp_path / "record"), startTimeoutSeconds=50)
    command = [*CONTEXT, "doctor", "--port", str(free_port()), "--guild", str(tmp_path / "guild")]
    with (tmp_path / "record").open("r+b", buffering=0) as record:
        process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        started = record.readline().decode()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert (process.returncode, err) == (130, b"")
        wait_until(lambda: not is_alive(int(started.split()[1])))


def test_it_is_a_command_like_others(project: Path) -> None:
    answer = run_context("doctor", "--json", "--port", str(free_port()), cwd=project)
    assert answer.returncode == 0, answer
    assert json.loads(answer.stdout)["sound"] is True
    assert answer.stderr == b""

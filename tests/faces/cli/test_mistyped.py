"""What a newcomer types wrong, and what the hall answers."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import pytest
from tests.guild.making import make_member

from contexthall.core.errors import UsageError
from contexthall.faces.cli.meant import SAME, nearest, question
from contexthall.faces.cli.table import COMMANDS, run
from contexthall.faces.web.address import LOOPBACK, Address
from contexthall.faces.web.listener import bind

Typed: TypeAlias = Callable[..., str]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Type `context …` in an empty project, where it must fail; give what it says."""
    for variable in list(os.environ):
        if variable.startswith(("CONTEXT_", "XDG_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")

    def typed(*arguments: str) -> str:
        capfd.readouterr()
        assert run(arguments) != 0
        return capfd.readouterr().err

    return typed


@pytest.mark.parametrize(
    ("words", "guess"),
    [
        (("biuld",), "Did you mean 'build'?"),
        (("search", "keys"), "Did you mean 'ask'?"),
        (("help", "biuld"), "Did you mean 'build'?"),
        (("connect", "claude"), "Did you mean `claude-code` or `claude-desktop`?"),
        (("connect", "vs-code"), "Did you mean `vscode`"),
        (("connect", "VSCode"), "Did you mean `vscode`"),
        (("call", "resolve"), "hint: did you mean `context.resolve`? list the tools"),
        (("call", "list_context"), "hint: did you mean `list_contexts`"),
        (("serve", "--port", "80"), "Did you mean '--http'?"),
        (("status", "--project", "."), "Did you mean '--path'?"),
        (("status", "."), "Got unexpected extra argument (.). Did you mean `--path .`?"),
        (("build", "--cache", "x", ".."), "Did you mean `--sources ..`?"),
        (("status", "no such directory"), "Got unexpected extra argument (no such directory)\n"),
        (("version",), "Did you mean '--version'?"),
        (("-V",), "Did you mean '--version'?"),
        (("undo",), "Did you mean 'setup --undo'?"),
    ],
)
def test_what_is_near_is_asked_for(typed: Typed, words: tuple[str, ...], guess: str) -> None:
    assert guess in typed(*words)


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (("resolve",), 'context resolve --cache handbook --query "rotate keys" --budget 4000'),
        (("build", "docs"), "context build --sources docs --cache .context/caches/handbook"),
        (("inspect", "handbook"), "context inspect --cache handbook"),
        (("read", "keys.md"), "context read --cache handbook keys.md"),
        (("setup", "claude-code"), "context setup"),
        (("guild", "add"), "context guild add echo --guild guild-members -- python3 server.py"),
        (("check",), "git diff --name-only main... | context check --changed - --format md"),
    ],
)
def test_a_command_without_what_it_needs_gives_an_example(typed: Typed, words: tuple[str, ...], example: str) -> None:
    assert typed(*words).endswith(f"\nhint: for example `{example}`\n")


def test_a_line_for_a_shells_own_file_is_no_example(typed: Typed) -> None:
    assert "for example" not in typed("completion", "tcsh")


def test_an_example_names_a_cache_that_is_there(typed: Typed) -> None:
    Path("notes").mkdir()
    Path("notes/a.md").write_text("# A\n")
    assert run(("build", "--sources", "notes", "--cache", ".context/caches/notes")) == 0
    assert typed("read", "a.md").endswith("\nhint: for example `context read --cache notes keys.md`\n")
    assert typed("outline").endswith("\nhint: for example `context outline --cache notes`\n")
    assert typed("build").endswith(" --cache .context/caches/handbook`\n")


def test_whoever_asks_where_no_cache_is_learns_where_one_is_or_how_to_get_one(typed: Typed, tmp_path: Path) -> None:
    assert "`context setup` builds" in typed("ask", "keys")
    (tmp_path / ".git").mkdir()
    assert f"try again with --path {tmp_path}\n" in typed("ask", "keys")


@pytest.mark.parametrize("word", ["remove", "delete", "rm", "uninstall"])
def test_who_wants_to_remove_a_member_is_not_led_to_trust_it(typed: Typed, word: str) -> None:
    said = typed("guild", word, "echo")
    assert f"No such command '{word}'. To remove a member, remove its directory." in said
    assert "approve" not in said


@pytest.mark.parametrize("words", [("xyzzy",), ("connect", "xyzzy"), ("call", "xyzzy"), ("",), ("connect", "")])
def test_what_is_near_to_nothing_is_not_guessed_at(typed: Typed, words: tuple[str, ...]) -> None:
    assert "id you mean" not in typed(*words)


def test_a_cache_is_asked_for_by_its_name(typed: Typed) -> None:
    Path("docs").mkdir()
    Path("docs/keys.md").write_text("# Keys\n")
    assert run(("build", "--sources", "docs", "--cache", ".context/caches/handbook")) == 0
    for words in (("resolve", "--query", "x", "--cache"), ("verify", "--cache"), ("refresh",)):
        assert "hint: did you mean `handbook`? list what is there" in typed(*words, "handbok")


def test_a_member_is_asked_for_by_its_name(typed: Typed, tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "echo")
    assert "hint: did you mean `echo`? the guild has echo" in typed("guild", "tools", "ecco", "--guild", "../guild")


def test_a_directory_that_is_missing_is_called_so(typed: Typed) -> None:
    Path("src").mkdir()
    Path("src/a.py").write_text('"""Does things."""\n')
    assert run(("init",)) == 0
    said = typed("show", "scr")
    assert "the project has no directory scr\n" in said
    assert "did you mean `src`?" in said
    Path("empty").mkdir()
    assert "No .context.yaml found" in typed("show", "empty")
    assert "path traversal" in typed("show", "../other")


def test_a_constraint_of_what_is_no_directory_is_refused_with_what_to_type(typed: Typed) -> None:
    Path("src").mkdir()
    Path("src/a.py").write_text('"""Does things."""\n')
    assert run(("init",)) == 0
    said = typed("note", "scr", "--constraint", "Be kind.")
    assert "the project has no directory scr\n" in said
    assert "did you mean `src`?" in said
    for command in (("note", "src/a.py", "--constraint", "Be kind."), ("show", "src/a.py")):
        said = typed(*command)
        assert "src/a.py is a file\n" in said
        assert "its directory is src" in said
    for command in (("note", "../other", "--constraint", "Be kind."), ("show", "../other")):
        assert "hint: name a directory of the project" in typed(*command)


def test_init_writes_nothing_where_there_is_nothing(typed: Typed, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("xyzzy")
    assert run(("init",)) == 0
    assert capfd.readouterr().err == "nothing to draft; AGENTS.md: unchanged\n"
    assert os.listdir() == []


def test_help_is_a_command_too(typed: Typed, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("xyzzy")
    assert run(("help",)) == 0
    assert capfd.readouterr().out.startswith("Usage: context COMMAND")
    assert run(("help", "build")) == 0
    assert capfd.readouterr().out.startswith("Usage: context build")


def test_where_nothing_can_be_drafted_nobody_is_sent_to_init(typed: Typed, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("xyzzy")
    assert run(("doctor",)) == 0
    assert "context init" not in "".join(capfd.readouterr())
    Path("a.py").write_text('"""Sells things to people."""\n' * 9)
    assert run(("doctor",)) == 0
    assert "type: context init" in "".join(capfd.readouterr())


def test_names_of_other_programs_lead_to_commands_of_ours() -> None:
    assert {ours.partition(" ")[0] for ours in SAME.values()} <= {*COMMANDS, "--version"}
    assert not set(SAME) & set(COMMANDS)


def test_of_many_near_names_three_are_asked_for() -> None:
    names = [f"docs-{number}" for number in range(9)]
    assert len(nearest("docs", names)) == 3
    assert question("docs", names).count("`") == 6
    assert question("", names) == ""
    assert question("docs", []) == ""


@pytest.fixture
def taken() -> socket.socket:
    return socket.create_server((LOOPBACK, 0))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps({"status": "ok", "version": "9.9"}), "another Context Hall listens there, 9.9"),
        ("This hall wants its token", "another Context Hall listens there, of an unknown version"),
        ("<h1>It works!</h1>", "something else listens there"),
    ],
)
def test_a_port_that_another_hall_has_says_so(taken: socket.socket, body: str, said: str) -> None:
    def answer() -> None:
        connected, _ = taken.accept()
        with connected:
            connected.recv(4096)
            connected.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    answering = Thread(target=answer)
    answering.start()
    with taken, pytest.raises(UsageError, match=said) as refused:
        bind(Address(LOOPBACK, taken.getsockname()[1]), has_token=False)
    answering.join()
    assert "0 for a free one" in refused.value.hint

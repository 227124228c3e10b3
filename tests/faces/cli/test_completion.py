"""What a shell is told to complete, and what three real shells make of it."""

import string
from pathlib import Path

import click
import pytest
from tests.contexts.making import make_project
from tests.contract.test_cold_path import SDK, modules_loaded_by
from tests.faces.cli.shells import COMMANDS as SHELLS
from tests.faces.cli.shells import Shell
from tests.guild.making import make_member

from contexthall.faces.cli.completion import CommandLine, answer
from contexthall.faces.cli.table import COMMANDS, context, run

EVIL = "ev$(touch pwned)`touch pwned` é" + string.punctuation.replace("/", "")


@pytest.fixture
def grounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with something of everything, and names that a shell must not obey."""
    project = tmp_path / "project"
    make_project(project, {"src/a.py": "", "src/$(touch pwned)/b.py": ""})
    for name in ("handbook", EVIL, "two\nlines", "tab\tbed", "space at the end "):
        (project / ".context" / "caches" / name).mkdir(parents=True)
        (project / ".context" / "caches" / name / "manifest.json").write_text("{}")
        make_member(project / "guild", name)
    (project / ".context" / "caches" / "no cache").mkdir()
    (project / "the documents").mkdir()
    monkeypatch.chdir(project)
    return project


def told(line: str) -> tuple[str, list[str]]:
    """What the shell shall add, and the candidates without what they mean."""
    kind, *candidates = answer("zsh", CommandLine.read(line)).split("\n")
    return kind, [candidate.partition("\t")[0] for candidate in candidates]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_and_obeys_no_name(shell: str, grounds: Path, tmp_path: Path) -> None:
    with Shell(shell, grounds, tmp_path / "home") as opened:
        assert opened.completed("context caches; context resolve --for") == ["resolve", "--format"]
        assert opened.completed("A=b context resolve --format=pr") == ["resolve", "--format=pretty"]
        assert opened.completed('context inspect --cache "space at') == ["inspect", "--cache", "space at the end "]
        assert opened.completed("context inspect --cache ev") == ["inspect", "--cache", EVIL]
        assert opened.completed("context inspect --cache=ev") == ["inspect", f"--cache={EVIL}"]
        assert opened.completed("context guild why --guild guild ev")[-1] == EVIL
        words = opened.completed("context build --sources=the")  # bash and fish add a slash
        assert [word.rstrip("/") for word in words] == ["build", "--sources=the documents"]
    assert not [*grounds.rglob("pwned")]


def test_bash_may_break_words_elsewhere(grounds: Path, tmp_path: Path) -> None:
    with Shell("bash", grounds, tmp_path / "home") as opened:
        opened.run("COMP_WORDBREAKS=${COMP_WORDBREAKS/=/}")  # as npm's completion does
        assert opened.completed("context inspect --cache=hand") == ["inspect", "--cache=handbook"]


def test_commands_are_completed_in_the_order_of_the_table_with_what_they_mean() -> None:
    assert told("context ") == ("words", [*COMMANDS])
    summary = COMMANDS["resolve"].summary
    assert answer("fish", CommandLine.read("context resol")) == f"words\nresolve\t{summary}"
    assert answer("zsh", CommandLine.read("context resol")) == f"words\nresolve\tresolve  {summary}"
    assert answer("bash", CommandLine.read("context resol")) == "words\nresolve"


@pytest.mark.parametrize(
    ("line", "kind", "candidates"),
    [
        ("context guild re", "words", ["refresh"]),
        ("context --v", "words", ["--version"]),
        ("context caches --cache-r", "words", ["--cache-root"]),
        ("context serve --guild-refresh ", "words", ["all", "stale", "never"]),
        ("context serve --guild-refresh=st", "words", ["--guild-refresh=stale"]),
        ("context completion ", "words", ["bash", "zsh", "fish"]),
        ("context serve --path ", "dirs", []),
        ("context inspect --cache ", "dirs", [EVIL, "handbook", "space at the end "]),
        ("context inspect --cache-root guild --cache ", "dirs", []),
        ("context guild why --guild guild ", "words", [EVIL, "handbook", "space at the end "]),
        ("context guild refresh --guild guild handbook h", "words", ["handbook"]),
        ("context serve --guild guild --guild-pin h", "words", ["handbook"]),
        ("context show ", "words", ["src", "src/$(touch pwned)"]),
        ("context rehash src src", "words", ["src", "src/$(touch pwned)"]),
        ("context regen --path src ", "words", [".", "$(touch pwned)"]),
        ("context resolve --query ", "words", []),
        ("context guild add new -- ec", "words", []),
    ],
)
def test_what_could_stand_there_is_offered(line: str, kind: str, candidates: list[str], grounds: Path) -> None:
    before = sorted(grounds.rglob("*"))
    offered, found = told(line)
    assert (offered, sorted(found)) == (kind, sorted(candidates))
    assert sorted(grounds.rglob("*")) == before


def test_what_goes_wrong_while_completing_is_silence(grounds: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (grounds / "contexthall.toml").write_text("nonsense")
    for line in ("context inspect --cache ", "context guild why ", "context guild why --guild nowhere "):
        assert run(["completion", "bash", "--", line]) == 0
        assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("", CommandLine(("",))),
        ("context", CommandLine(("context",))),
        ("context  inspect ", CommandLine(("context", "inspect", ""))),
        (r"context my\ c", CommandLine(("context", "my c"))),
        ("context my\\", CommandLine(("context", "my"))),
        ("context 'my c", CommandLine(("context", "my c"), 0, "'")),
        ("""context "it's" 'a\\b' "a\\"b" """, CommandLine(("context", "it's", "a\\b", 'a"b', ""))),
        ("context --cache=ha", CommandLine(("context", "--cache=ha"), 8)),
        ('context --cache="ha', CommandLine(("context", "--cache=ha"), 8, '"')),
        (r"context a\:b", CommandLine(("context", "a:b"))),
        ("context a:b:c", CommandLine(("context", "a:b:c"), 4)),
        ("context a'b:c'd", CommandLine(("context", "ab:cd"))),
    ],
)
def test_a_line_is_read_as_a_shell_reads_it(line: str, typed: CommandLine) -> None:
    assert CommandLine.read(line, breaks=" \t\n\"'><=;|&(:") == typed


@pytest.mark.parametrize("quote", ["'", '"'])
def test_within_quotes_bash_is_offered_only_what_stays_in_them(quote: str, grounds: Path) -> None:
    del grounds
    assert answer("bash", CommandLine.read(f"context inspect --cache {quote}")) == "dirs\nhandbook\nspace at the end "


def test_completing_loads_the_room_that_it_looks_into_and_nothing_else(grounds: Path) -> None:
    rooms = {f"contexthall.{room}" for room in ("hall", "caches", "contexts", "guild")}
    loaded = {
        line: modules_loaded_by(["completion", "bash", "--", line], grounds) & (rooms | SDK | {"asyncio"})
        for line in ("context re", "context serve --", "context inspect --cache ")
    }
    assert loaded == {
        "context re": {"contexthall.hall"},
        "context serve --": {"contexthall.hall"},
        "context inspect --cache ": {"contexthall.hall", "contexthall.caches"},
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_that_names_something_on_the_disk_is_completed(name: str) -> None:
    command = context.get_command(click.Context(context), name)
    assert command is not None
    below = command.commands.values() if isinstance(command, click.Group) else ()
    named = [
        each for one in (command, *below) for each in one.params if {"DIR", "FILE", "MEMBER", "SCOPE"} & kinds(each)
    ]
    assert [each.name for each in named if each._custom_shell_complete is None] == []


def kinds(parameter: click.Parameter) -> set[str]:
    metavar = parameter.metavar or (parameter.name or "").upper()
    return {metavar.strip("[].")}

"""Whatever is typed, `context` says what it did or what is wrong, and leaves everything outside alone."""

import random
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.caches.making import build_cache
from tests.contexts.making import make_project
from tests.faults.scale import SEED, record, scaled
from tests.guild.making import make_member

from contexthall.faces.cli.table import COMMANDS, context, run

ENDLESS = {"serve", "up", "watch"}
TEXTS = (
    *("", ".", "x", "cache", "src", "guild", "handbook", "a\nb", "\udcff", "\udcff/\udcfe", "é", "\x1b[31m", "\u202e"),
    *("-", "--", "-1", "0", "7", "1e999", "9" * 50, "9" * 5000, "x" * 300, "x" * 5000, "{}", "[", '{"a":1}', "nul\0l"),
    *(
        "context.resolve",
        "list_contexts",
        "well",
        "well/echo",
        "well__echo",
        "a.md",
        "summary",
        "caches",
        "all",
    ),
)
KNOWN_CODES = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11}
"""All but 7, which would be a mistake of ours."""


@pytest.fixture
def grounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with something of everything, in a directory that must not change."""
    here = tmp_path / "outside" / "here"
    here.mkdir(parents=True)
    make_project(here, {"src/a.py": "x = 1\n", "b.py": ""})
    build_cache(here, {"a.md": "one"})
    make_member(here / "guild", "well", startTimeoutSeconds=5)
    monkeypatch.chdir(here)
    return here


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Give every command that ends by itself, by the words that lead to it."""
    opened = click.Context(context)
    for name in COMMANDS:
        command = context.get_command(opened, name)
        assert command is not None
        if isinstance(command, click.Group):
            below = [(word, command.get_command(opened, word)) for word in command.list_commands(opened)]
            yield from (([name, word], each) for word, each in below if each is not None and word not in ENDLESS)
        if name not in ENDLESS:
            yield [name], command


def typed(source: random.Random, words: list[str], command: click.Command) -> list[str]:
    """Type a command with some of its options and arguments, and now and then something that it does not know."""
    line = [*words]
    for parameter in command.params:
        is_wanted = source.random() < (0.8 if parameter.required else 0.3)
        if isinstance(parameter, click.Option) and is_wanted:
            line.append(source.choice(parameter.opts))
            if not parameter.is_flag:
                line.append(source.choice(TEXTS))
        elif is_wanted:
            line.append(source.choice(TEXTS))
    if source.random() < 0.2:
        line.insert(source.randrange(1, len(line) + 1), source.choice((*TEXTS, "--unknown", "--help")))
    return line


def outside(grounds: Path) -> set[Path]:
    return {path for path in grounds.parent.parent.rglob("*") if grounds not in path.parents}


@pytest.mark.timeout(600)
def test_whatever_is_typed_ends_in_an_exit_code_of_the_contract(
    grounds: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, known, number = random.Random(SEED), [*commands()], scaled(50, 150, 2000)
    before = outside(grounds)
    for _ in range(number):
        words, command = source.choice(known)
        line = typed(source, words, command)
        code = run(line)
        said = capfd.readouterr()
        assert code in KNOWN_CODES, (line, code, said.err)
        assert "Traceback" not in said.err, (line, said.err)
        assert code == 0 or said.err or said.out, line
    assert outside(grounds) == before
    record("fuzzing", "command lines typed", number)

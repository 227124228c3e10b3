"""The process edge: usage, help, exit codes, pipes and signals."""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import click
import pytest
from tests.processes import CONTEXT, run_context

from contexthall import __version__
from contexthall.faces.cli.guild import guild
from contexthall.faces.cli.output import escaped
from contexthall.faces.cli.table import COMMANDS, EXAMPLES, context, run


@pytest.mark.parametrize("arguments", [["--version"], ["-h"], ["--help"], ["tools", "--help"]])
def test_asking_is_no_error(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    out, err = capfd.readouterr()
    assert out
    assert err == ""


def test_the_version_is_the_same_however_it_is_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["--version"])
    assert capfd.readouterr().out == f"context {__version__}\n"
    assert run_context("--version", cwd=tmp_path).stdout == f"context {__version__}\n".encode()


@pytest.mark.parametrize("arguments", [[], ["nope"], ["inspect"], ["caches", "--nope"], ["caches", "extra"]])
def test_what_cannot_be_understood_is_a_usage_error(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "Usage: context" in err


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_each_command_what_the_command_says_of_itself(name: str) -> None:
    command = context.get_command(click.Context(context), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").splitlines()[0] == COMMANDS[name].summary


def test_a_wrong_name_of_a_command_brings_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["reslove"]) == 1
    assert "No such command 'reslove'. Did you mean 'resolve'?" in capfd.readouterr().err
    assert run(["xyzzy"]) == 1
    assert "Did you mean" not in capfd.readouterr().err


def test_help_gives_every_command_one_line_in_its_group(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run(["--help"])
    lines, width = capfd.readouterr().out.splitlines(), max(map(len, COMMANDS))
    assert [line for line in lines if len(line) > 80] == []
    for name, entry in COMMANDS.items():
        above = lines[: lines.index(f"  {name:<{width}}  {entry.summary}")]
        assert [line for line in above if line.endswith(":") and not line.startswith(" ")][-1] == f"{entry.group}:"


def test_the_help_of_every_command_fits_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (*([name] for name in COMMANDS), *(["guild", name] for name in guild.commands)):
        assert run([*words, "--help"]) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if len(line) > 80] == []


def test_a_choice_that_is_missing_is_offered_line_by_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion"]) == 1
    assert "Choose from:\n    bash,\n    zsh,\n" in capfd.readouterr().err


def test_every_command_that_help_names_is_there(capfd: pytest.CaptureFixture[str]) -> None:
    run(["--help"])
    named = re.findall(r"(?:`|^  )context ([a-z]+)", capfd.readouterr().out, flags=re.MULTILINE)
    assert len(named) > len(EXAMPLES)
    assert set(named) <= set(COMMANDS)


def test_every_example_in_help_can_be_typed() -> None:
    loaded = [context.get_command(click.Context(context), name) for name in COMMANDS]
    below = [each for group in loaded if isinstance(group, click.Group) for each in group.commands.values()]
    epilogs = "\n".join(command.epilog or "" for command in (*loaded, *below) if command is not None)
    examples = re.findall(r"^  (context .+?)(?:   .*)?$", epilogs, flags=re.MULTILINE)
    assert examples
    for example in (*EXAMPLES, *examples):
        understand(shlex.split(example)[1:])


def understand(arguments: list[str]) -> None:
    """Read what was typed, down to the command that is meant, and run nothing."""
    opened = context.make_context("context", arguments)
    while isinstance(opened.command, click.Group):
        name, command, rest = opened.command.resolve_command(opened, [*opened._protected_args, *opened.args])
        assert command is not None
        opened = command.make_context(name, rest, parent=opened)


def test_help_lists_every_command_without_loading_any(tmp_path: Path) -> None:
    script = "import sys; from contexthall.faces.cli.table import run; run(['--help']); print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=True, text=True)
    assert all(name in answer.stdout for name in COMMANDS)
    assert "contexthall.faces.cli.caches" not in answer.stdout


@pytest.mark.parametrize("command", [["caches"], ["tools"], ["--version"], ["--help"], ["call", "context.list_caches"]])
def test_a_broken_pipe_is_success(command: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run([*CONTEXT, *command], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (0, b"")


@pytest.mark.parametrize("command", [["caches"], ["tools"], ["--version"], ["--help"], ["call", "context.list_caches"]])
def test_a_full_disk_is_an_io_error(command: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run([*CONTEXT, *command], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 6
    assert b"Exception" not in process.stderr
    assert command == ["--version"] or process.stderr.startswith(b"error[io_error]")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("inspect --cache nowhere 2>/dev/full", 4),
        ("inspect --cache nowhere 2>&-", 4),
        ("call context.inspect_cache --arg cache=nowhere 2>/dev/full", 4),
        ("nope 2>/dev/full", 1),
        ("caches >&-", 6),
        ("--version >&-", 6),
    ],
)
def test_a_stream_that_cannot_be_written_does_not_change_what_happened(command: str, code: int, tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m contexthall {command}'
    assert subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, check=False).returncode == code


def test_nobody_listening_to_an_error_does_not_make_it_a_success(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for command in (["inspect", "--cache", "x"], ["call", "context.inspect_cache", "--arg", "cache=x"]):
        process = subprocess.run(
            [*CONTEXT, *command], cwd=tmp_path, stderr=writing, stdout=subprocess.PIPE, check=False
        )
        assert process.returncode == 4
    os.close(writing)


INTERRUPTED = textwrap.dedent("""
    import os, signal, sys
    from contexthall.faces.cli import caches, table
    def interrupt(text):
        os.kill(os.getpid(), signal.SIGINT)
    caches.print_json = interrupt
    sys.exit(table.run(["caches"]))
""")


def test_an_interrupt_is_130_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=tmp_path, capture_output=True, check=False)
    assert (process.returncode, process.stderr) == (130, b"")


def test_a_mistake_of_ours_is_a_sentence_and_a_trace_for_those_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def mistake(_text: str) -> None:
        raise RuntimeError("oops")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(import_module("contexthall.faces.cli.caches"), "print_json", mistake)
    assert run(["caches"]) == 7
    assert capfd.readouterr().err.startswith("error[internal_error]: Internal error: RuntimeError('oops')\n\nhint: ")
    monkeypatch.setenv("CONTEXT_DEBUG", "1")
    assert run(["caches"]) == 7
    assert "Traceback" in capfd.readouterr().err


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    assert escaped("plain é\n") == "plain é\n"
    assert escaped("\x1b[31mred\x07\r\u202e\udcff") == "\\x1b[31mred\\x07\\r\\u202e\\udcff"


def test_an_escape_sequence_in_a_name_does_not_reach_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--cache", "\x1b[2Jgone"]) == 4
    assert "\x1b" not in capfd.readouterr().err

"""Output: data on standard output, words on standard error.

Everything that is printed passes here. Much of it was written by others: no terminal gets anything that it would obey
rather than show. A script gets data as they are.
"""

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from io import StringIO
from shlex import quote
from typing import Any, Self

import click

from contexthall.core import limits
from contexthall.core.errors import DiskError, HallError
from contexthall.core.text import is_printable, truncated

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def print_data(text: str) -> None:
    """Print data as it is, in UTF-8 whatever the locale, with a newline at the end; nothing if it is empty."""
    _print(escaped(text) if _is_terminal() else text)


def print_styled(pieces: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Print pieces of data, each in a style that only a terminal shows."""
    if _is_terminal():
        _print("".join(click.style(escaped(text), **style) for text, style in pieces))
    else:
        _print("".join(text for text, _ in pieces))


def print_lines(lines: Iterable[str]) -> None:
    """Print data that is a line each, whatever line ends are in it."""
    print_data("".join(f"{on_one_line(line)}\n" for line in lines))


def print_json(text: str) -> None:
    """Print JSON; for a terminal, with escapes for what it would obey."""
    _print(escaped_json(text) if _is_terminal() else text)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _print(text: str) -> None:
    if sys.stdout is None:
        raise DiskError("standard output is closed")
    click.echo(text.encode("utf-8", "backslashreplace"), nl=bool(text) and not text.endswith("\n"))


def say(words: str) -> None:
    """Print to standard error; a failure to do so is ignored."""
    with suppress(OSError):
        click.echo(escaped(words), err=True)


def print_error(error: HallError) -> None:
    """Print what went wrong and what to type next."""
    say(on_one_line(f"error[{error.code}]: {error}"))
    if error.hint:
        say("\n" + on_one_line(f"hint: {error.hint}"))


def print_usage(error: click.ClickException, caches: Sequence[str] = ()) -> None:
    """Print what was typed wrong, and an example; of `caches`, which could have been meant, it has the first."""
    words = StringIO()
    error.show(words)
    say(words.getvalue().rstrip("\n").expandtabs(4))  # click sets lists in with tabs
    if example := _example(getattr(error, "ctx", None)):
        if caches:
            example = example.replace("--cache handbook", f"--cache {quote(caches[0])}")
        say(f"\nhint: for example `{example}`")


def _example(context: click.Context | None) -> str:
    """Return the first example of a command in its help or in that of its group; empty if there is none."""
    helps = (each.command.epilog or "" for each in (context, context.parent) if each) if context else ()
    lines = (line.strip() for text in helps for line in text.splitlines())
    path = context.command_path if context else ""
    return next((line.partition("  ")[0] for line in lines if path and f"| {path} " in f"| {line} "), "")


def escaped(text: str) -> str:
    """Escape what a terminal would obey rather than show."""
    return "".join(each if is_printable(each) or each == "\n" else ascii(each)[1:-1] for each in text)


def counted(count: int, noun: str) -> str:
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def say_unread(unread: Mapping[str, int]) -> None:
    """Say which source files drafts do not read, by language."""
    if unread:
        told = [counted(count, f"{language} file") for language, count in unread.items()]
        say(f"{', '.join(told)}, not read")


def age(moment: str, now: datetime) -> str:
    """Return how long ago that was, in the largest unit that fits; `-` if it never was, or is no time."""
    try:
        seconds = max(0, int((now - datetime.fromisoformat(moment)).total_seconds()))
    except (ValueError, TypeError):  # of a time without a zone
        return "-"
    return next((f"{seconds // length} {unit}" for length, unit in _UNITS if seconds >= length), f"{seconds} s")


def first_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - limits.DOCTOR_NAMES} more" if len(names) > limits.DOCTOR_NAMES else ""
    return ", ".join(names[: limits.DOCTOR_NAMES]) + more


def on_one_line(text: str) -> str:
    """Escape what a terminal would obey, line ends too: a name may contain one."""
    return escaped(text).replace("\n", "\\n")


def shortened(text: str, most: int) -> str:
    """Return a text on one line of at most so many characters, with an ellipsis where the rest was."""
    return truncated(on_one_line(text), most)


def escaped_json(text: str) -> str:
    """Escape, as JSON does, what a terminal would obey; the line ends between values stay."""
    if is_printable(text):
        return text
    return "".join(each if is_printable(each) or each == "\n" else json.dumps(each)[1:-1] for each in text)


class ProgressBar:
    """A bar on a terminal, for what takes longer than a second; nothing anywhere else."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = time.monotonic()
        self._bar: click._termui_impl.ProgressBar[int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def show(self, done: int, total: int) -> None:
        if self._bar is None:
            if sys.stderr is None or not sys.stderr.isatty() or time.monotonic() - self._begun < 1:
                return
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr)
        self._bar.update(done - self._bar.pos)

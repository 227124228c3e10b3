"""What reaches the person or the script? Data on standard output, words on standard error."""

import sys
import time
from contextlib import suppress
from typing import Self

import click

from contexthall.core.errors import DiskError, HallError


def print_data(text: str) -> None:
    """Print data as it is, in UTF-8 whatever the locale, with a newline at the end; nothing if it is empty."""
    if sys.stdout is None:
        raise DiskError("standard output is closed")
    click.echo(text.encode("utf-8", "backslashreplace"), nl=bool(text) and not text.endswith("\n"))


def say(words: str) -> None:
    """Say something to whoever reads standard error; if nobody does, that is no failure of ours."""
    with suppress(OSError):
        click.echo(harmless(words), err=True)


def print_error(error: HallError) -> None:
    """Say what went wrong and what to type next."""
    say(f"error[{error.code}]: {error}")
    if error.hint:
        say(f"\nhint: {error.hint}")


def harmless(text: str) -> str:
    """Escape what a terminal would obey rather than show."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def on_one_line(text: str) -> str:
    """Escape what a terminal would obey, line ends too: a name may contain one."""
    return harmless(text).replace("\n", "\\n")


class ProgressBar:
    """A bar on a terminal, for what takes longer than a second; nothing anywhere else."""

    def __init__(self, label: str, begun: float) -> None:
        self._label = label
        self._begun = begun
        self._bar: click._termui_impl.ProgressBar[int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def show(self, done: int, total: int) -> None:
        if self._bar is None:
            if not sys.stderr.isatty() or time.monotonic() - self._begun < 1:
                return
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr)
        self._bar.update(done - self._bar.pos)

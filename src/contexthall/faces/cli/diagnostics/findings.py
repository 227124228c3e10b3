"""What a check finds: its subject, how it is, and what to type if something is wrong.

An examination that fails is a finding as well: one bad thing never hides the others.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shlex import join
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from contexthall.core.errors import HallError

Mark: TypeAlias = Literal["ok", "note", "wrong"]

_NOTHING: Mapping[str, object] = MappingProxyType({})
_MOST_NAMED = 3


class DoctorFinding(NamedTuple):
    """One thing that was looked at."""

    mark: Mark
    """`wrong` has to be fixed; a `note` may stay as it is."""
    subject: str
    found: str
    remedy: str = ""
    """A command that fixes it, or says more; capitals are placeholders."""
    facts: Mapping[str, object] = _NOTHING
    """The same for machines."""


def command(*words: str) -> str:
    return join(words)


def editing(file: str) -> str:
    """Return a command that opens a file in an editor."""
    return f"${{EDITOR:-vi}} {command(file)}"


def run_check(
    subject: str, examine: Callable[[], Iterable[DoctorFinding]], remedy: str = "", *, again: str = "context doctor"
) -> Sequence[DoctorFinding]:
    """Return what a check finds and, if it fails, how; what was found before that stays.

    The `remedy` is a command that says more of such a failure, `again` the one by which it came to this.
    """
    found: list[DoctorFinding] = []
    with _warnings_noted(subject, found):
        try:
            for finding in examine():  # one by one: a failure must not take with it what was found before
                found.append(finding)  # noqa: PERF402 - see above
        except HallError as error:
            found.append(DoctorFinding("wrong", subject, "; ".join(filter(None, (str(error), error.hint))), remedy))
        except Exception as error:
            if os.environ.get("CONTEXT_DEBUG"):
                raise
            text = f"cannot be examined: {error!r}"
            found.append(DoctorFinding("wrong", subject, text, f"CONTEXT_DEBUG=1 {again}"))
    return found


class _Notes(logging.Handler):
    """Keeps what the rooms warn of, each sentence once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.sentences: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.sentences[record.getMessage()] = None


@contextmanager
def _warnings_noted(subject: str, found: list[DoctorFinding]) -> Iterator[None]:
    logger, notes = logging.getLogger("contexthall"), _Notes()
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
    found += [DoctorFinding("note", subject, sentence) for sentence in notes.sentences]


# How it is worded:


def first_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more

"""What a check finds: its subject, how it is, and what to type if something is wrong.

A check that fails is a finding as well: one bad thing never hides the others.
"""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import join
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from contexthall.core.errors import HallError
from contexthall.faces.cli.log import warnings_handled

Mark: TypeAlias = Literal["ok", "note", "wrong"]

_NOTHING: Mapping[str, object] = MappingProxyType({})


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
    subject: str, check: Callable[[], Iterable[DoctorFinding]], remedy: str = "", *, again: str = "context doctor"
) -> Sequence[DoctorFinding]:
    """Return what a check finds and, if it fails, how; what was found before that stays.

    The `remedy` is a command that says more of such a failure, `again` the one by which it came to this.
    """
    found: list[DoctorFinding] = []
    notes: list[DoctorFinding] = []

    def note(record: logging.LogRecord) -> None:
        notes.append(DoctorFinding("note", subject, record.getMessage()))

    with warnings_handled("contexthall", note):
        try:
            for finding in check():  # one by one: a failure must not take with it what was found before
                found.append(finding)  # noqa: PERF402 - see above
        except HallError as error:
            found.append(DoctorFinding("wrong", subject, "; ".join(filter(None, (str(error), error.hint))), remedy))
        except Exception as error:
            if os.environ.get("CONTEXT_DEBUG"):
                raise
            text = f"cannot be examined: {error!r}"
            found.append(DoctorFinding("wrong", subject, text, f"CONTEXT_DEBUG=1 {again}"))
    return found + notes

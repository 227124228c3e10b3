"""How are the answers about contexts worded? The shapes and sentences of the three tools.

What validating, watching and drafting answer stands here as well, so that whoever shows it need not load what finds it.
Pure. A fault of one directory is part of an answer, not an exception.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from contexthall.contexts.scan.directories import ROOT, UNREADABLE, Census
from contexthall.core.errors import (
    ContextCorruptError,
    ContextMissingError,
    ContextVersionError,
    DiskError,
    HallError,
    PathMissingError,
    ScopeError,
)
from contexthall.core.paths import shown
from contexthall.core.wire import compact

Answer: TypeAlias = dict[str, Any]

_MISSING = (
    'No .context.yaml found at scope "{scope}". This scope may be below the min_tokens threshold; '
    "use list_contexts to see eligible scopes."
)
_SENTENCES: dict[type[HallError], str] = {
    ScopeError: "Invalid scope: path traversal detected",
    ContextMissingError: _MISSING,
    PathMissingError: _MISSING,
    ContextCorruptError: 'Invalid or corrupt .context.yaml at scope "{scope}"',
    ContextVersionError: "Unsupported schema version {detail} (this tool supports version 1). "
    "Upgrade dotcontext to read this file.",
    DiskError: UNREADABLE,
}


class Selection(NamedTuple):
    """Which entries of a listing are wanted."""

    under: str | None = None
    states: Collection[str] = ()
    offset: int = 0
    limit: int | None = None


EVERYTHING = Selection()
VIOLATION, NOTE = "violation", "note"


class ContextFinding(NamedTuple):
    """Something about a context: a violation, or a note that breaks nothing."""

    scope: str
    severity: str
    field: str
    message: str


class Report(NamedTuple):
    """What was found; each directory counts as valid, invalid or missing its context."""

    valid: int
    invalid: int
    missing: int
    findings: Sequence[ContextFinding]


class StateChange(NamedTuple):
    """A directory whose state is another one now; None for one that is not, or no longer, there."""

    scope: str
    was: str | None
    state: str | None


class Outcome(NamedTuple):
    """What was written, by scope; what stayed as it was; and what could not be done, with its reason."""

    written: list[str]
    updated: list[str]
    unchanged: list[str]
    failed: list[tuple[str, str]]
    agents: str
    """What became of AGENTS.md: created, updated, unchanged, or why it was left alone."""


class Context(NamedTuple):
    """What is known of a directory, and whether it is still true."""

    scope: str
    state: Literal["fresh", "stale"]
    """`fresh`, or `stale` if it was written for other files than are there now."""
    fields: Mapping[str, Any]
    """All that the context says, by the names of its fields: `decisions`, `constraints`, `exports` and more."""
    text: str
    """The answer of `query_context`, called with freshness, byte for byte."""

    @property
    def summary(self) -> str:
        """What the directory is for; empty if nobody has said so."""
        return str(self.fields.get("summary", ""))

    @classmethod
    def read(cls, answer: Answer) -> Self:
        """Read an answer of `query_context`."""
        return cls(answer["scope"], answer["state"], answer["context"], compact(answer))


def sentence(error: HallError, scope: str) -> str:
    """Say what is wrong with a scope."""
    kind = next(each for each in type(error).__mro__ if each in _SENTENCES)
    return _SENTENCES[kind].format(scope=scope, detail=error.detail)


def listing(root: str, census: Census, entries: Sequence[Answer], selection: Selection) -> Answer:
    """Answer with the wanted `entries`; the counts are those of the whole project."""
    tracked = sum(entry["has_context"] for entry in entries)
    answer = _counts(root, len(census.kept), census.skipped, tracked)
    if selection == EVERYTHING:
        return answer | {"entries": entries}
    wanted = [entry for entry in entries if _is_wanted(entry, selection)]
    end = None if selection.limit is None else selection.offset + selection.limit
    return answer | {"entries": wanted[selection.offset : end], "matching": len(wanted)}


def failed_listing(root: str, reason: str = "") -> Answer:
    """Answer that nothing could be listed."""
    error = f'Failed to scan project at "{shown(root)}"'
    return _counts(root, 0, 0, 0) | {"entries": [], "error": f"{error}: {reason}" if reason else error}


def refused_listing(root: str, error: HallError) -> Answer:
    """Answer that what shall be listed may not be named."""
    return _counts(root, 0, 0, 0) | {"entries": [], "error": sentence(error, "")}


def _counts(root: str, total: int, skipped: int, tracked: int) -> Answer:
    return {"root": shown(root), "total_directories": total, "skipped_directories": skipped, "tracked": tracked}


def _is_wanted(entry: Answer, selection: Selection) -> bool:
    scope, under = str(entry["scope"]), selection.under
    is_under = under in {None, ROOT, scope} or scope.startswith(f"{under}/")
    return is_under and (not selection.states or entry["state"] in selection.states)

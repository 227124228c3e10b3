"""What the room answers: values, which render themselves as the JSON of the three tools.

What validating, watching and drafting answer stands here as well, so that whoever shows it need not load what finds it.
Pure. A fault of one directory is part of an answer, not an exception.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

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


class ContextEntry(NamedTuple):
    """A directory in a listing."""

    scope: str
    state: str
    has_context: bool = False
    last_updated: str = ""
    summary: Any = None
    has_summary: bool = False
    error: str = ""
    cause: str = ""
    """What the system said if it would not let the context be read: for people, and no part of an answer."""

    def to_json(self) -> dict[str, Any]:
        entry = {"scope": self.scope, "state": self.state, "has_context": self.has_context}
        if self.has_context:
            entry["last_updated"] = self.last_updated
        if self.has_summary:
            entry["summary"] = self.summary
        if self.error:
            entry["error"] = self.error
        return entry


class ContextListing(NamedTuple):
    """The answer of `list_contexts`; the counts are those of the whole project."""

    root: str
    total_directories: int = 0
    skipped_directories: int = 0
    tracked: int = 0
    entries: Sequence[ContextEntry] = ()
    matching: int | None = None
    """How many entries were wanted, if not all are shown."""
    error: str = ""
    unread: Mapping[str, int] = {}
    """Language that drafts do not read → number of its files: for people, and no part of an answer."""

    def to_json(self) -> dict[str, Any]:
        answer = self._asdict() | {"entries": [entry.to_json() for entry in self.entries]}
        del answer["unread"]
        if self.matching is None:
            del answer["matching"]
        if not self.error:
            del answer["error"]
        return answer


class FreshnessReport(NamedTuple):
    """The answer of `check_freshness`; without fingerprints if there is an error instead."""

    scope: str
    state: str
    stored: str = ""
    computed: str = ""
    last_updated: str = ""
    changed: Mapping[str, list[str]] = {}
    """Which files were added, removed and modified, where that is known."""
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"scope": self.scope, "state": self.state}
        if self.computed:
            answer["fingerprint"] = {"stored": self.stored, "computed": self.computed}
            answer["last_updated"] = self.last_updated
        if self.changed:
            answer["changed"] = self.changed
        if self.error:
            answer["error"] = self.error
        return answer


class ContextReading(NamedTuple):
    """The answer of `query_context`."""

    scope: str
    fields: Mapping[str, Any] | None = None
    """What the context says; None if there is an error instead."""
    freshness: FreshnessReport | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        if self.fields is None:
            return {"found": False, "scope": self.scope, "error": self.error}
        freshness = self.freshness.to_json() if self.freshness else {}
        freshness.pop("last_updated", None)  # which the context itself says
        return {"found": True, "scope": self.scope, "context": self.fields} | freshness


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
    missing: Sequence[str] = ()
    """Of which nothing can be said without asking somebody: no context was written."""
    unread: Mapping[str, int] = {}
    """Language that drafts do not read → number of its files."""


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
    def of(cls, reading: ContextReading) -> Self:
        """Return what was read together with its freshness; an error cannot be one."""
        if reading.fields is None or reading.freshness is None:
            raise ValueError(reading.error)
        state: Literal["fresh", "stale"] = "fresh" if reading.freshness.state == "fresh" else "stale"
        return cls(reading.scope, state, reading.fields, compact(reading.to_json()))


def sentence(error: HallError, scope: str) -> str:
    """Return what is wrong with a scope."""
    kind = next(each for each in type(error).__mro__ if each in _SENTENCES)
    return _SENTENCES[kind].format(scope=scope, detail=error.detail)


def listing(root: str, census: Census, entries: Sequence[ContextEntry], selection: Selection) -> ContextListing:
    """Return the wanted `entries`."""
    tracked = sum(entry.has_context for entry in entries)
    whole = ContextListing(shown(root), len(census.kept), census.skipped, tracked, entries)
    if selection == EVERYTHING:
        return whole
    wanted = [entry for entry in entries if _is_wanted(entry, selection)]
    end = None if selection.limit is None else selection.offset + selection.limit
    return whole._replace(entries=wanted[selection.offset : end], matching=len(wanted))


def failed_listing(root: str, reason: str = "") -> ContextListing:
    """Return that nothing could be listed."""
    error = f'Failed to scan project at "{shown(root)}"'
    return ContextListing(shown(root), error=f"{error}: {reason}" if reason else error)


def _is_wanted(entry: ContextEntry, selection: Selection) -> bool:
    scope, under = entry.scope, selection.under
    is_under = under in {None, ROOT, scope} or scope.startswith(f"{under}/")
    return is_under and (not selection.states or entry.state in selection.states)

"""The answers of the room: values, which render themselves as the JSON of the three tools.

The results of validating, watching and drafting are here as well, so that a face can show them without loading the code
that finds them. Pure. A fault of one directory is part of an answer, not an exception.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any, Literal, NamedTuple, Self

from contexthall.contexts.brief.rule_files import RuleFile
from contexthall.contexts.files.claims import JudgedCitation
from contexthall.contexts.freshness.drift import DRIFTS, NO_DRIFT, Drift
from contexthall.contexts.freshness.states import FRESH, STALE
from contexthall.contexts.scan.directories import ROOT, UNREADABLE, Census
from contexthall.core import limits
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
    query: str = ""
    """Words, all of which must be in the scope or in the summary."""
    depth: int | None = None
    """At most so many levels below `under`, or below the root."""
    most_bytes: int | None = None
    """Of the answer as JSON; whole entries, and at least one."""

    @property
    def is_filter(self) -> bool:
        return self._replace(most_bytes=None) != Selection()


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
    has_words: bool = False
    """Whether people wrote some of it; not part of an answer."""
    drift: str = ""
    """How far a stale one has drifted: content, interface or evidence; empty if that is not known."""
    claims: Sequence[str] = ()
    """The claims whose evidence has changed or is gone."""
    cause: str = ""
    """The error of the operating system if the context could not be read: for people, not part of an answer."""

    def to_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"scope": self.scope, "state": self.state, "has_context": self.has_context}
        if self.has_context:
            entry["last_updated"] = self.last_updated
        if self.has_summary:
            entry["summary"] = self.summary
        if self.drift or self.claims:
            entry |= drift_fields(self.state, self.drift, self.claims)
        if self.error:
            entry["error"] = self.error
        return entry


_COUNTS = ("total_directories", "skipped_directories", "tracked")


class ContextListing(NamedTuple):
    """The answer of `list_contexts`; the counts are those of the whole project."""

    root: str
    total_directories: int = 0
    skipped_directories: int = 0
    tracked: int = 0
    entries: Sequence[ContextEntry] = ()
    matching: int | None = None
    """How many entries match the selection, if there is one."""
    next_offset: int | None = None
    """The offset of the rest, if the list was cut because the answer would be too long."""
    error: str = ""
    rules: Sequence[RuleFile] = ()
    """The rule files of the project, unless there is a selection."""
    unread: Mapping[str, int] = {}
    """Language that drafts do not read → number of its files: for people, not part of an answer."""

    def to_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in _COUNTS}
        answer = {"root": self.root, **counts, "entries": [entry.to_json() for entry in self.entries]}
        if self.matching is not None:
            answer["matching"] = self.matching
        if self.next_offset is not None:
            answer |= {"truncated": True, "next_offset": self.next_offset}
        if self.rules:
            answer["rules"] = [rule.to_json() for rule in self.rules[: limits.RULE_LISTED]]
        return answer | ({"error": self.error} if self.error else {})


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
    drift: Drift = NO_DRIFT

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"scope": self.scope, "state": self.state}
        if self.computed:
            answer["fingerprint"] = {"stored": self.stored, "computed": self.computed}
            answer["last_updated"] = self.last_updated
        if self.changed:
            answer["changed"] = self.changed
        answer |= drift_fields(self.state, self.drift.level, self.drift.claims)
        if self.drift.failing:
            answer["cited"] = [_citation_fields(each) for each in self.drift.failing]
        if self.error:
            answer["error"] = self.error
        return answer


class ContextReading(NamedTuple):
    """The answer of `query_context`."""

    scope: str
    fields: Mapping[str, Any] | None = None
    """The fields of the context; None if there is an error instead."""
    freshness: FreshnessReport | None = None
    error: str = ""
    unknown: Sequence[str] = ()
    """Requested names that no field has."""

    def to_json(self) -> dict[str, Any]:
        if self.fields is None:
            return {"found": False, "scope": self.scope, "error": self.error}
        freshness = self.freshness.to_json() if self.freshness else {}
        freshness.pop("last_updated", None)  # which is in the context itself
        unknown = {"unknown_fields": [*self.unknown]} if self.unknown else {}
        return {"found": True, "scope": self.scope, "context": self.fields} | freshness | unknown


class ContextFinding(NamedTuple):
    """Something about a context: a violation, or a note that breaks nothing."""

    scope: str
    severity: str
    field: str
    message: str


class Report(NamedTuple):
    """The result of a validation; each directory counts as valid, invalid or missing its context."""

    valid: int
    invalid: int
    missing: int
    findings: Sequence[ContextFinding]


class StateChange(NamedTuple):
    """A directory whose state or drift is another one now; None for one that is not, or no longer, there."""

    scope: str
    was: str | None
    state: str | None
    drift: str = ""
    """The level of drift if it is known; `evidence` if a claim does not hold."""


class FailingClaim(NamedTuple):
    """A claim of a context whose evidence has changed or is gone."""

    scope: str
    judged: JudgedCitation

    def to_json(self) -> dict[str, str]:
        return {"scope": self.scope, **_citation_fields(self.judged)}


class ChangedReport(NamedTuple):
    """What does not hold, of what changed files affect."""

    contexts: Sequence[FreshnessReport]
    """Those that are stale."""
    claims: Sequence[FailingClaim]

    def is_beyond(self, level: str) -> bool:
        """Return whether something has drifted as far as `level`, further, or by an unknown distance."""
        return bool(self.claims) or any(is_beyond(each.state, each.drift.level, level) for each in self.contexts)

    def to_json(self) -> dict[str, Any]:
        return {
            "contexts": [each.to_json() for each in self.contexts],
            "claims": [each.to_json() for each in self.claims],
        }


class Outcome(NamedTuple):
    """What was written, by scope; what was left unchanged; and what failed, with its reason."""

    written: list[str]
    updated: list[str]
    unchanged: list[str]
    failed: list[tuple[str, str]]
    agents: str
    """What became of AGENTS.md: created, updated, unchanged, or why it was left alone."""
    replaced: dict[str, list[str]]
    """Scope → the drafted fields that have another value now, or none."""
    kept: dict[str, list[str]]
    """Scope → the drafted fields that a person has changed: they are the person's, and stay."""
    missing: Sequence[str] = ()
    """Directories about which nothing is stated anywhere: no context was written."""
    unread: Mapping[str, int] = {}
    """Language that drafts do not read → number of its files."""


class Context(NamedTuple):
    """What is known of a directory, and whether it is still true."""

    scope: str
    state: Literal["fresh", "stale"]
    """`fresh`, or `stale` if it was written for other files than are there now."""
    fields: Mapping[str, Any]
    """All fields of the context by name: `decisions`, `constraints`, `exports` and more."""
    text: str
    """The answer of `query_context`, called with freshness, byte for byte."""

    @property
    def summary(self) -> str:
        """What the directory is for; empty if that is not known."""
        return str(self.fields.get("summary", ""))

    @classmethod
    def of(cls, reading: ContextReading) -> Self:
        """Make a context of a reading with its freshness; ValueError if that is an error."""
        if reading.fields is None or reading.freshness is None:
            raise ValueError(reading.error)
        state: Literal["fresh", "stale"] = "fresh" if reading.freshness.state == "fresh" else "stale"
        return cls(reading.scope, state, reading.fields, compact(reading.to_json()))


def sentence(error: HallError, scope: str) -> str:
    """Return the sentence for an error about a scope."""
    kind = next(each for each in type(error).__mro__ if each in _SENTENCES)
    return _SENTENCES[kind].format(scope=scope, detail=error.detail)


def listing(
    root: str, census: Census, entries: Sequence[ContextEntry], selection: Selection, rules: Sequence[RuleFile] = ()
) -> ContextListing:
    """Return the `entries` that match a selection, with the counts of all."""
    tracked = sum(entry.has_context for entry in entries)
    shown_rules = () if selection.is_filter else rules
    whole = ContextListing(shown(root), len(census.kept), census.skipped, tracked, entries, rules=shown_rules)
    if selection.is_filter:
        wanted = [entry for entry in entries if _is_wanted(entry, selection)]
        end = None if selection.limit is None else selection.offset + selection.limit
        whole = whole._replace(entries=wanted[selection.offset : end], matching=len(wanted))
    return whole if selection.most_bytes is None else _bounded(whole, selection.offset, selection.most_bytes)


def _bounded(whole: ContextListing, offset: int, most_bytes: int) -> ContextListing:
    """Leave out the entries at the end that would make the answer too long, but never all of them."""
    rest = most_bytes - _size(whole._replace(entries=()).to_json()) + 1  # there is one comma less than entries
    fitting = [*takewhile(lambda left: left >= 0, accumulate(whole.entries, _take, initial=rest))][1:]
    if len(fitting) == len(whole.entries):
        return whole
    marks = _size({"truncated": True, "next_offset": offset + len(fitting)}) - 1
    number = max(1, sum(left >= marks for left in fitting))
    return whole._replace(entries=whole.entries[:number], next_offset=offset + number)


def _take(rest: int, entry: ContextEntry) -> int:
    """Return how many bytes are left once an entry is in the answer."""
    return rest - _size(entry.to_json()) - 1


def _size(value: object) -> int:
    return len(compact(value).encode("utf-8", "surrogatepass"))


def is_beyond(state: str, drift: str, level: str) -> bool:
    """Return whether a context has drifted as far as `level`, or further; an unknown distance counts."""
    if not drift:
        return state != FRESH
    return DRIFTS.index(drift) >= DRIFTS.index(level)


def drift_fields(state: str, drift: str, claims: Sequence[str]) -> dict[str, Any]:
    """Return the fields about drift: its level for a stale context, the claims that do not hold for any."""
    level = {"drift": drift} if state == STALE and drift else {}
    return level | ({"claims": [*claims]} if claims else {})


def _citation_fields(judged: JudgedCitation) -> dict[str, str]:
    """Return the fields about a citation that fails: the claim, its text, and what became of its evidence."""
    claim, citation = judged.claim, judged.citation
    symbol = {"symbol": citation.symbol} if citation.symbol else {}
    return {"claim": claim.name, "text": claim.text, "path": citation.path, **symbol, "is": judged.verdict}


def failed_listing(root: str, reason: str = "") -> ContextListing:
    """Return the listing of a project that cannot be listed."""
    error = f'Failed to scan project at "{shown(root)}"'
    return ContextListing(shown(root), error=f"{error}: {reason}" if reason else error)


def _is_wanted(entry: ContextEntry, selection: Selection) -> bool:
    scope, under = entry.scope, selection.under
    is_under = under in {None, ROOT, scope} or scope.startswith(f"{under}/")
    if not is_under or (selection.states and entry.state not in selection.states):
        return False
    if selection.depth is not None and _levels(scope) - _levels(under or ROOT) > selection.depth:
        return False
    text = f"{scope} {entry.summary if isinstance(entry.summary, str) else ''}".casefold()
    return all(word in text for word in selection.query.casefold().split())


def _levels(scope: str) -> int:
    return 0 if scope == ROOT else scope.count("/") + 1

"""The lock: what is known of contexts beyond their schema. One line of JSON a scope, sorted, so that git merges it.

Pure: bytes in, values out. A line that cannot be read is ignored; one that did not change keeps its bytes.
"""

import re
from collections.abc import Collection, Mapping
from functools import cached_property, reduce
from typing import Final, NamedTuple

from contexthall.core import limits
from contexthall.core.wire import compact, parse

LOCK_FILE: Final = ".context.lock"

_SCOPE = re.compile(rb'\{"scope":("(?:[^"\\]|\\.)*+")[,}]')
_EITHER = re.compile(rb"[0-9a-f]{8} [0-9a-f]")
_BASE = b"|||||||"
_MARK = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})", re.MULTILINE)
"""Git's conflict marks: ours, the base, theirs, the end."""


class Citation(NamedTuple):
    """The evidence of a claim: a file of the project, or a definition in it, and its digest when it was cited."""

    claim: str
    """Field and digest of the claim's text, such as `constraints/9c0ffee1`."""
    path: str
    symbol: str = ""
    digest: str = ""

    @property
    def target(self) -> str:
        """For people: `src/keys.py#rotate`."""
        return f"{self.path}#{self.symbol}" if self.symbol else self.path

    def to_json(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value or name != "symbol"}


class LockEntry(NamedTuple):
    """The entry of one scope."""

    interface: str = ""
    """Scheme and digest; empty if it is unknown; two, with a blank between, while it may be either."""
    drafted: Mapping[str, str] = {}
    """Field → digest of the drafted value; two, with a blank between, while it may be either."""
    citations: tuple[Citation, ...] = ()

    @property
    def is_settled(self) -> bool:
        """False after a merge of two branches, or a killed run: then some values may be either of two."""
        return not any(" " in each for each in (self.interface, *self.drafted.values()))

    def to_json(self, scope: str) -> dict[str, object]:
        entry: dict[str, object] = {"scope": scope}
        if self.interface:
            entry["interface"] = self.interface
        if self.drafted:
            entry["drafted"] = dict(sorted(self.drafted.items()))
        if self.citations:
            entry["citations"] = [each.to_json() for each in sorted(self.citations)]
        return entry


class Lock:
    """The lines of a lock by scope. Each is parsed on demand: most never are."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def has_conflict(self) -> bool:
        """Whether git has left conflict marks in it; `context rehash` mends it."""
        return _MARK.search(self._data) is not None

    @cached_property
    def _lines(self) -> Mapping[str, Collection[bytes]]:
        """The lines by scope; more than one if two branches both changed it."""
        lines: dict[str, dict[bytes, None]] = {}
        is_base = False
        for line in self._data.splitlines():
            if _MARK.match(line):
                is_base = line.startswith(_BASE)
            elif line and not is_base and (scope := _scope_of(line)) is not None:
                lines.setdefault(scope, {})[line] = None
        return lines

    def entry(self, scope: str) -> LockEntry | None:
        """Return the entry of a scope; None if there is none that can be read."""
        found = [entry for line in self._lines.get(scope, ()) if (entry := _read_entry(line)) is not None]
        return reduce(either, found) if found else None

    @property
    def scopes(self) -> list[str]:
        return sorted(self._lines)

    @property
    def unsettled(self) -> dict[str, LockEntry]:
        """The entries with values that may be either of two."""
        suspects = [scope for scope, lines in self._lines.items() if len(lines) > 1 or any(map(_EITHER.search, lines))]
        found = {scope: entry for scope in suspects if (entry := self.entry(scope)) is not None}
        return {scope: entry for scope, entry in found.items() if not entry.is_settled}

    def may_cite(self, scope: str) -> bool:
        """Return whether a scope may have citations; False if it surely has none."""
        return scope in self.citing

    @cached_property
    def citing(self) -> frozenset[str]:
        """The scopes that may have citations."""
        if b'"citations"' not in self._data:
            return frozenset()
        return frozenset(scope for scope, lines in self._lines.items() if any(b'"citations"' in line for line in lines))

    def with_entries(self, entries: Mapping[str, LockEntry | None]) -> bytes:
        """Return the bytes of the lock with other entries for some scopes; None for a scope that is gone."""
        lines = {scope: self._line(scope) for scope in self._lines if scope not in entries}
        lines |= {scope: _to_line(scope, entry) for scope, entry in entries.items() if entry is not None}
        return b"".join(lines[scope] + b"\n" for scope in sorted(lines) if lines[scope])

    def _line(self, scope: str) -> bytes:
        """Return the line of a scope unchanged, unless there are two."""
        lines = self._lines[scope]
        if len(lines) == 1:
            return next(iter(lines))
        entry = self.entry(scope)
        return _to_line(scope, entry) if entry is not None else b""


NO_LOCK: Final = Lock(b"")


def read_lock(data: bytes) -> Lock:
    """Read a lock; one that is too large counts as empty."""
    return NO_LOCK if len(data) > limits.LOCK_BYTES else Lock(data)


def _scope_of(line: bytes) -> str | None:
    found = _SCOPE.match(line)
    try:
        scope = parse(found[1]) if found else _mapping(line).get("scope")
    except ValueError:
        return None
    return scope if isinstance(scope, str) else None


def _read_entry(line: bytes) -> LockEntry | None:
    try:
        values = _mapping(line)
    except ValueError:
        return None
    interface, drafted, citations = (values.get(name) for name in ("interface", "drafted", "citations"))
    return LockEntry(
        interface if isinstance(interface, str) else "",
        _texts(drafted),
        tuple(each for value in citations if (each := _citation(value))) if isinstance(citations, list) else (),
    )


def _mapping(line: bytes) -> dict[str, object]:
    value = parse(line)
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def _citation(value: object) -> Citation | None:
    texts = _texts(value)
    if not {"claim", "path", "digest"} <= texts.keys():
        return None
    return Citation(texts["claim"], texts["path"], texts.get("symbol", ""), texts["digest"])


def either(one: LockEntry, other: LockEntry) -> LockEntry:
    """Return an entry that holds whichever of two is true: it has the values and the citations of both."""
    both = {*one.drafted, *other.drafted}
    return LockEntry(
        _either(one.interface, other.interface),
        {name: _either(one.drafted.get(name, ""), other.drafted.get(name, "")) for name in both},
        tuple(sorted({*one.citations, *other.citations})),
    )


def _either(one: str, other: str) -> str:
    return " ".join(dict.fromkeys([*one.split(), *other.split()]))


def _to_line(scope: str, entry: LockEntry) -> bytes:
    return compact(entry.to_json(scope)).encode("utf-8", "replace")

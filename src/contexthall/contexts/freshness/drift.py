"""Drift: how far a directory has moved away from its context: in bytes only, in its interface, or in cited evidence.

The disk is an argument, and so is the code reader: parsers are loaded only for a directory that is stale.
"""

import os
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from contexthall.contexts.files.claims import JudgedCitation, failing, judge_citations
from contexthall.contexts.files.lock import LOCK_FILE, NO_LOCK, Citation, Lock, LockEntry, read_lock
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.evidence import digest_of, read_cited
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.system.disk import Disk, Status, is_settled

CONTENT, INTERFACE, EVIDENCE = DRIFTS = ("content", "interface", "evidence")
"""From the least to the most."""
UNKNOWN: Final = ""
SCHEME: Final = "4:"
"""The prefix of interfaces. Raise the number when other things count: 3 skipped modules of Ruby whose methods are their
own, 2 counted the names of tests, 1 no methods."""


class CodeReader(Protocol):
    """Parses code."""

    def interface_of(self, disk: Disk, directory: ScannedDirectory) -> str:
        """Return the interface of a directory, as digits with the scheme before them; empty if it is unknown."""

    def find_definition(self, name: str, data: bytes, symbol: str) -> str | None:
        """Return the text of a definition in a file; None if there is none."""


class NoCodeReader:
    """Reads no code: interfaces are unknown, definitions are never found."""

    def interface_of(self, _disk: Disk, _directory: ScannedDirectory) -> str:
        return UNKNOWN

    def find_definition(self, _name: str, _data: bytes, _symbol: str) -> str | None:
        return None


NO_CODE: Final = NoCodeReader()


class Drift(NamedTuple):
    """How far a directory has moved away from its context."""

    level: str = UNKNOWN
    """Empty if that is not known, and for a context that is fresh."""
    failing: tuple[JudgedCitation, ...] = ()
    """The citations whose evidence has changed or is gone."""

    @property
    def claims(self) -> list[str]:
        return [*dict.fromkeys(each.claim.name for each in self.failing)]


NO_DRIFT: Final = Drift()


class DriftJudge:
    """Judges drift in one project, whose root really is at `base`."""

    def __init__(self, disk: Disk, base: str, ledger: Ledger, code: CodeReader) -> None:
        self._disk = disk
        self._base = base
        self._ledger = ledger
        self.code = code
        self._kept: tuple[Status, Lock] | None = None

    def lock(self) -> Lock:
        """Read the lock; one that is missing, a symlink, unreadable or too large counts as empty."""
        path, now = os.path.join(self._base, LOCK_FILE), self._ledger.now()
        try:
            status = self._disk.look(path, follow=False)
            if self._kept is not None and self._kept[0] == status:
                return self._kept[1]
            lock = read_lock(self._disk.read_small(path, limits.LOCK_BYTES)[1])
        except DiskError:
            return NO_LOCK
        self._kept = (status, lock) if is_settled(status.stamp[1:], now) else None
        return lock

    def interface_of(self, directory: ScannedDirectory, fingerprint: str) -> str:
        """Return the interface of a directory whose content has this fingerprint."""
        known = self._ledger.interface(directory.scope, fingerprint)
        if known is None or (known and not known.startswith(SCHEME)):
            known = self.code.interface_of(self._disk, directory)
            self._ledger.learn_interface(directory.scope, fingerprint, known)
        return known

    def judge(
        self, entry: LockEntry | None, directory: ScannedDirectory, values: Mapping[str, Value], computed: str | None
    ) -> Drift:
        """Judge a directory by its entry in the lock; `computed` is its fingerprint if the context is stale."""
        if entry is None:
            return NO_DRIFT
        judged = failing(judge_citations(values, entry.citations, self.look_up)) if entry.citations else []
        if judged:
            return Drift(EVIDENCE, tuple(judged))
        return NO_DRIFT if computed is None else Drift(self._level(entry, directory, computed))

    def look_up(self, citation: Citation) -> str | None:
        """Return the digest of cited evidence as it is now; None if it is gone, or not a file of the project."""
        try:
            return self.digest(citation.path, citation.symbol)
        except DiskError:
            return None

    def digest(self, path: str, symbol: str) -> str | None:
        """Return the digest of a file of the project or of a definition in it; None if there is no such thing.

        DiskError if the file cannot be read. No symlink is followed.
        """
        cited = read_cited(self._disk, self._base, path)
        return None if cited is None else digest_of(*cited, symbol, self.code.find_definition)

    def _level(self, entry: LockEntry, directory: ScannedDirectory, computed: str) -> str:
        if not entry.interface.startswith(SCHEME) or not entry.is_settled or directory.error:
            return UNKNOWN
        now = self.interface_of(directory, computed)
        if not now:
            return UNKNOWN
        return CONTENT if now == entry.interface else INTERFACE

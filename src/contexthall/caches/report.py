"""What people want to know of a cache: how large and old it is, where it came from, and whether that still holds."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from contexthall.caches.build.changes import SourceChanges, read_record
from contexthall.caches.freshness import SourceJudge, state_of
from contexthall.caches.model.format import MANIFEST, read_head
from contexthall.caches.model.source_record import SourceRecord
from contexthall.caches.query.cache_files import read_part
from contexthall.caches.query.question import UNKNOWN, SourcesState
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, HallError
from contexthall.core.paths import absolute
from contexthall.system.disk import Directory, Disk

if TYPE_CHECKING:
    from contexthall.caches.library import CacheEntry

_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class CacheReport(NamedTuple):
    """What a cache says of itself, and what became of its sources. It names paths: for people of this machine only."""

    version: str = ""
    documents: int = 0
    created_at: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    """Name, "" for none, and path of each folder, and of the environment whose packages it has."""
    freshness: SourcesState = UNKNOWN
    changed: Mapping[str, tuple[str, ...]] = _NOTHING
    """The files that were added, removed and modified, by kind."""
    reason: str = ""
    """Why it is not known what became of the sources."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """The files of the sources that became no page, and why."""


def _report_on_entry(entry: "CacheEntry", report: Callable[[str], CacheReport]) -> CacheReport:
    if not entry.has_manifest:
        return CacheReport(reason="no cache: it has no manifest")
    try:
        return report(entry.path)
    except HallError as error:
        return CacheReport(reason=error.detail or error.message)


def report_on(disk: Disk, cache: Directory, may_read: Callable[[str], bool]) -> CacheReport:
    """Look at an open cache and at its sources."""
    head = read_head(read_part(cache, MANIFEST))
    if not head.complete:
        raise CacheInvalidError("its manifest cannot be read")
    report = CacheReport(head.cache_version, head.document_count, head.created_at)
    try:
        record = read_record(cache)
        left_out = {file.source: file.failure for file in record.files if file.failure}
        report = report._replace(sources=tuple(_places(record, cache.path)), left_out=left_out)
        changes = SourceJudge(disk, cache, may_read).find_changes()
    except HallError as error:
        return report._replace(reason=error.detail.removeprefix(f"{cache.path} ") or error.message)
    return report._replace(freshness=state_of(changes), changed=_by_kind(changes))


def _places(record: SourceRecord, cache: str) -> list[tuple[str, str]]:
    places = [(name, absolute(path, cache)) for name, path in record.folders]
    if record.packages is not None:
        places.append(("packages", absolute(record.packages.python or record.packages.project, cache)))
    return places


def _by_kind(changes: SourceChanges) -> dict[str, tuple[str, ...]]:
    return {kind: getattr(changes, kind) for kind in ("added", "removed", "modified")}


class PacedReports:
    """Reports for who asks all the time: a cache is looked at again after ten times as long as the last look took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, tuple[float, CacheReport]] = {}

    def update(self, entries: Sequence["CacheEntry"], report: Callable[[str], CacheReport]) -> dict[str, CacheReport]:
        """Return a report on every directory that is listed, a new one where that is due."""
        found = {entry.path: self._look(entry, report) for entry in entries}
        last = self._last  # one object: another thread may put another one in its place
        self._last = {path: last[path] for path in found if path in last}
        return found

    def _look(self, entry: "CacheEntry", report: Callable[[str], CacheReport]) -> CacheReport:
        begun = self._clock()
        due_at, last = self._last.get(entry.path, (begun, None))
        if last is None or begun >= due_at:
            last, now = _report_on_entry(entry, report), self._clock()
            pause = max(limits.JUDGING_PAUSE_SECONDS, limits.JUDGING_SHARE * (now - begun))
            self._last[entry.path] = now + pause, last
        return last

"""Whether a cache still says what its sources say, judged often and cheaply.

A verdict is asked for with every answer. It is found at most once in a while, in a thread of its own, and no answer
waits for it for long: then the last one is told.
"""

import os.path
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from contexthall.caches.build.changes import (
    SourceChanges,
    changes_since,
    find_recorded,
    read_record,
    recorded_folders,
    recorded_places,
)
from contexthall.caches.build.sources import SourceFile, checked
from contexthall.caches.model.source_record import SourceRecord
from contexthall.caches.query.cache_files import has_few_sources
from contexthall.caches.query.question import UNKNOWN, SourcesState
from contexthall.core import limits
from contexthall.core.errors import HallError
from contexthall.system.disk import Directory, Disk, is_settled


class SourcesLook(NamedTuple):
    """What was seen of the sources of a cache."""

    state: SourcesState = UNKNOWN
    places: tuple[str, ...] = ()
    """Where they are, or would be; none if the cache does not say, or they are not to be watched."""
    folders: frozenset[str] = frozenset()
    """The folders in which a change may be one of the sources."""
    has_packages: bool = False


class SourceJudge:
    """Judges the sources of one open cache."""

    def __init__(self, disk: Disk, cache: Directory, may_read: Callable[[str], bool]) -> None:
        self._disk = disk
        self._cache = cache
        self._may_read = may_read
        self._verdict = UNKNOWN
        self._due_at = 0.0
        self._is_worth_waiting = has_few_sources(cache)
        self._seen: dict[str, SourceFile] = {}
        self._walked: frozenset[str] = frozenset()
        self._looking: threading.Thread | None = None
        self._turn = threading.Lock()

    @property
    def verdict(self) -> SourcesState:
        """The last one."""
        return self._verdict

    @property
    def has_looked_in_vain(self) -> bool:
        """Whether the sources that are recorded were looked at, and it is not known what became of them."""
        return self._due_at > 0 and self._verdict == UNKNOWN and "_record" in self.__dict__

    def state(self) -> SourcesState:
        """Return the verdict: a new one if it is due, and found in time."""
        with self._turn:
            if self._looking is None and time.monotonic() >= self._due_at:
                self._looking = threading.Thread(target=self._look, daemon=True)
                self._looking.start()
            looking = self._looking
        if looking is not None and self._is_worth_waiting:
            looking.join(limits.JUDGING_SECONDS)
        return self._verdict

    def _look(self) -> None:
        begun = time.monotonic()
        try:
            self._verdict = state_of(self.changes())
        finally:
            took = time.monotonic() - begun
            self._is_worth_waiting = took < limits.JUDGING_SECONDS
            pause = max(limits.JUDGING_PAUSE_SECONDS, limits.JUDGING_SHARE * took)
            self._due_at, self._looking = time.monotonic() + pause, None

    @cached_property
    def _record(self) -> SourceRecord:
        return read_record(self._cache)

    def look(self, may_watch: Callable[[str], bool]) -> SourcesLook:
        """Judge the sources now, and tell where to watch them; nothing of both if one is not to be watched."""

        def may_read(real: str) -> bool:
            return may_watch(real) and self._may_read(real)

        try:
            record = self._record
            places = tuple(recorded_places(self._disk, record, self._cache.path))
        except HallError:
            return SourcesLook()
        if not all(map(may_read, places)):
            return SourcesLook()
        changes, has_packages = self.changes(may_read), record.packages is not None
        if changes is None:
            there = frozenset(place for place in places if self._disk.kind(place) == "directory")
            return SourcesLook(UNKNOWN, places, there, has_packages)
        # What is known now is said by answers, too.
        self._verdict, self._due_at = state_of(changes), time.monotonic() + limits.JUDGING_PAUSE_SECONDS
        below = tuple(os.path.join(place, "") for place in places)
        folders = frozenset(each for each in self._walked if f"{each}/".startswith(below) or may_read(each))
        return SourcesLook(self._verdict, places, folders, has_packages)

    def changes(self, may_read: Callable[[str], bool] | None = None) -> SourceChanges | None:
        """Return what became of the sources; None if they are not known, gone, or not to be read."""
        try:
            return self.find_changes(may_read)
        except HallError:
            return None

    def find_changes(self, may_read: Callable[[str], bool] | None = None) -> SourceChanges:
        """Return what became of the sources; an error says why that is not known."""
        seen_at, record, may_read = time.time_ns(), self._record, may_read or self._may_read
        folders = recorded_folders(self._disk, record, self._cache.path, may_read)
        found, _, walked, _ = find_recorded(self._disk, record, folders, may_read)
        if record.packages is not None:
            files, more = self._packages(record, may_read)
            found, walked = checked([*found, *files]), walked | more
        self._walked = walked
        changes = changes_since(self._disk, record, found, self._seen)
        # What has the recorded stamp need not be remembered.
        touched = [file for file in found if (same := changes.unchanged.get(file.source)) and same.stamp != file.stamp]
        self._seen = {file.source: file for file in touched if file.stamp and is_settled(file.stamp, seen_at)}
        return changes

    def _packages(
        self, record: SourceRecord, may_read: Callable[[str], bool]
    ) -> tuple[list[SourceFile], frozenset[str]]:
        from contexthall.caches.build import package_sources  # noqa: PLC0415 - 30 ms, which most caches do not need

        choice = package_sources.recorded_choice(self._disk, record, self._cache.path, may_read)
        assert choice is not None
        files = package_sources.judge_package_sources(self._disk, choice, record)
        return files, package_sources.package_folders(self._disk, choice)


def state_of(changes: SourceChanges | None) -> SourcesState:
    if changes is None:
        return UNKNOWN
    return SourcesState("stale", changes.total) if changes.total else SourcesState("fresh")

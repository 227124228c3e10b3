"""The judges of the sources of open caches: who asks only once does not wait for one."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from contexthall.caches.query.cache_files import has_few_sources
from contexthall.caches.query.opening import AnyCache
from contexthall.caches.query.question import UNKNOWN, SourcesState
from contexthall.system.disk import Disk

if TYPE_CHECKING:
    from contexthall.caches.freshness import SourceJudge, SourcesLook


class SourceJudges:
    """A judge for each cache that is asked, for as long as that is open."""

    def __init__(self, disk: Disk, may_read: Callable[[str], bool]) -> None:
        self.may_read = may_read
        self._disk = disk
        self._judges: WeakKeyDictionary[AnyCache, SourceJudge] = WeakKeyDictionary()
        self._was_asked: WeakSet[AnyCache] = WeakSet()

    def of(self, opened: AnyCache) -> "SourceJudge":
        """Return the judge of a cache."""
        if opened not in self._judges:
            self._judges[opened] = self._judge(opened)
        return self._judges[opened]

    def freshness(self, opened: AnyCache) -> SourcesState:
        """Return whether a cache is fresh; of many sources, whoever asks only once does not wait to hear."""
        if not opened.has_sources or (opened not in self._was_asked and not has_few_sources(opened.directory)):
            self._was_asked.add(opened)
            return UNKNOWN
        return self.of(opened).state()

    def has_looked_in_vain(self, opened: AnyCache) -> bool:
        """Return whether the sources of a cache cannot be judged; not so if they only were not in time, or are none."""
        judge = self._judges.get(opened)
        return judge is not None and judge.has_looked_in_vain

    def last_verdict(self, opened: AnyCache) -> SourcesState:
        """Return what the last answer from a cache said of its sources."""
        judge = self._judges.get(opened)
        return UNKNOWN if judge is None else judge.verdict

    def look(self, opened: AnyCache, may_watch: Callable[[str], bool], *, is_kept: bool) -> "SourcesLook | None":
        """Return whether a cache is fresh, and where to watch its sources; a judge stays only if the cache is kept."""
        if not opened.has_sources:
            return None
        if not is_kept:
            return self._judge(opened).look(may_watch)
        self._was_asked.add(opened)
        return self.of(opened).look(may_watch)

    def _judge(self, opened: AnyCache) -> "SourceJudge":
        from contexthall.caches.freshness import SourceJudge  # noqa: PLC0415 - for format 2 only

        return SourceJudge(self._disk, opened.directory, self.may_read)

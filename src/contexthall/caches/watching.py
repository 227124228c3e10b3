"""Watching caches: which become fresh, stale or unknown while people work on their sources."""

import logging
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from threading import Event
from types import MappingProxyType
from typing import NamedTuple

from contexthall.caches.freshness import SourcesLook
from contexthall.caches.library import Library
from contexthall.caches.query.question import UNKNOWN, SourcesState
from contexthall.caches.refresh_rules import CacheStateChange, Glance, PendingChanges
from contexthall.core import limits
from contexthall.core.errors import DiskError, HallError
from contexthall.system.watching import Pace, changed_paths

logger = logging.getLogger(__name__)

_PACE = Pace(quiet=100, most=1000, tick=int(limits.CACHE_ROOT_SECONDS * 1000))


class _Watched(NamedTuple):
    """A cache as it was seen last."""

    identity: object
    look: SourcesLook = SourcesLook()
    glance: Glance = Glance(0.0)


class CacheWatcher:
    """Knows whether the caches below a root are fresh, and looks again at those where something changed."""

    def __init__(
        self,
        library: Library,
        may_watch: Callable[[str], bool] = lambda _real: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library = library
        self._may_watch = may_watch
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._waiting: dict[str, PendingChanges] = {}
        self._root_due_at = 0.0
        self._is_told_of_changes = True
        self._has_complained = False

    @property
    def states(self) -> Mapping[str, SourcesState]:
        """The state of each cache that was looked at, by name."""
        return MappingProxyType({name: each.look.state for name, each in sorted(self._watched.items())})

    def rounds(self, stop: Event) -> Iterator[None]:
        """Look at what changed, round after round, about one a second, until `stop` is set."""
        self._go_round(frozenset())
        yield
        watched: frozenset[str] = frozenset()
        while not stop.is_set():
            folders = self._folders()
            unwatched, watched = folders - watched, folders
            with closing(self._ticks(folders, stop)) as ticks:
                for paths in ticks:
                    self._go_round(paths | unwatched)  # of what happened before a watch stood, nobody tells
                    unwatched = frozenset()
                    yield
                    if self._folders() != folders:
                        break
                else:  # a folder is gone
                    self._look_at_all_again()
                    stop.wait(limits.GONE_FOLDER_SECONDS)

    def look(self, name: str) -> SourcesState:
        """Look at the sources of a cache now."""
        self._waiting.pop(name, None)
        before, begun = self._watched[name], self._clock()
        try:
            ref = self._library.locate(name)
            identity = self._library.identity(ref)
            look = self._library.look_at_sources(ref, self._may_watch) or SourcesLook()
        except HallError:
            identity, look = before.identity, SourcesLook()
        now = self._clock()
        glance = Glance(now, now - begun, before.glance.wasted + 1 if look.state == before.look.state else 0)
        self._watched[name] = _Watched(identity, look, glance)
        return look.state

    def _go_round(self, paths: frozenset[str]) -> None:
        now = self._clock()
        if now >= self._root_due_at:
            self._visit_root(now)
            ended = self._clock()
            self._root_due_at = ended + limits.LISTING_SHARE * (ended - now)
        self._note(paths, now)
        self._heed_answers(now)
        for name in [name for name in self._watched if self._is_due(name, now)]:
            self.look(name)

    def _visit_root(self, now: float) -> None:
        """See which caches are there, and which of them are others than before."""
        try:
            found = {entry.path for entry in self._library.list_caches() if entry.has_manifest}
        except HallError:
            found = set()
        for name in self._watched.keys() - found:
            del self._watched[name]
            self._waiting.pop(name, None)
        for name in found:
            try:
                identity = self._library.identity(self._library.locate(name))
            except HallError:
                continue
            if name not in self._watched or self._watched[name].identity != identity:
                known = self._watched.get(name, _Watched(None))
                self._watched[name] = known._replace(identity=identity, glance=Glance(now))
                self._waiting[name] = PendingChanges(now, now)

    def _note(self, paths: frozenset[str], now: float) -> None:
        """Remember in which caches something changed."""
        parents = [os.path.dirname(path) for path in paths]
        for name, each in self._watched.items():
            folders = each.look.folders
            if count := len(folders & paths) + sum(parent in folders for parent in parents):
                waiting = self._waiting.get(name)
                self._waiting[name] = waiting.more(count, now) if waiting else PendingChanges(now, now, count)

    def _heed_answers(self, now: float) -> None:
        """Take note of sources that an answer found changed: some file systems tell nobody, and watches lose events."""
        for name, each in self._watched.items():
            is_quiet = each.look.state.state == "fresh" and name not in self._waiting
            if is_quiet and self._library.last_verdict(self._library.locate(name)).state == "stale":
                self._waiting[name] = PendingChanges(now, now)

    def _look_at_all_again(self) -> None:
        now = self._clock()
        self._waiting |= {name: PendingChanges(now, now) for name in self._watched}

    def _is_due(self, name: str, now: float) -> bool:
        watched, waiting = self._watched[name], self._waiting.get(name)
        if waiting is not None and watched.glance.allows_another(now):
            return waiting.is_due(now, is_installation=watched.look.has_packages)
        is_watched = self._is_told_of_changes and watched.look.state != UNKNOWN
        return bool(watched.look.places) and not is_watched and watched.glance.is_outdated(now)

    def _folders(self) -> frozenset[str]:
        return frozenset().union(*(each.look.folders for each in self._watched.values()))

    def _ticks(self, folders: frozenset[str], stop: Event) -> Generator[frozenset[str]]:
        """Yield what changes in the folders, and every second an empty set."""
        self._is_told_of_changes = True
        if folders:
            try:
                yield from changed_paths(folders, _PACE, stop)
            except DiskError as error:
                self._is_told_of_changes = False
                self._complain(error)
            else:
                return
        while not stop.wait(limits.CACHE_ROOT_SECONDS):
            yield frozenset()

    def _complain(self, error: DiskError) -> None:
        if not self._has_complained:
            self._has_complained = True
            seconds = limits.SOURCES_POLL_SECONDS
            logger.warning("%s; the sources of caches are looked at every %g seconds instead", error.detail, seconds)


def cache_state_changes(watcher: CacheWatcher, stop: Event) -> Iterator[list[CacheStateChange]]:
    """Yield the states of caches at first, then each time what changed."""
    before: Mapping[str, SourcesState] = {}
    for _ in watcher.rounds(stop):
        after = watcher.states
        if changes := _difference(before, after):
            yield changes
        before = after


def _difference(before: Mapping[str, SourcesState], after: Mapping[str, SourcesState]) -> list[CacheStateChange]:
    changed = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    states = [(name, before.get(name), after.get(name)) for name in changed]
    return [
        CacheStateChange(name, was and was.state, state and state.state, state.changed if state else 0)
        for name, was, state in states
    ]

"""Keeping caches fresh: whatever becomes stale is refreshed, one cache after the other."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from threading import Event

from contexthall.caches.refresh_rules import Attempts, RefreshResult
from contexthall.caches.watching import CacheWatcher

logger = logging.getLogger(__name__)


class CacheRefresher:
    """Refreshes caches that become stale; `refresh` takes the name of one, and does not raise."""

    def __init__(
        self,
        watcher: CacheWatcher,
        refresh: Callable[[str], RefreshResult],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watcher = watcher
        self._refresh = refresh
        self._clock = clock
        self._attempts: defaultdict[str, Attempts] = defaultdict(Attempts)
        self._told: set[tuple[str, str]] = set()

    def run(self, stop: Event) -> None:
        """Keep the caches fresh until `stop` is set."""
        for _ in self._watcher.rounds(stop):
            stale = [name for name, state in self._watcher.states.items() if state.state == "stale"]
            for name in stale:
                if not stop.is_set() and self._clock() >= self._attempts[name].again_at:
                    self._try(name)

    def _try(self, name: str) -> None:
        begun = self._clock()
        result = self._refresh(name)
        now, state = self._clock(), self._watcher.look(name)
        # A cache that is stale although there was nothing to do would be refreshed for ever.
        has_failed = state.state != "fresh" and not result.is_done
        self._attempts[name] = self._attempts[name].after(now, now - begun, has_failed=has_failed)
        if not has_failed:
            self._told = {each for each in self._told if each[0] != name}
        elif result.failure and (name, result.failure) not in self._told:
            self._told.add((name, result.failure))
            logger.warning("cannot refresh the cache %s: %s", name, result.failure)

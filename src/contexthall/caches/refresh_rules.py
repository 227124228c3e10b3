"""When are changed sources looked at, and when is a refresh tried again? Pure: the clock is an argument."""

from typing import NamedTuple, Self

from contexthall.core import limits


class PendingChanges(NamedTuple):
    """Changes in the folders of a cache that nobody has looked at yet."""

    since: float
    last: float
    changes: int = 1

    def more(self, changes: int, now: float) -> Self:
        return self._replace(last=now, changes=self.changes + changes)

    def is_due(self, now: float, *, is_installation: bool) -> bool:
        """Return whether to look at the sources: after one save at once, after a burst when it is over."""
        if is_installation:
            quiet = limits.INSTALLATION_QUIET_SECONDS
        else:
            quiet = limits.BURST_QUIET_SECONDS if self.changes > limits.BURST_CHANGES else 0.0
        return now - self.last >= quiet or now - self.since >= limits.BURST_SECONDS


class Glance(NamedTuple):
    """When a cache was looked at last, how long that took, and how many looks in a row were for nothing."""

    at: float
    took: float = 0.0
    wasted: int = 0

    def allows_another(self, now: float) -> bool:
        """Return whether something that changed may be looked at: noise in a folder shall not keep a hall busy.

        One look for nothing is no noise: a save is often told twice, and the second time all is seen already.
        """
        return self.wasted <= 1 or now - self.at >= limits.JUDGING_SHARE * self.took

    def is_outdated(self, now: float) -> bool:
        """Return whether to look again where nobody tells of changes."""
        return now - self.at >= max(limits.SOURCES_POLL_SECONDS, limits.JUDGING_SHARE * self.took)


class RefreshResult(NamedTuple):
    """What came of a refresh."""

    is_done: bool
    """Whether the cache was replaced."""
    failure: str = ""
    """Why it could not be; empty if it need not be, or others are at it."""


class Attempts(NamedTuple):
    """How refreshing a cache went so far."""

    failures: int = 0
    again_at: float = 0.0

    def after(self, now: float, took: float, *, has_failed: bool) -> Self:
        """Return the same with one more: others get as much time as it took, at most, or more after a failure."""
        failures = self.failures + 1 if has_failed else 0
        doubled = limits.REFRESH_BACK_OFF_SECONDS * 2.0 ** min(failures - 1, limits.BACK_OFF_DOUBLINGS)
        longest = limits.LAST_REFRESH_BACK_OFF_SECONDS if has_failed else limits.REFRESH_PAUSE_SECONDS
        pause = min(doubled if has_failed else took, longest)
        return self._replace(failures=failures, again_at=now + pause)


class CacheStateChange(NamedTuple):
    """A cache whose state is another one; None for a cache that is not there."""

    cache: str
    was: str | None
    state: str | None
    changed: int = 0
    """How many of its sources changed, if it is stale."""

"""Whose session has to go when there is no room for another? One that nobody has used for a while.

Who opens sessions and leaves them can so keep others out for moments only, and pushes out its own first. A session that
is in use, if only by a stream that waits for news, never has to go. Pure: the clock is an argument.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from contexthall.core import limits

# A client that has only said that it is there has not used its session.
_HANDSHAKE = 1


@dataclass(slots=True)
class _Session:
    calls: int = 0
    in_use: int = 0
    last_used: float = 0.0
    passed_on: float = 0.0

    @property
    def is_used(self) -> bool:
        return self.calls > _HANDSHAKE

    def may_end(self, now: float) -> bool:
        seconds = limits.USED_SESSION_SECONDS if self.is_used else limits.UNUSED_SESSION_SECONDS
        return not self.in_use and now - self.last_used >= seconds


class Sessions:
    """The sessions that are open, as far as their clients have not let them lapse."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._opening = 0

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While this is entered, somebody may be opening one more."""
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1

    def note_opened(self, session_id: str) -> None:
        self._sessions[session_id] = _Session(last_used=self._clock(), passed_on=self._clock())

    def note_ended(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    @contextmanager
    def used(self, session_id: str) -> Iterator[None]:
        """While this is entered, somebody uses the session."""
        session = self._sessions.get(session_id, _Session())
        session.calls += 1
        session.in_use += 1
        try:
            yield
        finally:
            session.in_use -= 1
            session.last_used = self._clock()

    def is_due(self, session_id: str) -> bool:
        """Return whether a sign of life has to be passed on: the session would lapse without any."""
        now, session = self._clock(), self._sessions.get(session_id)
        if session is not None and now - session.passed_on < limits.SESSION_SIGN_SECONDS:
            return False
        if session is not None:
            session.passed_on = now
        return True

    def to_end(self) -> str | None:
        """Name the session that has to end before those can begin that want to; None if there is room, or none can."""
        if len(self._sessions) + self._opening <= self._most:
            return None
        now = self._clock()
        idle = {name: session for name, session in self._sessions.items() if session.may_end(now)}
        return min(idle, key=lambda name: (idle[name].is_used, idle[name].last_used), default=None)

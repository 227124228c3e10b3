"""Which sessions are open over HTTP, and whose has to go when there is no room? One that nobody has used for a while.

Who opens sessions and leaves them can so keep others out for moments only, and pushes out its own first. A session that
is in use, if only by a stream that waits for news, never has to go. Pure: the clock is an argument.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from contexthall.core import limits

T = TypeVar("T")

_ID_BYTES = 16
# A client that has only said that it is there has not used its session.
_HANDSHAKE = 1


@dataclass(slots=True)
class _Session(Generic[T]):
    held: T
    origin: str
    last_used: float
    uses: int = 0
    in_use: int = 0

    @property
    def is_used(self) -> bool:
        return self.uses > _HANDSHAKE

    def is_idle(self, now: float, seconds: float) -> bool:
        return not self.in_use and now - self.last_used >= seconds

    def may_end(self, now: float) -> bool:
        return self.is_idle(now, limits.USED_SESSION_SECONDS if self.is_used else limits.UNUSED_SESSION_SECONDS)


class Sessions(Generic[T]):
    """What is held for each client, as long as it has not let its session lapse."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._sessions: dict[str, _Session[T]] = {}

    def __iter__(self) -> Iterator[T]:
        return iter([session.held for session in self._sessions.values()])

    def open(self, held: T, origin: str = "") -> str:
        """Open a session for a client of that Origin; return its id, empty if there is no room."""
        if len(self._sessions) >= self._most and not self._make_room():
            return ""
        session_id = secrets.token_hex(_ID_BYTES)
        self._sessions[session_id] = _Session(held, origin, self._clock())
        return session_id

    @contextmanager
    def used(self, session_id: str, origin: str = "") -> Iterator[T | None]:
        """While this is entered, somebody uses the session; None if there is none.

        A program tells no Origin, and neither does a page that only reads; a page that tells its own has no use for the
        session of another.
        """
        session = self._sessions.get(session_id)
        if session is None or origin not in {"", session.origin}:
            yield None
            return
        if session.is_idle(self._clock(), limits.SESSION_IDLE_SECONDS):
            self.end(session_id)
            yield None
            return
        session.uses += 1
        session.in_use += 1
        try:
            yield session.held
        finally:
            session.in_use -= 1
            session.last_used = self._clock()

    def end(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def _make_room(self) -> bool:
        """End the session that is missed least, if one may end."""
        now = self._clock()
        idle = {name: each for name, each in self._sessions.items() if each.may_end(now)}
        missed_least = min(idle, key=lambda name: (idle[name].is_used, idle[name].last_used), default=None)
        return missed_least is not None and self._sessions.pop(missed_least) is not None

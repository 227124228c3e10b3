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


@dataclass(slots=True)
class _Session(Generic[T]):
    held: T
    origin: str
    last_used: float
    uses: int = 0
    in_use: int = 0

    def is_idle(self, now: float, seconds: float) -> bool:
        return not self.in_use and now - self.last_used >= seconds


class Sessions(Generic[T]):
    """What is held for each client, as long as it has not let its session lapse."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: dict[str, _Session[T]] = {}

    def __iter__(self) -> Iterator[T]:
        return iter([session.held for session in self._sessions.values()])

    def open(self, held: T, origin: str = "") -> str:
        """Open a session for a client of that Origin; return its id, empty if there is no room."""
        if len(self._sessions) >= limits.HTTP_SESSIONS and not self._make_room():
            return ""
        session_id = secrets.token_hex(16)
        self._sessions[session_id] = _Session(held, origin, self._clock())
        return session_id

    @contextmanager
    def used(self, session_id: str, origin: str = "") -> Iterator[T | None]:
        """While this is entered, somebody uses the session; None if there is none.

        A program tells no Origin, and neither does a page that only reads; a page that tells its own has no use for the
        session of another.
        """
        session = self._sessions.get(session_id)
        if session is not None and session.is_idle(self._clock(), limits.SESSION_IDLE_SECONDS):
            self.end(session_id)
        elif session is not None and origin in {"", session.origin}:
            session.uses += 1
            session.in_use += 1
            try:
                yield session.held
            finally:
                session.in_use -= 1
                session.last_used = self._clock()
            return
        yield None

    def end(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def _make_room(self) -> bool:
        """End the session that is missed least, if one may end: rather one that was only opened, then the oldest."""
        # A client that has only said that it is there has not used its session.
        now, patience = self._clock(), {False: limits.UNUSED_SESSION_SECONDS, True: limits.USED_SESSION_SECONDS}
        idle = [
            (is_used, session.last_used, session_id)
            for session_id, session in self._sessions.items()
            if session.is_idle(now, patience[is_used := session.uses > 1])
        ]
        return bool(idle) and self._sessions.pop(min(idle)[-1]) is not None

"""Bounds on HTTP connections: how many, how long a client may take, and how much it may send.

Whoever sends its request a byte at a time, never ends it, or does not read the answer is let go. When there are too
many connections, those that have one keep it, a few more are told so, and the rest are turned away: descriptors are
left for what the hall has to open. A body in chunks so small that reading them takes longer than sending is refused.
"""

import asyncio
import resource
from contextlib import suppress
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from contexthall.core import limits
from contexthall.faces.web.guard import RefusedError

_LENGTHS = {b"content-length", b"transfer-encoding"}
_SHARE_OF_DESCRIPTORS = 4


def most_connections() -> int:
    """Return how many connections there may be: fewer where this process may open few files."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits.HTTP_CONNECTIONS
    return max(1, min(limits.HTTP_CONNECTIONS, descriptors // _SHARE_OF_DESCRIPTORS))


class BoundedReader(h11.Connection):
    """What a client sends, read as HTTP; more than is good, or of two minds about its length, is no HTTP."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, limits.HTTP_HEAD_BYTES)
        self._wire_bytes = self._body_bytes = self._chunks = 0

    def receive_data(self, data: bytes) -> None:
        if self.their_state is h11.SEND_BODY:
            self._wire_bytes += len(data)
        super().receive_data(data)

    def next_event(self) -> Any:  # noqa: ANN401 - as h11 has it
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._wire_bytes = self._body_bytes = self._chunks = 0
            if {name for name, _ in event.headers} >= _LENGTHS:
                raise h11.RemoteProtocolError("both a length and chunks")
        if isinstance(event, h11.Data):
            self._body_bytes += len(event.data)
            self._chunks += event.chunk_start
            has_too_many_chunks = self._chunks > limits.HTTP_SMALL_CHUNKS + self._body_bytes // limits.HTTP_CHUNK_BYTES
            if has_too_many_chunks or self._wire_bytes > limits.HTTP_WIRE_BYTES:
                raise h11.RemoteProtocolError("too many chunks, or too much around them")
        return event


class BoundedConnection(H11Protocol):
    """One connection, and the time that its client still has."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*arguments, **named)
        self.conn = BoundedReader()
        self._head_seconds = limits.HTTP_HEAD_SECONDS
        self._awaited: object = None
        self._request_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        others, most = len(self.connections), most_connections()
        super().connection_made(transport)
        if others >= 2 * most:
            transport.abort()
            return
        if others >= most:
            self.app, self._head_seconds = _full, limits.HTTP_SURPLUS_SECONDS
        self._wait_for_client()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()
        self.resume_writing()

    def handle_events(self) -> None:
        """Handle what has come: at once, or when the request before it has been answered."""
        super().handle_events()
        self._wait_for_client()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; if an answer has begun already, only close the connection."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            with suppress(h11.LocalProtocolError):  # it answers HEAD with a body, which may have none
                super().send_400_response(msg)
        if self.cycle is not None:  # its application can answer no more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _wait_for_client(self) -> None:
        """Start the timer for what the client still has to send: a head, or a body."""
        awaited = self.conn.their_state
        if awaited is self._awaited:
            return
        self._stop_waiting()
        seconds = {h11.IDLE: self._head_seconds, h11.SEND_BODY: limits.HTTP_BODY_SECONDS}.get(awaited)
        if seconds is not None and not self.transport.is_closing():
            self._awaited = awaited
            self._request_timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self._awaited = None
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _wait_for_reading(self, unread: float = float("inf")) -> None:
        """Start the timer for reading, again as long as the client reads anything."""
        still_unread = self.transport.get_write_buffer_size()
        if still_unread >= unread:
            self.transport.abort()
        else:
            self._reader_timer = self.loop.call_later(limits.HTTP_READING_SECONDS, self._wait_for_reading, still_unread)


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a connection that is one too many."""
    headers = {"Connection": "close", "Retry-After": "5"}
    refusal = RefusedError(503, "busy", "Too many connections", "The hall is busy: try again in a moment.", headers)
    await refusal.response(scope, receive, send)

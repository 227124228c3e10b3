"""Bounds on HTTP connections: how many, how long a client may take, and how much it may send.

Whoever sends its request a byte at a time, never ends it, or does not read the answer is let go. When there are too
many connections, those that have one keep it, a few more are told so, and the rest are turned away: descriptors are
left for what the hall has to open. llhttp, which reads HTTP, refuses what two readers might read differently, but has
no bounds: whatever is no body (a head, the sizes of chunks and their extensions, trailers) is counted as overhead here.
"""

import asyncio
import resource
from enum import Enum
from typing import Any

import httptools
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from contexthall.core import limits
from contexthall.faces.web.guard import RefusedError

_SHARE_OF_DESCRIPTORS = 4


def most_connections() -> int:
    """Return how many connections there may be: fewer where this process may open few files."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits.HTTP_CONNECTIONS
    return max(1, min(limits.HTTP_CONNECTIONS, descriptors // _SHARE_OF_DESCRIPTORS))


class Awaited(Enum):
    """What a client has to send next."""

    HEAD = "head"
    BODY = "body"
    NOTHING = "nothing"


class BoundedConnection(HttpToolsProtocol):
    """One connection, and what its client may still send, and when."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*arguments, **named)
        self._head_seconds = limits.HTTP_HEAD_SECONDS
        self._awaited = self._timed = Awaited.NOTHING
        self._overhead_bytes = self._body_bytes = 0
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
        self._wait_for_client()
        self.resume_writing()

    # What comes:

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._awaited is Awaited.NOTHING:
            self._overhead_bytes = self._body_bytes = 0
        self._overhead_bytes += len(data)
        self._read(data)
        most_overhead = limits.HTTP_HEAD_BYTES + self._body_bytes // limits.HTTP_BODY_SHARE
        if self._overhead_bytes > most_overhead or self._body_bytes > limits.HTTP_BODY_BYTES:
            self._refuse("Too much around the body, or too much of it.")
        self._wait_for_client()

    def _read(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # llhttp leaves the body to the other protocol; whoever asks for one gets HTTP/1.1, so it is read again.
            self._read(self._head_without_upgrade() + data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _head_without_upgrade(self) -> bytes:
        lines = [b"%b: %b" % (name, value) for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([b"%b %b HTTP/1.1" % (self.parser.get_method(), self.url), *lines, b"", b""])

    def on_message_begin(self) -> None:
        """Begin a request, unless the one before it is not answered yet: then that one is the last."""
        if self._is_answering:
            raise ValueError("pipelined")
        super().on_message_begin()
        self._awaited = Awaited.HEAD

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))  # llhttp leaves what RFC 9112 has no part of the value

    def on_headers_complete(self) -> None:
        if not self.url.startswith(b"/") or self.parser.get_method() == b"CONNECT":
            raise ValueError("the hall is no proxy, and the Host header alone says who is asked")
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            self.headers = []  # for trailers, which nobody reads
            self._awaited = Awaited.BODY

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._awaited is Awaited.BODY:
            super().on_message_complete()
            self._awaited = Awaited.NOTHING

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; behind a request that is being answered, close the connection after the answer."""
        if self._awaited is Awaited.NOTHING and self._is_answering:
            self.cycle.keep_alive = False
        else:
            self._refuse(msg)

    def _refuse(self, reason: str) -> None:
        """Answer with 400, or if an answer has begun already, with nothing, and close the connection."""
        has_begun = self._is_answering and self.cycle.response_started
        if self._is_answering:
            self.cycle.disconnected = True  # its application can answer no more
            self.cycle.message_event.set()
        if not has_begun and not self.transport.is_closing():
            super().send_400_response(reason)
        self.transport.close()

    @property
    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    # How long it takes:

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
        awaited = self._awaited
        if self.transport.is_closing():
            awaited = Awaited.NOTHING
        elif awaited is Awaited.NOTHING and not self._is_answering:
            awaited = Awaited.HEAD
        if awaited is self._timed:
            return
        self._timed = awaited
        if self._request_timer is not None:
            self._request_timer.cancel()
        seconds = {Awaited.HEAD: self._head_seconds, Awaited.BODY: limits.HTTP_BODY_SECONDS}.get(awaited)
        self._request_timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

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

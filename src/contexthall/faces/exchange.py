"""How is one HTTP request answered? With one body, or with events, once there is something to tell."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from contexthall.core import limits

JSON, EVENTS = "application/json", "text/event-stream"
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

_IS_JSON = (b"content-type", JSON.encode())
_STREAM = [
    (b"content-type", EVENTS.encode()),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_HEARTBEAT = b": still here\r\n\r\n"


class Exchange:
    """One request, and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.head: dict[str, str] = {}
        """What the head says, by names in lower case; what is said twice is joined, as HTTP has it."""
        for name, value in scope["headers"]:
            key, said = name.decode("latin-1"), value.decode("latin-1")
            self.head[key] = f"{self.head[key]}, {said}" if key in self.head else said
        self.held = ExitStack()
        """What is let go of when the answer begins."""
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()  # nothing comes between the head of a stream and its first event
        self._is_stream = self._has_ended = False
        self._gone: asyncio.Task[None] | None = None

    def accepts(self, *kinds: str) -> bool:
        """Return whether the client takes answers of all these types."""
        taken = {each.partition(";")[0].strip().lower() for each in self.head.get("accept", "").split(",")}
        return all(taken & {kind, f"{kind.partition('/')[0]}/*", "*/*"} for kind in kinds)

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body, piece by piece."""
        has_more = True
        while has_more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            has_more = message.get("more_body", False)
            yield message.get("body", b"")

    async def wait(self, work: "asyncio.Future[Any]") -> bool:
        """Wait until the work is done or the client gone; meanwhile, signs of life make a stream of the answer.

        Return whether the work is done.
        """
        if self._gone is None and (await asyncio.wait((work,), timeout=limits.UNWATCHED_SECONDS))[0]:
            return True
        gone = self._watch()
        both, first = (work, gone), asyncio.FIRST_COMPLETED
        while not (await asyncio.wait(both, timeout=limits.HEARTBEAT_SECONDS, return_when=first))[0]:
            await self._stream(_HEARTBEAT)
        return work.done() and not gone.done()

    async def tell(self, data: bytes, kind: str = "message") -> None:
        """Send an event before the answer, which is a stream from now on; nothing, to begin it."""
        await self._stream(_event(data, kind))

    async def conclude(self, data: bytes = b"", status: int = 200, headers: Headers = ()) -> None:
        """Send the answer: JSON as the body, or as the last event of the stream; nothing, to end it."""
        async with self._sending:
            self._has_ended = True
            if not self._is_stream:
                kind = [_IS_JSON] if data else []
                await self._begin(status, [*kind, (b"content-length", b"%d" % len(data)), *headers])
            await self._send({"type": "http.response.body", "body": _event(data) if self._is_stream else data})

    def end(self) -> None:
        """Let go of what an exchange holds."""
        self.held.close()
        if self._gone is not None:
            self._gone.cancel()

    async def _stream(self, data: bytes) -> None:
        async with self._sending:
            if not self._has_ended:
                if not self._is_stream:
                    self._is_stream = True
                    self._watch()
                    await self._begin(200, _STREAM)
                await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.held.close()
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def _watch(self) -> "asyncio.Task[None]":
        self._gone = self._gone or asyncio.create_task(self._wait_for_end())
        return self._gone

    async def _wait_for_end(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _event(data: bytes, kind: str = "message") -> bytes:
    return b"event: %b\r\ndata: %b\r\n\r\n" % (kind.encode(), data.rstrip(b"\n")) if data else b""

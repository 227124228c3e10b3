"""How is one HTTP request read and answered? With one JSON body, or with events, once there is something to tell."""

import asyncio
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.protocol.messages import INVALID_REQUEST, Id, RpcError

JSON, EVENTS = "application/json", "text/event-stream"
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

_IS_JSON = (b"content-type", JSON.encode())
_STREAM = [
    (b"content-type", EVENTS.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_HEARTBEAT = b": still here\r\n\r\n"


class RefusedMessageError(RpcError):
    """An error that is answered with a status of HTTP."""

    def __init__(self, status: int, message: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(code, message)
        self.status = status


class Exchange:
    """One request, and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.head: dict[str, str] = {}
        """What the head says, by names in lower case; what is said twice is joined, as HTTP has it."""
        for name, value in scope["headers"]:
            key, said = name.decode("latin-1"), value.decode("latin-1")
            self.head[key] = f"{self.head[key]}, {said}" if key in self.head else said
        self.request_id: Id | None = None
        """Whom an error answers, once that is known."""
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()  # nothing comes between the head of a stream and its first event
        self._is_stream = self._has_ended = False
        self._gone: asyncio.Task[None] | None = None
        self._turn = ExitStack()

    def accepts(self, *kinds: str) -> bool:
        """Return whether the client takes answers of all these types."""
        taken = {each.partition(";")[0].strip().lower() for each in self.head.get("accept", "").split(",")}
        return all(taken & {kind, f"{kind.partition('/')[0]}/*", "*/*"} for kind in kinds)

    async def body(self, turns: asyncio.Semaphore) -> bytes:
        """Read the body; a large one, which stands in memory several times, has its turn until it is answered."""
        body, size, has_more, has_turn = bytearray(), int(self.head.get("content-length", "0")), True, False
        while has_more and size <= limits.CLIENT_MESSAGE_BYTES:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            size, has_more = max(size, len(body)), message.get("more_body", False)
            if len(body) >= limits.LARGE_BODY_BYTES and not has_turn:
                has_turn = await turns.acquire()
                self._turn.callback(turns.release)
        if size > limits.CLIENT_MESSAGE_BYTES:
            raise RefusedMessageError(413, f"Message larger than {limits.CLIENT_MESSAGE_BYTES} bytes")
        return bytes(body)

    async def wait(self, work: "asyncio.Future[Any]") -> bool:
        """Wait until the work is done or the client gone; meanwhile, signs of life make a stream of the answer.

        Return whether the work is done.
        """
        if not (await asyncio.wait((work,), timeout=limits.UNWATCHED_SECONDS))[0]:
            self._gone = self._gone or asyncio.create_task(self._wait_for_end())
            both, first = (work, self._gone), asyncio.FIRST_COMPLETED
            while not (await asyncio.wait(both, timeout=limits.HEARTBEAT_SECONDS, return_when=first))[0]:
                await self._stream(_HEARTBEAT)
        return work.done()

    async def tell(self, line: bytes) -> None:
        """Send a message before the answer, which is a stream from now on; nothing, to begin it."""
        await self._stream(_event(line))

    async def conclude(self, line: bytes = b"", status: int = 200, headers: Headers = ()) -> None:
        """Send the answer: as JSON, or as the last event of the stream."""
        async with self._sending:
            self._has_ended = True
            if not self._is_stream:
                kind = [_IS_JSON] if line else []
                await self._begin(status, [*kind, (b"content-length", b"%d" % len(line)), *headers])
            await self._send({"type": "http.response.body", "body": _event(line) if self._is_stream else line})

    def end(self) -> None:
        """Let go of what an exchange holds."""
        self._turn.close()
        if self._gone is not None:
            self._gone.cancel()

    async def _stream(self, data: bytes) -> None:
        async with self._sending:
            if not self._has_ended:
                if not self._is_stream:
                    self._is_stream = True
                    await self._begin(200, _STREAM)
                await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._turn.close()
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _wait_for_end(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _event(line: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % line.rstrip(b"\n") if line else b""

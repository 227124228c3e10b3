"""How is one HTTP request read and answered? With one JSON body, or with events, once there is something to tell."""

import asyncio
from collections.abc import Iterable
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.protocol.messages import INVALID_REQUEST, Id, RpcError

JSON, EVENTS = "application/json", "text/event-stream"
Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

_STREAM = [
    (b"content-type", EVENTS.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_HEARTBEAT = b": still here\r\n\r\n"
_TOO_LARGE = f"Message larger than {limits.CLIENT_MESSAGE_BYTES} bytes"


class RefusedMessageError(Exception):
    """A request that is answered with an error and a status of HTTP."""

    def __init__(
        self, status: int, reason: str | RpcError, request_id: Id | None = None, headers: Headers = ()
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.error = reason if isinstance(reason, RpcError) else RpcError(INVALID_REQUEST, reason)
        self.request_id = request_id
        self.headers = headers


class Exchange:
    """One request, and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.head: dict[str, str] = {}
        """What the head says, by names in lower case; what is said twice is joined, as HTTP has it."""
        for name, value in scope["headers"]:
            key, said = name.decode("latin-1").lower(), value.decode("latin-1")
            self.head[key] = f"{self.head[key]}, {said}" if key in self.head else said
        self._request = Request(scope, receive)
        self._receive = receive
        self._send = send
        self._telling = asyncio.Lock()  # nothing comes between the head of a stream and its first event
        self._is_stream = self._has_ended = False
        self._gone: asyncio.Task[None] | None = None
        self._large: asyncio.Semaphore | None = None

    def accepts(self, *kinds: str) -> bool:
        """Return whether the client takes answers of all these types."""
        taken = {each.partition(";")[0].strip().lower() for each in self.head.get("accept", "").split(",")}
        return all(taken & {kind, f"{kind.partition('/')[0]}/*", "*/*"} for kind in kinds)

    def check_length(self) -> None:
        """Refuse a body that says that it is too large."""
        if int(self.head.get("content-length", "0")) > limits.CLIENT_MESSAGE_BYTES:
            raise RefusedMessageError(413, _TOO_LARGE)

    async def body(self, large: asyncio.Semaphore) -> bytes:
        """Read the body; a large one, which stands in memory several times, has its turn until it is answered."""
        body = bytearray()
        async for part in self._request.stream():
            body += part
            if len(body) > limits.CLIENT_MESSAGE_BYTES:
                raise RefusedMessageError(413, _TOO_LARGE)
            if len(body) >= limits.LARGE_BODY_BYTES and self._large is None:
                await large.acquire()
                self._large = large
        return bytes(body)

    @property
    def is_abandoned(self) -> bool:
        """Whether the client has hung up, as far as anybody has waited for it."""
        return self._gone is not None and self._gone.done()

    async def wait(self, work: "asyncio.Future[Any]") -> None:
        """Wait until the work is done or the client gone; meanwhile, signs of life make a stream of the answer."""
        self._gone = self._gone or asyncio.create_task(self._wait_for_end())
        first = asyncio.FIRST_COMPLETED
        while not (await asyncio.wait((work, self._gone), timeout=limits.HEARTBEAT_SECONDS, return_when=first))[0]:
            await self._stream(_HEARTBEAT)

    async def tell(self, line: bytes) -> None:
        """Send a message before the answer, which is a stream from now on; nothing, to begin it."""
        await self._stream(_event(line))

    async def conclude(self, line: bytes, status: int = 200, headers: Headers = ()) -> None:
        """Send the answer: as JSON, or as the last event of the stream."""
        async with self._telling:
            self._has_ended = True
            if not self._is_stream:
                kind = [(b"content-type", JSON.encode())] if line else []
                await self._begin(status, [*kind, (b"content-length", b"%d" % len(line)), *headers])
            await self._send({"type": "http.response.body", "body": _event(line) if self._is_stream else line})

    def end(self) -> None:
        """Let go of what an exchange holds."""
        self._end_turn()
        if self._gone is not None:
            self._gone.cancel()

    async def _stream(self, data: bytes) -> None:
        async with self._telling:
            if self._has_ended:
                return
            if not self._is_stream:
                self._is_stream = True
                await self._begin(200, _STREAM)
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _begin(self, status: int, headers: Headers) -> None:
        self._end_turn()
        await self._send({"type": "http.response.start", "status": status, "headers": list(headers)})

    def _end_turn(self) -> None:
        if self._large is not None:
            self._large.release()
            self._large = None

    async def _wait_for_end(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _event(line: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % line.rstrip(b"\n") if line else b""

"""Server-sent events about members, one stream for each page.

Nothing is polled: the guild's events are put into a queue for each page. A page that does not read is let
go once its queue is full; it comes back, and asks for the roster anew.
"""

from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.core.errors import UnknownMemberError
from contexthall.core.wire import compact
from contexthall.faces.web.guard import RefusedError, wrong_method
from contexthall.guild.manager import Event, MCPManager

_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8")]
_HEARTBEAT = b": still here\n\n"


class EventStreams:
    """An ASGI application that streams events; `describe` returns what is known of a member now."""

    def __init__(
        self,
        manager: MCPManager | None,
        describe: Callable[[str], object],
        *,
        version: str,
        heartbeat_seconds: float = limits.HEARTBEAT_SECONDS,
    ) -> None:
        self._manager = manager
        self._describe = describe
        self._version = version
        self._heartbeat_seconds = heartbeat_seconds
        self._queues: set[MemoryObjectSendStream[Event]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await wrong_method("GET")(scope, receive, send)
            return
        if len(self._queues) >= limits.EVENT_STREAMS:
            detail = f"No more than {limits.EVENT_STREAMS} pages can listen at a time."
            refusal = RefusedError(503, "busy", "Too many pages", detail, {"Retry-After": "5"})
            await refusal.response(scope, receive, send)
            return
        queue, events = anyio.create_memory_object_stream[Event](limits.WAITING_EVENTS)
        async with queue, events, anyio.create_task_group() as tasks:
            unsubscribe = self._fill(queue, tasks.cancel_scope)
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
            try:
                await self._stream(events, send)
            finally:
                unsubscribe()
                self._queues.discard(queue)
                tasks.cancel_scope.cancel()

    def end(self) -> None:
        for queue in self._queues:
            queue.close()

    def _fill(self, queue: MemoryObjectSendStream[Event], life: anyio.CancelScope) -> Callable[[], None]:
        """Put events into the queue; return a function that ends that."""
        self._queues.add(queue)

        def take(event: Event) -> None:
            try:
                with suppress(anyio.ClosedResourceError):
                    queue.send_nowait(event)
            except anyio.WouldBlock:  # even a write may be waiting for this reader, for ever
                life.cancel()

        return self._manager.subscribe(take) if self._manager is not None else lambda: None

    async def _stream(self, events: MemoryObjectReceiveStream[Event], send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        chunk = _event_bytes("hello", {"version": self._version})
        with suppress(anyio.EndOfStream):
            while True:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = _HEARTBEAT
                with anyio.move_on_after(self._heartbeat_seconds):
                    event = await events.receive()
                    chunk = _event_bytes(event.kind, {"member": self._member(event)})
        await send({"type": "http.response.body", "body": b""})

    def _member(self, event: Event) -> object:
        """Return what is known of the member now; nothing if it is gone, or several came or went."""
        try:
            return self._describe(event.member) if event.member else None
        except UnknownMemberError:
            return None


async def _cancel_when_gone(receive: Receive, life: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    life.cancel()


def _event_bytes(kind: str, data: object) -> bytes:
    return f"event: {kind}\ndata: {compact(data)}\n\n".encode("utf-8", "backslashreplace")

"""Server-sent events about members, one stream for each page.

Nothing is polled: the guild's events are put into a queue for each page. A page that does not read is let
go once its queue is full; it comes back, and asks for the roster anew.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import anyio
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.core.errors import UnknownMemberError
from contexthall.core.wire import compact
from contexthall.faces.exchange import Exchange
from contexthall.faces.web.guard import RefusedError, wrong_method
from contexthall.guild.manager import Event, MCPManager

_Queue: TypeAlias = "asyncio.Queue[Event | None]"


class EventStreams:
    """An ASGI application that streams events; `describe` returns what is known of a member now."""

    def __init__(self, manager: MCPManager | None, describe: Callable[[str], object], *, version: str) -> None:
        self._manager = manager
        self._describe = describe
        self._version = version
        self._pages: set[Callable[[Event | None], None]] = set()
        """What puts an event into the queue of each page; None is the last."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await wrong_method("GET")(scope, receive, send)
            return
        if len(self._pages) >= limits.EVENT_STREAMS:
            detail = f"No more than {limits.EVENT_STREAMS} pages can listen at a time."
            refusal = RefusedError(503, "busy", "Too many pages", detail, {"Retry-After": "5"})
            await refusal.response(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        try:
            with self._queue() as events:
                await self._stream(exchange, events)
        finally:
            exchange.end()

    def end(self) -> None:
        for put in tuple(self._pages):
            put(None)

    @contextmanager
    def _queue(self) -> Iterator[_Queue]:
        """While this is entered, events come into the queue; it is left once nobody takes them any more."""
        queue: _Queue = asyncio.Queue()
        with anyio.CancelScope() as life:

            def put(event: Event | None) -> None:
                if event is None or queue.qsize() < limits.WAITING_EVENTS:
                    queue.put_nowait(event)
                else:  # even a write may be waiting for this reader, for ever
                    life.cancel()

            self._pages.add(put)
            unsubscribe = self._manager.subscribe(put) if self._manager is not None else lambda: None
            try:
                yield queue
            finally:
                unsubscribe()
                self._pages.discard(put)

    async def _stream(self, exchange: Exchange, events: _Queue) -> None:
        await exchange.tell(_data({"version": self._version}), "hello")
        coming = asyncio.ensure_future(events.get())
        try:
            while await exchange.wait(coming) and (event := coming.result()) is not None:
                coming = asyncio.ensure_future(events.get())
                await exchange.tell(_data({"member": self._member(event)}), event.kind)
            await exchange.conclude()
        finally:
            coming.cancel()

    def _member(self, event: Event) -> object:
        """Return what is known of the member now; nothing if it is gone, or several came or went."""
        try:
            return self._describe(event.member) if event.member else None
        except UnknownMemberError:
            return None


def _data(value: object) -> bytes:
    return compact(value).encode("utf-8", "backslashreplace")

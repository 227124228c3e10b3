"""How does the hall speak over standard input and output?

A transport of our own, because the SDK's drops malformed lines silently, has no size limit, loses the calls in flight
at end of file and hangs on signals. Here every line that is no message is answered and the next one still works; at end
of file the calls in flight are answered first; SIGTERM, SIGINT and a client that is gone end the server; nothing but
messages reaches the client.
"""

import asyncio
import fcntl
import math
import os
import select
import signal
import stat
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from contexthall.core.lines import LineSplitter
from contexthall.faces.mcp.lines import RejectedLineError, decode, encode

DRAIN_SECONDS = 10.0

_CHUNK_BYTES = 64 * 1024
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# These end with the connection and not before it, so there is nothing to wait for.
_ENDLESS_METHODS = frozenset({"subscriptions/listen"})


class Pipes(NamedTuple):
    """The descriptors that carry the wire."""

    incoming: int
    outgoing: int


def claim_standard_streams() -> Pipes:
    """Take standard input and output for the wire alone: from now on a stray `print` goes to standard error."""
    first_private = 3
    pipes = Pipes(*(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, first_private) for fd in (0, 1)))
    nothing = os.open(os.devnull, os.O_RDWR)  # noqa: TID251 - the null device is no file
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
    return pipes


async def serve(server: Server[Any], pipes: Pipes) -> None:
    """Serve one client until it is gone or a signal comes."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
    pending = _PendingRequests()
    with anyio.CancelScope() as scope:
        _cancel_on_signal(scope)
        async with anyio.create_task_group() as traffic:
            traffic.start_soon(_read_messages, pipes.incoming, to_server, to_client.clone(), pending)
            traffic.start_soon(_write_messages, pipes.outgoing, from_server, pending, scope)
            await server.run(from_client, to_client, server.create_initialization_options())
            # The last answers are still on their way; a client that does not read them is not waited for long.
            scope.deadline = pending.deadline + 1


class _PendingRequests:
    """The requests that have been read and not yet answered."""

    def __init__(self) -> None:
        self._ids: Counter[str | int] = Counter()
        self._settled = anyio.Event()
        self.deadline = math.inf

    def note_read(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _ENDLESS_METHODS:
            self._ids[message.id] += 1
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # will never be answered

    def note_written(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    async def settle(self) -> None:
        """Wait until all are answered, but not for ever."""
        self.deadline = anyio.current_time() + DRAIN_SECONDS
        with anyio.move_on_after(DRAIN_SECONDS):
            while self._ids:
                self._settled = anyio.Event()
                await self._settled.wait()

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._ids[request_id] -= 1
            if self._ids[request_id] <= 0:
                del self._ids[request_id]
            self._settled.set()


def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    """Let the first SIGTERM or SIGINT end the scope; those after it are ignored until the process ends."""
    loop = asyncio.get_running_loop()

    def cancel(*_: object) -> None:
        for number in _ENDING_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(scope.cancel)

    for number in _ENDING_SIGNALS:
        signal.signal(number, cancel)


async def _read_messages(
    descriptor: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    pending: _PendingRequests,
) -> None:
    async with to_server, to_client:
        async for line in _lines(descriptor):
            try:
                message = decode(line)
            except RejectedLineError as rejected:
                await to_client.send(SessionMessage(rejected.reply))
                continue
            pending.note_read(message)
            await to_server.send(SessionMessage(message))
        # Closing the stream, on the way out, makes the SDK cancel what is in flight.
        await pending.settle()


async def _write_messages(
    descriptor: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    pending: _PendingRequests,
    scope: anyio.CancelScope,
) -> None:
    async with from_server:
        with _writer(descriptor) as write:
            try:
                async for item in from_server:
                    await write(encode(item.message))
                    pending.note_written(item.message)
            except OSError:  # the client is gone
                scope.cancel()


async def _lines(descriptor: int) -> AsyncIterator[bytes | None]:
    splitter = LineSplitter()
    async for chunk in _chunks(descriptor):
        for line in splitter.feed(chunk):
            yield line
    for line in splitter.finish():
        yield line


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    """Read until end of file, without touching the descriptor's mode, which others may share."""
    can_wait = stat.S_IFMT(os.fstat(descriptor).st_mode) != stat.S_IFREG
    while True:
        if can_wait:
            try:
                await anyio.wait_readable(descriptor)
            except PermissionError:  # the null device, for one: always ready, and epoll refuses it
                can_wait = False
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except OSError:  # a terminal that was closed
            return
        if not chunk:
            return
        yield chunk


@contextmanager
def _writer(descriptor: int) -> Iterator[Callable[[bytes], Awaitable[None]]]:
    """Choose how to write so that a client that reads slowly holds up nothing but its answers."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or os.path.sameopenfile(descriptor, 0):  # a file or the null device: always ready
        yield partial(_write_at_once, descriptor)
    elif stat.S_ISCHR(mode) or os.path.sameopenfile(descriptor, 2):  # its mode is standard error's mode too
        yield partial(_write_in_pieces, descriptor)
    else:
        os.set_blocking(descriptor, False)
        try:
            yield partial(_write_at_once, descriptor)
        finally:
            os.set_blocking(descriptor, True)


async def _write_at_once(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            await anyio.wait_writable(descriptor)


async def _write_in_pieces(descriptor: int, data: bytes) -> None:
    """Write only as much at a time as what is ready surely takes."""
    rest = memoryview(data)
    while rest:
        await anyio.wait_writable(descriptor)
        rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]

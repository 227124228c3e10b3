"""How does the hall speak over standard input and output?

A transport of our own, because the SDK's drops malformed lines silently, has no size limit, loses the calls in flight
at end of file and hangs on signals. Here every line that is no message is answered and the next one still works; at end
of file the calls in flight are answered first; SIGTERM, SIGINT and a client that is gone end the server; nothing but
messages reaches the client.
"""

import fcntl
import os
import signal
import stat
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from contexthall.faces.mcp.lines import LineSplitter, RejectedLineError, decode, encode

DRAIN_SECONDS = 10.0

_CHUNK_BYTES = 64 * 1024
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
    empty, writer = os.pipe()
    os.close(writer)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return pipes


async def serve(server: Server[Any], pipes: Pipes) -> None:
    """Serve one client until it is gone or a signal comes."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
    pending = _PendingRequests()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_signal, tasks.cancel_scope)
        async with anyio.create_task_group() as traffic:
            traffic.start_soon(_read_messages, pipes.incoming, to_server, to_client.clone(), pending)
            traffic.start_soon(_write_messages, pipes.outgoing, from_server, pending, tasks.cancel_scope)
            await server.run(from_client, to_client, server.create_initialization_options())
            # The last answers are still on their way; a client that does not read them is not waited for.
            tasks.cancel_scope.deadline = anyio.current_time() + DRAIN_SECONDS
        tasks.cancel_scope.cancel()


class _PendingRequests:
    """The requests that have been read and not yet answered."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._settled = anyio.Event()

    def note_read(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _ENDLESS_METHODS:
            self._ids.add(message.id)
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # will never be answered

    def note_written(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    async def wait_until_settled(self) -> None:
        while self._ids:
            self._settled = anyio.Event()
            await self._settled.wait()

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._ids.discard(request_id)
            self._settled.set()


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


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
        # Closing the stream makes the SDK cancel what is in flight.
        with anyio.move_on_after(DRAIN_SECONDS):
            await pending.wait_until_settled()


async def _write_messages(
    descriptor: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    pending: _PendingRequests,
    scope: anyio.CancelScope,
) -> None:
    _make_unblocking(descriptor)
    async with from_server:
        try:
            async for item in from_server:
                await _write(descriptor, encode(item.message))
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


async def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            await anyio.wait_writable(descriptor)


def _make_unblocking(descriptor: int) -> None:
    """Let a client that reads slowly hold up nothing but its answers; what standard error shares stays as it is."""
    mode = os.fstat(descriptor).st_mode
    is_shared = os.path.sameopenfile(descriptor, 2)
    if (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and not is_shared:
        os.set_blocking(descriptor, False)

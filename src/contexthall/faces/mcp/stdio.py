"""How does the hall speak over standard input and output?

A transport of our own, because the SDK's drops malformed lines silently, has no size limit, loses the calls in flight
at end of file and hangs on signals. Here every line that is no message is answered and the next one still works; at end
of file the calls in flight are answered first; SIGTERM, SIGINT and a client that is gone end the server; nothing but
messages reaches the client.
"""

import asyncio
import fcntl
import os
import select
import signal
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import anyio
import anyio.abc
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from contexthall.core import limits
from contexthall.core.lines import LineSplitter
from contexthall.faces.mcp.backlog import Backlog, UnderWay, Waiting, cancelled_id
from contexthall.faces.mcp.lines import RejectedLineError, decode, encode

_CHUNK_BYTES = 64 * 1024
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_URGENT = (b"ping", b"cancelled")


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
    with anyio.CancelScope() as scope:
        under_way = UnderWay(scope)
        _cancel_on_signal(scope)
        async with anyio.create_task_group() as traffic:
            reading = _StdinReader(to_server, to_client.clone(), under_way, traffic)
            traffic.start_soon(reading.read, pipes.incoming)
            traffic.start_soon(reading.hand_on)
            traffic.start_soon(_write_messages, pipes.outgoing, from_server, under_way, scope)
            await server.run(from_client, to_client, server.create_initialization_options())


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


class _StdinReader:
    """What a client sends, on its way to the server."""

    def __init__(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        to_client: MemoryObjectSendStream[SessionMessage],
        under_way: UnderWay,
        traffic: anyio.abc.TaskGroup,
    ) -> None:
        self._to_server = to_server
        self._to_client = to_client
        self._under_way = under_way
        self._traffic = traffic
        self._backlog = Backlog()

    async def read(self, descriptor: int) -> None:
        """Read lines until the end of the input; all wait for their turn, except what is urgent."""
        async for line in _lines(descriptor):
            urgent = _urgent(line)
            if urgent is not None and self._can_overtake(urgent):
                await self._under_way.room(urgent)
                await self._give_at_once(urgent)
            else:
                await self._backlog.put(line, revokes=cancelled_id(urgent) if urgent is not None else None)
        self._backlog.end()
        self._under_way.note_end()

    async def hand_on(self) -> None:
        """Return the server one message after the other, and no more than it should have."""
        async with self._to_server, self._to_client:
            while (waiting := await self._backlog.first()) is not None:
                if not await self._hand_on(waiting):
                    break
                self._backlog.drop()
            # Closing the stream, on the way out, makes the SDK cancel what is in flight.
            await self._under_way.settle()

    async def _hand_on(self, waiting: Waiting) -> bool:
        """Hand on a line; return whether another one can be."""
        try:
            message = decode(waiting.line)
        except RejectedLineError as rejected:
            self._under_way.note_refused(rejected.reply)
            await self._to_client.send(SessionMessage(rejected.reply))
            return True
        self._backlog.forget_revocation(cancelled_id(message), waiting.place)
        if self._backlog.is_revoked(message):
            return True
        has_room = await self._under_way.room(message)
        if has_room and not self._backlog.is_revoked(message):
            await self._give(message)
        return has_room

    def _can_overtake(self, message: types.JSONRPCMessage) -> bool:
        if (cancelled := cancelled_id(message)) is not None:
            return self._backlog.is_empty or cancelled in self._under_way
        return not self._backlog.is_empty

    async def _give_at_once(self, message: types.JSONRPCMessage) -> None:
        """Return a cancellation to the server; answer here what asks whether anybody is there."""
        if not isinstance(message, types.JSONRPCRequest):
            await self._give(message)
            return
        self._under_way.note_given(message)
        pong = types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result={})
        self._traffic.start_soon(self._to_client.send, SessionMessage(pong))

    async def _give(self, message: types.JSONRPCMessage) -> None:
        self._under_way.note_given(message)
        await self._to_server.send(SessionMessage(message))


def _urgent(line: bytes | None) -> types.JSONRPCMessage | None:
    """Read a line that may overtake others: a cancellation, or a question whether the hall is there."""
    if line is None or len(line) > limits.URGENT_LINE_BYTES or not any(word in line for word in _URGENT):
        return None
    try:
        message = decode(line)
    except RejectedLineError:
        return None
    is_ping = isinstance(message, types.JSONRPCRequest) and message.method == "ping" and not message.params
    return message if is_ping or cancelled_id(message) is not None else None


async def _write_messages(
    descriptor: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    under_way: UnderWay,
    scope: anyio.CancelScope,
) -> None:
    async with from_server:
        with _writer(descriptor) as write, _departure_noticed(descriptor, scope):
            try:
                async for item in from_server:
                    await write(encode(item.message))
                    under_way.note_written(item.message)
            except OSError:  # the client is gone
                scope.cancel()


@contextmanager
def _departure_noticed(descriptor: int, scope: anyio.CancelScope) -> Iterator[None]:
    """End the scope when nobody is left who could read from a pipe, also while nothing is there to be written."""
    loop, poll = asyncio.get_running_loop(), select.poll()
    poll.register(descriptor, 0)

    def look() -> None:
        loop.remove_reader(descriptor)
        if poll.poll(0):
            scope.cancel()

    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):  # which can be read from, where it is written to, at its end alone
        loop.add_reader(descriptor, look)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)


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

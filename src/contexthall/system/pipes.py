"""How are the two descriptors of a pipe read and written, whatever they are, without holding anybody up?

The mode of what is read is left alone, because others may share it; what is written blocks again at the end.
"""

import asyncio
import fcntl
import os
import select
import stat
from types import TracebackType
from typing import NamedTuple

_CHUNK_BYTES = 64 * 1024


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


def has_no_reader(descriptor: int) -> bool:
    """Return whether nobody is left who could read what is written to a pipe."""
    return _polled(descriptor, 0)


class PipeTransport(asyncio.Transport):
    """Carries bytes for an `asyncio.Protocol` while it is entered; asyncio's own takes neither files nor shared modes.

    Lines are written in their order, those of one turn of the event loop together, as soon as the other side takes
    them. `resume_writing` is called whenever all are written, `connection_lost` if the other side is gone, perhaps more
    than once. It is closed by leaving it, and in no other way.
    """

    def __init__(self, pipes: Pipes, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._incoming, self._outgoing = pipes
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._is_reading = self._is_open = False
        self._lines: list[bytes] = []
        self._rest = memoryview(b"")
        """Of the lines that are being written."""
        self._unwritten = 0
        mode = os.fstat(self._outgoing).st_mode
        self._is_pipe = stat.S_ISFIFO(mode)
        # Where its mode is standard error's too, only as much is written at a time as what is ready surely takes.
        self._keeps_mode = stat.S_ISCHR(mode) or os.path.sameopenfile(self._outgoing, 2)

    def __enter__(self) -> None:
        self._is_open = True
        if self._is_pipe:  # which can be read from, where it is written to, at its end alone
            self._loop.add_reader(self._outgoing, self._look)
        self._protocol.connection_made(self)
        self.resume_reading()
        if not self._keeps_mode:  # last, because it is undone only after all went well
            os.set_blocking(self._outgoing, False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_open = False
        self.pause_reading()
        self._loop.remove_reader(self._outgoing)
        self._loop.remove_writer(self._outgoing)
        if not self._keeps_mode:
            os.set_blocking(self._outgoing, True)

    # What comes in:

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            try:
                self._loop.add_reader(self._incoming, self._read)
            except PermissionError:  # a file, or the null device: always ready, and epoll refuses it
                self._loop.call_soon(self._read_on)

    def pause_reading(self) -> None:
        self._is_reading = False
        self._loop.remove_reader(self._incoming)

    def _read(self) -> None:
        try:
            chunk = os.read(self._incoming, _CHUNK_BYTES)
        except OSError:  # a terminal that was closed
            chunk = b""
        if chunk:
            self._protocol.data_received(chunk)
        else:
            self.pause_reading()
            self._protocol.eof_received()

    def _read_on(self) -> None:
        if self._is_reading:
            self._read()
            self._loop.call_soon(self._read_on)

    # What goes out:

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the other side has not taken yet."""
        return self._unwritten

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._unwritten:
            self._loop.call_soon(self._write)
        self._lines.append(bytes(data))
        self._unwritten += len(data)

    def _write(self) -> None:
        if not self._is_open:  # by now it would wait for the other side
            return
        self._loop.remove_writer(self._outgoing)
        while self._unwritten:
            if not self._rest:
                self._rest, self._lines = memoryview(b"".join(self._lines)), []
            try:
                written = self._written()
            except BlockingIOError:
                self._loop.add_writer(self._outgoing, self._write)
                return
            except OSError:  # the client is gone
                self._protocol.connection_lost(None)
                return
            self._rest = self._rest[written:] or memoryview(b"")  # an empty slice would keep all that was written
            self._unwritten -= written
        self._protocol.resume_writing()

    def _written(self) -> int:
        """Write as much as can be now; BlockingIOError if that is nothing."""
        if not self._keeps_mode:
            return os.write(self._outgoing, self._rest)
        if not _polled(self._outgoing, select.POLLOUT):
            raise BlockingIOError
        return os.write(self._outgoing, self._rest[: select.PIPE_BUF])

    def _look(self) -> None:
        self._loop.remove_reader(self._outgoing)
        if has_no_reader(self._outgoing):
            self._protocol.connection_lost(None)


def _polled(descriptor: int, events: int) -> bool:
    """Return whether one of the events is there now, or the other side gone."""
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(0))

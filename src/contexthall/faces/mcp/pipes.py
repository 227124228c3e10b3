"""How are the two descriptors of a pipe read and written, whatever they are, without holding anybody up?

The mode of what is read is left alone, because others may share it; of what is written it is put back at the end.
"""

import asyncio
import fcntl
import os
import select
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


class PipeReader:
    """Reads chunks until it is paused; an empty one is the end."""

    def __init__(self, descriptor: int, on_chunk: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._on_chunk = on_chunk
        self._loop = asyncio.get_running_loop()
        self._is_paused = True

    def resume(self) -> None:
        if not self._is_paused:
            return
        self._is_paused = False
        try:
            self._loop.add_reader(self._descriptor, self._read)
        except PermissionError:  # a file, or the null device: always ready, and epoll refuses it
            self._loop.call_soon(self._read_on)

    def pause(self) -> None:
        self._is_paused = True
        self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except OSError:  # a terminal that was closed
            chunk = b""
        if not chunk:
            self.pause()
        self._on_chunk(chunk)

    def _read_on(self) -> None:
        if not self._is_paused:
            self._read()
            self._loop.call_soon(self._read_on)


class PipeWriter:
    """Writes lines in their order, those of one turn of the event loop together, as soon as the other side takes them.

    `on_drained` is called when all are written, `on_gone` if the other side is gone.
    """

    def __init__(self, descriptor: int, on_drained: Callable[[], None], on_gone: Callable[[], None]) -> None:
        self.unwritten = 0
        """How many bytes the other side has not taken yet."""
        self._descriptor = descriptor
        self._on_drained = on_drained
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._lines: list[bytes] = []
        self._rest = memoryview(b"")
        """Of the lines that are being written."""
        self._is_open = False
        mode = os.fstat(descriptor).st_mode
        self._is_pipe = stat.S_ISFIFO(mode)
        # Where its mode is standard error's too, only as much is written at a time as what is ready surely takes.
        self._keeps_mode = stat.S_ISCHR(mode) or os.path.sameopenfile(descriptor, 2)

    @contextmanager
    def open(self) -> Iterator[None]:
        """While this is entered, lines can be sent, and it is noticed if nobody is left who could read them."""
        self._is_open = True
        if not self._keeps_mode:
            os.set_blocking(self._descriptor, False)
        if self._is_pipe:  # which can be read from, where it is written to, at its end alone
            self._loop.add_reader(self._descriptor, self._look)
        try:
            yield
        finally:
            self._is_open = False
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            if not self._keeps_mode:
                os.set_blocking(self._descriptor, True)

    def send(self, line: bytes) -> None:
        if not self.unwritten:
            self._loop.call_soon(self._write)
        self._lines.append(line)
        self.unwritten += len(line)

    def _write(self) -> None:
        if not self._is_open:  # by now it would wait for the other side
            return
        self._loop.remove_writer(self._descriptor)
        while self.unwritten:
            if not self._rest:
                self._rest, self._lines = memoryview(b"".join(self._lines)), []
            try:
                written = self._written()
            except BlockingIOError:
                self._loop.add_writer(self._descriptor, self._write)
                return
            except OSError:  # the client is gone
                self._on_gone()
                return
            self._rest = self._rest[written:] or memoryview(b"")  # an empty slice would keep all that was written
            self.unwritten -= written
        self._on_drained()

    def _written(self) -> int:
        """Write as much as can be now; BlockingIOError if that is nothing."""
        if not self._keeps_mode:
            return os.write(self._descriptor, self._rest)
        if not _polled(self._descriptor, select.POLLOUT):
            raise BlockingIOError
        return os.write(self._descriptor, self._rest[: select.PIPE_BUF])

    def _look(self) -> None:
        self._loop.remove_reader(self._descriptor)
        if _polled(self._descriptor, 0):
            self._on_gone()


def _polled(descriptor: int, events: int) -> bool:
    """Return whether one of the events is there now, or the other side gone."""
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(0))

"""How are the two descriptors of a pipe read and written, whatever they are, without holding anybody up?

The mode of what is read is left alone, because others may share it; of what is written it is put back at the end.
"""

import asyncio
import fcntl
import os
import select
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

_CHUNK_BYTES = 64 * 1024
# Fewer than any system takes in one call, and than pings may be under way.
_LINES_AT_ONCE = 64


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
    """Writes lines in their order, each as soon as the other side takes it; `on_gone` is called if that is gone."""

    def __init__(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[memoryview, Callable[[], None]]] = deque()
        self._drained = asyncio.Event()
        self._drained.set()
        self._is_busy = self._is_collecting = False
        mode = os.fstat(descriptor).st_mode
        self._is_pipe = stat.S_ISFIFO(mode)
        is_file = stat.S_ISREG(mode) or os.path.sameopenfile(descriptor, 0)  # or the null device: always ready
        # Where its mode is standard error's too, only as much is written at a time as what is ready surely takes.
        self._in_pieces = not is_file and (stat.S_ISCHR(mode) or os.path.sameopenfile(descriptor, 2))
        self._changes_mode = not is_file and not self._in_pieces

    @contextmanager
    def open(self) -> Iterator[None]:
        """While this is entered, lines can be sent, and it is noticed if nobody is left who could read them."""
        if self._changes_mode:
            os.set_blocking(self._descriptor, False)
        if self._is_pipe:  # which can be read from, where it is written to, at its end alone
            self._loop.add_reader(self._descriptor, self._look)
        try:
            yield
        finally:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            if self._changes_mode:
                os.set_blocking(self._descriptor, True)

    def send(self, line: bytes, on_written: Callable[[], None] = lambda: None) -> None:
        self._queue.append((memoryview(line), on_written))
        self._drained.clear()
        if not self._is_busy and (not self._is_collecting or len(self._queue) >= _LINES_AT_ONCE):
            self._write()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write at the end of this, and in one call, what is sent in it."""
        self._is_collecting = True
        try:
            yield
        finally:
            self._is_collecting = False
            if not self._is_busy:
                self._write()

    async def drained(self) -> None:
        """Wait until everything is written."""
        await self._drained.wait()

    def _write_on(self) -> None:
        self._loop.remove_writer(self._descriptor)
        self._write()

    def _write(self) -> None:
        self._is_busy = True
        while self._queue:
            try:
                written = self._written()
            except BlockingIOError:
                self._loop.add_writer(self._descriptor, self._write_on)
                return
            except OSError:  # the client is gone
                self._on_gone()
                return
            self._note_written(written)
        self._is_busy = False
        self._drained.set()

    def _written(self) -> int:
        """Write as much as can be now; BlockingIOError if that is nothing."""
        if not self._in_pieces:
            return os.writev(self._descriptor, [line for line, _ in islice(self._queue, _LINES_AT_ONCE)])
        if not _is_writable(self._descriptor):
            raise BlockingIOError
        return os.write(self._descriptor, self._queue[0][0][: select.PIPE_BUF])

    def _note_written(self, written: int) -> None:
        while written:
            line, on_written = self._queue[0]
            if written < len(line):
                self._queue[0] = (line[written:], on_written)
                return
            written -= len(line)
            self._queue.popleft()
            on_written()

    def _look(self) -> None:
        self._loop.remove_reader(self._descriptor)
        poll = select.poll()
        poll.register(self._descriptor, 0)
        if poll.poll(0):
            self._on_gone()


def _is_writable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))

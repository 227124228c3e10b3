"""A transport over two descriptors, whatever they are."""

import asyncio
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contexthall.system.pipes import Pipes, PipeTransport

pytestmark = pytest.mark.anyio


class Told(asyncio.Protocol):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.received = b""
        self.ends = 0
        self.has_ended, self.is_drained, self.is_lost = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> None:
        self.ends += 1
        self.has_ended.set()

    def resume_writing(self) -> None:
        self.is_drained.set()

    def connection_lost(self, exc: Exception | None) -> None:
        assert exc is None
        self.is_lost.set()


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    near, far = os.pipe()
    try:
        yield near, far
    finally:
        os.close(near)
        os.close(far)


def has_bytes(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


async def held(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), 50)


async def test_what_is_read_and_its_end_are_told_of_a_pipe_a_file_and_the_null_device(tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_bytes(b"x" * 100_000)
    near, far = os.pipe()
    os.write(far, b"a word")
    os.close(far)
    sources = {near: b"a word", os.open(file, os.O_RDONLY): b"x" * 100_000, os.open(os.devnull, os.O_RDONLY): b""}
    with pipe() as (_, outgoing):
        for incoming, said in sources.items():
            told = Told()
            with PipeTransport(Pipes(incoming, outgoing), told):
                await held(told.has_ended)
                await asyncio.sleep(0.01)
            os.close(incoming)
            assert (told.received, told.ends) == (said, 1)


async def test_what_comes_after_it_was_left_is_not_read() -> None:
    told = Told()
    with pipe() as (incoming, far), pipe() as (_, outgoing):
        with PipeTransport(Pipes(incoming, outgoing), told):
            pass
        os.write(far, b"a word")
        await asyncio.sleep(0.01)
        assert told.received == b""
        assert has_bytes(incoming)


async def test_a_transport_that_cannot_be_entered_leaves_the_mode_alone() -> None:
    class Unwilling(Told):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            del transport
            raise OSError

    with pipe() as (incoming, _), pipe() as (_, outgoing):
        with pytest.raises(OSError), PipeTransport(Pipes(incoming, outgoing), Unwilling()):  # noqa: PT011 - its own
            pass
        asyncio.get_running_loop().remove_reader(outgoing)
        assert os.get_blocking(outgoing)


async def test_what_is_paused_is_not_read_until_it_is_resumed() -> None:
    told = Told()
    with pipe() as (incoming, far), pipe() as (_, outgoing):
        transport = PipeTransport(Pipes(incoming, outgoing), told)
        with transport:
            transport.pause_reading()
            os.write(far, b"a word")
            await asyncio.sleep(0.01)
            assert told.received == b""
            transport.resume_reading()
            transport.resume_reading()
            while not told.received:
                await asyncio.sleep(0)
            assert told.received == b"a word"


async def test_what_is_sent_after_the_end_is_not_written() -> None:
    with pipe() as (near, far), pipe() as (incoming, _):
        transport = PipeTransport(Pipes(incoming, far), Told())
        with transport:
            transport.write(b"late")
        await asyncio.sleep(0)
        assert os.get_blocking(far)
        assert not has_bytes(near)


async def test_what_was_written_is_held_no_longer() -> None:
    line, told = b"x" * 1000, Told()
    with pipe() as (near, far), pipe() as (incoming, _):
        transport = PipeTransport(Pipes(incoming, far), told)
        references = sys.getrefcount(line)
        with transport:
            transport.write(line)
            assert transport.get_write_buffer_size() == len(line)
            await held(told.is_drained)
            assert transport.get_write_buffer_size() == 0
            assert has_bytes(near)
            assert sys.getrefcount(line) == references


async def test_nothing_is_nothing_to_write_and_is_not_kept() -> None:
    told = Told()
    with pipe() as (_, far), pipe() as (incoming, _):
        transport = PipeTransport(Pipes(incoming, far), told)
        with transport:
            transport.writelines([])
            for _ in range(1000):
                transport.write(b"")
            await asyncio.sleep(0.01)
            assert not told.is_drained.is_set()
            assert transport._lines == []


async def test_a_reader_that_is_gone_is_noticed_though_nothing_is_written() -> None:
    told = Told()
    near, far = os.pipe()
    with pipe() as (incoming, _):
        with PipeTransport(Pipes(incoming, far), told):
            os.close(near)
            await held(told.is_lost)
        os.close(far)

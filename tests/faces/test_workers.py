"""Plain functions in threads: small ones are done in one go, a slow one holds up nobody."""

import asyncio
import threading
import weakref
from functools import partial

import pytest

from contexthall.core import limits
from contexthall.faces.workers import Workers

pytestmark = pytest.mark.anyio


async def test_what_is_started_together_and_is_small_is_done_before_the_event_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "TOOL_MOMENT_SECONDS", 60)
    workers, done = Workers(60.0), []
    for number in range(3):
        workers.start(partial(int.__mul__, number, 10), lambda value, error: done.append((value, error)))
    assert done == []
    await asyncio.sleep(0)
    assert done == [(0, None), (10, None), (20, None)]


async def test_a_slow_call_holds_up_neither_the_event_loop_nor_the_calls_after_it() -> None:
    gate, workers = threading.Event(), Workers(60.0)
    slow = asyncio.create_task(workers.run(gate.wait))
    async with asyncio.timeout(50):
        assert await asyncio.gather(*(workers.run(lambda: "quick") for _ in range(5))) == ["quick"] * 5
        assert not slow.done()
        gate.set()
        assert await slow is True


async def test_small_calls_that_never_end_coming_are_the_work_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOOL_MOMENT_SECONDS", 0)
    monkeypatch.setattr(limits, "TOOL_THREAD_SECONDS", 0.5)
    workers, threads = Workers(60.0), set[int]()
    loop = asyncio.get_running_loop()
    end = loop.time() + 1.5

    async def keep_calling() -> None:
        while loop.time() < end:
            threads.add(await workers.run(threading.get_ident))

    await asyncio.gather(*(keep_calling() for _ in range(32)))
    assert len(threads) == 1


async def test_each_call_that_waits_gets_a_thread_whatever_has_begun_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOOL_MOMENT_SECONDS", 0)
    gate, workers = threading.Barrier(limits.TOOL_THREADS), Workers(60.0)
    async with asyncio.timeout(50):
        calls = [asyncio.create_task(workers.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0)  # they are handed over apart from the others
        calls += [asyncio.create_task(workers.run(gate.wait)) for _ in range(limits.TOOL_THREADS - 2)]
        assert sorted(await asyncio.gather(*calls)) == list(range(limits.TOOL_THREADS))


async def test_a_call_that_is_cancelled_tells_so_at_once_and_only_once() -> None:
    gate, ended, told = threading.Event(), threading.Event(), []
    workers = Workers(60.0)

    def work() -> None:
        gate.wait()
        ended.set()

    job = workers.start(work, lambda _value, error: told.append(type(error)))
    await asyncio.sleep(0)
    job.cancel()
    assert told == [asyncio.CancelledError]
    gate.set()
    async with asyncio.timeout(50):
        await asyncio.to_thread(ended.wait)
        assert await workers.run(lambda: "free") == "free"
    assert told == [asyncio.CancelledError]


async def test_an_error_in_a_thread_is_told_to_whoever_waits() -> None:
    def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await Workers(60.0).run(fail)


async def test_what_a_call_brought_and_took_is_held_by_nobody_afterwards() -> None:
    class Large:
        """As an argument and as a result."""

    workers, large = Workers(60.0), Large()
    seen = weakref.ref(large)
    await workers.run(partial(lambda it: it, large))
    del large
    async with asyncio.timeout(50):
        while seen() is not None:
            await asyncio.sleep(0.01)

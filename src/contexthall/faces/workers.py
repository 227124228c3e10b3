"""Worker threads for blocking functions, at most so many.

A caller that gives up, or runs out of time, is let go at once; its thread cannot be. So the thread keeps its place
until it has really ended: otherwise calls that are cancelled as fast as they come would start threads without end.

The event loop is woken once for all results that are there by then, which `ThreadPoolExecutor` does for each: with many
calls under way, that was half of the time of a small one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

from contexthall.core import limits

T = TypeVar("T")


class _Job(NamedTuple):
    work: Callable[[], Any]
    outcome: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


_Queue: TypeAlias = "SimpleQueue[_Job | None]"


class Workers:
    """Threads for plain functions. Waiting for a free one is part of the time that a call may take."""

    def __init__(self, timeout_seconds: float, most: int = limits.TOOL_THREADS) -> None:
        self._timeout_seconds = timeout_seconds
        self._most = most
        self._threads = 0
        self._is_looking = False
        self._jobs: _Queue = SimpleQueue()
        self._results = _Results()

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread; TimeoutError if no thread was free in time, or it took too long."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()
        deadline = loop.call_later(self._timeout_seconds, _run_out_of_time, outcome)
        self._results.awaited += 1
        self._jobs.put(_Job(work, outcome, loop))
        if not self._threads:
            self._start_thread()
        elif self._results.awaited > self._threads:
            self._start_thread_later(loop)
        try:
            return await outcome
        finally:
            deadline.cancel()

    def _start_thread(self) -> None:
        self._threads += 1
        Thread(target=_work, args=(self._jobs, self._results), name="tool", daemon=True).start()

    def _start_thread_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start one more thread if a job still waits in a moment: small ones are done sooner by few threads."""
        if self._threads < self._most and not self._is_looking:
            self._is_looking = True
            loop.call_later(limits.TOOL_THREAD_SECONDS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = False
        if not self._jobs.empty():
            self._start_thread()
            self._start_thread_later(loop)

    def __del__(self) -> None:
        for _ in range(self._threads):
            self._jobs.put(None)


class _Results:
    """What threads have done, on its way to the event loop."""

    def __init__(self) -> None:
        self.awaited = 0
        """How many jobs are waiting or under way, known to the event loop alone."""
        self._done: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._is_announced = False

    def put(self, job: _Job, value: object, error: BaseException | None) -> None:
        """Bring a result, from a thread."""
        self._done.append((job.outcome, value, error))
        # In this order: what is put while the event loop takes results is taken, or announced anew.
        if not self._is_announced:
            self._is_announced = True
            try:
                job.loop.call_soon_threadsafe(self._take)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                self._is_announced = False

    def _take(self) -> None:
        self._is_announced = False
        while self._done:
            outcome, value, error = self._done.popleft()
            self.awaited -= 1
            if outcome.done():
                continue  # nobody waits for it any more
            if error is None:
                outcome.set_result(value)
            else:
                outcome.set_exception(error)


def _work(jobs: _Queue, results: _Results) -> None:
    while (job := jobs.get()) is not None:
        value: object = None
        error: BaseException | None = None
        if not job.outcome.done():
            try:
                value = job.work()
            except StopIteration:  # which no future carries
                error = RuntimeError("the work ended in StopIteration")
            except BaseException as raised:  # noqa: BLE001 - whoever waits is told
                error = raised
        results.put(job, value, error)
        del job, value, error  # held by nobody while this thread waits


def _run_out_of_time(outcome: asyncio.Future[Any]) -> None:
    with suppress(asyncio.InvalidStateError):
        outcome.set_exception(TimeoutError())

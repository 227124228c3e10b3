"""Worker threads for blocking functions, at most so many.

A caller that gives up, or runs out of time, is let go at once; its thread cannot be. So the thread keeps its place
until it has really ended: otherwise calls that are cancelled as fast as they come would start threads without end.

Calls that come together are handed over together, and the event loop waits a moment for all that are under way: small
ones are done by then. While one runs that was waited for in vain, the event loop is woken once for all results that are
there. To wake it for each, as `ThreadPoolExecutor` does, and to compete with the threads for the interpreter was most
of the time of a small call.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from contexthall.core import limits

T = TypeVar("T")
OnDone: TypeAlias = Callable[[Any, BaseException | None], None]
"""Told the value, or the error in its place."""


class Job:
    """A function that waits for a thread, or is run by one; its outcome is told once, in the event loop."""

    __slots__ = ("_deadline", "_on_done", "has_begun", "is_over", "loop", "work")

    def __init__(self, work: Callable[[], Any], on_done: OnDone, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.has_begun = self.is_over = False
        self._on_done = on_done
        self._deadline: asyncio.TimerHandle | None = None

    def end(self, value: object, error: BaseException | None) -> None:
        if not self.is_over:
            self.is_over = True
            if self._deadline is not None:
                self._deadline.cancel()
            self._on_done(value, error)

    def end_within(self, seconds: float) -> None:
        self._deadline = self.loop.call_later(seconds, self.end, None, TimeoutError())

    def cancel(self) -> None:
        """Wait for it no longer."""
        self.end(None, asyncio.CancelledError())


_Queue: TypeAlias = "SimpleQueue[Job | None]"


class Workers:
    """Threads for plain functions. Waiting for a free one is part of the time that a call may take."""

    def __init__(self, timeout_seconds: float, most: int = limits.TOOL_THREADS) -> None:
        self._timeout_seconds = timeout_seconds
        self._most = most
        self._threads = 0
        self._is_looking = False
        self._next: list[Job] = []
        """What has come since the last hand-over."""
        self._jobs: _Queue = SimpleQueue()
        self._results = _Results()

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread; TimeoutError if no thread was free in time, or it took too long."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def settle(value: T, error: BaseException | None) -> None:
            if outcome.done():  # nobody waits for it any more
                return
            if error is None:
                outcome.set_result(value)
            else:
                outcome.set_exception(error)

        job = self.start(work, settle)
        try:
            return await outcome
        finally:
            job.cancel()

    def start(self, work: Callable[[], T], on_done: OnDone) -> Job:
        """Do the same without a coroutine."""
        loop = asyncio.get_running_loop()
        if not self._threads:
            self._start_thread()
        if not self._next:
            loop.call_soon(self._hand_over)
        job = Job(work, on_done, loop)
        self._next.append(job)
        return job

    def _hand_over(self) -> None:
        """Give the threads what has come; a call that is not done in a moment gets its deadline."""
        jobs, self._next = self._next, []
        has_slow = bool(self._results.slow)
        self._results.expect(jobs, are_waited_for=not has_slow)
        for job in jobs:
            self._jobs.put(job)
        if not has_slow:
            self._results.wait(limits.TOOL_MOMENT_SECONDS)
        for job in jobs:
            if not job.is_over:
                job.end_within(self._timeout_seconds)
        if len(self._results.awaited) > self._threads:
            self._start_thread_later(jobs[-1])

    def _start_thread(self) -> None:
        self._threads += 1
        Thread(target=_work, args=(self._jobs, self._results), name="tool", daemon=True).start()

    def _start_thread_later(self, job: Job) -> None:
        """Start one more thread if a job still waits in a moment: small ones are done sooner by few threads."""
        if self._threads < self._most and not self._is_looking:
            self._is_looking = True
            job.loop.call_later(limits.TOOL_THREAD_SECONDS, self._look, job)

    def _look(self, job: Job) -> None:
        self._is_looking = False
        if not job.has_begun:
            self._start_thread()
        waiting = next((each for each in self._results.awaited if not each.has_begun), None)
        if waiting is not None:
            self._start_thread_later(waiting)

    def __del__(self) -> None:
        for _ in range(self._threads):
            self._jobs.put(None)


class _Results:
    """What threads have done, on its way to the event loop."""

    def __init__(self) -> None:
        self.awaited: set[Job] = set()
        """Those that wait for a thread or have one; changed by the event loop alone."""
        self.slow: set[Job] = set()
        """Those of them that were waited for in vain."""
        self._done: deque[tuple[Job, Any, BaseException | None]] = deque()
        self._is_announced = False
        self._is_waited_for = False
        self._all_done: SimpleQueue[None] = SimpleQueue()

    def expect(self, jobs: Iterable[Job], *, are_waited_for: bool) -> None:
        """Take note of jobs that are about to be handed over; `wait` follows at once if they are waited for."""
        self.awaited.update(jobs)
        if are_waited_for:  # before a thread has them, which may be done before `wait` is called
            self._all_done = SimpleQueue()
            self._is_waited_for = True

    def wait(self, seconds: float) -> None:
        """Let the threads work until everything is done, but not for longer than that."""
        with suppress(Empty):
            self._all_done.get(timeout=seconds)
        self._is_waited_for = False
        self._take()
        self.slow = set(self.awaited)

    def put(self, job: Job, value: object, error: BaseException | None) -> None:
        """Bring a result, from a thread."""
        self._done.append((job, value, error))
        # In this order: what is put while the event loop takes results is taken, or announced anew.
        if self._is_waited_for:
            if len(self._done) >= len(self.awaited):
                self._all_done.put(None)
        elif not self._is_announced:
            self._is_announced = True
            try:
                job.loop.call_soon_threadsafe(self._take)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                self._is_announced = False

    def _take(self) -> None:
        self._is_announced = False
        while self._done:
            job, value, error = self._done.popleft()
            self.awaited.discard(job)
            self.slow.discard(job)
            job.end(value, error)


def _work(jobs: _Queue, results: _Results) -> None:
    while (job := jobs.get()) is not None:
        value: object = None
        error: BaseException | None = None
        job.has_begun = True
        if not job.is_over:
            try:
                value = job.work()
            except StopIteration:  # which no future carries
                error = RuntimeError("the work ended in StopIteration")
            except BaseException as raised:  # noqa: BLE001 - whoever waits is told
                error = raised
        results.put(job, value, error)
        del job, value, error  # held by nobody while this thread waits

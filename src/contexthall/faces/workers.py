"""Worker threads for blocking functions, at most so many.

A caller that gives up, or runs out of time, is let go at once; its thread cannot be. So the thread keeps its place
until it has really ended: otherwise calls that are cancelled as fast as they come would start threads without end.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from contexthall.core import limits

T = TypeVar("T")


class Workers:
    """Threads for plain functions. Waiting for a free one is part of the time that a call may take."""

    def __init__(self, timeout_seconds: float, most: int = limits.TOOL_THREADS) -> None:
        self._timeout_seconds = timeout_seconds
        self._slots = CapacityLimiter(most)
        self._threads = CapacityLimiter(most)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread; TimeoutError if no thread was free in time, or it took too long."""
        slot = object()
        with anyio.fail_after(self._timeout_seconds):
            await self._slots.acquire_on_behalf_of(slot)
            running = asyncio.create_task(self._run_in_slot(slot, work))
            running.add_done_callback(_retrieve_exception)
            await asyncio.wait([running])
            return running.result()

    async def _run_in_slot(self, slot: object, work: Callable[[], T]) -> T:
        """Hold the slot until the thread has ended, even if nobody waits for it; the hall's end is not held up."""
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)
        finally:
            self._slots.release_on_behalf_of(slot)


def _retrieve_exception(running: "asyncio.Task[T]") -> None:
    """Retrieve the exception, so that asyncio does not report it as never retrieved."""
    if not running.cancelled():
        running.exception()

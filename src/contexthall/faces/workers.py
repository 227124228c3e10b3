"""How does a face do what would hold up everybody else? In a worker thread, of which there are only so many.

A caller that gives up, or runs out of time, is let go at once; its thread cannot be. So the thread keeps its place
until it has really ended: otherwise calls that are cancelled as fast as they come would start threads without end.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

Answer = TypeVar("Answer")

MOST_WORKERS = 8


class Workers:
    """Threads for plain functions. Waiting for a free one is part of the time that a call may take."""

    def __init__(self, timeout_seconds: float, most: int = MOST_WORKERS) -> None:
        self._timeout_seconds = timeout_seconds
        self._places = CapacityLimiter(most)
        self._threads = CapacityLimiter(most)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Run `work` in a thread; TimeoutError if no thread was free in time, or it took too long."""
        place = object()
        with anyio.fail_after(self._timeout_seconds):
            await self._places.acquire_on_behalf_of(place)
            occupying = asyncio.create_task(self._occupy(place, work))
            occupying.add_done_callback(_hear_out)
            await asyncio.wait([occupying])
            return occupying.result()

    async def _occupy(self, place: object, work: Callable[[], Answer]) -> Answer:
        """Hold the place until the thread has ended, whoever still waits for it; only the hall's end is not held up."""
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)
        finally:
            self._places.release_on_behalf_of(place)


def _hear_out(occupying: "asyncio.Task[Answer]") -> None:
    """Take note of how it ended, if nobody else does any more."""
    if not occupying.cancelled():
        occupying.exception()

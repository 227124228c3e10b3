"""How does a test wait for what tells nobody that it is so? It looks again and again, and not for ever."""

import asyncio
import time
from collections.abc import Callable

from tests.processes import PATIENCE_SECONDS

_LOOK_SECONDS = 0.01


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(_LOOK_SECONDS)


async def until(holds: Callable[[], object]) -> None:
    """Wait in an event loop; what is waited for goes on meanwhile."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.sleep(_LOOK_SECONDS)

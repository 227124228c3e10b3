"""How does a server hear that it shall end? By SIGTERM or SIGINT, each of which is told to its event loop."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGTERM, signal.SIGINT)
_MOST = 100


@contextmanager
def told_of_signals(tell: Callable[[], None]) -> Iterator[None]:
    """While this is entered, call `tell` in the event loop for each signal that comes; afterwards none does anything.

    Neither asyncio's handlers, which are taken away when the loop closes, so that a signal that comes then ends the
    process in another way, nor handlers alone: one that another thread takes does not wake the loop.
    """
    loop = asyncio.get_running_loop()
    woken, waking = socket.socketpair()

    def take() -> None:
        for _ in woken.recv(_MOST):
            tell()

    with woken, waking:
        waking.setblocking(False)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        loop.add_reader(woken, take)
        for number in _ENDING:  # the last step: until then a signal does what it did
            signal.signal(number, lambda *_: None)
        try:
            yield
        finally:
            loop.remove_reader(woken)
            signal.set_wakeup_fd(-1)

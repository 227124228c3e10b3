"""How do two processes share work? Each gets a share of it and reports over a pipe of its own.

A worker never waits for its master: when the master is gone, the next report fails and the worker ends. Until then it
keeps whatever lock it inherited, so nobody builds over its feet.
"""

import os
import pickle
import selectors
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from contexthall.core.errors import DiskError, HallError, InternalError

Report: TypeAlias = Callable[[int], None]
Share: TypeAlias = Callable[[Report], Any]

_LENGTH = struct.Struct("<Q")


def run_shares(shares: Sequence[Share], report: Report) -> list[Any]:
    """Run every share, side by side where there are several, and give their results in order."""
    # A fork of a process with threads may copy a lock that nobody will ever release.
    if len(shares) == 1 or threading.active_count() > 1:
        return [share(report) for share in shares]
    workers: list[_Worker] = []
    try:
        for share in shares:
            workers.append(_Worker(share))  # noqa: PERF401 - those that were started must be ended if the next cannot be
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.pipe, selectors.EVENT_READ, worker)
            while selector.get_map():
                for key, _ in selector.select():
                    message = key.data.receive()
                    if isinstance(message, int):
                        report(message)
                    else:
                        selector.unregister(key.fileobj)
        return [worker.result for worker in workers]
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A child process with a share of the work."""

    def __init__(self, share: Share) -> None:
        self.pipe, writing = os.pipe()
        try:
            self.process = _fork()
        except DiskError:
            os.close(self.pipe)
            os.close(writing)
            raise
        if self.process == 0:
            os.close(self.pipe)
            _work(share, writing)
        os.close(writing)
        self.result: Any = None

    def receive(self) -> int | None:
        """Take one report: how much more is done, or None for the end."""
        header = self._read(_LENGTH.size)
        message = pickle.loads(self._read(*_LENGTH.unpack(header))) if header else InternalError("a worker died")  # noqa: S301 - our own child's
        if isinstance(message, int):
            return message
        if isinstance(message, HallError):
            raise message
        (self.result,) = message
        return None

    def end(self) -> None:
        """Wait for the process, which has no reason left to live."""
        os.close(self.pipe)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length and (chunk := os.read(self.pipe, length - len(data))):
            data += chunk
        return data


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise DiskError(f"no further process can be started: {error.strerror}") from error


def _work(share: Share, pipe: int) -> NoReturn:
    def send(message: object) -> None:
        data = pickle.dumps(message)
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        while rest:
            rest = rest[os.write(pipe, rest) :]

    try:
        try:
            send((share(send),))
        except HallError as error:
            send(error)
    except BaseException:  # noqa: BLE001 - the master is gone, or sees that we are
        os._exit(1)
    os._exit(0)

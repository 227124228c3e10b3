"""How do two processes share work? Each gets a share of it and reports over a pipe of its own.

A worker ends with its master: it holds one end of a lifeline whose other end only the master has, and ends, with
whatever lock it inherited, when that closes; at once, unless it is in a call that lets no thread run. A worker that
dies takes its master's work with it, and no more.
"""

import os
import pickle
import selectors
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from contexthall.core.errors import DiskError, HallError, InternalError

Report: TypeAlias = Callable[[int], None]
Share: TypeAlias = Callable[[Report], Any]

_LENGTH = struct.Struct("<Q")


def run_shares(shares: Sequence[Share], report: Report) -> list[Any]:
    """Run every share, side by side where there are several, and give their results in order.

    If shares fail, the error is that of the first of them, whoever was faster, as if they had been run in order.
    """
    # A fork of a process with threads may copy a lock that nobody will ever release.
    if len(shares) == 1 or threading.active_count() > 1:
        return [share(report) for share in shares]
    workers: list[_Worker] = []
    lifeline = _pipe()
    try:
        for share in shares:
            # Those that were started must be ended if the next cannot be.
            workers.append(_Worker(share, lifeline))  # noqa: PERF401 - for that they must be known
        _listen(workers, report)
        return _results(workers)
    finally:
        for worker in workers:
            worker.end()
        for end in lifeline:
            os.close(end)


def _listen(workers: "Sequence[_Worker]", report: Report) -> None:
    """Take reports until all that can matter is known: of the shares after one that failed, nothing does."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        while listened_to := selector.get_map():
            for key, _ in selector.select():
                if key.fd not in listened_to:
                    continue
                message = key.data.receive()
                if isinstance(message, int):
                    report(message)
                    continue
                place = workers.index(key.data)
                for worker in workers[place:] if key.data.error is not None else [key.data]:
                    if worker.pipe in listened_to:
                        selector.unregister(worker.pipe)


def _results(workers: "Sequence[_Worker]") -> list[Any]:
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    return [worker.result for worker in workers]


class _Worker:
    """A child process with a share of the work."""

    def __init__(self, share: Share, lifeline: tuple[int, int]) -> None:
        self.pipe, writing = _pipe()
        try:
            self.process = _fork()
        except DiskError:
            os.close(self.pipe)
            os.close(writing)
            raise
        if self.process == 0:
            os.close(self.pipe)
            _work(share, writing, lifeline)
        os.close(writing)
        self.result: Any = None
        self.error: HallError | None = None

    def receive(self) -> int | None:
        """Take one report: how much more is done, or None for the end."""
        message = pickle.loads(self._read(*_LENGTH.unpack(self._read(_LENGTH.size))))  # noqa: S301 - our own child's
        if isinstance(message, int):
            return message
        if isinstance(message, HallError):
            self.error = message
        else:
            (self.result,) = message
        return None

    def end(self) -> None:
        """Wait for the process, which has no reason left to live."""
        os.close(self.pipe)
        with suppress(ProcessLookupError, ChildProcessError):  # whoever started us may want no word of children
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def _read(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            chunk = os.read(self.pipe, length - len(data))
            if not chunk:  # perhaps in the middle of a report
                raise InternalError("a worker died")
            data += chunk
        return bytes(data)


def _pipe() -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise DiskError(f"no further process can be spoken with: {error.strerror}") from error


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise DiskError(f"no further process can be started: {error.strerror}") from error


def _end_with_master(far_end: int, masters_end: int) -> None:
    """Let this process end when its master does, whatever it is doing then."""
    os.close(masters_end)

    def wait() -> NoReturn:
        os.read(far_end, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _work(share: Share, pipe: int, lifeline: tuple[int, int]) -> NoReturn:
    def send(message: object) -> None:
        data = pickle.dumps(message)
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        while rest:
            rest = rest[os.write(pipe, rest) :]

    try:
        _end_with_master(*lifeline)
        try:
            send((share(send),))
        except HallError as error:
            send(error)
        except Exception as error:  # noqa: BLE001 - a mistake of ours, which the master tells as if it were its own
            send(InternalError(repr(error)))
    except BaseException:  # noqa: BLE001 - the master is gone, or sees that we are
        os._exit(1)
    os._exit(0)

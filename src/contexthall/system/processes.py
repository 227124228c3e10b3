"""Running tasks in parallel by forking: each worker process reports over a pipe of its own.

A worker ends with its parent: it holds one end of a pipe whose other end only the parent has, and exits, with whatever
lock it inherited, when that closes; at once, unless it is in a call that lets no other thread run. A worker that dies
fails the parent's call, and nothing else.
"""

import gc
import os
import pickle
import selectors
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from contexthall.core import limits
from contexthall.core.errors import DiskError, HallError, InternalError

Report: TypeAlias = Callable[[Any], None]
"""Tells whoever waits for a task what is done: how much more of it, or what has been made so far."""
ParallelTask: TypeAlias = Callable[[Report], Any]

_LENGTH = struct.Struct("<Q")
_T = TypeVar("_T")


def most_workers() -> int:
    """Return how many processes one command shares its work among: one a core that it may use, and two at least."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(2, cores), limits.BUILD_PROCESSES)


def run_parallel(tasks: Sequence[ParallelTask], report: Report) -> list[Any]:
    """Run every task, in parallel where there are several, and return their results in order.

    If tasks fail, the error is that of the first of them, whoever was faster, as if they had been run in order.
    """
    # A fork of a process with threads may copy a lock that nobody will ever release.
    if len(tasks) == 1 or threading.active_count() > 1:
        return [task(report) for task in tasks]
    workers: list[_Worker] = []
    parent_death_pipe = _ask_for(os.pipe, "spoken with")
    gc.freeze()  # or each worker's garbage collector would copy what they share
    try:
        for task in tasks:
            # Those that were started must be ended if the next cannot be.
            workers.append(_Worker(task, parent_death_pipe))  # noqa: PERF401 - for that they must be known
        _listen(workers, report)
        for worker in workers:
            if worker.error is not None:
                raise worker.error
        return [worker.result for worker in workers]
    finally:
        gc.unfreeze()
        for worker in workers:
            worker.end()
        for end in parent_death_pipe:
            os.close(end)


def _listen(workers: "Sequence[_Worker]", report: Report) -> None:
    """Take reports until all that can matter is known: of the tasks after one that failed, nothing does."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        while listened_to := selector.get_map():
            for key, _ in selector.select():
                if key.fd not in listened_to:
                    continue
                message = key.data.receive()
                if not isinstance(message, _End):
                    report(message)
                    continue
                key.data.result, key.data.error = message
                place = workers.index(key.data)
                for worker in workers[place:] if key.data.error is not None else [key.data]:
                    if worker.pipe in listened_to:
                        selector.unregister(worker.pipe)


class _End(NamedTuple):
    """The last message of a worker."""

    result: Any = None
    error: HallError | None = None


class _Worker:
    """A child process that runs one task."""

    def __init__(self, task: ParallelTask, parent_death_pipe: tuple[int, int]) -> None:
        self.pipe, writing = _ask_for(os.pipe, "spoken with")
        try:
            self.process = _ask_for(os.fork, "started")
        except DiskError:
            os.close(self.pipe)
            os.close(writing)
            raise
        if self.process == 0:
            os.close(self.pipe)
            _work(task, writing, parent_death_pipe)
        os.close(writing)
        self.result: Any = None
        self.error: HallError | None = None

    def receive(self) -> Any:  # noqa: ANN401 - whatever the task reports
        """Take one message: a report, or the end."""
        return pickle.loads(self._read(*_LENGTH.unpack(self._read(_LENGTH.size))))  # noqa: S301 - our own child's

    def end(self) -> None:
        """Wait for the process, which has no reason left to live."""
        os.close(self.pipe)
        with suppress(ProcessLookupError, ChildProcessError):  # whoever started us may want no word of children
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def _read(self, length: int) -> bytearray:
        data = bytearray()
        while len(data) < length:
            chunk = os.read(self.pipe, length - len(data))
            if not chunk:  # perhaps in the middle of a report
                raise InternalError("a worker died")
            data += chunk
        return data


def _ask_for(resource: Callable[[], _T], use: str) -> _T:
    try:
        return resource()
    except OSError as error:
        raise DiskError(f"no further process can be {use}: {error.strerror}") from error


def end_with_parent(parent_pipe: int) -> None:
    """Let this process end when its parent closes its end of a pipe or ends, whatever this one is doing then."""

    def wait() -> NoReturn:
        os.read(parent_pipe, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _work(task: ParallelTask, pipe: int, parent_death_pipe: tuple[int, int]) -> NoReturn:
    def send(message: object) -> None:
        data = pickle.dumps(message)
        for part in (_LENGTH.pack(len(data)), data):
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(pipe, rest) :]

    try:
        parent_pipe, parents_end = parent_death_pipe
        os.close(parents_end)
        end_with_parent(parent_pipe)
        try:
            send(_End(task(send)))
        except HallError as error:
            send(_End(error=error))
        except Exception as error:  # noqa: BLE001 - a mistake of ours, which the parent tells as if it were its own
            send(_End(error=InternalError(repr(error))))
    except BaseException:  # noqa: BLE001 - the parent is gone, or sees that we are
        os._exit(1)
    os._exit(0)

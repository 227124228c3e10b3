"""What can a disk do to a process? Refuse the n-th call, make half of it, or see it die before, after or amid it.

A world is a `perform` for `Disk`. Its fault strikes once: one that kills leaves no further call to anybody, so that
nothing is tidied up on the way out. A forked worker inherits it and counts its own calls.
"""

import errno
import gc
import logging
import mmap
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from contexthall.core.errors import HallError
from contexthall.system.disk import TEMPORARY_PREFIX, Disk, file_system, queries

Entry: TypeAlias = tuple[str, int, bytes]
"""Kind, mode, and content or target."""
Tree: TypeAlias = Mapping[str, Entry]
Trace: TypeAlias = Sequence[tuple[str, Sequence[Any]]]
"""Calls, with their arguments."""

_IN_PIECES = {
    queries.scan,
    queries.survey,
    queries.digests,
    queries.read_small,
    queries.real_path,
    file_system._make_directories,
}
"""What passes as a whole, and then call by call."""
_CHANGING = {"write", "pwrite", "fsync", "sync_file_system", "rename", "link", "exchange", "unlink", "mkdir", "rmdir"}
_CHANGING |= {"chmod", "chown"}
_SYNCING = {"fsync", "sync_file_system"}
_NAMING = {"rename", "link", "exchange"}
_MOVING = {"read", "pread", "write", "pwrite"}


def _synced(_descriptor: int) -> None:
    """Be done."""


class CrashError(BaseException):
    """The process is gone: nobody catches this, and nothing happens any more."""


def _is_changing(call: str, arguments: Sequence[Any]) -> bool:
    return call in _CHANGING or (call == "open" and bool(arguments[1] & os.O_CREAT))


class Fault(NamedTuple):
    """What happens at the n-th call: an error, or one of the ways below."""

    way: str
    number: int = errno.EIO

    @property
    def is_deadly(self) -> bool:
        return self.way.startswith("dies")

    def fits(self, call: str, arguments: Sequence[Any]) -> bool:
        """Say whether this can happen to such a call."""
        is_changing = _is_changing(call, arguments)
        fitting = {
            "fails": True,
            "fails late": call in _NAMING,
            "is short": call in _MOVING,
            "is short and then fails": call in _MOVING,
            "dies before": is_changing,
            "dies after": is_changing,
            "dies amid": call in {"write", "pwrite"},
        }
        return bool(fitting[self.way])


FULL: Final = Fault("fails", errno.ENOSPC)
BROKEN: Final = Fault("fails", errno.EIO)
REFUSED: Final = Fault("fails", errno.EACCES)
GONE: Final = Fault("fails", errno.ENOENT)
BUSY: Final = Fault("fails", errno.EMFILE)
SHORT: Final = Fault("is short")
PLAIN: Final = (FULL, BROKEN, REFUSED)
CRASHES: Final = (Fault("dies before"), Fault("dies after"), Fault("dies amid"))
FAULTS: Final = (
    *PLAIN,
    Fault("fails late"),
    SHORT,
    Fault("is short and then fails", errno.ENOSPC),
    *CRASHES,
)


class World:
    """A disk with one fault, at the n-th call of this process, or of each of its workers."""

    def __init__(self, fault: Fault = BROKEN, place: int = 0, *, of_workers: bool = False) -> None:
        self.trace: list[tuple[str, Sequence[Any]]] = []
        """The calls of this process, with their arguments."""
        self._fault = fault
        self._place = place
        self._master = os.getpid() if of_workers else 0
        self._shared = mmap.mmap(-1, 3)
        """Of all processes: whether the fault came to pass, whether the next call fails, whether all is over."""

    @property
    def was_met(self) -> bool:
        return bool(self._shared[0])

    def disk(self) -> Disk:
        return Disk(self._perform)

    def _perform(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        name = call.__name__
        if self._shared[2]:
            if name == "close":  # which the kernel does for the dead
                call(*arguments)
            raise CrashError
        if call in _IN_PIECES or os.getpid() == self._master:
            return call(*arguments, **options)
        if name in _SYNCING:  # for which a test need not wait
            call = _synced
        self.trace.append((name, arguments))
        if self._shared[1]:
            self._shared[1] = 0
            self._fail(call, *arguments)
        if len(self.trace) != self._place or not self._fault.fits(name, arguments):
            return call(*arguments, **options)
        self._shared[0] = 1
        return self._strike(call, *arguments, **options)

    def _strike(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        way = self._fault.way
        if way in {"dies after", "fails late"}:
            made = call(*arguments, **options)
            if call.__name__ == "open":
                os.close(made)
        if way in {"is short", "is short and then fails", "dies amid"}:
            made = call(*_halved(call.__name__, arguments), **options)
            self._shared[1] = way == "is short and then fails"
            if way != "dies amid":
                return made
        if self._fault.is_deadly:
            self._shared[2] = 1
            raise CrashError
        return self._fail(call, *arguments)

    def _fail(self, call: Callable[..., Any], *arguments: Any) -> None:
        if call.__name__ == "close":  # which frees the number whatever it says
            call(*arguments)
        raise OSError(self._fault.number, os.strerror(self._fault.number))


def _halved(call: str, arguments: Sequence[Any]) -> list[Any]:
    """Give the arguments of a read or write that moves half of the bytes, but one at least."""
    descriptor, amount, *rest = arguments
    if call in {"read", "pread"}:
        return [descriptor, max(1, min(amount, os.fstat(descriptor).st_size) // 2), *rest]
    return [descriptor, memoryview(amount)[: max(1, len(amount) // 2)], *rest]


def snapshot(root: Path) -> Tree:
    """Give everything below a directory."""
    found: dict[str, Entry] = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                entry = ("link", 0, os.fsencode(os.readlink(path)))
            elif os.path.isdir(path):
                entry = ("directory", mode, b"")
            else:
                entry = ("file", mode, Path(path).read_bytes())
            found[os.path.relpath(path, root)] = entry
    return found


def without_leftovers(tree: Tree) -> Tree:
    """Leave out what the next run may find half done."""
    return {path: entry for path, entry in tree.items() if TEMPORARY_PREFIX not in path}


def restore(root: Path, pristine: Path, before: Tree) -> None:
    """Make a directory what it was."""
    if snapshot(root) != before:
        shutil.rmtree(root)
        shutil.copytree(pristine, root, symlinks=True)


@contextmanager
def hearing() -> Iterator[list[str]]:
    """Collect what the hall logs as a warning or worse."""
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    ear = Ear(logging.WARNING)
    logger = logging.getLogger("contexthall")
    logger.addHandler(ear)
    try:
        yield heard
    finally:
        logger.removeHandler(ear)


class Ending(NamedTuple):
    """How a run of something ended."""

    errors: list[str]
    """What it said went wrong."""
    was_killed: bool = False
    answer: Any = None


def attempt(act: Callable[[], Any]) -> Ending:
    """Run something that gives the errors it reports, and collect those that it raises or logs."""
    with hearing() as heard:
        try:
            reported = act()
        except HallError as error:
            return Ending([*heard, str(error)])
        except CrashError:
            return Ending(heard, was_killed=True)
        return Ending([*heard, *(reported if isinstance(reported, list) else [])], answer=reported)


def descriptors() -> int:
    """Count what is open, once everything is let go of that nobody needs."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def happenings(trace: Trace, faults: Sequence[Fault]) -> Iterator[tuple[Fault, int]]:
    """Name every fault that can happen to these calls, and to which of them."""
    for place, (name, arguments) in enumerate(trace, 1):
        for fault in faults:
            if fault.fits(name, arguments):
                yield fault, place


def thinned(trace: Trace, faults: Sequence[Fault], every: int = 3) -> Iterator[tuple[Fault, int]]:
    """Let each changing call meet every fault, but of the plain errors one only, in turn; and some of the others.

    Of what is done many times to the same file, the first and the last count.
    """
    sites = [*_sites(trace)]
    first = {site: place for place, site in reversed([*enumerate(sites, 1)])}
    last = {site: place for place, site in enumerate(sites, 1)}
    for fault, place in happenings(trace, faults):
        is_told_apart = place in (first[sites[place - 1]], last[sites[place - 1]])
        is_wanted = _is_changing(*trace[place - 1]) or place % every == 0
        if is_told_apart and is_wanted and (fault not in PLAIN or PLAIN[place // every % len(PLAIN)] == fault):
            yield fault, place


def _sites(trace: Trace) -> Iterator[tuple[str, str]]:
    """Say of each call which one it is, and on which file or the like."""
    opened = ""
    for name, arguments in trace:
        if arguments and isinstance(arguments[0], str):
            opened = arguments[0]
        yield name, opened

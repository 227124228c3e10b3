"""How is the operating system asked? Through one replaceable point.

A look at a directory makes thousands of calls, so it makes them straight, unless somebody wants to see each.
"""

import errno
import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from contexthall.core.errors import DiskError, PathMissingError

Result = TypeVar("Result")
Perform: TypeAlias = Callable[..., Any]
Opening: TypeAlias = Callable[[str, int], int]
"""How a path is opened, with flags: `os.open`, or one that follows no symlink on the way."""

# What others may have prepared is never waited for: a FIFO opens at once and is refused.
READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
ENTER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
CHUNK = 1 << 20
_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}


def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401 - as various as the calls
    """Make a call to the operating system."""
    return call(*arguments, **options)


_straight = perform


def _entries(directory: str | int) -> "list[os.DirEntry[str]]":
    with os.scandir(directory) as entries:
        return list(entries)


class System(NamedTuple):
    """The calls that a look at a directory makes by the thousand: straight, unless somebody wants to see each."""

    opening: Opening = os.open
    open: Callable[..., int] = os.open
    close: Callable[[int], None] = os.close
    fstat: Callable[[int], os.stat_result] = os.fstat
    read: Callable[[int, int], bytes] = os.read
    stat: Callable[..., os.stat_result] = os.stat
    lstat: Callable[[str], os.stat_result] = os.lstat
    readlink: Callable[[str], str] = os.readlink
    mkdir: Callable[..., None] = os.mkdir
    getcwd: Callable[[], str] = os.getcwd
    entries: Callable[[str | int], "list[os.DirEntry[str]]"] = _entries
    stat_entry: Callable[..., os.stat_result] = os.DirEntry.stat

    def seen_by(self, perform: Perform) -> "System":
        return self if perform is _straight else System(*(partial(perform, call) for call in self))


class Calls:
    """Makes calls to the operating system; what it refuses becomes an error of ours."""

    def __init__(self, perform: Perform = perform, opening: Opening = os.open) -> None:
        self._perform = perform
        self._opening = opening
        self.system = System(opening).seen_by(perform)
        self.tidied: set[tuple[int, int]] = set()
        """The directories that were seen to hold nothing of writers who died."""

    def do(self, path: str, call: Callable[..., Result], *arguments: object, **options: object) -> Result:
        """Make a call about `path`; what the system refuses becomes an error of ours."""
        try:
            result: Result = self._perform(call, *arguments, **options)
        except ValueError as error:  # a NUL or a lone surrogate: no file can have that name
            raise PathMissingError(f"not a file name: {path!r}") from error
        except OSError as error:
            kind = PathMissingError if error.errno in _NOTHING_THERE else DiskError
            raise kind(f"{path}: {error.strerror or error}") from error
        return result

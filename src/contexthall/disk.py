"""What is on the disk? The only module that opens, lists or stats anything.

Every call to the operating system passes `perform`, which a test may replace to fail the n-th call or to shuffle a
listing. Every OSError leaves as one of our errors, with the path in its detail. Paths are strings; a name that is not
UTF-8 keeps its bytes as Python's surrogate escapes.
"""

import errno
import os
import stat
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from contexthall.core.errors import DiskError, PathMissingError

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]
Perform: TypeAlias = Callable[..., Any]

# What others may have prepared is never followed and never waited for: a FIFO opens at once and is refused.
_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
_CHUNK = 1 << 20
_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}


class Status(NamedTuple):
    """What stands at a path."""

    kind: Kind
    size: int


class Entry(NamedTuple):
    """One name in a directory; symlinks are not followed."""

    name: str
    kind: Kind


def perform(call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - as various as the calls
    """Make a call to the operating system."""
    return call(*arguments)


class Disk:
    """The file system, behind one replaceable point."""

    def __init__(self, perform: Perform = perform) -> None:
        self._perform = perform

    def look(self, path: str, *, follow: bool = True) -> Status:
        """Say what stands at `path`, and behind it if it is a symlink and `follow` is set."""
        found = self._do(path, os.stat if follow else os.lstat, path)
        return Status(_kind(found.st_mode), found.st_size)

    def list(self, path: str) -> tuple[Entry, ...]:
        """List a directory, sorted by the bytes of the names."""
        entries: list[Entry] = self._do(path, _scan, path)
        return tuple(sorted(entries, key=lambda entry: os.fsencode(entry.name)))

    def read(self, path: str) -> bytes:
        """Read a regular file whole; anything else at `path`, a symlink included, is a DiskError."""
        descriptor = self._do(path, os.open, path, _READ_FLAGS)
        try:
            if not stat.S_ISREG(self._do(path, os.fstat, descriptor).st_mode):
                raise DiskError(f"not a regular file: {path}")
            chunks = []
            while chunk := self._do(path, os.read, descriptor, _CHUNK):
                chunks.append(chunk)
            return b"".join(chunks)
        finally:
            self._do(path, os.close, descriptor)

    def is_within(self, path: str, root: str) -> bool:
        """Say whether `path` lies in `root` once all symlinks are followed."""
        real_path: str = self._do(path, os.path.realpath, path)
        real_root: str = self._do(root, os.path.realpath, root)
        return real_path == real_root or real_path.startswith(real_root.rstrip("/") + "/")

    def working_directory(self) -> str:
        """Say where relative paths start."""
        return str(self._do(".", os.getcwd))

    def _do(self, path: str, call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        try:
            return self._perform(call, *arguments)
        except ValueError as error:  # a NUL or half of a surrogate pair: no file can have that name
            raise PathMissingError(f"not a file name: {path!r}") from error
        except OSError as error:
            kind = PathMissingError if error.errno in _NOTHING_THERE else DiskError
            raise kind(f"{path}: {error.strerror or error}") from error


def _scan(path: str) -> list[Entry]:
    with os.scandir(path) as entries:
        return [Entry(entry.name, _entry_kind(entry)) for entry in entries]


def _entry_kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"

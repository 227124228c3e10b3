"""What is seen on the disk? A directory and all that is in it, what files add up to, where a path really leads.

Each look takes many calls and is one to whoever replaces `perform`. It changes nothing.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from contexthall.core import limits
from contexthall.system.disk.calls import CHUNK, ENTER, READ, System

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]

TOO_RECENT = 2_000_000_000
"""Nanoseconds: what changed so shortly before it was seen may change again without its stamp showing it."""
# As long as a path can be on Linux.
_ANY_PATH = 4096
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class Status(NamedTuple):
    """What stands at a path. The stamp changes when it is replaced or written."""

    kind: Kind
    size: int
    stamp: tuple[int, int, int, int]

    @property
    def identity(self) -> tuple[int, int]:
        """What changes only when something else is put there."""
        return self.stamp[:2]


class Entry(NamedTuple):
    """One name in a directory; symlinks are not followed."""

    name: str
    kind: Kind


class Seen(NamedTuple):
    """One name in a directory, and the size and stamp of a regular file; both are empty for anything else."""

    name: str
    kind: Kind
    size: int = 0
    stamp: tuple[int, ...] = ()
    """Inode, modification and change time, in nanoseconds."""

    def is_settled(self, seen_at: int) -> bool:
        """Return whether the stamp of what was seen at that time tells it from everything that comes after it."""
        return is_settled(self.stamp, seen_at)


class Survey(NamedTuple):
    """All that was seen in a directory, in no particular order, and the directory's own stamp."""

    stamp: tuple[int, ...]
    seen: tuple[Seen, ...]

    def is_settled(self, seen_at: int) -> bool:
        stamps = (self.stamp, *(each.stamp for each in self.seen if each.stamp))
        return all(is_settled(stamp, seen_at) for stamp in stamps)


class Digests(NamedTuple):
    """What files add up to, by name."""

    found: dict[str, str]
    are_as_seen: bool
    """Whether these are the very files that were seen before they were read."""
    refused: dict[str, str]
    """Why the others could not be read."""


def is_settled(stamp: tuple[int, ...], seen_at: int) -> bool:
    """Return whether a stamp is so old that another change would have got another one, however coarse the clock."""
    _, modified, changed = stamp
    return modified < seen_at - TOO_RECENT and changed < seen_at - TOO_RECENT


def scan(path: str | int, system: System) -> list[Entry]:
    return [Entry(entry.name, _entry_kind(entry)) for entry in system.entries(path)]


def survey(path: str, flags: int, known: Survey | None, system: System) -> Survey:
    # By descriptor, so that the kernel looks up one name for each file and not a path.
    descriptor = system.opening(path, flags)
    try:
        stamp = _stamp(system.fstat(descriptor))
        if known is not None and known.stamp == stamp and _are_unchanged(descriptor, known.seen, system):
            return known
        entries = system.entries(descriptor)
        return Survey(stamp, tuple([seen for entry in entries if (seen := _seen(entry, system)) is not None]))
    finally:
        system.close(descriptor)


def _are_unchanged(descriptor: int, files: Sequence[Seen], system: System) -> bool:
    """Look at the files of a directory in which no name has been added, removed or changed."""
    try:
        for name, kind, size, stamp in files:
            if kind == "file":
                found = system.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if (found.st_ino, found.st_mtime_ns, found.st_ctime_ns) != stamp or found.st_size != size:
                    return False
    except FileNotFoundError:
        return False
    return True


def _seen(entry: "os.DirEntry[str]", system: System) -> Seen | None:
    if not entry.is_file(follow_symlinks=False):
        return Seen(entry.name, _entry_kind(entry))
    try:
        found = system.stat_entry(entry, follow_symlinks=False)
    except FileNotFoundError:  # since it was listed
        return None
    return Seen(entry.name, "file", found.st_size, (found.st_ino, found.st_mtime_ns, found.st_ctime_ns))


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def digests(path: str, files: Sequence[Seen], system: System) -> Digests:
    directory = system.opening(path, ENTER)
    found: dict[str, str] = {}
    refused: dict[str, str] = {}
    are_the_same = True
    try:
        for file in files:
            try:
                found[file.name], is_the_same = _digest(file, directory, system)
            except FileNotFoundError:
                is_the_same = False
            except OSError as error:
                refused[file.name], is_the_same = error.strerror or str(error), False
            are_the_same = are_the_same and is_the_same
    finally:
        system.close(directory)
    return Digests(found, are_the_same, refused)


def _digest(file: Seen, directory: int, system: System) -> tuple[str, bool]:
    descriptor, found = _regular(system.open(file.name, READ | os.O_NOFOLLOW, dir_fd=directory), system)
    try:
        # What is appended meanwhile is not read: a file that never stops growing would never end.
        rest = found.st_size
        if rest > limits.FILE_BYTES:
            raise OSError(errno.EFBIG, "too large")
        chunk = system.read(descriptor, min(rest, CHUNK))
        digest = sha256(chunk)
        while chunk and (rest := rest - len(chunk)) > 0:
            chunk = system.read(descriptor, min(rest, CHUNK))
            digest.update(chunk)
    finally:
        system.close(descriptor)
    # Whoever renames the directory meanwhile leaves the times of its files alone, but not what stands at its path.
    return digest.hexdigest(), _stamp(found) == file.stamp and found.st_size == file.size


def read_small(path: str, most_bytes: int, system: System) -> tuple[Seen, bytes]:
    descriptor, found = _regular(system.opening(path, READ | os.O_NOFOLLOW), system)
    try:
        stamp = _stamp(found)
        # Asked for one byte more than there should be, a file whole shows its end in the second call at the latest.
        chunks, rest, wanted = [], most_bytes + 1, found.st_size + 1
        while rest > 0 and (chunk := system.read(descriptor, min(rest, wanted))):
            chunks.append(chunk)
            rest -= len(chunk)
            wanted = CHUNK
        return Seen(os.path.basename(path), "file", found.st_size, stamp), b"".join(chunks)
    finally:
        system.close(descriptor)


def _regular(descriptor: int, system: System) -> tuple[int, os.stat_result]:
    """Let only regular files stay open."""
    try:
        found = system.fstat(descriptor)
    except OSError:
        system.close(descriptor)
        raise
    if stat.S_ISREG(found.st_mode):
        return descriptor, found
    system.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


def real_path(path: str, system: System) -> str:
    """Follow every symlink in a path. What is not there, and what lies below it, stays as it is spelt.

    So does what cannot be looked at for want of permission: nobody gets through there. Any other failure is one, since
    a symlink that is overlooked would lead to where nobody may go.
    """
    rest = _names(path if path.startswith("/") else os.path.join(system.getcwd(), path))
    real, followed = "", 0
    while (name := next(rest, None)) is not None:
        if name == "..":
            real = real.rpartition("/")[0]
        elif name not in {"", "."}:
            target = _target(f"{real}/{name}", system) if followed < limits.FOLLOWED_SYMLINKS else None
            if target is None:
                real = f"{real}/{name}"
                continue
            followed += 1
            real = "" if target.startswith("/") else real
            rest = chain(_names(target), rest)
    return real or "/"


def _names(path: str) -> Iterator[str]:
    return iter(path.split("/")) if len(path) <= _ANY_PATH else _names_one_by_one(path)


def _names_one_by_one(path: str) -> Iterator[str]:
    """Return the names in a path that is too long: a list of millions would need far more memory than the path."""
    start = 0
    while start <= len(path):
        end = path.find("/", start)
        end = len(path) if end < 0 else end
        yield path[start:end]
        start = end + 1


def _target(path: str, system: System) -> str | None:
    """Return where a symlink leads; None for what is none."""
    try:
        return system.readlink(path) if stat.S_ISLNK(system.lstat(path).st_mode) else None
    except OSError as error:
        # What is longer than any path is none, and would take for ever to follow. A symlink that was just replaced by
        # something else cannot be read as one.
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EINVAL}:
            return None
        raise


def _entry_kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def status_of(found: os.stat_result) -> Status:
    stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
    return Status(_KINDS.get(stat.S_IFMT(found.st_mode), "other"), found.st_size, stamp)

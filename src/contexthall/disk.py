"""What is on the disk? The only module that opens, lists, stats, renames or syncs anything.

Every call to the operating system passes `perform`, which a test may replace to fail the n-th call or to shuffle a
listing; what takes several calls passes as a whole, too. Every OSError leaves as one of our errors, with the path in
its detail. Paths are strings; a name that is not UTF-8 keeps its bytes as Python's surrogate escapes.

Whatever is written anew is written beside its name and gets it whole, in one step. Whoever dies on the way leaves a
temporary file, which the next one to write there removes. A power cut may empty a file that was not synced, so whatever
cannot be made again is (`sync`): what people wrote, what they approved, a manifest. Tool lists, drafts and what is
remembered to save work are not: an emptied one counts as none. No directory is synced for a file's sake: until its
entry is on the disk, the old file is, whole. A cache is synced with everything in it before it gets its name.
"""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias

from contexthall.core.errors import DiskError, PathMissingError

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]
Perform: TypeAlias = Callable[..., Any]
Opening: TypeAlias = Callable[[str, int], int]
"""How a path is opened, with flags: `os.open`, or one that follows no symlink on the way."""


class Digest(Protocol):
    """What bytes are poured into, such as a SHA-256."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


# What others may have prepared is never waited for: a FIFO opens at once and is refused.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_ENTER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
_APPEND = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
_CHUNK = 1 << 20
TEMPORARY_PREFIX = ".contexthall-"
"""How the names of our own half-written files begin."""
_TEMPORARY_NAME = re.compile(rf"{re.escape(TEMPORARY_PREFIX)}\d+-[0-9a-f]{{8}}")
_SET_ASIDE_NAME = re.compile(rf"{_TEMPORARY_NAME.pattern}-[0-9a-f]{{16}}-[0-9a-f]{{16}}")
TOO_RECENT = 2_000_000_000
"""Nanoseconds: what changed so shortly before it was seen may change again without its stamp showing it."""
LARGEST_FILE = 1 << 30
_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}
_MOST_SYMLINKS = 40
_PATIENCE_SECONDS, _PATIENCE_TIMES = 0.005, 20


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
        """Say whether the stamp of what was seen at that time tells it from everything that comes after it."""
        return is_settled(self.stamp, seen_at)


class Survey(NamedTuple):
    """All that was seen in a directory, in no particular order, and the directory's own stamp."""

    stamp: tuple[int, ...]
    seen: tuple[Seen, ...]

    def is_settled(self, seen_at: int) -> bool:
        return is_settled(self.stamp, seen_at) and all(
            is_settled(each.stamp, seen_at) for each in self.seen if each.stamp
        )


class Digests(NamedTuple):
    """What files add up to, by name."""

    found: dict[str, str]
    are_as_seen: bool
    """Whether these are the very files that were seen before they were read."""
    refused: dict[str, str]
    """Why the others could not be read."""


def is_settled(stamp: tuple[int, ...], seen_at: int) -> bool:
    """Say whether a stamp is so old that another change would have got another one, however coarse the clock."""
    _, modified, changed = stamp
    return modified < seen_at - TOO_RECENT and changed < seen_at - TOO_RECENT


def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401 - as various as the calls
    """Make a call to the operating system."""
    return call(*arguments, **options)


_straight = perform


def _entries(directory: str | int) -> "list[os.DirEntry[str]]":
    with os.scandir(directory) as entries:
        return list(entries)


class _System(NamedTuple):
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

    def seen_by(self, perform: Perform) -> "_System":
        return self if perform is _straight else _System(*(partial(perform, call) for call in self))


class Disk:
    """The file system, behind one replaceable point."""

    def __init__(self, perform: Perform = perform, opening: Opening = os.open) -> None:
        self._perform = perform
        self._opening = opening
        self.system = _System(opening).seen_by(perform)
        self.tidied: set[tuple[int, int]] = set()
        """The directories that were seen to hold nothing of writers who died."""

    def opened_by(self, opening: Opening) -> "Disk":
        """Give the same disk, on which paths are opened in another way."""
        other = Disk(self._perform, opening)
        other.tidied = self.tidied
        return other

    def look(self, path: str, *, follow: bool = True) -> Status:
        """Say what stands at `path`, and behind it if it is a symlink and `follow` is set."""
        return _status(self.do(path, os.stat if follow else os.lstat, path))

    def kind(self, path: str, *, follow: bool = True) -> Kind | None:
        """Say of which kind is what stands at `path`; None for nothing."""
        try:
            return self.look(path, follow=follow).kind
        except PathMissingError:
            return None

    def is_there(self, path: str) -> bool:
        """Say whether anything stands at `path`."""
        return self.kind(path) is not None

    def list(self, path: str) -> tuple[Entry, ...]:
        """List a directory, sorted by the bytes of the names."""
        entries: list[Entry] = self.do(path, _scan, path, self.system)
        return tuple(sorted(entries, key=lambda entry: os.fsencode(entry.name)))

    def survey(self, path: str, known: Survey | None = None, *, follow: bool = False) -> Survey:
        """Look at all that is in a directory; if a settled survey, `known`, still says it, then that very one."""
        flags = _ENTER if follow else _ENTER | os.O_NOFOLLOW
        survey: Survey = self.do(path, _survey, path, flags, known, self.system)
        return survey

    def digests(self, path: str, files: Sequence[Seen], new: Callable[[bytes], Digest]) -> "Digests":
        """Digest files of a directory; what is gone is left out."""
        digests: Digests = self.do(path, _digests, path, files, new, self.system)
        return digests

    def read_small(self, path: str, most_bytes: int) -> tuple[Seen, bytes]:
        """Read a regular file and its stamp; of one that is larger than `most_bytes`, one byte more than that."""
        seen, data = self.do(path, _read_small, path, most_bytes, self.system)
        return seen, data

    def read(self, path: str, *, follow: bool = False) -> bytes:
        """Read a regular file whole; anything else, and a symlink unless `follow` is set, is a DiskError."""
        descriptor = self.do(path, self._opening, path, _READ if follow else _READ | os.O_NOFOLLOW)
        with File(self, path, descriptor) as file:
            return file.read_all()

    def enter(self, path: str, *, follow: bool = True) -> "Directory":
        """Open a directory, to look up names in that very one whatever happens to its path."""
        flags = _ENTER if follow else _ENTER | os.O_NOFOLLOW
        return Directory(self, path, self.do(path, self._opening, path, flags))

    def make_directory(self, path: str) -> None:
        self.do(path, os.mkdir, path)

    def make_directories(self, path: str) -> Sequence[str]:
        """Make a directory that only the user may enter, and those above it, as far as they are missing; name them."""
        made: list[str] = []
        self.do(path, _make_directories, path, made, self.system)
        return made

    def rename(self, path: str, target: str) -> None:
        self.do(path, os.rename, path, target)

    def remove_directory(self, path: str) -> None:
        """Remove a directory that is empty."""
        self.do(path, os.rmdir, path)

    def clear(self, path: str) -> None:
        """Remove all that is in a directory, however deep and write-protected; symlinks are never followed."""
        folders = [path]
        for folder in folders:  # which grows on the way
            folders += self._remove_files(folder)
        for folder in reversed(folders[1:]):
            self.remove_directory(folder)

    def _remove_files(self, folder: str) -> Sequence[str]:
        """Remove whatever is no directory; name the directories."""
        with suppress(DiskError):  # those of others may let us all the same
            self.do(folder, os.chmod, folder, stat.S_IRWXU)
        folders = []
        for entry in self.list(folder):
            below = os.path.join(folder, entry.name)
            if entry.kind == "directory":
                folders.append(below)
            else:
                self.do(below, os.unlink, below)
        return folders

    def may(self, path: str, mode: int) -> bool:
        """Say whether the system would let this user do something with `path`: `os.W_OK`, `os.X_OK` or both."""
        by_effect = os.access in os.supports_effective_ids
        return bool(self.do(path, os.access, path, mode, effective_ids=by_effect))

    def is_within(self, path: str, root: str) -> bool:
        """Say whether `path` lies in `root` once all symlinks are followed."""
        try:
            real_path, real_root = self.real(path), self.real(root)
        except PathMissingError:  # what cannot be a path is nowhere
            return False
        return real_path == real_root or real_path.startswith(real_root.rstrip("/") + "/")

    def real(self, path: str) -> str:
        """Follow every symlink in `path`."""
        return str(self.do(path, _real, path, self.system))

    def working_directory(self) -> str:
        """Say where relative paths start."""
        return str(self.do("the working directory", os.getcwd))

    def do(self, path: str, call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401
        """Make a call about `path`; what the system refuses becomes an error of ours."""
        try:
            return self._perform(call, *arguments, **options)
        except ValueError as error:  # a NUL or half of a surrogate pair: no file can have that name
            raise PathMissingError(f"not a file name: {path!r}") from error
        except OSError as error:
            kind = PathMissingError if error.errno in _NOTHING_THERE else DiskError
            raise kind(f"{path}: {error.strerror or error}") from error


class _Opened:
    """A descriptor that is closed when nobody needs it any more."""

    def __init__(self, disk: Disk, path: str, descriptor: int) -> None:
        self.path = path
        self._disk = disk
        self._descriptor = descriptor

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            self._do(os.close, descriptor)

    def status(self) -> Status:
        return _status(self._do(os.fstat, self._descriptor))

    def sync(self) -> None:
        """Write this file or directory itself to the disk."""
        self._do(os.fsync, self._descriptor)

    def sync_file_system(self, sync: Callable[[int], None]) -> None:
        """Write everything in this file system to the disk."""
        self._do(sync, self._descriptor)

    def lock(self, *, shared: bool = False) -> bool:
        """Take the lock of this inode until it is closed, also in children; False if somebody else has it."""
        try:
            self._do(fcntl.flock, self._descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except DiskError as error:
            if isinstance(error.__cause__, BlockingIOError):
                return False
            raise
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _do(self, call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401
        return self._disk.do(self.path, call, *arguments, **options)


class File(_Opened):
    """An open regular file."""

    def read_all(self) -> bytes:
        """Read from here to the end."""
        kind, size, _ = self.status()
        if kind != "file":
            raise DiskError(f"not a regular file: {self.path}")
        if size > LARGEST_FILE:
            raise DiskError(f"larger than {LARGEST_FILE} bytes: {self.path}")
        # Asked for one byte more than there should be, a whole file has shown its end in one call.
        data: bytes = self._do(os.read, self._descriptor, min(size + 1, _CHUNK))
        if len(data) == size:
            return data
        chunks = [data]
        while chunk := self._do(os.read, self._descriptor, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes from `offset`; fewer at the end."""
        data = b""
        while rest := length - len(data):
            chunk: bytes = self._do(os.pread, self._descriptor, rest, offset + len(data))
            if not chunk:
                break
            data += chunk
        return data

    def write_all(self, data: bytes) -> None:
        self._write(data, lambda rest, _: self._do(os.write, self._descriptor, rest))

    def write_at(self, offset: int, data: bytes) -> None:
        """Write over what stands at `offset`."""
        self._write(data, lambda rest, done: self._do(os.pwrite, self._descriptor, rest, offset + done))

    def _write(self, data: bytes, write: Callable[[memoryview, int], int]) -> None:
        """Write everything, which may take several calls: each of them takes as much as it likes."""
        whole, done = memoryview(data), 0
        while done < len(whole):
            written = write(whole[done:], done)
            if written <= 0:
                raise DiskError(f"{self.path}: nothing more can be written")
            done += written


class Directory(_Opened):
    """An open directory."""

    _is_shared = False

    def close(self) -> None:
        with suppress(DiskError):  # nothing was written through it that could be lost
            super().close()

    def look(self, name: str) -> Status:
        """Say what stands at `name`; symlinks are not followed."""
        return _status(self._do_at(name, os.stat, name, dir_fd=self._descriptor, follow_symlinks=False))

    def look_below(self, folder: str, name: str) -> Status:
        """Say what stands at `name` in a directory in this one; neither may be a symlink that leads elsewhere."""
        opened = self._do_at(folder, os.open, folder, _SEARCH, dir_fd=self._descriptor)
        with Directory(self._disk, os.path.join(self.path, folder), opened) as below:
            return below.look(name)

    def entries(self) -> list[Entry]:
        """List the names and their kinds, in no particular order."""
        return list(self._do(_scan, self._descriptor, self._disk.system))

    def names(self) -> list[str]:
        """List the names, in no particular order."""
        return list(self._do(os.listdir, self._descriptor))

    def enter(self, name: str) -> "Directory":
        """Open a directory in this one, which must not be a symlink."""
        path = os.path.join(self.path, name)
        return Directory(
            self._disk, path, self._do_at(name, os.open, name, _ENTER | os.O_NOFOLLOW, dir_fd=self._descriptor)
        )

    def open(self, name: str) -> File:
        """Open a file for reading, which must not be a symlink."""
        flags = _READ | os.O_NOFOLLOW
        descriptor = self._do_at(name, os.open, name, flags, dir_fd=self._descriptor)
        return File(self._disk, os.path.join(self.path, name), descriptor)

    def read(self, name: str) -> bytes:
        """Read a regular file whole."""
        with self.open(name) as file:
            return file.read_all()

    def create(self, name: str) -> File | None:
        """Create a file for writing; None if the name is taken."""
        try:
            descriptor = self._do_at(name, os.open, name, _CREATE, 0o644, dir_fd=self._descriptor)
        except DiskError as error:
            if isinstance(error.__cause__, FileExistsError):
                return None
            raise
        return File(self._disk, os.path.join(self.path, name), descriptor)

    def append(self, name: str) -> File:
        """Open a regular file to write at its end, whoever else does; make one for the user alone if none is there."""
        path = os.path.join(self.path, name)
        file = File(self._disk, path, self._do_at(name, os.open, name, _APPEND, 0o600, dir_fd=self._descriptor))
        if file.status().kind != "file":
            file.close()
            raise DiskError(f"not a regular file: {path}")
        return file

    def write(self, name: str, data: bytes, *, sync: bool = False) -> None:
        """Write a new file whole, to the disk itself if `sync` is set."""
        file = self.create(name)
        if file is None:
            raise DiskError(f"already there: {os.path.join(self.path, name)}")
        with file:
            file.write_all(data)
            if sync:
                file.sync()

    def replace(self, name: str, data: bytes, *, sync: bool = False) -> None:
        """Put a new file in place of whatever is at `name`, in one step; it is there whole or not at all."""
        with self._temporary(name, data, sync=sync) as temporary:
            self.rename(temporary, name)

    def write_like(self, model: str, data: bytes) -> str:
        """Write a new file, to the disk itself, with the owner and the permissions of another; give its name."""
        found = self._do_at(model, os.stat, model, dir_fd=self._descriptor, follow_symlinks=False)
        with self._temporary(model, data, sync=True) as temporary:
            ours = self._do_at(temporary, os.stat, temporary, dir_fd=self._descriptor)
            if (ours.st_uid, ours.st_gid) != (found.st_uid, found.st_gid):
                self._do_at(temporary, os.chown, temporary, found.st_uid, found.st_gid, dir_fd=self._descriptor)
            self._do_at(temporary, os.chmod, temporary, stat.S_IMODE(found.st_mode), dir_fd=self._descriptor)
        return temporary

    def put(self, name: str, data: bytes, *, sync: bool = False) -> bool:
        """Put a new file at `name`, in one step; False if something is there already, which stays."""
        with self._temporary(name, data, sync=sync) as temporary:
            is_put = self._link(temporary, name)
        with suppress(DiskError):  # what is written is written; the next to write here removes the rest
            self.remove_if_there(temporary)
        return is_put

    def _link(self, temporary: str, name: str) -> bool:
        """Give a file a second name, which nobody may have yet."""
        try:
            self._do_at(name, os.link, temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except DiskError as error:
            if isinstance(error.__cause__, FileExistsError):
                return False
            if _cannot_link(error.__cause__):
                return self._take(temporary, name)
            raise
        return True

    def _take(self, temporary: str, name: str) -> bool:
        """Give a file another name, which nobody may have yet; where no file can have two, that takes two steps."""
        reserved = self.create(name)
        if reserved is None:
            return False
        with reserved:
            self.rename(temporary, name)
        return True

    def tidy(self) -> bool:
        """Remove what writers who died have left here; False if one is at work.

        Whoever writes shares the lock of the directory, so whoever gets it alone knows that all others are gone. The
        number of a process would not tell: it comes again, and another container counts anew.
        """
        if not self.lock():
            return False
        for name in self.names():
            if _TEMPORARY_NAME.fullmatch(name):
                self.remove_if_there(name)
        return True

    def share(self) -> None:
        """Keep others from tidying up while this is open; before that, tidy up, if nobody in this process has yet."""
        if self._is_shared:
            return
        self._is_shared = True
        with suppress(DiskError):  # whoever cannot tidy up can write all the same
            identity = self.status().identity
            if identity not in self._disk.tidied and self.tidy():
                self._disk.tidied.add(identity)
            for _ in range(_PATIENCE_TIMES):
                if self.lock(shared=True):
                    return
                time.sleep(_PATIENCE_SECONDS)  # somebody is tidying up, or keeps the lock for reasons of their own

    @contextmanager
    def _temporary(self, name: str, data: bytes, *, sync: bool) -> Iterator[str]:
        """Write a file that shall be called `name`; it is removed if it is not, and what fails is told of that name."""
        self.share()
        temporary = temporary_name()
        try:
            self.write(temporary, data, sync=sync)
            yield temporary
        except BaseException as error:
            with suppress(DiskError):  # whatever went wrong first is told
                self.remove_if_there(temporary)
            if isinstance(error, DiskError) and error.cause:
                raise type(error)(f"{os.path.join(self.path, name)}: {error.cause}") from error.__cause__
            raise

    def remove_if_there(self, name: str) -> None:
        with suppress(PathMissingError):
            self._do_at(name, os.unlink, name, dir_fd=self._descriptor)

    def rename(self, name: str, new_name: str) -> None:
        """Give a file in this directory another name, in place of whatever has it."""
        self._do_at(name, os.rename, name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def exchange(self, name: str, other: str, exchange: Callable[[str, str, int], None]) -> None:
        """Let each of two names in this directory have what the other has, in the one step that `exchange` is."""
        self._do_at(other, exchange, name, other, self._descriptor)

    def _do_at(self, name: str, call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401
        return self._disk.do(os.path.join(self.path, name), call, *arguments, **options)


def temporary_name() -> str:
    """Make up the name of a file that gets its real one later, or has just lost it."""
    return f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"


def is_temporary(name: str) -> bool:
    """Say whether a file is one of our own that never got its real name, or one that had to give it away."""
    return _TEMPORARY_NAME.fullmatch(name) is not None or is_set_aside(name)


def is_set_aside(name: str) -> bool:
    """Say whether a file may hold what another wrote: nobody removes it who does not know better."""
    return _SET_ASIDE_NAME.fullmatch(name) is not None


def _cannot_link(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}


def _scan(path: str | int, system: _System) -> list[Entry]:
    return [Entry(entry.name, _entry_kind(entry)) for entry in system.entries(path)]


def _survey(path: str, flags: int, known: Survey | None, system: _System) -> Survey:
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


def _are_unchanged(descriptor: int, files: Sequence[Seen], system: _System) -> bool:
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


def _seen(entry: "os.DirEntry[str]", system: _System) -> Seen | None:
    if not entry.is_file(follow_symlinks=False):
        return Seen(entry.name, _entry_kind(entry))
    try:
        found = system.stat_entry(entry, follow_symlinks=False)
    except FileNotFoundError:  # since it was listed
        return None
    return Seen(entry.name, "file", found.st_size, (found.st_ino, found.st_mtime_ns, found.st_ctime_ns))


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _digests(path: str, files: Sequence[Seen], new: Callable[[bytes], Digest], system: _System) -> Digests:
    directory = system.opening(path, _ENTER)
    found: dict[str, str] = {}
    refused: dict[str, str] = {}
    are_the_same = True
    try:
        for file in files:
            try:
                found[file.name], is_the_same = _digest(file, directory, new, system)
            except FileNotFoundError:
                is_the_same = False
            except OSError as error:
                refused[file.name], is_the_same = error.strerror or str(error), False
            are_the_same = are_the_same and is_the_same
    finally:
        system.close(directory)
    return Digests(found, are_the_same, refused)


def _digest(file: Seen, directory: int, new: Callable[[bytes], Digest], system: _System) -> tuple[str, bool]:
    descriptor, found = _regular(system.open(file.name, _READ | os.O_NOFOLLOW, dir_fd=directory), system)
    try:
        # What is appended meanwhile is not read: a file that never stops growing would never end.
        rest = found.st_size
        if rest > LARGEST_FILE:
            raise OSError(errno.EFBIG, "too large")
        chunk = system.read(descriptor, min(rest, _CHUNK))
        digest = new(chunk)
        while chunk and (rest := rest - len(chunk)) > 0:
            chunk = system.read(descriptor, min(rest, _CHUNK))
            digest.update(chunk)
    finally:
        system.close(descriptor)
    # Whoever renames the directory meanwhile leaves the times of its files alone, but not what stands at its path.
    return digest.hexdigest(), _stamp(found) == file.stamp and found.st_size == file.size


def _read_small(path: str, most_bytes: int, system: _System) -> tuple[Seen, bytes]:
    descriptor, found = _regular(system.opening(path, _READ | os.O_NOFOLLOW), system)
    try:
        stamp = _stamp(found)
        # Asked for one byte more than there should be, a file whole shows its end in the second call at the latest.
        chunks, rest, wanted = [], most_bytes + 1, found.st_size + 1
        while rest > 0 and (chunk := system.read(descriptor, min(rest, wanted))):
            chunks.append(chunk)
            rest -= len(chunk)
            wanted = _CHUNK
        return Seen(os.path.basename(path), "file", found.st_size, stamp), b"".join(chunks)
    finally:
        system.close(descriptor)


def _regular(descriptor: int, system: _System) -> tuple[int, os.stat_result]:
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


def _make_directories(path: str, made: list[str], system: _System) -> None:
    """Make a directory that only the user may enter, and those above it as everybody makes them; collect those made."""
    missing, tried = [path], {path}
    while missing:
        try:
            system.mkdir(missing[-1], 0o700 if len(missing) == 1 else 0o777)
            made.append(missing.pop())
        except FileNotFoundError:
            parent = os.path.dirname(missing[-1])
            if not parent or parent in tried:  # it is there, and takes nothing all the same
                raise
            tried.add(parent)
            missing.append(parent)
        except FileExistsError:
            if not stat.S_ISDIR(system.stat(missing.pop()).st_mode):
                raise


def _real(path: str, system: _System) -> str:
    """Follow every symlink in a path. What is not there, and what lies below it, stays as it is spelt.

    So does what cannot be looked at for want of permission: nobody gets through there. Any other failure is one, since
    a symlink that is overlooked would lead to where nobody may go.
    """
    rest = [*reversed((path if path.startswith("/") else os.path.join(system.getcwd(), path)).split("/"))]
    real, followed = "", 0
    while rest:
        name = rest.pop()
        if name == "..":
            real = real.rpartition("/")[0]
        elif name not in {"", "."}:
            target = _target(f"{real}/{name}", system) if followed < _MOST_SYMLINKS else None
            if target is None:
                real = f"{real}/{name}"
                continue
            followed += 1
            real = "" if target.startswith("/") else real
            rest += reversed(target.split("/"))
    return real or "/"


def _target(path: str, system: _System) -> str | None:
    """Say where a symlink leads; None for what is none."""
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


def _status(found: os.stat_result) -> Status:
    stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
    return Status(_kind(found.st_mode), found.st_size, stamp)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"

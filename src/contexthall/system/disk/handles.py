"""Open files and directories: a file is read and written, names in a directory are looked up and changed.

A new file is written beside its name and renamed to it atomically. A writer that dies leaves a temporary file, which
the next one to write there removes. A power cut may empty a file that was not synced, so what cannot be made again is
(`sync`): what people wrote or approved, a manifest. An emptied tool list, draft or ledger counts as none. No directory
is synced for a file's sake: until its entry is on the disk, the old file is. A cache is synced whole, then renamed.
"""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.system import kernel
from contexthall.system.disk.calls import CHUNK, ENTER, READ, Calls, Result
from contexthall.system.disk.queries import Entry, Status, scan, status_of

TEMPORARY_PREFIX = ".contexthall-"
"""How the names of our own half-written files begin."""
_TEMPORARY_NAME = re.compile(rf"{re.escape(TEMPORARY_PREFIX)}\d+-[0-9a-f]{{8}}")
_SET_ASIDE_NAME = re.compile(rf"{_TEMPORARY_NAME.pattern}-[0-9a-f]{{16}}-[0-9a-f]{{16}}")
_READABLE, _PRIVATE = 0o644, 0o600
_CREATE = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
_APPEND = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
_CANNOT_LINK = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV, errno.EMLINK}


class _Opened:
    """A descriptor that is closed when nobody needs it any more."""

    def __init__(self, calls: Calls, path: str, descriptor: int) -> None:
        self.path = path
        self._calls = calls
        self._descriptor = descriptor

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            self._do(os.close, descriptor)

    def status(self) -> Status:
        return status_of(self._do(os.fstat, self._descriptor))

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

    def _do(self, call: Callable[..., Result], *arguments: object, **options: object) -> Result:
        return self._calls.do(self.path, call, *arguments, **options)


class File(_Opened):
    """An open regular file."""

    def read_all(self) -> bytes:
        """Read from here to the end."""
        kind, size, _ = self.status()
        if kind != "file":
            raise DiskError(f"not a regular file: {self.path}")
        if size > limits.FILE_BYTES:
            raise DiskError(f"larger than {limits.FILE_BYTES} bytes: {self.path}")
        # Asked for one byte more than there should be, a whole file has shown its end in one call.
        data = self._do(os.read, self._descriptor, min(size + 1, CHUNK))
        if len(data) == size:
            return data
        chunks = [data]
        while chunk := self._do(os.read, self._descriptor, CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes from `offset`; fewer at the end."""
        data = b""
        while rest := length - len(data):
            chunk = self._do(os.pread, self._descriptor, rest, offset + len(data))
            if not chunk:
                break
            data += chunk
        return data

    def write_all(self, data: bytes) -> None:
        written = self._do(os.write, self._descriptor, data) if data else 0
        if written < len(data):
            self._write(data[written:], lambda rest, _: self._do(os.write, self._descriptor, rest))

    def write_at(self, offset: int, data: bytes) -> None:
        """Write over what stands at `offset`."""
        self._write(data, lambda rest, done: self._do(os.pwrite, self._descriptor, rest, offset + done))

    def _write(self, data: bytes, write: Callable[[bytes | memoryview, int], int]) -> None:
        """Write everything, which may take several calls: each of them takes as much as it likes."""
        done = 0
        while done < len(data):
            written = write(memoryview(data)[done:] if done else data, done)
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
        """Return what stands at `name`; symlinks are not followed."""
        return status_of(self._do_at(name, os.stat, name, dir_fd=self._descriptor, follow_symlinks=False))

    def look_below(self, folder: str, name: str) -> Status:
        """Return what stands at `name` in a directory in this one; neither may be a symlink that leads elsewhere."""
        with Directory(self._calls, *self._open(folder, kernel.SEARCH)) as below:
            return below.look(name)

    def entries(self) -> list[Entry]:
        """List the names and their kinds, in no particular order."""
        return self._do(scan, self._descriptor, self._calls.system)

    def names(self) -> list[str]:
        """List the names, in no particular order."""
        return self._do(os.listdir, self._descriptor)

    def enter(self, name: str) -> "Directory":
        """Open a directory in this one, which must not be a symlink."""
        return Directory(self._calls, *self._open(name, ENTER | os.O_NOFOLLOW))

    def open(self, name: str) -> File:
        """Open a file for reading, which must not be a symlink."""
        return File(self._calls, *self._open(name, READ | os.O_NOFOLLOW))

    def read(self, name: str) -> bytes:
        """Read a regular file whole."""
        with self.open(name) as file:
            return file.read_all()

    def create(self, name: str, mode: int = _READABLE) -> File | None:
        """Create a file for writing; None if the name is taken."""
        try:
            return File(self._calls, *self._open(name, _CREATE, mode))
        except DiskError as error:
            if isinstance(error.__cause__, FileExistsError):
                return None
            raise

    def append(self, name: str) -> File:
        """Open a regular file to write at its end, whoever else does; make one for the user alone if none is there."""
        file = File(self._calls, *self._open(name, _APPEND, _PRIVATE))
        if file.status().kind != "file":
            file.close()
            raise DiskError(f"not a regular file: {file.path}")
        return file

    def write(self, name: str, data: bytes, *, sync: bool = False, mode: int = _READABLE) -> None:
        """Write a new file whole, to the disk itself if `sync` is set."""
        file = self.create(name, mode)
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

    def replace_like(self, model: str, name: str, data: bytes) -> None:
        """Do the same, to the disk itself, with the owner and the permissions of another file."""
        found = self._do_at(model, os.stat, model, dir_fd=self._descriptor, follow_symlinks=False)
        with self._temporary(model, data, sync=True, mode=_PRIVATE) as temporary:
            ours = self._do_at(temporary, os.stat, temporary, dir_fd=self._descriptor)
            if (ours.st_uid, ours.st_gid) != (found.st_uid, found.st_gid):
                self._do_at(temporary, os.chown, temporary, found.st_uid, found.st_gid, dir_fd=self._descriptor)
            self._do_at(temporary, os.chmod, temporary, stat.S_IMODE(found.st_mode), dir_fd=self._descriptor)
            self.rename(temporary, name)

    def put(self, name: str, data: bytes, *, sync: bool = False) -> bool:
        """Put a new file at `name`, in one step; False if something is there already, which stays."""
        with self._temporary(name, data, sync=sync) as temporary:
            is_put = self._link(temporary, name)
        with suppress(DiskError):  # what is written is written; the next to write here removes the rest
            self.remove_if_there(temporary)
        return is_put

    def link_from(self, other: "Directory", name: str, new_name: str) -> None:
        """Give a file of another directory a second name in this one; where no file can have two, copy it."""
        ends = {"src_dir_fd": other._descriptor, "dst_dir_fd": self._descriptor}  # noqa: SLF001 - of its own class
        try:
            self._do_at(new_name, os.link, name, new_name, **ends, follow_symlinks=False)
        except DiskError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in _CANNOT_LINK:
                raise
            self.write(new_name, other.read(name))

    def _link(self, temporary: str, name: str) -> bool:
        """Give a file a second name, which nobody may have yet."""
        try:
            self._do_at(name, os.link, temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except DiskError as error:
            if isinstance(error.__cause__, FileExistsError):
                return False
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _CANNOT_LINK:
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
            if identity not in self._calls.tidied and self.tidy():
                self._calls.tidied.add(identity)
            for _ in range(limits.LOCK_TRIES):
                if self.lock(shared=True):
                    return
                time.sleep(limits.LOCK_PAUSE_SECONDS)

    @contextmanager
    def _temporary(self, name: str, data: bytes, *, sync: bool, mode: int = _READABLE) -> Iterator[str]:
        """Write a file that shall be called `name`; it is removed if it is not, and what fails is told of that name."""
        self.share()
        temporary = temporary_name()
        try:
            self.write(temporary, data, sync=sync, mode=mode)
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

    def exchange(self, name: str, other: str) -> bool:
        """Exchange two names in this directory atomically; False where the system cannot."""
        try:
            self._do_at(other, kernel.exchange, name, other, self._descriptor)
        except DiskError as error:
            if kernel.cannot_exchange(error.__cause__):
                return False
            raise
        return True

    def _open(self, name: str, flags: int, mode: int = 0) -> tuple[str, int]:
        """Open a name in this directory; return its path and the descriptor."""
        descriptor = self._do_at(name, os.open, name, flags, mode, dir_fd=self._descriptor)
        return os.path.join(self.path, name), descriptor

    def _do_at(self, name: str, call: Callable[..., Result], *arguments: object, **options: object) -> Result:
        return self._calls.do(os.path.join(self.path, name), call, *arguments, **options)


def temporary_name() -> str:
    """Make up the name of a file that gets its real one later, or has just lost it."""
    return f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"


def is_temporary(name: str) -> bool:
    """Return whether a file is one of our own that never got its real name, or one that had to give it away."""
    return _TEMPORARY_NAME.fullmatch(name) is not None or is_set_aside(name)


def is_set_aside(name: str) -> bool:
    """Return whether a file may hold what another wrote: nobody removes it who does not know better."""
    return _SET_ASIDE_NAME.fullmatch(name) is not None

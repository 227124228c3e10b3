"""Which calls does Python not offer? Swapping two names, syncing one file system, opening without symlinks.

Those that touch files are made by `Disk.do` only. Not every system, nor every file system, can swap names;
`cannot_exchange` tells. `ctypes`, which is dear, is loaded by the first call that needs it.
"""

import errno
import os
import struct
import sys
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

_AT_FDCWD = -2 if sys.platform == "darwin" else -100

_OPENAT2 = 437
_LINUX_NO_SYMLINKS, _MACOS_NO_SYMLINKS = 4, 0x20000000
_CANNOT_OPEN_STRAIGHT = {errno.ENOSYS, errno.EPERM}
"""What an old kernel answers to `openat2`, and what some containers do."""
SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a directory is opened in which names are only looked up."""
_FEW_OPENINGS = 64
_openings = count()

_LINUX_EXCHANGE, _MACOS_SWAP = 2, 2
_CANNOT_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}

_MMAP_THRESHOLD, _LARGE_BYTES = -3, 1 << 20


def open_straight(path: str, flags: int) -> int:
    """Open what stands at an absolute path no part of which is a symlink, whoever puts one there meanwhile."""
    if sys.platform == "darwin":
        return os.open(path, flags | _MACOS_NO_SYMLINKS)
    # What it takes to ask the kernel costs as much to load as a hundred openings in steps.
    if sys.platform == "linux" and ("ctypes" in sys.modules or next(_openings) >= _FEW_OPENINGS):
        return _open_at_once(path, flags)
    return open_in_steps(path, flags)


def open_in_steps(path: str, flags: int) -> int:
    """Do the same, one name after another."""
    *folders, last = [name for name in path.split("/") if name] or ["."]
    opened = os.open("/", SEARCH)
    try:
        for folder in folders:
            below = os.open(folder, SEARCH, dir_fd=opened)
            os.close(opened)
            opened = below
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=opened)
    finally:
        os.close(opened)


def _open_at_once(path: str, flags: int) -> int:
    if "\0" in path:
        raise ValueError("embedded null byte")
    sys.audit("open", path, None, flags)  # as os.open does
    how = struct.pack("QQQ", flags, 0, _LINUX_NO_SYMLINKS)
    size = _ctypes().c_size_t(len(how))
    descriptor = int(_library().syscall(_OPENAT2, _AT_FDCWD, os.fsencode(path), how, size))
    if descriptor >= 0:
        return descriptor
    error = _last_error(path)
    if error.errno in _CANNOT_OPEN_STRAIGHT:
        return open_in_steps(path, flags)
    raise error


def exchange(path: str, other: str, folder: int = _AT_FDCWD) -> None:
    """Give each of two names what the other has, in one step; relative ones start at the open directory `folder`."""
    first, second = os.fsencode(path), os.fsencode(other)
    if sys.platform == "linux" and hasattr(_library(), "renameat2"):
        _check(_library().renameat2(folder, first, folder, second, _LINUX_EXCHANGE), path)
    elif sys.platform == "darwin":
        _check(_library().renameatx_np(folder, first, folder, second, _MACOS_SWAP), path)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)


def cannot_exchange(error: BaseException | None) -> bool:
    """Return whether `exchange` failed because it cannot be had here."""
    return isinstance(error, OSError) and error.errno in _CANNOT_EXCHANGE


def sync_file_system(descriptor: int) -> None:
    """Write everything in the file system of `descriptor` to the disk, with one call instead of one per file."""
    if hasattr(_library(), "syncfs"):
        _check(_library().syncfs(descriptor), "")
    else:
        os.sync()


def give_back_large_memory() -> None:
    """Let what was large in memory go back to the system as soon as it is free, where the C library can be told."""
    if hasattr(_library(), "mallopt"):
        _library().mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)


@cache
def _ctypes() -> Any:  # noqa: ANN401 - a module, loaded where it is needed
    return import_module("ctypes")


@cache
def _library() -> Any:  # noqa: ANN401 - C knows no types
    return _ctypes().CDLL(None, use_errno=True)


def _check(result: int, path: str) -> None:
    if result != 0:
        raise _last_error(path)


def _last_error(path: str) -> OSError:
    number = _ctypes().get_errno()
    return OSError(number, os.strerror(number), path)

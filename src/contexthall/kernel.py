"""Which system calls does Python not offer? Swapping two names in one step, and syncing one file system.

Only `Disk.do` makes these calls. Not every system, nor every file system, can swap names; `cannot_exchange` tells.
"""

import ctypes
import errno
import os
import sys

_library = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_LINUX_EXCHANGE = 2
_MACOS_SWAP = 2
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(path: str, other: str) -> None:
    """Give each of two names what the other has, in one step."""
    first, second = os.fsencode(path), os.fsencode(other)
    if sys.platform == "linux" and hasattr(_library, "renameat2"):
        _check(_library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _LINUX_EXCHANGE), path)
    elif sys.platform == "darwin":
        _check(_library.renamex_np(first, second, _MACOS_SWAP), path)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)


def cannot_exchange(error: BaseException | None) -> bool:
    """Say whether `exchange` failed because it cannot be had here."""
    return isinstance(error, OSError) and error.errno in _CANNOT


def sync_file_system(descriptor: int) -> None:
    """Write everything in the file system of `descriptor` to the disk, with one call instead of one per file."""
    if hasattr(_library, "syncfs"):
        _check(_library.syncfs(descriptor), "")
    else:
        os.sync()


def _check(result: int, path: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)

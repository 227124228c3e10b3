"""What came from stores, on this machine: small files in the user's cache directory, so many bytes in all.

What is kept never changes, because a pack is named by its digest. A file that is not what was written counts as none.
"""

import hashlib
import os.path
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.system.disk import Directory, Disk, is_temporary, temporary_name
from contexthall.system.objects import ObjectRange

_DIGEST_BYTES = 16


class LocalStore:
    """Ranges of packs, by the digest of the pack; nothing is kept if there is no place for it."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._writes = 0
        self._lock = Lock()

    def get(self, wanted: ObjectRange) -> bytes | None:
        """Return what is kept of a pack; None if it is not, or not any more what was written."""
        if not self._path:
            return None
        try:
            data = self._disk.read(os.path.join(self._path, _name(wanted)))
        except DiskError:
            return None
        content = data[_DIGEST_BYTES:]
        return content if len(content) == wanted.length and data[:_DIGEST_BYTES] == _digest(content) else None

    def keep(self, wanted: ObjectRange, data: bytes) -> None:
        """Keep a range; a full disk costs the next answer time, and this one nothing."""
        if not self._path:
            return
        with self._lock, suppress(DiskError):
            if self._writes % limits.LOCAL_STORE_WRITES == 0:
                self._disk.make_directories(self._path)
                self._make_room()
            self._writes += 1
            with self._disk.enter(self._path) as folder:
                folder.replace(_name(wanted), _digest(data) + data)

    def forget(self, name: str) -> None:
        """Let go of everything that is kept of an object."""
        if not self._path:
            return
        with suppress(DiskError), self._disk.enter(self._path) as folder:
            for each in folder.names():
                if each.startswith(_prefix(name)):
                    folder.remove_if_there(each)

    def _make_room(self) -> None:
        """Remove the oldest files until three quarters of the room are filled, if all of it is."""
        files = [each for each in self._disk.survey(self._path).seen if each.kind == "file" and each.stamp]
        size = sum(each.size for each in files)
        if size <= limits.LOCAL_STORE_BYTES:
            return
        with self._disk.enter(self._path) as folder:
            for each in sorted(files, key=lambda file: file.stamp[1]):
                if size <= limits.LOCAL_STORE_BYTES * 3 // 4:
                    return
                size -= self._remove(folder, each.name, each.size)

    @staticmethod
    def _remove(folder: Directory, name: str, size: int) -> int:
        if is_temporary(name):  # somebody writes it
            return 0
        folder.remove_if_there(name)
        return size


@contextmanager
def working_directory(disk: Disk, work: str) -> Iterator[Directory]:
    """Make a folder for as long as it is needed."""
    if not work:
        raise DiskError("there is no place for temporary files", hint="set HOME or XDG_CACHE_HOME")
    disk.make_directories(work)
    path = os.path.join(work, temporary_name())
    disk.make_directory(path)
    try:
        with disk.enter(path) as folder:
            yield folder
    finally:
        disk.clear(path)
        disk.remove_directory(path)


def _prefix(name: str) -> str:
    return f"{os.path.basename(name)}-"


def _name(wanted: ObjectRange) -> str:
    return f"{_prefix(wanted.name)}{wanted.at}-{wanted.length}"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_DIGEST_BYTES]

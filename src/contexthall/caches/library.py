"""Which caches are there, and what is known of one? The room's public module."""

import os.path
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from contexthall.caches.format import MANIFEST, TEMPORARY_PREFIX, read_head
from contexthall.core.errors import CacheMissingError, DiskError, PathMissingError
from contexthall.core.paths import absolute, shown
from contexthall.disk import Disk, Entry

MayRead: TypeAlias = Callable[[str, str], bool]

_HINT = "list what is there with `context caches`"


class CacheEntry(NamedTuple):
    """A directory that may be a cache."""

    path: str
    has_manifest: bool


class Inspection(NamedTuple):
    """What a cache says of itself, and whether that can be believed."""

    cache_version: str
    document_count: int
    total_bytes: int
    valid: bool


def anyone(_path: str, _home: str) -> bool:
    """Let the caller name every path: the operating system decides."""
    return True


class Library:
    """The caches below one root, and those that a caller names by their path."""

    def __init__(self, disk: Disk, *, root: str, root_is_named: bool, working_directory: str) -> None:
        self.root = root
        self._disk = disk
        self._root_is_named = root_is_named
        self._working_directory = working_directory

    def list_caches(self, root: str | None = None, *, may_read: MayRead = anyone) -> tuple[CacheEntry, ...]:
        """List the directories in `root` by absolute path, or those in the library's own root by name."""
        if root is None:
            directory, prefix, entries = self.root, "", self._own_entries()
        else:
            directory = self._foreign_root(root, may_read)
            prefix, entries = os.path.join(directory, ""), self._entries(directory)
        return tuple(
            sorted(
                CacheEntry(shown(prefix + entry.name), self._has_manifest(os.path.join(directory, entry.name)))
                for entry in entries
                if entry.kind == "directory" and not entry.name.startswith(TEMPORARY_PREFIX)
            )
        )

    def locate(self, cache: str, *, may_read: MayRead = anyone) -> str:
        """Find the directory that a caller means by `cache`: a name below the root, or an absolute path."""
        if cache.startswith("/"):
            path, is_permitted = cache, may_read
        else:
            names = [name for name in cache.split("/") if name not in {"", "."}]
            if not names or ".." in names:
                raise CacheMissingError(cache, hint=_HINT)
            path, is_permitted = os.path.join(self.root, *names), self._disk.is_within
        try:
            if is_permitted(path, self.root):
                return path
        except PathMissingError:
            pass
        raise CacheMissingError(cache, hint=_HINT)

    def find(self, path: str) -> str:
        """Find the directory that a person means by `path`: from the working directory, else below the root."""
        here = os.path.join(self._working_directory, path)
        if self._is_there(here):
            return here
        below = self.locate(path)
        if self._is_there(below):
            return below
        raise CacheMissingError(path, hint=_HINT)

    def inspect(self, directory: str) -> Inspection:
        """Say what the cache in `directory` holds, as far as its manifest and its file sizes tell."""
        entries = self._entries(directory)
        total_bytes = self._total_bytes(directory, entries)
        if Entry(MANIFEST, "file") not in entries:
            return Inspection("", 0, total_bytes or 0, valid=False)
        try:
            head = read_head(self._disk.read(os.path.join(directory, MANIFEST)))
        except DiskError:
            return Inspection("", 0, 0, valid=False)
        valid = head.complete and total_bytes is not None
        return Inspection(head.cache_version, head.document_count, total_bytes or 0, valid)

    def _own_entries(self) -> tuple[Entry, ...]:
        try:
            return self._disk.list(self.root)
        except PathMissingError:
            if self._root_is_named or self._is_there(self.root):
                raise
            return ()

    def _foreign_root(self, root: str, may_read: MayRead) -> str:
        directory = absolute(root, self._working_directory)
        if not root or not self._is_there(directory) or not may_read(directory, self.root):
            raise CacheMissingError(root, hint=_HINT)
        return directory

    def _entries(self, directory: str) -> tuple[Entry, ...]:
        try:
            return self._disk.list(directory)
        except PathMissingError:
            raise CacheMissingError(directory, hint=_HINT) from None

    def _is_there(self, path: str) -> bool:
        try:
            self._disk.look(path)
        except PathMissingError:
            return False
        return True

    def _has_manifest(self, directory: str) -> bool:
        try:
            return self._disk.look(os.path.join(directory, MANIFEST), follow=False).kind == "file"
        except DiskError:
            return False

    def _total_bytes(self, directory: str, entries: Iterable[Entry]) -> int | None:
        """Add up the sizes of the files; None if one of them cannot be told."""
        files = (os.path.join(directory, entry.name) for entry in entries if entry.kind == "file")
        try:
            return sum(self._disk.look(file, follow=False).size for file in files)
        except DiskError:
            return None

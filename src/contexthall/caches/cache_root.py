"""Where caches are: those below one root, by name, and those that a caller names by their path.

Whose authority opens a cache goes with its path, and is asked whenever it is opened.
"""

import os.path
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from contexthall.caches.model.format import MANIFEST, SOURCES
from contexthall.core.errors import CacheMissingError, DiskError, HallError, PathMissingError, UsageError
from contexthall.core.paths import MayRead, absolute, shown
from contexthall.core.store_url import is_url, parse_url
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.kernel import open_straight


class CacheEntry(NamedTuple):
    """A directory that may be a cache."""

    path: str
    has_manifest: bool


class CacheRef(NamedTuple):
    """Where a cache is, a path or the URL of one in a store, and by whose authority it is opened."""

    path: str
    admits: Callable[[str], bool] | None = None
    """Judges the real path whenever the cache is opened, which then follows no symlink; None: the system decides."""
    reached: tuple[Disk, str] | None = None
    """The disk and the real path that were judged already, for the call that is under way."""


def anyone(_path: str, _home: str) -> bool:
    """Return True: the caller may name every path, and the operating system decides."""
    return True


class CacheRoot:
    """The directories below one root, and others on the same disk, that may be caches."""

    def __init__(
        self,
        disk: Disk,
        *,
        root: str,
        root_is_named: bool,
        working_directory: str,
        is_home: Callable[[str], bool] = lambda _real: True,
    ) -> None:
        self.root = root
        self._disk = disk
        self._straight = disk.opened_by(open_straight)
        self._is_home = is_home
        self._root_is_named = root_is_named
        self._working_directory = working_directory

    def list_caches(self, root: str | None = None, *, may_read: MayRead = anyone) -> tuple[CacheEntry, ...]:
        """Return the directories in `root` by absolute path, or those in the library's own root by name."""
        if root is None:
            return self._own_entries()
        directory = self._foreign_root(root, may_read)
        with self._enter(directory) as opened:
            return _entries(opened, os.path.join(directory.path, ""))

    def locate(self, cache: str, *, may_read: MayRead = anyone) -> CacheRef:
        """Return the cache that a caller means by `cache`: a name below the root, an absolute path, or a URL."""
        if is_url(cache):
            return self._locate_url(cache, may_read)
        if cache.startswith("/"):
            return CacheRef(cache, lambda real: may_read(real, self.root))
        names = [name for name in cache.split("/") if name not in {"", "."}]
        if not names or ".." in names:
            raise CacheMissingError(cache)
        return CacheRef(os.path.join(self.root, *names), self._is_own)

    def find(self, path: str) -> CacheRef:
        """Return the cache that a person means by `path`: a URL, or one in the working directory, or below the root."""
        if is_url(path):
            return CacheRef(parse_url(path))
        here = os.path.join(self._working_directory, path)
        if path and self._disk.is_there(os.path.join(here, MANIFEST)):
            return CacheRef(here)
        # A directory of that name need not be the cache that is meant.
        with suppress(CacheMissingError):
            below = self.locate(path)
            if self._disk.is_there(below.path):
                return below
        if path and self._disk.is_there(here):
            return CacheRef(here)
        raise CacheMissingError(path).about(path, self._own_names())

    def _locate_url(self, url: str, may_read: MayRead) -> CacheRef:
        try:
            parsed = parse_url(url)
        except UsageError as error:
            raise CacheMissingError(error.detail) from None
        if not may_read(parsed, self.root):
            raise CacheMissingError(parsed, hint="an agent may name what is below --allow-root URL")
        return CacheRef(parsed)

    def identity(self, cache: CacheRef) -> object:
        """Return what changes when a cache is replaced; None if nothing can be seen of it."""
        if is_url(cache.path):
            return None  # what was opened in a store stays as it is
        try:
            disk, path = self._reach(cache)
            # With its times: a file system may give the next directory the number of one that was removed.
            return disk.look(path).stamp
        except (CacheMissingError, DiskError):
            return None

    def has_sources(self) -> bool:
        """Return whether a cache below the root records where it came from."""
        try:
            return any(
                self._disk.is_there(os.path.join(self.root, entry.path, SOURCES)) for entry in self._own_entries()
            )
        except HallError:
            return False

    def make_root(self) -> None:
        """Make the default root, so that whoever names it finds it there, empty."""
        if not self._root_is_named and not self._disk.is_there(self.root):
            self._disk.make_directories(self.root)

    def leftovers(self) -> tuple[str, ...]:
        """Return the names of caches below the root that are being built, or whose build was killed."""
        try:
            names = [entry.name for entry in self._disk.list(self.root) if entry.kind == "directory"]
        except PathMissingError:
            return ()
        return tuple(name.removeprefix(TEMPORARY_PREFIX) for name in names if name.startswith(TEMPORARY_PREFIX))

    def _own_names(self) -> list[str]:
        """Return the names of the caches that are there; none if nobody can tell."""
        with suppress(DiskError):
            return [each.path for each in self._own_entries()]
        return []

    def _own_entries(self) -> tuple[CacheEntry, ...]:
        if not self._root_is_named and not self._disk.is_there(self.root):
            return ()
        try:
            with self._enter_own_root() as opened:
                return _entries(opened)
        except CacheMissingError:
            raise DiskError(f"{self.root} leads out of the project", hint="name it with --cache-root") from None

    def _enter_own_root(self) -> Directory:
        """Open the root; one that can be opened without following a symlink is its own real path."""
        if self._is_home(self.root):
            with suppress(PathMissingError):
                return self._straight.enter(self.root)
        disk, path = self._reach(CacheRef(self.root, self._is_home))
        return disk.enter(path)

    def _foreign_root(self, root: str, may_read: MayRead) -> CacheRef:
        directory = absolute(root, self._working_directory)
        try:
            if root and may_read(directory, self.root) and self._disk.is_there(directory):
                return CacheRef(directory, lambda real: may_read(real, self.root))
        except PathMissingError:
            pass
        raise CacheMissingError(root)

    def _is_own(self, real: str) -> bool:
        """Return whether a real path lies below the library's own root."""
        home = self._disk.real(self.root)
        return self._is_home(home) and f"{real}/".startswith(home.rstrip("/") + "/")

    def _reach(self, cache: CacheRef) -> tuple[Disk, str]:
        """Return the disk and the path by which to open a cache: no symlink that was not judged is followed."""
        if cache.reached is not None:
            return cache.reached
        if cache.admits is None:
            return self._disk, cache.path
        with suppress(PathMissingError):  # what cannot be a path at all is nowhere
            real = self._disk.real(cache.path)
            if cache.admits(real):
                return self._straight, real
        raise CacheMissingError(cache.path)

    def _judged(self, cache: CacheRef) -> CacheRef:
        """Return a cache with its real path, if it may be opened now."""
        with suppress(CacheMissingError, DiskError):
            return cache._replace(reached=self._reach(cache))
        return cache

    def _enter(self, cache: CacheRef) -> Directory:
        if is_url(cache.path):
            raise UsageError(f"not on this machine: {cache.path}", hint="`context pull` gets a cache from a store")
        try:
            disk, path = self._reach(cache)
            return disk.enter(path)
        except PathMissingError:
            raise CacheMissingError(cache.path) from None


def _entries(opened: Directory, prefix: str = "") -> tuple[CacheEntry, ...]:
    """Return the directories in an open one."""
    return tuple(
        sorted(
            CacheEntry(shown(prefix + entry.name), _has_manifest(opened, entry.name))
            for entry in opened.entries()
            if entry.kind == "directory" and not entry.name.startswith(TEMPORARY_PREFIX)
        )
    )


def _has_manifest(opened: Directory, name: str) -> bool:
    """Return whether a cache has a manifest; if it was replaced after it was opened, the second query finds it."""
    for _ in range(2):
        with suppress(DiskError):
            if opened.look_below(name, MANIFEST).kind == "file":
                return True
    return False

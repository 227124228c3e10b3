"""The staging directory of a build: a locked directory beside the target, which its content replaces atomically.

Nothing is removed that a build did not make, and nothing is replaced but the cache that was there when the build began.
"""

import hashlib
import os
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeAlias

from contexthall.caches.model.format import MANIFEST, is_cache_name, read_head
from contexthall.core import limits
from contexthall.core.errors import BuildUnderWayError, DiskError, PathMissingError, UsageError
from contexthall.system import kernel
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk, Entry

Identity: TypeAlias = tuple[int, int]

NEW = "new"
RUN_PREFIX = "run-"
_OLD = "old"


def staging_path(target: str) -> str:
    """Return the path of the staging directory of a target."""
    parent, name = os.path.split(target)
    if len(os.fsencode(name)) > limits.STAGING_NAME_BYTES:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return os.path.join(parent, TEMPORARY_PREFIX + name)


def replaceable(disk: Disk, target: str, *, force: bool) -> Identity | None:
    """Return the directory that a build into `target` replaces, None for none; raise UsageError if it must stay."""
    try:
        found = disk.look(target, follow=False)
    except PathMissingError:
        return None
    if found.kind != "directory":
        raise UsageError(f"the cache cannot be built over a file: {target}", hint="choose another --cache")
    if not force:
        raise UsageError(f"something is there already: {target}", hint="replace a cache with --force")
    if not _is_cache_or_empty(disk, target):
        raise UsageError(
            f"not a cache, so it is not replaced: {target}", hint="choose another --cache, or move it away"
        )
    return found.identity


def _is_cache_or_empty(disk: Disk, target: str) -> bool:
    """Return whether nothing would be lost that a build cannot make; any directory may hold a manifest.json."""
    entries = disk.list(target)
    if Entry(MANIFEST, "file") not in entries or not all(is_cache_name(entry.name) for entry in entries):
        return not entries
    return read_head(disk.read(os.path.join(target, MANIFEST))).complete


class StagingDirectory:
    """The staging directory of one target: locked when entered, removed when left."""

    def __init__(self, disk: Disk, target: str) -> None:
        self.path = staging_path(target)
        self.new = os.path.join(self.path, NEW)
        self.left_behind = ""
        """Why it could not be removed, if so."""
        self._old = os.path.join(self.path, _OLD)
        self._target = target
        self._disk = disk
        self._undoing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undoing:
            self.directory = undoing.enter_context(self._claim(undoing))
            self._clear_leftovers()
            self._undoing = undoing.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._restore()
            self._disk.clear(self.path)
            self._disk.remove_directory(self.path)
        except DiskError as failure:  # what was built stands; what was not has an error of its own
            self.left_behind = failure.detail
        finally:
            self._undoing.__exit__(kind, error, trace)

    def put_in_place(self, replaced: Identity | None) -> None:
        """Write the new cache to the disk, and exchange it with the target, which must be `replaced`."""
        self.directory.sync_file_system(kernel.sync_file_system)
        found = replaceable(self._disk, self._target, force=True)
        if found is None:
            self._disk.rename(self.new, self._target)  # which fails if the name is taken by now
        elif found == replaced:
            self._exchange()
        else:
            raise UsageError(f"something came to be at {self._target} during the build", hint="see what it is")
        with self._disk.enter(os.path.dirname(self._target)) as parent:
            parent.sync()

    def _exchange(self) -> None:
        try:
            self._disk.do(self._target, kernel.exchange, self.new, self._target)
        except DiskError as error:
            if not kernel.cannot_exchange(error.__cause__):
                raise
            self._disk.rename(self._target, self._old)
            self._disk.rename(self.new, self._target)

    def _claim(self, undoing: ExitStack) -> Directory:
        """Make the staging directory, or take over that of a killed build, and lock it."""
        for _ in range(limits.STAGING_TRIES):
            undoing.enter_context(self._disk.making_directories(os.path.dirname(self.path)))
            self._make()
            directory = self._enter()
            if directory is not None:
                if not directory.lock():
                    directory.close()
                    raise BuildUnderWayError(f"another build of {self._target} is under way")
                # Whoever had the lock before us may have removed the directory that we opened.
                if self._is_at_its_path(directory):
                    return directory
                directory.close()
        raise UsageError(f"others make and remove {self.path} all the time", hint="wait, then try again")

    def _make(self) -> None:
        try:
            self._disk.make_directory(self.path)
        except DiskError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise

    def _enter(self) -> Directory | None:
        """Open the staging directory; None if another build has just removed it."""
        try:
            return self._disk.enter(self.path, follow=False)
        except PathMissingError:
            if self._disk.kind(self.path, follow=False) in {None, "directory"}:
                return None
            raise self._occupied() from None

    def _is_at_its_path(self, directory: Directory) -> bool:
        try:
            return self._disk.look(self.path, follow=False).identity == directory.status().identity
        except PathMissingError:
            return False

    def _clear_leftovers(self) -> None:
        """Remove what a killed build left; a cache that it had moved aside gets its name back first."""
        if not all(name in {NEW, _OLD} or name.startswith(RUN_PREFIX) for name in self.directory.names()):
            raise self._occupied()
        self._restore()
        self._disk.clear(self.path)

    def _restore(self) -> None:
        """Rename a cache that was moved aside back to the target, unless something is there."""
        is_aside = self._disk.kind(self._old, follow=False) == "directory"
        if is_aside and self._disk.kind(self._target, follow=False) is None:
            self._disk.rename(self._old, self._target)

    def _occupied(self) -> UsageError:
        return UsageError(f"something else is at {self.path}, where the cache would grow", hint="move it away")

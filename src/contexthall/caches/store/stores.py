"""The caches in object stores, by their URLs: opened, inspected, verified, put there and taken out."""

import os.path
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from contexthall.caches.model.inspection import Inspection
from contexthall.caches.query.scorers import SECTIONS
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.store.local_store import LocalStore, working_directory
from contexthall.caches.store.ranges import Ranges, read_root
from contexthall.caches.store.root import ROOT, Root, StoredPart
from contexthall.caches.store.stored_cache import StoredSections, open_parts, sections_in
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, CacheMissingError, HallError, PathMissingError
from contexthall.core.store_url import file_path
from contexthall.system.disk import Directory, Disk
from contexthall.system.objects import Objects

if TYPE_CHECKING:
    from contexthall.caches.store.publishing import Progress, Published
    from contexthall.system.cluster import Holders


class _ReachedStore(NamedTuple):
    """The objects at a URL, what came from there, and when its root was last looked at."""

    objects: Objects
    ranges: Ranges
    looked_at: float


class Stores:
    """Object stores, and what this machine keeps of them in the user's cache directory."""

    def __init__(
        self,
        disk: Disk,
        environment: Mapping[str, str],
        user_cache: str,
        connect: Callable[..., Objects] = Objects.at,
        holders: "Holders | None" = None,
    ) -> None:
        """Reach stores from here, or with `holders` from the workers of a cluster, which answer the questions."""
        self._disk = disk
        self._holders = holders
        self._environment = environment
        self._connect = connect
        self._local = LocalStore(disk, os.path.join(user_cache, "store") if user_cache else "")
        self._work = os.path.join(user_cache, "work") if user_cache else ""
        self._known: dict[str, _ReachedStore] = {}
        self._newer: dict[str, Root] = {}
        self._looking: set[str] = set()

    def open(self, url: str, before: object = None) -> StoredSections:
        """Open the cache at a URL; return the one before for as long as nobody has seen that it was replaced."""
        known = self._known.get(url)
        if known is None or not isinstance(before, StoredSections):
            known = self._known[url] = known or self._reach(url)
            return self._sections(url, read_root(known.objects), known.ranges)
        if time.monotonic() - known.looked_at > limits.STORE_ROOT_SECONDS:
            self.look_again(url)
        newer = self._newer.pop(url, None)
        if newer is None or newer == before.root:
            return before
        return self._sections(url, newer, known.ranges)

    def _sections(self, url: str, root: Root, ranges: Ranges) -> StoredSections:
        if self._holders is None or root.scorer != SECTIONS:
            return StoredSections(root, ranges)
        from contexthall.caches.cluster.stored_sections import ClusterStoredSections  # noqa: PLC0415 - with a cluster

        return ClusterStoredSections(root, ranges, url, self._holders)

    def open_part(self, url: str, part: StoredPart, *, again: bool = False) -> SectionCache:
        """Open a part of the cache at a URL; `again`, without what was kept of it."""
        known = self._known[url] = self._known.get(url) or self._reach(url)
        if again:
            known.ranges.forget(part.object)
        return sections_in(open_parts([part], known.ranges))

    def look_again(self, url: str) -> threading.Thread | None:
        """Look beside the answers whether another version of a cache was put in place."""
        if url in self._looking:
            return None
        self._looking.add(url)
        self._known[url] = self._known[url]._replace(looked_at=time.monotonic())
        looking = threading.Thread(target=self._look, args=(url,), daemon=True)
        looking.start()
        return looking

    def _look(self, url: str) -> None:
        try:
            self._newer[url] = read_root(self._known[url].objects)
        except HallError:
            pass  # a store that does not answer now takes nothing away from what is here
        finally:
            self._looking.discard(url)

    def inspect(self, url: str) -> Inspection:
        """Return what the cache at a URL holds, as far as its root tells."""
        objects = self._objects(url)
        try:
            root = read_root(objects)
        except CacheInvalidError:
            return Inspection("", 0, objects.size(ROOT) or 0, valid=False)
        size = len(root.to_bytes()) + sum(part.size for part in root.parts)
        return Inspection(root.cache_version, root.document_count, size, valid=True)

    def verify(self, url: str, on_document: Callable[[], None]) -> tuple[str, ...]:
        """Return everything that is wrong with the cache at a URL."""
        from contexthall.caches.store import publishing  # noqa: PLC0415 - 100 ms, for commands only, as below

        objects = self._objects(url)
        try:
            return tuple(publishing.verify(self._disk, objects, self._work, on_document))
        except CacheInvalidError as error:
            return (error.detail,)

    def check_target(self, url: str, *, force: bool) -> None:
        """Refuse to put a cache where one is, unless by `force`, or into a folder that holds something else."""
        from contexthall.caches.store import publishing  # noqa: PLC0415

        self._check_folder(url)
        with suppress(PathMissingError):  # a folder that is made when something is put there
            publishing.check_free(self._connect(url, self._environment), force=force)

    def push(self, cache: Directory, url: str, *, force: bool, progress: "Progress") -> "Published":
        """Put a cache of this machine at a URL."""
        from contexthall.caches.store import publishing  # noqa: PLC0415

        self._check_folder(url)
        objects = self._connect(url, self._environment, make=True)
        return publishing.push(self._disk, cache, objects, self._work, force=force, progress=progress)

    def pull(self, url: str, target: str, *, force: bool, progress: "Progress") -> "Published":
        """Get the cache at a URL onto this machine."""
        from contexthall.caches.store import publishing  # noqa: PLC0415

        return publishing.pull(self._disk, self._objects(url), target, force=force, progress=progress)

    def _check_folder(self, url: str) -> None:
        from contexthall.caches.store import publishing  # noqa: PLC0415

        if (path := file_path(url)) is not None:
            publishing.check_folder(self._disk, path)

    def traffic(self) -> tuple[int, int]:
        """Return how many requests were made for answers, and how many bytes came."""
        found = [reached.objects.traffic for reached in self._known.values()]
        return sum(each.requests for each in found), sum(each.bytes for each in found)

    @contextmanager
    def working_directory(self) -> Iterator[Directory]:
        """Make a folder for as long as it is needed."""
        with working_directory(self._disk, self._work) as folder:
            yield folder

    def _reach(self, url: str) -> _ReachedStore:
        objects = self._objects(url)
        return _ReachedStore(objects, Ranges(objects, self._local), time.monotonic())

    def _objects(self, url: str) -> Objects:
        try:
            return self._connect(url, self._environment)
        except PathMissingError:
            raise CacheMissingError(url) from None

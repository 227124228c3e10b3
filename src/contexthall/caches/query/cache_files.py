"""The files of an open cache of either format, and the documents in them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from contexthall.caches.model import document as documents
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import (
    DOCUMENTS,
    MANIFEST,
    POSTINGS,
    SEGMENTS,
    SOURCES,
    VECTORS,
    CacheManifest,
    ListedDocument,
    Listing,
    believed,
    examine_manifest,
    read_head,
    scorer_in,
    version_in,
)
from contexthall.caches.model.shards import ListedShard, ShardManifest, examine_shards, shards_in
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError, PathMissingError, UsageError
from contexthall.system.disk import Directory, Status, is_settled

Clock: TypeAlias = Callable[[], int]


class CacheFiles:
    """A cache whose directory is open: it stays this very one, whatever its path comes to mean."""

    model = ""
    """The embedder that the cache names, if it does."""

    has_sources = False
    """Whether it may know where it came from."""

    def __init__(self, directory: Directory, shards: Sequence[str] = ()) -> None:
        self.shards = shards
        self.signature = signature_of(directory, shards)
        self.directory = directory
        self._files: DocumentFiles | None = None

    @cached_property
    def version(self) -> str:
        """What the manifest says that identifies the cache."""
        return read_head(read_part(self.directory, MANIFEST)).cache_version

    def documents(self) -> "DocumentFiles":
        return self._files or DocumentFiles(self.directory)

    def listing(self) -> Listing:
        """Return what the manifest lists, which must keep its promises."""
        return read_listing(self.directory, read_part(self.directory, MANIFEST))

    def find(self, document_id: str) -> tuple[int, Document]:
        """Read a document by its id; return its number as well."""
        for number, listed in enumerate(self.listing().documents):
            if listed.id == document_id:
                return number, self.documents().read(listed)
        raise UsageError(f"the cache has no document {document_id}", hint="an id is a path in lower case")

    def keep_documents(self, clock: Clock) -> None:
        """Keep the documents that are read from now on, and their folders open: this cache is asked more than once."""
        self._files = self._files or DocumentFiles(self.directory, KeptDocuments(clock))


class CachePart(NamedTuple):
    """What has pages and segments, a cache or one of its shards: where it is in the cache, and its manifest."""

    prefix: str
    directory: Directory
    manifest: bytes


def parts_of(cache: Directory, manifest: bytes) -> list[CachePart]:
    """Return the shards of a cache with this manifest, which must be those that are listed, or else the cache."""
    listed = shards_in(manifest)
    return [_open_shard(cache, each) for each in listed.shards] if listed else [CachePart("", cache, manifest)]


def _open_shard(cache: Directory, listed: ListedShard) -> CachePart:
    try:
        directory = cache.enter(listed.path)
        manifest = read_part(directory, MANIFEST)
    except (PathMissingError, CacheInvalidError):
        raise CacheInvalidError(f"{listed.path} is not there") from None
    if version_in(manifest) != listed.cache_version or scorer_in(manifest) != SECTIONS or shards_in(manifest):
        raise CacheInvalidError(f"{listed.path} is not the shard that is listed")
    return CachePart(f"{listed.path}/", directory, manifest)


def examine(cache: Directory, manifest: bytes) -> CacheManifest:
    """Return what can be read of a cache's manifest, and of those of its shards, and every promise that they break."""
    listed = shards_in(manifest)
    if listed is None:
        return examine_manifest(manifest)
    parts = parts_of(cache, manifest)
    return examine_shards(listed, [ShardManifest(each.prefix.rstrip("/"), each.manifest) for each in parts])


def read_listing(cache: Directory, manifest: bytes) -> Listing:
    """Return what a cache with this manifest lists, in all of its shards, which must keep its promises."""
    return believed(examine(cache, manifest))


def signature_of(directory: Directory, shards: Sequence[str] = ()) -> tuple[object, ...]:
    """Return what changes when the cache, its manifest, its index or its set of documents is replaced."""
    stamps: list[object] = [directory.status().identity]
    for shard in shards:
        try:
            with directory.enter(shard) as opened:
                stamps.append(signature_of(opened))
        except PathMissingError:
            stamps.append(None)
    for name in (MANIFEST, POSTINGS, SEGMENTS, VECTORS, DOCUMENTS):
        try:
            stamps.append(directory.look(name))
        except PathMissingError:
            stamps.append(None)
    return tuple(stamps)


def has_few_sources(cache: Directory) -> bool:
    """Return whether so few sources are recorded that one look at them holds nobody up."""
    try:
        return cache.look(SOURCES).size <= limits.JUDGED_AT_ONCE_BYTES
    except DiskError:
        return True


def read_part(cache: Directory, name: str) -> bytes:
    """Read a file that every cache has."""
    try:
        return _read_regular(cache, name)
    except PathMissingError:
        raise CacheInvalidError(f"there is no file {name}") from None


class KeptDocuments:
    """Documents that were read before, each for as long as its file is the very one that was read."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[ListedDocument, tuple[Status, Document]] = {}
        self._bytes = 0

    def get(self, listed: ListedDocument, status: Status) -> Document | None:
        """Return a document if its file was read when it had this status."""
        kept = self._kept.get(listed)
        if kept is not None and kept[0] == status:
            return kept[1]
        return None

    def keep(self, listed: ListedDocument, status: Status, document: Document) -> None:
        """Keep a document whose file had this status before it was read, unless it may still change unseen."""
        if not is_settled(status.stamp[1:], self._clock()):
            return
        self._bytes += status.size
        if self._bytes > limits.KEPT_DOCUMENTS_BYTES:
            self._kept, self._bytes = {}, status.size
        self._kept[listed] = status, document


class DocumentFiles:
    """The files of a cache's documents; a symlink on the way to one counts as nothing there."""

    def __init__(self, cache: Directory, kept: KeptDocuments | None = None) -> None:
        self._cache = cache
        self._kept = kept
        self._folders: dict[str, Directory] = {"": cache}

    def read(self, listed: ListedDocument) -> Document:
        """Read a document, which must be the one that the manifest lists."""
        path, _, name = listed.file.rpartition("/")
        try:
            folder = self.enter(path)
            status = folder.look(name) if self._kept else None
            if self._kept and status and (kept := self._kept.get(listed, status)):
                return kept
            data = _read_regular(folder, name)
        except PathMissingError:
            raise CacheInvalidError(f"the file of {listed.id} is not there: {listed.file}") from None
        document = documents.read(data, id=listed.id, version=listed.version)
        if self._kept and status:
            self._kept.keep(listed, status, document)
        return document

    def enter(self, folder: str) -> Directory:
        """Open a folder of the cache, or take it from the few that were opened last."""
        opened = self._folders.get(folder)
        if opened is None:
            opened = self._cache
            for name in folder.split("/"):
                opened = opened.enter(name)
            if len(self._folders) > limits.OPEN_FOLDERS:
                self._folders = {"": self._cache}
            self._folders[folder] = opened
        return opened


def _read_regular(folder: Directory, name: str) -> bytes:
    """Read a file; PathMissingError if nothing is there, or what cannot be one, such as a directory or a FIFO."""
    try:
        return folder.read(name)
    except PathMissingError:
        raise
    except DiskError:
        if folder.look(name).kind == "file":
            raise
        raise PathMissingError(name) from None

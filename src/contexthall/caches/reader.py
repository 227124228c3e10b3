"""How is a cache read? Through its index where that can be believed, else by reading every document.

Both ways give the same field of documents to a query; nothing after that knows which way it was.
"""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from operator import countOf
from typing import TypeAlias, TypeVar

from contexthall.caches import document as documents
from contexthall.caches.document import Document
from contexthall.caches.field import Columns, Field
from contexthall.caches.format import DOCUMENTS, MANIFEST, POSTINGS, Listed, Lookup, Manifest, read_manifest
from contexthall.caches.postings import DamagedPostingsError, PostingsReader
from contexthall.caches.selection import tokens, words
from contexthall.core.errors import CacheInvalidError, CacheMissingError, DiskError, PathMissingError
from contexthall.disk import Directory, Disk

Signature: TypeAlias = tuple[object, ...]
Answer = TypeVar("Answer")


class OpenCache:
    """A cache whose directory is open: it stays this very one, whatever its path comes to mean."""

    def __init__(self, directory: Directory) -> None:
        self.signature = _signature(directory)
        self._directory = directory
        self._index = _open_index(directory)

    def answer(self, terms: Sequence[str], work: Callable[[Field, Lookup], Answer]) -> Answer:
        """Let `work` see the cache as a query with these terms does."""
        if self._index is not None:
            try:
                return work(self._index.field(terms), self._index.listed)
            except DamagedPostingsError:
                self._index = None
        return work(*_scan(self._directory, frozenset(terms)))

    def manifest(self) -> Manifest:
        """Read the manifest, which must keep its promises."""
        return read_manifest(read_part(self._directory, MANIFEST))

    def documents(self) -> "DocumentFiles":
        return DocumentFiles(self._directory)


def open_cache(disk: Disk, path: str, known: OpenCache | None = None) -> OpenCache:
    """Open the cache at `path`; `known`, if it is still the same."""
    try:
        directory = disk.enter(path)
    except PathMissingError:
        raise CacheMissingError(path) from None
    if known is not None and known.signature == _signature(directory):
        directory.close()
        return known
    return OpenCache(directory)


def _signature(directory: Directory) -> Signature:
    """Say what changes when the cache, its manifest, its index or its set of documents is replaced."""
    stamps: list[object] = [directory.status().stamp[:2]]
    for name in (MANIFEST, POSTINGS, DOCUMENTS):
        try:
            stamps.append(directory.look(name))
        except PathMissingError:
            stamps.append(None)
    return tuple(stamps)


def read_part(cache: Directory, name: str) -> bytes:
    """Read a file that every cache has."""
    try:
        if cache.look(name).kind == "file":
            return cache.read(name)
    except PathMissingError:
        pass
    raise CacheInvalidError(f"there is no file {name}")


def _open_index(directory: Directory) -> PostingsReader | None:
    """Open the index if there is one that can be believed, and see that no document's file is missing."""
    manifest = hashlib.sha256(read_part(directory, MANIFEST)).digest()
    try:
        index = PostingsReader(directory.open(POSTINGS), manifest)
        expected = index.files()
    except (DamagedPostingsError, DiskError):
        return None
    try:
        present = set(directory.enter(DOCUMENTS).names())
    except PathMissingError:
        present = set()
    if not present.issuperset(expected):
        raise CacheInvalidError(f"{directory.path} has lost the file of a document")
    return index


def _scan(directory: Directory, terms: frozenset[str]) -> tuple[Field, Lookup]:
    """Read every document, and count."""
    manifest = read_manifest(read_part(directory, MANIFEST))
    files = DocumentFiles(directory)
    costs, totals, matches = array("Q"), array("Q"), array("Q")
    for listed in manifest.documents:
        content = files.read(listed).content
        found = words(content)
        costs.append(tokens(content.encode()))
        totals.append(len(found))
        matches.append(countOf(map(terms.__contains__, found), True))
    return Field(Columns.of(costs, totals), matches), manifest.documents.__getitem__


class DocumentFiles:
    """The files of a cache's documents; a symlink on the way to one counts as nothing there."""

    def __init__(self, cache: Directory) -> None:
        self._folders = {"": cache}

    def read(self, listed: Listed) -> Document:
        """Read a document, which must be the one that the manifest lists."""
        folder, _, name = listed.file.rpartition("/")
        try:
            data = self._enter(folder).read(name)
        except PathMissingError as error:
            raise CacheInvalidError(f"the file of {listed.id} is not there: {error.detail}") from None
        return documents.read(data, id=listed.id, version=listed.version)

    def _enter(self, folder: str) -> Directory:
        if folder not in self._folders:
            parent, _, name = folder.rpartition("/")
            self._folders[folder] = self._enter(parent).enter(name)
        return self._folders[folder]

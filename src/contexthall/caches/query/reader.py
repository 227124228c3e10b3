"""Reads a cache: through its index where that can be believed, else by reading every document.

Both ways give the same ranking.
"""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import countOf
from typing import TypeAlias

from contexthall.caches.index.match_table import Columns, MatchTable
from contexthall.caches.index.postings import MALFORMED, DamagedPostingsError, PostingsReader, UnreadPostingsError
from contexthall.caches.model import document as documents
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import (
    DOCUMENTS,
    MANIFEST,
    POSTINGS,
    SEGMENTS,
    ListedDocument,
    Listing,
    read_head,
    read_manifest,
    scorer_in,
)
from contexthall.caches.query.ranking import Query, Ranking
from contexthall.caches.query.scorers import Scorer, SectionFormat
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError, PathMissingError
from contexthall.core.tokens import tokens
from contexthall.system.disk import Directory, Status, is_settled

Clock: TypeAlias = Callable[[], int]


class CacheFiles:
    """A cache whose directory is open: it stays this very one, whatever its path comes to mean."""

    def __init__(self, directory: Directory) -> None:
        self.signature = signature_of(directory)
        self.directory = directory
        self._kept: KeptDocuments | None = None

    @cached_property
    def version(self) -> str:
        """What the manifest says that identifies the cache."""
        return read_head(read_part(self.directory, MANIFEST)).cache_version

    def documents(self) -> "DocumentFiles":
        return DocumentFiles(self.directory, self._kept)

    def keep_documents(self, clock: Clock) -> None:
        """Keep the documents that are read from now on: this cache is asked more than once."""
        self._kept = self._kept or KeptDocuments(clock)


class OpenCache(CacheFiles):
    """A cache whose documents are scored whole."""

    def __init__(self, directory: Directory) -> None:
        super().__init__(directory)
        try:
            self._index = _open_index(directory)
        except UnreadPostingsError:  # which may pass, so the next call opens this cache anew
            self._index, self.signature = None, ()

    def rank(self, query: Query) -> Ranking:
        """Return the documents in a query's order."""
        index = self._index  # another thread may find out meanwhile that it is damaged
        if index is not None:
            try:
                terms = index.scorer.terms(query.text)
                return Ranking.of(query, terms, index.scorer, index.match_table(terms), index.listed)
            except (DamagedPostingsError, *MALFORMED):  # forged columns may name documents that are not there
                self._index = None
            except UnreadPostingsError:
                pass
        listing = self.listing()
        assert not isinstance(listing.scorer, SectionFormat)
        terms = listing.scorer.terms(query.text)
        table = _scan(self.directory, listing.documents, listing.scorer, terms)
        return Ranking.of(query, terms, listing.scorer, table, listing.documents.__getitem__)

    def listing(self) -> Listing:
        """Return what the manifest lists, which must keep its promises."""
        return read_manifest(read_part(self.directory, MANIFEST))


def signature_of(directory: Directory) -> tuple[object, ...]:
    """Return what changes when the cache, its manifest, its index or its set of documents is replaced."""
    stamps: list[object] = [directory.status().identity]
    for name in (MANIFEST, POSTINGS, SEGMENTS, DOCUMENTS):
        try:
            stamps.append(directory.look(name))
        except PathMissingError:
            stamps.append(None)
    return tuple(stamps)


def read_part(cache: Directory, name: str) -> bytes:
    """Read a file that every cache has."""
    try:
        return _read_regular(cache, name)
    except PathMissingError:
        raise CacheInvalidError(f"there is no file {name}") from None


def open_postings(directory: Directory, manifest: bytes) -> PostingsReader:
    """Open the index that belongs to this manifest; a PostingsError if there is none that can be believed."""
    scorer = scorer_in(manifest)
    if scorer is None or isinstance(scorer, SectionFormat):
        raise DamagedPostingsError("the manifest names no scorer that is known here")
    try:
        return PostingsReader(directory.open(POSTINGS), hashlib.sha256(manifest).digest(), scorer)
    except PathMissingError:
        raise DamagedPostingsError("there is none") from None
    except DiskError as error:
        raise UnreadPostingsError(error.detail) from error


def _open_index(directory: Directory) -> PostingsReader | None:
    """Open the index if there is one that can be believed, and see that no document's file is missing."""
    manifest = read_part(directory, MANIFEST)
    try:
        index = open_postings(directory, manifest)
        expected = index.files()
    except DamagedPostingsError:
        return None
    try:
        present = set(directory.enter(DOCUMENTS).names())
    except PathMissingError:
        present = set()
    if not present.issuperset(expected):
        raise CacheInvalidError(f"{directory.path} has lost the file of a document")
    return index


def _scan(directory: Directory, documents: Sequence[ListedDocument], scorer: Scorer, terms: list[str]) -> MatchTable:
    """Read every document, and count."""
    files, wanted = DocumentFiles(directory), frozenset(terms)
    costs, totals, matches = array("Q"), array("Q"), array("Q")
    for listed in documents:
        content = files.read(listed).content
        found = scorer.terms(content)
        costs.append(tokens(content.encode()))
        totals.append(len(found))
        matches.append(countOf(map(wanted.__contains__, found), True))
    return MatchTable(Columns.of(costs, totals), matches)


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
        if folder not in self._folders:
            opened = self._cache
            for name in folder.split("/"):
                opened = opened.enter(name)
            if len(self._folders) > limits.OPEN_FOLDERS:
                self._folders = {"": self._cache}
            self._folders[folder] = opened
        return self._folders[folder]


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

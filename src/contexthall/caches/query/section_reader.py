"""Reads a cache of format 2: through its segments where they can be believed, else by counting every page again.

Both ways give the same answers: what is counted anew is a segment too, in memory.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from contexthall.caches.index import segment_list
from contexthall.caches.index.blocks import MALFORMED, IndexDamagedError, IndexUnreadError
from contexthall.caches.index.segment import PageRecord, Segment, SegmentBuilder
from contexthall.caches.index.segment_list import ListedSegment
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.format import (
    DOCUMENTS,
    MANIFEST,
    SEGMENTS,
    ListedDocument,
    Listing,
    read_manifest,
    scorer_in,
)
from contexthall.caches.model.sections import split
from contexthall.caches.query.reader import CacheFiles, Clock, OpenCache, read_part, signature_of
from contexthall.caches.query.scorers import SectionFormat
from contexthall.caches.query.section_cache import SectionCache
from contexthall.core.errors import CacheInvalidError, CacheMissingError, DiskError, PathMissingError
from contexthall.system.disk import Directory, Disk

Answer = TypeVar("Answer")


class MemoryFile(NamedTuple):
    """A segment that was never written."""

    data: bytes

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


class OpenSections(CacheFiles):
    """A cache of format 2 whose directory is open: it stays this very one, whatever its path comes to mean."""

    def __init__(self, directory: Directory, manifest: bytes) -> None:
        super().__init__(directory)
        self._manifest = manifest
        self._sections: SectionCache | None = None
        try:
            self._sections = self._from_segments()
        except IndexDamagedError:
            pass
        except IndexUnreadError:  # which may pass, so the next call opens this cache anew
            self.signature = ()

    def ask(self, answer: Callable[[SectionCache], Answer]) -> Answer:
        """Return the answer that the segments give, or else the pages."""
        sections = self._sections  # another thread may find out meanwhile that it is damaged
        if sections is not None:
            try:
                return answer(sections)
            except (IndexDamagedError, *MALFORMED):  # forged numbers may name sections that are not there
                self._sections = None
            except IndexUnreadError:
                pass
        return answer(count_pages(self, self.listing().documents))

    def listing(self) -> Listing:
        """Return what the manifest lists, which must keep its promises."""
        return read_manifest(self._manifest)

    def _from_segments(self) -> SectionCache:
        """Open the segments, and see that no page's file is missing."""
        listed = open_segment_list(self.directory, self._manifest)
        files = [file for each in listed for file in each.pages]
        try:
            present = {f"{DOCUMENTS}/{name}" for name in self.directory.enter(DOCUMENTS).names()}
        except PathMissingError:
            present = set()
        if not present.issuperset(files):
            raise CacheInvalidError(f"{self.directory.path} has lost the file of a document")
        segments = Segments([open_segment(self.directory, each) for each in listed])
        return SectionCache(segments, lambda number, record: self._read(_listed(record, files[number])))

    def _read(self, listed: ListedDocument) -> str:
        return self.documents().read(listed).content


def sections_of(cache: OpenCache | OpenSections, *, again: bool = False) -> SectionCache:
    """Return the sections of a cache of either format; `again`, by counting every page."""
    if isinstance(cache, OpenSections) and not again:
        return cache.ask(lambda sections: sections)
    return count_pages(cache, cache.listing().documents)


def count_pages(cache: CacheFiles, documents: Sequence[ListedDocument]) -> SectionCache:
    """Count every page, and return the sections."""
    counted, files = SegmentBuilder(), cache.documents()
    for listed in documents:
        document = files.read(listed)
        counted.add(listed.id, listed.version, split(document.content, document.source))
    data = counted.to_bytes()
    segments = Segments([Segment(MemoryFile(data), len(data), counted.key)])
    return SectionCache(segments, lambda number, _record: files.read(documents[number]).content)


def open_segment_list(directory: Directory, manifest: bytes) -> list[ListedSegment]:
    """Return the segments that belong to this manifest; IndexDamagedError if they cannot be believed."""
    try:
        with directory.open(SEGMENTS) as file:
            return segment_list.read(file, _size(file.status()), hashlib.sha256(manifest).digest())
    except PathMissingError:
        raise IndexDamagedError("there is none") from None
    except DiskError as error:
        raise IndexUnreadError(error.detail) from error


def open_segments(directory: Directory, manifest: bytes) -> Segments:
    """Open all segments that belong to this manifest."""
    return Segments([open_segment(directory, each) for each in open_segment_list(directory, manifest)])


def open_segment(directory: Directory, listed: ListedSegment) -> Segment:
    """Open a segment, which must be the one that is listed."""
    try:
        file = directory.open(listed.file)
        if _size(file.status()) != listed.size:
            raise IndexDamagedError(f"{listed.file} has another size")
        return Segment(file, listed.size, listed.key)
    except PathMissingError:
        raise IndexDamagedError(f"{listed.file} is not there") from None
    except DiskError as error:
        raise IndexUnreadError(error.detail) from error


def _listed(record: PageRecord, file: str) -> ListedDocument:
    return ListedDocument(record.id, record.version, file)


def _size(status: tuple[str, int, object]) -> int:
    kind, size, _ = status
    if kind != "file":
        raise IndexDamagedError("not a regular file")
    return size


def open_cache(
    disk: Disk, path: str, known: OpenCache | OpenSections | None = None, *, clock: Clock = time.time_ns
) -> OpenCache | OpenSections:
    """Open the cache at `path`; return `known`, if it is still the same."""
    try:
        directory = disk.enter(path)
    except PathMissingError:
        raise CacheMissingError(path) from None
    if known is not None and known.signature == signature_of(directory):
        directory.close()
        known.keep_documents(clock)
        return known
    manifest = read_part(directory, MANIFEST)
    scorer = scorer_in(manifest) or read_manifest(manifest).scorer
    return OpenSections(directory, manifest) if isinstance(scorer, SectionFormat) else OpenCache(directory)

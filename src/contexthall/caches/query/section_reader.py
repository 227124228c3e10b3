"""Reads a cache of format 2: through its segments where they can be believed, else by counting every page again.

Both ways give the same answers: what is counted anew is a segment too, in memory.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from contexthall.caches.index import segment_list
from contexthall.caches.index.blocks import MALFORMED, IndexDamagedError, IndexUnreadError
from contexthall.caches.index.live_segment import LiveSegment
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segment import Segment
from contexthall.caches.index.segment_list import ListedSegment
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.format import (
    DOCUMENTS,
    SEGMENTS,
    ListedDocument,
    Listing,
)
from contexthall.caches.model.shards import shards_in
from contexthall.caches.query.cache_files import CacheFiles, CachePart, parts_of, read_listing
from contexthall.caches.query.question import Question
from contexthall.caches.query.resolution import Resolution
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reading import Outline, Reading
from contexthall.core.errors import CacheInvalidError, DiskError, PathMissingError
from contexthall.system.disk import Directory

if TYPE_CHECKING:
    from contexthall.caches.embedding.meaning import Meaning
    from contexthall.caches.query.reader import OpenCache
    from contexthall.caches.query.section_explanation import SectionExplanation
    from contexthall.caches.query.section_places import SectionRankingPage, ShownSection

Answer = TypeVar("Answer")


class MemoryFile(NamedTuple):
    """A segment that was never written."""

    data: bytes

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


class OpenSections(CacheFiles):
    """A cache of format 2 whose directory is open: it stays this very one, whatever its path comes to mean."""

    has_sources = True

    def __init__(self, directory: Directory, manifest: bytes, model: str = "") -> None:
        self._shards = shards_in(manifest)
        super().__init__(directory, [each.path for each in self._shards.shards] if self._shards else ())
        self._manifest = manifest
        self.model = model
        self._sections: SectionCache | None = None
        self.open_segments()

    def open_segments(self) -> None:
        """Open the segments, if they can be believed."""
        try:
            self._sections = self._from_segments()
        except IndexDamagedError:
            pass
        except IndexUnreadError:  # which may pass, so the next call opens this cache anew
            self.signature = ()

    def resolve(self, question: Question) -> Resolution:
        """Return the sections that answer a question, within its budget."""
        return self.ask(lambda sections: sections.resolve(question)).resolution()

    def explain(self, question: Question, document_id: str) -> "SectionExplanation":
        """Return where a section stands in a question's order, and why."""
        from contexthall.caches.query.section_explanation import explain  # noqa: PLC0415 - for people only, as below

        return self.ask(lambda sections: explain(sections, question, document_id))

    def places(self, question: Question, page: slice) -> "SectionRankingPage":
        """Return some places of a question's order, the skipped sections among them."""
        from contexthall.caches.query.section_places import places_of  # noqa: PLC0415

        return self.ask(lambda sections: places_of(sections, question, page))

    def section(self, section_id: str, query: str) -> "ShownSection":
        """Return a section, with the words of a query marked."""
        from contexthall.caches.query.section_places import show  # noqa: PLC0415

        return self.ask(lambda sections: show(sections, query, section_id))

    def read(self, question: Question, neighbours: int, start: str | None) -> Reading:
        """Return a section and its neighbours, or a page from the section `start` on."""
        return self.ask(lambda sections: sections.read(question, neighbours, start))

    def outline(self, question: Question, under: str | None, depth: int | None, start: str | None) -> Outline:
        """Return the headings of the pages under a page or folder, from the page `start` on."""
        return self.ask(lambda sections: sections.outline(question, under, depth, start))

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
        return read_listing(self.directory, self._manifest)

    def _from_segments(self) -> SectionCache:
        """Open the segments, and see that no page's file is missing."""
        files, opened = list[str](), list[Segment]()
        for part in parts_of(self.directory, self._manifest):
            listed = open_segment_list(part.directory, part.manifest)
            pages = [file for each in listed for file in each.pages]
            _check_present(part, pages)
            files += [part.prefix + file for file in pages]
            opened += [open_segment(part.directory, each) for each in listed]
        segments = Segments(opened)
        if self._shards and not (self._shards.is_intact and self._shards.sums == segments.sums):
            raise IndexDamagedError("the manifest was changed")
        meaning = self.meaning_of(segments)
        return SectionCache(segments, lambda number, record: self._read(_listed(record, files[number])), meaning)

    def meaning_of(self, segments: Segments) -> "Meaning | None":
        """Return what sections, numbered like these, mean; None if no embedder is named."""
        if not self.model:
            return None
        from contexthall.caches.embedding.meaning import Meaning  # noqa: PLC0415 - few caches need it

        return Meaning.of(self.directory, self._manifest, self.model, segments)

    def _read(self, listed: ListedDocument) -> str:
        return self.documents().read(listed).content


def sections_of(cache: "OpenCache | OpenSections", *, again: bool = False) -> SectionCache:
    """Return the sections of a cache of either format; `again`, by counting every page."""
    if isinstance(cache, OpenSections) and not again:
        return cache.ask(lambda sections: sections)
    return count_pages(cache, cache.listing().documents)


def count_pages(cache: CacheFiles, documents: Sequence[ListedDocument]) -> SectionCache:
    """Count every page, and return the sections."""
    from contexthall.caches.index.segment_builder import SegmentBuilder  # noqa: PLC0415 - 10 ms, hardly ever needed
    from contexthall.caches.model.sections import split  # noqa: PLC0415 - as above

    counted, files = SegmentBuilder(), cache.documents()
    for listed in documents:
        document = files.read(listed)
        counted.add(listed.id, listed.version, split(document.content, document.source))
    data = counted.to_bytes()
    segments = Segments([Segment(MemoryFile(data), len(data), counted.key)])
    meaning = cache.meaning_of(segments) if isinstance(cache, OpenSections) else None
    return SectionCache(segments, lambda number, _record: files.read(documents[number]).content, meaning)


def open_segment_list(directory: Directory, manifest: bytes) -> list[ListedSegment]:
    """Return the segments that belong to this manifest; IndexDamagedError if they cannot be believed."""
    try:
        with directory.open(SEGMENTS) as file:
            return segment_list.read(file, _size(file.status()), hashlib.sha256(manifest).digest())
    except PathMissingError:
        raise IndexDamagedError("there is none") from None
    except DiskError as error:
        raise IndexUnreadError(error.detail) from error


def index_doubts(directory: Directory, manifest: bytes) -> str:
    """Return why the segments that belong to this manifest are not believed; empty if they are."""
    try:
        open_segments(parts_of(directory, manifest))
    except (IndexDamagedError, IndexUnreadError) as error:
        return str(error)
    return ""


def open_segments(parts: Sequence[CachePart]) -> Segments:
    """Open the segments of a cache, or of all of its shards."""
    return Segments(
        [
            open_segment(part.directory, each)
            for part in parts
            for each in open_segment_list(part.directory, part.manifest)
        ]
    )


def open_segment(directory: Directory, listed: ListedSegment) -> Segment:
    """Open a segment, which must be the one that is listed."""
    try:
        file = directory.open(listed.file)
        size = _size(file.status())
    except PathMissingError:
        raise IndexDamagedError(f"{listed.file} is not there") from None
    except DiskError as error:
        raise IndexUnreadError(error.detail) from error
    if size != listed.size:
        raise IndexDamagedError(f"{listed.file} has another size")
    segment = Segment(file, size, listed.key)
    live = LiveSegment(segment, frozenset(listed.gone)) if listed.gone else segment
    if live.pages != len(listed.pages):
        raise IndexDamagedError(f"{listed.file} has another number of pages")
    return live


def _check_present(part: CachePart, files: Sequence[str]) -> None:
    """Refuse a cache or a shard that has lost the file of a page."""
    try:
        present = {*part.directory.enter(DOCUMENTS).names()}
    except PathMissingError:
        present = set()
    if not present.issuperset(file.removeprefix(f"{DOCUMENTS}/") for file in files):
        raise CacheInvalidError(f"{part.directory.path} has lost the file of a document")


def _listed(record: PageRecord, file: str) -> ListedDocument:
    return ListedDocument(record.id, record.version, file)


def _size(status: tuple[str, int, object]) -> int:
    kind, size, _ = status
    if kind != "file":
        raise IndexDamagedError("not a regular file")
    return size

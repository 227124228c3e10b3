"""A cache in a store, open: it answers like one on this machine, from what it fetches and checks."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from contexthall.caches.index.blocks import MALFORMED, IndexDamagedError, IndexUnreadError
from contexthall.caches.index.kept import Kept
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segments import Segments
from contexthall.caches.model import document as documents
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import VECTORS, Listing
from contexthall.caches.query.cache_files import Clock
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reader import OpenSections
from contexthall.caches.store.ranges import PackFile, Ranges
from contexthall.caches.store.root import Root, StoredPart
from contexthall.caches.store.stored_index import IndexHead, StoredSegment, expanded
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError, UsageError
from contexthall.system.objects import ObjectRange

if TYPE_CHECKING:
    from contexthall.caches.embedding.meaning import Meaning

Answer = TypeVar("Answer")


class StoredSections(OpenSections):
    """A cache of format 2 in a store. What it opened stays readable, whatever is put in its place."""

    has_sources = False

    def __init__(self, root: Root, ranges: Ranges) -> None:
        self.root = root
        self.model = root.scorer.model
        self._ranges = ranges
        self._sections: SectionCache | None = None

    @property
    def version(self) -> str:
        return self.root.cache_version

    def ask(self, answer: Callable[[SectionCache], Answer]) -> Answer:
        """Return the answer; what cannot be believed is fetched once more, and then is an error."""
        try:
            return answer(self._opened())
        except (IndexDamagedError, *MALFORMED):
            self._forget()
        except IndexUnreadError as error:
            raise DiskError(str(error)) from None
        try:
            return answer(self._opened())
        except (IndexDamagedError, *MALFORMED) as error:
            self._forget()
            raise CacheInvalidError(f"the store has other bytes than were put there: {error}") from None
        except IndexUnreadError as error:
            raise DiskError(str(error)) from None

    def find(self, document_id: str) -> tuple[int, Document]:
        """Read a document by its id; return its number as well."""
        return self.ask(lambda sections: self._find(sections, document_id))

    def listing(self) -> Listing:
        """Refuse: nothing is counted again over a network."""
        self._forget()
        raise CacheInvalidError("the store has other bytes than were put there")

    def keep_documents(self, clock: Clock) -> None:
        """Do nothing: what was fetched is kept as it is."""

    def meaning_of(self, segments: Segments) -> "Meaning | None":
        part = self.root.parts[0]
        vectors = part.file(VECTORS)
        if not self.model:
            return None
        if vectors is None:
            raise CacheInvalidError(f"there is no file {VECTORS}")
        from contexthall.caches.embedding.meaning import Meaning  # noqa: PLC0415 - few caches need it

        load = partial(self._ranges.read_large, ObjectRange(part.object, vectors.at, vectors.length))
        return Meaning.loaded(load, bytes.fromhex(part.key), self.model, segments)

    def _opened(self) -> SectionCache:
        opened = self._sections
        if opened is None:
            segments = open_parts(self.root.parts, self._ranges)
            if segments.sums != self.root.sums or len(segments.page_ids) != self.root.document_count:
                raise IndexDamagedError("the root says something else")
            opened = self._sections = sections_in(segments, self.meaning_of(segments))
        return opened

    def _find(self, sections: SectionCache, document_id: str) -> tuple[int, Document]:
        if document_id not in sections.segments.page_ids:
            raise UsageError(f"the cache has no document {document_id}", hint="an id is a path in lower case")
        number = sections.segments.page_ids.index(document_id)
        return number, read_page(sections.segments, number, sections.segments.record(number))

    def _forget(self) -> None:
        self._sections = None
        for part in self.root.parts:
            self._ranges.forget(part.object)


def open_parts(parts: Sequence[StoredPart], ranges: Ranges) -> Segments:
    """Fetch the heads of parts, and return their segments."""
    heads = [ObjectRange(part.object, part.head.at, part.head.length) for part in parts]
    ranges.fetch([each for each in heads if each.length <= limits.STORE_PIECE_BYTES])
    return Segments([_segment(part, head, ranges) for part, head in zip(parts, heads, strict=True)])


def _segment(part: StoredPart, head: ObjectRange, ranges: Ranges) -> StoredSegment:
    data = expanded(ranges.read_large(head), part.head.size, part.head.digest)
    return StoredSegment(IndexHead.read(data), PackFile(ranges, part.object), part.size, bytes.fromhex(part.key))


def sections_in(segments: Segments, meaning: "Meaning | None" = None) -> SectionCache:
    """Return the sections of segments in a store; the documents that were read last are kept."""
    kept = Kept[int, Document](limits.KEPT_DOCUMENTS_BYTES)

    def read(number: int, record: PageRecord) -> str:
        if found := kept.get(number):
            return found[0].content
        document = read_page(segments, number, record)
        kept.keep(number, document, len(document.content))
        return document.content

    return SectionCache(segments, read, meaning)


def read_page(segments: Segments, number: int, record: PageRecord) -> Document:
    """Read the document of a page, which must be the one that is recorded."""
    segment, page = segments.segment_of(number)
    assert isinstance(segment, StoredSegment)
    try:
        return documents.read(segment.document(page), id=record.id, version=record.version)
    except CacheInvalidError as error:
        _damaged(error)


def _damaged(error: CacheInvalidError) -> NoReturn:
    """Have it fetched once more: what passed a checksum may still be of another page."""
    raise IndexDamagedError(error.detail) from None

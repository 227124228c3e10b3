"""The index of a cache in a store: laid out so that an answer needs few requests. Pure but for the file.

    head        numbers of all sections and pages, ids, and where the other blocks are; read once, whole, compressed
    buckets     of some terms: where they occur, by section and by position; one request a term
    pages       of a page: what a segment records of it, and the file of its document; one request a page

It says what the segments of a cache, or of a shard, say together. Positions replace the order of terms: terms are
counted through, with one number between two fields, so that neighbours have positions that differ by one.
"""

import hashlib
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple, Protocol

from contexthall.caches.index.blocks import (
    BlockPlace,
    BlockReader,
    Cursor,
    IndexDamagedError,
    Readable,
    checksum,
    pack_ascending,
    pack_counts,
    pack_numbers,
    well_formed,
)
from contexthall.caches.index.kept import Kept
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segment import (
    FIELDS,
    Occurrences,
    PageColumns,
    SectionColumns,
    Segment,
    SegmentSums,
    SegmentTerm,
    bucket_of,
)
from contexthall.core import limits
from contexthall.core.text import UNICODE

CHECKSUM_BYTES = 8
TERMS_PER_BUCKET = 4
_CODE_BYTES = 4
_VERSION = 1


class StoredTerm(NamedTuple):
    """What the index says of a term: its number, how many sections and pages have it, where, and at which positions."""

    number: int
    sections: int
    pages: int
    fields: tuple[Occurrences, ...]
    positions: "array[int]"

    def to_bytes(self) -> bytes:
        present = [field for field, each in enumerate(self.fields) if each.units]
        places = chain.from_iterable(
            (pack_ascending(self.fields[field].units), pack_counts(self.fields[field].counts)) for field in present
        )
        lengths = [len(self.fields[field].units) for field in present]
        numbers = [self.number, self.sections, self.pages, sum(1 << each for each in present), len(self.positions)]
        positions = pack_ascending(self.positions) if self.positions else b""
        return b"".join((pack_numbers(numbers), pack_numbers(lengths), *places, positions))

    @classmethod
    def read(cls, data: bytes, sections: int, pages: int) -> "StoredTerm":
        """Read what `to_bytes` wrote, of an index of so many sections and pages."""
        cursor = Cursor(data)
        number, having, of_pages, mask, positions = cursor.numbers(5)
        present = [field for field in range(FIELDS) if mask >> field & 1]
        found = [Occurrences()] * FIELDS
        for field, count in zip(present, cursor.numbers(len(present)), strict=True):
            found[field] = each = Occurrences(cursor.ascending(count), cursor.counts(count))
            if each.units[-1] >= (sections if field else pages):
                raise IndexDamagedError("a term of a section that is not there")
        return cls(number, having, of_pages, tuple(found), cursor.ascending(positions) if positions else array("I"))


class IndexHead(NamedTuple):
    """What is read first, whole."""

    sums: SegmentSums
    sections: SectionColumns
    pages: PageColumns
    titles: "Sequence[int]"
    """How many terms the title of each page has, without those of its file."""
    buckets: "Sequence[int]"
    """Where each bucket begins, and where the last one ends."""
    page_places: "Sequence[int]"
    ids: Sequence[str]

    def to_bytes(self) -> bytes:
        counts = len(self.sections.page), len(self.pages.size), len(self.buckets)
        columns = *self.sections, *self.pages, self.titles, self.buckets, self.page_places
        head = f"{_VERSION} {UNICODE}\n".encode()
        numbers = map(pack_numbers, ((*counts, *self.sums), *columns))
        return b"".join((head, *numbers, "\0".join(self.ids).encode()))

    @classmethod
    def read(cls, data: bytes) -> "IndexHead":
        """Read what `to_bytes` wrote; IndexDamagedError if it is not that, or of another version."""
        with well_formed():
            head, _, rest = data.partition(b"\n")
            if head.split() != [str(_VERSION).encode(), UNICODE.encode()]:
                raise IndexDamagedError("made by another version")
            cursor = Cursor(rest)
            sections, pages, buckets, *sums = cursor.numbers(3 + len(SegmentSums._fields))
            of_sections = SectionColumns(*(cursor.numbers(sections) for _ in SectionColumns._fields))
            of_pages = PageColumns(*(cursor.numbers(pages) for _ in PageColumns._fields))
            titles, places = cursor.numbers(pages), cursor.numbers(buckets)
            page_places = cursor.numbers(pages + 1)
            ids = cursor.rest().decode().split("\0") if pages else []
            if len(ids) != pages:
                raise IndexDamagedError("ids of another number of pages")
            return cls(SegmentSums(*sums), of_sections, of_pages, titles, places, page_places, ids)


def bucket_to_bytes(terms: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a bucket of terms, each with what is said of it."""
    strings = [name for name, _ in terms] + [entry for _, entry in terms]
    return b"".join((pack_numbers((len(terms),)), pack_numbers([*map(len, strings)]), *strings))


def page_to_bytes(record: bytes, document: bytes) -> bytes:
    """Return the block of a page: its record and the file of its document."""
    return b"".join((pack_numbers((len(record),)), record, document))


def document_in(block: bytes) -> bytes:
    """Return the file of the document in the block of a page."""
    cursor = Cursor(block)
    cursor.take(*cursor.numbers(1))
    return cursor.rest()


class PackWriter:
    """Lays out blocks one after the other, each with its checksum."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.at = 0

    def block(self, payload: bytes, name: str) -> bytes:
        """Return a block as it is written next."""
        self.at += len(payload) + CHECKSUM_BYTES
        return payload + checksum(payload, name, self._key)


class ReadablePack(Readable, Protocol):
    """A pack, of which many ranges can be fetched in one round."""

    @property
    def fetch(self) -> Callable[[list[Any]], object]: ...

    def range(self, at: int, length: int) -> object: ...


class StoredOrder(NamedTuple):
    """The order of terms on a page, by their positions."""

    segment: "StoredSegment"
    page: int
    size: int = 0

    def has(self, pair: bytes, number: int) -> bool:
        """Return whether terms stand side by side in the title, or in the heading or the body of a section."""
        first, second = (self.segment.positions(code) for code in (pair[:_CODE_BYTES], pair[_CODE_BYTES:]))
        return any(_has_neighbours(first, second, *span) for span in self.segment.spans(self.page, number))


class StoredSegment(Segment):
    """The index of a cache in a store, asked like a segment; what a question needs can be fetched before it is read."""

    def __init__(self, head: IndexHead, file: "ReadablePack", size: int, key: bytes) -> None:
        self._reader = BlockReader(file, size, key)
        self._file = file
        self.fetch = file.fetch
        self._head = head
        self.sums, self.columns, self.page_columns = head[:3]
        self.sections, self.pages = len(self.columns.page), len(self.page_columns.size)
        self._names: dict[bytes, str] = {}
        self._found = Kept[str, StoredTerm](limits.KEPT_TERMS_BYTES)
        self._check()

    def _check(self) -> None:
        firsts = self.page_columns.first
        if max(self.columns.page, default=-1) >= self.pages or sorted([0, *firsts, self.sections])[1:-1] != [*firsts]:
            raise IndexDamagedError("a section of no page")
        if bool(self.sections) != bool(self.sums.pages) or not self._head.buckets:
            raise IndexDamagedError("sections of no page")

    def ids(self) -> list[str]:
        return [*self._head.ids]

    def record(self, page: int) -> PageRecord:
        with well_formed():
            cursor = Cursor(self._page(page))
            return PageRecord.read(cursor.take(*cursor.numbers(1)), len(self.sections_of(page)))

    def document(self, page: int) -> bytes:
        """Return the file of a page's document."""
        with well_formed():
            return document_in(self._page(page))

    def orders(self, page: int) -> StoredOrder:  # type: ignore[override]  # it is only asked for pairs
        return StoredOrder(self, page)

    def term(self, term: str) -> SegmentTerm | None:
        found = self._term(term)
        if found is None:
            return None
        code = found.number.to_bytes(_CODE_BYTES, "big")
        self._names[code] = term
        return SegmentTerm(code, found.sections, found.pages, *found.fields)

    def positions(self, code: bytes) -> "array[int]":
        """Return where the term with this code stands, among all terms in their order."""
        found = self._term(self._names[code])
        return found.positions if found else array("I")

    def spans(self, page: int, number: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return from where to where the title of a page reaches, and heading and body of one of its sections."""
        section = self.page_columns.first[page] + number
        starts = self._starts
        title = starts[section - number] - 1 - self._head.titles[page]
        end = starts[section] + self.columns.heading[section] + 1 + self.columns.body[section]
        return (title, title + self._head.titles[page]), (starts[section], end)

    def wanted(self, terms: Iterable[str], pages: Iterable[int]) -> list[Any]:
        buckets = {self._bucket(term) for term in terms if not self._found.get(term)}
        places = [self._place(self._head.buckets, bucket) for bucket in buckets]
        places += [self._place(self._head.page_places, page) for page in set(pages)]
        return [self._file.range(place.at, place.length + CHECKSUM_BYTES) for place in places]

    @cached_property
    def _starts(self) -> "array[int]":
        """Where the heading of each section begins, among all terms in their order."""
        columns, firsts = self.columns, dict(zip(self.page_columns.first, self._head.titles, strict=True))
        # Blank pages begin where the next one does: only the last title of those counts, theirs have no terms.
        steps = (
            (titles + 1 if (titles := firsts.get(section)) is not None else 0, heading + 1 + body + 1)
            for section, (heading, body) in enumerate(zip(columns.heading, columns.body, strict=True))
        )
        edges = [*accumulate(chain.from_iterable(steps), initial=0)]
        return array("Q", edges[1::2])

    def _term(self, term: str) -> StoredTerm | None:
        if kept := self._found.get(term):
            return kept[0]
        name, bucket = term.encode(), self._bucket(term)
        with well_formed():
            cursor = Cursor(self._reader.read(self._place(self._head.buckets, bucket), f"bucket {bucket}"))
            (count,) = cursor.numbers(1)
            strings = cursor.strings(cursor.numbers(2 * count))
            if name not in strings[:count]:
                return None
            entry = strings[count + strings.index(name)]
            found = StoredTerm.read(entry, self.sections, self.pages)
        self._found.keep(term, found, 4 * len(entry))
        return found

    def _bucket(self, term: str) -> int:
        return bucket_of(term.encode(), len(self._head.buckets) - 1)

    def _page(self, page: int) -> bytes:
        return self._reader.read(self._place(self._head.page_places, page), f"page {page}")

    @staticmethod
    def _place(edges: Sequence[int], number: int) -> BlockPlace:
        return BlockPlace(edges[number], edges[number + 1] - edges[number] - CHECKSUM_BYTES)


def _has_neighbours(first: "array[int]", second: "array[int]", start: int, end: int) -> bool:
    """Return whether between two positions one of the first is directly before one of the second."""
    for at in range(bisect_left(first, start), bisect_left(first, end - 1)):
        place = bisect_left(second, first[at] + 1)
        if place < len(second) and second[place] == first[at] + 1:
            return True
    return False


def squeezed(head: bytes) -> bytes:
    return zlib.compress(head, 6)


def expanded(data: bytes, size: int, digest: str) -> bytes:
    """Return what `squeezed` made smaller; IndexDamagedError if it is not what has this digest."""
    expander = zlib.decompressobj()
    try:
        head = expander.decompress(data, size)
    except zlib.error:
        raise IndexDamagedError("its head is damaged") from None
    if len(head) != size or hashlib.sha256(head).hexdigest() != digest:
        raise IndexDamagedError("its head is damaged")
    return head

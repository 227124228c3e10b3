"""A segment: what the pages of a cache say, counted once, in an immutable file of checksummed blocks.

    header      which pages and which version of Unicode it belongs to, sums of lengths, where the other blocks are
    columns     of every section: page, lengths of fields, what it costs in a reply; of every page: its first section
    records     of every page: id, version, file, title, and its sections: where they are, their headings
    orders      of every page: the codes of its terms, in order
    postings    of a common term: a block of its own
    buckets     all terms with the same hash; rare terms carry their postings with them
    directory   where each bucket begins

It holds raw numbers only, so that segments of different pages can be asked together: all statistics are sums. A segment
is a function of its pages, byte for byte, which is how a verification checks it.
"""

import struct
import zlib
from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

from contexthall.caches.index.blocks import (
    BlockPlace,
    BlockReader,
    BlockTable,
    Cursor,
    IndexDamagedError,
    Readable,
    well_formed,
)
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.query.bm25f import FieldLengths
from contexthall.core.text import UNICODE

MAGIC = b"CHSEG004"
HEADER = struct.Struct("<8s16s32s3I6Q10Q")
FIELDS = 4


class SectionColumns(NamedTuple):
    """Numbers of every section.

    Its page, the lengths of its fields, its costs as JSON and text, its bytes, its place among its page's ids.
    """

    page: "array[int]"
    heading: "array[int]"
    crumbs: "array[int]"
    body: "array[int]"
    json_cost: "array[int]"
    text_cost: "array[int]"
    size: "array[int]"
    place: "array[int]"


class PageColumns(NamedTuple):
    """Numbers of every page: the lengths of its fields, its first section, its bytes."""

    title: "array[int]"
    heading: "array[int]"
    body: "array[int]"
    first: "array[int]"
    size: "array[int]"


class SegmentSums(NamedTuple):
    """What a segment adds to the statistics of a cache: how many pages have sections, and lengths of fields."""

    pages: int = 0
    page_titles: int = 0
    section_titles: int = 0
    headings: int = 0
    crumbs: int = 0
    bodies: int = 0

    @classmethod
    def of(cls, sections: SectionColumns, pages: PageColumns) -> Self:
        """Add up the numbers of all sections and pages."""
        section_titles = sum(map(pages.title.__getitem__, sections.page))
        lengths = map(sum, (sections.heading, sections.crumbs, sections.body))
        return cls(len(set(sections.page)), sum(pages.title), section_titles, *lengths)


class Occurrences(NamedTuple):
    """Where a term occurs in one field: sections (for titles: pages), ascending, and how often in each."""

    units: "array[int]" = array("I")
    counts: "array[int]" = array("I")


class TermOrder(NamedTuple):
    """The codes of a page's terms, and where those of each field begin."""

    edges: "array[int]"
    codes: bytes

    def fields(self) -> list[bytes]:
        """Return the codes of every field."""
        return [self.codes[start:end] for start, end in pairwise(self.edges)]

    @property
    def size(self) -> int:
        return self.edges.itemsize * len(self.edges) + len(self.codes)

    def has(self, pair: bytes, number: int) -> bool:
        """Return whether codes stand side by side in the title, or in the heading or the body of a section."""
        find, edges = self.codes.find, self.edges
        return find(pair, 0, edges[1]) >= 0 or find(pair, edges[2 * number + 1], edges[2 * number + 3]) >= 0


class SegmentTerm(NamedTuple):
    """What a segment says of a term: its code, how many sections and pages have it, and where."""

    code: bytes
    sections: int
    pages: int
    title: Occurrences
    heading: Occurrences
    crumbs: Occurrences
    body: Occurrences

    @property
    def fields(self) -> tuple[Occurrences, ...]:
        return self[3:]


class Segment:
    """Looks up terms and pages in a segment, reading only what is asked for."""

    fetch: Callable[[list[Any]], object] | None = None
    """Gets what `wanted` names, in one round of requests, if the segment is not on this machine."""

    def wanted(self, _terms: Iterable[str], _pages: Iterable[int]) -> list[Any]:
        """Return what questions about these terms and pages read."""
        return []

    def __init__(self, file: Readable, size: int, key: bytes) -> None:
        """Believe the segment in `file` if it is the one with this key."""
        self._reader = BlockReader(file, size, key)
        with well_formed():
            magic, unicode_version, written_key, *counts = self._reader.header(HEADER)
            if magic != MAGIC or written_key != key or unicode_version.rstrip(b"\0") != UNICODE.encode():
                raise IndexDamagedError("made for other pages or by another version")
            self.pages, self.sections, self._buckets, *sums = counts[:9]
            self.sums, places = SegmentSums(*sums), counts[9:]
            if bool(self.sections) != bool(self.sums.pages):
                raise IndexDamagedError("sections of no page")
            columns, self._ids, *tables = (BlockPlace(*places[at : at + 2]) for at in range(0, len(places), 2))
            names = (("record", self.pages), ("order", self.pages), ("bucket", self._buckets))
            self._records, self._orders, self._terms = (
                BlockTable(self._reader, place, *each) for place, each in zip(tables, names, strict=True)
            )
            self._read_columns(Cursor(self._reader.read(columns, "columns")))

    def _read_columns(self, cursor: Cursor) -> None:
        self.columns = SectionColumns(*(cursor.numbers(self.sections) for _ in SectionColumns._fields))
        self.page_columns = PageColumns(*(cursor.numbers(self.pages) for _ in PageColumns._fields))
        firsts = self.page_columns.first
        if max(self.columns.page, default=-1) >= self.pages or sorted([0, *firsts, self.sections])[1:-1] != [*firsts]:
            raise IndexDamagedError("a section of no page")

    def ids(self) -> list[str]:
        """Return the ids of all pages."""
        with well_formed():
            found = self._reader.read(self._ids, "ids").decode().split("\0") if self.pages else []
        if len(found) != self.pages:
            raise IndexDamagedError("ids of another number of pages")
        return found

    def record(self, page: int) -> PageRecord:
        """Return what is recorded of a page."""
        with well_formed():
            return PageRecord.read(self._records[page], len(self.sections_of(page)))

    def orders(self, page: int) -> TermOrder:
        """Return the codes of a page's terms, in order: of its title, then of heading and body of each section."""
        with well_formed():
            cursor = Cursor(self._orders[page])
            lengths = cursor.numbers(1 + 2 * len(self.sections_of(page)))
            return TermOrder(array("Q", accumulate(lengths, initial=0)), cursor.rest())

    def sections_of(self, page: int) -> range:
        """Return the sections of a page."""
        firsts = self.page_columns.first
        return range(firsts[page], firsts[page + 1] if page + 1 < self.pages else self.sections)

    def field_lengths(self, field: int) -> "array[int]":
        """Return how many terms a field has: the title of every page, heading, crumbs or body of every section."""
        return self.columns[field] if field else self.page_columns.title

    def lengths(self, section: int) -> FieldLengths:
        """Return how many terms each field of a section has."""
        columns = self.columns
        title = self.page_columns.title[columns.page[section]]
        return FieldLengths(title, columns.heading[section], columns.crumbs[section], columns.body[section])

    def term(self, term: str) -> SegmentTerm | None:
        """Return what the segment says of a term."""
        name = term.encode()
        with well_formed():
            cursor = Cursor(self._terms[bucket_of(name, self._buckets)])
            count, outside = cursor.numbers(2)
            lengths, sums, places = cursor.numbers(3 * count), cursor.numbers(2 * count), cursor.numbers(outside)
            strings = cursor.strings(lengths)  # names, then codes, then postings
            if name not in strings[:count]:
                return None
            at = strings.index(name)
            payload = strings[2 * count + at]
            if not payload:
                where = 2 * strings[2 * count : 2 * count + at].count(b"")
                payload = self._reader.read(BlockPlace(*places[where : where + 2]), f"term {zlib.crc32(name)}")
            return SegmentTerm(strings[count + at], sums[2 * at], sums[2 * at + 1], *self._occurrences(Cursor(payload)))

    def codes(self) -> dict[bytes, str]:
        """Return every term by its code."""
        found: dict[bytes, str] = {}
        with well_formed():
            for bucket in range(self._buckets):
                cursor = Cursor(self._terms[bucket])
                count, outside = cursor.numbers(2)
                lengths = cursor.numbers(3 * count)
                cursor.numbers(2 * count)
                cursor.numbers(outside)
                strings = cursor.strings(lengths)
                found |= zip(strings[count : 2 * count], map(bytes.decode, strings[:count]), strict=True)
        return found

    def _occurrences(self, cursor: Cursor) -> list[Occurrences]:
        (present,) = cursor.take(1)
        fields = [field for field in range(FIELDS) if present >> field & 1]
        found = [Occurrences()] * FIELDS
        for field, count in zip(fields, cursor.numbers(len(fields)), strict=True):
            found[field] = each = Occurrences(cursor.ascending(count), cursor.counts(count))
            if each.units[-1] >= (self.sections if field else self.pages):
                raise IndexDamagedError("a term of a section that is not there")
        return found


def bucket_of(term: bytes, buckets: int) -> int:
    return zlib.crc32(term) * buckets >> 32

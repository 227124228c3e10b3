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

import hashlib
import struct
import zlib
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Self

from contexthall.caches.index.blocks import (
    BlockPlace,
    BlockReader,
    BlockTable,
    BlockWriter,
    Cursor,
    IndexDamagedError,
    Readable,
    pack_ascending,
    pack_numbers,
    well_formed,
)
from contexthall.caches.index.terms import terms
from contexthall.caches.model.items import Item
from contexthall.caches.model.markdown import LINE_END
from contexthall.caches.model.sections import Page, PagePart, name_sections
from contexthall.core import wire
from contexthall.core.text import UNICODE

_MAGIC = b"CHSEG001"
_HEADER = struct.Struct("<8s16s32s3I6Q10Q")
_LEADS = (0xC0, 0xE0, 0xF0, 0xF8, 0xFC)
_END_OF_FIELD = b"\xff"  # begins no code
_TERMS_PER_BUCKET = 8
_LONGEST_INLINE = 64
_FIELDS = 4
_NUMBERS_PER_SECTION = 8


class Lines(NamedTuple):
    """The lines of a section, from 1: its first, its last, the first after its heading's."""

    first: int
    last: int
    body: int


class PageRecord(NamedTuple):
    """A page as a segment records it: without its text, but with the lines of its sections."""

    id: str
    version: str
    page: Page
    lines: tuple[Lines, ...]

    def ids(self) -> list[str]:
        """Return the ids of the page's sections."""
        return [f"{self.id}#{section.slug}" for section in self.page.sections]

    @classmethod
    def read(cls, data: bytes, sections: int) -> Self:
        """Read what `to_bytes` wrote."""
        cursor = Cursor(data)
        numbers = [cursor.numbers(sections) for _ in range(_NUMBERS_PER_SECTION)]
        strings: Any = wire.parse(cursor.rest())
        page_id, version, title, stem, *headings = strings
        if not all(isinstance(string, str) for string in strings):
            raise IndexDamagedError("no page")
        *places, levels = numbers[:5]
        parts = [PagePart(*each) for each in zip(*places, headings, levels, strict=True)]
        lines = tuple(Lines(*each) for each in zip(*numbers[5:], strict=True))
        return cls(page_id, version, Page("", title, stem, name_sections(title, parts)), lines)

    def to_bytes(self) -> bytes:
        sections = self.page.sections
        rows = [(*section[:4], section.level, *lines) for section, lines in zip(sections, self.lines, strict=True)]
        numbers = ([row[at] for row in rows] for at in range(_NUMBERS_PER_SECTION))
        strings = (self.id, self.version, self.page.title, self.page.stem, *(section.heading for section in sections))
        return b"".join((*map(pack_numbers, numbers), wire.compact(strings).encode()))

    def item(self, number: int, text: str) -> Item:
        """Return a section as a reply shows it, from the page's text."""
        section, lines = self.page.sections[number], self.lines[number]
        title, content = self.page.full_title(section), text[section.start : section.end]
        return Item(f"{self.id}#{section.slug}", title, lines.first, lines.last, content)


class SectionColumns(NamedTuple):
    """Numbers of every section.

    Its page, the lengths of its fields, its costs as JSON and text, its bytes, its place among its page's ids.
    """

    page: Sequence[int]
    heading: Sequence[int]
    crumbs: Sequence[int]
    body: Sequence[int]
    json_cost: Sequence[int]
    text_cost: Sequence[int]
    size: Sequence[int]
    place: Sequence[int]


class SegmentSums(NamedTuple):
    """What a segment adds to the statistics of a cache: how many pages have sections, and lengths of fields."""

    pages: int
    page_titles: int
    section_titles: int
    headings: int
    crumbs: int
    bodies: int


class Occurrences(NamedTuple):
    """Where a term occurs in one field: sections (for titles: pages), ascending, and how often in each."""

    units: Sequence[int] = ()
    counts: Sequence[int] = ()


class TermOrder(NamedTuple):
    """The codes of a page's terms, and where those of each field begin."""

    edges: Sequence[int]
    codes: bytes

    def in_title(self, pair: bytes) -> bool:
        """Return whether codes stand side by side in the title."""
        return self.codes.find(pair, 0, self.edges[1]) >= 0

    def in_section(self, pair: bytes, number: int) -> bool:
        """Return whether codes stand side by side in the heading or the body of a section."""
        return self.codes.find(pair, self.edges[2 * number + 1], self.edges[2 * number + 3]) >= 0


class SegmentTerm(NamedTuple):
    """What a segment says of a term: its code, how many sections and pages have it, and where."""

    code: bytes
    sections: int
    pages: int
    title: Occurrences
    heading: Occurrences
    crumbs: Occurrences
    body: Occurrences


def segment_key(pages: Iterable[tuple[str, str]]) -> bytes:
    """Return what ties a segment to its pages, of which the ids and versions are given."""
    digest = hashlib.sha256(_MAGIC)
    for page in pages:
        digest.update(wire.compact(page).encode())
    return digest.digest()


def code_of(number: int) -> bytes:
    """Return the code of the term with this number: as in UTF-8, no code is found within another, or across two."""
    if number < 1 << 7:
        return bytes((number,))
    for tail, lead in enumerate(_LEADS, 1):
        if number < 1 << (6 + 5 * tail):
            rest = (0x80 | number >> 6 * place & 0x3F for place in reversed(range(tail)))
            return bytes((lead | number >> 6 * tail, *rest))
    raise OverflowError("more terms than a segment can have")


class _Codes(dict[str, bytes]):
    """The codes of terms, in the order in which they are first met."""

    def __missing__(self, term: str) -> bytes:
        code = self[term] = code_of(len(self))
        return code


class SegmentBuilder:
    """Counts pages, one by one, by ascending id, and writes down what it counted."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._pages: list[tuple[str, str]] = []
        self._records: list[bytes] = []
        self._orders: list[bytes] = []
        self._columns = [array("I") for _ in SectionColumns._fields]
        self._titles, self._firsts, self._sizes = array("I"), array("I"), array("I")
        self._fields = [defaultdict[str, "array[int]"](lambda: array("Q")) for _ in range(_FIELDS)]

    def add(self, page_id: str, version: str, page: Page) -> None:
        """Count a page."""
        number = len(self._pages)
        title = terms(page.title) if page.sections else []
        named = title + terms(page.stem) if page.sections else []
        self._pages.append((page_id, version))
        self._titles.append(len(named))
        self._firsts.append(len(self._columns[0]))
        self._sizes.append(len(page.text.encode()))
        self._count(0, number, named)
        record = PageRecord(page_id, version, page, _lines(page))
        orders = [self._order(title)]
        slugs = sorted(section.slug for section in page.sections)
        for at, section in enumerate(page.sections):
            heading = terms(section.heading) if section.heading != page.title else []
            crumbs = [term for crumb in section.crumbs for term in terms(crumb)]
            body = terms(page.body(section))
            for field, found in enumerate((heading, crumbs, body), 1):
                self._count(field, len(self._columns[0]), found)
            orders += (self._order(heading), self._order(body))
            item = record.item(at, page.text)
            lengths = len(heading), len(crumbs), len(body)
            size, place = len(item.content.encode()), bisect_left(slugs, section.slug)
            for column, value in zip(self._columns, (number, *lengths, *item.costs(), size, place), strict=True):
                column.append(value)
        self._orders.append(pack_numbers([*map(len, orders)]) + b"".join(orders))
        self._records.append(record.to_bytes())

    def __len__(self) -> int:
        """Return how many pages were counted."""
        return len(self._pages)

    @property
    def key(self) -> bytes:
        return segment_key(self._pages)

    def to_bytes(self) -> bytes:
        """Return the segment."""
        writer = BlockWriter(self.key, _HEADER)
        columns = writer.add(
            b"".join(map(pack_numbers, (*self._columns, self._titles, self._firsts, self._sizes))), "columns"
        )
        ids = writer.add("\0".join(page_id for page_id, _ in self._pages).encode(), "ids")
        records = writer.add_table(self._records, "record")
        orders = writer.add_table(self._orders, "order")
        buckets = self._buckets(writer)
        places = (*columns, *ids, *records, *orders, *writer.add_table(buckets, "bucket"))
        counts = len(self._pages), len(self._columns[0]), len(buckets)
        return writer.finish(_MAGIC, UNICODE.encode(), self.key, *counts, *self._sums(), *places)

    def _sums(self) -> SegmentSums:
        counts = [len(self._sections_of(page)) for page in range(len(self._pages))]
        section_titles = sum(length * count for length, count in zip(self._titles, counts, strict=True))
        headings, crumbs, bodies = map(sum, self._columns[1:4])
        return SegmentSums(sum(map(bool, counts)), sum(self._titles), section_titles, headings, crumbs, bodies)

    def _order(self, found: list[str]) -> bytes:
        return b"".join(map(self._codes.__getitem__, found)) + _END_OF_FIELD

    def _count(self, field: int, unit: int, found: list[str]) -> None:
        occurrences, base = self._fields[field], unit << 32
        for term, count in Counter(found).items():
            occurrences[term].append(base | count)

    def _buckets(self, writer: BlockWriter) -> list[bytes]:
        """Return the buckets; what is long of their postings goes into blocks of its own."""
        every = sorted(set().union(*self._fields))
        count = 1 + len(every) // _TERMS_PER_BUCKET
        filled: list[list[str]] = [[] for _ in range(count)]
        for term in every:
            filled[bucket_of(term.encode(), count)].append(term)
        return [self._bucket(bucket, writer) for bucket in filled]

    def _bucket(self, bucket: list[str], writer: BlockWriter) -> bytes:
        names = [term.encode() for term in bucket]
        payloads, places, sums = [], list[int](), list[int]()
        for term in bucket:
            payload, having = self._postings(term)
            sums += having
            if len(payload) > _LONGEST_INLINE:
                places += writer.add(payload, f"term {zlib.crc32(term.encode())}")
                payload = b""
            payloads.append(payload)
        codes = [self._codes[term] for term in bucket]
        lengths = [*map(len, names), *map(len, codes), *map(len, payloads)]
        head = (pack_numbers([len(bucket), len(places)]), *map(pack_numbers, (lengths, sums, places)))
        return b"".join((*head, *names, *codes, *payloads))

    def _postings(self, term: str) -> tuple[bytes, tuple[int, int]]:
        """Return where a term occurs, and how many sections and pages have it."""
        found = [field.get(term, ()) for field in self._fields]
        data, units = [pack_numbers([*map(len, found)])], list[list[int]]()
        for each in found:
            units.append([value >> 32 for value in each])
            if each:
                data += (pack_ascending(units[-1]), pack_numbers([value & 0xFFFFFFFF for value in each]))
        titled, *others = units
        sections = {section for page in titled for section in self._sections_of(page)}.union(*others)
        return b"".join(data), (len(sections), len(set(map(self._columns[0].__getitem__, sections))))

    def _sections_of(self, page: int) -> range:
        after = self._firsts[page + 1] if page + 1 < len(self._firsts) else len(self._columns[0])
        return range(self._firsts[page], after)


class Segment:
    """Looks up terms and pages in a segment, reading only what is asked for."""

    def __init__(self, file: Readable, size: int, key: bytes) -> None:
        """Believe the segment in `file` if it is the one with this key."""
        self._reader = BlockReader(file, size, key)
        with well_formed():
            magic, unicode_version, written_key, *counts = self._reader.header(_HEADER)
            if magic != _MAGIC or written_key != key or unicode_version.rstrip(b"\0") != UNICODE.encode():
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
        self.titles = cursor.numbers(self.pages)
        self.firsts = cursor.numbers(self.pages)
        self.page_sizes = cursor.numbers(self.pages)
        if any(page >= self.pages for page in self.columns.page):
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
            return PageRecord.read(self._records[page], self._count_sections(page))

    def orders(self, page: int) -> TermOrder:
        """Return the codes of a page's terms, in order: of its title, then of heading and body of each section."""
        with well_formed():
            cursor = Cursor(self._orders[page])
            lengths = cursor.numbers(1 + 2 * self._count_sections(page))
            return TermOrder([0, *accumulate(lengths)], cursor.rest())

    def _count_sections(self, page: int) -> int:
        return (self.firsts[page + 1] if page + 1 < self.pages else self.sections) - self.firsts[page]

    def term(self, term: str) -> SegmentTerm | None:
        """Return what the segment says of a term."""
        name = term.encode()
        with well_formed():
            cursor = Cursor(self._terms[bucket_of(name, self._buckets)])
            count, outside = cursor.numbers(2)
            lengths, sums, places = cursor.numbers(3 * count), cursor.numbers(2 * count), cursor.numbers(outside)
            names, codes, payloads = (
                [cursor.take(length) for length in lengths[at : at + count]] for at in (0, count, 2 * count)
            )
            if name not in names:
                return None
            at = names.index(name)
            payload = payloads[at]
            if not payload:
                where = 2 * sum(not each for each in payloads[:at])
                payload = self._reader.read(BlockPlace(*places[where : where + 2]), f"term {zlib.crc32(name)}")
            return SegmentTerm(codes[at], sums[2 * at], sums[2 * at + 1], *self._occurrences(Cursor(payload)))

    def _occurrences(self, cursor: Cursor) -> list[Occurrences]:
        found = []
        for field, count in enumerate(cursor.numbers(_FIELDS)):
            each = Occurrences(cursor.ascending(count), cursor.numbers(count)) if count else Occurrences()
            if count and each.units[-1] >= (self.sections if field else self.pages):
                raise IndexDamagedError("a term of a section that is not there")
            found.append(each)
        return found


def bucket_of(term: bytes, buckets: int) -> int:
    return zlib.crc32(term) * buckets >> 32


def _lines(page: Page) -> tuple[Lines, ...]:
    """Count the lines of a page's sections."""
    text, line, at, found = page.text, 1, 0, []

    def number(place: int) -> int:
        nonlocal line, at
        passed, at = text[at:place], place
        line += len(LINE_END.findall(passed)) if "\r" in passed else passed.count("\n")
        return line

    for section in page.sections:
        first = number(section.start)
        has_heading = section.heading_start < section.heading_end
        body = number(section.heading_end) + (text[section.heading_end - 1] not in "\r\n") if has_heading else first
        last = number(section.end) - (text[section.end - 1] in "\r\n")
        found.append(Lines(first, last, body))
    return tuple(found)

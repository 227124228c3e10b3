"""Counts pages into a segment."""

import hashlib
import re
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import NamedTuple

from contexthall.caches.index.blocks import BlockWriter, pack_ascending, pack_counts, pack_numbers, well_formed
from contexthall.caches.index.match_table import numbers, packed
from contexthall.caches.index.occurrences import CountedField, counted, ranked, renumbered
from contexthall.caches.index.page_record import PageRecord, lines_of
from contexthall.caches.index.segment import (
    FIELDS,
    HEADER,
    MAGIC,
    PageColumns,
    SectionColumns,
    Segment,
    SegmentSums,
    bucket_of,
)
from contexthall.caches.index.terms import derive_terms, words
from contexthall.caches.model.page import Page
from contexthall.core import wire
from contexthall.core.text import UNICODE

_LEADS = (0xC0, 0xE0, 0xF0, 0xF8, 0xFC)
_END_OF_FIELD = b"\xff"  # begins no code
_TERMS_PER_BUCKET = 16
_LONGEST_INLINE = 255  # so that the length of each is one byte
_BODY_ONLY = b"\x08"
_CHARACTERS = 0x110000
_CODE = re.compile(rb"[\x00-\x7f\xc0-\xfe][\x80-\xbf]*")


def segment_key(pages: Iterable[tuple[str, str]]) -> bytes:
    """Return what ties a segment to its pages, of which the ids and versions are given."""
    digest = hashlib.sha256(MAGIC)
    for page in pages:
        digest.update(wire.compact(page).encode())
    return digest.digest()


def code_of(number: int) -> bytes:
    """Return the code of the term with this number: as in UTF-8, no code is found within another, or across two."""
    if number < _CHARACTERS:
        return chr(number).encode("utf-8", "surrogatepass")
    for tail, lead in enumerate(_LEADS, 1):
        if number < 1 << (6 + 5 * tail):
            rest = (0x80 | number >> 6 * place & 0x3F for place in reversed(range(tail)))
            return bytes((lead | number >> 6 * tail, *rest))
    raise OverflowError("more terms than a segment can have")


def codes_of(found: "array[int]") -> bytes:
    """Return the codes of terms, one after the other."""
    if max(found, default=0) < _CHARACTERS:
        return packed(found).decode("utf-32-le", "surrogatepass").encode("utf-8", "surrogatepass")
    return b"".join(map(code_of, found))


def numbers_of(codes: bytes) -> "array[int]":
    """Return the numbers of the terms that have these codes, without the end of their field."""
    codes = codes.removesuffix(_END_OF_FIELD)
    try:
        return numbers("I", codes.decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass"))
    except UnicodeDecodeError:  # beyond what characters there are
        return array("I", [_number_of(code) for code in _CODE.findall(codes)])


def _number_of(code: bytes) -> int:
    if len(code) == 1:
        return code[0]
    number = code[0] & 0x7F >> len(code)
    for rest in code[1:]:
        number = number << 6 | rest & 0x3F
    return number


class _TermNumbers(dict[str, tuple[int, ...]]):
    """The numbers of the terms of every word, in the order in which terms are first met."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        self[word] = found = tuple([self.terms.setdefault(term, len(self.terms)) for term in derive_terms(word)])
        return found

    def of(self, text: str) -> "array[int]":
        """Return the numbers of a text's terms, in order."""
        return array("I", [*chain.from_iterable(map(self.__getitem__, words(text)))])


class _Renumbered(dict[int, int]):
    """The numbers of another segment's terms among ours, in the order in which they are first met."""

    def __init__(self, terms: Mapping[int, str], ours: dict[str, int]) -> None:
        self._terms = terms
        self._ours = ours

    def __missing__(self, number: int) -> int:
        self[number] = ours = self._ours.setdefault(self._terms[number], len(self._ours))
        return ours


class CountedSection(NamedTuple):
    """The terms of a section's heading and body, by number, its costs as JSON and text, and its bytes."""

    heading: "array[int]"
    body: "array[int]"
    json_cost: int
    text_cost: int
    size: int


class SegmentBuilder:
    """Counts pages, one by one, by ascending id, and writes down what it counted."""

    def __init__(self) -> None:
        self._numbers = _TermNumbers()
        self._pages: list[tuple[str, str]] = []
        self._records: list[bytes] = []
        self._titles = array("I")
        self._columns = [array("I") for _ in SectionColumns._fields]
        self._page_columns = PageColumns(*(array("I") for _ in PageColumns._fields))
        self._fields = [array("I") for _ in range(FIELDS)]

    def add(self, page_id: str, version: str, page: Page) -> None:
        """Count a page."""
        record, numbers = PageRecord(page_id, version, page, lines_of(page)), self._numbers.of
        title = numbers(page.title) if page.sections else array("I")
        counted_sections = []
        for at, section in enumerate(page.sections):
            heading = numbers(section.heading) if section.heading != page.title else array("I")
            item = record.item(at, page.text)
            counted_sections.append(CountedSection(heading, numbers(page.body(section)), *item.costs(), item.size))
        self._add(record, len(page.text.encode()), title, counted_sections)

    def copy(self, segment: Segment, page: int, renumbered: "Mapping[int, int]") -> None:
        """Count a page as another segment has it, whose terms have other numbers here."""
        sections = segment.sections_of(page)
        with well_formed():
            orders = map(numbers_of, segment.orders(page).fields())
            title, *fields = (array("I", map(renumbered.__getitem__, order)) for order in orders)
            costs = zip(*(column[sections.start : sections.stop] for column in segment.columns[4:7]), strict=True)
            rows = zip(fields[::2], fields[1::2], costs, strict=True)
            counted_sections = [CountedSection(heading, body, *each) for heading, body, each in rows]
        self._add(segment.record(page), segment.page_columns.size[page], title, counted_sections)

    def renumbered(self, terms: Mapping[int, str]) -> Mapping[int, int]:
        """Return the numbers that the terms of another segment, which has these, have here."""
        return _Renumbered(terms, self._numbers.terms)

    def _add(self, record: PageRecord, size: int, title: "array[int]", sections: "Sequence[CountedSection]") -> None:
        page, number, first = record.page, len(self._pages), len(self._columns[0])
        named = title + self._numbers.of(page.stem) if sections else title
        self._pages.append((record.id, record.version))
        self._fields[0].extend(named)
        self._titles.append(len(title))
        slugs = sorted(section.slug for section in page.sections)
        above = {section.heading: each.heading for section, each in zip(page.sections, sections, strict=True)}
        for section, each in zip(page.sections, sections, strict=True):
            crumbs = array("I", chain.from_iterable(map(above.__getitem__, section.crumbs)))
            lengths = len(each.heading), len(crumbs), len(each.body)
            row = (number, *lengths, each.json_cost, each.text_cost, each.size, bisect_left(slugs, section.slug))
            for field, found in zip(self._fields[1:], (each.heading, crumbs, each.body), strict=True):
                field.extend(found)
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)
        self._records.append(record.to_bytes())
        headings, bodies = (sum(self._columns[column][first:]) for column in (1, 3))
        for column, value in zip(self._page_columns, (len(named), headings, bodies, first, size), strict=True):
            column.append(value)

    def __len__(self) -> int:
        """Return how many pages were counted."""
        return len(self._pages)

    @property
    def words(self) -> int:
        """How many different words were met."""
        return len(self._numbers)

    @property
    def key(self) -> bytes:
        return segment_key(self._pages)

    def to_bytes(self) -> bytes:
        """Return the segment."""
        self._numbers.clear()  # only its terms are needed from here on, and memory is
        writer = BlockWriter(self.key, HEADER)
        columns = writer.add(b"".join(map(pack_numbers, (*self._columns, *self._page_columns))), "columns")
        ids = writer.add("\0".join(page_id for page_id, _ in self._pages).encode(), "ids")
        records = writer.add_table(self._records, "record")
        ranks = ranked(self._fields, len(self._numbers.terms))
        orders = writer.add_table(self._orders(ranks), "order")
        buckets = self._buckets(writer, ranks)
        places = (*columns, *ids, *records, *orders, *writer.add_table(buckets, "bucket"))
        counts = len(self._pages), len(self._columns[0]), len(buckets)
        sums = SegmentSums.of(SectionColumns(*self._columns), self._page_columns)
        return writer.finish(MAGIC, UNICODE.encode(), self.key, *counts, *sums, *places)

    def _orders(self, ranks: "array[int]") -> Iterator[bytes]:
        """Yield the codes of every page's terms, in order."""
        titles, headings, bodies = (renumbered(self._fields[field], ranks) for field in (0, 1, 3))
        title_edges, heading_edges, body_edges = (
            [0, *accumulate(lengths)] for lengths in (self._page_columns.title, self._columns[1], self._columns[3])
        )
        for page, length in enumerate(self._titles):
            start = title_edges[page]
            orders = [codes_of(titles[start : start + length])]
            for section in self._sections_of(page):
                orders.append(codes_of(headings[heading_edges[section] : heading_edges[section + 1]]))
                orders.append(codes_of(bodies[body_edges[section] : body_edges[section + 1]]))
            yield pack_numbers([len(order) + 1 for order in orders]) + _END_OF_FIELD.join((*orders, b""))

    def _counted(self) -> list[CountedField]:
        lengths = self._page_columns.title, *self._columns[1:4]
        terms = len(self._numbers.terms)
        return [counted(found, each, terms) for found, each in zip(self._fields, lengths, strict=True)]

    def _buckets(self, writer: BlockWriter, ranks: "array[int]") -> list[bytes]:
        """Return the buckets; what is long of their postings goes into blocks of its own."""
        fields, names = self._counted(), [term.encode() for term in self._numbers.terms]
        count = 1 + len(names) // _TERMS_PER_BUCKET
        filled: list[list[int]] = [[] for _ in range(count)]
        for number, name in enumerate(names):
            filled[bucket_of(name, count)].append(number)
        return [
            self._bucket(bucket, names, [code_of(ranks[each]) for each in bucket], fields, writer) for bucket in filled
        ]

    def _bucket(
        self,
        bucket: Sequence[int],
        names: Sequence[bytes],
        codes: Sequence[bytes],
        fields: Sequence[CountedField],
        writer: BlockWriter,
    ) -> bytes:
        payloads, places, sums = [], list[int](), list[int]()
        for number in bucket:
            payload, having = self._postings([field.of(number) for field in fields])
            sums += having
            if len(payload) > _LONGEST_INLINE:
                places += writer.add(payload, f"term {zlib.crc32(names[number])}")
                payload = b""
            payloads.append(payload)
        strings = [*map(names.__getitem__, bucket), *codes, *payloads]
        head = pack_numbers([len(bucket), len(places)]), pack_numbers([*map(len, strings)])
        return b"".join((*head, pack_numbers(sums), pack_numbers(places), *strings))

    def _postings(self, fields: Sequence[tuple["array[int]", "array[int]"]]) -> tuple[bytes, tuple[int, int]]:
        """Return where a term occurs, and how many sections and pages have it."""
        (titled, _), (headings, _), (crumbs, _), (sections, counts) = fields
        if not (titled or headings or crumbs):  # as with most terms
            data = _BODY_ONLY, pack_numbers((len(sections),)), pack_ascending(sections), pack_counts(counts)
            return b"".join(data), self._having(sections)
        present = [number for number, (units, _) in enumerate(fields) if units]
        lengths = pack_numbers([len(fields[number][0]) for number in present])
        postings = [pack_ascending(fields[number][0]) + pack_counts(fields[number][1]) for number in present]
        of_titles = (section for page in titled for section in self._sections_of(page))
        every = {*sections, *headings, *crumbs, *of_titles}
        return b"".join((bytes((sum(1 << each for each in present),)), lengths, *postings)), self._having(every)

    def _having(self, sections: Collection[int]) -> tuple[int, int]:
        """Return how many sections these are, and of how many pages."""
        return len(sections), len(set(map(self._columns[0].__getitem__, sections)))

    def _sections_of(self, page: int) -> range:
        firsts = self._page_columns.first
        return range(firsts[page], firsts[page + 1] if page + 1 < len(firsts) else len(self._columns[0]))


def copied(segments: Iterable[Segment]) -> SegmentBuilder:
    """Count the pages of segments again, by ascending id, without their texts."""
    builder, every = SegmentBuilder(), []
    for segment in segments:
        terms = {numbers_of(code)[0]: term for code, term in segment.codes().items()}
        renumbered = builder.renumbered(terms)
        every += [(page_id, segment, page, renumbered) for page, page_id in enumerate(segment.ids())]
    for _, segment, page, renumbered in sorted(every, key=itemgetter(0)):
        builder.copy(segment, page, renumbered)
    return builder


def is_same(segment: Segment, other: Segment) -> bool:
    """Return whether two segments say the same of the same pages, whatever they say of terms that these do not have."""
    if copied([segment]).to_bytes() != copied([other]).to_bytes():
        return False
    terms = {*segment.codes().values(), *other.codes().values()}
    pairs = ((segment.term(term), other.term(term)) for term in terms)
    return all((one and one[1:]) == (two and two[1:]) for one, two in pairs)  # but for its code

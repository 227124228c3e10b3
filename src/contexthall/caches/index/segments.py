"""The segments of a cache, asked as one: statistics are sums, sections and pages are numbered through. Pure."""

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import lt
from typing import Any, NamedTuple

from contexthall.caches.index.blocks import WIDTHS
from contexthall.caches.index.kept import Kept
from contexthall.caches.index.match_table import numbers, packed
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segment import Segment, SegmentSums, SegmentTerm, TermOrder
from contexthall.caches.query.bm25f import Averages, FieldLengths, averages
from contexthall.core import limits

_UP_TO_HASH = re.compile(r"[\x00-#]")


class FoundTerm(NamedTuple):
    """Where a term is found in one segment: the segment's number, and what it says of the term."""

    segment: int
    entry: SegmentTerm


class FoundOrder(NamedTuple):
    """The order of a page's terms, in the codes of one segment, by its number."""

    segment: int
    order: TermOrder


class Segments:
    """All segments of a cache."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.all = segments
        self._distant = [number for number, segment in enumerate(segments) if segment.fetch]
        self._records = Kept[int, PageRecord](limits.KEPT_RECORDS_BYTES)
        self._orders = Kept[int, FoundOrder](limits.KEPT_ORDERS_BYTES)
        self.first_section = [0, *accumulate(segment.sections for segment in segments)]
        self.first_page = [0, *accumulate(segment.pages for segment in segments)]
        sums = SegmentSums(*(sum(each) for each in zip(SegmentSums(), *(one.sums for one in segments), strict=True)))
        self.sections = self.first_section[-1]
        self.pages = sums.pages
        self.sums = {"sections": self.sections, **sums._asdict()}
        """All that statistics need besides those of terms."""
        self.average_over(self.sums)

    def average_over(self, sums: Mapping[str, int]) -> None:
        """Compare lengths with the averages of these sums: those of all shards, if these segments are of some."""
        if sums["sections"]:
            lengths = FieldLengths(sums["section_titles"], sums["headings"], sums["crumbs"], sums["bodies"])
            self.section_averages: Averages = averages(lengths, sums["sections"])
            self.page_averages: Averages = averages(lengths._replace(title=sums["page_titles"]), sums["pages"])

    def find(self, term: str) -> list[FoundTerm]:
        """Return where a term is found."""
        found = ((number, segment.term(term)) for number, segment in enumerate(self.all))
        return [FoundTerm(number, entry) for number, entry in found if entry is not None]

    def fetch(self, terms: Sequence[str] = (), pages: Iterable[int] = ()) -> None:
        """Get what is read next of terms and pages; from a store, that is one round of requests."""
        if not self._distant:
            return
        own = defaultdict[int, list[int]](list)
        for page in pages:
            number = bisect_right(self.first_page, page) - 1
            own[number].append(page - self.first_page[number])
        rounds = defaultdict[Any, list[Any]](list)
        for number in self._distant:
            segment = self.all[number]
            rounds[segment.fetch] += segment.wanted(terms, own[number])
        for fetch, wanted in rounds.items():
            fetch(wanted)

    @cached_property
    def page(self) -> "array[int]":
        """The page of every section."""
        pages = array("I")
        for segment, first in zip(self.all, self.first_page, strict=False):
            pages.extend(shifted(segment.columns.page, first))
        return pages

    @cached_property
    def json_cost(self) -> "array[int]":
        return self._column("json_cost")

    @cached_property
    def text_cost(self) -> "array[int]":
        return self._column("text_cost")

    @cached_property
    def size(self) -> "array[int]":
        return self._column("size")

    @cached_property
    def place(self) -> "array[int]":
        return self._column("place")

    @cached_property
    def page_ids(self) -> list[str]:
        """The id of every page."""
        return [each for segment in self.all for each in segment.ids()]

    @cached_property
    def first(self) -> "array[int]":
        """The first section of every page, and after the last."""
        starts = zip(self.all, self.first_section, strict=False)
        return array(
            "I", [base + first for segment, base in starts for first in segment.page_columns.first] + [self.sections]
        )

    @cached_property
    def page_lengths(self) -> tuple["array[int]", ...]:
        """How many terms title, headings and bodies of every page have."""
        columns = zip(*(segment.page_columns[:3] for segment in self.all), strict=True)
        return tuple(array("I", chain.from_iterable(column)) for column in columns)

    def of(self, number: int) -> tuple[Segment, int, int]:
        """Return a segment, and the numbers of its first section and page."""
        return self.all[number], self.first_section[number], self.first_page[number]

    def segment_of(self, page: int) -> tuple[Segment, int]:
        """Return the segment of a page, and the page's number there."""
        number = bisect_right(self.first_page, page) - 1
        return self.all[number], page - self.first_page[number]

    def page_size(self, page: int) -> int:
        """Return how many bytes a page has."""
        number = bisect_right(self.first_page, page) - 1
        return int(self.all[number].page_columns.size[page - self.first_page[number]])

    def id_order(self, section: int) -> str | int:
        """Return what compares as the id of a section does."""
        ranks = self.page_ranks
        return ranks[self.page[section]] << 32 | self.place[section] if ranks else self.id(section)

    @cached_property
    def page_ranks(self) -> "array[int]":
        """Where each page stands by the ids of its sections; none if one page's may stand between another's."""
        paths = self.page_ids
        if odd := _UP_TO_HASH.findall("~".join(paths)):  # ids without these compare as their sections' do
            paths = [f"{page_id}#" for page_id in paths]
            # What begins with another path stands directly behind it, or behind one that does so too.
            if "#" in odd and any(after.startswith(before) for before, after in pairwise(sorted(paths))):
                return array("I")
        ranks = array("I", range(len(paths)))
        if all(map(lt, paths, paths[1:])):
            return ranks
        for rank, page in enumerate(sorted(range(len(paths)), key=paths.__getitem__)):
            ranks[page] = rank
        return ranks

    def id(self, section: int) -> str:
        """Return the id of a section."""
        page = self.page[section]
        record = self.record(page)
        return f"{record.id}#{record.page.sections[section - self.first[page]].slug}"

    def sections_of(self, page: int) -> range:
        return range(self.first[page], self.first[page + 1])

    def record(self, page: int) -> PageRecord:
        if kept := self._records.get(page):
            return kept[0]
        number = bisect_right(self.first_page, page) - 1
        record = self.all[number].record(page - self.first_page[number])
        self._records.keep(page, record, record.size)
        return record

    def orders(self, page: int) -> FoundOrder:
        """Return in which segment a page is, and the codes of its terms."""
        if kept := self._orders.get(page):
            return kept[0]
        number = bisect_right(self.first_page, page) - 1
        found = FoundOrder(number, self.all[number].orders(page - self.first_page[number]))
        self._orders.keep(page, found, found.order.size)
        return found

    def _column(self, name: str) -> "array[int]":
        columns: list[array[int]] = [getattr(segment.columns, name) for segment in self.all]
        column = array(max((each.typecode for each in columns), key=WIDTHS.index, default="I"))
        for each in columns:
            # Of one width, they are copied at once.
            column.extend(each if each.typecode == column.typecode else array(column.typecode, each))
        return column


def shifted(values: "array[int]", by: int) -> "array[int]":
    """Return numbers as such of 32 bits, each greater by the same: added side by side, as one long integer."""
    narrow, wide = packed(values), bytearray(4 * len(values))
    for place in range(values.itemsize):
        wide[place::4] = narrow[place :: values.itemsize]
    added = packed(array("I", [by]) * len(values))
    total = int.from_bytes(wide, "little") + int.from_bytes(added, "little")
    return numbers("I", total.to_bytes(len(wide), "little"))

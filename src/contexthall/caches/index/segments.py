"""The segments of a cache, asked as one: statistics are sums, sections and pages are numbered through. Pure."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from contexthall.caches.index.segment import PageRecord, Segment, SegmentSums, SegmentTerm, TermOrder
from contexthall.caches.query.bm25f import Averages, FieldLengths, averages


class FoundTerm(NamedTuple):
    """Where a term is found in one segment: the segment's number, and what it says of the term."""

    segment: int
    entry: SegmentTerm


class Segments:
    """All segments of a cache."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.all = segments
        self.first_section = [0, *accumulate(segment.sections for segment in segments)]
        self.first_page = [0, *accumulate(segment.pages for segment in segments)]
        sums = SegmentSums(*map(sum, zip(*(segment.sums for segment in segments), strict=True))) if segments else None
        self.sections = self.first_section[-1]
        self.pages = sums.pages if sums else 0
        if sums and self.sections:
            lengths = FieldLengths(sums.section_titles, sums.headings, sums.crumbs, sums.bodies)
            self.section_averages: Averages = averages(lengths, self.sections)
            self.page_averages: Averages = averages(lengths._replace(title=sums.page_titles), self.pages)

    def find(self, term: str) -> list[FoundTerm]:
        """Return where a term is found."""
        found = ((number, segment.term(term)) for number, segment in enumerate(self.all))
        return [FoundTerm(number, entry) for number, entry in found if entry is not None]

    @cached_property
    def page(self) -> "array[int]":
        """The page of every section."""
        return self._column("page", self.first_page)

    @cached_property
    def heading(self) -> "array[int]":
        return self._column("heading")

    @cached_property
    def crumbs(self) -> "array[int]":
        return self._column("crumbs")

    @cached_property
    def body(self) -> "array[int]":
        return self._column("body")

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
    def title(self) -> "array[int]":
        """How many terms the title of every page has."""
        return array("I", [length for segment in self.all for length in segment.titles])

    @cached_property
    def first(self) -> "array[int]":
        """The first section of every page, and after the last."""
        starts = zip(self.all, self.first_section, strict=False)
        return array("I", [base + first for segment, base in starts for first in segment.firsts] + [self.sections])

    def page_size(self, page: int) -> int:
        """Return how many bytes a page has."""
        number = bisect_right(self.first_page, page) - 1
        return int(self.all[number].page_sizes[page - self.first_page[number]])

    def is_before(self, section: int, other: int) -> bool:
        """Return whether the id of one section is smaller than that of another."""
        page, other_page = self.page[section], self.page[other]
        if page == other_page:
            return self.place[section] < self.place[other]
        path, other_path = f"{self.page_ids[page]}#", f"{self.page_ids[other_page]}#"
        if path.startswith(other_path) or other_path.startswith(path):
            return self.id(section) < self.id(other)
        return path < other_path

    def id(self, section: int) -> str:
        """Return the id of a section."""
        page = self.page[section]
        record = self.record(page)
        return f"{record.id}#{record.page.sections[section - self.first[page]].slug}"

    def sections_of(self, page: int) -> range:
        return range(self.first[page], self.first[page + 1])

    def lengths(self, section: int) -> FieldLengths:
        """Return how many terms each field of a section has."""
        title = self.title[self.page[section]]
        return FieldLengths(title, self.heading[section], self.crumbs[section], self.body[section])

    def page_lengths(self, page: int) -> FieldLengths:
        """Return how many terms each field of a page has; crumbs do not count."""
        sections = slice(self.first[page], self.first[page + 1])
        return FieldLengths(self.title[page], sum(self.heading[sections]), 0, sum(self.body[sections]))

    def record(self, page: int) -> PageRecord:
        number = bisect_right(self.first_page, page) - 1
        return self.all[number].record(page - self.first_page[number])

    def orders(self, page: int) -> tuple[int, TermOrder]:
        """Return in which segment a page is, and the codes of its terms."""
        number = bisect_right(self.first_page, page) - 1
        return number, self.all[number].orders(page - self.first_page[number])

    def _column(self, name: str, bases: Sequence[int] | None = None) -> "array[int]":
        column = array("I")
        for number, segment in enumerate(self.all):
            values: Sequence[int] = getattr(segment.columns, name)
            base = bases[number] if bases else 0
            column.extend(array("I", [base + value for value in values] if base else values))
        return column

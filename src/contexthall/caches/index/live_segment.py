"""A segment some of whose pages are gone: what is left of it, numbered through. Pure.

A segment is never changed. Where pages were edited or removed since, the list of segments says which ones no longer
count, and everybody else sees a segment without them.
"""

from array import array
from collections.abc import Collection
from itertools import accumulate, compress

from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segment import (
    Occurrences,
    PageColumns,
    SectionColumns,
    Segment,
    SegmentSums,
    SegmentTerm,
    TermOrder,
)

_GONE = 0xFFFFFFFF


class LiveSegment(Segment):
    """A segment without the pages that have these numbers."""

    def __init__(self, whole: Segment, gone: Collection[int]) -> None:
        if not all(0 <= page < whole.pages for page in gone):
            raise IndexDamagedError("a page is gone that was never there")
        self._whole = whole
        self._kept = [page for page in range(whole.pages) if page not in gone]
        sections = [section for page in self._kept for section in whole.sections_of(page)]
        self.pages, self.sections = len(self._kept), len(sections)
        self._page_numbers = _numbered(self._kept, whole.pages)
        self._section_numbers = _numbered(sections, whole.sections)
        self.columns = SectionColumns(*(_picked(column, sections) for column in whole.columns))
        pages = array("I", map(self._page_numbers.__getitem__, self.columns.page))
        self.columns = self.columns._replace(page=pages)
        columns = PageColumns(*(_picked(column, self._kept) for column in whole.page_columns))
        counts = [len(whole.sections_of(page)) for page in self._kept]
        self.page_columns = columns._replace(first=array("I", [0, *accumulate(counts)][: self.pages]))
        self.sums = SegmentSums.of(self.columns, self.page_columns)

    def ids(self) -> list[str]:
        every = self._whole.ids()
        return [every[page] for page in self._kept]

    def record(self, page: int) -> PageRecord:
        return self._whole.record(self._kept[page])

    def orders(self, page: int) -> TermOrder:
        return self._whole.orders(self._kept[page])

    def codes(self) -> dict[bytes, str]:
        return self._whole.codes()

    def term(self, term: str) -> SegmentTerm | None:
        found = self._whole.term(term)
        if found is None:
            return None
        title, *others = found.fields
        fields = [self._left(title, self._page_numbers), *(self._left(each, self._section_numbers) for each in others)]
        sections = {section for page in fields[0].units for section in self.sections_of(page)}
        sections.update(*(field.units for field in fields[1:]))
        if not sections:
            return None
        pages = set(map(self.columns.page.__getitem__, sections))
        return SegmentTerm(found.code, len(sections), len(pages), *fields)

    @staticmethod
    def _left(field: Occurrences, numbers: "array[int]") -> Occurrences:
        """Return what is left of the places where a term occurs."""
        units = array("I", map(numbers.__getitem__, field.units))
        if _GONE not in units:
            return Occurrences(units, field.counts)
        stays = [unit != _GONE for unit in units]
        return Occurrences(array("I", compress(units, stays)), array("I", compress(field.counts, stays)))


def _numbered(kept: list[int], count: int) -> "array[int]":
    """Return the new number of each of `count` things."""
    numbers = array("I", [_GONE]) * count
    for number, old in enumerate(kept):
        numbers[old] = number
    return numbers


def _picked(column: "array[int]", places: list[int]) -> "array[int]":
    return array("I", map(column.__getitem__, places))

"""What a term adds to sections and pages, and which sections score best: with the standard library alone. Pure.

This is for a process that asks once. `fast_weights.py` has the same functions for one that goes on asking.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple, Protocol, Self, TypeAlias

from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.segment import Occurrences, Segment, SegmentTerm
from contexthall.caches.index.segments import FoundTerm, Segments, shifted
from contexthall.caches.query import bm25f
from contexthall.caches.query.bm25f import Averages, FieldLengths, Frequencies
from contexthall.core import bm25

Numbers: TypeAlias = "array[int]"
OrderedSection: TypeAlias = tuple[int, str | int, int]
"""A section as it compares: its score, negative, what compares as its id does, its number."""


class Rarity(NamedTuple):
    """How rare a term is among sections, and among pages."""

    sections: int
    pages: int

    @classmethod
    def of(cls, counts: "TermCounts", sums: Mapping[str, int]) -> Self:
        """Return how rare a term is, where so many of all sections and pages have it."""
        if counts.sections > sums["sections"] or counts.pages > sums["pages"]:
            raise IndexDamagedError("more sections have a term than there are")
        return cls(bm25.idf(sums["sections"], counts.sections), bm25.idf(sums["pages"], counts.pages))


class TermCounts(NamedTuple):
    """How many sections have a term, and how many pages."""

    sections: int
    pages: int

    @classmethod
    def of(cls, found: Sequence[FoundTerm]) -> Self:
        return cls(sum(each.entry.sections for each in found), sum(each.entry.pages for each in found))


class TermWeights(NamedTuple):
    """What a term adds: to the sections that have it, by ascending number, and to all sections of pages."""

    sections: "array[int]"
    own: "array[int]"
    pages: "array[int]"
    parts: "array[int]"

    @property
    def size(self) -> int:
        return sum(each.itemsize * len(each) for each in self)


class Weighing(Protocol):
    """Works out weights, and adds them up."""

    def weigh(self, found: Sequence[FoundTerm], rarity: Rarity, segments: Segments) -> TermWeights: ...

    def best(self, weights: Sequence[TermWeights], segments: Segments, most: int) -> list[OrderedSection]: ...

    def having(self, weights: TermWeights, sections: Sequence[int]) -> Sequence[bool]: ...


def weigh(found: Sequence[FoundTerm], rarity: Rarity, segments: Segments) -> TermWeights:
    """Return what a term adds."""
    weights = TermWeights(array("I"), array("I"), array("I"), array("I"))
    for number, entry in found:
        segment, first_section, first_page = segments.of(number)
        sections, own = _own_parts(entry, segment, segments.section_averages, rarity.sections)
        pages, parts = _page_parts(entry, segment, segments.page_averages, rarity.pages)
        weights.sections.extend(shifted(sections, first_section))
        weights.own.extend(own)
        weights.pages.extend(shifted(pages, first_page))
        weights.parts.extend(parts)
    return weights


def best(weights: Sequence[TermWeights], segments: Segments, most: int) -> list[OrderedSection]:
    """Return the `most` best of the sections with an own part, ties by id."""
    own = _added((each.sections, each.own) for each in weights)
    pages = _added((each.pages, each.parts) for each in weights)
    page_of = segments.page
    scores = {section: part + pages.get(page_of[section], 0) for section, part in own.items() if part}
    least = min(nlargest(most, scores.values()), default=0)
    return ordered([(score, section) for section, score in scores.items() if score >= least], segments)[:most]


def ordered(scored: Iterable[tuple[int, int]], segments: Segments) -> list[OrderedSection]:
    """Put scores and the numbers of their sections in order."""
    return sorted([(-score, segments.id_order(section), section) for score, section in scored])


def value_at(units: "array[int]", values: "array[int]", unit: int) -> int | None:
    """Return the value of a unit, if it has one."""
    at = bisect_left(units, unit)
    return values[at] if at < len(units) and units[at] == unit else None


def having(weights: TermWeights, sections: Sequence[int]) -> list[bool]:
    """Return which sections have a term, in any field."""
    return [value_at(weights.sections, weights.own, section) is not None for section in sections]


def taken(best: Sequence[OrderedSection], page_of: "array[int]") -> list[OrderedSection]:
    """Take the best again and again; the more of a page were taken, the less its other sections count."""
    pages = [page_of[each[2]] for each in best]
    shared: dict[int, list[OrderedSection]] = {page: [] for page, count in Counter(pages).items() if count > 1}
    found = [each for each, page in zip(best, pages, strict=True) if page not in shared]
    for each, page in zip(best, pages, strict=True) if shared else ():
        if page in shared:
            shared[page].append(each)
    # What of a page is taken, and in which order, does not depend on other pages, and never gets better.
    for some in shared.values():
        found += _taken(some)
    return sorted(found)


def _taken(page: list[OrderedSection]) -> list[OrderedSection]:
    """Return sections of one page in the order in which they are taken, with the scores that are served."""
    found: list[OrderedSection] = []
    while page:
        page.sort()
        if len(found) >= bm25f.MOST_DECAYS:
            return found + page
        found.append(page[0])
        page = [(-bm25f.decayed(-score), id_order, section) for score, id_order, section in page[1:]]
    return found


def _added(columns: Iterator[tuple["array[int]", "array[int]"]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for units, values in columns:
        if not total:
            total.update(zip(units, values, strict=True))
            continue
        for unit, value in zip(units, values, strict=True):
            total[unit] = total.get(unit, 0) + value
    return total


def _own_parts(entry: SegmentTerm, segment: Segment, average: Averages, rarity: int) -> tuple[Numbers, Numbers]:
    """Return the sections of a segment that have the term, ascending, and what it adds to each."""
    own = _parts(rarity, average.body, entry.body, segment.columns.body)
    if not (entry.title.units or entry.heading.units or entry.crumbs.units):
        return entry.body.units, own
    title, heading, crumbs, body = map(_as_dict, entry.fields)
    every = dict(zip(body, own, strict=True))
    for section in {section for page in title for section in segment.sections_of(page)}.union(heading, crumbs):
        found = Frequencies(
            title.get(segment.columns.page[section], 0),
            heading.get(section, 0),
            crumbs.get(section, 0),
            body.get(section, 0),
        )
        every[section] = bm25f.own_part(rarity, found, segment.lengths(section), average)
    return _ascending(every)


def _page_parts(entry: SegmentTerm, segment: Segment, average: Averages, rarity: int) -> tuple[Numbers, Numbers]:
    """Return the pages of a segment that have the term, ascending, and what it adds to all sections of each."""
    body, columns = _by_page(entry.body, segment), segment.page_columns
    parts = array("I", [part * 8 // 16 for part in _parts(rarity, average.body, body, columns.body)])
    if not (entry.title.units or entry.heading.units):
        return body.units, parts
    title, heading, bodies = map(_as_dict, (entry.title, _by_page(entry.heading, segment), body))
    every = dict(zip(bodies, parts, strict=True))
    for page in {*title, *heading}:
        found = Frequencies(title.get(page, 0), heading.get(page, 0), 0, bodies.get(page, 0))
        lengths = FieldLengths(columns.title[page], columns.heading[page], 0, columns.body[page])
        every[page] = bm25f.page_part(rarity, found, lengths, average)
    return _ascending(every)


def _by_page(occurrences: Occurrences, segment: Segment) -> Occurrences:
    """Return the occurrences in sections as those in their pages."""
    found: dict[int, int] = {}
    pages = map(segment.columns.page.__getitem__, occurrences.units)
    for page, count in zip(pages, occurrences.counts, strict=True):
        found[page] = found.get(page, 0) + count
    return Occurrences(array("I", found), array("I", found.values()))


def _as_dict(occurrences: Occurrences) -> dict[int, int]:
    return dict(zip(*occurrences, strict=True))


def _ascending(values: dict[int, int]) -> tuple[Numbers, Numbers]:
    return array("I", sorted(values)), array("I", map(values.__getitem__, sorted(values)))


def _parts(rarity: int, average: int, body: Occurrences, lengths: Sequence[int]) -> Numbers:
    """Return what a term is worth in units that have it in their bodies, by the formulas of `bm25f.py`."""
    factor, saturation = bm25.WEIGHT * average, bm25.SATURATION
    return array(
        "I",
        [
            rarity * (weight := factor * count // (average + 16 * lengths[unit])) // (weight + saturation)
            for unit, count in zip(*body, strict=True)
        ],
    )

"""What a term adds to sections and pages, and which sections score best: with numpy. Pure.

The same numbers as those of `weights.py`: integers of 64 bits hold whatever the formulas give, which is checked first.
"""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from contexthall.caches.index.segments import FoundTerm, Segments
from contexthall.caches.query import weights as plain
from contexthall.caches.query.weights import OrderedSection, Rarity, TermWeights
from contexthall.core.bm25 import SATURATION, WEIGHT

Integers: TypeAlias = NDArray[np.int64]

_LARGEST = 1 << 40
WORTH_NUMPY = 24
_COMMON_SHARE = 2
"""A term is common if one of so many sections has it: an array of all sections takes no more memory then."""
_TERMS_IN_32_BITS = 256
"""A term adds less than 2^24 to a score, so the scores of so many terms fit into 32 bits."""
_SAMPLED = 4
"""Every fourth score tells which the others need to be compared with at all."""


class _Counts(NamedTuple):
    """How often a term occurs in a field of sections or pages, which ascend, and how long the field is there."""

    units: Integers
    counts: Integers
    lengths: Integers

    def weight(self, factor: int, average: int) -> Integers:
        return WEIGHT * factor * average * self.counts // (average + 16 * self.lengths)


class CommonWeights(TermWeights):
    """What a common term adds, also to all sections and pages one after the other, which is faster to add up."""

    own_of_all: "array[int]"
    parts_of_all: "array[int]"

    @classmethod
    def of(cls, weights: TermWeights, segments: Segments) -> Self:
        found = cls(*weights)
        found.own_of_all = _of_all(weights.sections, weights.own, segments.sections)
        found.parts_of_all = _of_all(weights.pages, weights.parts, segments.first_page[-1])
        return found

    @property
    def size(self) -> int:
        return super().size + sum(each.itemsize * len(each) for each in (self.own_of_all, self.parts_of_all))


def weigh(found: Sequence[FoundTerm], rarity: Rarity, segments: Segments) -> TermWeights:
    """Return what a term adds."""
    counts = [field.counts for _, entry in found for field in entry.fields]
    largest = max(max(each, default=0) for each in counts)
    averages = *segments.section_averages, *segments.page_averages
    if sum(map(len, counts)) < WORTH_NUMPY or largest * max(averages) >= _LARGEST:
        return plain.weigh(found, rarity, segments)
    title, heading, crumbs, body = (_field(found, number, segments) for number in range(4))
    own = _own_parts(_of_sections(title, segments), heading, crumbs, body, rarity.sections, segments)
    pages = _page_parts(title, _of_pages(heading, segments, 1), _of_pages(body, segments, 2), rarity.pages, segments)
    weights = TermWeights(*map(_array, own), *map(_array, pages))
    is_common = _COMMON_SHARE * len(own[0]) >= segments.sections
    return CommonWeights.of(weights, segments) if is_common else weights


def best(weights: Sequence[TermWeights], segments: Segments, most: int) -> list[OrderedSection]:
    """Return the `most` best of the sections with an own part, ties by id."""
    width = np.uint32 if len(weights) <= _TERMS_IN_32_BITS else np.int64
    own, pages = np.zeros(segments.sections, width), np.zeros(segments.first_page[-1], width)
    for each in weights:
        if isinstance(each, CommonWeights):
            own += _view(each.own_of_all)
            pages += _view(each.parts_of_all)
        else:
            own[_view(each.sections)] += _view(each.own)
            pages[_view(each.pages)] += _view(each.parts)
    sections = np.flatnonzero(own)
    scores = own[sections] + pages[_view(segments.page)[sections]]
    if len(scores) > most:
        reaching = np.flatnonzero(scores >= _floor(scores, most))
        sections, scores = sections[reaching], scores[reaching]
    if not segments.page_ranks:
        return plain.ordered(zip(scores.tolist(), sections.tolist(), strict=True), segments)[:most]
    ranks = _view(segments.page_ranks)[_view(segments.page)[sections]].astype(np.int64)
    id_order, negative = ranks << 32 | _view(segments.place)[sections], -scores.astype(np.int64)
    order = np.lexsort((id_order, negative))[:most]
    return list(zip(*(each[order].tolist() for each in (negative, id_order, sections)), strict=True))


def _floor(scores: NDArray[Any], most: int) -> int:
    """Return the score that the `most` best reach; what the best of some of them reach bounds it from below."""
    some = scores[::_SAMPLED]
    if len(some) > most:
        scores = scores[scores >= np.partition(some, -most)[-most]]
    return int(np.partition(scores, -most)[-most])


def having(weights: TermWeights, sections: Sequence[int]) -> list[bool]:
    """Return which sections have a term, in any field."""
    units, wanted = _view(weights.sections), np.array(sections, np.uint32)  # of one width, or all units are copied
    at = np.searchsorted(units, wanted)
    found: list[bool] = (units[np.minimum(at, len(units) - 1)] == wanted).tolist()
    return found


def _field(found: Sequence[FoundTerm], number: int, segments: Segments) -> _Counts:
    """Return the occurrences in one field of all segments."""
    units, counts, lengths = [], [], []
    for at, entry in found:
        segment, *firsts = segments.of(at)
        field = entry.fields[number]
        if field.units:
            local = _view(field.units)
            units.append(local.astype(np.int64) + firsts[number == 0])
            counts.append(_view(field.counts))
            lengths.append(_view(segment.field_lengths(number))[local])
    if not units:
        return _NOWHERE
    return _Counts(np.concatenate(units), *(np.concatenate(each).astype(np.int64) for each in (counts, lengths)))


def _own_parts(
    title: _Counts, heading: _Counts, crumbs: _Counts, body: _Counts, rarity: int, segments: Segments
) -> tuple[Integers, Integers]:
    """Return the sections that have a term, and what it adds to each."""
    average = segments.section_averages
    sections, every = _summed(
        segments.sections,
        (body.units, body.weight(1, average.body)),
        (crumbs.units, crumbs.weight(1, average.crumbs)),
        (heading.units, heading.weight(4, average.heading)),
        (title.units, title.weight(4, average.title)),
    )
    own = _saturated(rarity, every)
    if len(title.units):
        own[np.searchsorted(sections, title.units)] += _saturated(rarity, title.weight(1, average.title))
    if len(heading.units):
        more = _saturated(rarity, heading.weight(1, average.heading)) * 8 // 16
        own[np.searchsorted(sections, heading.units)] += more
    return sections, own


def _page_parts(
    title: _Counts, heading: _Counts, body: _Counts, rarity: int, segments: Segments
) -> tuple[Integers, Integers]:
    """Return the pages that have a term, and what it adds to all sections of each."""
    average = segments.page_averages
    pages, every = _summed(
        segments.first_page[-1],
        (body.units, body.weight(1, average.body)),
        (heading.units, heading.weight(4, average.heading)),
        (title.units, title.weight(4, average.title)),
    )
    return pages, _saturated(rarity, every) * 8 // 16


def _summed(count: int, *columns: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Add up values of units, of which there are `count`; return the units that have any."""
    total, has = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    for units, values in columns:
        if len(units):
            total[units] += values
            has[units] = True
    found = np.flatnonzero(has)
    return found, total[found]


def _of_sections(title: _Counts, segments: Segments) -> _Counts:
    """Return the occurrences in the titles of pages as those in all sections of these."""
    if not len(title.units):
        return _NOWHERE
    firsts = _view(segments.first)
    starts = firsts[title.units].astype(np.int64)
    sizes = firsts[title.units + 1] - starts
    before = np.cumsum(sizes) - sizes
    sections = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
    return _Counts(sections, np.repeat(title.counts, sizes), np.repeat(title.lengths, sizes))


def _of_pages(field: _Counts, segments: Segments, number: int) -> _Counts:
    """Return the occurrences in sections as those in their pages."""
    if not len(field.units):
        return _NOWHERE
    pages = _view(segments.page)[field.units]
    starts = np.flatnonzero(np.diff(pages, prepend=-1))
    found = pages[starts].astype(np.int64)
    return _Counts(
        found, np.add.reduceat(field.counts, starts), _view(segments.page_lengths[number])[found].astype(np.int64)
    )


def _saturated(rarity: int, weight: Integers) -> Integers:
    return rarity * weight // (weight + SATURATION)


def _of_all(units: "array[int]", values: "array[int]", count: int) -> "array[int]":
    """Return the values of some of `count` units as those of all: 0 for the others."""
    found = np.zeros(count, np.uint32)
    found[_view(units)] = _view(values)
    return _array(found)


def _array(values: NDArray[Any]) -> "array[int]":
    return array("I", values.astype(np.uint32).tobytes())


def _view(values: "array[int]") -> NDArray[Any]:
    return np.frombuffer(values, values.typecode)


_NONE = np.zeros(0, np.int64)
_NOWHERE = _Counts(_NONE, _NONE, _NONE)

"""What a term adds to sections and pages, and which sections score best: with numpy. Pure.

The same numbers as those of `weights.py`: integers of 64 bits hold whatever the formulas give, which is checked first.
"""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from contexthall.caches.index.segments import FoundTerm, Segments
from contexthall.caches.query import weights as plain
from contexthall.caches.query.bm25f import MOST_DECAYS
from contexthall.caches.query.weights import OrderedSection, Rarity, TermWeights
from contexthall.core.bm25 import SATURATION, WEIGHT

Integers: TypeAlias = NDArray[np.int64]

_LARGEST = 1 << 40
WORTH_NUMPY = 24


class _Counts(NamedTuple):
    """How often a term occurs in a field of sections or pages, which ascend, and how long the field is there."""

    units: Integers
    counts: Integers
    lengths: Integers

    def weight(self, factor: int, average: int) -> Integers:
        return WEIGHT * factor * average * self.counts // (average + 16 * self.lengths)


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
    return TermWeights(*(array("I", each.astype(np.uint32).tobytes()) for each in (*own, *pages)))


def best(weights: Sequence[TermWeights], segments: Segments, most: int) -> list[OrderedSection]:
    """Return the `most` best of the sections with an own part, ties by id."""
    own, pages = np.zeros(segments.sections, np.int64), np.zeros(segments.first_page[-1], np.int64)
    for each in weights:
        own[_view(each.sections)] += _view(each.own)
        pages[_view(each.pages)] += _view(each.parts)
    sections = np.flatnonzero(own)
    scores = own[sections] + pages[_view(segments.page)[sections]]
    if len(scores) > most:
        reaching = scores >= np.partition(scores, -most)[-most]
        sections, scores = sections[reaching], scores[reaching]
    if not segments.page_ranks:
        return plain.ordered(zip(scores.tolist(), sections.tolist(), strict=True), segments)[:most]
    ranks = _view(segments.page_ranks)[_view(segments.page)[sections]].astype(np.int64)
    return _in_order(-scores, ranks << 32 | _view(segments.place)[sections], sections)[:most]


def having(weights: TermWeights, sections: Sequence[int]) -> list[bool]:
    """Return which sections have a term, in any field."""
    units, wanted = _view(weights.sections), np.array(sections, np.int64)
    at = np.searchsorted(units, wanted)
    found: list[bool] = (units[np.minimum(at, len(units) - 1)] == wanted).tolist()
    return found


def taken(best: Sequence[OrderedSection], page_of: "array[int]") -> list[OrderedSection]:
    """Take the best again and again; the more of a page were taken, the less its other sections count."""
    if not best or isinstance(best[0][1], str):
        return plain.taken(best, page_of)
    scores, id_order, sections = np.array(best, np.int64).T
    pages = _view(page_of)[sections]
    order = np.lexsort((id_order, scores, pages))
    scores, id_order, sections, pages = -scores[order], id_order[order], sections[order], pages[order]
    starts = np.flatnonzero(np.diff(pages, prepend=-1))
    place = np.arange(len(pages)) - np.repeat(starts, np.diff(starts, append=len(pages)))
    served, following = scores.copy(), np.append(scores[1:], 0)
    for decays in range(1, min(int(place.max()), MOST_DECAYS) + 1):
        later = place >= decays
        for each in (served, following):
            each[later] = each[later] * 14 // 16
    # Where different scores became the same, ids decide which is taken first.
    if np.any((served == following) & (scores > np.append(scores[1:], 0)) & (np.append(place[1:], 0) > 0)):
        return plain.taken(best, page_of)
    return _in_order(-served, id_order, sections)


def _in_order(scores: Integers, id_order: Integers, sections: Integers) -> list[OrderedSection]:
    """Put sections in order, by the negative of their scores, then by their ids."""
    order = np.lexsort((id_order, scores))
    return list(zip(*(each[order].tolist() for each in (scores, id_order, sections)), strict=True))


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


def _view(values: "array[int]") -> NDArray[Any]:
    return np.frombuffer(values, values.typecode)


_NONE = np.zeros(0, np.int64)
_NOWHERE = _Counts(_NONE, _NONE, _NONE)

"""Puts the sections of a cache in a query's order, by `bm25f-1`. Pure but for the segments it reads.

A hundred thousand sections are too many to visit one by one in Python. What a term adds to each is worked out once, and
added up for all sections at a time: numbers side by side in fixed-width *lanes* of one long integer.
"""

import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby, pairwise
from operator import add
from typing import NamedTuple, Self

from contexthall.caches.index.match_table import numbers, packed
from contexthall.caches.index.segment import SegmentTerm
from contexthall.caches.index.segments import FoundTerm, Segments
from contexthall.caches.index.terms import terms, terms_of, words
from contexthall.caches.query import bm25f
from contexthall.caches.query.bm25f import Frequencies
from contexthall.core import limits
from contexthall.core.text import lower

MOST_ORDERED = 400
"""So many sections are put in order; beyond them nothing is taken."""
MOST_PAIRED = 100
"""So many of them are looked at for pairs of words."""

_LANE = 4
_LANE_LIMIT = 1 << 31
_SET = re.compile(b"[\x80-\xff]")
_LENGTH_BITS = 32
_SAMPLE = 512
_DENSE_SHARE = 32


class RankedSection(NamedTuple):
    """A section, the score that is served, and what it consists of."""

    section: int
    score: int
    before: int
    """The score before pairs and decay."""
    pairs: int


class TermValues(NamedTuple):
    """What a term adds to sections: to those that have it, by itself, and with their pages to all of these."""

    rarity: int
    found: Sequence[FoundTerm]
    having: "array[int]"
    own: "array[int]"
    touched: "array[int]"
    totals: "array[int]"
    lanes: int | None

    @property
    def size(self) -> int:
        return 8 * (len(self.having) + len(self.touched)) + (sys.getsizeof(self.lanes) if self.lanes else 0)

    def code_in(self, segment: int) -> bytes | None:
        """Return the code of the term in a segment."""
        return next((found.entry.code for found in self.found if found.segment == segment), None)

    def own_of(self, section: int) -> int | None:
        """Return what the term adds to a section by itself; None if the section does not have it."""
        at = bisect_left(self.having, section)
        return self.own[at] if at < len(self.having) and self.having[at] == section else None


class SectionRanking(NamedTuple):
    """The order of a query: sections by descending score, and which words of the query are known."""

    order: list[RankedSection]
    values: dict[str, TermValues]
    words: dict[str, tuple[str, ...]]

    @property
    def unmatched(self) -> list[str]:
        """The words of the query that no section has."""
        return [word for word, found in self.words.items() if found and not any(term in self.values for term in found)]

    def matched(self, section: int) -> list[str]:
        """Return the words of the query of which a section has a term."""
        having = {term for term, values in self.values.items() if values.own_of(section) is not None}
        return [word for word, found in self.words.items() if not having.isdisjoint(found)]


class SectionScorer:
    """Ranks the sections of one cache; what terms add is kept for the next query."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self._kept: dict[str, TermValues | None] = {}
        self._kept_bytes = 0

    def rank(self, query: str) -> SectionRanking:
        """Return the sections in a query's order."""
        found = terms(query)
        values = {term: value for term in dict.fromkeys(found) if (value := self._values(term)) is not None}
        best = self._best(list(values.values()))
        bonuses = self._bonuses(_pairs(found, values), values, [section for section, _ in best[:MOST_PAIRED]])
        return SectionRanking(self._order(best, bonuses), values, _words(query))

    def _values(self, term: str) -> TermValues | None:
        if term in self._kept:
            return self._kept[term]
        values = self._evaluate(self.segments.find(term))
        size = sys.getsizeof(term) + (values.size if values else 0)
        if size < limits.KEPT_VALUES_BYTES:
            if self._kept_bytes + size > limits.KEPT_VALUES_BYTES:
                self._kept, self._kept_bytes = {}, 0
            self._kept[term] = values
            self._kept_bytes += size
        return values

    def _evaluate(self, found: Sequence[FoundTerm]) -> TermValues | None:
        """Work out what a term adds to every section."""
        segments = self.segments
        rarity = bm25f.idf(segments.sections, sum(each.entry.sections for each in found))
        page_rarity = bm25f.idf(segments.pages, sum(each.entry.pages for each in found)) if segments.pages else 0
        having, own, touched, totals = array("I"), array("I"), array("I"), array("I")
        for number, entry in found:
            occurrences = _TermCounts.of(entry, segments.first_section[number], segments.first_page[number])
            mine = occurrences.own_parts(rarity, segments)
            for section in sorted(mine):
                having.append(section)
                own.append(mine[section])
            for page, part in occurrences.page_parts(page_rarity, segments):
                for section in segments.sections_of(page):
                    touched.append(section)
                    totals.append(part + mine.get(section, 0))
        if not having:
            return None
        lanes = None
        if len(touched) * _DENSE_SHARE > segments.sections:
            dense = array("I", bytes(_LANE * segments.sections))
            for section, total in zip(touched, totals, strict=True):
                dense[section] = total
            lanes = int.from_bytes(packed(dense), "little")
            touched = totals = array("I")
        return TermValues(rarity, found, having, own, touched, totals, lanes)

    def _best(self, values: Sequence[TermValues]) -> list[tuple[int, int]]:
        """Return the best sections and their scores before pairs, ties by id."""
        scores = self._scores(values)
        sample = sorted(scores[:: max(1, len(scores) // _SAMPLE)], reverse=True)
        wanted = MOST_ORDERED * len(sample) // max(1, len(scores)) + 4
        while True:
            floor = max(1, sample[wanted]) if wanted < len(sample) else 1
            found = self._counting(scores, floor, values)
            if len(found) >= MOST_ORDERED or floor == 1:
                break
            wanted *= 4
        found.sort(key=lambda section: (-scores[section], _Tie(self.segments, section)))
        return [(section, scores[section]) for section in found[:MOST_ORDERED]]

    def _counting(self, scores: "array[int]", floor: int, values: Sequence[TermValues]) -> list[int]:
        """Return the best sections that reach `floor` and count: enough of them, and all that tie with the last."""
        found: list[int] = []
        for section in sorted(_reaching(scores, floor), key=scores.__getitem__, reverse=True):
            if len(found) >= MOST_ORDERED and scores[section] < scores[found[-1]]:
                break
            if any(value.own_of(section) for value in values):
                found.append(section)
        return found

    def _scores(self, values: Sequence[TermValues]) -> "array[int]":
        """Return the score of every section before pairs; where the own part is 0, it does not count."""
        scores = array("I" if sum(3 * value.rarity + 3 for value in values) < _LANE_LIMIT else "Q")
        scores.frombytes(bytes(scores.itemsize * self.segments.sections))
        for value in values:
            for section, total in zip(value.touched, value.totals, strict=True):
                scores[section] += total
        dense = [value.lanes for value in values if value.lanes is not None]
        if dense and scores.typecode == "I":
            total = sum(dense, int.from_bytes(packed(scores), "little"))
            return numbers("I", total.to_bytes(_LANE * len(scores), "little"))
        for lanes in dense:
            more = numbers("I", lanes.to_bytes(_LANE * len(scores), "little"))
            scores = array("Q", map(add, scores, more))
        return scores

    def _bonuses(
        self, pairs: Mapping[tuple[str, str], int], values: Mapping[str, TermValues], sections: Sequence[int]
    ) -> dict[int, int]:
        """Return what sections gain that have neighbours of the query side by side."""
        if not pairs:
            return {}
        bonuses: dict[int, int] = {}
        coded: dict[int, list[tuple[bytes, int]]] = {}
        for page, group in groupby(sorted(sections), key=self.segments.page.__getitem__):
            number, order = self.segments.orders(page)
            if number not in coded:
                codes = {term: code for term, value in values.items() if (code := value.code_in(number))}
                coded[number] = [
                    (codes[first] + codes[second], gain)
                    for (first, second), gain in pairs.items()
                    if first in codes and second in codes
                ]
            first = self.segments.first[page]
            titled = sum([gain for pair, gain in coded[number] if order.in_title(pair)])
            others = [each for each in coded[number] if not titled or not order.in_title(each[0])]
            for section in group:
                found = [gain for pair, gain in others if order.in_section(pair, section - first)]
                bonuses[section] = titled + sum(found)
        return bonuses

    def _order(self, best: Sequence[tuple[int, int]], bonuses: Mapping[int, int]) -> list[RankedSection]:
        """Take the best again and again; the more of a page were taken, the less its other sections count."""
        pages: dict[int, list[RankedSection]] = {}
        for section, score in best:
            gain = bonuses.get(section, 0)
            ranked = RankedSection(section, score + gain, score, gain)
            pages.setdefault(self.segments.page[section], []).append(ranked)
        heap = [self._head(sections, page) for page, sections in pages.items()]
        heapify(heap)
        taken: dict[int, int] = {}
        order = []
        while heap:
            _, tie, page = heappop(heap)
            rest = [ranked for ranked in pages[page] if ranked.section != tie.section]
            order += [ranked for ranked in pages[page] if ranked.section == tie.section]
            taken[page] = taken.get(page, 0) + 1
            if taken[page] <= bm25f.MOST_DECAYS:
                rest = [ranked._replace(score=bm25f.decayed(ranked.score)) for ranked in rest]
            pages[page] = rest
            if rest:
                heappush(heap, self._head(rest, page))
        return order

    def _head(self, sections: Sequence[RankedSection], page: int) -> tuple[int, "_Tie", int]:
        """Return the best section of a page."""
        return min((-ranked.score, _Tie(self.segments, ranked.section), page) for ranked in sections)


class _Tie:
    """A section that is compared by its id, which is looked up only if scores are equal."""

    __slots__ = ("_segments", "section")

    def __init__(self, segments: Segments, section: int) -> None:
        self._segments = segments
        self.section = section

    def __lt__(self, other: "_Tie") -> bool:
        return self._segments.is_before(self.section, other.section)


class _TermCounts(NamedTuple):
    """Where a term occurs in a segment, by the numbers of the whole cache."""

    title: dict[int, int]
    heading: dict[int, int]
    crumbs: dict[int, int]
    body: dict[int, int]

    @classmethod
    def of(cls, entry: SegmentTerm, section: int, page: int) -> Self:
        """Return the occurrences in a segment whose first section and page have these numbers."""
        fields = (entry.title, page), (entry.heading, section), (entry.crumbs, section), (entry.body, section)
        return cls(*({base + unit: count for unit, count in zip(*each, strict=True)} for each, base in fields))

    def own_parts(self, rarity: int, segments: Segments) -> dict[int, int]:
        """Return what the term adds to each section that has it."""
        average, bodies = segments.section_averages, _BodyParts(rarity, segments.section_averages.body)
        lengths = segments.body
        own = {section: bodies[count << _LENGTH_BITS | lengths[section]] for section, count in self.body.items()}
        titled = {section for page in self.title for section in segments.sections_of(page)}
        for section in titled.union(self.heading, self.crumbs):
            page = segments.page[section]
            found = Frequencies(
                self.title.get(page, 0),
                self.heading.get(section, 0),
                self.crumbs.get(section, 0),
                self.body.get(section, 0),
            )
            own[section] = bm25f.own_part(rarity, found, segments.lengths(section), average)
        return own

    def page_parts(self, rarity: int, segments: Segments) -> Iterator[tuple[int, int]]:
        """Yield what the term adds to all sections of each page that has it."""
        headings, bodies = Counter[int](), Counter[int]()
        for section, count in self.heading.items():
            headings[segments.page[section]] += count
        for section, count in self.body.items():
            bodies[segments.page[section]] += count
        crumbs = {segments.page[section] for section in self.crumbs}
        for page in sorted(crumbs.union(self.title, headings, bodies)):
            found = Frequencies(self.title.get(page, 0), headings[page], 0, bodies[page])
            yield page, bm25f.page_part(rarity, found, segments.page_lengths(page), segments.page_averages)


class _BodyParts(dict[int, int]):
    """The own part of a section that has the term in its body only, by count and length."""

    def __init__(self, rarity: int, average: int) -> None:
        self._rarity = rarity
        self._average = average

    def __missing__(self, key: int) -> int:
        weight = bm25f.weight(1, key >> _LENGTH_BITS, self._average, key & (1 << _LENGTH_BITS) - 1)
        part = self[key] = bm25f.saturated(self._rarity, weight)
        return part


def _reaching(scores: "array[int]", floor: int) -> list[int]:
    """Return the sections whose score reaches `floor`."""
    if scores.typecode != "I":
        return [section for section, score in enumerate(scores) if score >= floor]
    # All lanes at once: where the sum carries into the highest bit.
    more = int.from_bytes((_LANE_LIMIT - floor).to_bytes(_LANE, "little") * len(scores), "little")
    lanes = (int.from_bytes(packed(scores), "little") + more).to_bytes(_LANE * len(scores), "little")
    return [match.start() for match in _SET.finditer(lanes[_LANE - 1 :: _LANE])]


def _pairs(found: Sequence[str], values: Mapping[str, TermValues]) -> dict[tuple[str, str], int]:
    """Return the neighbours in a query, and what a section gains that has them side by side."""
    return {
        (first, second): min(values[first].rarity, values[second].rarity)
        for first, second in pairwise(found)
        if first != second and first in values and second in values
    }


def _words(query: str) -> dict[str, tuple[str, ...]]:
    """Return the distinct words of a query in lower case, and the terms of each."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words(query):
        found[lower(word)] = found.get(lower(word), ()) + terms_of(word)
    return found

"""Puts the sections of a cache in a query's order, by `bm25f-1`. Pure but for the segments it reads."""

import sys
from array import array
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain, pairwise, repeat
from operator import and_
from threading import Lock
from typing import NamedTuple, cast

from contexthall.caches.index.kept import Kept
from contexthall.caches.index.segments import FoundTerm, Segments
from contexthall.caches.index.terms import terms, terms_of, words
from contexthall.caches.query import weights
from contexthall.caches.query.weights import OrderedSection, Rarity, TermCounts, TermWeights, Weighing, taken, value_at
from contexthall.core import limits
from contexthall.core.text import lower

MOST_ORDERED = 400
"""So many sections are put in order; beyond them nothing is taken."""
MOST_PAIRED = 100
"""So many of them are looked at for pairs of words."""

_WITH_NUMPY = "contexthall.caches.query.fast_weights"
_PLAIN_QUERIES = 3


class RankedSection(NamedTuple):
    """A section, the score that is served, and what it consists of."""

    section: int
    score: int
    before: int
    """The score before pairs and decay."""
    pairs: int


class TermValues(NamedTuple):
    """How rare a term is, its code in each segment that has it, and what it adds."""

    rarity: int
    codes: Mapping[int, bytes]
    weights: TermWeights

    def own_of(self, section: int) -> int | None:
        """Return what the term adds to a section by itself; None if the section does not have it."""
        return value_at(self.weights.sections, self.weights.own, section)

    def part_of(self, page: int) -> int:
        """Return what the term adds to every section of a page."""
        return value_at(self.weights.pages, self.weights.parts, page) or 0


class SectionRanking(NamedTuple):
    """The order of a query: sections by descending score, and which words of the query are known."""

    order: list[RankedSection]
    values: dict[str, TermValues]
    words: dict[str, tuple[str, ...]]
    pairs: dict[tuple[str, str], int]
    """Neighbours in the query, both known, and what a section gains that has them side by side."""

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

    def __init__(self, segments: Segments, plain_queries: int = _PLAIN_QUERIES) -> None:
        """Rank so many queries with the standard library alone: importing numpy would take longer than it saves."""
        self.segments = segments
        self._plain_queries = plain_queries
        self._weighing: Weighing = weights
        self._kept = Kept[str, TermValues | None](limits.KEPT_VALUES_BYTES)
        # One question after the other: threads that rank at once take the interpreter from each other at every call of
        # numpy, a hundred times a question, and need half as long again for all of them.
        self._turn = Lock()

    def rank(self, query: str) -> SectionRanking:
        """Return the sections in a query's order."""
        found = terms(query)
        values = self.values(found)
        pairs = pairs_of(found, values)
        with self._turn:
            best = self.best(values)
            bonuses = self.bonuses(pairs, values, [section for *_, section in best[:MOST_PAIRED]])
            order = in_order(best, bonuses, self.segments.page)
        return SectionRanking(order, values, words_of(query), pairs)

    def values(self, found: Sequence[str]) -> dict[str, TermValues]:
        """Return what terms add, those of one query; terms that no section has are left out."""
        if self._plain_queries > 0:
            self._plain_queries -= 1
        elif self._weighing is weights:
            self._weighing = cast(Weighing, import_module(_WITH_NUMPY))
            self._kept = Kept(limits.KEPT_VALUES_BYTES)  # without what is faster to add up
        self.segments.fetch(terms=[term for term in dict.fromkeys(found) if not self._kept.get(term)])
        return {term: value for term in dict.fromkeys(found) if (value := self._values(term)) is not None}

    def best(self, values: Mapping[str, TermValues]) -> list[OrderedSection]:
        """Return the sections that score best, before pairs and decay."""
        found = [value.weights for value in values.values()]
        return self._weighing.best(found, self.segments, MOST_ORDERED) if values else []

    def having(self, values: TermValues, sections: Sequence[int]) -> Sequence[bool]:
        """Return which sections have a term."""
        return self._weighing.having(values.weights, sections)

    def rarity(self, _term: str, found: Sequence[FoundTerm]) -> Rarity:
        """Return how rare a term is, which is found there."""
        return Rarity.of(TermCounts.of(found), self.segments.sums)

    def _values(self, term: str) -> TermValues | None:
        if kept := self._kept.get(term):
            return kept[0]
        values = self._evaluate(term, self.segments.find(term))
        self._kept.keep(term, values, sys.getsizeof(term) + (values.weights.size if values else 0))
        return values

    def _evaluate(self, term: str, found: Sequence[FoundTerm]) -> TermValues | None:
        """Work out what a term adds to every section."""
        if not found:
            return None
        rarity = self.rarity(term, found)
        codes = {each.segment: each.entry.code for each in found}
        return TermValues(rarity.sections, codes, self._weighing.weigh(found, rarity, self.segments))

    def bonuses(
        self, pairs: Mapping[tuple[str, str], int], values: Mapping[str, TermValues], sections: Sequence[int]
    ) -> dict[int, int]:
        """Return what sections gain that have neighbours of the query side by side."""
        having = {term: self.having(values[term], sections) for term in dict.fromkeys(chain(*pairs))}
        searched = [
            (gain, _codes_of_pair(values[first], values[second]), list(map(and_, having[first], having[second])))
            for (first, second), gain in pairs.items()
        ]
        bonuses: dict[int, int] = {}
        for at, section in enumerate(sections):
            if wanted := [(gain, codes) for gain, codes, has_both in searched if has_both[at]]:
                page = self.segments.page[section]
                (number, order), place = self.segments.orders(page), section - self.segments.first[page]
                bonuses[section] = sum([gain for gain, codes in wanted if order.has(codes[number], place)])
        return bonuses


def in_order(best: Sequence[OrderedSection], bonuses: Mapping[int, int], page_of: "array[int]") -> list[RankedSection]:
    """Return the best sections in the order in which they are taken, with the scores that are served."""
    gain = bonuses.get
    with_pairs = [(each[0] - gain(each[2], 0), *each[1:]) if each[2] in bonuses else each for each in best]
    before = {section: -score for score, _, section in best}
    ordered = taken(with_pairs, page_of)
    sections = [section for _, _, section in ordered]
    columns = [-score for score, _, _ in ordered], [before[each] for each in sections], map(gain, sections, repeat(0))
    # As `_make` does it, without a call of Python for each of hundreds.
    return list(map(tuple.__new__, repeat(RankedSection), zip(sections, *columns, strict=True)))


def _codes_of_pair(first: TermValues, second: TermValues) -> dict[int, bytes]:
    """Return two terms side by side in the codes of each segment that has both."""
    return {number: code + second.codes[number] for number, code in first.codes.items() if number in second.codes}


def pairs_of(found: Sequence[str], values: Mapping[str, TermValues]) -> dict[tuple[str, str], int]:
    """Return the neighbours in a query, and what a section gains that has them side by side."""
    return {
        (first, second): min(values[first].rarity, values[second].rarity)
        for first, second in pairwise(found)
        if first != second and first in values and second in values
    }


def words_of(query: str) -> dict[str, tuple[str, ...]]:
    """Return the distinct words of a query in lower case, and the terms of each."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words(query):
        found[lower(word)] = found.get(lower(word), ()) + terms_of(word)
    return found

"""What the score of a section consists of: its words, its page, pairs of words, and what its page took before. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from contexthall.caches.index.segment import Occurrences
from contexthall.caches.index.segments import FoundTerm, Segments
from contexthall.caches.index.terms import forms_of, terms_of, words
from contexthall.caches.query import bm25f
from contexthall.caches.query.bm25f import Frequencies
from contexthall.caches.query.section_ranking import SectionRanking, TermValues


class TermPart(NamedTuple):
    """What a term of the query adds to a section: by itself, and by the page."""

    term: str
    having: int
    """How many sections have it."""
    rarity: int
    found: Frequencies
    own: int
    page: int


class PairPart(NamedTuple):
    """Two terms that stand side by side as in the query, and what that is worth."""

    first: str
    second: str
    gain: int


class ScoreParts(NamedTuple):
    """What the score of a section consists of."""

    terms: tuple[TermPart, ...]
    pairs: tuple[PairPart, ...]
    """None but in the best sections: others are not searched for them."""
    earlier: int = 0
    """How many sections of its page rank before it."""

    @property
    def page(self) -> int:
        return sum(part.page for part in self.terms)

    @property
    def total(self) -> int:
        """The score before others of the page were taken."""
        return sum(part.own for part in self.terms) + self.page + sum(part.gain for part in self.pairs)

    @property
    def score(self) -> int:
        """The score that is served."""
        score = self.total
        for _ in range(min(self.earlier, bm25f.MOST_DECAYS)):
            score = bm25f.decayed(score)
        return score


def spelled(query: str) -> dict[str, list[str]]:
    """Return the terms of a query, each with the words or parts of words that it was made of."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in words(query):
        for form, term in zip(forms_of(word), terms_of(word), strict=True):
            if form not in found[term]:
                found[term].append(form)
    return dict(found)


def term_parts(segments: Segments, ranking: SectionRanking, section: int) -> tuple[TermPart, ...]:
    """Return what each known term of a query adds to a section."""
    return tuple(_term_part(segments, term, values, section) for term, values in ranking.values.items())


def pair_parts(segments: Segments, ranking: SectionRanking, section: int) -> tuple[PairPart, ...]:
    """Return the pairs of a query that stand side by side in a section or in the title of its page."""
    page = segments.page[section]
    number, order = segments.orders(page)
    codes = {term: code for term, values in ranking.values.items() if (code := values.codes.get(number))}
    known = ((pair, gain) for pair, gain in ranking.pairs.items() if codes.keys() >= {*pair})
    return tuple(
        PairPart(first, second, gain)
        for (first, second), gain in known
        if order.has(codes[first] + codes[second], section - segments.first[page])
    )


def _term_part(segments: Segments, term: str, values: TermValues, section: int) -> TermPart:
    found = segments.find(term)
    having = sum(each.entry.sections for each in found)
    frequencies = _frequencies(segments, found, section)
    own, page = values.own_of(section) or 0, values.part_of(segments.page[section])
    return TermPart(term, having, values.rarity, frequencies, own, page)


def _frequencies(segments: Segments, found: Sequence[FoundTerm], section: int) -> Frequencies:
    """Return how often a term occurs in the fields of a section."""
    number = bisect_right(segments.first_section, section) - 1
    _, first_section, first_page = segments.of(number)
    units = segments.page[section] - first_page, *[section - first_section] * 3
    entry = next((each.entry for each in found if each.segment == number), None)
    return Frequencies(*map(_count, entry.fields, units)) if entry else Frequencies()


def _count(field: Occurrences, unit: int) -> int:
    at = bisect_left(field.units, unit)
    return field.counts[at] if at < len(field.units) and field.units[at] == unit else 0

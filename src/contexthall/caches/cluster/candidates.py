"""The best sections of some shards, as whoever holds these sends them, and the one order that they have together. Pure.

Statistics are sums, and a section that is among the best of all is among the best of its shards. So the order, and what
it costs to serve it, is that of one cache of all pages.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from contexthall.caches.query.section_ranking import (
    MOST_ORDERED,
    MOST_PAIRED,
    SectionRanking,
    TermValues,
    in_order,
    words_of,
)
from contexthall.caches.query.weights import OrderedSection, Rarity, TermWeights


class Candidate(NamedTuple):
    """A section that may be served: all that is needed to put it in order and to know what it costs."""

    before: int
    """The score before pairs and decay."""
    pairs: int
    """What it gains by pairs, if it is among the best of all shards."""
    order: tuple[str, int]
    """What compares as its id does."""
    page: str
    at: int
    """Which section of the page it is."""
    json_cost: int
    text_cost: int
    size: int
    having: int
    """Which of the query's terms it has, a bit each."""

    @property
    def where(self) -> tuple[str, int]:
        return self.page, self.at


class Candidates:
    """The best of all shards, by descending score: their places here are their numbers."""

    def __init__(self, found: Sequence[Sequence[Candidate]]) -> None:
        """Take the best of what each group of shards has sent."""
        merged = sorted(
            ((-each.before, each.order, group, each) for group, some in enumerate(found) for each in some),
            key=lambda entry: entry[:2],
        )[:MOST_ORDERED]
        self.groups = [group for *_, group, _ in merged]
        """Which group of shards each is from."""
        self.all = [each for *_, each in merged]

    @cached_property
    def json_cost(self) -> list[int]:
        return [each.json_cost for each in self.all]

    @cached_property
    def text_cost(self) -> list[int]:
        return [each.text_cost for each in self.all]

    @cached_property
    def size(self) -> list[int]:
        return [each.size for each in self.all]

    def ranking(self, query: str, found: Sequence[str], rarities: Mapping[str, Rarity]) -> SectionRanking:
        """Return them in a query's order; `found` are its terms, of which those with a rarity are somewhere."""
        by_id = sorted(range(len(self.all)), key=lambda number: self.all[number].order)
        places = dict(zip(by_id, range(len(by_id)), strict=True))
        best: list[OrderedSection] = [(-each.before, places[number], number) for number, each in enumerate(self.all)]
        bonuses = {number: each.pairs for number, each in enumerate(self.all[:MOST_PAIRED]) if each.pairs}
        numbers: dict[str, int] = {}
        pages = array("I", [numbers.setdefault(each.page, len(numbers)) for each in self.all])
        order = in_order(best, bonuses, pages)
        values = {
            term: self._values(1 << bit, rarities[term])
            for bit, term in enumerate(dict.fromkeys(found))
            if term in rarities
        }
        return SectionRanking(order, values, words_of(query), {})

    def _values(self, bit: int, rarity: Rarity) -> TermValues:
        having = array("I", [number for number, each in enumerate(self.all) if each.having & bit])
        return TermValues(rarity.sections, {}, TermWeights(having, having, array("I"), array("I")))

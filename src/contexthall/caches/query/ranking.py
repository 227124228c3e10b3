"""A query's order of the documents of a cache: which of them fit, where each stands, and why. Pure."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import ListedDocument, Lookup
from contexthall.caches.query.selection import Ranked, rank
from contexthall.core.errors import CacheInvalidError, InvalidBudgetError, InvalidQueryError
from contexthall.core.tokens import BYTES_PER_TOKEN
from contexthall.core.wire import compact

MOST_REPEATED_BYTES = 64 << 20
"""How much of the query an answer may repeat: every document comes with all terms."""
MOST_CONTENT_BYTES = 256 << 20
"""How much of the documents an answer may hold. No agent could read it, and several copies of it are made."""


class Query(NamedTuple):
    """What is asked of a cache."""

    text: str
    budget: int
    page: slice | None = None
    """The part of the order that is shown, with the documents that do not fit; None for all that fit."""


class RankedDocument(NamedTuple):
    """A document's place in a ranking, the first being 1, and what put it there."""

    rank: int
    id: str
    score: float
    tokens: int
    term_matches: int
    total_words: int
    fits: bool
    left_before: int
    """How many tokens of the budget were left when its turn came."""


class RankingPage(NamedTuple):
    """Some places of a query's order, and what the budget made of the whole."""

    terms: tuple[str, ...]
    tokens_used: int
    considered: int
    selected: int
    total_tokens: int
    """What all documents of the cache cost together."""
    places: tuple[RankedDocument, ...]


class Explanation(NamedTuple):
    """Where a document stands in a query's order, how many stand there, and which of the query's terms it has."""

    place: RankedDocument
    considered: int
    matched_terms: tuple[str, ...]
    reason: str
    """Where its score comes from, as its scorer says it."""

    def sentences(self, budget: int) -> tuple[str, ...]:
        """Return the explanation in sentences for a person."""
        return f"{self.place.id} is number {self.place.rank} of {self.considered}.", self.reason, self._fate(budget)

    def _fate(self, budget: int) -> str:
        cost, left = self.place.tokens, self.place.left_before
        if self.place.fits:
            return f"It was taken: its {cost} tokens fit into the {left} that were left."
        if not budget:
            return "The budget kept it out: with a budget of 0 nothing is taken."
        if cost > budget:
            return f"The budget kept it out: it costs {cost} tokens, and the whole budget is {budget}."
        return f"What ranks before it used the budget up: it costs {cost} tokens, and {left} of {budget} were left."


class Ranking(NamedTuple):
    """The documents of a cache in a query's order."""

    query: Query
    terms: list[str]
    table: MatchTable
    order: list[Ranked]
    """The documents that fit, or, for a page, all of them."""
    listed: list[ListedDocument]
    """What the manifest says of those that are shown."""

    @classmethod
    def of(cls, query: Query, terms: list[str], table: MatchTable, lookup: Lookup) -> Self:
        """Rank the documents of `table`, and look up what is shown of them."""
        order = rank(table, query.budget, every=query.page is not None)
        if query.page is None:
            _check_size(terms, [table.costs[ranked.document] for ranked in order])
        shown = order if query.page is None else order[query.page]
        return cls(query, terms, table, order, [lookup(ranked.document) for ranked in shown])

    def page(self) -> RankingPage:
        """Return the places that are shown, of a ranking for a page."""
        costs = self.table.costs
        taken = [costs[ranked.document] for ranked in self.order if ranked.fits]
        start = self.query.page.start if self.query.page else 0
        places = self._places(start, [each.id for each in self.listed])
        return RankingPage(tuple(self.terms), sum(taken), len(self.table), len(taken), sum(costs), places)

    def explain(self, number: int, document: Document) -> Explanation:
        """Return where the document with this number stands, in a ranking for a page, and why."""
        at = next((at for at, ranked in enumerate(self.order) if ranked.document == number), None)
        if at is None:
            raise CacheInvalidError(f"the index does not have {document.id}")
        (place,) = self._places(at, [document.id])
        scorer = self.table.scorer
        found = set(scorer.terms(document.content))
        matched = tuple(term for term in dict.fromkeys(self.terms) if term in found)
        reason = scorer.explanation(matched, place.term_matches, place.total_words)
        return Explanation(place, len(self.order), matched, reason)

    def _places(self, start: int, ids: Sequence[str]) -> tuple[RankedDocument, ...]:
        """Return the places from `start` on, of the documents that have these ids."""
        costs, matches, totals = self.table.costs, self.table.matches, self.table.columns.words
        left = self.query.budget - sum(costs[ranked.document] for ranked in self.order[:start] if ranked.fits)
        shown = self.order[start : start + len(ids)]
        scores = self.table.scores([ranked.document for ranked in shown])
        places = []
        for at, ((number, fits), score) in enumerate(zip(shown, scores, strict=True)):
            cost, counts = costs[number], (matches[number], totals[number])
            places.append(RankedDocument(start + at + 1, ids[at], score, cost, *counts, fits, left))
            left -= cost if fits else 0
        return tuple(places)


def _check_size(terms: list[str], costs: list[int]) -> None:
    """Refuse what would be too large to answer at once."""
    if len(costs) * len(compact(terms)) > MOST_REPEATED_BYTES:
        raise InvalidQueryError(
            f"its terms, told with {len(costs)} documents, are too much for one answer",
            hint="ask with fewer words, or with a smaller budget",
        )
    if sum(costs) * BYTES_PER_TOKEN > MOST_CONTENT_BYTES:
        raise InvalidBudgetError(
            f"{sum(costs)} tokens of documents are too much for one answer", hint="ask with a smaller budget"
        )

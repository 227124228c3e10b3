"""A ranking as people see it: a page of places, and why a document stands where it stands. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from contexthall.caches.model.document import Document
from contexthall.caches.query.ranking import Ranking
from contexthall.core.errors import CacheInvalidError


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
    format: int = 1
    """The format of the cache."""


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


def page_of(ranking: Ranking) -> RankingPage:
    """Return the places that are shown, of a ranking for a page."""
    costs = ranking.table.columns.tokens
    taken = [costs[ranked.document] for ranked in ranking.order if ranked.fits]
    start = ranking.query.page.start if ranking.query.page else 0
    places = _places(ranking, start, [each.id for each in ranking.listed])
    return RankingPage(tuple(ranking.terms), sum(taken), len(costs), len(taken), sum(costs), places)


def explanation_of(ranking: Ranking, number: int, document: Document) -> Explanation:
    """Return where the document with this number stands, in a ranking for a page, and why."""
    at = next((at for at, ranked in enumerate(ranking.order) if ranked.document == number), None)
    if at is None:
        raise CacheInvalidError(f"the index does not have {document.id}")
    (place,) = _places(ranking, at, [document.id])
    found = set(ranking.scorer.terms(document.content))
    matched = tuple(term for term in dict.fromkeys(ranking.terms) if term in found)
    reason = ranking.scorer.explanation(matched, place.term_matches, place.total_words)
    return Explanation(place, len(ranking.order), matched, reason)


def _places(ranking: Ranking, start: int, ids: Sequence[str]) -> tuple[RankedDocument, ...]:
    """Return the places from `start` on, of the documents that have these ids."""
    columns, matches, order = ranking.table.columns, ranking.table.matches, ranking.order
    left = ranking.query.budget - sum(columns.tokens[ranked.document] for ranked in order[:start] if ranked.fits)
    shown = order[start : start + len(ids)]
    scores = ranking.scorer.scores(ranking.table, [ranked.document for ranked in shown])
    places = []
    for at, ((number, fits), score) in enumerate(zip(shown, scores, strict=True)):
        cost, counts = columns.tokens[number], (matches[number], columns.words[number])
        places.append(RankedDocument(start + at + 1, ids[at], score, cost, *counts, fits, left))
        left -= cost if fits else 0
    return tuple(places)

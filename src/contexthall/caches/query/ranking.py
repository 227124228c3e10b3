"""Puts the documents of a cache in a query's order: the best first, each taken whole if it still fits. Pure."""

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple, Self

from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.model.format import ListedDocument, Lookup
from contexthall.caches.query.scorers import Scorer
from contexthall.core import limits
from contexthall.core.errors import InvalidBudgetError, InvalidQueryError
from contexthall.core.tokens import BYTES_PER_TOKEN
from contexthall.core.wire import compact

# So many documents are put in order first; the rest only matter where they still fit.
_FIRST_ROUND = 128
_SAMPLE = 256
_SMALLEST = sys.float_info.min


class Query(NamedTuple):
    """What is asked of a cache."""

    text: str
    budget: int
    page: slice | None = None
    """The part of the order that is shown, with the documents that do not fit; None for all that fit."""


class Ranked(NamedTuple):
    """The number of a document, and whether it fitted into what was left of the budget."""

    document: int
    fits: bool


class Ranking(NamedTuple):
    """The documents of a cache in a query's order."""

    query: Query
    terms: list[str]
    scorer: Scorer
    table: MatchTable
    order: list[Ranked]
    """The documents that fit, or, for a page, all of them."""
    listed: list[ListedDocument]
    """What the manifest says of those that are shown."""

    @classmethod
    def of(cls, query: Query, terms: list[str], scorer: Scorer, table: MatchTable, lookup: Lookup) -> Self:
        """Rank the documents of `table`, and look up what is shown of them."""
        order = rank(scorer, table, query.budget, every=query.page is not None)
        if query.page is None:
            _check_size(terms, [table.columns.tokens[ranked.document] for ranked in order])
        shown = order if query.page is None else order[query.page]
        return cls(query, terms, scorer, table, order, [lookup(ranked.document) for ranked in shown])


def _check_size(terms: list[str], costs: list[int]) -> None:
    """Refuse what would be too large to answer at once."""
    if len(costs) * len(compact(terms)) > limits.ANSWER_REPEATED_BYTES:
        raise InvalidQueryError(
            f"its terms, told with {len(costs)} documents, are too much for one answer",
            hint="ask with fewer words, or with a smaller budget",
        )
    if sum(costs) * BYTES_PER_TOKEN > limits.ANSWER_CONTENT_BYTES:
        raise InvalidBudgetError(
            f"{sum(costs)} tokens of documents are too much for one answer", hint="ask with a smaller budget"
        )


def rank(scorer: Scorer, table: MatchTable, budget: int, *, every: bool = False) -> list[Ranked]:
    """Return the documents that fit, from the best score down, ties by ascending id.

    With `every`, those that do not fit are among them. Without, most of them are never even put in order: a document
    that cannot fit any more cannot be taken, whatever its score.
    """
    count = len(table.matches)
    walk = _BudgetWalk(scorer, table, budget, every=every)
    floor = _floor(scorer, table)
    walk.visit(scorer.scoring_at_least(table, floor), floor, math.inf)
    begun = 0
    if floor == _SMALLEST:
        # Whatever is left scores nothing, so ids decide, and the first of them will likely use up the budget.
        begun = min(count, _FIRST_ROUND)
        walk.visit(range(begun), 0.0, floor)
    rest = range(count) if every else table.columns.costing_at_most(walk.left)
    walk.visit([document for document in rest if document >= begun], 0.0, floor)
    return walk.order


class _BudgetWalk:
    """A walk through documents: those met so far, and what they left of the budget."""

    def __init__(self, scorer: Scorer, table: MatchTable, budget: int, *, every: bool) -> None:
        self.left = budget
        self.order: list[Ranked] = []
        self._scorer = scorer
        self._table = table
        self._every = every
        self._takes_any = budget > 0

    def visit(self, documents: Sequence[int], floor: float, ceiling: float) -> None:
        """Visit those documents whose score is at least `floor` and below `ceiling`, best first."""
        costs = self._table.columns.tokens
        scored = zip(self._scorer.scores(self._table, documents), documents, strict=True)
        for _, document in sorted([(-score, document) for score, document in scored if floor <= score < ceiling]):
            cost = costs[document]
            fits = cost <= self.left and self._takes_any
            if fits:
                self.left -= cost
            if fits or self._every:
                self.order.append(Ranked(document, fits))


def _floor(scorer: Scorer, table: MatchTable) -> float:
    """Return a score above zero that a hundred documents or so reach, by a sample."""
    count = len(table.matches)
    step = max(1, count // _SAMPLE)
    sample = sorted(scorer.scores(table, range(0, count, step)), reverse=True)
    return max(_SMALLEST, sample[min(len(sample) - 1, _FIRST_ROUND // step)]) if sample else _SMALLEST

"""Which documents are taken, in which order, within a budget: the best first, each whole if it still fits. Pure."""

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

from contexthall.caches.index.match_table import MatchTable

# So many documents are put in order first; the rest only matter where they still fit.
_FIRST_ROUND = 128
_SAMPLE = 256
_SMALLEST = sys.float_info.min


class Ranked(NamedTuple):
    """The number of a document, and whether it fitted into what was left of the budget."""

    document: int
    fits: bool


def rank(table: MatchTable, budget: int, *, every: bool = False) -> list[Ranked]:
    """Return the documents that fit, from the best score down, ties by ascending id.

    With `every`, those that do not fit are among them. Without, most of them are never even put in order: a document
    that cannot fit any more cannot be taken, whatever its score.
    """
    walk = _BudgetWalk(table, budget, every=every)
    floor = _floor(table)
    walk.visit(table.scoring_at_least(floor), floor, math.inf)
    begun = 0
    if floor == _SMALLEST:
        # Whatever is left scores nothing, so ids decide, and the first of them will likely use up the budget.
        begun = min(len(table), _FIRST_ROUND)
        walk.visit(range(begun), 0.0, floor)
    rest = range(len(table)) if every else table.costing_at_most(walk.left)
    walk.visit([document for document in rest if document >= begun], 0.0, floor)
    return walk.order


class _BudgetWalk:
    """A walk through documents: those met so far, and what they left of the budget."""

    def __init__(self, table: MatchTable, budget: int, *, every: bool) -> None:
        self.left = budget
        self.order: list[Ranked] = []
        self._table = table
        self._every = every
        self._takes_any = budget > 0

    def visit(self, documents: Sequence[int], floor: float, ceiling: float) -> None:
        """Visit those documents whose score is at least `floor` and below `ceiling`, best first."""
        costs, scored = self._table.costs, zip(self._table.scores(documents), documents, strict=True)
        for _, document in sorted([(-score, document) for score, document in scored if floor <= score < ceiling]):
            cost = costs[document]
            fits = cost <= self.left and self._takes_any
            if fits:
                self.left -= cost
            if fits or self._every:
                self.order.append(Ranked(document, fits))


def _floor(table: MatchTable) -> float:
    """Return a score above zero that a hundred documents or so reach, by a sample."""
    step = max(1, len(table) // _SAMPLE)
    sample = sorted(table.scores(range(0, len(table), step)), reverse=True)
    return max(_SMALLEST, sample[min(len(sample) - 1, _FIRST_ROUND // step)]) if sample else _SMALLEST

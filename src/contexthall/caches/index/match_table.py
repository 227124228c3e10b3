"""The documents of a cache as one query sees them: what each costs, and how often the query's terms occur. Pure."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from contexthall.caches.index.columns import Columns
from contexthall.caches.query.scorers import Scorer


class MatchTable:
    """Documents numbered by ascending id, and for each the number of its words that are terms of the query.

    `touched` are the only documents with any match, where that is known.
    """

    def __init__(
        self, scorer: Scorer, columns: Columns, matches: "array[int]", touched: Sequence[int] | None = None
    ) -> None:
        self.scorer = scorer
        self.columns = columns
        self.matches = matches
        self.costs = columns.tokens
        self._touched = touched

    def __len__(self) -> int:
        return len(self.matches)

    def scores(self, documents: Sequence[int]) -> Sequence[float]:
        """Return the scores of some documents."""
        return self.scorer.scores(self.columns, self.matches, documents)

    def scoring_at_least(self, floor: float) -> Sequence[int]:
        """Return every document whose score reaches `floor`, ascending; some that do not may be among them."""
        if self._touched is not None:
            return self._touched
        return self.scorer.scoring_at_least(self.columns, self.matches, floor)

    def costing_at_most(self, cost: int) -> Sequence[int]:
        """Return every document that costs at most `cost`, the cheapest first."""
        cheapest = self.columns.cheapest
        return cheapest[: bisect_right(cheapest, cost, key=self.costs.__getitem__)]

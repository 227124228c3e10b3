"""What does a query make of a cache? The documents in its order, which of them fit, and why. Pure.

`Ranking` is the one answer that every face shows in its own way: as the text of `context.resolve`, as an explanation
for a person, as a page.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, Self

from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import ListedDocument, Lookup
from contexthall.caches.query.selection import rank, score_text
from contexthall.core.errors import InvalidBudgetError, InvalidQueryError
from contexthall.core.tokens import BYTES_PER_TOKEN
from contexthall.core.wire import compact

MOST_REPEATED_BYTES = 64 << 20
"""How much of the query an answer may repeat: every document comes with all terms."""
MOST_CONTENT_BYTES = 256 << 20
"""How much of the documents an answer may hold. No agent could read it, and several copies of it are made."""


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


class Ranking:
    """The documents of a cache in the order in which a query wants them."""

    def __init__(self, query: str, terms: list[str], budget: int, table: MatchTable, listed: Lookup) -> None:
        self.query = query
        self.terms = terms
        self.budget = budget
        self._table = table
        self._listed = listed

    @cached_property
    def selected(self) -> list[int]:
        """The numbers of the documents that fit, best first."""
        return [place.document for place in rank(self._table, self.budget)]

    @property
    def considered(self) -> int:
        """How many documents the cache has."""
        return len(self._table)

    @property
    def tokens_used(self) -> int:
        return sum(self._table.costs[number] for number in self.selected)

    @property
    def total_tokens(self) -> int:
        """What all documents would cost together."""
        return sum(self._table.costs)

    def settled(self) -> Self:
        """Do the work now that could be done later."""
        _ = self.selected
        return self

    def places(self) -> Iterator[RankedDocument]:
        """Tell the place of every document, the skipped ones too."""
        left, totals = self.budget, self._table.columns.words
        scores = self._table.scores(range(len(self._table)))
        for number, (document, fits) in enumerate(rank(self._table, self.budget, every=True), 1):
            tokens, matches = self._table.costs[document], self._table.matches[document]
            identifier = self._listed(document).id
            yield RankedDocument(number, identifier, scores[document], tokens, matches, totals[document], fits, left)
            left -= tokens if fits else 0

    def text(self, read: Callable[[ListedDocument], Document]) -> str:
        """Spell the answer of `context.resolve`, with the documents that `read` gives."""
        terms, scores = compact(self.terms), self._table.scores(self.selected)
        self._check_size(len(terms))
        documents = ",".join(
            self._spell(number, score, read(self._listed(number)), terms)
            for number, score in zip(self.selected, scores, strict=True)
        )
        considered, selected = self.considered, len(self.selected)
        return (
            f'{{"documents":[{documents}],"selection":{{"query":{quoted(self.query)},"budget":{self.budget},'
            f'"tokens_used":{self.tokens_used},"documents_considered":{considered},"documents_selected":{selected},'
            f'"documents_excluded_by_budget":{considered - selected}}}}}\n'
        )

    def _check_size(self, terms_size: int) -> None:
        """Refuse what would be too large to answer at once."""
        if len(self.selected) * terms_size > MOST_REPEATED_BYTES:
            raise InvalidQueryError(
                f"its terms, told with {len(self.selected)} documents, are too much for one answer",
                hint="ask with fewer words, or with a smaller budget",
            )
        if self.tokens_used * BYTES_PER_TOKEN > MOST_CONTENT_BYTES:
            raise InvalidBudgetError(
                f"{self.tokens_used} tokens of documents are too much for one answer", hint="ask with a smaller budget"
            )

    def _spell(self, number: int, score: float, document: Document, terms: str) -> str:
        return (
            f'{{"id":{quoted(document.id)},"version":{quoted(document.version)},"content":{quoted(document.content)},'
            f'"score":{score_text(score)},"tokens":{self._table.costs[number]},'
            f'"why":{{"query_terms":{terms},"term_matches":{self._table.matches[number]},'
            f'"total_words":{self._table.columns.words[number]}}}}}'
        )

"""What does a query make of a cache? The documents in its order, which of them fit, and why. Pure.

`Ranking` is the one answer that every face shows in its own way: as the text of `context.resolve`, as an explanation
for a person, as a page.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, Self

from contexthall.caches.document import Document
from contexthall.caches.format import Listed
from contexthall.caches.reader import Snapshot
from contexthall.caches.selection import rank, score_text
from contexthall.core.wire import compact


class Place(NamedTuple):
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

    def __init__(self, query: str, terms: list[str], budget: int, snapshot: Snapshot) -> None:
        self.query = query
        self.terms = terms
        self.budget = budget
        self._columns, self._tally, self._listed = snapshot
        self._scores = self._tally.scores(self._columns)

    @cached_property
    def selected(self) -> list[int]:
        """The numbers of the documents that fit, best first."""
        return [place.document for place in rank(self._scores, self._columns.tokens, self.budget)]

    def settled(self) -> Self:
        """Do the work now that could be done later."""
        _ = self.selected
        return self

    def places(self) -> Iterable[Place]:
        """Tell the place of every document, the skipped ones too."""
        left = self.budget
        for number, (document, fits) in enumerate(rank(self._scores, self._columns.tokens, self.budget, every=True), 1):
            tokens = self._columns.tokens[document]
            yield Place(
                number,
                self._listed(document).id,
                self._scores[document],
                tokens,
                self._tally.matches[document],
                self._columns.words[document],
                fits,
                left,
            )
            left -= tokens if fits else 0

    def text(self, read: Callable[[Listed], Document]) -> str:
        """Spell the answer of `context.resolve`, with the documents that `read` gives."""
        terms = compact(self.terms)
        documents = ",".join(self._spell(number, read(self._listed(number)), terms) for number in self.selected)
        considered, selected = len(self._columns.tokens), len(self.selected)
        used = sum(self._columns.tokens[number] for number in self.selected)
        return (
            f'{{"documents":[{documents}],"selection":{{"query":{quoted(self.query)},"budget":{self.budget},'
            f'"tokens_used":{used},"documents_considered":{considered},"documents_selected":{selected},'
            f'"documents_excluded_by_budget":{considered - selected}}}}}\n'
        )

    def _spell(self, number: int, document: Document, terms: str) -> str:
        return (
            f'{{"id":{quoted(document.id)},"version":{quoted(document.version)},"content":{quoted(document.content)},'
            f'"score":{score_text(self._scores[number])},"tokens":{self._columns.tokens[number]},'
            f'"why":{{"query_terms":{terms},"term_matches":{self._tally.matches[number]},'
            f'"total_words":{self._columns.words[number]}}}}}'
        )

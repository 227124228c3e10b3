"""The answer of `context.resolve`, as a value, and the JSON text that is one rendering of it. Pure."""

from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, Self

from contexthall.caches.model.document import Document
from contexthall.caches.query.frozen import score_text
from contexthall.caches.query.ranking import Ranking
from contexthall.core.wire import compact


class ResolvedDocument(NamedTuple):
    """A document or section that fits, whole, and what put it where it stands."""

    id: str
    version: str
    content: str
    score: float
    """In format 1 the share of its words that are words of the query: `term_matches` of `total_words`."""
    tokens: int
    term_matches: int = 0
    total_words: int = 0
    title: str = ""
    """In format 2, the way from the page's title to the section's heading."""
    lines: tuple[int, int] = (0, 0)
    """In format 2, the first and last line of the section on its page."""
    matched: tuple[str, ...] = ()
    """In format 2, the words of the query that the section has."""


class Resolution(NamedTuple):
    """The documents that answer a query within a budget, best first."""

    documents: tuple[ResolvedDocument, ...]
    query: str
    budget: int
    tokens_used: int
    documents_considered: int
    """How many documents the cache has, or sections the order; what is not among `documents` did not fit."""
    text: str
    """The answer of `context.resolve`, byte for byte."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.documents)

    @classmethod
    def of(cls, ranking: Ranking, documents: Iterable[Document]) -> Self:
        """Return the answer that consists of the documents of a ranking, which come in its order."""
        columns, matches = ranking.table.columns, ranking.table.matches
        numbers = [ranked.document for ranked in ranking.order]
        scores = ranking.scorer.scores(ranking.table, numbers)
        resolved = tuple(
            [
                ResolvedDocument(
                    id=document.id,
                    version=document.version,
                    content=document.content,
                    score=float(score_text(score)),  # the number that the text tells
                    tokens=columns.tokens[number],
                    term_matches=matches[number],
                    total_words=columns.words[number],
                )
                for number, score, document in zip(numbers, scores, documents, strict=True)
            ]
        )
        used, considered = sum([each.tokens for each in resolved]), len(matches)
        text = _to_json(resolved, ranking, used)
        return cls(resolved, ranking.query.text, ranking.query.budget, used, considered, text)


def _to_json(documents: Sequence[ResolvedDocument], ranking: Ranking, tokens_used: int) -> str:
    terms = compact(ranking.terms)
    items = ",".join(
        [
            f'{{"id":{quoted(each.id)},"version":{quoted(each.version)},"content":{quoted(each.content)},'
            f'"score":{score_text(each.score)},"tokens":{each.tokens},"why":{{"query_terms":{terms},'
            f'"term_matches":{each.term_matches},"total_words":{each.total_words}}}}}'
            for each in documents
        ]
    )
    considered, selected = len(ranking.table.matches), len(documents)
    return (
        f'{{"documents":[{items}],"selection":{{"query":{quoted(ranking.query.text)},"budget":{ranking.query.budget},'
        f'"tokens_used":{tokens_used},"documents_considered":{considered},"documents_selected":{selected},'
        f'"documents_excluded_by_budget":{considered - selected}}}}}\n'
    )

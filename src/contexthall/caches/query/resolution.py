"""The answer of `context.resolve`, as a value, and the JSON text that is one rendering of it. Pure."""

from collections.abc import Iterable
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, Self

from contexthall.caches.model.document import Document
from contexthall.caches.query.frozen import score_text
from contexthall.caches.query.ranking import Ranking
from contexthall.core.wire import compact


class ResolvedDocument(NamedTuple):
    """A document that fits, whole, and what put it where it stands."""

    id: str
    version: str
    content: str
    score: float
    """The share of its words that are words of the query: `term_matches` of `total_words`."""
    tokens: int
    term_matches: int
    total_words: int


class Resolution(NamedTuple):
    """The documents that answer a query within a budget, best first."""

    documents: tuple[ResolvedDocument, ...]
    query: str
    budget: int
    tokens_used: int
    documents_considered: int
    """How many documents the cache has; what is not among `documents` did not fit."""
    query_terms: tuple[str, ...]
    """The query as its cache compares it with the documents."""

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
        used = sum([each.tokens for each in resolved])
        return cls(resolved, ranking.query.text, ranking.query.budget, used, len(matches), tuple(ranking.terms))

    @property
    def text(self) -> str:
        """The answer of `context.resolve`, byte for byte."""
        terms = compact(self.query_terms)
        documents = ",".join(
            [
                f'{{"id":{quoted(each.id)},"version":{quoted(each.version)},"content":{quoted(each.content)},'
                f'"score":{score_text(each.score)},"tokens":{each.tokens},"why":{{"query_terms":{terms},'
                f'"term_matches":{each.term_matches},"total_words":{each.total_words}}}}}'
                for each in self.documents
            ]
        )
        considered, selected = self.documents_considered, len(self.documents)
        return (
            f'{{"documents":[{documents}],"selection":{{"query":{quoted(self.query)},"budget":{self.budget},'
            f'"tokens_used":{self.tokens_used},"documents_considered":{considered},"documents_selected":{selected},'
            f'"documents_excluded_by_budget":{considered - selected}}}}}\n'
        )

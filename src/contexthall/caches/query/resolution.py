"""What does an answer of `context.resolve` say, as values?

They are read from the very text that an agent gets, which comes along: so the two cannot differ. Pure.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self


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
    text: str
    """The answer of `context.resolve`, byte for byte."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an answer of `context.resolve`."""
        answer = json.loads(text)
        selection = answer["selection"]
        return cls(
            documents=tuple(map(_document, answer["documents"])),
            query=selection["query"],
            budget=selection["budget"],
            tokens_used=selection["tokens_used"],
            documents_considered=selection["documents_considered"],
            text=text,
        )


def _document(told: Mapping[str, Any]) -> ResolvedDocument:
    known = {**told, **told["why"]}
    return ResolvedDocument(*(known[name] for name in ResolvedDocument._fields))

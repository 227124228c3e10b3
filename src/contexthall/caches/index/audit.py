"""Audit of the index: every document and every term of it, compared with the documents.

An index is believed without reading the documents, so a lie in it would be told on; only a verification can find one.
"""

from collections.abc import Iterator, Sequence

from contexthall.caches.index.match_table import Columns
from contexthall.caches.index.postings import MALFORMED, PostingsError, PostingsReader
from contexthall.caches.model.format import DOCUMENTS, POSTINGS, ListedDocument
from contexthall.caches.query.scorers import Scorer
from contexthall.core.tokens import tokens


class Audit:
    """What the documents say, taken in one by one, by ascending id.

    The words of a document are kept as the sum of their hashes, which no other words will have.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._tokens: list[int] = []
        self._words: list[int] = []
        self._sums: list[int | None] = []

    def take(self, content: str | None) -> None:
        """Add the next document; None if it cannot be read."""
        found = self._scorer.terms(content or "")
        self._tokens.append(tokens((content or "").encode()))
        self._words.append(len(found))
        self._sums.append(None if content is None else sum(map(hash, found)))

    def violations(self, listed: Sequence[ListedDocument], index: PostingsReader) -> Iterator[str]:
        """Yield everything that the index says and the manifest or the documents do not."""
        try:
            files = [each.file.removeprefix(f"{DOCUMENTS}/") for each in listed]
            if index.all_listed() != [*listed] or index.files() != files:
                yield f"{POSTINGS} and the manifest do not list the same documents"
                return
            yield from self._differences(listed, index.columns, _sums(index))
        except (PostingsError, *MALFORMED) as error:
            yield f"{POSTINGS}: {error}"

    def _differences(self, listed: Sequence[ListedDocument], columns: Columns, sums: Sequence[int]) -> Iterator[str]:
        found = zip(columns.tokens, columns.words, sums, strict=True)
        expected = zip(self._tokens, self._words, self._sums, strict=True)
        for each, said, true in zip(listed, found, expected, strict=True):
            if said != true and true[2] is not None:
                yield f"{POSTINGS} says of {each.id} what its content does not"
        if columns.cheapest != Columns.of(columns.tokens, columns.words).cheapest:
            yield f"{POSTINGS} does not sort the documents by their tokens"


def _sums(index: PostingsReader) -> list[int]:
    """Return, for each document, the sum of the hashes of the words that the index says it has."""
    sums = [0] * index.documents
    for word, term in index.terms():
        documents, counts = term.postings()
        if term.peak != max(counts, default=0):
            raise PostingsError(f"the largest count of {word} is not {term.peak}")
        value = hash(word)
        for document, count in zip(documents, counts, strict=True):
            sums[document] += value * count
    return sums

"""Reads a cache of format 1: through its index where that can be believed, else by reading every document.

Both ways give the same ranking.
"""

import hashlib
from array import array
from collections.abc import Sequence
from operator import countOf
from typing import TYPE_CHECKING

from contexthall.caches.index.match_table import Columns, MatchTable
from contexthall.caches.index.postings import (
    MALFORMED,
    DamagedPostingsError,
    PostingsError,
    PostingsReader,
    UnreadPostingsError,
)
from contexthall.caches.model.format import (
    DOCUMENTS,
    MANIFEST,
    POSTINGS,
    ListedDocument,
    scorer_in,
)
from contexthall.caches.query.cache_files import CacheFiles, DocumentFiles, read_part
from contexthall.caches.query.explanation import Explanation, RankingPage, explanation_of, page_of
from contexthall.caches.query.question import Question
from contexthall.caches.query.ranking import Query, Ranking
from contexthall.caches.query.resolution import Resolution
from contexthall.caches.query.scorers import Scorer, SectionFormat
from contexthall.core.errors import CacheInvalidError, DiskError, DocumentMissingError, PathMissingError
from contexthall.core.tokens import tokens
from contexthall.system.disk import Directory

if TYPE_CHECKING:
    from contexthall.caches.query.section_places import ShownSection
    from contexthall.caches.query.section_reading import Outline, Reading
    from contexthall.caches.query.whole_documents import WholeDocuments


class OpenCache(CacheFiles):
    """A cache of format 1 whose directory is open: its documents are scored whole."""

    def __init__(self, directory: Directory) -> None:
        super().__init__(directory)
        try:
            self._index = _open_index(directory)
        except UnreadPostingsError:  # which may pass, so the next call opens this cache anew
            self._index, self.signature = None, ()

    def resolve(self, question: Question) -> Resolution:
        """Return the documents that answer a question, within its budget."""
        ranking = self.rank(Query(question.query, question.budget))
        return Resolution.of(ranking, map(self.documents().read, ranking.listed))

    def explain(self, question: Question, document_id: str) -> Explanation:
        """Return where a document stands in a question's order, and why."""
        number, document = self.find(document_id)
        return explanation_of(self.rank(Query(question.query, question.budget, slice(0, 0))), number, document)

    def places(self, question: Question, page: slice) -> RankingPage:
        """Return some places of a question's order, the skipped documents among them."""
        return page_of(self.rank(Query(question.query, question.budget, page)))

    def section(self, section_id: str, _query: str) -> "ShownSection":
        """Refuse: documents of this format are shown whole."""
        raise DocumentMissingError(section_id)

    def read(self, question: Question, _neighbours: int, start: str | None) -> "Reading":
        """Return a document, which is all of its page."""
        return self._whole().read(question, start)

    def outline(self, question: Question, under: str | None, depth: int | None, start: str | None) -> "Outline":
        """Return the titles of the documents under a document or folder, from the document `start` on."""
        return self._whole().outline(question, under, depth, start)

    def _whole(self) -> "WholeDocuments":
        from contexthall.caches.query.whole_documents import WholeDocuments  # noqa: PLC0415 - 10 ms

        return WholeDocuments({each.id: each for each in self.listing().documents}, self.documents().read)

    def rank(self, query: Query) -> Ranking:
        """Return the documents in a query's order."""
        index = self._index  # another thread may find out meanwhile that it is damaged
        if index is not None:
            try:
                terms = index.scorer.terms(query.text)
                return Ranking.of(query, terms, index.scorer, index.match_table(terms), index.listed)
            except (DamagedPostingsError, *MALFORMED):  # forged columns may name documents that are not there
                self._index = None
            except UnreadPostingsError:
                pass
        listing = self.listing()
        assert not isinstance(listing.scorer, SectionFormat)
        terms = listing.scorer.terms(query.text)
        table = _scan(self.directory, listing.documents, listing.scorer, terms)
        return Ranking.of(query, terms, listing.scorer, table, listing.documents.__getitem__)


def index_doubts(directory: Directory, manifest: bytes) -> str:
    """Return why the index that belongs to this manifest is not believed; empty if it is."""
    try:
        open_postings(directory, manifest).files()
    except PostingsError as error:
        return str(error)
    return ""


def open_postings(directory: Directory, manifest: bytes) -> PostingsReader:
    """Open the index that belongs to this manifest; a PostingsError if there is none that can be believed."""
    scorer = scorer_in(manifest)
    if scorer is None or isinstance(scorer, SectionFormat):
        raise DamagedPostingsError("the manifest names no scorer that is known here")
    try:
        return PostingsReader(directory.open(POSTINGS), hashlib.sha256(manifest).digest(), scorer)
    except PathMissingError:
        raise DamagedPostingsError("there is none") from None
    except DiskError as error:
        raise UnreadPostingsError(error.detail) from error


def _open_index(directory: Directory) -> PostingsReader | None:
    """Open the index if there is one that can be believed, and see that no document's file is missing."""
    manifest = read_part(directory, MANIFEST)
    try:
        index = open_postings(directory, manifest)
        expected = index.files()
    except DamagedPostingsError:
        return None
    try:
        present = set(directory.enter(DOCUMENTS).names())
    except PathMissingError:
        present = set()
    if not present.issuperset(expected):
        raise CacheInvalidError(f"{directory.path} has lost the file of a document")
    return index


def _scan(directory: Directory, documents: Sequence[ListedDocument], scorer: Scorer, terms: list[str]) -> MatchTable:
    """Read every document, and count."""
    files, wanted = DocumentFiles(directory), frozenset(terms)
    costs, totals, matches = array("Q"), array("Q"), array("Q")
    for listed in documents:
        content = files.read(listed).content
        found = scorer.terms(content)
        costs.append(tokens(content.encode()))
        totals.append(len(found))
        matches.append(countOf(map(wanted.__contains__, found), True))
    return MatchTable(Columns.of(costs, totals), matches)

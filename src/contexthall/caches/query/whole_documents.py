"""Reads and outlines a cache of format 1, in which a document is one section that has the id of the document."""

from collections.abc import Callable, Mapping

from contexthall.caches.model.document import Document
from contexthall.caches.model.format import ListedDocument
from contexthall.caches.model.items import Item
from contexthall.caches.model.page import LINE_END
from contexthall.caches.model.sections import split
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_reading import (
    Outline,
    OutlinedPage,
    OutlinedSection,
    Reading,
    outline,
    paths_under,
    read,
)
from contexthall.core.errors import DocumentMissingError


class WholeDocuments:
    """The documents of a cache, by their ids, and how one is read."""

    def __init__(
        self, listed: Mapping[str, ListedDocument], read_document: Callable[[ListedDocument], Document]
    ) -> None:
        self._listed = listed
        self._read = read_document

    def read(self, question: Question, start: str | None = None) -> Reading:
        """Return a document."""
        wanted = question.query
        if wanted not in self._listed or start not in {None, wanted}:
            raise DocumentMissingError(wanted).about(wanted, self._listed)
        return read(question, [self._item(wanted)], [wanted])

    def outline(
        self, question: Question, under: str | None = None, depth: int | None = None, start: str | None = None
    ) -> Outline:
        """Return the titles of the documents under a document or folder, from the document `start` on."""
        paths, first = paths_under(under, start, self._listed)
        return outline(question, (under, depth), paths, first, self._outlined)

    def _item(self, document_id: str) -> Item:
        document = self._read(self._listed[document_id])
        text = document.content
        ends = sum(1 for _ in LINE_END.finditer(text))
        last = ends if text.endswith(("\n", "\r")) else ends + 1
        return Item(document_id, split(text, document.source).title, 1, last, text)

    def _outlined(self, document_id: str) -> OutlinedPage:
        item = self._item(document_id)
        section = OutlinedSection(document_id, "", 0, (1, item.last_line), 1, item.tokens)
        return OutlinedPage(document_id, item.title, item.tokens, (section,))

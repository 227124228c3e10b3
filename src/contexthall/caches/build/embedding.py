"""Embeds the sections of a cache that is being built."""

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from contexthall.caches.embedding.embedders import Embedder, embed, model_of
from contexthall.caches.embedding.meaning import read_vectors
from contexthall.caches.embedding.vectors import SectionVectors
from contexthall.caches.model.format import MANIFEST, ListedDocument, read_manifest
from contexthall.caches.model.sections import split
from contexthall.caches.query.cache_files import DocumentFiles, read_part
from contexthall.caches.query.scorers import SectionFormat
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError
from contexthall.system.disk import Directory


class SectionEmbedder(NamedTuple):
    """Makes the vectors of a cache with an embedder."""

    embedder: Embedder

    @property
    def scorer(self) -> SectionFormat:
        return SectionFormat(model_of(self.embedder))

    def vectors(
        self,
        cache: Directory,
        listed: Sequence[ListedDocument],
        known: Mapping[str, bytes],
        progress: Callable[[int, int], None],
    ) -> SectionVectors:
        """Return the vectors of all sections of the pages that are listed; `known` are those of some pages, by id."""
        files, counts, texts, made = DocumentFiles(cache), list[int](), list[str](), list[bytes]()
        for done, each in enumerate(listed, 1):
            document = files.read(each)
            page = split(document.content, document.source)
            counts.append(len(page.sections))
            if not self._is_known(each.id, counts[-1], known):
                texts += map(page.passage, page.sections)
            if len(texts) >= limits.EMBEDDED_SECTIONS or done == len(listed):
                made += embed(self.embedder, texts, "document")
                texts = []
                progress(done, len(listed))
        rows = iter(made)
        pages = (
            known[each.id] if self._is_known(each.id, count, known) else b"".join(islice(rows, count))
            for each, count in zip(listed, counts, strict=True)
        )
        return SectionVectors(self.embedder.dim, counts, b"".join(pages))

    def _is_known(self, page: str, sections: int, known: Mapping[str, bytes]) -> bool:
        return page in known and len(known[page]) == sections * self.embedder.dim

    def known(self, old: Directory, pages: Container[str]) -> dict[str, bytes]:
        """Return the vectors that a cache has of pages, by id; none if it was built with another embedder."""
        try:
            manifest = read_part(old, MANIFEST)
            scorer, documents = read_manifest(manifest)
            vectors = read_vectors(old, manifest)
        except CacheInvalidError:
            return {}
        if scorer != self.scorer or len(documents) != len(vectors.counts):
            return {}
        edges = pairwise(accumulate(vectors.counts, initial=0))
        return {
            each.id: vectors.rows[start * vectors.dim : end * vectors.dim]
            for each, (start, end) in zip(documents, edges, strict=True)
            if each.id in pages
        }

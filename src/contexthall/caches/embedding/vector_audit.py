"""Verification of a cache's vectors: that there is one for each section, and that the model makes the same."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate

from contexthall.caches.embedding.embedders import Embedder, embed, find_model
from contexthall.caches.embedding.meaning import read_vectors
from contexthall.caches.embedding.vectors import SectionVectors
from contexthall.caches.model.format import MANIFEST, VECTORS, ListedDocument
from contexthall.caches.model.page import Page
from contexthall.caches.model.sections import split
from contexthall.caches.query.cache_files import DocumentFiles, read_part
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError, EmbedderError
from contexthall.system.disk import Directory

_ROUNDING = 1
"""Another processor may compute a number that is rounded to the other side."""


def vector_violations(cache: Directory, listed: Sequence[ListedDocument], model: str) -> Iterator[str]:
    """Yield what is wrong with the vectors: all must be there, a sample as an installed model makes it."""
    try:
        vectors = read_vectors(cache, read_part(cache, MANIFEST))
    except (CacheInvalidError, DiskError) as error:
        yield error.detail
        return
    try:
        embedder = find_model(model)
    except EmbedderError:
        embedder = None
    if len(vectors.counts) != len(listed) or (embedder and embedder.dim != vectors.dim):
        yield f"{VECTORS} is not of these documents and this embedder"
        return
    files, total = DocumentFiles(cache), sum(vectors.counts)
    sample = [number * total // limits.VERIFIED_VECTORS for number in range(limits.VERIFIED_VECTORS)]
    for each, count, start in zip(listed, vectors.counts, accumulate(vectors.counts, initial=0), strict=False):
        try:
            document = files.read(each)
            page = split(document.content, document.source)
        except (CacheInvalidError, DiskError):
            continue  # which the verification of the pages tells
        chosen = [number - start for number in sorted(set(sample)) if start <= number < start + count]
        if count != len(page.sections):
            yield f"{VECTORS} has not a vector for each section of {each.id}"
        elif embedder and not _agrees(vectors, start, embedder, page, chosen):
            yield f"{VECTORS} does not say what {embedder.id} makes of {each.id}"


def _agrees(vectors: SectionVectors, start: int, embedder: Embedder, page: Page, chosen: Sequence[int]) -> bool:
    """Return whether the vectors of sections of a page are those that the embedder makes now, but for rounding."""
    made = embed(embedder, [page.passage(page.sections[number]) for number in chosen], "document")
    return all(
        abs(one - other) <= _ROUNDING
        for number, row in zip(chosen, made, strict=True)
        for one, other in zip(array("b", row), array("b", vectors.row(start + number)), strict=True)
    )

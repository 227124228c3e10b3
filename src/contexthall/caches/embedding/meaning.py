"""Which sections of a cache mean what a question means, by the vectors of one model."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from heapq import nlargest
from itertools import pairwise

from contexthall.caches.embedding.embedders import Embedder, embed, find_model
from contexthall.caches.embedding.vectors import SectionVectors
from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.format import VECTORS
from contexthall.caches.query.cache_files import read_part
from contexthall.caches.query.section_ranking import MOST_ORDERED
from contexthall.caches.query.section_reader import MemoryFile
from contexthall.core.errors import CacheInvalidError
from contexthall.system.disk import Directory


class Meaning:
    """The vectors of a cache, read with the first question, and the model that embeds questions."""

    def __init__(self, model: str, load: Callable[[], SectionVectors]) -> None:
        self.model = model
        self._load = load

    @classmethod
    def of(cls, directory: Directory, manifest: bytes, model: str, segments: Segments) -> "Meaning":
        """Return what the sections of a cache mean, which are numbered as in `segments`."""
        return cls(model, lambda: _numbered(read_vectors(directory, manifest), segments))

    @classmethod
    def loaded(cls, load: Callable[[], bytes], manifest_hash: bytes, model: str, segments: Segments) -> "Meaning":
        """Return what sections mean whose vectors belong to the manifest with this hash."""
        return cls(model, lambda: _numbered(_vectors_in(load(), manifest_hash), segments))

    @classmethod
    def joined(cls, meanings: Sequence["Meaning | None"]) -> "Meaning | None":
        """Return what the sections of several caches mean; None unless all name the same model."""
        models = {meaning.model if meaning else "" for meaning in meanings}
        found = [meaning for meaning in meanings if meaning]
        return cls(found[0].model, lambda: _concatenated(found)) if found and len(models) == 1 else None

    def nearest(self, query: str, segments: Segments) -> list[int]:
        """Return the sections nearest to a question, ties by id; those at a right angle or beyond do not count."""
        from contexthall.caches.embedding import similarity  # noqa: PLC0415 - numpy is slow to import

        (vector,) = embed(self._embedder, [query], "query")
        if len(vector) != self.vectors.dim:
            raise CacheInvalidError(f"{VECTORS} has not the dimensions of {self.model}")
        products = similarity.products(self.vectors.rows, vector)
        floor = max(1, min(nlargest(MOST_ORDERED, products), default=1))
        found = [section for section, product in enumerate(products) if product >= floor]
        return sorted(found, key=lambda section: (-products[section], segments.id_order(section)))[:MOST_ORDERED]

    @cached_property
    def vectors(self) -> SectionVectors:
        return self._load()

    @cached_property
    def _embedder(self) -> Embedder:
        return find_model(self.model)


def read_vectors(directory: Directory, manifest: bytes) -> SectionVectors:
    """Read the vectors that belong to this manifest: an error if they cannot be believed, for nothing replaces them."""
    return _vectors_in(read_part(directory, VECTORS), hashlib.sha256(manifest).digest())


def _vectors_in(data: bytes, manifest_hash: bytes) -> SectionVectors:
    try:
        return SectionVectors.read(MemoryFile(data), len(data), manifest_hash)
    except IndexDamagedError as error:
        raise CacheInvalidError(f"{VECTORS}: {error}") from None


def _numbered(vectors: SectionVectors, segments: Segments) -> SectionVectors:
    """Return vectors in the order of the segments; they are stored by the ids of the pages."""
    ids = segments.page_ids
    places = {page: place for place, page in enumerate(sorted(range(len(ids)), key=ids.__getitem__))}
    expected = [after - before for before, after in pairwise(segments.first)]
    if len(ids) == len(vectors.counts):
        vectors = vectors.in_order(places[page] for page in range(len(ids)))
    if list(vectors.counts) != expected:
        raise CacheInvalidError(f"{VECTORS} has not a vector for each section")
    return vectors


def _concatenated(meanings: Sequence[Meaning]) -> SectionVectors:
    parts = [meaning.vectors for meaning in meanings]
    if len({part.dim for part in parts}) > 1:
        raise CacheInvalidError(f"the {VECTORS} of some caches have other dimensions")
    counts = [count for part in parts for count in part.counts]
    return SectionVectors(parts[0].dim, counts, b"".join(part.rows for part in parts))

"""The vectors of a cache's sections: one file of checksummed blocks, which belongs to a manifest. Pure.

Rows are in the order of the manifest's pages and of their sections. Nothing can be derived in place of a row that is
damaged, but by the model that made it.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from contexthall.caches.index.blocks import (
    BlockPlace,
    BlockReader,
    BlockWriter,
    Cursor,
    IndexDamagedError,
    Readable,
    pack_numbers,
    well_formed,
)

_MAGIC = b"CHVECS01"
_HEADER = struct.Struct("<8s32s2IQ4Q")


class SectionVectors(NamedTuple):
    """A vector for each section, one after the other, and how many sections each page has."""

    dim: int
    counts: Sequence[int]
    rows: bytes

    def to_bytes(self, manifest_hash: bytes) -> bytes:
        """Return the file of the vectors that belong to a manifest."""
        writer = BlockWriter(manifest_hash, _HEADER)
        places = *writer.add(pack_numbers(self.counts), "counts"), *writer.add(self.rows, "rows")
        return writer.finish(_MAGIC, manifest_hash, self.dim, len(self.counts), sum(self.counts), *places)

    @classmethod
    def read(cls, file: Readable, size: int, manifest_hash: bytes) -> "SectionVectors":
        """Read what `to_bytes` wrote for this manifest; IndexDamagedError if it is not that."""
        with well_formed():
            reader = BlockReader(file, size, manifest_hash)
            magic, key, dim, pages, sections, *places = reader.header(_HEADER)
            if magic != _MAGIC or key != manifest_hash:
                raise IndexDamagedError("made for another cache or by another version")
            counts = Cursor(reader.read(BlockPlace(*places[:2]), "counts")).numbers(pages)
            rows = reader.read(BlockPlace(*places[2:]), "rows")
            if sum(counts) != sections or len(rows) != sections * dim:
                raise IndexDamagedError("it has not a vector for each section")
            return cls(dim, counts, rows)

    def row(self, section: int) -> bytes:
        return self.rows[self.dim * section : self.dim * (section + 1)]

    def in_order(self, pages: Iterable[int]) -> "SectionVectors":
        """Return the same vectors with the pages in another order."""
        order, width = list(pages), self.dim
        if order == list(range(len(order))):
            return self
        starts = [0, *accumulate(self.counts)]
        rows = b"".join(self.rows[width * starts[page] : width * starts[page + 1]] for page in order)
        return SectionVectors(width, [self.counts[page] for page in order], rows)

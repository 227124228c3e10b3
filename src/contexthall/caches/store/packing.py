"""Packs a cache, or a shard of one, into one object: its index as questions read it, its pages, and its files."""

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contexthall.caches.index.blocks import IndexDamagedError, IndexUnreadError
from contexthall.caches.index.segment import (
    FIELDS,
    Occurrences,
    PageColumns,
    SectionColumns,
    Segment,
    SegmentSums,
    SegmentTerm,
    bucket_of,
)
from contexthall.caches.index.segment_builder import numbers_of
from contexthall.caches.index.segments import Segments
from contexthall.caches.model import document as documents
from contexthall.caches.model.format import DOCUMENTS, INDEX, MANIFEST, SEGMENTS, VECTORS
from contexthall.caches.query.cache_files import CachePart, read_part
from contexthall.caches.query.section_reader import open_segment, open_segment_list
from contexthall.caches.store.root import PackedFile, PackedHead, StoredPart
from contexthall.caches.store.stored_index import (
    TERMS_PER_BUCKET,
    IndexHead,
    PackWriter,
    StoredTerm,
    bucket_to_bytes,
    page_to_bytes,
    squeezed,
)
from contexthall.core.errors import CacheInvalidError, PathMissingError

_END = 2**32 - 1


class _PackedSegment(NamedTuple):
    """A segment, the numbers of its first section, page and position among all, and where its terms stand."""

    segment: Segment
    first_section: int
    first_page: int
    first_position: int
    places: "NDArray[np.int64]"
    """Positions by the term's number, ascending for each."""
    edges: "NDArray[np.int64]"
    titles: "array[int]"

    def positions(self, code: bytes) -> "NDArray[np.uint32]":
        (number,) = numbers_of(code)
        if number + 1 >= len(self.edges):  # only in names of files
            return np.empty(0, np.uint32)
        found = self.places[self.edges[number] : self.edges[number + 1]] + self.first_position
        return found.astype(np.uint32)


class Packer:
    """Writes the pack of one part."""

    def __init__(self, part: CachePart, write: Callable[[bytes], None], on_page: Callable[[], None]) -> None:
        self._part = part
        self._on_page = on_page
        self._key = hashlib.sha256(part.manifest).digest()
        self._blocks = PackWriter(self._key)
        self._digest = hashlib.sha256()
        self._write_out = write
        try:
            self._listed = open_segment_list(part.directory, part.manifest)
            opened = [open_segment(part.directory, each) for each in self._listed]
            self.segments = Segments(opened)
        except (IndexDamagedError, IndexUnreadError) as error:
            hint = "`context verify` says more; `context build` makes it anew"
            raise CacheInvalidError(f"its index is of no use: {error}", hint=hint) from None

    def pack(self) -> StoredPart:
        """Write everything, and return what the root says of it."""
        pages = [*self._pages()]
        buckets = [*self._buckets()]
        raw = self._head(pages, buckets).to_bytes()
        head = PackedHead(self._blocks.at, len(squeezed(raw)), len(raw), hashlib.sha256(raw).hexdigest())
        self._write(squeezed(raw))
        at, files = head.at + head.length, list[PackedFile]()
        for name in self._names():
            data = read_part(self._part.directory, name)
            files.append(PackedFile(name, at, len(data)))
            self._write(data)
            at += len(data)
        path = self._part.prefix.rstrip("/")
        return StoredPart(path, self._digest.hexdigest(), at, self._key.hex(), head, tuple(files))

    def _pages(self) -> Iterator[int]:
        """Write the pages; yield where each begins, and where the last one ends."""
        folder = self._part.directory.enter(DOCUMENTS)
        files = chain.from_iterable(each.pages for each in self._listed)
        for page, file in enumerate(files):
            record = self.segments.record(page)
            try:
                data = folder.read(file.removeprefix(f"{DOCUMENTS}/"))
            except PathMissingError:
                raise CacheInvalidError(f"the file of {record.id} is not there") from None
            documents.read(data, id=record.id, version=record.version)
            yield self._blocks.at
            self._block(page_to_bytes(record.to_bytes(), data), f"page {page}")
            self._on_page()
        yield self._blocks.at

    def _buckets(self) -> Iterator[int]:
        """Write what is said of terms, bucket by bucket; yield where each begins, and where the last one ends."""
        sources = _sources(self.segments)
        self._titles = array("I", chain.from_iterable(source.titles for source in sources))
        names = {name for source in sources for name in source.segment.codes().values()}
        count = 1 + len(names) // TERMS_PER_BUCKET
        filled: list[list[str]] = [[] for _ in range(count)]
        for name in sorted(names):
            filled[bucket_of(name.encode(), count)].append(name)
        number = 0
        for bucket, members in enumerate(filled):
            entries = []
            for name in members:
                if found := _merged(name, sources, number):
                    entries.append((name.encode(), found.to_bytes()))
                    number += 1
            yield self._blocks.at
            self._block(bucket_to_bytes(entries), f"bucket {bucket}")
        yield self._blocks.at

    def _head(self, pages: Sequence[int], buckets: Sequence[int]) -> IndexHead:
        segments = self.segments
        sections = SectionColumns(
            segments.page, *(_joined([each.columns[at] for each in segments.all]) for at in range(1, 8))
        )
        title, heading, body, size = (_joined([each.page_columns[at] for each in segments.all]) for at in (0, 1, 2, 4))
        columns = PageColumns(title, heading, body, segments.first[:-1], size)
        sums = SegmentSums(**{name: segments.sums[name] for name in SegmentSums._fields})
        return IndexHead(sums, sections, columns, self._titles, buckets, pages, segments.page_ids)

    def _names(self) -> Iterator[str]:
        yield from (MANIFEST, INDEX, SEGMENTS)
        yield from sorted(each.file for each in self._listed)
        if VECTORS in self._part.directory.names():
            yield VECTORS

    def _block(self, payload: bytes, name: str) -> None:
        self._write(self._blocks.block(payload, name))

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._write_out(data)


def _sources(segments: Segments) -> list[_PackedSegment]:
    found, position = list[_PackedSegment](), 0
    for number in range(len(segments.all)):
        segment, section, page = segments.of(number)
        terms, titles = _order_of(segment)
        order = np.argsort(terms, kind="stable")
        largest = int(terms[terms != _END].max(initial=0))
        edges = np.searchsorted(terms[order], np.arange(largest + 2))
        found.append(_PackedSegment(segment, section, page, position, order, edges, titles))
        position += len(terms)
    return found


def _order_of(segment: Segment) -> tuple["NDArray[np.uint32]", "array[int]"]:
    """Return the numbers of all terms of a segment in their order, and how many the title of each page has."""
    terms, titles = array("I"), array("I")
    for page in range(segment.pages):
        if not segment.sections_of(page):
            titles.append(0)
            continue
        fields = [numbers_of(field) for field in segment.orders(page).fields()]
        titles.append(len(fields[0]))
        for field in fields:
            terms.extend(field)
            terms.append(_END)
    return np.array(terms, dtype=np.uint32), titles


def _merged(name: str, sources: Sequence[_PackedSegment], number: int) -> StoredTerm | None:
    """Return what all segments say of a term; None if no page has it any more."""
    found = [(source, entry) for source in sources if (entry := source.segment.term(name))]
    if not found:
        return None
    fields = tuple(_occurrences(found, field) for field in range(FIELDS))
    positions = np.concatenate([source.positions(entry.code) for source, entry in found])
    having = sum(entry.sections for _, entry in found), sum(entry.pages for _, entry in found)
    return StoredTerm(number, *having, fields, array("I", positions.tobytes()))


def _occurrences(found: Sequence[tuple[_PackedSegment, SegmentTerm]], field: int) -> Occurrences:
    units, counts = array("I"), array("I")
    for source, entry in found:
        first = source.first_section if field else source.first_page
        each = entry.fields[field]
        units.extend(array("I", [first + unit for unit in each.units]) if first else each.units)
        counts.extend(array("I", each.counts))
    return Occurrences(units, counts)


def _joined(columns: Sequence["array[int]"]) -> "array[int]":
    return array("Q", chain.from_iterable(columns))

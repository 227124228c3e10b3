"""Turns source files into pages and segments: one share of a build of format 2, with bounded memory."""

import hashlib
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from contexthall.caches.build.compiler import BuildTask, WrittenDocument, write_document
from contexthall.caches.build.convert.documents import reading_documents
from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.convert.registry import PACKAGE_PAGE
from contexthall.caches.build.sources import SourceFile, read_source
from contexthall.caches.build.staging import NEW
from contexthall.caches.index.segment_builder import SegmentBuilder
from contexthall.caches.index.segment_list import segment_file
from contexthall.caches.model.format import DOCUMENTS
from contexthall.caches.model.page import Page
from contexthall.caches.model.sections import split
from contexthall.caches.model.shards import shard_of
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, SourcesError
from contexthall.core.paths import shown
from contexthall.system.disk import Directory
from contexthall.system.processes import Report

_REPORT_EVERY = 64


class WrittenSegment(NamedTuple):
    """A segment that has its file, and how many pages are in it."""

    key: bytes
    size: int
    pages: int


class SectionShare(NamedTuple):
    """What came of a share: the documents in order, and the segments."""

    documents: list[WrittenDocument]
    segments: list[WrittenSegment]
    failures: dict[str, str]
    """Which files could not be converted, and why."""
    encodings: dict[str, str]
    """Which files were not UTF-8, but what."""
    digests: dict[str, str]
    """The SHA-256 of every file that was read."""
    shard: int = 0
    """In which shard all that is."""


@reading_documents()
def compile_sections(task: BuildTask, sources: Sequence[SourceFile], first: int, report: Report) -> list[SectionShare]:
    """Compile `sources`, the first of which is document number `first`, into the staging directory, shard by shard.

    They are in the order of their shards.
    """
    shares, folders = [], task.folders()
    for shard, some in groupby(sources, lambda source: shard_of(source.id, task.shards)):
        files = list(some)
        cache = folder_of(task.staging.enter(NEW), folders[shard])
        shares.append(_compile_shard(task, cache, files, first, report)._replace(shard=shard))
        first += len(files)
    return shares


def folder_of(cache: Directory, folder: str) -> Directory:
    """Open the folder of a shard; that of a cache without shards is the cache."""
    return cache.enter(folder) if folder else cache


def _compile_shard(
    task: BuildTask, cache: Directory, sources: Sequence[SourceFile], first: int, report: Report
) -> SectionShare:
    files = cache.enter(DOCUMENTS)
    share = SectionShare([], [], {}, {}, {})
    counted, text_bytes = SegmentBuilder(), 0
    for number, source in enumerate(sources, first):
        content = _read_page(task, source, share)
        page = None if content is None else _split(content, source, share)
        if content is not None and page is not None:
            written = write_document(source, content, number, files)
            share.documents.append(written)
            counted.add(source.id, written.version, page)
            text_bytes += len(content)
        if (
            len(counted) >= limits.SEGMENT_PAGES
            or text_bytes >= limits.SEGMENT_TEXT_BYTES
            or counted.words >= limits.SEGMENT_WORDS
        ):
            share.segments.append(_write(cache, counted))
            counted, text_bytes = SegmentBuilder(), 0
        if (number - first + 1) % _REPORT_EVERY == 0:
            report(_REPORT_EVERY)
    if len(counted):
        share.segments.append(_write(cache, counted))
    report(len(sources) % _REPORT_EVERY)
    return share


def _read_page(task: BuildTask, source: SourceFile, share: SectionShare) -> str | None:
    """Return the text of a file, and note what was odd about it; None if it cannot be converted."""
    converter = source.converter
    try:
        converter.check_size(source.size)
        data = read_source(task.disk, source)
        share.digests[source.source] = hashlib.sha256(data).hexdigest()
        page = converter.convert(data)
    except ConversionError as error:
        if task.is_strict:
            hint = "convert it by hand, leave it out with --exclude, or build without --strict"
            raise SourcesError(f"{shown(source.source)} cannot be converted: {error}", hint=hint) from None
        share.failures[source.source] = str(error)
        return None
    if page.encoding:
        share.encodings[source.source] = page.encoding
    return page.text


def _split(content: str, source: SourceFile, share: SectionShare) -> Page | None:
    """Return the sections of a page; None for one of a package, of which nobody can take the headings away."""
    try:
        return split(content, source.source)
    except CacheInvalidError as error:
        if source.converter.name == PACKAGE_PAGE.name:
            share.failures[source.source] = error.detail
            return None
        raise SourcesError(error.detail, hint="shorten its headings, or leave it out") from None


def _write(cache: Directory, counted: SegmentBuilder) -> WrittenSegment:
    data = counted.to_bytes()
    cache.write(segment_file(counted.key), data)
    return WrittenSegment(counted.key, len(data), len(counted))

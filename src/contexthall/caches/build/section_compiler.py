"""Turns source files into pages and segments: one share of a build of format 2, with bounded memory."""

from collections.abc import Sequence
from typing import NamedTuple

from contexthall.caches.build.compiler import BuildTask, WrittenDocument, write_document
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.build.staging import NEW
from contexthall.caches.index.segment import SegmentBuilder
from contexthall.caches.index.segment_list import segment_file
from contexthall.caches.model.format import DOCUMENTS
from contexthall.caches.model.sections import split
from contexthall.core import limits
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


def compile_sections(task: BuildTask, sources: Sequence[SourceFile], first: int, report: Report) -> SectionShare:
    """Compile `sources`, the first of which is document number `first`, into the staging directory."""
    cache = task.staging.enter(NEW)
    files = cache.enter(DOCUMENTS)
    share = SectionShare([], [])
    counted, text_bytes = SegmentBuilder(), 0
    for number, source in enumerate(sources, first):
        written, content = write_document(task, source, number, files)
        share.documents.append(written)
        counted.add(source.id, written.version, split(content, source.source))
        text_bytes += len(content)
        if len(counted) >= limits.SEGMENT_PAGES or text_bytes >= limits.SEGMENT_TEXT_BYTES:
            share.segments.append(_write(cache, counted))
            counted, text_bytes = SegmentBuilder(), 0
        if len(share.documents) % _REPORT_EVERY == 0:
            report(_REPORT_EVERY)
    if len(counted):
        share.segments.append(_write(cache, counted))
    report(len(share.documents) % _REPORT_EVERY)
    return share


def _write(cache: Directory, counted: SegmentBuilder) -> WrittenSegment:
    data = counted.to_bytes()
    cache.write(segment_file(counted.key), data)
    return WrittenSegment(counted.key, len(data), len(counted))

"""Fills a cache of format 2: pages that changed are made, all others are taken over from the cache before."""

import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from contexthall.caches.build.compiler import BuildTask, document_names, rename_documents
from contexthall.caches.build.package_sources import PackageSources
from contexthall.caches.build.reuse import OldCache, OldPart, compacted, segment_sums
from contexthall.caches.build.section_compiler import SectionShare, folder_of
from contexthall.caches.build.selection import Choice, SourceFolder
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.index import segment_list
from contexthall.caches.index.segment_list import ListedSegment, segment_file
from contexthall.caches.model.format import (
    DOCUMENTS,
    INDEX,
    MANIFEST,
    SEGMENTS,
    SOURCES,
    ListedDocument,
    cache_version,
    index_json,
    manifest_json,
)
from contexthall.caches.model.shards import ListedShard, by_shard, shard_path, sharded_manifest_json
from contexthall.caches.model.source_record import RecordedFile, SourceRecord, recorded_path
from contexthall.caches.query.bm25f import BUILD_CONFIG
from contexthall.caches.query.scorers import SECTIONS
from contexthall.system.disk import Directory, is_settled

InShares = Callable[[BuildTask, Sequence[SourceFile]], list[list[SectionShare]]]
"""Compiles files, in the order of their shards."""


class SourceOrder(NamedTuple):
    """What a cache is built of: where it will be, its folders, what was chosen, the files, and when they were seen."""

    target: str
    folders: Sequence[SourceFolder]
    choice: Choice
    files: Sequence[SourceFile]
    seen_at: int
    packages: PackageSources | None = None
    """The pages of installed packages, which are among the files."""


class Inheritance(NamedTuple):
    """The cache that is replaced, and which of its files need not be looked at again."""

    old: OldCache
    files: Mapping[str, RecordedFile]


class FilledSections(NamedTuple):
    """What a cache was filled with."""

    listed: list[ListedDocument]
    failures: dict[str, str]
    encodings: dict[str, str]


def fill_sections(
    task: BuildTask, cache: Directory, order: SourceOrder, before: Inheritance | None, created_at: str, share: InShares
) -> FilledSections:
    """Write everything that a cache of format 2 has."""
    kept = before.files if before else {}
    parts: Sequence[OldPart | None] = before.old.parts if before else [None] * task.shards
    files = by_shard(order.files, task.shards)
    fresh = [file for some in files for file in some if file.source not in kept]
    shares = [each for some in share(task, fresh) for each in some]
    failures = {file.source: file.failure for file in kept.values() if file.failure}
    failures |= {source: reason for each in shares for source, reason in each.failures.items()}
    encodings = {source: encoding for each in shares for source, encoding in each.encodings.items()}
    filled = []
    for number, (folder, part) in enumerate(zip(task.folders(), parts, strict=True)):
        pages = [file for file in files[number] if file.source not in failures]
        made = [each for each in shares if each.shard == number]
        filled.append(_fill_part(task, folder_of(cache, folder), pages, made, (part, kept), created_at))
    if task.shards > 1:
        _write_shards(cache, filled, created_at)
    _write_record(cache, task, order, kept, shares)
    return FilledSections(sorted(chain.from_iterable(each.listed for each in filled)), failures, encodings)


class _FilledPart(NamedTuple):
    """What a cache or a shard was filled with."""

    cache: Directory
    listed: list[ListedDocument]
    segments: list[ListedSegment]


def _fill_part(
    task: BuildTask,
    cache: Directory,
    pages: Sequence[SourceFile],
    shares: Sequence[SectionShare],
    before: tuple[OldPart | None, Container[str]],
    created_at: str,
) -> _FilledPart:
    """Write everything that a cache or a shard has of its own, and take over what is kept."""
    old, kept = before
    known = old.documents if old else {}
    written = iter([document for each in shares for document in each.documents])
    made = {page.id: next(written) for page in pages if page.source not in kept}
    versions = [made[page.id].version if page.id in made else known[page.id].version for page in pages]
    names = dict(zip([page.id for page in pages], document_names(versions), strict=True))
    documents = cache.enter(DOCUMENTS)
    rename_documents(documents, [(each.file, names[page]) for page, each in made.items()])
    inherited = {page: name for page, name in names.items() if page not in made}
    listed = [
        ListedDocument(page.id, version, f"{DOCUMENTS}/{names[page.id]}")
        for page, version in zip(pages, versions, strict=True)
    ]
    manifest = manifest_json(listed, task.scorer, created_at=created_at)
    cache.write(MANIFEST, manifest)
    cache.write(INDEX, index_json(listed))
    segments = _listed_segments(shares, [f"{DOCUMENTS}/{names[page]}" for page in made])
    if old:
        old.link_documents(documents, inherited)
        segments = compacted(cache, [*old.link_segments(cache, inherited), *segments])
    cache.write(SEGMENTS, segment_list.to_bytes(segments, hashlib.sha256(manifest).digest()))
    return _FilledPart(cache, listed, segments)


def _write_shards(cache: Directory, filled: Sequence[_FilledPart], created_at: str) -> None:
    """Write the manifest that makes one cache of shards."""
    shards = [
        ListedShard(shard_path(number), cache_version(each.listed, SECTIONS)) for number, each in enumerate(filled)
    ]
    sums = segment_sums((each.cache, each.segments) for each in filled)
    listed = sorted(chain.from_iterable(each.listed for each in filled))
    cache.write(MANIFEST, sharded_manifest_json(listed, shards, sums, created_at=created_at))


def _listed_segments(shares: Sequence[SectionShare], files: Sequence[str]) -> list[ListedSegment]:
    segments = [segment for share in shares for segment in share.segments]
    edges = [0, *accumulate(segment.pages for segment in segments)]
    return [
        ListedSegment(segment_file(each.key), each.key, each.size, tuple(files[start:end]))
        for each, (start, end) in zip(segments, pairwise(edges), strict=True)
    ]


def settled_stamp(file: SourceFile, seen_at: int) -> tuple[int, ...]:
    """Return what tells a file from a later one; nothing if it is so recent that a later one could have the same."""
    return file.stamp if file.stamp and is_settled(file.stamp, seen_at) else ()


def _write_record(
    cache: Directory,
    task: BuildTask,
    order: SourceOrder,
    kept: Mapping[str, RecordedFile],
    shares: Sequence[SectionShare],
) -> None:
    """Write down of which files the cache was made."""
    digests = {source: digest for share in shares for source, digest in share.digests.items()}
    failures = {source: reason for share in shares for source, reason in share.failures.items()}
    files = []
    for file in order.files:
        known = kept.get(file.source)
        digest, failure = (
            (known.sha256, known.failure) if known else (digests.get(file.source, ""), failures.get(file.source, ""))
        )
        stamp = settled_stamp(file, order.seen_at)
        files.append(RecordedFile(file.source, file.converter.label, file.size, stamp, digest, failure))
    record = SourceRecord(
        folders=tuple((each.name, recorded_path(each.path, order.target)) for each in order.folders),
        include=tuple(order.choice.include),
        exclude=tuple(order.choice.exclude),
        everything=order.choice.everything,
        strict=task.is_strict,
        split=BUILD_CONFIG["split"],
        files=tuple(files),
        packages=order.packages.recorded(order.target) if order.packages else None,
    )
    cache.write(SOURCES, record.to_bytes())

"""Builds a cache from a folder of documents, atomically.

The new cache is written to a staging directory and renamed to the target once it is whole. A killed build leaves the
old cache as it was, and the next build clears what was left in the staging directory.
"""

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

from contexthall.caches.build.compiler import BuildTask, Share, WrittenDocument, compile_share, count_terms, merge
from contexthall.caches.build.section_compiler import SectionShare, WrittenSegment, compile_sections
from contexthall.caches.build.sources import DEFAULT_GLOBS, SourceFile, find_sources
from contexthall.caches.build.staging import NEW, StagingDirectory, replaceable, staging_path
from contexthall.caches.index import segment_list
from contexthall.caches.index.match_table import Columns
from contexthall.caches.index.postings import PARTS, PostingsWriter, bucket_count
from contexthall.caches.index.segment_list import ListedSegment, segment_file
from contexthall.caches.model.document import file_stem
from contexthall.caches.model.format import (
    DOCUMENTS,
    INDEX,
    MANIFEST,
    POSTINGS,
    SEGMENTS,
    ListedDocument,
    cache_version,
    index_json,
    manifest_json,
)
from contexthall.caches.query.scorers import SCORERS, CacheFormat, SectionFormat
from contexthall.core.errors import UsageError
from contexthall.system import kernel
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.processes import Report, run_parallel

Compiled = TypeVar("Compiled")
Progress = Callable[[int, int], None]

_WORTH_SHARING = 500


class Built(NamedTuple):
    """What a build made."""

    document_count: int
    cache_version: str
    left_behind: str = ""
    """Why the staging directory could not be removed, if so; the cache is whole all the same."""


class CacheBuilder(NamedTuple):
    """Builds caches for one scorer; paths start at the working directory."""

    disk: Disk
    created_at: str
    working_directory: str = ""
    scorer: CacheFormat = SCORERS[0]

    def build(
        self,
        sources: str,
        target: str,
        *,
        globs: Sequence[str] = (),
        force: bool = False,
        progress: Progress | None = None,
    ) -> Built:
        """Compile the documents below `sources` into a cache at `target`."""
        if not sources or not target:  # an unset variable of a script, not the working directory
            raise UsageError("the sources or the cache have no name", hint="name them with --sources and --cache")
        disk = self.disk
        folder, target = (disk.real(os.path.join(self.working_directory, path)) for path in (sources, target))
        _check_paths(disk, folder, target)
        with StagingDirectory(disk, target) as staging:
            replaced = replaceable(disk, target, force=force)
            found = find_sources(disk, folder, globs or DEFAULT_GLOBS)
            task = BuildTask(disk, folder, staging.directory, self.scorer)
            built = _fill(task, found, self.created_at, progress)
            staging.directory.sync_file_system(kernel.sync_file_system)
            staging.put_in_place(replaced)
        return built._replace(left_behind=staging.left_behind)


def _check_paths(disk: Disk, folder: str, target: str) -> None:
    """Refuse sources that are not there, and a target that is no place for a cache of them."""
    if disk.kind(folder) != "directory":
        raise UsageError(f"the sources are not a directory: {folder}", hint="name a folder with --sources DIR")
    for place in (target, staging_path(target)):
        if os.path.commonpath([folder, place]) in {folder, place}:
            raise UsageError(f"--sources and --cache overlap: {folder}, {place}", hint="build the cache elsewhere")
    if os.path.basename(target).startswith(TEMPORARY_PREFIX):
        raise UsageError(f"what is half built has such a name: {target}", hint="choose another --cache")


def _fill(task: BuildTask, sources: Sequence[SourceFile], created_at: str, progress: Progress | None) -> Built:
    """Write the whole cache into the staging directory."""
    new = os.path.join(task.staging.path, NEW)
    task.disk.make_directory(new)
    task.disk.make_directory(os.path.join(new, DOCUMENTS))
    cache = task.staging.enter(NEW)
    if isinstance(task.scorer, SectionFormat):
        pages = _in_shares(partial(compile_sections, task), sources, progress)
        listed, manifest = _write_manifest(task, cache, sources, pages, created_at)
        _write_segment_list(cache, manifest, listed, [segment for share in pages for segment in share.segments])
    else:
        shares = _in_shares(partial(compile_share, task, task.scorer), sources, progress)
        listed, manifest = _write_manifest(task, cache, sources, shares, created_at)
        _write_postings(cache, manifest, listed, shares, task.staging)
    return Built(len(listed), cache_version(listed, task.scorer))


def _write_manifest(
    task: BuildTask,
    cache: Directory,
    sources: Sequence[SourceFile],
    shares: Sequence[Share | SectionShare],
    created_at: str,
) -> tuple[list[ListedDocument], bytes]:
    """Give the documents their names, and list them."""
    written = [document for share in shares for document in share.documents]
    names = _settle_names(cache.enter(DOCUMENTS), written)
    listed = [
        ListedDocument(source.id, document.version, f"{DOCUMENTS}/{name}")
        for source, document, name in zip(sources, written, names, strict=True)
    ]
    manifest = manifest_json(listed, task.scorer, created_at=created_at)
    cache.write(MANIFEST, manifest)
    cache.write(INDEX, index_json(listed))
    return listed, manifest


def _in_shares(
    compile_some: Callable[[Sequence[SourceFile], int, Report], Compiled],
    sources: Sequence[SourceFile],
    progress: Progress | None,
) -> list[Compiled]:
    """Compile the sources, in two processes if there are many."""
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, len(sources))

    half = len(sources) // 2 if len(sources) >= _WORTH_SHARING else 0
    edges = [(0, half), (half, len(sources))] if half else [(0, len(sources))]
    return run_parallel([partial(compile_some, sources[start:end], start) for start, end in edges], report)


def _settle_names(files: Directory, compiled: Sequence[WrittenDocument]) -> list[str]:
    """Rename the files of documents, and return their names; equal contents differ by a number, by ascending id."""
    sharing: Counter[str] = Counter()
    names = []
    for each in compiled:
        stem = file_stem(each.version)
        sharing[stem] += 1
        names.append(f"{stem}.json" if sharing[stem] == 1 else f"{stem}-{sharing[stem]}.json")
    moving = [(each.file, name) for each, name in zip(compiled, names, strict=True) if each.file != name]
    for number, (file, _) in enumerate(moving):
        files.rename(file, f"{number}.moving")
    for number, (_, name) in enumerate(moving):
        files.rename(f"{number}.moving", name)
    return names


def _write_postings(
    cache: Directory, manifest: bytes, listed: Sequence[ListedDocument], shares: Sequence[Share], staging: Directory
) -> None:
    runs = [run for share in shares for run in share.runs]
    costs = [cost for share in shares for cost in share.costs]
    columns = Columns.of(array("I", (tokens for tokens, _ in costs)), array("I", (words for _, words in costs)))
    buckets = bucket_count(count_terms(staging, runs))
    file = cache.create(POSTINGS)
    assert file is not None
    with file:
        writer = PostingsWriter(file, manifest, documents=len(listed), buckets=buckets)
        writer.add_documents(listed, columns)
        for part in range(PARTS):
            writer.add_part(part, merge(staging, runs, part))
        writer.finish()


def _write_segment_list(
    cache: Directory, manifest: bytes, listed: Sequence[ListedDocument], segments: Sequence[WrittenSegment]
) -> None:
    edges = [0, *accumulate(segment.pages for segment in segments)]
    entries = [
        ListedSegment(segment_file(each.key), each.key, each.size, tuple(page.file for page in listed[start:end]))
        for each, (start, end) in zip(segments, pairwise(edges), strict=True)
    ]
    cache.write(SEGMENTS, segment_list.to_bytes(entries, hashlib.sha256(manifest).digest()))

"""Verification of a cache: every promise of the format, checked against every file."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from contexthall.caches.index.audit import Audit
from contexthall.caches.index.blocks import IndexDamagedError, IndexUnreadError
from contexthall.caches.index.postings import PostingsError
from contexthall.caches.index.segment import Segment
from contexthall.caches.index.segment_builder import SegmentBuilder, is_same
from contexthall.caches.index.segment_list import ListedSegment
from contexthall.caches.model.format import (
    DOCUMENTS,
    INDEX,
    MANIFEST,
    SEGMENTS,
    CacheManifest,
    ListedDocument,
)
from contexthall.caches.model.sections import split
from contexthall.caches.model.shards import ShardList, shards_in
from contexthall.caches.query.cache_files import DocumentFiles, examine, parts_of, read_part
from contexthall.caches.query.reader import open_postings
from contexthall.caches.query.scorers import SCORERS, Scorer, SectionFormat
from contexthall.caches.query.section_reader import MemoryFile, open_segment, open_segment_list, open_segments
from contexthall.core import wire
from contexthall.core.errors import CacheInvalidError, DiskError, PathMissingError
from contexthall.system.disk import Directory


def violations(cache: Directory, on_document: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Yield every promise that the cache breaks."""
    manifest = _examine(cache)
    yield from manifest.faults + manifest.lapses
    if shards := _shards_of(cache):
        known = {*manifest.faults, *manifest.lapses}
        yield from (each for each in _shard_violations(cache, shards, on_document) if each not in known)
        return
    yield from _index_violations(cache, manifest.documents)
    if manifest.documents is not None:
        if isinstance(manifest.scorer, SectionFormat):
            yield from _page_violations(cache, manifest.documents, on_document)
            if manifest.scorer.model:
                from contexthall.caches.embedding.vector_audit import vector_violations  # noqa: PLC0415 - few need it

                yield from vector_violations(cache, manifest.documents, manifest.scorer.model)
        else:
            scorer = manifest.scorer or SCORERS[0]
            yield from _document_violations(cache, manifest.documents, scorer, on_document)
        yield from _orphans(cache, manifest.documents)


def _examine(cache: Directory) -> CacheManifest:
    try:
        return examine(cache, read_part(cache, MANIFEST))
    except (CacheInvalidError, DiskError) as error:
        return CacheManifest(None, (error.detail,))


def _shards_of(cache: Directory) -> ShardList | None:
    try:
        return shards_in(read_part(cache, MANIFEST))
    except (CacheInvalidError, DiskError):
        return None


def _shard_violations(cache: Directory, listed: ShardList, on_document: Callable[[], None]) -> Iterator[str]:
    """Yield what is wrong with shards, each of which is a cache, and with what is said of them together."""
    paths = [each.path for each in listed.shards]
    for path in paths:
        try:
            with cache.enter(path) as shard:
                yield from (f"{path}: {violation}" for violation in violations(shard, on_document))
        except PathMissingError:
            yield f"{path} is not there"
        except DiskError as error:
            yield error.detail
    yield from (f"no shard has the name {name}" for name in _unlisted(cache, paths))
    try:
        if open_segments(parts_of(cache, read_part(cache, MANIFEST))).sums != listed.sums:
            yield "the manifest's sums are not those of its shards"
    except (IndexDamagedError, IndexUnreadError, CacheInvalidError, DiskError):
        return  # nobody believes them, so they need not be true


def _unlisted(cache: Directory, shards: Sequence[str]) -> list[str]:
    """Return what a cache has beside its shards that is of a shard, or of a cache without any."""
    others = {INDEX, DOCUMENTS, SEGMENTS}
    return sorted(
        name
        for name in cache.names()
        if name not in shards and (name in others or name.startswith(("shard-", "segment-")))
    )


def _index_violations(cache: Directory, listed: Sequence[ListedDocument] | None) -> Iterator[str]:
    try:
        index = wire.parse(read_part(cache, INDEX))
    except ValueError as error:
        yield f"{INDEX}: {error}"
    except (CacheInvalidError, DiskError) as error:
        yield error.detail
    else:
        if not isinstance(index, dict):
            yield f"{INDEX} is not an object"
        elif listed is not None:
            yield from _disagreements(index, {each.id: each.file for each in listed})


def _disagreements(index: dict[str, object], files: dict[str, str]) -> Iterator[str]:
    for each in sorted(index.keys() | files.keys()):
        if each not in index or each not in files or index[each] != files[each]:
            yield f"{INDEX} and {MANIFEST} do not agree on {each}"


def _document_violations(
    cache: Directory, listed: Sequence[ListedDocument], scorer: Scorer, on_document: Callable[[], None]
) -> Iterator[str]:
    files, audit = DocumentFiles(cache), Audit(scorer)
    for each in listed:
        on_document()
        try:
            audit.take(files.read(each).content)
        except (CacheInvalidError, DiskError) as error:
            audit.take(None)
            yield error.detail
    try:
        index = open_postings(cache, read_part(cache, MANIFEST))
    except (PostingsError, CacheInvalidError, DiskError):
        return  # nobody believes it, so it need not be true
    yield from audit.violations(listed, index)


def _page_violations(
    cache: Directory, listed: Sequence[ListedDocument], on_document: Callable[[], None]
) -> Iterator[str]:
    """Yield what is wrong with the pages, and with the segments, which must be what the pages give."""
    unlisted = [ListedSegment("", b"", 0, tuple(each.file for each in listed))]
    try:
        segments = open_segment_list(cache, read_part(cache, MANIFEST))
    except (IndexDamagedError, IndexUnreadError, CacheInvalidError, DiskError):
        segments = unlisted  # nobody believes them, so they need not be true
    files, pages = DocumentFiles(cache), {each.file: each for each in listed}
    if sorted(file for segment in segments for file in segment.pages) != sorted(pages):
        yield f"{SEGMENTS} and the manifest do not list the same documents"
        segments = unlisted
    for segment in segments:
        counted: SegmentBuilder | None = SegmentBuilder()
        for each in map(pages.__getitem__, segment.pages):
            on_document()
            try:
                document = files.read(each)
                if counted is not None:
                    counted.add(each.id, each.version, split(document.content, document.source))
            except (CacheInvalidError, DiskError) as error:
                counted = None
                yield error.detail
        if counted is not None and segment.file and not _holds(cache, segment, counted):
            yield f"{segment.file} says what its pages do not"


def _holds(cache: Directory, segment: ListedSegment, counted: SegmentBuilder) -> bool:
    """Return whether a segment is what its pages give; one that nobody believes need not be."""
    data = counted.to_bytes()
    try:
        opened = open_segment(cache, segment)
        if not segment.gone:
            return read_part(cache, segment.file) == data
        return is_same(opened, Segment(MemoryFile(data), len(data), counted.key))
    except (IndexDamagedError, IndexUnreadError, CacheInvalidError, DiskError):
        return True


def _orphans(cache: Directory, listed: Sequence[ListedDocument]) -> Iterator[str]:
    """Yield what is in the documents directory, however deep, and belongs to no document."""
    expected = sorted(each.file for each in listed)
    known, files, folders = frozenset(expected), DocumentFiles(cache), [DOCUMENTS]
    for folder in folders:  # which grows on the way
        try:
            present = _paths(files, folder)
        except (CacheInvalidError, DiskError) as error:
            yield error.detail
            continue
        folders += [path for path in present if _leads_to_any(path, expected)]
        for path in present:
            if path not in known and not _leads_to_any(path, expected):
                yield f"no document has the file {path}"


def _paths(files: DocumentFiles, folder: str) -> list[str]:
    try:
        return sorted(f"{folder}/{name}" for name in files.enter(folder).names())
    except PathMissingError:
        raise CacheInvalidError(f"there is no {folder} directory") from None


def _leads_to_any(folder: str, files: Sequence[str]) -> bool:
    """Return whether one of the files, which are sorted, lies below a folder."""
    nearest = bisect_left(files, f"{folder}/")
    return nearest < len(files) and files[nearest].startswith(f"{folder}/")

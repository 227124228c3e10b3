"""What a refresh takes over from the cache that it replaces: documents and segments, linked and never read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple, Self

from contexthall.caches.build.changes import SourceChanges, read_record
from contexthall.caches.index.blocks import IndexDamagedError, IndexUnreadError
from contexthall.caches.index.segment_builder import copied
from contexthall.caches.index.segment_list import ListedSegment, segment_file
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.format import DOCUMENTS, MANIFEST, ListedDocument
from contexthall.caches.model.shards import by_shard
from contexthall.caches.model.source_record import RecordedFile, SourceRecord
from contexthall.caches.query.cache_files import CachePart, parts_of, read_listing, read_part
from contexthall.caches.query.section_reader import open_segment, open_segment_list
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError
from contexthall.system.disk import Directory


class OldCache(NamedTuple):
    """An open cache, and what it lists."""

    directory: Directory
    record: SourceRecord
    parts: Sequence["OldPart"]
    """The shards, or the cache itself."""

    @classmethod
    def read(cls, directory: Directory) -> Self:
        """Read what a cache says of itself; UsageError if it does not know its sources."""
        manifest = read_part(directory, MANIFEST)
        documents, parts = read_listing(directory, manifest).documents, parts_of(directory, manifest)
        listed = by_shard(documents, len(parts))
        read = [OldPart.read(part, some) for part, some in zip(parts, listed, strict=True)]
        return cls(directory, read_record(directory), read)

    @property
    def has_documents(self) -> bool:
        return any(part.documents for part in self.parts)

    def reusable(self, changes: SourceChanges, ids: Mapping[str, str]) -> dict[str, RecordedFile]:
        """Return the files that need not be looked at: their pages are here, or they never became one."""
        here = {page for part in self.parts for page in part.documents}
        return {source: file for source, file in changes.unchanged.items() if file.failure or ids[source] in here}


class OldPart(NamedTuple):
    """What a cache or one of its shards lists."""

    directory: Directory
    documents: Mapping[str, ListedDocument]
    """By id."""
    segments: Sequence[ListedSegment]

    @classmethod
    def read(cls, part: CachePart, listed: Iterable[ListedDocument]) -> Self:
        """Read what a part says of itself; `listed` are its documents, by their files in the cache."""
        documents = {each.id: each._replace(file=each.file.removeprefix(part.prefix)) for each in listed}
        with _disk_errors():
            try:
                segments = open_segment_list(part.directory, part.manifest)
                for each in segments:
                    open_segment(part.directory, each)
            except IndexDamagedError:
                segments = []
        if sorted(file for each in segments for file in each.pages) != sorted(each.file for each in documents.values()):
            documents, segments = {}, []  # all is made again
        return cls(part.directory, documents, segments)

    def link_documents(self, target: Directory, names: Mapping[str, str]) -> None:
        """Give documents, by id, these names in another cache."""
        folders = {DOCUMENTS: self.directory.enter(DOCUMENTS)}
        for each, name in names.items():
            folder, _, file = self.documents[each].file.rpartition("/")
            if folder not in folders:
                raise CacheInvalidError(f"{self.documents[each].file} is not where documents are")
            target.link_from(folders[folder], file, name)

    def link_segments(self, target: Directory, names: Mapping[str, str]) -> list[ListedSegment]:
        """Take over the segments in which some documents still count; `names` are their new names, by id."""
        new_names = {self.documents[each].file: f"{DOCUMENTS}/{name}" for each, name in names.items()}
        kept = []
        for segment in self.segments:
            gone_before = frozenset(segment.gone)
            numbers = [each for each in range(len(segment.pages) + len(gone_before)) if each not in gone_before]
            pages = dict(zip(numbers, segment.pages, strict=True))
            gone = (*segment.gone, *(number for number, file in pages.items() if file not in new_names))
            left = tuple(new_names[file] for file in segment.pages if file in new_names)
            if left:
                target.link_from(self.directory, segment.file, segment.file)
                kept.append(segment._replace(pages=left, gone=tuple(sorted(gone))))
        return kept


def compacted(cache: Directory, segments: Sequence[ListedSegment]) -> list[ListedSegment]:
    """Return the segments of a cache after those that are small, or mostly gone, were made one, if they are many."""
    poor = [each for each in segments if len(each.gone) > len(each.pages) or _is_small(each)]
    if len(poor) <= limits.SMALL_SEGMENTS and not any(len(each.gone) > len(each.pages) for each in poor):
        return list(segments)
    with _disk_errors():
        opened = [open_segment(cache, each) for each in poor]
        builder = copied(opened)
        rows = [zip(segment.ids(), each.pages, strict=True) for each, segment in zip(poor, opened, strict=True)]
    data, files = builder.to_bytes(), dict(sorted(chain.from_iterable(rows)))
    merged = ListedSegment(segment_file(builder.key), builder.key, len(data), tuple(files.values()))
    for each in poor:
        cache.remove_if_there(each.file)
    cache.write(merged.file, data)
    return [*(each for each in segments if each not in poor), merged]


def segment_sums(parts: Iterable[tuple[Directory, Sequence[ListedSegment]]]) -> dict[str, int]:
    """Return the statistics of all segments in several directories together."""
    with _disk_errors():
        return Segments([open_segment(cache, each) for cache, segments in parts for each in segments]).sums


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Tell what is wrong with an index in the words of everybody else."""
    try:
        yield
    except IndexUnreadError as error:
        raise DiskError(str(error)) from error.__cause__
    except IndexDamagedError as error:
        hint = "build it once more of its sources: context refresh --whole CACHE"
        raise CacheInvalidError(f"its index is damaged: {error}", hint=hint) from error


def _is_small(segment: ListedSegment) -> bool:
    return len(segment.pages) < limits.SEGMENT_PAGES // limits.SMALL_SEGMENTS

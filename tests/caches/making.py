"""Caches for tests, built by the builder."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contexthall.caches.build.builder import Built, CacheBuilder
from contexthall.caches.build.selection import Choice
from contexthall.caches.index.segment import Segment
from contexthall.caches.index.segment_builder import SegmentBuilder
from contexthall.caches.index.segments import Segments
from contexthall.caches.library import Library
from contexthall.caches.model.document import identify, version_of
from contexthall.caches.model.sections import split
from contexthall.caches.query.scorers import SECTIONS
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reader import MemoryFile
from contexthall.system.disk import Disk

CREATED_AT = "2026-01-01T00:00:00Z"


def without_times(answer: str) -> str:
    """Leave out what is no function of the documents.

    Whether the sources are fresh is not known on a busy machine, and times of files are in the size of a cache.
    """
    answer = re.sub(r'(total_bytes\\*": ?)\d+', r"\1…", answer)
    return re.sub(r'(freshness\\*": ?)\{[^}]*\}', r"\1…", answer)


def write_sources(folder: Path, documents: Mapping[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for path, content in documents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode())
    return folder


def build_cache(directory: Path, documents: Mapping[str, str], *, name: str = "cache", force: bool = False) -> Path:
    """Build a cache of `documents` below `directory`."""
    compile_folder(write_sources(directory / f"{name} sources", documents), directory / name, force=force)
    return directory / name


def compile_folder(sources: Path, target: Path, *, force: bool = False, disk: Disk | None = None) -> Built:
    return CacheBuilder(disk or Disk(), CREATED_AT).build(str(sources), str(target), force=force)


def library_of(root: Path, disk: Disk | None = None) -> Library:
    return Library(disk or Disk(), root=str(root), root_is_named=True, working_directory=str(root))


def disturbed(call: Callable[..., Any], name: str, disturb: Callable[[], object]) -> Disk:
    """A disk on which something happens once: before the first such call on what ends in `name`."""
    pending = [disturb]

    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if pending and each is call and str(arguments[0]).endswith(name):
            pending.pop()()
        return each(*arguments, **options)

    return Disk(perform)


def build_pages(
    directory: Path, pages: Mapping[str, str], *, name: str = "cache", force: bool = False, knows_sources: bool = False
) -> Path:
    """Build a cache of format 2 below `directory`, of files with any ending; as others get it, unless it knows them."""
    sources = write_sources(directory / f"{name} sources", pages)
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS)
    builder.build(str(sources), str(directory / name), choice=Choice(("*",)), force=force)
    if not knows_sources:
        (directory / name / "sources.json").unlink()
    return directory / name


def counted(pages: Mapping[str, str], parts: int = 1) -> Segments:
    """Count pages in memory, in so many segments at the most."""
    listed = sorted((identify(source), source) for source in pages)
    size = max(1, -(-len(listed) // parts))
    segments = []
    for start in range(0, len(listed), size):
        builder = SegmentBuilder()
        for page_id, source in listed[start : start + size]:
            builder.add(page_id, version_of(pages[source].encode()), split(pages[source], source))
        data = builder.to_bytes()
        segments.append(Segment(MemoryFile(data), len(data), builder.key))
    return Segments(segments)


def section_cache(pages: Mapping[str, str], parts: int = 1) -> SectionCache:
    """A cache of format 2 that is only in memory."""
    texts = {identify(source): text for source, text in pages.items()}
    return SectionCache(counted(pages, parts), lambda _number, record: texts[record.id])

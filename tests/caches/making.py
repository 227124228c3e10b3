"""Caches for tests, built by the builder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contexthall.caches.build.builder import Built, CacheBuilder
from contexthall.caches.library import Library
from contexthall.system.disk import Disk

CREATED_AT = "2026-01-01T00:00:00Z"


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

"""The source files of a cache: every file below the sources folder that matches."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from contexthall.caches.model.document import identify
from contexthall.core.errors import SourcesError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk, Entry

DEFAULT_GLOBS = ("*.md",)


class SourceFile(NamedTuple):
    """A file that becomes a document: its path relative to the sources folder, as text and as the system wants it."""

    id: str
    source: str
    path: str


def find_sources(disk: Disk, folder: str, globs: Sequence[str]) -> list[SourceFile]:
    """Return the files whose name (or path, for a glob with a slash) matches, by ascending id."""
    found = sorted(_source(path) for path in _walk(disk, folder, globs))
    for before, after in pairwise(found):
        if before.id == after.id:
            raise SourcesError(
                f"{before.source} and {after.source} have the same id, {before.id}", hint="rename one of them"
            )
    return found


def _walk(disk: Disk, folder: str, globs: Sequence[str]) -> Iterator[str]:
    """Yield every file below `folder` that matches, however deep it lies."""
    folders = [""]
    while folders:
        below = folders.pop()
        for entry in disk.list(os.path.join(folder, below)):
            path = os.path.join(below, entry.name)
            if entry.kind == "directory":
                folders.append(path)
            elif _matches(path, globs) and _is_file(disk, os.path.join(folder, path), entry):
                yield path


def _is_file(disk: Disk, path: str, entry: Entry) -> bool:
    """Return whether this is a file, or a symlink to one; a symlinked folder is not entered."""
    return (disk.kind(path) if entry.kind == "symlink" else entry.kind) == "file"


def _matches(path: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(path if "/" in glob else os.path.basename(path), glob) for glob in globs)


def _source(path: str) -> SourceFile:
    try:
        text = os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        raise SourcesError(f"the name of {shown(path)} is not UTF-8", hint="rename it") from None
    return SourceFile(identify(text), text, path)

"""The source files of a cache, and those of format 1: every file below the sources folder that matches."""

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.convert.registry import TEXT, UNNAMEABLE, Converter
from contexthall.caches.model.document import identify
from contexthall.core.errors import DiskError, SourcesError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk, Entry

DEFAULT_GLOBS = ("*.md",)


class SourceFile(NamedTuple):
    """A file that becomes a document."""

    id: str
    source: str
    """Its path relative to the sources folder, after the name of that folder if it has one."""
    path: str
    """Where it is."""
    folder: str = ""
    """The name of its sources folder."""
    converter: Converter = TEXT
    size: int = 0
    stamp: tuple[int, ...] = ()
    """Inode, modification and change time, as the walk saw them."""


def find_sources(disk: Disk, folder: str, globs: Sequence[str]) -> list[SourceFile]:
    """Return the files whose name (or path, for a glob with a slash) matches, by ascending id."""
    found = [source_file(os.path.join(folder, path), path) for path in _walk(disk, folder, globs)]
    for file in found:
        if file.converter is UNNAMEABLE:
            raise SourcesError(f"the name of {shown(file.source)} is not UTF-8", hint="rename it")
    return checked(found)


def source_file(path: str, source: str, folder: str = "", converter: Converter = TEXT, *seen: Any) -> SourceFile:  # noqa: ANN401 - what else is known of it
    """Return the file at `path`, which documents know as `source`."""
    try:
        text = source if source.isascii() else os.fsencode(source).decode("utf-8")
    except UnicodeDecodeError:
        escaped = os.fsencode(source).decode("utf-8", "backslashreplace")
        return SourceFile(escaped, source, path, folder, UNNAMEABLE, *seen)
    identity = identify(text)
    # Of most, one string less in memory.
    return SourceFile(text if identity == text else identity, text, path, folder, converter, *seen)


def read_source(disk: Disk, file: SourceFile) -> bytes:
    """Return what a file holds; ConversionError if its permissions forbid that.

    Those belong to the file, as its name does. Any other failure is the disk's, and must not cost a page.
    """
    reason = ""
    for _ in range(2):  # a refusal that passes is the disk's, too
        try:
            return disk.read(file.path, follow=True)
        except DiskError as error:
            if not isinstance(error.__cause__, PermissionError):
                raise
            reason = error.cause
    raise ConversionError(f"it may not be read: {reason}")


def checked(files: Iterable[SourceFile]) -> list[SourceFile]:
    """Return the files by ascending id; no two may have the same."""
    found = sorted(files, key=itemgetter(0, 1))  # id and source; by attribute it takes thrice as long
    for before, after in pairwise(found):
        if before.id == after.id:
            hint = "rename one of them, or leave one out with --exclude"
            raise SourcesError(f"{before.source} and {after.source} have the same id, {before.id}", hint=hint)
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

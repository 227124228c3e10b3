"""What became of the sources of a cache since it was built. Content decides; times only save work."""

import hashlib
import os.path
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.selection import Choice, FoundSources, SourceFolder, select
from contexthall.caches.build.sources import SourceFile, read_source
from contexthall.caches.model.format import SOURCES
from contexthall.caches.model.source_record import RecordedFile, SourceRecord
from contexthall.caches.query.bm25f import BUILD_CONFIG
from contexthall.caches.query.cache_files import read_part
from contexthall.core.errors import CacheInvalidError, SourcesOutsideError, SourcesUnknownError, UsageError
from contexthall.system.disk import Directory, Disk


class SourceChanges(NamedTuple):
    """The files whose pages need not be made again, with what is recorded of each, and the names of all others."""

    unchanged: Mapping[str, RecordedFile]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    modified: tuple[str, ...]

    @property
    def total(self) -> int:
        return len(self.added) + len(self.removed) + len(self.modified)


def read_record(cache: Directory) -> SourceRecord:
    """Read where a cache came from; SourcesUnknownError if it does not say."""
    try:
        return SourceRecord.read(read_part(cache, SOURCES))
    except (CacheInvalidError, ValueError) as error:
        hint = "build it once more: context build --sources DIR --cache DIR --force"
        raise SourcesUnknownError(f"{cache.path} does not say where it came from", hint=hint) from error


def recorded_folders(
    disk: Disk, record: SourceRecord, cache: str, may_read: Callable[[str], bool]
) -> list[SourceFolder]:
    """Return the folders of a cache, really; UsageError if one is gone, or may not be read."""
    folders = []
    for name, path in record.folders:
        real = disk.real(os.path.join(cache, path))
        if disk.kind(real) != "directory":
            hint = "put them back, or name others: context build --sources DIR --cache DIR --force"
            raise UsageError(f"the sources are not there any more: {real}", hint=hint)
        if not may_read(real):
            raise SourcesOutsideError(
                f"the sources are outside the hall's roots: {real}",
                hint="name them in `allow_root` of your own contexthall.toml",
            )
        folders.append(SourceFolder(real, name))
    return folders


def recorded_places(disk: Disk, record: SourceRecord, cache: str) -> list[str]:
    """Return where the sources of a cache really are, or would be: its folders, and those of installed packages."""
    packages = (record.packages.project, record.packages.python) if record.packages else ()
    paths = [*(path for _, path in record.folders), *filter(None, packages)]
    return [disk.real(os.path.join(cache, path)) for path in paths]


def find_recorded(
    disk: Disk, record: SourceRecord, folders: Sequence[SourceFolder], may_read: Callable[[str], bool]
) -> FoundSources:
    """Find the files that a build with the recorded choices would take; UsageError if one may not be read."""
    found = select(disk, folders, choice_of(record))
    for link in found.links:
        if not may_read(disk.real(link)):
            raise UsageError(f"{link} leads to where nothing may be read", hint="put the file itself there")
    return found


def choice_of(record: SourceRecord) -> Choice:
    return Choice(record.include, record.exclude, record.everything)


def changes_since(
    disk: Disk,
    record: SourceRecord,
    found: Sequence[SourceFile],
    seen: Mapping[str, SourceFile] = MappingProxyType({}),
) -> SourceChanges:
    """Compare the files that are there with those that are recorded; another splitter counts as a change of all.

    `seen` are files that were read before, had the recorded content, and could not have changed unseen.
    """
    known = {file.source: file for file in record.files}
    is_split_alike = record.split == BUILD_CONFIG["split"]
    unchanged, added, modified = dict[str, RecordedFile](), list[str](), list[str]()
    for file in found:
        recorded = known.pop(file.source, None)
        if recorded is None:
            added.append(file.source)
        elif is_split_alike and _is_unchanged(disk, file, recorded, seen):
            unchanged[file.source] = recorded
        else:
            modified.append(file.source)
    return SourceChanges(unchanged, tuple(added), tuple(known), tuple(modified))


def _is_unchanged(disk: Disk, file: SourceFile, recorded: RecordedFile, seen: Mapping[str, SourceFile]) -> bool:
    if file.converter.label != recorded.converter or file.size != recorded.size:
        return False
    if file.size > file.converter.most_bytes:
        return True  # what is too large becomes no page, whatever it says, and is never read
    # What may not be read has no hash: somebody else may be allowed to.
    if recorded.sha256 and (recorded.stamp == file.stamp or seen.get(file.source) == file):
        return True
    return _digest(disk, file) == recorded.sha256


def _digest(disk: Disk, file: SourceFile) -> str:
    """Return the SHA-256 of a file as it is recorded: none of one that may not be read."""
    try:
        return hashlib.sha256(read_source(disk, file)).hexdigest()
    except ConversionError:
        return ""

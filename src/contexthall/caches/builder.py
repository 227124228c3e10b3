"""How does a folder of documents become a cache? Whole or not at all.

The new cache grows in a workshop, a directory beside the target, and takes the target's name in one step. Whoever is
killed on the way leaves the old cache as it was, and the next build clears what was left in the workshop.
"""

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from contexthall import kernel
from contexthall.caches.compiler import Compiled, Run, compile_share, count_terms, merge
from contexthall.caches.crew import run_shares
from contexthall.caches.document import file_stem
from contexthall.caches.field import Columns
from contexthall.caches.format import (
    DOCUMENTS,
    INDEX,
    MANIFEST,
    POSTINGS,
    TEMPORARY_PREFIX,
    Listed,
    cache_version,
    spell_index,
    spell_manifest,
)
from contexthall.caches.postings import PARTS, PostingsWriter, bucket_count
from contexthall.caches.sources import DEFAULT_GLOBS, Source, find_sources
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.disk import Directory, Disk

Progress = Callable[[int, int], None]

_WORTH_SHARING = 500
_NEW = "new"
_LONGEST_NAME = 200


class Built(NamedTuple):
    """What a build made."""

    document_count: int
    cache_version: str


def build(
    disk: Disk,
    *,
    sources: str,
    target: str,
    created_at: str,
    globs: Sequence[str] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Compile the documents below `sources` into a cache at `target`."""
    folder, target = disk.real(sources), disk.real(target)
    _check_folder(disk, folder)
    _check_apart(folder, target)
    with _claim_workshop(disk, target) as workshop:
        try:
            _check_target(disk, target, force=force)
            found = find_sources(disk, folder, globs or DEFAULT_GLOBS)
            built = _fill(disk, folder, found, workshop, created_at, progress)
            workshop.sync_file_system(kernel.sync_file_system)
            _put_in_place(disk, os.path.join(workshop.path, _NEW), target)
        finally:
            disk.remove_tree(workshop.path)
    return built


def _check_folder(disk: Disk, folder: str) -> None:
    try:
        kind = disk.look(folder).kind
    except PathMissingError:
        kind = None
    if kind != "directory":
        raise UsageError(f"the sources are not a directory: {folder}", hint="name a folder with --sources DIR")


def _check_apart(folder: str, target: str) -> None:
    inside = os.path.commonpath([folder, target])
    if inside in {folder, target}:
        raise UsageError(f"sources and cache lie in each other: {folder}, {target}", hint="build the cache elsewhere")


def _check_target(disk: Disk, target: str, *, force: bool) -> None:
    try:
        names = [entry.name for entry in disk.list(target)]
    except PathMissingError:
        if disk.is_there(target):
            raise UsageError(f"the cache cannot be built over a file: {target}") from None
        return
    if not force:
        raise UsageError(f"something is there already: {target}", hint="replace a cache with --force")
    if names and MANIFEST not in names:
        raise UsageError(f"not a cache, so it is not replaced: {target}", hint="choose another --cache")


def _claim_workshop(disk: Disk, target: str) -> Directory:
    """Make the workshop of `target`, or take over what a killed build left, and keep others out of it."""
    parent, name = os.path.split(target)
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    path = os.path.join(parent, TEMPORARY_PREFIX + name)
    while True:
        _make_directories(disk, path)
        try:
            workshop = disk.enter(path)
        except PathMissingError:
            continue
        if not workshop.lock():
            workshop.close()
            raise UsageError(f"another build of {target} is under way", hint="wait for it, then try again")
        # Whoever had the lock before us may have removed the directory that we opened.
        if disk.is_there(path) and disk.look(path).stamp[:2] == workshop.status().stamp[:2]:
            disk.clear(path)
            return workshop
        workshop.close()


def _make_directories(disk: Disk, path: str) -> None:
    if not disk.is_there(path):
        _make_directories(disk, os.path.dirname(path))
        try:
            disk.make_directory(path)
        except DiskError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise


def _fill(
    disk: Disk, folder: str, sources: Sequence[Source], workshop: Directory, created_at: str, progress: Progress | None
) -> Built:
    """Make the whole cache in the workshop."""
    new = os.path.join(workshop.path, _NEW)
    disk.make_directory(new)
    disk.make_directory(os.path.join(new, DOCUMENTS))
    compiled, runs = _compile(disk, folder, sources, workshop, progress)
    cache = workshop.enter(_NEW)
    names = _settle_names(cache.enter(DOCUMENTS), compiled)
    listed = [
        Listed(source.id, document.version, f"{DOCUMENTS}/{name}")
        for source, document, name in zip(sources, compiled, names, strict=True)
    ]
    manifest = spell_manifest(listed, created_at=created_at)
    cache.write(MANIFEST, manifest)
    cache.write(INDEX, spell_index(listed))
    columns = Columns.of(array("I", (each.tokens for each in compiled)), array("I", (each.words for each in compiled)))
    _write_postings(cache, manifest, listed, columns, workshop, runs)
    return Built(len(listed), cache_version(listed))


def _compile(
    disk: Disk, folder: str, sources: Sequence[Source], workshop: Directory, progress: Progress | None
) -> tuple[list[Compiled], list[Run]]:
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, len(sources))

    half = len(sources) // 2 if len(sources) >= _WORTH_SHARING else 0
    edges = [(0, half), (half, len(sources))] if half else [(0, len(sources))]
    shares = [partial(compile_share, disk, folder, sources[start:end], start, workshop) for start, end in edges]
    results = run_shares(shares, report)
    return [each for share in results for each in share.documents], [run for share in results for run in share.runs]


def _settle_names(files: Directory, compiled: Sequence[Compiled]) -> list[str]:
    """Give every document its file name; those that share one are told apart by a number, by ascending id."""
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
    cache: Directory,
    manifest: bytes,
    listed: Sequence[Listed],
    columns: Columns,
    workshop: Directory,
    runs: Sequence[Run],
) -> None:
    buckets = bucket_count(count_terms(workshop, runs))
    file = cache.create(POSTINGS)
    assert file is not None
    with file:
        writer = PostingsWriter(file, manifest, documents=len(listed), buckets=buckets)
        writer.add_documents(listed, columns)
        for part in range(PARTS):
            writer.add_part(part, merge(workshop, runs, part))
        writer.finish()


def _put_in_place(disk: Disk, new: str, target: str) -> None:
    """Let the new cache have the target's name; what had it until now stays in the workshop."""
    if disk.is_there(target):  # by force, as was checked under the lock
        disk.do(target, kernel.exchange, new, target)
    else:
        disk.rename(new, target)
    with disk.enter(os.path.dirname(target)) as parent:
        parent.sync()

"""Builds a cache from a folder of documents, atomically.

The new cache is written to a staging directory and renamed to the target once it is whole. A killed build leaves the
old cache as it was, and the next build clears what was left in the staging directory.
"""

import hashlib
import os
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from contexthall.caches.build.changes import SourceChanges, changes_since, choice_of, find_recorded, recorded_folders
from contexthall.caches.build.compiler import (
    BuildTask,
    Share,
    compile_share,
    count_terms,
    document_names,
    merge,
    rename_documents,
)
from contexthall.caches.build.cuts import between_shards, halves
from contexthall.caches.build.package_builder import make_package_sources
from contexthall.caches.build.package_sources import PackageChoice, PackageSources, recorded_choice
from contexthall.caches.build.reuse import OldCache
from contexthall.caches.build.section_builder import Inheritance, SourceOrder, fill_sections, settled_stamp
from contexthall.caches.build.section_compiler import SectionShare, compile_sections
from contexthall.caches.build.selection import EVERY_FORMAT, Choice, FoundSources, SourceFolder, parse_folders, select
from contexthall.caches.build.sources import DEFAULT_GLOBS, SourceFile, checked, find_sources
from contexthall.caches.build.staging import NEW, StagingDirectory, replaceable, staging_path
from contexthall.caches.index.match_table import Columns
from contexthall.caches.index.postings import PARTS, PostingsWriter, bucket_count
from contexthall.caches.model.format import (
    DOCUMENTS,
    INDEX,
    MANIFEST,
    POSTINGS,
    SOURCES,
    VECTORS,
    ListedDocument,
    cache_version,
    index_json,
    manifest_json,
)
from contexthall.caches.model.source_record import SourceRecord
from contexthall.caches.query.cache_files import read_part
from contexthall.caches.query.scorers import SCORERS, CacheFormat, SectionFormat
from contexthall.core.errors import UsageError
from contexthall.system import kernel
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.processes import Report, most_workers, run_parallel

if TYPE_CHECKING:
    from contexthall.caches.build.embedding import SectionEmbedder
    from contexthall.system.cluster import Cluster

Compiled = TypeVar("Compiled")
Progress = Callable[[int, int], None]


class Built(NamedTuple):
    """What a build made."""

    document_count: int
    cache_version: str
    left_behind: str = ""
    """Why the staging directory could not be removed, if so; the cache is whole all the same."""
    failures: Mapping[str, str] = MappingProxyType({})
    """Which files could not be converted, and why."""
    encodings: Mapping[str, str] = MappingProxyType({})
    """Which files were not UTF-8, but what."""
    passed_over: Mapping[str, int] = MappingProxyType({})
    """How many files and folders were not looked at, by kind."""
    warnings: tuple[str, ...] = ()
    """What people should know of installed packages."""


class Refreshed(NamedTuple):
    """What had changed, and what a refresh made of it; None if there was nothing to do."""

    changes: SourceChanges
    built: Built | None


class CacheBuilder(NamedTuple):
    """Builds caches for one scorer; paths start at the working directory."""

    disk: Disk
    created_at: str
    working_directory: str = ""
    scorer: CacheFormat = SCORERS[0]
    clock: Callable[[], int] = time.time_ns
    embedding: "SectionEmbedder | None" = None
    """Makes the vectors of the sections, if the scorer names an embedder."""
    shards: int = 1
    """In how many shards a cache of format 2 is built; one that is refreshed keeps its own."""
    cluster: "Cluster | None" = None
    """Whose workers compile pages of format 2, if not this machine alone."""

    def build(
        self,
        sources: str | Sequence[str],
        target: str,
        *,
        choice: Choice = EVERY_FORMAT,
        force: bool = False,
        strict: bool = False,
        packages: PackageChoice | None = None,
        progress: Progress | None = None,
    ) -> Built:
        """Compile the documents below `sources`, and those of installed packages, into a cache at `target`."""
        if not target:  # an unset variable of a script, not the working directory
            raise UsageError("the cache has no name", hint="name it with --cache DIR")
        disk, target = self.disk, self._real(target)
        wanted = parse_folders(sources) if sources or packages is None else []
        folders = [each._replace(path=self._real(each.path)) for each in wanted]
        takes_hidden = choice.everything or not isinstance(self.scorer, SectionFormat)
        _check_paths(disk, [each.path for each in folders], target, takes_hidden=takes_hidden)
        with StagingDirectory(disk, target) as staging:
            replaced = replaceable(disk, target, force=force)
            seen_at = self.clock()
            found = self._select(folders, choice, strict=strict, packages=packages is not None)
            made = make_package_sources(disk, packages, staging.directory, None, progress) if packages else None
            task = BuildTask(disk, staging.directory, self.scorer, strict, self.shards)
            order = SourceOrder(target, folders, choice, _joined(found.files, made), seen_at, made)
            built = self._fill(task, order, None, progress)
            staging.put_in_place(replaced)
        return built._replace(left_behind=staging.left_behind, passed_over=found.passed_over)

    def refresh(
        self,
        target: str,
        *,
        may_read: Callable[[str], bool] = lambda _real: True,
        whole: bool = False,
        progress: Progress | None = None,
    ) -> "Refreshed":
        """Build the cache at `target` again of what its sources are now; only what changed is read, unless `whole`."""
        disk, target = self.disk, self._real(target)
        with StagingDirectory(disk, target) as staging, disk.enter(target) as directory:
            replaced, old, seen_at = replaceable(disk, target, force=True), OldCache.read(directory), self.clock()
            folders = recorded_folders(disk, old.record, target, may_read)
            # Or else each refresh would change its own sources.
            _check_paths(disk, [each.path for each in folders], target, takes_hidden=old.record.everything)
            found = find_recorded(disk, old.record, folders, may_read)
            packages = recorded_choice(disk, old.record, target, may_read)
            known = old.record if old.has_documents and not whole else None
            made = make_package_sources(disk, packages, staging.directory, known, progress) if packages else None
            files = _joined(found.files, made)
            changes = changes_since(disk, old.record, files)
            kept = {} if whole else old.reusable(changes, {file.source: file.id for file in files})
            if not whole and not changes.total and len(kept) == len(files):
                self._renew_stamps(staging.directory, target, old.record, files, seen_at)
                return Refreshed(changes, None)
            task = BuildTask(disk, staging.directory, self.scorer, old.record.strict, len(old.parts))
            order = SourceOrder(target, folders, choice_of(old.record), files, seen_at, made)
            built = self._fill(task, order, None if whole else Inheritance(old, kept), progress)
            staging.put_in_place(replaced)
        return Refreshed(changes, built._replace(left_behind=staging.left_behind, passed_over=found.passed_over))

    def _renew_stamps(
        self, staging: Directory, target: str, record: SourceRecord, files: Sequence[SourceFile], seen_at: int
    ) -> None:
        """Record when files were changed that are still what they were, so that they are not read the next time."""
        stamps = {file.source: settled_stamp(file, seen_at) for file in files}
        renewed = tuple(each._replace(stamp=stamps.get(each.source, ())) for each in record.files)
        if renewed != record.files:
            staging.write(SOURCES, record._replace(files=renewed).to_bytes())
            staging.sync_file_system(kernel.sync_file_system)
            self.disk.rename(os.path.join(staging.path, SOURCES), os.path.join(target, SOURCES))

    def _fill(
        self, task: BuildTask, order: SourceOrder, before: Inheritance | None, progress: Progress | None
    ) -> Built:
        """Write the whole cache into the staging directory."""
        new = os.path.join(task.staging.path, NEW)
        task.disk.make_directory(new)
        for folder in task.folders():
            if folder:
                task.disk.make_directory(os.path.join(new, folder))
            task.disk.make_directory(os.path.join(new, folder, DOCUMENTS))
        cache = task.staging.enter(NEW)
        if isinstance(task.scorer, SectionFormat):
            filled = fill_sections(task, cache, order, before, self.created_at, partial(self._compile, progress))
            self._write_vectors(cache, order, before, filled.listed, progress)
            return Built(
                len(filled.listed),
                cache_version(filled.listed, task.scorer),
                failures=filled.failures,
                encodings=filled.encodings,
                warnings=order.packages.warnings if order.packages else (),
            )
        shares = _in_parallel(partial(compile_share, task, task.scorer), order.files, halves(order.files), progress)
        listed, manifest = _write_manifest(task, cache, order.files, shares, self.created_at)
        _write_postings(cache, manifest, listed, shares, task.staging)
        return Built(len(listed), cache_version(listed, task.scorer))

    def _compile(
        self, progress: Progress | None, task: BuildTask, files: Sequence[SourceFile]
    ) -> list[list[SectionShare]]:
        """Compile files of format 2: here, or on the workers of a cluster."""
        if self.cluster is None:
            edges = halves(files) if task.shards == 1 else between_shards(files, task.shards, most_workers())
            return _in_parallel(partial(compile_sections, task), files, edges, progress)
        from contexthall.caches.build.cluster_shares import compile_on_cluster  # noqa: PLC0415 - few have a cluster

        return compile_on_cluster(self.cluster, task, files, _reporting(progress, len(files)))

    def _write_vectors(
        self,
        cache: Directory,
        order: SourceOrder,
        before: Inheritance | None,
        listed: Sequence[ListedDocument],
        progress: Progress | None,
    ) -> None:
        """Embed the sections, if there is an embedder; those of pages that did not change are taken over."""
        if self.embedding is None:
            return
        unchanged = {file.id for file in order.files if before and file.source in before.files}
        known = self.embedding.known(before.old.directory, unchanged) if before else {}
        vectors = self.embedding.vectors(cache, listed, known, progress or (lambda _done, _total: None))
        cache.write(VECTORS, vectors.to_bytes(hashlib.sha256(read_part(cache, MANIFEST)).digest()))

    def _real(self, path: str) -> str:
        return self.disk.real(os.path.join(self.working_directory, path))

    def _select(self, folders: Sequence[SourceFolder], choice: Choice, *, strict: bool, packages: bool) -> FoundSources:
        """Find the files; format 1 has one folder, and globs."""
        if isinstance(self.scorer, SectionFormat):
            return select(self.disk, folders, choice)
        if packages:
            raise UsageError("--packages is for format 2", hint="leave --format 1 out")
        if len(folders) > 1 or folders[0].name or choice.exclude or choice.everything or strict:
            hint = "leave --format 1 out, or name one --sources DIR, with --include"
            raise UsageError("names of sources, --exclude, --all and --strict are for format 2", hint=hint)
        return FoundSources(find_sources(self.disk, folders[0].path, choice.include or DEFAULT_GLOBS), {})


def _check_paths(disk: Disk, folders: Sequence[str], target: str, *, takes_hidden: bool) -> None:
    """Refuse sources that are not there, and a target that is no place for a cache of them."""
    for folder in folders:
        if disk.kind(folder) != "directory":
            raise UsageError(f"the sources are not a directory: {folder}", hint="name a folder with --sources DIR")
        for place in (target, staging_path(target)):
            if _overlap(folder, place) and (takes_hidden or not _is_hidden(place, folder)):
                hint = "build the cache elsewhere, such as --cache .context/caches/NAME"
                raise UsageError(f"--sources and --cache overlap: {folder}, {place}", hint=hint)
    for one, other in combinations(folders, 2):
        if _overlap(one, other):
            hint = "name the outer one alone, or build two caches"
            raise UsageError(f"two sources overlap: {one}, {other}", hint=hint)
    if os.path.basename(target).startswith(TEMPORARY_PREFIX):
        raise UsageError(f"what is half built has such a name: {target}", hint="choose another --cache")


def _joined(files: list[SourceFile], packages: PackageSources | None) -> list[SourceFile]:
    return checked([*files, *packages.files]) if packages else files


def _is_hidden(place: str, folder: str) -> bool:
    """Return whether a place is in a folder such as `.context`, below another one: what is there is no source."""
    way = os.path.relpath(place, folder).split("/")
    return any(name.startswith(".") for name in way) and ".." not in way and way != ["."]


def _overlap(one: str, other: str) -> bool:
    return os.path.commonpath([one, other]) in {one, other}


def _write_manifest(
    task: BuildTask,
    cache: Directory,
    sources: Sequence[SourceFile],
    shares: Sequence[Share],
    created_at: str,
) -> tuple[list[ListedDocument], bytes]:
    """Give the documents their names, and list them."""
    written = [document for share in shares for document in share.documents]
    names = document_names([each.version for each in written])
    rename_documents(cache.enter(DOCUMENTS), [(each.file, name) for each, name in zip(written, names, strict=True)])
    listed = [
        ListedDocument(source.id, document.version, f"{DOCUMENTS}/{name}")
        for source, document, name in zip(sources, written, names, strict=True)
    ]
    manifest = manifest_json(listed, task.scorer, created_at=created_at)
    cache.write(MANIFEST, manifest)
    cache.write(INDEX, index_json(listed))
    return listed, manifest


def _in_parallel(
    compile_some: Callable[[Sequence[SourceFile], int, Report], Compiled],
    sources: Sequence[SourceFile],
    edges: Sequence[int],
    progress: Progress | None,
) -> list[Compiled]:
    """Compile the sources between each two edges in a process of its own."""
    if len(edges) > 2:  # noqa: PLR2004 - between two edges is one part
        kernel.give_back_large_memory()
    report = _reporting(progress, len(sources))
    return run_parallel([partial(compile_some, sources[start:end], start) for start, end in pairwise(edges)], report)


def _reporting(progress: Progress | None, total: int) -> Report:
    """Return what takes reports of parts of so many files, and tells of the whole."""
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    return report


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

"""Compiles the shares of a build of format 2 on the workers of a cluster, which see the sources and the cache's place.

Each attempt at a share has a folder of its own in the staging directory. Only what a share that was finished wrote is
taken over, by this process, so that a worker that was given up can spoil nothing.
"""

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from uuid import uuid4

from contexthall.caches.build.compiler import BuildTask
from contexthall.caches.build.convert.registry import KREUZBERG, converter_of
from contexthall.caches.build.cuts import for_workers
from contexthall.caches.build.section_compiler import SectionShare, compile_sections
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.build.staging import NEW, RUN_PREFIX
from contexthall.caches.index.segment_list import segment_file
from contexthall.caches.model.document import file_stem
from contexthall.caches.model.format import DOCUMENTS
from contexthall.caches.query.scorers import CacheFormat
from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.system.cluster import Cluster, worker_name
from contexthall.system.disk import Disk
from contexthall.system.processes import Report


class DistantShare(NamedTuple):
    """What a worker compiles: some files of one shard, in a new folder of the folder of all shares."""

    folder: str
    shard: int
    sources: Sequence[SourceFile]
    first: int
    scorer: CacheFormat
    is_strict: bool


class WrittenShare(NamedTuple):
    """What came of it, and in which folder."""

    folder: str
    share: SectionShare


def compile_on_cluster(
    cluster: Cluster, task: BuildTask, sources: Sequence[SourceFile], report: Report
) -> list[list[SectionShare]]:
    """Compile sources, in the order of their shards, on all workers, into the staging directory."""
    folder = os.path.join(task.staging.path, f"{RUN_PREFIX}{uuid4().hex}")
    task.disk.make_directory(folder)
    order = [
        DistantShare(folder, shard, some, first, task.scorer, task.is_strict)
        for shard, some, first in for_workers(sources, task.shards, len(cluster.workers()))
    ]
    try:
        written: list[WrittenShare] = cluster.run([partial(_compile, each) for each in order], report)
    except BaseException:
        _stop(task.disk, folder)
        raise
    taken: list[set[str]] = [set() for _ in range(task.shards)]
    return [
        [_take_over(task, each.folder, each.share, taken[each.share.shard], share.first)]
        for share, each in zip(order, written, strict=True)
    ]


def _compile(share: DistantShare, report: Report) -> WrittenShare:
    """Compile a share on a worker."""
    disk = Disk()
    _check(disk, share)
    folder = os.path.join(share.folder, f"{share.first}-{uuid4().hex}")
    for each in (folder, os.path.join(folder, NEW), os.path.join(folder, NEW, DOCUMENTS)):
        disk.make_directory(each)
    with disk.enter(folder) as staging:
        task = BuildTask(disk, staging, share.scorer, share.is_strict)
        (compiled,) = compile_sections(task, share.sources, share.first, report)
    _check_all_read(compiled, share.sources)
    return WrittenShare(folder, compiled._replace(shard=share.shard))


def _check(disk: Disk, share: DistantShare) -> None:
    """Refuse to work where the build cannot be seen, or would be another one."""
    if disk.kind(share.folder) != "directory":
        hint = "workers need the folder of the cache at the same path as this machine: a shared disk"
        raise DiskError(f"{worker_name()} does not see {os.path.dirname(share.folder)}", hint=hint)
    for source in share.sources:
        known = converter_of(source.source) if source.converter.name == KREUZBERG else source.converter
        if known is None or known.label != source.converter.label:
            hint = "install the same extras for every worker: pip install 'contexthall[formats]'"
            raise UsageError(f"{worker_name()} converts {source.source} in another way", hint=hint)
    try:
        disk.look(share.sources[0].path)
    except PathMissingError:
        hint = "workers need the sources at the same path as this machine: a shared disk"
        raise DiskError(f"{worker_name()} does not see {share.sources[0].path}", hint=hint) from None


def _check_all_read(compiled: SectionShare, sources: Sequence[SourceFile]) -> None:
    """Refuse a share with files that this worker may not read: it is another user, perhaps, and all others may."""
    for source in sources:
        if source.source not in compiled.digests and source.size <= source.converter.most_bytes:
            hint = "let every worker read the sources, or leave the file out with --exclude"
            raise DiskError(f"{worker_name()} may not read {source.path}", hint=hint)


def _stop(disk: Disk, folder: str) -> None:
    """Take the folder of all shares away; workers that still write into it fail at their next file."""
    deadline = time.monotonic() + limits.CLUSTER_STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            disk.clear(folder)
            return disk.remove_directory(folder)
        except PathMissingError:
            return None
        except DiskError:  # somebody has put one more file there
            time.sleep(limits.CLUSTER_STOP_SECONDS / 50)
    return None


def _take_over(task: BuildTask, folder: str, share: SectionShare, taken: set[str], first: int) -> SectionShare:
    """Move what a worker wrote into its shard; documents whose names others have get another one."""
    shard = os.path.join(task.staging.path, NEW, task.folders()[share.shard])
    documents = []
    for number, written in enumerate(share.documents, first):
        name = written.file if written.file not in taken else f"{file_stem(written.version)}.{number}"
        taken.add(name)
        task.disk.rename(os.path.join(folder, NEW, DOCUMENTS, written.file), os.path.join(shard, DOCUMENTS, name))
        documents.append(written._replace(file=name))
    for segment in share.segments:
        name = segment_file(segment.key)
        task.disk.rename(os.path.join(folder, NEW, name), os.path.join(shard, name))
    return share._replace(documents=documents)

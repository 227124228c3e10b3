"""The shards of a cache: which page is in which, and the manifest that lists them. Pure.

A shard is a cache of format 2 of some pages, in a folder of the cache. Asked together, shards give the answers of one
cache of all pages, because all statistics are sums.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar

from contexthall.caches.model.format import (
    HEAD_BYTES,
    CacheManifest,
    ListedDocument,
    cache_version,
    examine_manifest,
    repetitions,
    sum_faults,
    time_faults,
)
from contexthall.caches.query.scorers import SECTIONS, scorer_for
from contexthall.core import limits, wire
from contexthall.core.errors import CacheInvalidError


class HasId(Protocol):
    """Something that is known of a page."""

    @property
    def id(self) -> str: ...


Page = TypeVar("Page", bound=HasId)
_SHARDS = re.compile(rb'"shards"\s*:')


class ListedShard(NamedTuple):
    """A shard as the manifest lists it."""

    path: str
    cache_version: str


class ShardList(NamedTuple):
    """What the manifest of a sharded cache says."""

    fields: Mapping[str, object]
    shards: tuple[ListedShard, ...]

    @property
    def sums(self) -> object:
        """The statistics of all shards together."""
        return self.fields.get("sums")

    @property
    def is_intact(self) -> bool:
        """Whether nothing was changed since it was written: else only its shards tell whether it can be believed."""
        fields = dict(self.fields)
        return fields.pop("digest", None) == _digest(fields)


class ShardManifest(NamedTuple):
    """The manifest of a shard."""

    path: str
    data: bytes


def shard_of(page_id: str, count: int) -> int:
    """Return the number of the shard that a page is in: the first 8 bytes of its id's SHA-256, modulo the count."""
    if count == 1:
        return 0
    return int.from_bytes(hashlib.sha256(page_id.encode()).digest()[:8], "big") % count


def by_shard(pages: Iterable[Page], count: int) -> list[list[Page]]:
    """Return pages, whatever is known of each, in their shards; their order stays."""
    shards: list[list[Page]] = [[] for _ in range(count)]
    for page in pages:
        shards[shard_of(page.id, count)].append(page)
    return shards


def shard_path(number: int) -> str:
    return f"shard-{number:03}"


def sharded_manifest_json(
    documents: Sequence[ListedDocument], shards: Sequence[ListedShard], sums: Mapping[str, int], *, created_at: str
) -> bytes:
    """Return the manifest of a sharded cache of these documents, which are sorted by id."""
    fields = {
        "cache_version": cache_version(documents, SECTIONS),
        "build_config": SECTIONS.build_config,
        "created_at": created_at,
        "document_count": len(documents),
        "sums": sums,
        "shards": [each._asdict() for each in shards],
    }
    return wire.pretty({**fields, "digest": _digest(fields)}).encode()


def shards_in(manifest: bytes) -> ShardList | None:
    """Return the shards that a manifest lists; None if it lists documents, or cannot be read."""
    # Only the first kilobyte is searched: to parse a large list of documents takes a second.
    if not _SHARDS.search(manifest, 0, HEAD_BYTES):
        return None
    try:
        fields = wire.parse(manifest)
    except ValueError:
        return None
    if not isinstance(fields, dict) or "shards" not in fields:
        return None
    if "documents" in fields or scorer_for(fields.get("build_config")) != SECTIONS:
        raise CacheInvalidError("the manifest lists shards of what is no sharded cache")
    return ShardList(fields, _read_shards(fields["shards"]))


def examine_shards(listed: ShardList, manifests: Sequence[ShardManifest]) -> CacheManifest:
    """Return what shards list together, files as paths in the cache, and every promise that is broken."""
    examined = [(each.path, examine_manifest(each.data)) for each in manifests]
    documents = tuple(sorted(chain.from_iterable(_documents(path, manifest) for path, manifest in examined)))
    faults = [f"{path}: {fault}" for path, manifest in examined for fault in manifest.faults]
    faults += _misplaced(examined)
    faults += [*repetitions(documents), *sum_faults(listed.fields, len(documents), documents, SECTIONS)]
    lapses = [f"{path}: {lapse}" for path, manifest in examined for lapse in manifest.lapses]
    lapses += time_faults(listed.fields)
    if not listed.is_intact:
        lapses.append("the manifest's digest does not follow from what it says")
    return CacheManifest(documents, tuple(faults), tuple(lapses), SECTIONS)


def _read_shards(entries: object) -> tuple[ListedShard, ...]:
    if not isinstance(entries, list) or not 0 < len(entries) <= limits.SHARDS:
        raise CacheInvalidError("the manifest has no list of shards")
    shards = []
    for number, entry in enumerate(entries):
        version = entry.get("cache_version") if isinstance(entry, dict) else None
        if not isinstance(version, str) or entry.get("path") != shard_path(number):
            raise CacheInvalidError(f"number {number + 1} in the manifest is not {shard_path(number)}")
        shards.append(ListedShard(shard_path(number), version))
    return tuple(shards)


def _documents(path: str, manifest: CacheManifest) -> Iterator[ListedDocument]:
    for each in manifest.documents or ():
        yield each._replace(file=f"{path}/{each.file}")


def _misplaced(examined: Sequence[tuple[str, CacheManifest]]) -> Iterator[str]:
    """Yield which pages are not in the shard of their id, where a refresh would look for them."""
    for number, (path, manifest) in enumerate(examined):
        for each in manifest.documents or ():
            if shard_of(each.id, len(examined)) != number:
                yield f"{each.id} does not belong in {path}"


def _digest(fields: Mapping[str, object]) -> str:
    return f"sha256:{hashlib.sha256(wire.compact(fields).encode()).hexdigest()}"

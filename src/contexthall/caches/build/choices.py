"""Which builder makes the kind of cache that was chosen, and which choices exclude one another."""

from typing import TYPE_CHECKING

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.query.scorers import SCORERS, SECTIONS
from contexthall.core import limits
from contexthall.core.errors import UsageError
from contexthall.system.disk import Disk

if TYPE_CHECKING:
    from contexthall.system.cluster import Cluster

_FORMAT = 2


def choose_builder(
    disk: Disk,
    created_at: str,
    working_directory: str,
    *,
    number: int = 2,
    embedder: str | None = None,
    shards: int = 1,
    cluster: "Cluster | None" = None,
) -> CacheBuilder:
    """Return what builds caches of a format, with an embedder, in shards or on a cluster if that is chosen."""
    scorer = SECTIONS if number == _FORMAT else SCORERS[0]
    builder = CacheBuilder(disk, created_at, working_directory, scorer)
    if embedder is not None:
        builder = _with_embedder(builder, embedder)
    if cluster is not None:
        if number != _FORMAT:
            raise UsageError("only caches of format 2 are built on a cluster", hint="leave --format 1 out")
        builder = builder._replace(cluster=cluster)
    return builder if shards == 1 else _with_shards(builder, shards)


def _with_embedder(builder: CacheBuilder, name: str) -> CacheBuilder:
    if builder.scorer is not SECTIONS:
        raise UsageError("only caches of format 2 have an embedder", hint="leave --format 1 out")
    from contexthall.caches.build.embedding import SectionEmbedder  # noqa: PLC0415 - few caches need them
    from contexthall.caches.embedding.embedders import find_embedder  # noqa: PLC0415

    embedding = SectionEmbedder(find_embedder(name))
    return builder._replace(scorer=embedding.scorer, embedding=embedding)


def _with_shards(builder: CacheBuilder, shards: int) -> CacheBuilder:
    if not 1 <= shards <= limits.SHARDS:
        raise UsageError(f"a cache has from 1 to {limits.SHARDS} shards, not {shards}", hint="choose another --shards")
    if builder.scorer != SECTIONS:
        hint = "leave --shards out, or --format 1 and --embedder"
        raise UsageError("only caches of format 2 without an embedder have shards", hint=hint)
    return builder._replace(shards=shards)

"""Opens caches of either format; what reads a format is loaded with the first cache that has it."""

import time
from typing import TYPE_CHECKING, TypeAlias

from contexthall.caches.model.format import MANIFEST, read_manifest, scorer_in
from contexthall.caches.query.cache_files import Clock, read_part, signature_of
from contexthall.caches.query.scorers import SECTIONS, SectionFormat
from contexthall.core.errors import CacheMissingError, PathMissingError
from contexthall.system.disk import Directory, Disk

if TYPE_CHECKING:
    from contexthall.caches.query.reader import OpenCache
    from contexthall.caches.query.section_reader import OpenSections
    from contexthall.system.cluster import Holders

AnyCache: TypeAlias = "OpenCache | OpenSections"


def open_cache(
    disk: Disk,
    path: str,
    known: "AnyCache | None" = None,
    *,
    clock: Clock = time.time_ns,
    holders: "Holders | None" = None,
) -> AnyCache:
    """Open the cache at `path`; return `known`, if it is still the same. With `holders`, a cluster is asked."""
    try:
        directory = disk.enter(path)
    except PathMissingError:
        raise CacheMissingError(path) from None
    if known is not None and known.signature == signature_of(directory, known.shards):
        directory.close()
        known.keep_documents(clock)
        return known
    manifest = read_part(directory, MANIFEST)
    scorer = scorer_in(manifest) or read_manifest(manifest).scorer
    if holders is not None and scorer == SECTIONS:
        from contexthall.caches.cluster.cluster_sections import ClusterSections

        return ClusterSections(directory, manifest, holders)
    if isinstance(scorer, SectionFormat):
        from contexthall.caches.query.section_reader import OpenSections

        return OpenSections(directory, manifest, scorer.model)
    from contexthall.caches.query.reader import OpenCache

    return OpenCache(directory)


def model_in(manifest: bytes) -> str:
    """Return the embedder that a manifest names; empty for none."""
    scorer = scorer_in(manifest) or read_manifest(manifest).scorer
    return scorer.model if isinstance(scorer, SectionFormat) else ""


def index_doubts(directory: Directory) -> str:
    """Return why the index of a cache is not believed, so that queries read every document; empty if it is."""
    manifest = read_part(directory, MANIFEST)
    if isinstance(scorer_in(manifest), SectionFormat):
        from contexthall.caches.query import section_reader

        return section_reader.index_doubts(directory, manifest)
    from contexthall.caches.query import reader

    return reader.index_doubts(directory, manifest)

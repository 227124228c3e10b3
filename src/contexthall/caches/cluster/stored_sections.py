"""A cache in a store that is asked on a cluster: each worker fetches and keeps what it is asked of."""

from contextlib import suppress

from contexthall.caches.cluster.cluster_sections import HeldCache
from contexthall.caches.cluster.shard_holder import ShardGroup
from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.query.question import Question
from contexthall.caches.query.resolution import Resolution
from contexthall.caches.store.ranges import Ranges
from contexthall.caches.store.root import Root
from contexthall.caches.store.stored_cache import StoredSections
from contexthall.system.cluster import Holders


class ClusterStoredSections(StoredSections):
    """A cache of format 2 in a store, of which workers answer questions; this process fetches what is none."""

    def __init__(self, root: Root, ranges: Ranges, url: str, holders: Holders) -> None:
        super().__init__(root, ranges)
        self._held = HeldCache(holders, ShardGroup(url, root.cache_version, root.parts), root.sums)

    def resolve(self, question: Question) -> Resolution:
        """Return the sections that answer a question, within its budget."""
        with suppress(IndexDamagedError):
            return self._held.resolve(question)
        return super().resolve(question)

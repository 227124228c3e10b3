"""Where are the sources of a cache cut, so that several processes or machines compile them? Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from contexthall.caches.build.sources import SourceFile
from contexthall.caches.model.shards import by_shard

_WORTH_SHARING = 500


def halves(sources: Sequence[SourceFile]) -> list[int]:
    """Return where to cut sources for two processes: where half of their bytes are; nowhere if they are few."""
    if len(sources) < _WORTH_SHARING:
        return [0, len(sources)]
    before = list(accumulate(source.size + 1 for source in sources))
    return [0, min(bisect_right(before, before[-1] // 2) or 1, len(sources) - 1), len(sources)]


def between_shards(sources: Sequence[SourceFile], shards: int, processes: int) -> list[int]:
    """Return where to cut sources for so many processes: between shards, so that no machine writes other segments."""
    ends = [0, *accumulate(map(len, by_shard(sources, shards)))]
    parts = min(shards, processes) if len(sources) >= _WORTH_SHARING else 1
    return [ends[shards * part // parts] for part in range(parts + 1)]


def for_workers(
    sources: Sequence[SourceFile], shards: int, workers: int
) -> list[tuple[int, Sequence[SourceFile], int]]:
    """Return the shares: shards, and parts of them if there are more workers; with the number of their first file."""
    parts, first, shares = max(1, -(-workers // shards)), 0, list[tuple[int, Sequence[SourceFile], int]]()
    for shard, some in enumerate(by_shard(sources, shards)):
        step = -(-len(some) // parts) or 1
        shares += [(shard, some[at : at + step], first + at) for at in range(0, len(some), step)]
        first += len(some)
    return shares

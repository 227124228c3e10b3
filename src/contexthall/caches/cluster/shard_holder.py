"""The shards of caches that are open on a worker, and what they answer: counts, candidates, sections."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from contexthall.caches.cluster.candidates import Candidate
from contexthall.caches.index.blocks import MALFORMED, IndexDamagedError, IndexUnreadError
from contexthall.caches.index.segments import FoundTerm
from contexthall.caches.model.items import Item
from contexthall.caches.model.shards import ListedShard
from contexthall.caches.query.opening import open_cache
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_ranking import MOST_PAIRED, RankedSection, SectionScorer, pairs_of
from contexthall.caches.query.section_reader import OpenSections, sections_of
from contexthall.caches.query.weights import Rarity, TermCounts
from contexthall.caches.store.root import StoredPart
from contexthall.config.settings import user_directory
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, CacheMissingError, DiskError
from contexthall.system.cluster import worker_name
from contexthall.system.disk import Disk

if TYPE_CHECKING:
    from contexthall.caches.store.stores import Stores

Answer = TypeVar("Answer")


class ShardGroup(NamedTuple):
    """Some shards of a cache, or the cache if it has none: where it is, its version, and those that they must have."""

    cache: str
    """Its path, or its URL in a store."""
    version: str
    shards: tuple[ListedShard, ...] | tuple[StoredPart, ...]


class Counted(NamedTuple):
    """What a group of shards has: its sums, how often each term occurs, and whether ids of pages have a `#`."""

    sums: Mapping[str, int]
    terms: Sequence[TermCounts]
    has_hashes: bool


class ShardQuery(NamedTuple):
    """What is asked of each group: the terms of a query in their order, and the statistics of all groups together."""

    terms: Sequence[str]
    rarities: Mapping[str, Rarity]
    sums: Mapping[str, int]
    by_id: bool
    """Whether only whole ids compare as ids do: the page of one section may be the beginning of another's."""


class ShardHolder:
    """Opens shards when they are first asked, and keeps the last ones open."""

    def __init__(self) -> None:
        self._held: dict[ShardGroup, _HeldShards] = {}

    def count(self, group: ShardGroup, terms: Sequence[str]) -> Counted:
        """Return how often terms occur in some shards."""
        return self._ask(group, lambda held: held.count(terms))

    def best(self, group: ShardGroup, query: ShardQuery) -> list[Candidate]:
        """Return the sections of some shards that score best."""
        return self._ask(group, lambda held: held.best(query))

    def items(self, group: ShardGroup, sections: Sequence[tuple[str, int]]) -> list[Item]:
        """Return sections, each by its page and its place there."""
        return self._ask(group, lambda held: held.items(sections))

    def _ask(self, group: ShardGroup, answer: "Callable[[_HeldShards], Answer]") -> Answer:
        """Return an answer; shards that were held may have been replaced by the same ones, and are opened once more."""
        if group in self._held:
            with suppress(CacheInvalidError, DiskError):
                return self._answer(group, answer)
            self._held.pop(group, None)
        return self._answer(group, answer)

    def _answer(self, group: ShardGroup, answer: "Callable[[_HeldShards], Answer]") -> Answer:
        """Return an answer; where the index cannot be believed, every page is counted or fetched again."""
        try:
            with suppress(IndexDamagedError, *MALFORMED):
                return answer(self._hold(group))
            return answer(self._hold(group, again=True))
        except (IndexDamagedError, *MALFORMED) as error:  # of a store, where nothing can be counted again
            raise CacheInvalidError(f"the store has other bytes than were put there: {error}") from None
        except IndexUnreadError as error:
            raise DiskError(str(error)) from None

    def _hold(self, group: ShardGroup, *, again: bool = False) -> "_HeldShards":
        held = self._held.pop(group, None)
        if held is None or again:
            held = _HeldShards([self._sections(group.cache, shard, again=again) for shard in group.shards])
        for oldest in list(self._held)[: 1 - limits.OPEN_CACHES]:
            del self._held[oldest]
        self._held[group] = held
        return held

    def _sections(self, cache: str, shard: ListedShard | StoredPart, *, again: bool) -> SectionCache:
        if isinstance(shard, ListedShard):
            return sections_of(_opened(cache, shard), again=again)
        return self._stores.open_part(cache, shard, again=again)

    @cached_property
    def _stores(self) -> "Stores":
        """Object stores, by the credentials of this worker."""
        from contexthall.caches.store.stores import Stores  # noqa: PLC0415 - few caches are in one

        return Stores(Disk(), os.environ, user_directory(os.environ, "XDG_CACHE_HOME", ".cache"))


def _opened(cache: str, shard: ListedShard) -> OpenSections:
    try:
        opened = open_cache(Disk(), os.path.join(cache, shard.path))
    except CacheMissingError:
        raise DiskError(f"{worker_name()} does not see {cache}", hint="workers need it at the same path") from None
    if not isinstance(opened, OpenSections) or opened.version != shard.cache_version:
        raise CacheInvalidError(f"{shard.path or cache} is not the one that is listed")
    opened.keep_documents(time.time_ns)
    return opened


class _HeldShards:
    """Some shards, asked as one, by the statistics of all."""

    def __init__(self, caches: Sequence[SectionCache]) -> None:
        self._cache = SectionCache.joined(caches)
        self._scorer = _PartScorer(self._cache.segments)

    def count(self, terms: Sequence[str]) -> Counted:
        segments = self._cache.segments
        segments.fetch(terms=terms)
        counts = [TermCounts.of(segments.find(term)) for term in terms]
        return Counted(segments.sums, counts, any("#" in page for page in segments.page_ids))

    def best(self, query: ShardQuery) -> list[Candidate]:
        scorer, segments = self._scorer, self._cache.segments
        scorer.rarities = query.rarities
        segments.average_over(query.sums)
        values = scorer.values(query.terms)
        best = scorer.best(values)
        sections = [section for *_, section in best]
        gains = scorer.bonuses(pairs_of(query.terms, values), values, sections[:MOST_PAIRED])
        having = [0] * len(sections)
        for bit, term in enumerate(dict.fromkeys(query.terms)):
            if term in values:
                has = scorer.having(values[term], sections)
                having = [bits | each << bit for bits, each in zip(having, has, strict=True)]
        ids, pages = segments.page_ids, segments.page
        return [
            Candidate(
                before=-score,
                pairs=gains.get(section, 0),
                order=(segments.id(section), 0)
                if query.by_id
                else (f"{ids[pages[section]]}#", segments.place[section]),
                page=ids[pages[section]],
                at=section - segments.first[pages[section]],
                json_cost=segments.json_cost[section],
                text_cost=segments.text_cost[section],
                size=segments.size[section],
                having=bits,
            )
            for (score, _, section), bits in zip(best, having, strict=True)
        ]

    def items(self, sections: Sequence[tuple[str, int]]) -> list[Item]:
        numbers = [self._cache.number_of(page, at) for page, at in sections]
        wanted = [RankedSection(number, 0, 0, 0) for number in numbers]
        self._cache.fetch(wanted)
        return self._cache.items(wanted)


class _PartScorer(SectionScorer):
    """Ranks sections of some shards: how rare terms are among those of all is told."""

    rarities: Mapping[str, Rarity]

    def rarity(self, term: str, _found: Sequence[FoundTerm]) -> Rarity:
        return self.rarities[term]

"""A cache whose shards are open on the workers of a cluster: all are asked, and this process merges and packs.

Same bytes as from a cache that is open here. What is read by its id, outlined or explained is read here.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from contexthall.caches.cluster.candidates import Candidates
from contexthall.caches.cluster.shard_holder import Counted, ShardGroup, ShardQuery
from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.kept import Kept
from contexthall.caches.index.terms import terms
from contexthall.caches.model.items import Item
from contexthall.caches.model.shards import ListedShard
from contexthall.caches.query.question import Question
from contexthall.caches.query.resolution import Resolution
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_packing import SectionPacking
from contexthall.caches.query.section_ranking import RankedSection
from contexthall.caches.query.section_reader import OpenSections
from contexthall.caches.query.weights import Rarity, TermCounts
from contexthall.core import limits
from contexthall.system.cluster import Holders
from contexthall.system.disk import Directory

Answer = TypeVar("Answer")


class ClusterSections(OpenSections):
    """A cache of format 2 that is asked on a cluster; here it is opened only for what is not a question."""

    _is_open = False

    def __init__(self, directory: Directory, manifest: bytes, holders: Holders) -> None:
        super().__init__(directory, manifest)
        listed = self._shards
        shards = listed.shards if listed else (ListedShard("", self.version),)
        sums = listed.sums if listed else None
        self._held = HeldCache(holders, ShardGroup(directory.path, self.version, shards), sums)

    def ask(self, answer: Callable[[SectionCache], Answer]) -> Answer:
        """Return the answer that the segments give, opened here, or else the pages."""
        if not self._is_open:
            super().open_segments()
            self._is_open = True  # not before: another thread would find no segments, and count every page
        return super().ask(answer)

    def open_segments(self) -> None:
        """Do nothing yet."""

    def resolve(self, question: Question) -> Resolution:
        """Return the sections that answer a question, within its budget."""
        if self._shards is None or self._shards.is_intact:
            with suppress(IndexDamagedError):
                return self._held.resolve(question)
        return super().resolve(question)


class HeldCache:
    """A cache whose shards are open on workers, each of which is asked of some."""

    def __init__(self, holders: Holders, all_shards: ShardGroup, sums: object) -> None:
        """Hold all shards of a cache, which must add up to its sums; None if nobody says these."""
        self._holders = holders
        self._all = all_shards
        self._known_sums = sums
        self._counts = Kept[str, TermCounts](limits.KEPT_COUNTS_BYTES)
        self._sums: Mapping[str, int] = {}
        self._has_hashes = False

    def resolve(self, question: Question) -> Resolution:
        """Return the sections that answer a question, within its budget; IndexDamagedError if none can be believed."""
        found, groups = terms(question.query), self._groups()
        rarities = self._rarities(groups, list(dict.fromkeys(found)))
        query = ShardQuery(found, rarities, self._sums, self._has_hashes)
        best = self._holders.ask("best", {place: (group, query) for place, group in groups.items()}) if rarities else {}
        candidates = Candidates(list(best.values()))
        ranking = candidates.ranking(question.query, found, rarities)
        return _CandidatePacking(candidates, groups, self._holders).reply(question, ranking)[0].resolution()

    def _groups(self) -> dict[int, ShardGroup]:
        """Return what each worker is asked of: shards in turn."""
        count = max(1, min(self._holders.count(), len(self._all.shards)))
        return {place: self._all._replace(shards=self._all.shards[place::count]) for place in range(count)}

    def _rarities(self, groups: Mapping[int, ShardGroup], found: Sequence[str]) -> dict[str, Rarity]:
        """Return how rare terms are among the sections of all shards; those that no section has are left out."""
        known = {term: kept[0] for term in found if (kept := self._counts.get(term))}
        if unknown := [term for term in found if term not in known]:
            counted = self._holders.ask("count", {place: (group, unknown) for place, group in groups.items()})
            known |= self._add_up(unknown, list(counted.values()))
        return {term: Rarity.of(known[term], self._sums) for term in found if known[term].sections}

    def _add_up(self, found: Sequence[str], counted: Sequence[Counted]) -> dict[str, TermCounts]:
        """Return how often terms occur in all shards together, and keep that for the next question."""
        sums = {name: sum(each.sums[name] for each in counted) for name in counted[0].sums}
        if self._known_sums is not None and self._known_sums != sums:
            raise IndexDamagedError("the manifest was changed")
        self._sums, self._has_hashes = sums, any(each.has_hashes for each in counted)
        totals = {
            term: TermCounts(*map(sum, zip(*each, strict=True)))
            for term, *each in zip(found, *(each.terms for each in counted), strict=True)
        }
        for term, total in totals.items():
            self._counts.keep(term, total, sys.getsizeof(term))
        return totals


class _CandidatePacking(SectionPacking):
    """Candidates as a reply takes them: those that it has are read by whoever holds them, in one round."""

    def __init__(self, candidates: Candidates, groups: Mapping[int, ShardGroup], holders: Holders) -> None:
        self.costs = self._candidates = candidates
        self._groups = groups
        self._holders = holders
        self._items: dict[int, Item] = {}

    def fetch(self, sections: Iterable[RankedSection]) -> None:
        wanted = defaultdict[int, list[int]](list)
        for each in sections:
            wanted[self._candidates.groups[each.section]].append(each.section)
        places = {
            group: (self._groups[group], [self._candidates.all[number].where for number in numbers])
            for group, numbers in wanted.items()
        }
        for group, items in (self._holders.ask("items", places) if places else {}).items():
            self._items.update(zip(wanted[group], items, strict=True))

    def id_of(self, section: int) -> str:
        return self._items[section].id

    def items(self, taken: Sequence[RankedSection]) -> list[Item]:
        return [self._items[each.section] for each in taken]

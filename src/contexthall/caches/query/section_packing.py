"""Makes a reply of an order of sections, wherever these are: what fits is taken, then read. Pure but for reading."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from contexthall.caches.model.items import Item, string_list
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_ranking import RankedSection, SectionRanking
from contexthall.caches.query.section_reply import (
    MissedSection,
    Packed,
    ResolvedSection,
    SectionReply,
    empty_reply_bytes,
    pack,
)
from contexthall.core.tokens import BYTES_PER_TOKEN


class SectionCosts(Protocol):
    """What sections cost, by their numbers."""

    @property
    def json_cost(self) -> Sequence[int]: ...

    @property
    def text_cost(self) -> Sequence[int]: ...

    @property
    def size(self) -> Sequence[int]: ...


class SectionPacking(ABC):
    """Sections that can be put into a reply."""

    costs: SectionCosts

    @abstractmethod
    def fetch(self, sections: Iterable[RankedSection]) -> None:
        """Get what is read next."""

    @abstractmethod
    def id_of(self, section: int) -> str: ...

    @abstractmethod
    def items(self, taken: Sequence[RankedSection]) -> list[Item]:
        """Read sections."""

    def reply(self, question: Question, ranking: SectionRanking) -> tuple[SectionReply, list[RankedSection]]:
        """Return the answer to a question that has this order, and the numbers of its sections."""
        packed = self.pack(question, ranking)
        sections = tuple(
            ResolvedSection(item, ranked.score, tuple(ranking.matched(ranked.section)))
            for ranked, item in zip(packed.taken, self.items(packed.taken), strict=True)
        )
        skipped, unmatched = tuple(map(self._missed, packed.skipped)), tuple(ranking.unmatched)
        reply = SectionReply(question, len(ranking.order), unmatched, sections, skipped, packed.tokens_used)
        return reply, packed.taken

    def pack(self, question: Question, ranking: SectionRanking) -> Packed:
        """Return which sections of an order fit into a question's budget."""
        empty = empty_reply_bytes(question, len(ranking.order), ranking.unmatched)
        columns = self.costs.text_cost if question.format == "text" else self.costs.json_cost
        costs = [columns[ranked.section] for ranked in ranking.order]
        cost = partial(self._cost(question), ranking)
        return pack(question, ranking.order, empty, cost, costs, self._missed, self.fetch)

    def _cost(self, question: Question) -> Callable[[SectionRanking, RankedSection, int, int], int | None]:
        return self._text_cost if question.format == "text" else self._json_cost

    def _json_cost(self, ranking: SectionRanking, ranked: RankedSection, _place: int, left: int) -> int | None:
        cost = self.costs.json_cost[ranked.section] + len(str(ranked.score))
        if cost + len('[""]') > left:
            return None
        cost += len(string_list(ranking.matched(ranked.section)).encode())
        return cost if cost <= left else None

    def _text_cost(self, _ranking: SectionRanking, ranked: RankedSection, place: int, left: int) -> int | None:
        cost = self.costs.text_cost[ranked.section] + len(str(place))
        return cost if cost <= left else None

    def _missed(self, ranked: RankedSection) -> MissedSection:
        return MissedSection(self.id_of(ranked.section), -(-self.costs.size[ranked.section] // BYTES_PER_TOKEN))

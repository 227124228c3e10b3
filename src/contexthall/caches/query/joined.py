"""Several caches asked as one, for a person: which cache a section is from is told beside it. Pure but for them."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from contexthall.caches.model.items import Item
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reply import MissedSection, Question


class JoinedSection(NamedTuple):
    """A section, the cache that it is from, and the words of the query that it has."""

    cache: str
    item: Item
    matched: tuple[str, ...]


class JoinedReply(NamedTuple):
    """The sections of several caches that answer a query."""

    sections: tuple[JoinedSection, ...]
    considered: int
    unmatched: tuple[str, ...]
    skipped: tuple[MissedSection, ...]
    tokens_used: int


def joined_reply(names: Sequence[str], caches: Sequence[SectionCache], question: Question) -> JoinedReply:
    """Ask caches, which have these names, as if they were one."""
    joined = SectionCache.joined(caches)
    firsts = [0, *accumulate(cache.segments.sections for cache in caches)]
    reply, taken = joined.resolve_sections(question)
    sections = tuple(
        JoinedSection(names[bisect_right(firsts, ranked.section) - 1], section.item, section.matched)
        for ranked, section in zip(taken, reply.sections, strict=True)
    )
    return JoinedReply(sections, reply.considered, reply.unmatched, reply.skipped, reply.tokens_used)

"""Several caches asked as one, for a person: which cache a section is from is told beside it. Pure but for them."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from contexthall.caches.index.blocks import IndexDamagedError, IndexUnreadError
from contexthall.caches.model.items import Item
from contexthall.caches.query.question import Question
from contexthall.caches.query.reader import OpenCache
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reader import OpenSections, sections_of
from contexthall.caches.query.section_reply import MissedSection
from contexthall.core.errors import DiskError


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
    model: str
    """The embedder by which they were ranked besides their words; empty if there is none."""
    other_models: tuple[str, ...]
    """The embedders of these caches that did not count, because not all caches name the same one."""
    stale: tuple[str, ...] = ()
    """The caches whose sources have changed since."""
    unknown: tuple[str, ...] = ()
    """The caches whose sources cannot be looked at."""


def ask_all(names: Sequence[str], opened: Sequence[OpenCache | OpenSections], question: Question) -> JoinedReply:
    """Ask open caches, of either format, as if they were one; if an index is damaged, all pages are counted again."""
    try:
        return joined_reply(names, [sections_of(each) for each in opened], question)
    except IndexDamagedError:
        return joined_reply(names, [sections_of(each, again=True) for each in opened], question)
    except IndexUnreadError as error:
        raise DiskError(str(error)) from None


def joined_reply(names: Sequence[str], caches: Sequence[SectionCache], question: Question) -> JoinedReply:
    """Ask caches, which have these names, as if they were one."""
    joined = SectionCache.joined(caches)
    firsts = [0, *accumulate(cache.segments.sections for cache in caches)]
    others = {cache.model for cache in caches} - {"", joined.model}
    reply, taken = joined.resolve_sections(question._replace(model=joined.model))
    sections = tuple(
        JoinedSection(names[bisect_right(firsts, ranked.section) - 1], section.item, section.matched)
        for ranked, section in zip(taken, reply.sections, strict=True)
    )
    models = joined.model, tuple(sorted(others))
    return JoinedReply(sections, reply.considered, reply.unmatched, reply.skipped, reply.tokens_used, *models)

"""A ranking of sections as people see it: some places of an order, and a section with its matches marked. Pure."""

from collections.abc import Collection
from typing import NamedTuple

from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.terms import terms
from contexthall.caches.query.highlights import Pieces, pieces
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_cache import SectionCache, Step
from contexthall.caches.query.section_ranking import RankedSection, SectionRanking
from contexthall.core.errors import DocumentMissingError
from contexthall.core.tokens import BYTES_PER_TOKEN


class SectionPlace(NamedTuple):
    """A section's place in an order, the first being 1; 0 if it has none."""

    rank: int
    id: str
    page: str
    crumbs: tuple[Pieces, ...]
    """The way from the page's title to the section's heading."""
    lines: tuple[int, int]
    score: int
    tokens: int
    """What its content costs."""
    cost: int
    """What it costs in a reply, with everything that stands around its content there."""
    matched: tuple[str, ...]
    """The words of the query that it has."""
    fits: bool
    left_before: int
    """How many tokens of the budget were left when its turn came."""


class SectionRankingPage(NamedTuple):
    """Some places of a query's order, and what the budget made of the whole."""

    unmatched: tuple[str, ...]
    """The words of the query that no section has."""
    ignored: tuple[str, ...]
    """The words of the query that never count, such as `the`."""
    tokens_used: int
    considered: int
    selected: int
    total_tokens: int
    """What all sections of the cache cost together."""
    places: tuple[SectionPlace, ...]
    format: int = 2
    """The format of the cache."""


class ShownSection(NamedTuple):
    """A section to read, in which the words of a query are marked."""

    id: str
    page: str
    version: str
    crumbs: tuple[Pieces, ...]
    lines: tuple[int, int]
    tokens: int
    content: Pieces


def places_of(cache: SectionCache, question: Question, page: slice) -> SectionRankingPage:
    """Return some places of a question's order."""
    ranking = cache.rank(question.query)
    steps, packed = cache.walk(question, ranking), cache.pack(question, ranking)
    cache.fetch(step.ranked for step in steps[page])
    places = tuple(place_of(cache, ranking, rank, steps[rank - 1]) for rank in range(1, len(steps) + 1)[page])
    total = tokens(sum(cache.segments.text_cost if question.format == "text" else cache.segments.json_cost))
    words = tuple(ranking.unmatched), ignored_words(ranking)
    return SectionRankingPage(*words, packed.tokens_used, len(steps), len(packed.taken), total, places)


def show(cache: SectionCache, query: str, section_id: str) -> ShownSection:
    """Return a section, in which the words of a query are marked."""
    section = next(iter(cache.sections_of(section_id)), None)
    if section is None or cache.segments.id(section) != section_id:
        raise DocumentMissingError(section_id)
    record, item = cache.section(section)
    wanted, lines = frozenset(terms(query)), (item.first_line, item.last_line)
    crumbs = _crumbs(record, section - cache.segments.first[cache.segments.page[section]], wanted)
    return ShownSection(section_id, record.id, item.version, crumbs, lines, item.tokens, pieces(item.content, wanted))


def place_of(cache: SectionCache, ranking: SectionRanking, rank: int, step: Step) -> SectionPlace:
    """Return the place of a section as people see it."""
    segments, section = cache.segments, step.ranked.section
    page = segments.page[section]
    record, at = segments.record(page), section - segments.first[page]
    return SectionPlace(
        rank=rank,
        id=record.ids()[at],
        page=record.id,
        crumbs=_crumbs(record, at, ranking.values),
        lines=record.lines[at][:2],
        score=step.ranked.score,
        tokens=tokens(segments.size[section]),
        cost=tokens(step.cost),
        matched=tuple(ranking.matched(section)),
        fits=step.fits,
        # Rounded such that it never looks as if the other were true.
        left_before=tokens(step.left) if step.fits else max(0, step.left) // BYTES_PER_TOKEN,
    )


def unranked(section: int) -> Step:
    """Return what became of a section that is not in an order."""
    return Step(RankedSection(section, 0, 0, 0), 0, -1)


def ignored_words(ranking: SectionRanking) -> tuple[str, ...]:
    """Return the words of a query that never count."""
    return tuple(word for word, found in ranking.words.items() if not found)


def tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _crumbs(record: PageRecord, number: int, wanted: Collection[str]) -> tuple[Pieces, ...]:
    """Return the way to a section, in which the words of a query are marked."""
    way = record.page.way(record.page.sections[number])
    return tuple(pieces(each, wanted) for each in way)

"""Answers questions from the sections of a cache of format 2. Pure but for the segments and pages that it reads."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, count
from typing import TYPE_CHECKING, NamedTuple

from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.kept import Kept
from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.items import Item
from contexthall.caches.query.fusion import fused_ranking
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_packing import SectionPacking
from contexthall.caches.query.section_ranking import RankedSection, SectionRanking, SectionScorer
from contexthall.caches.query.section_reading import (
    Outline,
    OutlinedPage,
    OutlinedSection,
    Reading,
    outline,
    paths_under,
    read,
)
from contexthall.caches.query.section_reply import (
    SectionReply,
    empty_reply_bytes,
)
from contexthall.core import limits
from contexthall.core.errors import DocumentMissingError
from contexthall.core.tokens import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from contexthall.caches.embedding.meaning import Meaning

_COPIES = 2
"""Of what a section says, in an item that was served: as it is, and as JSON."""

ReadPage = Callable[[int, PageRecord], str]
"""Returns the text of the page with this number, which must be the one that is recorded."""


class Step(NamedTuple):
    """A section whose turn it was, what it costs in the reply, and how many bytes of the budget were left for it."""

    ranked: RankedSection
    cost: int
    left: int

    @property
    def fits(self) -> bool:
        return self.cost <= self.left


class _KeptItem(NamedTuple):
    """A section that was served, and the very text of its page from which it was cut."""

    text: str
    item: Item


class SectionCache(SectionPacking):
    """The sections of a cache, how its pages are read, and what its sections mean if it names an embedder."""

    def __init__(self, segments: Segments, read: ReadPage, meaning: "Meaning | None" = None) -> None:
        self.segments = self.costs = segments
        self.meaning = meaning
        self.scorer = SectionScorer(segments)
        self._read = read
        self._items = Kept[int, _KeptItem](limits.KEPT_ITEMS_BYTES)

    @classmethod
    def joined(cls, caches: Sequence["SectionCache"]) -> "SectionCache":
        """Return the sections of several caches as those of one: their statistics are summed."""
        firsts = [0, *accumulate(len(cache.segments.page_ids) for cache in caches)]

        def read_page(number: int, record: PageRecord) -> str:
            at = bisect_right(firsts, number) - 1
            return caches[at]._read(number - firsts[at], record)  # noqa: SLF001 - of its own class

        segments = Segments([segment for cache in caches for segment in cache.segments.all])
        meanings = [cache.meaning for cache in caches]
        first = next((meaning for meaning in meanings if meaning), None)
        return cls(segments, read_page, first and first.joined(meanings))

    @property
    def model(self) -> str:
        """The embedder by which sections are ranked besides their words; empty if there is none."""
        return self.meaning.model if self.meaning else ""

    def rank(self, query: str) -> SectionRanking:
        """Return the sections in a query's order: by words, and by meaning too if there is an embedder."""
        return self.fused(self.scorer.rank(query), query)

    def fused(self, ranking: SectionRanking, query: str) -> SectionRanking:
        """Return a ranking by words with meaning in it, if there is an embedder and the query has a term."""
        if self.meaning is None or not any(ranking.words.values()):
            return ranking
        return fused_ranking(ranking, self.meaning.nearest(query, self.segments), self.segments)

    def resolve(self, question: Question) -> SectionReply:
        """Return the sections that answer a question, within its budget."""
        return self.resolve_sections(question)[0]

    def resolve_sections(self, question: Question) -> tuple[SectionReply, list[RankedSection]]:
        """Return the answer to a question, and the numbers of its sections."""
        return self.reply(question, self.rank(question.query))

    def fetch(self, sections: Iterable[RankedSection]) -> None:
        """Get the pages of sections that are read next."""
        self.segments.fetch(pages=[self.segments.page[each.section] for each in sections])

    def id_of(self, section: int) -> str:
        return self.segments.id(section)

    def walk(self, question: Question, ranking: SectionRanking) -> list[Step]:
        """Return a question's order step by step, what does not fit included."""
        empty = empty_reply_bytes(question, len(ranking.order), ranking.unmatched)
        left, place, price = BYTES_PER_TOKEN * question.budget - empty, 1, self._cost(question)
        steps = []
        for ranked in ranking.order:
            step = Step(ranked, price(ranking, ranked, place, sys.maxsize) or 0, left)
            steps.append(step)
            if step.fits:
                left, place = left - step.cost, place + 1
        return steps

    def sections_of(self, wanted: str) -> Sequence[int]:
        """Return the number of a section by its id, or of all sections of a page; none if there is no such id."""
        found = self._as_section(wanted, 0) or self._as_page(wanted, None)
        if found is None:
            return ()
        page, _, numbers = found
        return [self.segments.first[page] + number for number in numbers]

    def number_of(self, page_id: str, at: int) -> int:
        """Return the number of a section, by its page and its place there."""
        return self.segments.first[self._page_numbers[page_id]] + at

    def section(self, section: int) -> tuple[PageRecord, Item]:
        """Read the section with this number."""
        page = self.segments.page[section]
        record = self.segments.record(page)
        return record, self._item(page, record, section - self.segments.first[page], self._read(page, record))

    def enough(self, question: Question, ranking: SectionRanking, rank: int) -> int:
        """Return a budget into which the first sections of an order fit, down to this rank."""
        price = self._cost(question)
        places = enumerate(ranking.order[:rank], 1)
        wanted = sum(price(ranking, ranked, place, sys.maxsize) or 0 for place, ranked in places)
        budget = 0
        while True:
            asked = question._replace(budget=budget)
            size = wanted + empty_reply_bytes(asked, len(ranking.order), ranking.unmatched)
            if size <= BYTES_PER_TOKEN * budget:
                return budget
            budget = _tokens(size)

    def read(self, question: Question, neighbours: int = 0, start: str | None = None) -> Reading:
        """Return a section and its neighbours, or a page from the section `start` on; the query is an id."""
        found = self._as_section(question.query, neighbours) or self._as_page(question.query, start)
        if found is None:
            raise self.missing(question.query, start)
        page, record, wanted = found
        text = self._read(page, record)
        return read(question, [self._item(page, record, number, text) for number in wanted], record.ids())

    def missing(self, wanted: str, start: str | None = None) -> DocumentMissingError:
        """Return the error that nothing has an id, which knows the sections of its page, or else the pages."""
        page, has_slug, _ = wanted.partition("#")
        number = self._page_numbers.get(page)
        if number is not None and (has_slug or start is not None):
            ids = self.segments.record(number).ids()
            return DocumentMissingError(start or wanted).about(start or wanted, ids)
        return DocumentMissingError(wanted).about(page, self._page_numbers)

    def _as_section(self, section_id: str, neighbours: int) -> tuple[int, PageRecord, Sequence[int]] | None:
        """Return the page of a section, and the numbers of the section and its neighbours."""
        number = self._page_numbers.get(section_id.rpartition("#")[0])
        if number is None or section_id not in (record := self.segments.record(number)).ids():
            return None
        return number, record, _by_distance(record.ids().index(section_id), neighbours, len(record.ids()))

    def _as_page(self, page_id: str, start: str | None) -> tuple[int, PageRecord, Sequence[int]] | None:
        """Return a page, and the numbers of its sections from `start` on."""
        number = self._page_numbers.get(page_id)
        if number is None:
            return None
        record = self.segments.record(number)
        if start is not None and start not in record.ids():
            return None
        return number, record, range(record.ids().index(start) if start is not None else 0, len(record.ids()))

    def outline(
        self, question: Question, under: str | None = None, depth: int | None = None, start: str | None = None
    ) -> Outline:
        """Return the headings of the pages under a page or folder, from the page `start` on."""
        paths, first = paths_under(under, start, self._page_numbers)
        asked = count(first)

        def outlined(path: str) -> OutlinedPage:
            at = next(asked)
            if (at - first) % limits.OUTLINED_AT_ONCE == 0:
                ahead = paths[at : at + limits.OUTLINED_AT_ONCE]
                self.segments.fetch(pages=map(self._page_numbers.__getitem__, ahead))
            return self._outlined(path, depth)

        return outline(question, (under, depth), paths, first, outlined)

    @cached_property
    def _page_numbers(self) -> dict[str, int]:
        return {page_id: number for number, page_id in enumerate(self.segments.page_ids)}

    def _outlined(self, path: str, depth: int | None) -> OutlinedPage:
        number = self._page_numbers[path]
        record, sizes = self.segments.record(number), self.segments.size
        first = self.segments.first[number]
        sections = tuple(
            OutlinedSection(
                section_id, section.heading, section.level, lines[:2], lines.body, _tokens(sizes[first + at])
            )
            for at, (section_id, section, lines) in enumerate(
                zip(record.ids(), record.page.sections, record.lines, strict=True)
            )
            if depth is None or section.level <= depth
        )
        return OutlinedPage(path, record.page.title, _tokens(self.segments.page_size(number)), sections)

    def items(self, taken: Sequence[RankedSection]) -> list[Item]:
        """Read sections."""
        pages: dict[int, tuple[PageRecord, str]] = {}
        items = []
        for ranked in taken:
            section = ranked.section
            page = self.segments.page[section]
            if page not in pages:
                record = self.segments.record(page)
                pages[page] = record, self._read(page, record)
            record, text = pages[page]
            items.append(self._item(page, record, section - self.segments.first[page], text))
        return items

    def _item(self, page: int, record: PageRecord, number: int, text: str) -> Item:
        """Return a section of a page, which must have it as the index says."""
        section = self.segments.first[page] + number
        if (kept := self._items.get(section)) and kept[0].text is text:
            return kept[0].item
        item = record.item(number, text)
        if item.costs() != (self.segments.json_cost[section], self.segments.text_cost[section]):
            raise IndexDamagedError(f"{item.id} is not what the index says")
        self._items.keep(section, _KeptItem(text, item), _COPIES * item.size)
        return item


def _by_distance(at: int, neighbours: int, count: int) -> list[int]:
    """Return a place and its neighbours, by distance, earlier first."""
    places = [at]
    for distance in range(1, min(neighbours, count) + 1):
        places += [place for place in (at - distance, at + distance) if 0 <= place < count]
    return places


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)

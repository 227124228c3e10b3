"""A ranking of sections as people see it: a page of places, and why a section stands where it stands. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from contexthall.caches.query import bm25f
from contexthall.caches.query.explanation import RankedDocument, RankingPage
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_ranking import MOST_ORDERED, MOST_PAIRED, RankedSection, SectionRanking
from contexthall.caches.query.section_reply import Question
from contexthall.core.errors import DocumentMissingError
from contexthall.core.tokens import BYTES_PER_TOKEN


class SectionExplanation(NamedTuple):
    """Where a section stands in a query's order, and what put it there."""

    place: RankedDocument
    considered: int
    matched_terms: tuple[str, ...]
    reasons: tuple[str, ...]

    def sentences(self, budget: int) -> tuple[str, ...]:
        """Return the explanation in sentences for a person."""
        if not self.place.rank:
            return self.reasons
        return f"{self.place.id} is number {self.place.rank} of {self.considered}.", *self.reasons, self._fate(budget)

    def _fate(self, budget: int) -> str:
        cost, left = self.place.tokens, self.place.left_before
        if self.place.fits:
            return f"It was taken: its {cost} tokens fit into the {left} that were left."
        return f"The budget kept it out: it costs {cost} tokens, and {left} of {budget} were left when its turn came."


def places_of(cache: SectionCache, question: Question, page: slice) -> RankingPage:
    """Return some places of a question's order."""
    ranking, walk = cache.walk(question)
    words = sum(map(bool, ranking.words.values()))
    places = tuple(_place(cache, ranking, words, rank, *walk[rank - 1]) for rank in range(1, len(walk) + 1)[page])
    taken = [ranked for ranked, fits, _ in walk if fits]
    used = cache.resolve(question).tokens_used
    total = sum(-(-size // BYTES_PER_TOKEN) for size in cache.segments.size)
    return RankingPage(tuple(ranking.words), used, len(walk), len(taken), total, places)


def explain(cache: SectionCache, question: Question, wanted: str) -> SectionExplanation:
    """Return why a section, or the best one of a page, stands where it stands."""
    ranking, walk = cache.walk(question)
    sections = cache.sections_of(wanted)
    if not sections:
        raise DocumentMissingError(wanted)
    words = sum(map(bool, ranking.words.values()))
    for rank, (ranked, fits, left) in enumerate(walk, 1):
        if ranked.section in sections:
            before = [each for each, _, _ in walk[: rank - 1]]
            reasons = _reasons(cache, ranking, ranked, before, rank)
            place = _place(cache, ranking, words, rank, ranked, fits, left)
            return SectionExplanation(place, len(walk), tuple(ranking.matched(ranked.section)), reasons)
    section = sections[0]
    matched = tuple(ranking.matched(section))
    place = RankedDocument(0, cache.segments.id(section), 0, 0, len(matched), words, fits=False, left_before=0)
    return SectionExplanation(place, len(walk), matched, (_absence(place.id, matched, len(walk)),))


def _absence(section_id: str, matched: Sequence[str], considered: int) -> str:
    if not matched:
        return f"{section_id} is not in the order: it has no word of the query."
    if considered < MOST_ORDERED:
        return f"{section_id} is not in the order: what it has of the query ({', '.join(matched)}) every section has."
    return f"{section_id} is not among the {MOST_ORDERED} best, although it has {', '.join(matched)}."


def _place(
    cache: SectionCache, ranking: SectionRanking, words: int, rank: int, ranked: RankedSection, fits: bool, left: int
) -> RankedDocument:
    section = ranked.section
    tokens = -(-cache.segments.size[section] // BYTES_PER_TOKEN)
    matched = len(ranking.matched(section))
    section_id = cache.segments.id(section)
    return RankedDocument(rank, section_id, ranked.score, tokens, matched, words, fits, left // BYTES_PER_TOKEN)


def _reasons(
    cache: SectionCache, ranking: SectionRanking, ranked: RankedSection, before: Sequence[RankedSection], rank: int
) -> tuple[str, ...]:
    """Return what the score consists of: words, page, pairs, decay."""
    own = {term: value.own_of(ranked.section) for term, value in ranking.values.items()}
    found = [
        f"{term} (in {_fields(ranking, term, cache, ranked.section)}; rarity {ranking.values[term].rarity}): {part}"
        for term, part in own.items()
        if part is not None
    ]
    page = ranked.before - sum(part or 0 for part in own.values())
    reasons = [f"What it has of the query counts {'; '.join(found)}.", f"What its page has of it adds {page}."]
    if ranked.pairs:
        reasons.append(f"Words that stand side by side as in the query add {ranked.pairs}.")
    elif rank > MOST_PAIRED:
        reasons.append(f"Words side by side are looked for in the {MOST_PAIRED} best only.")
    same = sum(cache.segments.page[each.section] == cache.segments.page[ranked.section] for each in before)
    if same:
        times = min(same, bm25f.MOST_DECAYS)
        reasons.append(f"{same} of its page rank before it, so it counts 14/16, {times} times over: {ranked.score}.")
    return tuple(reasons)


def _fields(ranking: SectionRanking, term: str, cache: SectionCache, section: int) -> str:
    """Return in which fields of a section a term occurs."""
    segments = cache.segments
    names = []
    for number, entry in ranking.values[term].found:
        local, page = section - segments.first_section[number], segments.page[section] - segments.first_page[number]
        for name, unit in (("title", page), ("heading", local), ("crumbs", local), ("body", local)):
            if unit in getattr(entry, name).units:
                names.append(name)
    return ", ".join(names)

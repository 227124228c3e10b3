"""Why a section stands where it stands in a query's order: as facts, and in sentences that add up. Pure."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.terms import terms_of, words
from contexthall.caches.model.items import Item
from contexthall.caches.query import bm25f, fusion
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_cache import SectionCache, Step
from contexthall.caches.query.section_places import SectionPlace, ignored_words, place_of, unranked
from contexthall.caches.query.section_ranking import MOST_ORDERED, MOST_PAIRED, SectionRanking
from contexthall.caches.query.section_score import ScoreParts, TermPart, pair_parts, spelled, term_parts
from contexthall.core.text import lower

_WHERE = ("the page's title or file name", "its heading", "the headings above it", "its text")
_SPELLINGS_SHOWN = 3
_TIMES = {1: "once", 2: "twice"}
_FORMS = {"json": "JSON", "text": "text"}


class Standing(NamedTuple):
    """How a section compares with the others of its cache."""

    considered: int
    """How many sections were put in order."""
    first_score: int
    """The score of number 1."""
    last_score: int
    """What was enough to be put in order, before pairs count."""
    is_paired: bool
    """Whether it is among the best, in which pairs are looked for."""
    empty_tokens: int
    """What a reply costs before anything is in it."""
    enough_tokens: int
    """A budget into which it fits with everything before it."""
    sections: int
    """How many sections the cache has."""
    siblings: int
    """How many of them are on its page, itself included."""
    length: int
    """How many words of its text count."""
    average_length: int


class SectionExplanation(NamedTuple):
    """Where a section stands in a query's order, and what put it there."""

    question: Question
    wanted: str
    """What was asked about: this section, or its page, of which it is the best."""
    place: SectionPlace
    parts: ScoreParts
    standing: Standing
    spelling: Mapping[str, list[str]]
    """The terms of the query, each as the query spells it."""
    found_as: Mapping[str, list[str]]
    """The terms of the query, each as the section spells it, the most frequent spelling first."""
    unmatched: tuple[str, ...]
    ignored: tuple[str, ...]
    ranks: tuple[str, ...] = ()
    """Of a cache with an embedder: what its ranks by words and by meaning count."""

    @property
    def considered(self) -> int:
        return self.standing.considered

    @property
    def matched_terms(self) -> tuple[str, ...]:
        return self.place.matched

    def sentences(self, budget: int) -> tuple[str, ...]:
        """Return the explanation in sentences for a person."""
        found = [part for part in self.parts.terms if any(part.found)]
        if not found:
            fate = (self._fate(budget),) if self.place.rank else ()
            return (*self._opening(), *self._lacking(), *self.ranks, *fate)
        told = (*self._opening(), *map(self._word, found), self._measure(), *self._lacking())
        return (*told, *self._page(), *self._pairs(), self._sum(), *self.ranks, self._fate(budget))

    def _opening(self) -> Iterator[str]:
        place, standing = self.place, self.standing
        if self.wanted != place.id and standing.siblings > 1 and self.matched_terms:
            yield f"Of the {standing.siblings:,} sections of {self.wanted}, {place.id} is the best."
        if place.rank:
            kind = "matching section" if self.considered == 1 else "matching sections"
            others = (
                f"{self.considered} {kind}" if self.considered < MOST_ORDERED else f"the {MOST_ORDERED} best sections"
            )
            ahead = f"; number 1 has {standing.first_score:,}" if place.rank > 1 else ""
            yield f"{place.id} is number {place.rank} of {others}. Its score is {place.score:,} points{ahead}."
        elif not self.spelling:
            yield f"{self.wanted} is not in the order, and nothing is: the query has no word that counts."
        elif not self.matched_terms:
            yield f"{self.wanted} is not in the order: it has no word of the query."
        else:
            yield f"{place.id} is not in the order, although it has {_listed(self.matched_terms, 'and')}."

    def _word(self, part: TermPart) -> str:
        """Return where a word stands, what that is worth, and how rare the word is."""
        spellings = self.found_as.get(part.term, [])
        spelling = _listed(spellings[:_SPELLINGS_SHOWN], "or") + (" and others" * (len(spellings) > _SPELLINGS_SHOWN))
        as_what = "" if spellings == self.spelling[part.term] else f" (as {spelling})"
        where = _joined(f"{_times(count)} in {name}" for count, name in zip(part.found, _WHERE, strict=True) if count)
        rarity = f"It is in {part.having:,} of {self.standing.sections:,} sections: rarity {part.rarity:,}."
        return f"{self._name(part.term)} stands {where}{as_what}: {part.own:,} points. {rarity}"

    def _lacking(self) -> Iterator[str]:
        lacking = [part for part in self.parts.terms if not any(part.found)]
        if lacking:
            names = _joined(self._name(part.term) for part in lacking)
            having = _joined(f"{part.having:,}" for part in lacking)
            verb = "is" if len(lacking) == 1 else "are"
            yield f"It lacks {names}, which {verb} in {having} of {self.standing.sections:,} sections."
        if self.unmatched:
            yield f"No section has {_listed(self.unmatched, 'or')}."
        if self.ignored:
            yield f"Too common to count in any query: {', '.join(map(_quoted, self.ignored))}."

    def _measure(self) -> str:
        length, average = self.standing.length, self.standing.average_length
        return (
            "A rare word brings more points than a common one, title and heading more than text, and in a long text "
            f"each mention brings less: the length of this one is {length:,}, the average {average:,} words that count."
        )

    def _page(self) -> Iterator[str]:
        found = [part for part in self.parts.terms if part.page]
        if found:
            whom = f"each of its {self.standing.siblings:,} sections" if self.standing.siblings > 1 else "it"
            each = _joined(f"{self._name(part.term)} {part.page:,}" for part in found)
            yield f"What the whole page has of the query gives {whom} {self.parts.page:,} points: {each}."

    def _pairs(self) -> Iterator[str]:
        for pair in self.parts.pairs:
            first, second = self._name(pair.first), self._name(pair.second)
            yield f"{first} stands directly before {second}, as in the query: {pair.gain:,} points."
        if self.place.rank and not self.standing.is_paired:
            yield f"Words side by side, as in the query, are looked for only in the {MOST_PAIRED} best sections."

    def _sum(self) -> str:
        total, earlier = self.parts.total, self.parts.earlier
        if not earlier:
            return f"Together {total:,} points."
        ranks = "section of its page ranks" if earlier == 1 else "sections of its page rank"
        times = _times(min(earlier, bm25f.MOST_DECAYS))
        return (
            f"Together {total:,} points. {earlier} {ranks} before it, so an eighth is taken off {times}, "
            f"for the sake of other pages: {self.parts.score:,} points are left."
        )

    def _fate(self, budget: int) -> str:
        place, standing = self.place, self.standing
        if not place.rank and self.considered < MOST_ORDERED:
            return "None of these points are its own, so it is not in the order: words that are everywhere bring none."
        if not place.rank:
            return (
                f"That is too little: the {MOST_ORDERED} best have {standing.last_score:,} or more before pairs count."
            )
        cost = f"it costs {place.cost:,} tokens as {_FORMS[self.question.format]} (its content alone {place.tokens:,})"
        if place.fits:
            return f"It was taken: {cost}, and {place.left_before:,} of {budget:,} were left."
        enough = f"A budget of {standing.enough_tokens:,} holds it and everything before it."
        if standing.empty_tokens > budget:
            return (
                f"Nothing was taken: a reply costs {standing.empty_tokens:,} tokens before anything is in it. {enough}"
            )
        return f"It did not fit: {cost}, and {place.left_before:,} of {budget:,} were left. {enough}"

    def _name(self, term: str) -> str:
        return _listed(self.spelling[term], "or")


def explain(cache: SectionCache, question: Question, wanted: str) -> SectionExplanation:
    """Return why a section, or the best one of a page, stands where it stands."""
    sections = cache.sections_of(wanted)
    if not sections:
        raise cache.missing(wanted)
    by_words = cache.scorer.rank(question.query)
    ranking = cache.fused(by_words, question.query)
    steps = cache.walk(question, ranking)
    rank = next((rank for rank, step in enumerate(steps, 1) if step.ranked.section in sections), 0)
    step = steps[rank - 1] if rank else unranked(max(sections, key=lambda each: _points(cache, ranking, each)))
    before = list(takewhile(step.ranked.section.__ne__, [each.section for each in by_words.order]))
    standing, spelling = _standing(cache, question, ranking, rank, step), spelled(question.query)
    return SectionExplanation(
        question=question,
        wanted=wanted,
        place=place_of(cache, ranking, rank, step),
        parts=_parts(cache, ranking, before if rank else (), step, pairs=standing.is_paired),
        standing=standing,
        spelling=spelling,
        found_as=_found_as(*cache.section(step.ranked.section), spelling),
        unmatched=tuple(ranking.unmatched),
        ignored=ignored_words(ranking),
        ranks=tuple(_ranks(cache, question.query, step.ranked.section, by_words)) if cache.meaning else (),
    )


def _ranks(cache: SectionCache, query: str, section: int, by_words: SectionRanking) -> Iterator[str]:
    """Yield what the ranks of a section by words and by meaning count."""
    assert cache.meaning is not None
    words = [each.section for each in by_words.order]
    if section in words:
        rank = words.index(section) + 1
        yield f"By words it is number {rank} of {len(words)}, which counts {fusion.word_value(rank):,}."
    else:
        yield "By words it is not in the order."
    model, near = cache.meaning.model.partition("@")[0], cache.meaning.nearest(query, cache.segments)
    if section in near:
        rank = near.index(section) + 1
        yield f"By meaning ({model}) it is number {rank}, which counts {fusion.meaning_value(rank):,}."
    else:
        yield f"By meaning ({model}) it is not among the {MOST_ORDERED} nearest."


def _points(cache: SectionCache, ranking: SectionRanking, section: int) -> tuple[bool, int]:
    """Return what a section that is not in the order is compared by."""
    parts = term_parts(cache.segments, ranking, section)
    return any(part.own for part in parts), sum(part.own + part.page for part in parts)


def _parts(
    cache: SectionCache, ranking: SectionRanking, before: Sequence[int], step: Step, *, pairs: bool
) -> ScoreParts:
    section, pages = step.ranked.section, cache.segments.page
    earlier = sum(pages[each] == pages[section] for each in before)
    found = pair_parts(cache.segments, ranking, section) if pairs else ()
    return ScoreParts(term_parts(cache.segments, ranking, section), found, earlier)


def _standing(cache: SectionCache, question: Question, ranking: SectionRanking, rank: int, step: Step) -> Standing:
    segments, order, (section, _, before, _) = cache.segments, ranking.order, step.ranked
    mine = -before, segments.id_order(section)
    ahead = sum((-each.before, segments.id_order(each.section)) < mine for each in order)
    number = bisect_right(segments.first_section, section) - 1
    segment, first, _ = segments.of(number)
    return Standing(
        considered=len(order),
        first_score=max((each.score for each in order), default=0),
        last_score=min((each.before for each in order), default=0),
        is_paired=rank > 0 and ahead < MOST_PAIRED,
        empty_tokens=cache.enough(question, ranking, 0),
        enough_tokens=cache.enough(question, ranking, rank),
        sections=segments.sections,
        siblings=len(segments.sections_of(segments.page[section])),
        length=segment.lengths(section - first).body,
        average_length=segments.section_averages.body // 16,
    )


def _found_as(record: PageRecord, item: Item, spelling: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return how a section and the names above it spell the terms of a query."""
    spellings = defaultdict[str, Counter[str]](Counter)
    for word in words(f"{item.content} {item.title} {record.page.stem}"):
        for term in spelling.keys() & terms_of(word):
            spellings[term][lower(word)] += 1
    return {term: [word for word, _ in found.most_common()] for term, found in spellings.items()}


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count:,} times")


def _quoted(word: str) -> str:
    return f'"{word}"'


def _listed(found: Sequence[str], conjunction: str) -> str:
    return _joined(map(_quoted, found), conjunction)


def _joined(found: Iterable[str], conjunction: str = "and") -> str:
    *others, last = found
    return f"{', '.join(others)} {conjunction} {last}" if others else last

"""One order from two: by words, and by meaning. Integers only. Pure.

Reciprocal ranks: what stands high in either order stands high, however the scores behind them compare.
"""

from collections.abc import Mapping, Sequence

from contexthall.caches.index.segments import Segments
from contexthall.caches.query.section_ranking import MOST_ORDERED, RankedSection, SectionRanking

ONE = 1 << 24
"""The value of a rank of 1 - `DAMPING`, which there is not."""
DAMPING = 60
"""So little do the first ranks differ."""
MEANING_SHARE = 4
"""A rank by meaning is worth a quarter of the same rank by words."""


def word_value(rank: int) -> int:
    """Return what a section's rank by words counts, from 1."""
    return ONE // (DAMPING + rank)


def meaning_value(rank: int) -> int:
    """Return what a section's rank by meaning counts, from 1."""
    return word_value(rank) // MEANING_SHARE


def fused(by_words: Sequence[int], by_meaning: Sequence[int]) -> Mapping[int, int]:
    """Return the value of each section that is in either order."""
    values = {section: word_value(rank) for rank, section in enumerate(by_words, 1)}
    for rank, section in enumerate(by_meaning, 1):
        values[section] = values.get(section, 0) + meaning_value(rank)
    return values


def fused_ranking(ranking: SectionRanking, by_meaning: Sequence[int], segments: Segments) -> SectionRanking:
    """Return a ranking by words with its order fused with one by meaning, ties by id."""
    by_words = {ranked.section: ranked for ranked in ranking.order}
    values = fused(list(by_words), by_meaning)
    best = sorted(values, key=lambda section: (-values[section], segments.id_order(section)))[:MOST_ORDERED]
    order = [by_words.get(each, RankedSection(each, 0, 0, 0))._replace(score=values[each]) for each in best]
    return ranking._replace(order=order)

"""The scorer `bm25f-1`: what a term is worth in a section and on its page, in integers. Pure.

The contract gives the formulas (section 8). Fields are t (title and file stem), h (heading), c (crumbs), b (body).
"""

from typing import NamedTuple

from contexthall.core.bm25 import WEIGHT, saturated

SCORER = "bm25f-1"
BUILD_CONFIG = {"version": "2", "hash_algorithm": "sha256", "split": "headings-1", "scorer": SCORER}

MOST_DECAYS = 8


class FieldLengths(NamedTuple):
    """Terms in each field: of one section or page, or of all of them together."""

    title: int
    heading: int
    crumbs: int
    body: int


class Frequencies(NamedTuple):
    """How often a term occurs in each field of a section or page."""

    title: int = 0
    heading: int = 0
    crumbs: int = 0
    body: int = 0


class Averages(NamedTuple):
    """The average length of each field, in sixteenths."""

    title: int
    heading: int
    crumbs: int
    body: int


def averages(total: FieldLengths, units: int) -> Averages:
    return Averages(*(max(1, 16 * length // units) for length in total))


def weight(factor: int, frequency: int, average: int, length: int) -> int:
    """Return the weight of a term in a field."""
    return WEIGHT * factor * frequency * average // (average + 16 * length)


def own_part(rarity: int, found: Frequencies, lengths: FieldLengths, average: Averages) -> int:
    """Return what a term adds to the score of a section that has it."""
    title = weight(1, found.title, average.title, lengths.title)
    heading = weight(1, found.heading, average.heading, lengths.heading)
    every = (
        weight(4, found.title, average.title, lengths.title)
        + weight(4, found.heading, average.heading, lengths.heading)
        + weight(1, found.crumbs, average.crumbs, lengths.crumbs)
        + weight(1, found.body, average.body, lengths.body)
    )
    return saturated(rarity, every) + saturated(rarity, title) + saturated(rarity, heading) * 8 // 16


def page_part(rarity: int, found: Frequencies, lengths: FieldLengths, average: Averages) -> int:
    """Return what a term adds to the score of every section of a page that has it."""
    every = (
        weight(4, found.title, average.title, lengths.title)
        + weight(4, found.heading, average.heading, lengths.heading)
        + weight(1, found.body, average.body, lengths.body)
    )
    return saturated(rarity, every) * 8 // 16


def decayed(score: int) -> int:
    """Return what a section still counts after another one of its page was taken."""
    return score * 14 // 16

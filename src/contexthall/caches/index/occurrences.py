"""Counts how often each term occurs in each section or page. Pure; with numpy where there is much to count."""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, count, repeat
from typing import NamedTuple

WORTH_NUMPY = 200_000
"""Terms that are counted in the time that it takes to import numpy."""


_NONE = array("I")


class CountedField(NamedTuple):
    """Occurrences by term and then by unit: those of term n stand from `edges[n]` to `edges[n + 1]`."""

    edges: "array[int]"
    units: "array[int]"
    counts: "array[int]"

    def of(self, term: int) -> tuple["array[int]", "array[int]"]:
        """Return the units that have a term, ascending, and how often each has it."""
        start, end = self.edges[term], self.edges[term + 1]
        return (self.units[start:end], self.counts[start:end]) if start < end else (_NONE, _NONE)


def ranked(fields: Sequence["array[int]"], terms: int) -> "array[int]":
    """Return the rank of every term by how often it occurs in all fields, ties by number."""
    if sum(map(len, fields)) >= WORTH_NUMPY:
        from contexthall.caches.index import fast_occurrences  # noqa: PLC0415 - as below

        return fast_occurrences.ranked(fields, terms)
    times = Counter(chain.from_iterable(fields))
    ranks = array("I", bytes(4 * terms))
    for rank, term in enumerate(sorted(range(terms), key=lambda term: -times[term])):
        ranks[term] = rank
    return ranks


def renumbered(found: "array[int]", ranks: "array[int]") -> "array[int]":
    """Return the ranks of terms instead of their numbers."""
    if len(found) >= WORTH_NUMPY:
        from contexthall.caches.index import fast_occurrences  # noqa: PLC0415 - as below

        return fast_occurrences.renumbered(found, ranks)
    return array("I", map(ranks.__getitem__, found))


def counted(found: "array[int]", lengths: "array[int]", terms: int) -> CountedField:
    """Count the numbers of terms, of which each unit has as many as its length says."""
    if len(found) >= WORTH_NUMPY:
        from contexthall.caches.index import fast_occurrences  # noqa: PLC0415 - numpy is slow to import

        return fast_occurrences.counted(found, lengths, terms)
    units = chain.from_iterable(map(repeat, count(), lengths))
    rows = sorted(Counter(zip(found, units, strict=True)).items())
    sizes = Counter([term for (term, _), _ in rows])
    edges = array("I", accumulate((sizes[term] for term in range(terms)), initial=0))
    return CountedField(edges, array("I", [unit for (_, unit), _ in rows]), array("I", [times for _, times in rows]))

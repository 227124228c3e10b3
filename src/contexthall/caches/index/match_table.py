"""What does a query see of a cache? What every document costs and holds, and how often the query meets it. Pure.

A hundred thousand documents are too many to look at one by one in Python. What must look at all of them does so with
the long integers and arrays that Python computes at the speed of C: numbers side by side in *lanes* of one integer.
"""

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import compress, repeat
from operator import le, mul

from contexthall.caches.query.selection import divisors, scores

LANE_LIMIT = 2**16
"""What a lane of 16 bits cannot hold any more."""
_FRACTION_BITS = 12
_GUARD = b"\0\0\0\x80"
_SET = re.compile(b"[\x80-\xff]")


class Columns:
    """What is known of every document, by ascending id; `cheapest` are their numbers by ascending cost."""

    def __init__(self, tokens: "array[int]", words: "array[int]", cheapest: "array[int]") -> None:
        self.tokens = tokens
        self.words = words
        self.cheapest = cheapest

    @classmethod
    def of(cls, tokens: "array[int]", words: "array[int]") -> "Columns":
        return cls(tokens, words, array("I", sorted(range(len(tokens)), key=tokens.__getitem__)))

    @cached_property
    def divisors(self) -> "array[float]":
        return divisors(self.words)

    @cached_property
    def word_lanes(self) -> int:
        """The numbers of words in lanes of 32 bits; 0 where one of them is too large for that."""
        if not self.words or max(self.words) >= LANE_LIMIT:
            return 0
        return int.from_bytes(packed(array("I", self.words)), "little")


class MatchTable:
    """The documents of a cache as one query sees them, numbered by ascending id.

    `matches` are the words of each document that the query names; `touched` are the only documents with any, where that
    is known.
    """

    def __init__(self, columns: Columns, matches: "array[int]", touched: Sequence[int] | None = None) -> None:
        self.columns = columns
        self.matches = matches
        self._touched = touched

    def __len__(self) -> int:
        return len(self.matches)

    @property
    def costs(self) -> "array[int]":
        return self.columns.tokens

    def scores(self, documents: Sequence[int]) -> "array[float]":
        """Give the scores of some documents."""
        prepared = map(self.columns.divisors.__getitem__, documents)
        return scores(map(self.matches.__getitem__, documents), prepared)

    def scoring_at_least(self, floor: float) -> Sequence[int]:
        """Name every document whose score reaches `floor`, in order; some that do not may be among them."""
        if self._touched is not None:
            return self._touched
        # A score is rounded, so what lies a little lower may still reach it.
        floor *= 1 - 1e-6
        share = int(floor * 2**_FRACTION_BITS)
        # Above 1 there is no score, unless somebody forged the index; it would not fit the lanes.
        if self.matches.typecode == "H" and 0 < share <= 2**_FRACTION_BITS and self.columns.word_lanes:
            return self._scoring_in_lanes(share)
        needed = map(mul, self.columns.divisors, repeat(floor))
        return list(compress(range(len(self)), map(le, needed, self.matches)))

    def costing_at_most(self, cost: int) -> Sequence[int]:
        """Name every document that costs at most `cost`."""
        cheapest = self.columns.cheapest
        return cheapest[: bisect_right(cheapest, cost, key=self.costs.__getitem__)]

    def _scoring_in_lanes(self, share: int) -> list[int]:
        """See in all lanes at once where matches × 4096 is at least words × `share`: there the guard bit stays set."""
        narrow = packed(self.matches)
        wide = bytearray(2 * len(narrow))
        wide[0::4], wide[1::4] = narrow[0::2], narrow[1::2]
        guards = int.from_bytes(_GUARD * len(self), "little")
        lanes = (int.from_bytes(wide, "little") << _FRACTION_BITS) + guards - self.columns.word_lanes * share
        return [match.start() for match in _SET.finditer(lanes.to_bytes(len(wide), "little")[3::4])]


def sum_lanes(columns: Sequence[bytes], documents: int) -> "array[int]":
    """Add up columns of 16-bit lanes, all lanes at once; none may overflow."""
    total = sum(int.from_bytes(column, "little") for column in columns)
    return numbers("H", total.to_bytes(2 * documents, "little"))


def numbers(code: str, data: bytes) -> "array[int]":
    """Read little-endian numbers."""
    read: array[int] = array(code)
    read.frombytes(data)
    if sys.byteorder == "big":
        read.byteswap()
    return read


def packed(values: "array[int]") -> bytes:
    """Spell numbers little-endian."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()

"""The documents of a cache as a query sees them: what each costs and holds, and how often the query matches it. Pure.

A hundred thousand documents are too many to visit one by one in Python. Work on all of them is done with long integers
and arrays, which Python computes at the speed of C: numbers side by side in fixed-width *lanes* of one integer.
"""

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

LANE_LIMIT = 2**16
"""The first number that a lane of 16 bits cannot hold."""


class Columns:
    """Tokens and words of every document, by ascending id; `cheapest` are the documents' numbers by ascending cost."""

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

    def costing_at_most(self, cost: int) -> Sequence[int]:
        """Return every document that costs at most `cost`, the cheapest first."""
        return self.cheapest[: bisect_right(self.cheapest, cost, key=self.tokens.__getitem__)]


class MatchTable(NamedTuple):
    """The documents of a cache, and for each the number of its words that are terms of a query."""

    columns: Columns
    matches: "array[int]"
    touched: Sequence[int] | None = None
    """The only documents with any match, ascending, where that is known."""


def divisors(total_words: Iterable[int]) -> "array[float]":
    """Return numbers of words in single precision, with 1 for no words, which match nothing anyway."""
    prepared = array("f", total_words)
    return prepared if 0.0 not in prepared else array("f", (total or 1 for total in prepared))


def sum_lanes(columns: Sequence[bytes], documents: int) -> "array[int]":
    """Add up columns of 16-bit lanes, all lanes at once; none may overflow."""
    total = sum(int.from_bytes(column, "little") for column in columns)
    return numbers("H", total.to_bytes(2 * documents, "little"))


def numbers(code: str, data: bytes | bytearray) -> "array[int]":
    """Return the numbers that `data` holds, little-endian."""
    read: array[int] = array(code)
    read.frombytes(data)
    if sys.byteorder == "big":
        read.byteswap()
    return read


def packed(values: "array[int]") -> bytes:
    """Return numbers as little-endian bytes."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()

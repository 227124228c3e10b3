"""Which documents answer a query, in which order, within which budget? Pure.

Words are what stands between white space, in lower case. A document's score is the share of its words that the query
names. The best come first, and each is taken whole if it still fits. Nothing here knows a disk, a clock or a locale.
"""

import math
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import truediv
from typing import NamedTuple, Protocol

from contexthall.core.text import lower

# Unicode's White_Space property. Python's own split() would also cut at the separators U+001C to U+001F.
_WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BETWEEN_WORDS = re.compile(f"[{_WHITE_SPACE}]+")
_SEPARATORS = "\x1c\x1d\x1e\x1f"

# So many documents are put in order first; the rest only matter where they still fit.
_FIRST_ROUND = 128
_SAMPLE = 256
_SMALLEST = sys.float_info.min
_MANTISSA_BITS = 24
_MOST_DIGITS = 9
_SMALLEST_PLAIN_EXPONENT = -6


class MatchTable(Protocol):
    """The documents that a query ranks, numbered by ascending id."""

    def __len__(self) -> int: ...

    @property
    def costs(self) -> Sequence[int]:
        """The tokens of each."""

    def scores(self, documents: Sequence[int]) -> Sequence[float]:
        """Give the scores of some."""

    def scoring_at_least(self, floor: float) -> Sequence[int]:
        """Name those whose score reaches `floor`, and perhaps others."""

    def costing_at_most(self, cost: int) -> Sequence[int]:
        """Name those that cost at most so much."""


class Ranked(NamedTuple):
    """A document's place in the order, and whether it fitted into what was left of the budget."""

    document: int
    fits: bool


def words(text: str) -> list[str]:
    """Cut `text` into its words."""
    lowered = lower(text)
    if not any(separator in lowered for separator in _SEPARATORS):
        return lowered.split()
    return [word for word in _BETWEEN_WORDS.split(lowered) if word]


def divisors(total_words: Iterable[int]) -> "array[float]":
    """Prepare numbers of words for dividing: in single precision, and 1 for no words, which match nothing anyway."""
    prepared = array("f", total_words)
    return prepared if 0.0 not in prepared else array("f", (total or 1 for total in prepared))


def scores(term_matches: Iterable[int], prepared: Iterable[float]) -> "array[float]":
    """Divide in single precision: an array of it rounds whatever it is given.

    Rounding both before dividing in double precision, and the quotient after, is the same as dividing in single.
    """
    return array("f", map(truediv, array("f", term_matches), prepared))


def rank(table: MatchTable, budget: int, *, every: bool = False) -> Iterator[Ranked]:
    """Walk the documents from the best score down, ties by ascending id, and take each that still fits.

    With `every`, the skipped ones are told too. Without, most of them are never even put in order: a document that
    cannot fit any more cannot be taken, whatever its score.
    """
    walk = _BudgetWalk(table, budget, every=every)
    floor = _floor(table)
    yield from walk(table.scoring_at_least(floor), floor, math.inf)
    begun = 0
    if floor == _SMALLEST:
        # Whatever is left scores nothing, so ids decide, and the first of them will likely use up the budget.
        begun = min(len(table), _FIRST_ROUND)
        yield from walk(range(begun), 0.0, floor)
    rest = range(len(table)) if every else table.costing_at_most(walk.left)
    yield from walk([document for document in rest if document >= begun], 0.0, floor)


class _BudgetWalk:
    """A walk through documents that remembers what is left of the budget."""

    def __init__(self, table: MatchTable, budget: int, *, every: bool) -> None:
        self.left = budget
        self._table = table
        self._every = every
        self._takes_any = budget > 0

    def __call__(self, documents: Sequence[int], floor: float, ceiling: float) -> Iterator[Ranked]:
        """Walk those documents whose score is at least `floor` and below `ceiling`, best first."""
        scored = zip(self._table.scores(documents), documents, strict=True)
        for _, document in sorted((-score, document) for score, document in scored if floor <= score < ceiling):
            cost = self._table.costs[document]
            fits = cost <= self.left and self._takes_any
            if fits:
                self.left -= cost
            if fits or self._every:
                yield Ranked(document, fits)


def _floor(table: MatchTable) -> float:
    """Find, from a sample, a score above zero that a hundred documents or so reach."""
    step = max(1, len(table) // _SAMPLE)
    sample = sorted(table.scores(range(0, len(table), step)), reverse=True)
    return max(_SMALLEST, sample[min(len(sample) - 1, _FIRST_ROUND // step)]) if sample else _SMALLEST


@lru_cache(maxsize=4096)
def score_text(value: float) -> str:
    """Spell a score with the fewest digits that read back as the same single-precision number."""
    if value == 0:
        return "0.0"
    digits, exponent = _shortest(value)
    if exponent < _SMALLEST_PLAIN_EXPONENT:
        return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent}"
    return f"0.{'0' * (-exponent - 1)}{digits}" if exponent < 0 else f"{digits}.0"


def _shortest(value: float) -> tuple[str, int]:
    """Give the digits of the shortest decimal that reads back as `value`, which is at most 1, and their exponent."""
    fraction, exponent = math.frexp(value)
    mantissa = int(fraction * 2**_MANTISSA_BITS)
    # In units of a quarter of the last bit. Below a power of two the numbers lie twice as close.
    middle = 4 * mantissa
    low = middle - (1 if mantissa == 2 ** (_MANTISSA_BITS - 1) else 2)
    high = middle + 2
    units = 2 ** (_MANTISSA_BITS + 2 - exponent)
    slack = 1 - mantissa % 2  # halfway, reading rounds to the even one
    for length in range(1, _MOST_DIGITS + 1):
        digits, _, power = f"{value:.{length - 1}e}".partition("e")
        nearest, shift = int(digits.replace(".", "")), length - 1 - int(power)
        scale = 10**shift
        # The nearest decimal of this length may miss on the close side where its neighbour reads back.
        candidates = [
            number
            for number in (nearest, nearest - 1, nearest + 1)  # of two as good, the one with the even digit
            if low * scale - slack < number * units < high * scale + slack
        ]
        if candidates:
            best = str(min(candidates, key=lambda number: abs(number * units - middle * scale)))
            return best.rstrip("0"), len(best) - 1 - shift
    raise AssertionError(f"{value!r} is no single-precision number")

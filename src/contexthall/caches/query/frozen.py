"""The frozen scorer, that of format 1: a score is the share of a document's words that the query names. Pure.

Words are what stands between white space, in lower case. Scores are single-precision numbers. No rule here may change,
because the answers of caches that exist would change with it.
"""

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress, repeat
from operator import le, mul, truediv
from typing import ClassVar

from contexthall.caches.index.match_table import MatchTable, packed
from contexthall.core.text import lower

# Unicode's White_Space property. Python's own split() would also cut at the separators U+001C to U+001F.
_WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BETWEEN_WORDS = re.compile(f"[{_WHITE_SPACE}]+")
_SEPARATORS = "\x1c\x1d\x1e\x1f"

_FRACTION_BITS = 12
_GUARD = b"\0\0\0\x80"
_SET = re.compile(b"[\x80-\xff]")
_MANTISSA_BITS = 24
_MOST_DIGITS = 9
_SMALLEST_PLAIN_EXPONENT = -6


class FrozenScorer:
    """The scorer of format 1."""

    build_config: ClassVar[Mapping[str, str]] = {"version": "1", "hash_algorithm": "sha256"}

    def terms(self, text: str) -> list[str]:
        return words(text)

    def scores(self, table: MatchTable, documents: Sequence[int]) -> "array[float]":
        divisors = table.columns.divisors
        return scores(map(table.matches.__getitem__, documents), map(divisors.__getitem__, documents))

    def scoring_at_least(self, table: MatchTable, floor: float) -> Sequence[int]:
        if table.touched is not None:
            return table.touched
        # A score is rounded, so what lies a little lower may still reach it.
        floor *= 1 - 1e-6
        share = int(floor * 2**_FRACTION_BITS)
        # Above 1 there is no score, unless somebody forged the index; it would not fit the lanes.
        if table.matches.typecode == "H" and 0 < share <= 2**_FRACTION_BITS and table.columns.word_lanes:
            return _sharing_at_least(share, table)
        needed = map(mul, table.columns.divisors, repeat(floor))
        return list(compress(range(len(table.matches)), map(le, needed, table.matches)))

    def explanation(self, matched_terms: Sequence[str], term_matches: int, total_words: int) -> str:
        terms = ", ".join(matched_terms) or "none of the query's terms"
        return f"It matches {terms}: {term_matches} of its {total_words} words."


def words(text: str) -> list[str]:
    """Return the words of `text`, in order."""
    lowered = lower(text)
    if not any(separator in lowered for separator in _SEPARATORS):
        return lowered.split()
    return [word for word in _BETWEEN_WORDS.split(lowered) if word]


def scores(term_matches: Iterable[int], divisors: Iterable[float]) -> "array[float]":
    """Return quotients in single precision: an array of it rounds whatever it is given.

    Rounding both before dividing in double precision, and the quotient after, is the same as dividing in single.
    """
    return array("f", map(truediv, array("f", term_matches), divisors))


def _sharing_at_least(share: int, table: MatchTable) -> list[int]:
    """Return where matches × 4096 is at least words × `share`; all lanes at once: there the guard bit stays set."""
    narrow = packed(table.matches)
    wide = bytearray(2 * len(narrow))
    wide[0::4], wide[1::4] = narrow[0::2], narrow[1::2]
    guards = int.from_bytes(_GUARD * len(table.matches), "little")
    lanes = (int.from_bytes(wide, "little") << _FRACTION_BITS) + guards - table.columns.word_lanes * share
    return [match.start() for match in _SET.finditer(lanes.to_bytes(len(wide), "little")[3::4])]


@lru_cache(maxsize=4096)
def score_text(value: float) -> str:
    """Return the shortest decimal that reads back as the same single-precision number."""
    if value == 0:
        return "0.0"
    digits, exponent = _shortest(array("f", (value,))[0])
    if exponent < _SMALLEST_PLAIN_EXPONENT:
        return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 1, "0")
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :] or 0}"


def _shortest(value: float) -> tuple[str, int]:
    """Return the digits of the shortest decimal that reads back as `value`, and their exponent."""
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

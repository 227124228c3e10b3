"""Which documents answer a query, in which order, within which budget? Pure.

Words are what stands between white space, in lower case. A document's score is the share of its words that the query
names. The best come first, and each is taken whole if it still fits. Nothing here knows a disk, a clock or a locale.
"""

import math
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

BYTES_PER_TOKEN = 4

# Unicode's White_Space property. Python's own split() would also cut at the separators U+001C to U+001F.
_WHITE_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BETWEEN_WORDS = re.compile(f"[{_WHITE_SPACE}]+")
_SEPARATORS = re.compile("[\x1c-\x1f]")

# So many documents are put in order first; the rest only matter where they still fit.
_FIRST_ROUND = 512
_SAMPLE = 1024
_MANTISSA_BITS = 24
_MOST_DIGITS = 9
_SMALLEST_PLAIN_EXPONENT = -6


class Ranked(NamedTuple):
    """A document's place in the order, and whether it fitted into what was left of the budget."""

    document: int
    fits: bool


def words(text: str) -> list[str]:
    """Cut `text` into its words."""
    lower = text.lower()
    if _SEPARATORS.search(lower) is None:
        return lower.split()
    return [word for word in _BETWEEN_WORDS.split(lower) if word]


def tokens(content: bytes) -> int:
    """Estimate what `content` costs: a token for every four bytes that have begun."""
    return -(-len(content) // BYTES_PER_TOKEN)


def score(term_matches: int, total_words: int) -> float:
    """Divide in single precision; no words, no score."""
    if not total_words:
        return 0.0
    # Both are rounded to single precision first; dividing in double and rounding once more gives the same quotient.
    return _f32(_f32(term_matches) / _f32(total_words))


def rank(scores: Sequence[float], costs: Sequence[int], budget: int, *, every: bool = False) -> Iterator[Ranked]:
    """Walk the documents from the best score down, ties in their own order, and take each that still fits.

    Documents come numbered by ascending id. With `every`, the skipped ones are told too; without, most of them are
    never even put in order, because a document that cannot fit any more cannot be taken, whatever its score.
    """
    everyone, left = range(len(scores)), budget
    floor = _floor(scores)
    for is_first_round in (True, False):
        if is_first_round:
            reaching = compress(everyone, map(floor.__le__, scores))
            contenders = [document for document in reaching if every or costs[document] <= left]
        else:
            fitting = everyone if every else compress(everyone, map(left.__ge__, costs))
            contenders = [document for document in fitting if scores[document] < floor]
        contenders.sort(key=scores.__getitem__, reverse=True)
        for document in contenders:
            fits = costs[document] <= left and budget > 0
            if fits:
                left -= costs[document]
            if fits or every:
                yield Ranked(document, fits)


def _floor(scores: Sequence[float]) -> float:
    """Find, from a sample, a score above zero that some hundred documents reach."""
    sample = sorted(scores[:: max(1, len(scores) // _SAMPLE)], reverse=True)
    reached = sample[min(len(sample) - 1, _FIRST_ROUND * len(sample) // len(scores))] if sample else 0.0
    return reached or sys.float_info.min


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
        spelt, _, power = f"{value:.{length - 1}e}".partition("e")
        nearest, shift = int(spelt.replace(".", "")), length - 1 - int(power)
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


def _f32(number: float) -> float:
    """Round to single precision."""
    single: float = struct.unpack("f", struct.pack("f", number))[0]
    return single

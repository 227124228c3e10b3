"""How rare is a word, and what is finding it worth? In integers, the same on every machine. Pure.

The contract gives the formulas (section 8); sections of documents and tools of members are ranked by them.
"""

from functools import lru_cache

WEIGHT = 2048
SATURATION = 1228


@lru_cache(maxsize=4096)
def log2_16(number: int) -> int:
    """Return the logarithm to base 2, in units of 2^-16, rounded down."""
    whole = number.bit_length() - 1
    rest = (number << 31) >> whole
    result = whole << 16
    for bit in range(15, -1, -1):
        rest = rest * rest >> 31
        if rest >= 1 << 32:
            rest >>= 1
            result |= 1 << bit
    return result


def idf(units: int, having: int) -> int:
    """Return how rare a word is that `having` of `units` have."""
    return log2_16(2 * units + 2) - log2_16(2 * having + 1)


def saturated(rarity: int, weight: int) -> int:
    """Return what a weight is worth: ever less the more there is of it."""
    return rarity * weight // (weight + SATURATION)

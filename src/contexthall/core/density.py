"""How far would a JSON text grow in memory? By its values: each may cost twenty times the bytes that spell it.

So a message is bounded twice, by its bytes and by its values. Pure.
"""

import re

MOST_VALUES = 100_000

# Between two marks there is a name and a value at most; what has more strings than that is no JSON.
_MOST_STRINGS = 3
_MARKS = (b",", b"[", b"{")
# A string never fails to match, not even one without an end, so the time is linear in the bytes.
_STRING_OR_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{,])', re.DOTALL)


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Say whether `data` holds more values than anybody should read; what stands in strings does not count."""
    if sum(map(data.count, _MARKS)) <= most:
        return False
    marks = 0
    for seen, found in enumerate(_STRING_OR_MARK.finditer(data)):
        marks += found.lastindex is not None
        if marks > most or seen > _MOST_STRINGS * (most + 1):
            return True
    return False

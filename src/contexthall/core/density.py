"""How far would a JSON text grow in memory? By its values: each may cost twenty times the bytes that spell it.

So a message is bounded twice, by its bytes and by its values. Pure.
"""

import re
from itertools import islice

MOST_VALUES = 100_000

_MARKS = (b",", b"[", b"{")
# A string never fails to match, not even one without an end, so the time is linear in the bytes.
_STRING_OR_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{,])', re.DOTALL)


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Say whether `data` holds more values than anybody should read; what stands in strings does not count."""
    if sum(map(data.count, _MARKS)) <= most:
        return False
    marks = (found for found in _STRING_OR_MARK.finditer(data) if found.lastindex)
    return next(islice(marks, most, None), None) is not None

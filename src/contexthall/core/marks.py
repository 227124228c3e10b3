"""Borders between the items of a text reply, which no item can forge. Pure."""

import hashlib
import re
from collections.abc import Sequence

_MARK_DIGITS = 8


def mark_for(contents: Sequence[str]) -> str:
    """Return a mark for the borders of items, which begins no line of their contents."""
    digest = hashlib.sha256("".join(contents).encode())
    while True:
        digits = digest.hexdigest()
        for at in range(0, len(digits), _MARK_DIGITS):
            mark = digits[at : at + _MARK_DIGITS]
            begins = re.compile(rf"(?:\A|[\r\n])=== {mark}")
            if not any(begins.search(content) for content in contents):
                return mark
        digest = hashlib.sha256(digest.digest())

"""Translation of git's patterns into expressions for RE2 that match the same names.

Pure, and bytes throughout, as in git: `?` is one byte. RE2 takes time linear in the name, whatever the pattern is.
"""

import re
from collections.abc import Iterable

_SPECIAL = re.compile(rb"[*?\[\\]")
_TOKEN = re.compile(rb"\*+|[?\[]|\\.|[^*?\[\\]+", re.DOTALL)
_ITEM = re.compile(rb"\[:(?P<name>[^\]]*):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^\\\]]))?", re.DOTALL)
"""What may stand in brackets: a named class, a byte, or a range."""

_LOWER, _UPPER, _DIGITS = set(b"abcdefghijklmnopqrstuvwxyz"), set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"), set(b"0123456789")
_PRINTABLE, _SPACES = set(range(0x20, 0x7F)), set(b" \t\n\r")
_CLASSES: dict[bytes, set[int]] = {
    b"alnum": _LOWER | _UPPER | _DIGITS,
    b"alpha": _LOWER | _UPPER,
    b"blank": set(b" \t"),
    b"cntrl": {*range(0x20), 0x7F},
    b"digit": _DIGITS,
    b"graph": _PRINTABLE - _SPACES,
    b"lower": _LOWER,
    b"print": _PRINTABLE,
    b"punct": _PRINTABLE - _SPACES - _LOWER - _UPPER - _DIGITS,
    b"space": _SPACES,
    b"upper": _UPPER,
    b"xdigit": _DIGITS | set(b"abcdefABCDEF"),
}


class NeverMatchesError(ValueError):
    """A pattern that no name can match, such as one with a bracket that is not closed."""


def literal_length(pattern: bytes) -> int:
    """Return how much of `pattern` stands for itself."""
    special = _SPECIAL.search(pattern)
    return special.start() if special else len(pattern)


def expression(pattern: bytes, *, by_path: bool) -> bytes:
    """Translate `pattern`; in a path, a star stops at slashes and two of them between slashes do not."""
    # As git does it: in a path, what stands before the first special character is compared as it is, and the rest is a
    # pattern of its own, so that two stars right after it count as standing at the beginning.
    start = literal_length(pattern) if by_path else 0
    return _spell(pattern[:start]) + b"".join(_pieces(pattern[start:], by_path=by_path))


def _pieces(pattern: bytes, *, by_path: bool) -> Iterable[bytes]:
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:  # the end of a pattern cannot be escaped
            raise NeverMatchesError
        at = token.end()
        if token[0] == b"[":
            piece, at = _bracket(pattern, at)
        elif token[0].startswith(b"*"):
            piece, at = _stars(pattern, *token.span(), by_path=by_path)
        else:
            piece = b"[^/]" if token[0] == b"?" else _spell(token[0].removeprefix(b"\\"))
        yield piece


def _stars(pattern: bytes, at: int, end: int, *, by_path: bool) -> tuple[bytes, int]:
    rest = pattern[end:]
    stands_alone = (at == 0 or pattern[at - 1 : at] == b"/") and (not rest or rest.startswith((b"/", b"\\/")))
    if not by_path or end - at == 1 or not stands_alone:
        return b"[^/]*", end
    return (b"(?s:.*/)?", end + 1) if rest.startswith(b"/") else (b"(?s:.*)", end)


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Translate the set that begins at `at`, behind its bracket."""
    negated = pattern[at : at + 1] in {b"!", b"^"}
    members, at = _members(pattern, at + negated)
    found = (set(range(1, 256)) - members if negated else members) - set(b"/")
    if not found:
        raise NeverMatchesError
    return b"[" + b"".join(_ranges(found)) + b"]", at


def _ranges(members: set[int]) -> Iterable[bytes]:
    """Spell a set by the ranges in it: each byte by itself would make an expression of a megabyte of a short line."""
    for low in sorted(each for each in members if each - 1 not in members):
        high = next(each for each in range(low, 256) if each + 1 not in members)
        yield b"\\x%02x-\\x%02x" % (low, high)


def _members(pattern: bytes, at: int) -> tuple[set[int], int]:
    """Return the bytes of a set, and where the pattern goes on behind it; a closing bracket may come first in it."""
    members: set[int] = set()
    first = at
    while at == first or pattern[at : at + 1] != b"]":
        item = _ITEM.match(pattern, at)
        if item is None or item["name"] not in {None, *_CLASSES}:
            raise NeverMatchesError
        if item["name"] is not None:
            members |= _CLASSES[item["name"]]
        else:  # an escaped byte stands behind its backslash; what begins a range is in the set, even if that is empty
            low, high = item["low"][-1], (item["high"] or item["low"])[-1]
            members |= {low, *range(low, high + 1)}
        at = item.end()
    return members, at + 1


def _spell(text: bytes) -> bytes:
    """Write bytes that stand for themselves."""
    return b"".join(b"%c" % byte if byte in _CLASSES[b"alnum"] else b"\\x%02x" % byte for byte in text)

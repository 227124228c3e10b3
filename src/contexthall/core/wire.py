"""JSON: one way to write it and to read it, for every face and every file, and how much of it is too much. Pure."""

import json
import math
import re
from collections.abc import Callable
from itertools import accumulate, takewhile
from typing import Any, Never

from contexthall.core import limits

# Between two marks there is a name and a value at most; what has more strings than that is no JSON.
_MOST_STRINGS = 3
_MARKS = (b",", b"[", b"{")
# A string never fails to match, not even one without an end, so the time is linear in the bytes.
_STRING_OR_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{,])', re.DOTALL)
_PIECES = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_EMPTY = re.compile(r"([\[{])\n *\n *([\]}])")
_COMMA_TOO_MANY = re.compile(r",\s*([\]}])")
_NO_MARKS = bytes(set(range(256)) - set(b'{}[]"'))
_STEPS = bytes.maketrans(b"[{]}", b"\2\2\0\0")
_SURELY_FLAT = 20


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def compact(value: object) -> str:
    """Spell `value` on one line: no spaces, non-ASCII as it is, only quotes, backslashes and controls escaped."""
    return _COMPACT.encode(value)


def pretty(value: object) -> str:
    """Spell `value` for reading, two spaces a level."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def indent(text: str) -> str:
    """Lay JSON text out for reading, two spaces a level, every value spelt as it was."""
    laid_out, depth = [], 0
    for piece in _PIECES.findall(text):
        if piece in "}]":
            depth -= 1
            laid_out.append("\n" + "  " * depth + piece)
        elif piece in "{[":
            depth += 1
            laid_out.append(piece + "\n" + "  " * depth)
        else:
            laid_out.append({",": ",\n" + "  " * depth, ":": ": "}.get(piece, piece))
    return _EMPTY.sub(r"\1\2", "".join(laid_out))


def escaped(value: object, plain: Callable[[Any], object] | None = None) -> str:
    """Spell `value` in ASCII, which can carry a lone surrogate; a number that JSON does not have is null.

    `plain` returns what stands for a value of a type that JSON does not have.
    """
    return json.dumps(json.loads(json.dumps(value, default=plain), parse_constant=nothing))


def nothing(_constant: str) -> None:
    """Stand in for NaN and infinity, which JSON does not have."""


def parse(data: bytes, *, lone_surrogates: bool = False, finite: bool = False, exact: bool = False) -> object:
    """Read JSON: UTF-8 without a byte order mark, no NaN. Else ValueError.

    JSON can escape a lone surrogate, which UTF-8 cannot spell: it is refused too, unless `lone_surrogates` is set.
    It can also spell numbers that are out of every range. They are read as infinity, unless they must be `finite`; with
    `exact`, integers stay what they are as far as Python goes, because somebody else may know what to do with them.
    """
    if is_deep(data):
        raise ValueError("nested too deeply")
    try:
        decoder = _FINITE_DECODER if finite else _EXACT_DECODER if exact else _DECODER
        value: object = decoder.decode(data.decode("utf-8"))
        if not lone_surrogates and b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(_complaint(error)) from None
    return value


def is_deep(data: bytes, most: int = limits.NESTED_LEVELS) -> bool:
    """Return whether JSON is nested too deeply: on how deep that is, no two Pythons and no two parsers agree."""
    opened = data.count(b"[") + data.count(b"{")
    if opened <= most:
        return False
    brackets = rest = _brackets(data)[: 2 * opened]
    for _ in range(_SURELY_FLAT):  # from the inside: of a long list of small things, nothing is left in no time
        before, rest = rest, rest.replace(b"[]", b"").replace(b"{}", b"")
        if len(rest) == len(before):
            break
    levels = accumulate(step - 1 for step in brackets.translate(_STEPS))
    # What closes more than it opened is no JSON, and is not looked at any further.
    return bool(rest) and any(level > most for level in takewhile(lambda level: level >= 0, levels))


def _brackets(data: bytes) -> bytes:
    """Return the brackets of JSON that stand in no string."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = data.translate(None, delete=_NO_MARKS).replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2])


def _complaint(error: json.JSONDecodeError) -> str:
    """Return what is wrong with a text as every Python does: of a comma too many, newer ones speak in another way."""
    found = _COMMA_TOO_MANY.match(error.doc, error.pos) if error.msg.startswith("Illegal trailing comma") else None
    if found is None:
        return str(error)
    wanted = "Expecting value" if found[1] == "]" else "Expecting property name enclosed in double quotes"
    return str(json.JSONDecodeError(wanted, error.doc, found.start(1)))


def replace_lone_surrogates(text: str) -> str:
    """Give text that UTF-8 can spell: a lone surrogate becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _bounded_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= limits.INTEGER_DIGITS else math.inf


def integer(digits: str) -> int | float:
    """Read an integer that is passed on as it is; one that Python would not read is infinite."""
    return int(digits) if len(digits) <= limits.PASSED_ON_INTEGER_DIGITS else math.inf


def _refuse(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> int | float:
    number = float(digits) if len(digits) > limits.INTEGER_DIGITS or not digits.lstrip("-").isdigit() else int(digits)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


_DECODER = json.JSONDecoder(parse_int=_bounded_integer, parse_constant=_refuse)
_EXACT_DECODER = json.JSONDecoder(parse_int=integer, parse_constant=_refuse)
_FINITE_DECODER = json.JSONDecoder(parse_int=_finite, parse_float=_finite, parse_constant=_refuse)


def has_too_many_values(data: bytes, most: int = limits.JSON_VALUES) -> bool:
    """Return whether `data` holds more than `most` values; what stands in strings does not count."""
    if len(data) <= most or sum(map(data.count, _MARKS)) <= most:
        return False
    marks = 0
    for seen, found in enumerate(_STRING_OR_MARK.finditer(data)):
        marks += found.lastindex is not None
        if marks > most or seen > _MOST_STRINGS * (most + 1):
            return True
    return False

"""How values become bytes, and bytes values: one spelling of JSON for every face and every file."""

import json
import math
import re
from typing import Never

_PIECES = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_EMPTY = re.compile(r"([\[{])\n *\n *([\]}])")
# No number that the hall reads has more digits; a longer one is out of every range, so its exact value cannot matter.
_LONGEST_INTEGER = 100


def compact(value: object) -> str:
    """Spell `value` on one line: no spaces, non-ASCII as it is, only quotes, backslashes and controls escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


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


def parse(data: bytes, *, halves: bool = False, finite: bool = False) -> object:
    """Read JSON: UTF-8 without a byte order mark, no NaN. Else ValueError.

    JSON can escape half of a surrogate pair, which UTF-8 cannot spell: it is refused too, unless `halves` are welcome.
    It can also spell numbers that are out of every range. They are read as infinity, unless they must be `finite`.
    """
    try:
        value: object = (_FINITE_DECODER if finite else _DECODER).decode(data.decode("utf-8"))
        if not halves and b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def whole(text: str) -> str:
    """Give text that UTF-8 can spell: half of a surrogate pair becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf


def _refuse(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> int | float:
    number = float(digits) if len(digits) > _LONGEST_INTEGER or not digits.lstrip("-").isdigit() else int(digits)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_refuse)
_FINITE_DECODER = json.JSONDecoder(parse_int=_finite, parse_float=_finite, parse_constant=_refuse)

"""Reading and writing YAML: values of the YAML 1.2 core schema, built from libyaml's events.

Pure. What uses libyaml is in `yaml_events`, which is loaded with the first text: PyYAML takes as long as a sixth of a
server's start.
"""

import math
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from contexthall.core import limits

Value: TypeAlias = Any
"""The types of JSON: None, bool, int, float (infinities and NaN too), str, list, dict with string keys."""

_LARGEST_EXACT = 2**53
_MOST_BITS = 1024
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES = {"0o": 8, "0x": 16}
_NULLS = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_BOOLEANS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INFINITE = {f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")}
_WORDS: dict[str, Value] = {**_NULLS, **_BOOLEANS, **_INFINITE, **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)}
NO_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_BEGINNINGS = frozenset(["", *"+-.0123456789", *"~nNtTfF"])
"""First characters of plain scalars that may be something else than text."""


class BadYamlError(ValueError):
    """The text is not one YAML document that can be read; the message has the reason, with the line if it is known."""


class Span(NamedTuple):
    """The place of a value in its text, in characters, and its style."""

    start: int
    end: int
    value: str | None
    """The text of a scalar; None for an alias."""
    style: str
    """Empty for a plain one, else its first character: a quotation mark, `|` or `>`."""


def read(text: str) -> Value:
    """Read the one document in `text`; an empty text is None. Else BadYamlError."""
    if text.count("\n%") + text.count("\r%") > limits.YAML_DIRECTIVES:
        raise BadYamlError("too many directives")
    masked, shown = mask(text)
    value = _events().read_document(masked)
    return _replaced(value, lambda each: each.translate(shown) if isinstance(each, str) else each) if shown else value


def find_value(text: str, key: str) -> Span:
    """Return the place of the value of `key`, in the text of a mapping with that key."""
    span: Span = _events().Reader(mask(text)[0]).find(key)
    return span


def write_scalar(text: str) -> str:
    """Write a short string so that it reads back as that string: plain where that is safe, else quoted."""
    return text if text.isascii() and text.isalnum() and plain(text) == text else f'"{text}"'


def write(value: Value) -> str:
    """Write a value as a YAML document, its keys in their order."""
    text: str = _events().write_document(value)
    return text


def finite(value: Value) -> Value:
    """Replace infinities and NaN, which JSON does not have, by None."""
    return _replaced(value, lambda each: None if isinstance(each, float) and not math.isfinite(each) else each)


@cache
def _events() -> ModuleType:
    return import_module("contexthall.contexts.files.yaml_events")


def mask(text: str) -> tuple[str, dict[int, int]]:
    """Replace, one for one, what ends a line for libyaml and not for YAML 1.2; return a table that undoes it, too."""
    if not NO_LINE_ENDS.search(text):
        return text, {}
    escapes = text.lower()
    unused = (place for place in range(0xE000, 0xF900) if chr(place) not in text and f"u{place:04x}" not in escapes)
    hidden = dict(zip(map(ord, "\x85\u2028\u2029"), unused, strict=False))
    return text.translate(hidden), {place: character for character, place in hidden.items()}


def _replaced(value: Value, replace: Callable[[Value], Value]) -> Value:
    """Replace every scalar, keys included."""
    if isinstance(value, dict):
        return {replace(key): _replaced(each, replace) for key, each in value.items()}
    return [_replaced(each, replace) for each in value] if isinstance(value, list) else replace(value)


def plain(text: str) -> Value:
    """Resolve a plain scalar by the core schema."""
    if text[:1] not in _BEGINNINGS:
        return text
    return _WORDS[text] if text in _WORDS else _number(text)


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        base = _BASES.get(text[:2], 10)
        # So large a number is a mistake, and Python may refuse to convert it to a string.
        return int(text, base) if len(text) * 4 <= _MOST_BITS else math.inf
    if _FLOAT.fullmatch(text):
        number = float(text)
        return int(number) if number.is_integer() and abs(number) < _LARGEST_EXACT else number
    return text

"""Edits of a text, and the same change of the values that the text holds.

Pure. What a text is written in, JSONC or TOML, is not known here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias


class TextError(ValueError):
    """A text cannot be read, or not changed without changing something else; the message begins with the line."""


class Number(NamedTuple):
    """A number as it is written: `1.0` and `1.00` differ, as neither may change."""

    digits: str


class Edit(NamedTuple):
    """What is written in the place of some characters."""

    start: int
    end: int
    text: str = ""


Edits: TypeAlias = list[Edit]
"""How a text may be changed: edits, from its beginning to its end."""


def error_at(text: str, index: int, words: str) -> TextError:
    """Return an error that names the line of an index."""
    return TextError(f"line {text.count(chr(10), 0, index) + 1}: {words}")


def apply_edits(text: str, edits: Edits) -> str:
    pieces, seen = [], 0
    for start, end, new in edits:
        pieces += [text[seen:start], new]
        seen = end
    return "".join([*pieces, text[seen:]])


def with_value(values: Mapping[str, Any], path: tuple[str, ...], name: str, value: object) -> dict[str, Any]:
    """Return the values with that member in the object at `path`, which is made if missing."""
    if not path:
        return {**values, name: value}
    return {**values, path[0]: with_value(values.get(path[0], {}), path[1:], name, value)}


def without_value(values: Mapping[str, Any], path: tuple[str, ...], name: str) -> dict[str, Any]:
    """Return the values without that member of the object at `path`, which must be there."""
    if not path:
        return {key: value for key, value in values.items() if key != name}
    return {**values, path[0]: without_value(values[path[0]], path[1:], name)}


def object_at(values: object, path: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the object at `path`; an empty one if there is none."""
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values if isinstance(values, Mapping) else {}


def nested(path: tuple[str, ...], value: object) -> object:
    return {path[0]: nested(path[1:], value)} if path else value

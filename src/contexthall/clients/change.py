"""What is a change of one member? Some characters give way to others; the values are those of before, but for that one.

Pure. What a text is written in, JSONC or TOML, is not known here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias


class TextError(ValueError):
    """A text cannot be read, or not changed without changing something else; the message begins with the line."""


class Number(NamedTuple):
    """A number as it is written: two spellings are two numbers, for whoever promises to keep both."""

    digits: str


class Edit(NamedTuple):
    """What is written in the place of some characters."""

    start: int
    end: int
    text: str = ""


Way: TypeAlias = list[Edit]
"""How a text may be changed: edits, from its beginning to its end."""


def error_at(text: str, index: int, words: str) -> TextError:
    """Give the error that says what is wrong with `text`, and in which line."""
    return TextError(f"line {text.count(chr(10), 0, index) + 1}: {words}")


def spliced(text: str, way: Way) -> str:
    """Give the text after all edits."""
    pieces, seen = [], 0
    for start, end, new in way:
        pieces += [text[seen:start], new]
        seen = end
    return "".join([*pieces, text[seen:]])


def put(values: Mapping[str, Any], path: tuple[str, ...], name: str, value: object) -> dict[str, Any]:
    """Give the values in which the object at `path`, made if missing, has that member."""
    if not path:
        return {**values, name: value}
    return {**values, path[0]: put(values.get(path[0], {}), path[1:], name, value)}


def take(values: Mapping[str, Any], path: tuple[str, ...], name: str) -> dict[str, Any]:
    """Give the values in which the object at `path`, which is there, has no such member."""
    if not path:
        return {key: value for key, value in values.items() if key != name}
    return {**values, path[0]: take(values[path[0]], path[1:], name)}


def nested(path: tuple[str, ...], value: object) -> object:
    """Give the object that has `value` at `path`, and nothing else."""
    return {path[0]: nested(path[1:], value)} if path else value

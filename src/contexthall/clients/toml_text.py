"""Editing of one table of a TOML text, line by line, without changing anything else.

Pure. A member is a table with a header of its own, `[path.name]`, and the tables below it. Comments, order and white
space outside of their lines are the same bytes afterwards. The result is read again, and must say what was meant.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from contexthall.clients.change import Edit, Edits, Number, TextError, apply_edits, error_at, with_value, without_value
from contexthall.core import limits

_SPACE: Final = " \t\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"
# A string matches even if it has no end, so no character is looked at twice and the time is linear.
_LONG_STRING, _STRING = r'"""(?:[^"\\]++|\\.|"{1,2}+(?!"))*+"{0,5}+', r'"(?:[^"\\\n]++|\\[^\n])*+"?'
_LONG_LITERAL, _LITERAL = r"'''(?:[^']++|'{1,2}+(?!'))*+'{0,5}+", r"'[^'\n]*+'?"
_COMMENT, _MARK, _WORD = r"#[^\n]*+", r"[\[\]{}=,.\n]", r"[^\s\"'#\[\]{}=,.]++"
_TOKEN = re.compile(f"{_LONG_STRING}|{_LONG_LITERAL}|{_STRING}|{_LITERAL}|{_COMMENT}|{_MARK}|{_WORD}", re.DOTALL)
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_BETWEEN_KEYS: Final = frozenset("[]{}=,\n")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK_LINES = re.compile(r"(?:[ \t]*+\r?\n)*+")
_TOML_MESSAGE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


class _TomlStatement(NamedTuple):
    """A header, or a key with its value: the key in full, where its first line begins and where its last one ends."""

    key: tuple[str, ...]
    is_header: bool
    start: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """Parse the text, or raise TextError."""
    return _values(text, float)


def with_member(text: str, path: tuple[str, ...], name: str, value: Mapping[str, Any]) -> str:
    """Return the text with that member in the table at `path`: in place of the one of that name, else at the end."""
    before = _values(text, Number)
    member, table = (*path, name), _table_at(text, before, path)
    line_break = _line_break(text)
    new = line_break.join(_lines(member, value))
    wanted = with_value(before, path, name, _table_at(new, _values(new, Number), member))
    if wanted == before:
        return text
    blocks = _blocks(text, member)
    if name in table:
        edits = [block._replace(text=new) if block is blocks[0] else _cut(text, block, line_break) for block in blocks]
    else:
        edits = [_appended(text, new, line_break)]
    return _checked(text, edits, member, wanted)


def without_member(text: str, path: tuple[str, ...], name: str) -> str:
    """Return the text without a member of the table at `path`; comments that are not between its lines stay."""
    before = _values(text, Number)
    if name not in _table_at(text, before, path):
        return text
    edits = [_cut(text, block, _line_break(text)) for block in _blocks(text, (*path, name))]
    return _checked(text, edits, (*path, name), without_value(before, path, name))


def _values(text: str, number: Callable[[str], object]) -> dict[str, Any]:
    _check_size(text)
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK), parse_float=number)
    except (ValueError, RecursionError) as error:
        raise _text_error(text, error) from None


def _check_size(text: str) -> None:
    """Raise TextError for what would take tomllib too long, or too deep."""
    depth = dots = 0
    for found in _TOKEN.finditer(text):
        part = found[0]
        depth += _STEPS.get(part, 0)
        dots = 0 if part in _BETWEEN_KEYS else dots + (part == ".")
        is_long = part[0] not in "\"'#" and len(part) > limits.TOML_WORD_CHARACTERS
        if depth > limits.NESTED_LEVELS or dots >= limits.TOML_KEY_PARTS or is_long:
            raise error_at(text, found.start(), "nested too deeply, or too long a key or number")


def _text_error(text: str, error: Exception) -> TextError:
    found = _TOML_MESSAGE.fullmatch(str(error))
    words, line = (found[1], found[2]) if found else (str(error), None)
    return TextError(f"line {line or text.count(chr(10)) + 1}: {words[:1].lower()}{words[1:]}")


def _table_at(text: str, values: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the table at `path`, an empty one if it is missing."""
    for seen, name in enumerate(path, 1):
        values = values.get(name, {})
        if not isinstance(values, Mapping):
            raise _error_about(text, path[:seen], "is no table")
    return values


def _checked(text: str, edits: Edits, member: tuple[str, ...], wanted: dict[str, Any]) -> str:
    """Return the edited text if it parses to what is wanted; a table that only its members name goes with the last."""
    with suppress(TextError):
        changed = apply_edits(text, edits)
        if _without_empty(_values(changed, Number), member[:-1]) == _without_empty(wanted, member[:-1]):
            return changed
    raise _error_about(text, member, "is written inline: change it by hand")


def _without_empty(values: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    if not path or path[0] not in values:
        return values
    inner = _without_empty(values[path[0]], path[1:])
    return {**values, path[0]: inner} if inner else without_value(values, (), path[0])


def _error_about(text: str, key: tuple[str, ...], words: str) -> TextError:
    """Return an error that names the line where the key gets its value, not a header that only leads there."""
    leading = (each for each in _statements(text) if each.key[: len(key)] == key[: len(each.key)])
    first = next(each for each in leading if not each.is_header or len(each.key) >= len(key))
    return error_at(text, first.start, f"`{_dotted(first.key[: len(key)])}` {words}")


def _blocks(text: str, member: tuple[str, ...]) -> Edits:
    """Return the blocks of a member: from a header of it, or below it, to the last value under that header."""
    blocks: Edits = []
    is_own = False
    for statement in _statements(text):
        is_own = statement.key[: len(member)] == member if statement.is_header else is_own
        if is_own and statement.is_header and not (blocks and _is_blank(text, blocks[-1].end, statement.start)):
            blocks.append(Edit(statement.start, statement.end))
        elif is_own:
            blocks[-1] = blocks[-1]._replace(end=statement.end)
    return blocks


def _statements(text: str) -> Iterator[_TomlStatement]:
    """Yield the headers and values of a text that tomllib has read."""
    table: tuple[str, ...] = ()
    for parts, start, end in _logical_lines(text):
        is_header = parts[0] == "["
        key = tuple(_part(part) for part in parts if part not in "[].")
        table, key = (key, key) if is_header else (table, (*table, *key))
        yield _TomlStatement(key, is_header, start, end)


def _logical_lines(text: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield the pieces before the `=` of every line that has any, and where it begins and ends, brackets closed."""
    start = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
    parts: list[str] = []
    depth, is_value = 0, False
    for found in _TOKEN.finditer(text + "\n", start):
        part = found[0]
        depth += _STEPS.get(part, 0)
        is_value = is_value or part == "="
        if part == "\n" and not depth:
            if parts:
                yield parts, start, found.start() - (text[found.start() - 1] == "\r")
            parts, start, is_value = [], found.end(), False
        elif part[0] != "#" and not is_value:
            parts.append(part)


def _part(part: str) -> str:
    """Return the text of a part of a key."""
    if part[0] not in "\"'":
        return part
    return str(tomllib.loads(f"key = {part}")["key"]) if "\\" in part else part[1:-1]


def _appended(text: str, new: str, line_break: str) -> Edit:
    """Return the edit that appends lines behind an empty one; the last line ends as it did."""
    if not text.removeprefix(_BYTE_ORDER_MARK):
        new = new + line_break
    elif text.endswith("\n"):
        new = line_break + new + line_break
    else:
        new = 2 * line_break + new
    return Edit(len(text), len(text), new)


def _cut(text: str, block: Edit, line_break: str) -> Edit:
    """Return the edit that removes lines, with the empty line that set them apart."""
    start, end = block.start, block.end
    if end == len(text):
        for _ in range(2):
            start -= len(line_break) if text.endswith(line_break, 0, start) else 0
        return Edit(start, end)
    next_line = text.index("\n", end) + 1
    if _is_blank(text, end, len(text)):
        is_apart = text.endswith("\n" + line_break, 0, start)
        return Edit(start - len(line_break) if is_apart else start, next_line)
    # What stands directly above stays, and must not seem to speak of what comes below.
    is_apart = _is_blank(text, text.rfind("\n", 0, max(start - 1, 0)) + 1, start)
    blank = _BLANK_LINES.match(text, end)
    return Edit(start, blank.end() if is_apart and blank else next_line)


def _is_blank(text: str, start: int, end: int) -> bool:
    return not text[start:end].strip(_BYTE_ORDER_MARK + _SPACE)


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"


def _lines(key: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: its values, then the tables in it."""
    yield f"[{_dotted(key)}]"
    yield from (f"{_dotted((name,))} = {_dump(each)}" for name, each in table.items() if not isinstance(each, Mapping))
    for name, each in table.items():
        if isinstance(each, Mapping):
            yield ""
            yield from _lines((*key, name), each)


def _dotted(key: tuple[str, ...]) -> str:
    return ".".join(part if _BARE_KEY.fullmatch(part) else _dump(part) for part in key)


def _dump(value: object) -> str:
    match value:
        case str() if value.encode("utf-8", "replace").decode() != value:
            raise TextError("TOML cannot spell a lone surrogate")
        case str() | bool():  # JSON escapes what TOML asks for, but for one character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_dump, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_dotted((name,))} = {_dump(each)}' for name, each in value.items())} }}"
        case _:
            raise TextError(f"TOML has no word for {value!r}")

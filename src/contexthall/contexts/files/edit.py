"""Editing fields of a context by splicing: their lines are replaced, at libyaml's positions.

Pure. All other bytes, comments, order, quoting and white space among them, stay the same.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from textwrap import indent
from typing import Any, Final, NamedTuple, TypeAlias

from yaml._yaml import CParser
from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.yaml_text import BadYamlError, Value
from contexthall.core.errors import ContextCorruptError

FieldPath: TypeAlias = tuple[str, ...]

GONE: Final = object()
"""The value of a field to remove."""
_DEEPEST = 2
_DASH = re.compile(r"^( *)-(?=\s)", re.MULTILINE)
_LEAVES, _ENDS = {ScalarEvent, AliasEvent}, {MappingEndEvent, SequenceEndEvent}


class _YamlBlock(NamedTuple):
    """The lines of a field: where they begin and end in the text, and how far its key is indented."""

    start: int
    end: int
    column: int


def change_fields(text: str, changes: Mapping[str, Value]) -> str:
    """Return the text of a mapping with other values for some fields; `a.b` is the field `b` of `a`.

    ContextCorruptError if that is not possible without changing others.
    """
    for field, value in changes.items():
        text = _change(text, tuple(field.split(".")), value)
    return text


def append_item(text: str, field: str, item: Value) -> str:
    """Return the text of a mapping with one more item at the end of a list, which may be missing.

    If its items are on lines of their own, only lines are added. ContextCorruptError if it is not a list.
    """
    before = yaml_text.read(text) or {}
    items = before.get(field, [])
    if not isinstance(items, list):
        raise ContextCorruptError(f"`{field}` is no list")
    expected = before | {field: [*items, item]}
    with suppress(BadYamlError):
        rewritten = _with_lines(text, field, item) if items else None
        if rewritten is not None and yaml_text.read(rewritten) == expected:
            return rewritten
    return change_fields(text, {field: expected[field]})


def _with_lines(text: str, field: str, item: Value) -> str | None:
    """Add the lines of an item after those of a list, indented like its first item."""
    block = _Blocks(text).found.get((field,))
    dash = _DASH.search(text, block.start, block.end) if block else None
    if block is None or dash is None:
        return None
    new = indent(yaml_text.write([item]), dash[1], lambda _: True)
    joint = "" if text[block.end - 1] == "\n" else "\n"
    lines = (joint + new).replace("\n", "\r\n") if "\r\n" in text else joint + new
    return text[: block.end] + lines + text[block.end :]


def _change(text: str, path: FieldPath, value: Value) -> str:
    before = yaml_text.read(text) or {}
    expected = _with_value(before, path, value)
    if expected == before:
        return text
    texts = [_splice_text(text, path, value)] if len(path) == 1 and isinstance(value, str) else []
    texts += [_splice(text, place, new) for place, new in _replacements(before, expected, path, value)]
    for rewritten in texts:
        with suppress(BadYamlError):  # as when an alias has lost its anchor
            if rewritten is not None and (yaml_text.read(rewritten) or {}) == expected:
                return rewritten
    raise ContextCorruptError(f"`{'.'.join(path)}` cannot be changed without changing something else")


def _replacements(before: Value, expected: Value, path: FieldPath, value: Value) -> list[tuple[FieldPath, Value]]:
    """Return the possible replacements, each a field and its value, the least intrusive first."""
    whole = (path[:1], expected.get(path[0], GONE))
    is_nested = len(path) == _DEEPEST and path[0] in before and path[0] in expected
    return [(path, value), whole] if is_nested else [whole]


def _with_value(values: Value, path: FieldPath, value: Value) -> Value:
    """Return a mapping with another value for a field; a mapping that becomes empty is removed."""
    name, *rest = path
    if rest:
        inner = values.get(name)
        value = _with_value(inner if isinstance(inner, dict) else {}, tuple(rest), value) or GONE
    others = {key: each for key, each in values.items() if key != name or value is not GONE}
    return others if value is GONE else others | {name: value}


def _splice_text(text: str, path: FieldPath, value: str) -> str | None:
    """Replace a string by another one on its line, and leave the rest of the line unchanged."""
    if path not in _Blocks(text).found:
        return None
    start, end, _, style = yaml_text.find_value(text, path[0])
    new = yaml_text.write([value]).removeprefix("- ").rstrip("\n")
    if "\n" in new or "\n" in text[start:end] or style in {"|", ">"}:
        return None
    return text[:start] + new + text[end:]


def _splice(text: str, path: FieldPath, value: Value) -> str | None:
    """Replace the lines of a field, or insert them after those of its siblings."""
    blocks = _Blocks(text).found
    if path in blocks:
        start, end, column = blocks[path]
    else:
        siblings = [block for place, block in blocks.items() if place[:-1] == path[:-1]]
        if not siblings:
            return None
        start, end, column = siblings[-1].end, siblings[-1].end, siblings[-1].column
    new = "" if value is GONE else indent(yaml_text.write({path[-1]: value}), " " * column, lambda _: True)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    joint = "\n" if new and start and text[start - 1] != "\n" else ""
    return text[:start] + joint + new + text[end:]


class _Blocks:
    """Finds the fields on lines of their own, on the first two levels."""

    def __init__(self, text: str) -> None:
        self.found: dict[FieldPath, _YamlBlock] = {}
        self._text, _ = yaml_text.mask(text)
        self._next = CParser(self._text).get_event
        for _ in range(2):  # the starts of stream and document
            self._next()
        if not self._next().flow_style:
            self._mapping(())

    def _mapping(self, path: FieldPath) -> int:
        """Find the fields of a mapping whose start event was read; return where it ends."""
        end = 0
        while type(key := self._next()) is not MappingEndEvent:
            column = key.start_mark.column
            start = key.start_mark.index - column
            place = (*path, str(getattr(key, "value", "")))
            self._skip(key)
            end = self._line_end(self._value(place))
            if not self._text[start : start + column].strip():
                self.found[place] = _YamlBlock(start, end, column)
        return end

    def _value(self, place: FieldPath) -> int:
        event = self._next()
        if type(event) is MappingStartEvent and not event.flow_style and len(place) < _DEEPEST:
            return self._mapping(place)
        return self._skip(event)

    def _skip(self, event: Any) -> int:  # noqa: ANN401 - libyaml's events have no types
        """Skip a value; return where it ends."""
        depth, end = 0, 0
        while True:
            kind = type(event)
            if kind in _LEAVES:
                end = event.end_mark.index
            elif kind in _ENDS:
                depth -= 1
                # libyaml ends a block where the next token begins, which may be far below it.
                end = max(end, event.end_mark.index) if self._text[event.end_mark.index - 1] in "]}" else end
            else:
                depth += 1
            if depth == 0:
                return end
            event = self._next()

    def _line_end(self, index: int) -> int:
        """Return the end of the line in which a value ends, without the empty lines below it."""
        if index and self._text[index - 1] != "\n":
            line_end = self._text.find("\n", index)
            return len(self._text) if line_end < 0 else line_end + 1
        while index > 1 and not self._text[self._text.rfind("\n", 0, index - 1) + 1 : index].strip():
            index = self._text.rfind("\n", 0, index - 1) + 1
        return index

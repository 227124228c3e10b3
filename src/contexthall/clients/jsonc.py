"""Editing of one member of a JSONC text, without changing anything else.

Pure. JSONC is JSON as editors read it, with comments and trailing commas; all else is strict. What stands outside of
the member is the same bytes afterwards. The result is read again, and must say what was meant.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from contexthall.clients.change import (
    Edit,
    Edits,
    Number,
    TextError,
    apply_edits,
    error_at,
    nested,
    object_at,
    with_value,
    without_value,
)
from contexthall.core import limits, wire

_SPACE: Final = " \t\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"
_UNIT: Final = "  "
# A string or a comment matches even if it has no end, so no character is looked at twice and the time is linear.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_LINE_COMMENT, _BLOCK_COMMENT = r"//[^\r\n]*+", r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(\*/)?"
_STRING_OR_COMMENT = re.compile(f"{_STRING}|{_LINE_COMMENT}|{_BLOCK_COMMENT}", re.DOTALL)
_TOKEN = re.compile(rf'{_STRING}|[\[\]{{}}:,]|[^\s"\[\]{{}}:,]+', re.DOTALL)
# What Python's parser must not see: a trailing comma, unless nothing precedes it, becomes a blank; NaN and Infinity.
_LENIENT = re.compile(rf"({_STRING}|[\[{{:,][{_SPACE}]*+,)|,(?=[{_SPACE}]*+[\]}}])|[NI]", re.DOTALL)
_STRICT: Final = {",": " ", "N": "?", "I": "?"}
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_NO_LINE_BREAK = re.compile(r"[^\r\n]")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[ \t]*+")
_INDENTED_NAME = re.compile(r'[\r\n]([ \t]++)"')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MESSAGES: Final = {
    "Expecting property name": "expected a name in double quotes",
    "Expecting ':'": "expected a colon",
    "Expecting ','": "expected a comma",
    "Expecting value": "expected a value, text in double quotes",
    "Extra data": "expected the end of the text",
    "Invalid control character": "a string with a line break or another control character",
    "Unterminated string": "a string has no end",
    "Invalid \\": "an escape that JSON does not have",
}


class _JsonMember(NamedTuple):
    """Where a member begins, where its value begins and ends, and where the comma behind it is, if there is one."""

    name: str
    start: int
    value: int
    end: int
    comma: int | None = None

    @property
    def stop(self) -> int:
        """Where it ends, comma and all."""
        return self.end if self.comma is None else self.comma + 1


class _Object(NamedTuple):
    """Where the braces of an object are, and its members."""

    start: int
    end: int
    members: list[_JsonMember]


_READER = json.JSONDecoder(parse_int=wire.integer)
_FAITHFUL_READER = json.JSONDecoder(parse_int=Number, parse_float=Number)


def parse(text: str) -> dict[str, Any]:
    """Parse the text, or raise TextError; a text of nothing but comments is an empty object."""
    return _values(_bare(text), _READER)


def with_member(text: str, path: tuple[str, ...], name: str, value: Mapping[str, Any]) -> str:
    """Return the text with that member in the object at `path`: in place of the one of that name, else as the last."""
    document = _JsoncText(text)
    alternatives = document.edits_to_put(path, name, value)
    return document.edited(alternatives, with_value(document.values, path, name, _FAITHFUL_READER.decode(_dump(value))))


def without_member(text: str, path: tuple[str, ...], name: str) -> str:
    """Return the text without a member of the object at `path`, its comma, and the comment behind it on its line."""
    document = _JsoncText(text)
    alternatives = document.edits_to_remove(path, name)
    return document.edited(alternatives, without_value(document.values, path, name)) if alternatives else text


def with_element(text: str, path: tuple[str, ...], name: str, element: Mapping[str, Any]) -> str:
    """Return the text with that element at the end of a list in the object at `path`, which is made if missing."""
    document = _JsoncText(text)
    old, alternatives = document.list_at(path, name), document.edits_to_append(path, name, element)
    new = [*old, _FAITHFUL_READER.decode(_dump(element))]
    return document.edited(alternatives, with_value(document.values, path, name, new))


def without_elements(text: str, path: tuple[str, ...], name: str, is_unwanted: Callable[[object], bool]) -> str:
    """Return the text without some elements of a list in the object at `path`; a list that has no others goes too."""
    document, plain = _JsoncText(text), parse(text)
    values = object_at(plain, path).get(name)
    unwanted = [at for at, each in enumerate(values if isinstance(values, list) else []) if is_unwanted(each)]
    old = document.list_at(path, name) if unwanted else []
    if not unwanted:
        return text
    if len(unwanted) == len(old):
        return without_member(text, path, name)
    kept = [each for at, each in enumerate(old) if at not in unwanted]
    return document.edited(document.edits_to_drop(path, name, unwanted), with_value(document.values, path, name, kept))


class _JsoncText:
    """A text that reads as an object, and where everything stands in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bare = _bare(text)
        self.values = _values(self._bare, _FAITHFUL_READER)
        found = _LINE_BREAK.search(text)
        self._line_break = found[0] if found else "\n"

    def edited(self, alternatives: list[Edits], wanted: dict[str, Any]) -> str:
        """Return the first edited text that parses to what is wanted: a comment may swallow what comes behind it."""
        if wanted == self.values:
            return self._text
        for edits in alternatives:
            text = apply_edits(self._text, edits)
            with suppress(TextError):
                if _values(_bare(text), _FAITHFUL_READER) == wanted:
                    return text
        raise error_at(self._text, alternatives[0][0].start, "nothing can change here without changing something else")

    def edits_to_put(self, path: tuple[str, ...], name: str, value: Mapping[str, Any]) -> list[Edits]:
        if not self._bare.strip(_SPACE):
            return [self._first_object(nested((*path, name), value))]
        place, member, missing = self._find((*path, name))
        if member is None:
            return self._added(place, missing[0], nested(missing[1:], value))
        new = _dump(value)
        if self._begins_line(member.start):
            new = self._dump_indented(value, self._indent(member.start), self._unit(place))
        return [[Edit(member.value, member.end, new)]]

    def edits_to_remove(self, path: tuple[str, ...], name: str) -> list[Edits]:
        """Return the alternative edits that remove a member; none if it is not there."""
        place, member, _ = self._find((*path, name)) if self.values else (None, None, ())
        return self._removed(place, member) if place and member else []

    def list_at(self, path: tuple[str, ...], name: str) -> list[Any]:
        """Return the elements of a list; none if it is missing."""
        place = object_at(self.values, path)
        found = place.get(name, [])
        if not isinstance(found, list):
            raise error_at(self._text, self._list_member(path, name).value, f"`{name}` is no list")
        return found

    def edits_to_append(self, path: tuple[str, ...], name: str, element: Mapping[str, Any]) -> list[Edits]:
        """Return the alternative edits that add a last element to a list."""
        if not self._bare.strip(_SPACE):
            return [self._first_object(nested((*path, name), [element]))]
        place, member, missing = self._find((*path, name))
        if member is None:
            return self._added(place, missing[0], nested(missing[1:], [element]))
        spans = self._elements(member)
        if not spans:
            text = self._dump_indented([element], self._indent(member.start), self._unit(place))
            return [[Edit(member.value, member.end, text)]]
        start, end = spans[-1]
        indent = self._indent(start)
        on_lines = self._line_break + indent + self._dump_indented(element, indent, self._unit(place))
        texts = [on_lines] if self._begins_line(start) else [f" {_dump(element)}"]
        return [[Edit(end, end, "," + text)] for text in texts]

    def edits_to_drop(self, path: tuple[str, ...], name: str, places: list[int]) -> list[Edits]:
        """Return the edits that remove some elements of a list, not all, with what stands between them."""
        spans = self._elements(self._list_member(path, name))
        kept = [at for at in range(len(spans)) if at not in places]
        edits = []
        for at in places:
            before = [each for each in kept if each < at]
            start, end = (spans[at - 1][1], spans[at][1]) if before else (spans[at][0], spans[at + 1][0])
            edits.append(Edit(start, end))
        return [edits]

    def _list_member(self, path: tuple[str, ...], name: str) -> _JsonMember:
        _, member, _ = self._find((*path, name))
        if member is None:
            raise AssertionError("a list that was read is there")
        return member

    def _elements(self, member: _JsonMember) -> list[tuple[int, int]]:
        """Return where the elements of a list begin and end."""
        return [(begin, end) for begin, end in _spans(self._bare, member.value) if self._bare[begin] not in ",]"]

    def _find(self, path: tuple[str, ...]) -> tuple[_Object, _JsonMember | None, tuple[str, ...]]:
        """Return the last object on the path that is there, its member if that ends the path, and what is missing."""
        place, member = _object_at(self._bare, self._bare.index("{")), None
        for seen, name in enumerate(path):
            if member:
                if self._bare[member.value] != "{":
                    raise error_at(self._text, member.value, f"`{member.name}` is no object")
                place = _object_at(self._bare, member.value)
            member = self._named(place, name)
            if member is None:
                return place, None, path[seen:]
        return place, member, ()

    def _named(self, place: _Object, name: str) -> _JsonMember | None:
        """Return the member of that name. Of two, some readers take the first and others the last."""
        found = [member for member in place.members if member.name == name]
        if len(found) > 1:
            raise error_at(self._text, found[1].start, f"`{name}` is there twice")
        return found[0] if found else None

    def _first_object(self, value: object) -> Edits:
        """Write an object into a text that has none, behind its comments."""
        end = self._before_space(len(self._text))
        before = self._line_break if self._text[:end].strip(_BYTE_ORDER_MARK + _SPACE) else ""
        after = "" if self._text[end:] else self._line_break
        return [Edit(end, end, before + self._dump_indented(value, "", _UNIT) + after)]

    def _added(self, place: _Object, name: str, value: object) -> list[Edits]:
        """Return alternative edits that add a last member: on its own line if the one before it is, else behind it."""
        end, unit, key = self._before_space(place.end), self._unit(place), _dump(name) + ": "
        last = place.members[-1] if place.members else None
        has_line = last is not None and self._begins_line(last.start)
        indent = self._indent(last.start) if last and has_line else self._indent(place.start) + unit
        on_lines = self._line_break + indent + key + self._dump_indented(value, indent, unit)
        if last is None:
            # White space between the braces stays before the second one, so that it is all there is without the member.
            closing = self._line_break + self._indent(place.start) if end == place.start + 1 else ""
            return [[Edit(end, end, on_lines + closing)]]
        texts = [on_lines] if has_line else [f" {key}{_dump(value)}", on_lines]
        if last.comma is not None:
            return [[Edit(end, end, text + ",")] for text in texts]
        return [[Edit(last.end, last.end, ","), Edit(end, end, text)] for text in texts]

    def _removed(self, place: _Object, member: _JsonMember) -> list[Edits]:
        """Return alternative edits that remove a member: with the white space before it, else from where it begins.

        If its lines are its own, the comment behind it on the last one goes too, unless that would change something.
        """
        is_last = member is place.members[-1]
        line_end = self._line_end(member.stop)
        is_followed = bool(self._bare[member.stop : line_end].strip(_SPACE))
        if is_followed and not is_last:
            return [[Edit(member.start, self._past_indent(member.stop))]]
        before = [each.comma for each in place.members[-2:-1] if is_last and member.comma is None]
        commas = [Edit(comma, comma + 1) for comma in before if comma is not None]
        start = self._before_space(member.start)
        has_lines = not is_followed and self._begins_line(member.start)
        stops = [self._before_space(line_end), member.stop] if has_lines else [member.stop]
        ends = [self._past_closing(place, start, stop) for stop in stops]
        return [[*commas, Edit(begin, end)] for end in ends for begin in (start, member.start)]

    def _past_closing(self, place: _Object, start: int, stop: int) -> int:
        """Skip the line break that was added for the closing brace, if nothing else is left between the braces."""
        closing = self._line_break + self._indent(place.start)
        is_alone = start == place.start + 1 and not self._text[stop : place.end].strip(_SPACE)
        return stop + len(closing) if is_alone and self._text.startswith(closing, stop) else stop

    def _dump_indented(self, value: object, indent: str, unit: str) -> str:
        return _dump(value, unit).replace("\n", self._line_break + indent)

    def _unit(self, place: _Object) -> str:
        """Return the indentation of a level in an object, or else in the text."""
        first = place.members[0].start if place.members else place.start
        outer, inner = self._indent(place.start), self._indent(first)
        if inner != outer and inner.startswith(outer) and self._begins_line(first):
            return inner.removeprefix(outer)
        found = _INDENTED_NAME.search(self._bare)
        return found[1] if found else _UNIT

    def _indent(self, index: int) -> str:
        start = self._line_start(index)
        return self._text[start : self._past_indent(start)]

    def _past_indent(self, index: int) -> int:
        found = _INDENT.match(self._text, index)
        return found.end() if found else index

    def _begins_line(self, index: int) -> bool:
        return not self._bare[self._line_start(index) : index].strip(_SPACE)

    def _line_start(self, index: int) -> int:
        return max(self._text.rfind("\n", 0, index), self._text.rfind("\r", 0, index)) + 1

    def _line_end(self, index: int) -> int:
        found = _LINE_BREAK.search(self._text, index)
        return found.start() if found else len(self._text)

    def _before_space(self, index: int) -> int:
        """Return the index before which the white space begins."""
        return len(self._text[:index].rstrip(_SPACE))


def _bare(text: str) -> str:
    """Return the text with blanks for its byte order mark and its comments, so that all offsets stay."""

    def blank(found: re.Match[str]) -> str:
        if found[0].startswith("/*") and not found[1]:
            raise error_at(text, found.start(), "a comment has no end")
        return found[0] if found[0][0] == '"' else _NO_LINE_BREAK.sub(" ", found[0])

    bare = _STRING_OR_COMMENT.sub(blank, text)
    return " " + bare[1:] if bare.startswith(_BYTE_ORDER_MARK) else bare


def _values(bare: str, reader: json.JSONDecoder) -> dict[str, Any]:
    if not bare.strip(_SPACE):
        return {}
    _check_depth(bare)
    try:
        values = reader.decode(_LENIENT.sub(lambda found: found[1] or _STRICT[found[0]], bare))
    except json.JSONDecodeError as error:
        words = next((ours for theirs, ours in _MESSAGES.items() if error.msg.startswith(theirs)), error.msg)
        raise error_at(bare, error.pos, words) from None
    if not isinstance(values, dict):
        raise error_at(bare, len(bare) - len(bare.lstrip(_SPACE)), "expected an object")
    return values


def _check_depth(bare: str) -> None:
    depth = 0
    for found in _TOKEN.finditer(bare):
        depth += _STEPS.get(found[0], 0)
        if depth > limits.NESTED_LEVELS:
            raise error_at(bare, found.start(), "nested too deeply")


def _object_at(bare: str, start: int) -> _Object:
    """Return the offsets of the members of the object that begins there."""
    members: list[_JsonMember] = []
    spans = _spans(bare, start)
    for begin, end in spans:
        match bare[begin]:
            case "}":
                return _Object(start, begin, members)
            case ",":
                members[-1] = members[-1]._replace(comma=begin)
            case _:
                next(spans)  # the colon
                members.append(_JsonMember(json.loads(bare[begin:end]), begin, *next(spans)))
    raise AssertionError("an object that was read has an end")


def _spans(bare: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the span of each part of an object: names, colons, whole values, commas, the closing brace."""
    depth = begin = 0
    for found in _TOKEN.finditer(bare, start + 1):
        begin = begin if depth else found.start()
        depth += _STEPS.get(found[0], 0)
        if depth <= 0:
            yield begin, found.end()
        if depth < 0:
            return


def _dump(value: object, unit: str | None = None) -> str:
    """Serialise a value on one line, or on lines; a lone surrogate is escaped, as UTF-8 cannot carry it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=unit, default=dict)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

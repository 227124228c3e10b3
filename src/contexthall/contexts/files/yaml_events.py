"""Reading and writing YAML through libyaml's events.

Pure. libyaml's own composer is not used, because it recurses without a bound: reading stops at the first thing that is
wrong, too deep or too large with its aliases expanded.
"""

import re
from typing import Any, NamedTuple

import yaml
from yaml import CSafeDumper, YAMLError
from yaml._yaml import CParser
from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, StreamEndEvent

from contexthall.contexts.files.yaml_text import NO_LINE_ENDS, BadYamlError, Span, Value, plain
from contexthall.core import limits
from contexthall.core.text import quoted

_WIDTH = 100
_CORE = "tag:yaml.org,2002:"
_LINES = re.compile(r"(?:[!-~][ -~]*\n)+(?:[!-~][ -~]*)?")
"""Text that is written as a literal block."""


def read_document(text: str) -> Value:
    """Read the one document in `text`; BadYamlError if there is none."""
    try:
        return Reader(text).document()
    except YAMLError as error:
        raise BadYamlError(_explain(error)) from None


def write_document(value: Value) -> str:
    text: str = yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


class _Writer(CSafeDumper):  # type: ignore[misc]  # libyaml's classes have no types
    """Writes what reads as the same in YAML 1.1 and 1.2."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def _write_text(writer: Any, text: str) -> Any:  # noqa: ANN401
    style = "|" if _LINES.fullmatch(text) else '"' if plain(text) != text or NO_LINE_ENDS.search(text) else None
    return writer.represent_scalar(f"{_CORE}str", text, style=style)


_Writer.add_representer(str, _write_text)


class _Anchored(NamedTuple):
    """A value that aliases may name, its depth, and its length in characters with its own aliases expanded."""

    value: Value
    levels: int
    weight: int


class Reader:
    """Reads one text, event by event."""

    def __init__(self, text: str) -> None:
        self._next = CParser(text).get_event
        self._anchored: dict[str, _Anchored | None] = {}
        """None for a node that is not complete yet."""
        self._expanded = 0

    def document(self) -> Value:
        self._next()  # the stream's start
        if type(self._next()) is StreamEndEvent:
            return None
        value, _ = self._node(self._next(), 1)
        self._next()  # the document's end
        if type(event := self._next()) is not StreamEndEvent:
            raise BadYamlError(f"line {_line(event)}: a second document")
        return value

    def find(self, key: str) -> Span:
        for _ in range(3):  # the starts of stream, document and mapping
            self._next()
        while self._key(self._next()) != key:
            self._node(self._next(), 2)
        event = self._next()
        value, style = (event.value, event.style) if type(event) is ScalarEvent else (None, "")
        return Span(event.start_mark.index, event.end_mark.index, value, style)

    def _node(self, event: Any, level: int) -> tuple[Value, int]:  # noqa: ANN401 - libyaml's events have no types
        """Build the value that begins with `event`; return it and its depth."""
        if type(event) is AliasEvent:
            return self._alias(event, level)
        anchor, expanded = event.anchor, self._expanded
        if anchor is not None:
            self._anchored[anchor] = None
        if type(event) is ScalarEvent:
            value, levels, end = _scalar(event), 0, event.end_mark.index
        elif level > limits.YAML_LEVELS:
            raise BadYamlError(f"line {_line(event)}: more than {limits.YAML_LEVELS} levels")
        else:
            value, levels, end = self._mapping(level) if type(event) is MappingStartEvent else self._sequence(level)
        if anchor is not None:
            weight = end - event.start_mark.index + self._expanded - expanded
            self._anchored[anchor] = _Anchored(value, levels, weight)
        return value, levels

    def _mapping(self, level: int) -> tuple[Value, int, int]:
        """Build a mapping; return it, its depth, and where in the text it ends."""
        mapping: dict[str, Value] = {}
        levels, following = 0, self._next
        while type(event := following()) is not MappingEndEvent:
            key = event.value if type(event) is ScalarEvent and event.anchor is None else self._key(event)
            if key in mapping:
                raise BadYamlError(f"line {_line(event)}: the key {quoted(key)} again")
            event = following()
            if type(event) is ScalarEvent and event.anchor is None:  # by far the most of them
                mapping[key] = _scalar(event)
            else:
                mapping[key], below = self._node(event, level + 1)
                levels = max(levels, below)
        return mapping, levels + 1, event.end_mark.index

    def _sequence(self, level: int) -> tuple[Value, int, int]:
        sequence: list[Value] = []
        levels, following = 0, self._next
        while type(event := following()) is not SequenceEndEvent:
            if type(event) is ScalarEvent and event.anchor is None:
                sequence.append(_scalar(event))
            else:
                value, below = self._node(event, level + 1)
                sequence.append(value)
                levels = max(levels, below)
        return sequence, levels + 1, event.end_mark.index

    def _key(self, event: Any) -> str:  # noqa: ANN401
        if type(event) is ScalarEvent:
            if event.anchor is not None:
                self._node(event, 1)
            return str(event.value)
        if type(event) is AliasEvent and isinstance(value := self._alias(event, 1)[0], str):
            return value
        raise BadYamlError(f"line {_line(event)}: a key that is no scalar")

    def _alias(self, event: Any, level: int) -> tuple[Value, int]:  # noqa: ANN401
        node = self._anchored.get(event.anchor)
        if node is None:
            raise BadYamlError(f"line {_line(event)}: nothing is anchored as {quoted(event.anchor)}")
        if level + node.levels - 1 > limits.YAML_LEVELS:
            raise BadYamlError(f"line {_line(event)}: more than {limits.YAML_LEVELS} levels")
        self._expanded += node.weight
        if self._expanded > limits.YAML_EXPANDED_CHARACTERS:
            raise BadYamlError(f"line {_line(event)}: too large once its aliases are written out")
        return node.value, node.levels


def _scalar(event: Any) -> Value:  # noqa: ANN401
    if event.tag not in _TYPES:  # no tag, or one outside of the core schema, which is ignored
        return event.value if event.style else plain(event.value)
    types = _TYPES[event.tag]
    value = event.value if str in types else plain(event.value)
    if type(value) not in types:
        raise BadYamlError(f"line {_line(event)}: {quoted(event.value)} is no {event.tag.removeprefix(_CORE)}")
    return value


_TYPES: dict[str, tuple[type, ...]] = {
    "!": (str,),
    f"{_CORE}str": (str,),
    f"{_CORE}null": (type(None),),
    f"{_CORE}bool": (bool,),
    f"{_CORE}int": (int,),
    f"{_CORE}float": (int, float),
}


def _line(event: Any) -> int:  # noqa: ANN401
    return int(event.start_mark.line) + 1


def _explain(error: YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    reason = problem or getattr(error, "reason", None) or "not YAML"
    return f"line {mark.line + 1}: {reason}" if mark is not None else str(reason)

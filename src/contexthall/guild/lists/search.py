"""Search for tools by what they do, and one line about each.

How tools are put in order is in `core/tool_search.py`; what of a definition counts is here.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from contexthall.core.tool_search import ToolIndex, ToolText

_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?](?=\s+[^a-z\s])")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class ListedTool(NamedTuple):
    """A tool that can be found: the name the agent sees, the member whose it is, and its definition."""

    name: str
    member: str
    definition: Mapping[str, Any]


class Finding(NamedTuple):
    """The tools that fit a query, the best first, and the words of it that no tool has."""

    tools: list[ListedTool]
    unmatched: list[str]


class ToolSearch:
    """A search among tools, the same whatever their order; the index is made by the first query."""

    def __init__(self, listed: Iterable[ListedTool]) -> None:
        self._listed = sorted(listed, key=lambda tool: (tool.name, tool.member))

    @cached_property
    def _index(self) -> ToolIndex:
        return ToolIndex([text_of(tool) for tool in self._listed])

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """The tools of each name, which agents see or their members give."""
        named: defaultdict[str, list[int]] = defaultdict(list)
        for number, tool in enumerate(self._listed):
            for name in {tool.name, _text(tool.definition.get("name"))}:
                named[name].append(number)
        return named

    def find(self, query: str, limit: int = 10) -> Finding:
        """Return the tools that fit, those of that very name first; for an empty query all, by name."""
        most, wanted = max(limit, 0), query.strip()
        if not wanted:
            return Finding(self._listed[:most], [])
        named = self._named.get(wanted, [])
        found = self._index.find(wanted, most + len(named))
        numbers = dict.fromkeys((*named, *(number for number, _ in found.best)))
        return Finding([self._listed[number] for number in islice(numbers, most)], found.unmatched)


def one_line(definition: Mapping[str, Any], most: int = 120) -> str:
    """Return the first sentence of a tool's description, else its title, in at most that many characters."""
    lines = _text(definition.get("description")).strip().splitlines() or [_title(definition)]
    end = _SENTENCE_END.search(lines[0])
    line = _BLANKS.sub(" ", lines[0][: end.end()] if end else lines[0]).strip()
    if len(line) <= most:
        return line
    start = line[:most]
    whole_words = start[: start.rfind(" ")] if " " in start else start[: most - 1]
    return whole_words.rstrip(" ,;:.-") + "…"


def text_of(tool: ListedTool) -> ToolText:
    """Return what is searched of a tool."""
    definition = tool.definition
    name = f"{_text(definition.get('name')) or tool.name} {_title(definition)}"
    return ToolText(name, tool.member, _text(definition.get("description")), _parameters(definition.get("inputSchema")))


def _parameters(schema: object) -> str:
    """Return the names and the descriptions of a tool's parameters."""
    parameters = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(parameters, Mapping):
        return ""
    said = (_text(each.get("description")) for each in parameters.values() if isinstance(each, Mapping))
    return " ".join((*parameters, *said))


def _title(definition: Mapping[str, Any]) -> str:
    annotations = definition.get("annotations")
    title = annotations.get("title") if isinstance(annotations, Mapping) else None
    return _text(definition.get("title")) or _text(title)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

"""The elements of an HTML page, in one list and in linear time. Pure.

A list instead of a tree, because pages may be nested a million deep: an element knows where in the list its content
ends. What end tags HTML lets authors leave out is closed as HTML 5 closes it. Neither library that was tried does this
in linear time: the standard library's parser is quadratic in comments that are never closed, Lexbor in nested elements.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from html import unescape
from typing import TypeAlias


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _words("area base br col embed hr img input link meta param source track wbr")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = _words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form header hgroup hr html li main menu nav ol p pre search section summary table tbody td tfoot th thead "
    "tr ul"
) | set(HEADINGS)
_RAW = _words("script style textarea title xmp iframe noembed noframes")
_TEXT_IN_RAW = frozenset({"title", "textarea"})
_TABLE = frozenset({"table", "td", "th", "caption", "html"})
_ROWS = frozenset({"thead", "tbody", "tfoot"})
_CELLS = frozenset({"td", "th"})
_ANY_BLOCK = frozenset({""})

_CLOSED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    **dict.fromkeys(BLOCKS - {"td", "th", "tr", *_ROWS}, (frozenset({"p"}), _TABLE | {"button"})),
    "li": (frozenset({"li", "p"}), _TABLE | {"ul", "ol", "menu", "dir"}),
    "dt": (frozenset({"dt", "dd", "p"}), _TABLE | {"dl"}),
    "dd": (frozenset({"dt", "dd", "p"}), _TABLE | {"dl"}),
    "td": (_CELLS, frozenset({"table", "tr"})),
    "th": (_CELLS, frozenset({"table", "tr"})),
    "tr": (frozenset({"tr", "caption"}), frozenset({"table", *_ROWS})),
    **dict.fromkeys(_ROWS, (_ROWS | {"tr", "caption"}, frozenset({"table"}))),
    **dict.fromkeys(HEADINGS, (frozenset({"p", *HEADINGS}), _TABLE)),
    "a": (frozenset({"a"}), _TABLE),
}
"""Which open elements a start tag closes, and which elements they are not looked for outside of."""

_TAG_START = re.compile(r"</?[A-Za-z]")
_MARK = re.compile(r"<(?=[A-Za-z/!?])")
# Quantifiers that give nothing back, so that a tag without an end costs one look.
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>")
_SELF_CLOSING = re.compile(r"(?:^|[\s\"'])/$")
_ATTRIBUTE = re.compile(r"([^\s/>=\"']++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+")


@dataclass(slots=True)
class Element:
    """An element: its content is what follows it in the list, up to `end`."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    end: int = 0

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


Node: TypeAlias = Element | str


def parse_html(text: str) -> list[Node]:
    """Return the elements and texts of a page, in order."""
    builder = _Builder()
    at = 0
    while at < len(text):
        mark = _MARK.search(text, at)
        builder.add_text(text[at : mark.start() if mark else len(text)])
        if mark is None:
            break
        at = _markup(text, mark.start(), builder)
    return builder.finish()


def _markup(text: str, at: int, builder: "_Builder") -> int:
    """Read the tag or comment at `at`; return where the text goes on. What is never closed goes to the end."""
    if text.startswith("<!--", at):
        return _after(text, "-->", at + 2)
    if text.startswith("<![CDATA[", at):
        end = text.find("]]>", at)
        builder.add_text(text[at + 9 : end if end >= 0 else len(text)], is_raw=True)
        return end + 3 if end >= 0 else len(text)
    if not _TAG_START.match(text, at):
        return _after(text, ">", at)
    tag = _TAG.match(text, at)
    if tag is None:
        return len(text)
    name = tag[2].lower()
    if tag[1]:
        builder.end(name)
        return tag.end()
    is_empty = _SELF_CLOSING.search(tag[3]) is not None
    builder.start(name, tag[3], is_empty=is_empty)
    return _raw_text(text, tag.end(), name, builder) if name in _RAW and not is_empty else tag.end()


def _raw_text(text: str, at: int, name: str, builder: "_Builder") -> int:
    """Read the content of an element in which no tags count."""
    closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, at)
    end = closing.start() if closing else len(text)
    if name in _TEXT_IN_RAW:
        builder.add_text(text[at:end])
    return end


def _after(text: str, closing: str, at: int) -> int:
    end = text.find(closing, at)
    return end + len(closing) if end >= 0 else len(text)


class _Builder:
    """Puts elements and texts into a list, and closes elements."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._open: list[Element] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        """Of each name, where the open elements are among the open ones."""

    def add_text(self, text: str, *, is_raw: bool = False) -> None:
        if text:
            self._nodes.append(text if is_raw or "&" not in text else _unescaped(text))

    def start(self, name: str, attributes: str, *, is_empty: bool) -> None:
        closed, barriers = _CLOSED_BY.get(name, ((), ()))
        outermost = min((self._places[each][-1] for each in closed if self._is_in_scope(each, barriers)), default=None)
        if outermost is not None:
            self._close(outermost)
        element = Element(name, _attributes(attributes), len(self._nodes) + 1)
        self._nodes.append(element)
        if name not in VOID and not is_empty:
            for key in _keys(name):
                self._places[key].append(len(self._open))
            self._open.append(element)

    def end(self, name: str) -> None:
        if name in HEADINGS:  # the end of any heading ends the one that is open
            name = max(HEADINGS, key=lambda each: self._places[each][-1] if self._places[each] else -1)
        barriers = _TABLE - {name} if name in BLOCKS else _ANY_BLOCK
        if name not in {"table", "html", "body"} and not self._is_in_scope(name, barriers):
            return
        if self._places[name]:
            self._close(self._places[name][-1])

    def finish(self) -> list[Node]:
        self._close(0)
        return self._nodes

    def _is_in_scope(self, name: str, barriers: "frozenset[str] | tuple[()]") -> bool:
        """Return whether the last open element of this name has no barrier inside it."""
        places = self._places
        if not places[name]:
            return False
        place = places[name][-1]
        return all(not places[each] or places[each][-1] <= place for each in barriers)

    def _close(self, place: int) -> None:
        """Close the open element at `place`, and those inside it."""
        for element in self._open[place:]:
            element.end = len(self._nodes)
            for key in _keys(element.tag):
                self._places[key].pop()
        del self._open[place:]


def _keys(name: str) -> tuple[str, ...]:
    return (name, *_ANY_BLOCK) if name in BLOCKS else (name,)


def _attributes(text: str) -> dict[str, str]:
    if not text.strip(" \t\r\n/"):
        return {}
    found = reversed(_ATTRIBUTE.findall(text))  # of two with one name the first counts
    return {name.lower(): _unescaped(double or single or bare) for name, double, single, bare in found}


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a number of more digits than Python reads
        return text

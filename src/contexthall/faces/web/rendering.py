"""How does Markdown look to a person? As elements of a small vocabulary, which the page makes itself. Pure.

No HTML is written: an element is a tag, its children and, of a link, its address. What a document has of HTML is text.
Pictures are named, not loaded. Only links to http and https stay links.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from contexthall.core import limits

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Node: TypeAlias = "str | dict[str, Any]"

TAGS = frozenset(
    {
        *("p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "hr"),
        *("table", "thead", "tbody", "tr", "th", "td", "a", "em", "strong", "s", "code", "br", "span"),
    }
)
"""What an element may be; static/prose.js makes no others."""
_FIRST_LEVEL, _LAST_LEVEL = 3, 6
_TEXTS = {"text": "{}", "softbreak": "\n", "image": "[image: {}]"}
_CODE = {"code_inline": "code", "code_block": "pre", "fence": "pre"}
_LINKED = re.compile(r"https?://", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


def rendered(text: str) -> list[Node] | None:
    """Return the elements of a text in Markdown; None if it is longer than people read."""
    if len(text) > limits.PAGE_RENDERED_CHARACTERS:
        return None
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    return [*([_element("pre", front[2])] if front else []), *_tree(_flat(_parser().parse(body)))]


def _tree(tokens: Iterable["Token"]) -> list[Node]:
    root: list[Node] = []
    open_lists, levels = [root], _Levels()
    for token in tokens:
        if token.hidden:  # the paragraph of an item in a tight list
            continue
        if token.nesting < 0:
            open_lists.pop()
            continue
        node = _node(token, levels)
        open_lists[-1].append(node)
        if token.nesting > 0:
            assert isinstance(node, dict)
            open_lists.append(node["children"])
    return root


def _flat(tokens: Iterable["Token"]) -> Iterator["Token"]:
    for token in tokens:
        if token.type == "inline":
            yield from token.children or ()
        else:
            yield token


def _node(token: "Token", levels: "_Levels") -> Node:
    if token.type in _TEXTS:
        return _TEXTS[token.type].format(token.content)
    if token.type in _CODE:
        return _element(_CODE[token.type], token.content)
    if token.type == "heading_open":
        return _element(f"h{levels.of(int(token.tag[1:]))}")
    if token.type == "link_open":
        return _link(str(token.attrGet("href") or ""))
    more = {"start": int(token.attrGet("start") or 1)} if token.tag == "ol" else {}
    return {**_element(token.tag), **more} if token.tag in TAGS else token.content


def _link(href: str) -> Node:
    return {**_element("a"), "href": href} if _LINKED.match(href) else _element("span")


class _Levels:
    """Gives headings the levels that they have on the page: below its own, and none left out."""

    def __init__(self) -> None:
        self._above: list[int] = []

    def of(self, level: int) -> int:
        self._above = [*(each for each in self._above if each < level), level]
        return min(_FIRST_LEVEL - 1 + len(self._above), _LAST_LEVEL)


def _element(tag: str, *children: Node) -> dict[str, Any]:
    return {"tag": tag, "children": list(children)}


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 50 ms, and no start waits for it

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

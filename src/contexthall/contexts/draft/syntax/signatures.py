"""Signatures on one line: as in the source, without comments, needless commas and secrets.

Pure. Long ones are shortened; what has a syntax error in it is not written at all.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, children, first_child, text, visible, written
from contexthall.core.secrets import is_secret_name, may_be_key

_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment"})
_NEEDS_CARE = re.compile(rb"[\n\r\t`#\\]|  |//|/\*|[=:(<,] ?[|&] |,[)\]>]")
_QUOTES = re.compile(rb"[\"']")
_NAME_FIELDS = ("pattern", "name", "left", "key")
_HAS_STRING = re.compile(r"[\"'`][^\"'`]")


class Notation(NamedTuple):
    """The node types of a grammar that matter for writing a signature on one line."""

    strings: frozenset[str]
    lists: frozenset[str] = frozenset()
    """Where a trailing comma means nothing."""
    members: frozenset[str] = frozenset()
    """Where a line end separates as a semicolon does."""
    defaults: frozenset[str] = frozenset()
    """Which have a name and a value that may be a secret."""
    leading: Mapping[str, str] = {}
    """Node type → its leading token that means nothing."""


def signature(data: bytes, node: Node, notation: Notation, span: tuple[int, int]) -> str:
    """Return a signature; if it is too long, without its parameters, then without all behind its name.

    Empty if there is a syntax error in it.
    """
    whole = one_line(data, node, span, notation)
    if len(whole) <= limits.SIGNATURE_CHARACTERS:
        return whole
    parameters = node.child_by_field_name("parameters")
    if parameters is not None:
        shorter = one_line(data, node, span, notation, {parameters.id: f"({LEFT_OUT})"})
        if len(shorter) <= limits.SIGNATURE_CHARACTERS:
            return shorter
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    end = span[1] if name is None else name.end_byte
    shortest = one_line(data, node, (span[0], end), notation) + (f"({LEFT_OUT})" if parameters else "")
    return shortest if len(shortest) <= limits.SIGNATURE_CHARACTERS else ""


def one_line(
    data: bytes, node: Node, span: tuple[int, int], notation: Notation, instead: Mapping[int, str] = {}
) -> str:
    """Return `span` of `node` on one line; empty if there is a syntax error in it.

    `instead` replaces the text of some nodes, by their id.
    """
    if not instead and not node.has_error and (plain := _plain(data[span[0] : span[1]])) is not None:
        return plain
    parts: list[str] = []
    end = 0
    for token, shown in _SignatureTokens(data, notation, instead).tokens(node, span):
        if shown is None:
            return ""
        if parts:
            parts.append(_space(data[end : token.start_byte], parts[-1], shown))
        parts.append(shown)
        end = token.end_byte
    return visible("".join(parts)).strip()


def _plain(source: bytes) -> str | None:
    """Return a source text as it is, if it needs no changes; None if only its tokens can show that."""
    if _NEEDS_CARE.search(source):
        return None
    plain = visible(source.decode("utf-8", "replace")).strip()
    return None if _QUOTES.search(source) and (is_secret_name(plain) or may_be_key(plain)) else plain


def _space(gap: bytes, before: str, after: str) -> str:
    """Return the space between two tokens: none between content and brackets on lines of their own."""
    is_on_one_line = gap.isspace() and b"\n" not in gap
    touches = before in {"(", "[", "<"} or after in {")", "]", ">", ",", ";"}
    return " " if gap and (is_on_one_line or not touches) else ""


class _SignatureTokens:
    """Walks the tokens of a signature, and decides how each is written."""

    def __init__(self, data: bytes, notation: Notation, instead: Mapping[int, str]) -> None:
        self._data = data
        self._notation = notation
        self._instead = dict(instead)

    def tokens(self, node: Node, span: tuple[int, int]) -> Iterator[tuple[Node, str | None]]:
        """Yield the tokens, each with its text; None for a syntax error."""
        cursor = node.walk()
        for _ in range(limits.SOURCE_NODES):
            node = cursor.node or node
            if not (node.end_byte <= span[0] or node.start_byte >= span[1] or node.type in _COMMENTS):
                shown = self._written(node)
                if shown is not None or node.is_error or node.is_missing:
                    if shown != "":
                        yield node, shown
                elif cursor.goto_first_child():
                    continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return

    def _written(self, node: Node) -> str | None:
        """Return the text of a token, or of a node that is written as one; None for a node to descend into."""
        if node.is_error or node.is_missing:
            return None
        if node.id in self._instead:
            return self._instead[node.id]
        if node.type in self._notation.strings:
            literal = written(self._data, node)
            return LEFT_OUT if "\n" in literal or may_be_key(literal) else literal
        if node.child_count == 0:
            return written(self._data, node).strip()
        self._prepare(node, node.type)
        return None

    def _prepare(self, node: Node, kind: str) -> None:
        """Decide about tokens below `node` whose text depends on their surroundings."""
        notation = self._notation
        if kind in notation.defaults:
            self._hide_secret(node)
        if kind in notation.lists and (comma := _inside(node)[-2:-1]) and comma[0].type == ",":
            self._instead[comma[0].id] = ""
        for member, after in pairwise(_inside(node) if kind in notation.members else ()):
            if member.is_named and after.is_named:
                self._instead[member.id] = one_line(self._data, member, member.byte_range, notation) + ";"
        if kind in notation.leading and (first := first_child(node)) and first.type == notation.leading[kind]:
            self._instead[first.id] = ""

    def _hide_secret(self, node: Node) -> None:
        name = next(filter(None, map(node.child_by_field_name, _NAME_FIELDS)), None)
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        has_string = value is not None and _HAS_STRING.search(written(self._data, value))
        if value is not None and has_string and is_secret_name(text(self._data, name)):
            self._instead[value.id] = LEFT_OUT


def _inside(node: Node) -> list[Node]:
    return [child for child in children(node) if child.type not in _COMMENTS]

"""Signatures on one line: as they stand, without comments, needless commas and secrets.

Pure. What is longer than anybody reads gets shorter; what has a syntax error in it is not written at all.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

from contexthall.contexts.draft.syntax.parsing import LEFT_OUT, MOST_NODES, children, first_child, text, visible
from contexthall.core.secrets import is_secret_name, may_be_key

LONGEST_SIGNATURE = 400
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment"})
_NEEDS_CARE = re.compile(rb"[\n\r\t`#\\]|  |//|/\*|[=:(<,] ?[|&] |,[)\]>]")
_QUOTES = re.compile(rb"[\"']")
_HAS_STRING = re.compile(rb"[\"'`][^\"'`]")


class Notation(NamedTuple):
    """What has to be known of a grammar to write its signatures on one line."""

    strings: frozenset[str]
    lists: frozenset[str] = frozenset()
    """Where a comma after the last element means nothing."""
    members: frozenset[str] = frozenset()
    """Where a line's end separates as a semicolon does."""
    defaults: Mapping[str, tuple[str, str]] = {}
    """The fields that hold the name and the value of what has a default."""
    leading: Mapping[str, str] = {}
    """Nodes with the token that may lead them without a meaning."""


def signature(data: bytes, node: Node, notation: Notation, span: tuple[int, int]) -> str:
    """Write a signature, and a shorter one if it is longer than anybody reads: the parameters go first.

    Empty if there is a syntax error in it.
    """
    whole = one_line(data, node, span, notation)
    if len(whole) <= LONGEST_SIGNATURE:
        return whole
    parameters = node.child_by_field_name("parameters")
    if parameters is not None:
        shorter = one_line(data, node, span, notation, {parameters.id: f"({LEFT_OUT})"})
        if len(shorter) <= LONGEST_SIGNATURE:
            return shorter
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    end = span[1] if name is None else name.end_byte
    shortest = one_line(data, node, (span[0], end), notation) + (f"({LEFT_OUT})" if parameters else "")
    return shortest if len(shortest) <= LONGEST_SIGNATURE else ""


def one_line(
    data: bytes, node: Node, span: tuple[int, int], notation: Notation, instead: Mapping[int, str] = {}
) -> str:
    """Write what stands in `span` of `node` on one line; empty if there is a syntax error in it.

    `instead` has other words for some nodes, by their id.
    """
    if not instead and not node.has_error and (plain := _plain(data[span[0] : span[1]])) is not None:
        return plain
    line = _Line(data)
    for token, written in _SignatureTokens(data, notation, instead).tokens(node, span):
        if written is None:
            return ""
        line.add(token, written)
    return line.text()


def _plain(written: bytes) -> str | None:
    """Return a text as it stands if that will do; None if it takes a look at its tokens to tell."""
    if _NEEDS_CARE.search(written):
        return None
    plain = visible(written.decode("utf-8", "replace")).strip()
    if _QUOTES.search(written) and (is_secret_name(plain) or may_be_key(plain)):
        return None
    return plain


class _Line:
    """Tokens as they come, with one space where there was white space."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts: list[str] = []
        self._end: int | None = None

    def add(self, token: Node, written: str) -> None:
        if self._end is not None:
            self._parts.append(self._space(self._data[self._end : token.start_byte], written))
        self._parts.append(written)
        self._end = token.end_byte

    def _space(self, gap: bytes, written: str) -> str:
        """Return what stands between two tokens: brackets on lines of their own come back to their content."""
        if not gap:
            return ""
        is_plain = gap.isspace() and b"\n" not in gap
        touches = self._parts[-1] in {"(", "[", "<"} or written in {")", "]", ">", ",", ";"}
        return "" if touches and not is_plain else " "

    def text(self) -> str:
        return visible("".join(self._parts)).strip()


class _SignatureTokens:
    """Goes through the tokens of a signature, deciding about each what is shown of it."""

    def __init__(self, data: bytes, notation: Notation, instead: Mapping[int, str]) -> None:
        self._data = data
        self._notation = notation
        self._instead = dict(instead)

    def tokens(self, node: Node, span: tuple[int, int]) -> Iterator[tuple[Node, str | None]]:
        """Yield the tokens and what is written for them; None for a syntax error."""
        cursor = node.walk()
        for _ in range(MOST_NODES):
            node = cursor.node or node
            if not (node.end_byte <= span[0] or node.start_byte >= span[1] or node.type in _COMMENTS):
                written = self._written(node)
                if written is not None or node.is_error or node.is_missing:
                    if written != "":
                        yield node, written
                elif cursor.goto_first_child():
                    continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return

    def _written(self, node: Node) -> str | None:
        """Return the words for a token, or for a node that is shown as one; None for a node to look into."""
        if node.is_error or node.is_missing:
            return None
        kind = node.type
        if node.id in self._instead:
            return self._instead[node.id]
        if kind in self._notation.strings:
            return self._string(node)
        if node.child_count == 0:
            return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
        self._prepare(node, kind)
        return None

    def _string(self, node: Node) -> str:
        literal = self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return LEFT_OUT if "\n" in literal or may_be_key(literal) else literal

    def _prepare(self, node: Node, kind: str) -> None:
        """Decide about tokens below `node` that only their surroundings tell something about."""
        notation = self._notation
        if kind in notation.defaults:
            self._hide_secret(node, *notation.defaults[kind])
        if kind in notation.lists:
            self._drop_last_comma(node)
        if kind in notation.members:
            self._separate(node)
        if kind in notation.leading and (first := first_child(node)) and first.type == notation.leading[kind]:
            self._instead[first.id] = ""

    def _hide_secret(self, node: Node, name_field: str, value_field: str) -> None:
        name, value = node.child_by_field_name(name_field), node.child_by_field_name(value_field)
        if name is None or value is None:
            return
        written = self._data[value.start_byte : value.end_byte]
        if is_secret_name(text(self._data, name)) and _HAS_STRING.search(written):
            self._instead[value.id] = LEFT_OUT

    def _drop_last_comma(self, node: Node) -> None:
        last = [child for child in children(node) if child.type not in _COMMENTS][-2:]
        if last and last[0].type == ",":
            self._instead[last[0].id] = ""

    def _separate(self, node: Node) -> None:
        before = None
        for child in children(node):
            if child.type in _COMMENTS:
                continue
            if before is not None and before.is_named and child.is_named:
                self._instead[before.id] = one_line(self._data, before, before.byte_range, self._notation) + ";"
            before = child

"""Parsing of source code within limits, for the drafts of contexts and the documentation of packages.

Pure but for a clock: a file that is made to keep a parser busy is given up after a second of processor time, or where
the parser does not come back to us for more of it, after a few seconds.
"""

import re
import time
import warnings
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Point

from contexthall.core import limits

LEFT_OUT = "…"

Grammar = Callable[[], object]

_CHUNK_BYTES = 1 << 12
_BRACKETS = b"()[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))


class Piece(NamedTuple):
    """A stretch of a file with its tree; whatever is read from it must not outlive the loop that asked for it."""

    data: bytes
    root: Node
    is_damaged: bool

    def statements(self) -> Iterator[Node]:
        """Yield what stands at the top, without the debris that a syntax error leaves there."""
        for node in children(self.root):
            before = self.data[max(node.start_byte - 1, 0) : node.start_byte]
            if not self.is_damaged or (not node.is_error and before in {b"", b"\n", b"\r"}):
                yield node


def pieces(grammar: Grammar, data: bytes, starts: re.Pattern[bytes], most_bytes: int | None = None) -> Iterator[Piece]:
    """Parse `data`: as a whole if it is whole, else what is damaged from one match of `starts` to the next.

    Error recovery alone may bury the second half of a file in the statement that lacks a bracket.
    """
    data = data.removeprefix(BOM_UTF8)
    most_bytes = limits.DRAFTED_FILE_BYTES if most_bytes is None else most_bytes
    if not data or len(data) > most_bytes or b"\0" in data or _is_a_bracket_bomb(data):
        return
    deadline = time.thread_time() + limits.SOURCE_PROCESSOR_SECONDS
    root = _parse(grammar, data, deadline)
    if root is None:
        return
    cuts = _cuts(data, root, starts) if root.has_error else []
    if not cuts:
        yield Piece(data, root, is_damaged=root.has_error)
        return
    del root
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        part = _parse(grammar, data[start:end], deadline)
        if part is None or time.thread_time() > deadline:
            return
        yield Piece(data[start:end], part, is_damaged=part.has_error)


def _is_a_bracket_bomb(data: bytes) -> bool:
    """Return whether far more brackets are open than anybody writes: each costs the parser a kilobyte."""
    if len(data) <= limits.SMALL_SOURCE_BYTES:
        return False
    brackets = data.translate(None, _NOT_BRACKETS)
    for _ in range(limits.SOURCE_BRACKET_LEVELS):
        if len(brackets) <= limits.OPEN_BRACKETS:
            break
        brackets = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
    return len(brackets) > limits.OPEN_BRACKETS or data.count(b"<") - data.count(b">") > limits.OPEN_ANGLES


@cache
def _language(grammar: Grammar) -> Language:
    return Language(grammar())


def _parse(grammar: Grammar, data: bytes, deadline: float) -> Node | None:
    supply = _Supply(data, deadline) if len(data) > limits.SMALL_SOURCE_BYTES else None
    with warnings.catch_warnings():
        # What is recommended in place of a time-out, a callback, ends the process (tree-sitter 0.25.2 and 0.26.0).
        warnings.simplefilter("ignore", DeprecationWarning)
        # A parser is cheap to make, and one that two threads share is not safe: `_Supply` lets other threads run.
        parser = Parser(_language(grammar), timeout_micros=int(limits.SOURCE_CLOCK_SECONDS * 1e6))
    try:
        root = parser.parse(supply or data).root_node
    except ValueError:  # which is how it says that it gave up
        return None
    return None if supply is not None and supply.is_cut else root


class _Supply:
    """Hands a file to a parser until the deadline, then lets the file end where it was read to.

    Not where the parser happens to be: a file that ends before what was already read can crash the parser. The
    library's own progress callback does so always (tree-sitter 0.26).
    """

    def __init__(self, data: bytes, deadline: float) -> None:
        self._data = data
        self._deadline = deadline
        self._read = 0
        self.is_cut = False

    def __call__(self, offset: int, _point: Point) -> bytes:
        self.is_cut = self.is_cut or time.thread_time() > self._deadline
        end = offset + _CHUNK_BYTES
        if not self.is_cut:
            self._read = max(self._read, end)
        return self._data[offset : min(end, self._read)]


def _cuts(data: bytes, root: Node, starts: re.Pattern[bytes]) -> list[int]:
    """Find where statements begin that no whole statement encloses."""
    whole = [node.byte_range for node in children(root) if not node.has_error]
    begins, ends = [*(begin for begin, _ in whole), len(data)], [end for _, end in whole]
    places = (match.start() for match in starts.finditer(data))
    return [at for at in places if at and begins[bisect_right(ends, at)] >= at]


def first_child(node: Node) -> Node | None:
    """Return the first child of a node; None for one without any, such as what a syntax error leaves behind."""
    return node.child(0) if node.child_count else None


def first_named_child(node: Node) -> Node | None:
    """Return the first child that is no punctuation; None if there is none."""
    return node.named_child(0) if node.named_child_count else None


def body_start(node: Node, field: str = "body") -> int:
    """Return where the body of a node begins, or where a node without one ends."""
    body = node.child_by_field_name(field)
    return node.end_byte if body is None else body.start_byte


def children(node: Node) -> Iterator[Node]:
    """Yield a node's children without holding them all."""
    cursor = node.walk()
    if not cursor.goto_first_child():
        return
    for _ in range(limits.SOURCE_NODES):
        if cursor.node is not None:
            yield cursor.node
        if not cursor.goto_next_sibling():
            return


def written(data: bytes, node: Node) -> str:
    """Return a node as it is written."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def text(data: bytes, node: Node | None, field: str = "") -> str:
    """Return a node, or a field of it, as it is written; for names, which have no white space in them."""
    found = node.child_by_field_name(field) if node is not None and field else node
    return "" if found is None else visible(written(data, found))


def visible(text: str) -> str:
    """Leave out what a terminal or a reader could take for something else: control and direction characters."""
    return text if text.isascii() and text.isprintable() else text.translate(_INVISIBLE)


_INVISIBLE = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
)


def words(spaced: str) -> frozenset[str]:
    """Return the words of a text, for tables that would be long with one word a line."""
    return frozenset(spaced.split())

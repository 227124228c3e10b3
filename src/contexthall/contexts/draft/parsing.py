"""What do the readers of all languages share? Parsing within limits, and text that is fit to be shown.

Pure but for a clock: a file that is made to keep a parser busy is given up after `MOST_SECONDS` of processor time, or
where the parser does not come back to us for more of it, after a few seconds.
"""

import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Point

from contexthall.core.characters import known

MOST_BYTES = 1 << 20
"""A larger file is not parsed: people do not write those."""
MOST_SECONDS = 1.0
MOST_NODES = 20_000
"""Of one node's children, and of one signature's tokens; the rest is not looked at."""
DEEPEST = 16
"""So many levels of `if` and the like are looked into."""
LONGEST_SIGNATURE = 400
LONGEST_NAME = 200
LONGEST_DOC = 1000
LEFT_OUT = "…"

Grammar = Callable[[], object]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SMALL_BYTES = 1 << 14
_MOST_UNGUARDED_BYTES = 1 << 15
_CHUNK_BYTES = 1 << 12
_TIMEOUT_MICROSECONDS = 5_000_000
_OPEN_BRACKETS = 2000
_OPEN_ANGLES = 20_000
_BRACKET_LEVELS = 100
_BRACKETS = b"()[]{}"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))


class Piece(NamedTuple):
    """A stretch of a file with its tree; whatever is read from it must not outlive the loop that asked for it."""

    data: bytes
    root: Node
    is_damaged: bool

    def statements(self) -> Iterator[Node]:
        """Give what stands at the top, without the debris that a syntax error leaves there."""
        for node in children(self.root):
            if not self.is_damaged or (not node.is_error and self._begins_a_line(node)):
                yield node

    def _begins_a_line(self, node: Node) -> bool:
        return node.start_byte == 0 or self.data[node.start_byte - 1] in b"\n\r"


def pieces(grammar: Grammar, data: bytes, starts: re.Pattern[bytes]) -> Iterator[Piece]:
    """Parse `data`: as a whole if it is whole, else what is damaged from one match of `starts` to the next.

    Error recovery alone may bury the second half of a file in the statement that lacks a bracket.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data or not _is_parsable(data):
        return
    deadline = time.thread_time() + MOST_SECONDS
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


# The points of tree-sitter 0.26.0 hold on to freed memory (py-tree-sitter issue 472), so nothing here looks at one. A
# parser that asks for its text is handed points all the same, so there a smaller file is the only guard.
_ARE_POINTS_SOUND = not hasattr(Point, "edit")
# And what recovers from an error at every other byte may take minutes over what it has read long since.
_IS_GUARDED = _ARE_POINTS_SOUND and hasattr(Parser, "timeout_micros")


def _is_parsable(data: bytes) -> bool:
    most_bytes = MOST_BYTES if _IS_GUARDED else _MOST_UNGUARDED_BYTES
    return len(data) <= most_bytes and b"\0" not in data and not _is_a_bracket_bomb(data)


def _is_a_bracket_bomb(data: bytes) -> bool:
    """Say whether far more brackets are open than anybody writes: each costs the parser a kilobyte."""
    if len(data) <= _SMALL_BYTES:
        return False
    if data.count(b"<") - data.count(b">") > _OPEN_ANGLES:
        return True
    brackets = data.translate(None, _NOT_BRACKETS)
    for _ in range(_BRACKET_LEVELS):
        if len(brackets) <= _OPEN_BRACKETS:
            return False
        fewer = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    return len(brackets) > _OPEN_BRACKETS


@cache
def _language(grammar: Grammar) -> Language:
    return Language(grammar())


def _parse(grammar: Grammar, data: bytes, deadline: float) -> Node | None:
    # A parser is cheap to make, and one that two threads share is not safe: `_Supply` lets other threads run.
    if not _IS_GUARDED:
        return Parser(_language(grammar)).parse(data).root_node
    supply = _Supply(data, deadline) if len(data) > _SMALL_BYTES else None
    try:
        root = _impatient_parser(grammar).parse(supply or data).root_node
    except ValueError:  # which is how it says that it gave up
        return None
    return None if supply is not None and supply.is_cut else root


def _impatient_parser(grammar: Grammar) -> Parser:
    with warnings.catch_warnings():
        # What is recommended in its place, a callback, ends the process (tree-sitter 0.25.2 and 0.26.0).
        warnings.simplefilter("ignore", DeprecationWarning)
        return Parser(_language(grammar), timeout_micros=_TIMEOUT_MICROSECONDS)


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
        if not self.is_cut and time.thread_time() > self._deadline:
            self.is_cut = True
        end = offset + _CHUNK_BYTES
        if self.is_cut:
            return self._data[offset : min(end, self._read)]
        self._read = max(self._read, end)
        return self._data[offset:end]


def _cuts(data: bytes, root: Node, starts: re.Pattern[bytes]) -> list[int]:
    """Find where statements begin that no whole statement encloses."""
    whole = [(node.start_byte, node.end_byte) for node in children(root) if not node.has_error]
    cuts = []
    position = 0
    for match in starts.finditer(data):
        at = match.start()
        while position < len(whole) and whole[position][1] <= at:
            position += 1
        if at and not (position < len(whole) and whole[position][0] < at):
            cuts.append(at)
    return cuts


def first_child(node: Node) -> Node | None:
    """Give the first child of a node; None for one without any, such as what a syntax error leaves behind."""
    return node.child(0) if node.child_count else None


def first_named_child(node: Node) -> Node | None:
    """Give the first child that is no punctuation; None if there is none."""
    return node.named_child(0) if node.named_child_count else None


def children(node: Node) -> Iterator[Node]:
    """Give a node's children without holding them all."""
    cursor = node.walk()
    if not cursor.goto_first_child():
        return
    for _ in range(MOST_NODES):
        if cursor.node is not None:
            yield cursor.node
        if not cursor.goto_next_sibling():
            return


def text(data: bytes, node: Node | None) -> str:
    """Give a node as it is written; for names, which have no white space in them."""
    return "" if node is None else visible(data[node.start_byte : node.end_byte].decode("utf-8", "replace"))


def visible(text: str) -> str:
    """Leave out what a terminal or a reader could take for something else: control and direction characters."""
    return text if text.isascii() and text.isprintable() else text.translate(_INVISIBLE)


_INVISIBLE = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
)


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


_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment"})
_NEEDS_CARE = re.compile(rb"[\n\r\t`#\\]|  |//|/\*|[=:(<,] ?[|&] |,[)\]>]")
_QUOTES = re.compile(rb"[\"']")


def one_line(
    data: bytes, node: Node, span: tuple[int, int], notation: Notation, instead: Mapping[int, str] = {}
) -> str:
    """Write what stands in `span` of `node` on one line; empty if there is a syntax error in it.

    `instead` has other words for some nodes, by their id.
    """
    if not instead and not node.has_error and (plain := _plain(data[span[0] : span[1]])) is not None:
        return plain
    line = _Line(data)
    for token, written in _Walk(data, notation, instead).tokens(node, span):
        if written is None:
            return ""
        line.add(token, written)
    return line.text()


def _plain(written: bytes) -> str | None:
    """Give a text as it stands if that will do; None if it takes a look at its tokens to tell."""
    if _NEEDS_CARE.search(written):
        return None
    plain = visible(written.decode("utf-8", "replace")).strip()
    if _QUOTES.search(written) and (_SECRET_NAME.search(plain) or looks_like_a_key(plain)):
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
        """Say what stands between two tokens: brackets on lines of their own come back to their content."""
        if not gap:
            return ""
        is_plain = gap.isspace() and b"\n" not in gap
        touches = self._parts[-1] in {"(", "[", "<"} or written in {")", "]", ">", ",", ";"}
        return "" if touches and not is_plain else " "

    def text(self) -> str:
        return visible("".join(self._parts)).strip()


class _Walk:
    """Goes through the tokens of a signature, deciding about each what is shown of it."""

    def __init__(self, data: bytes, notation: Notation, instead: Mapping[int, str]) -> None:
        self._data = data
        self._notation = notation
        self._instead = dict(instead)

    def tokens(self, node: Node, span: tuple[int, int]) -> Iterator[tuple[Node, str | None]]:
        """Give the tokens and what is written for them; None for a syntax error."""
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
        """Give the words for a token, or for a node that is shown as one; None for a node to look into."""
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
        return LEFT_OUT if "\n" in literal or looks_like_a_key(literal) else literal

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
        if _SECRET_NAME.search(text(self._data, name)) and _HAS_STRING.search(written):
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


def signature(
    data: bytes,
    node: Node,
    notation: Notation,
    span: tuple[int, int],
    *,
    name: Node | None = None,
    parameters: Node | None = None,
) -> str:
    """Write a signature, and a shorter one if it is longer than anybody reads: the parameters go first.

    Empty if there is a syntax error in it.
    """
    whole = one_line(data, node, span, notation)
    if len(whole) <= LONGEST_SIGNATURE:
        return whole
    instead = {} if parameters is None else {parameters.id: f"({LEFT_OUT})"}
    shorter = one_line(data, node, span, notation, instead)
    if len(shorter) <= LONGEST_SIGNATURE:
        return shorter
    end = span[1] if name is None else name.end_byte
    shortest = one_line(data, node, (span[0], end), notation) + (f"({LEFT_OUT})" if parameters else "")
    return shortest if len(shortest) <= LONGEST_SIGNATURE else ""


_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|\bpw\b|bearer|salt\b|secret|token|credential|key(?!word|board)|auth(?!or(?!i[sz]))",
    re.IGNORECASE,
)
_HAS_STRING = re.compile(rb"[\"'`][^\"'`]")
_KEY_PREFIX = re.compile(
    r"sk-\w.{5}|[spr]k_(?:live|test)_|gh[opsur]_\w|github_pat_|glpat-|A[KS]IA[A-Z0-9]{4}|xox[a-z]-|eyJ\w|AIza\w|"
    r"ya29\.|npm_\w{8}|hf_\w{8}|pypi-\w{8}|-----BEGIN|[?&]\w*(?:key|token|secret)\w*=|\w+://[^/@\s:]*:[^/@\s]+@"
)
_WORD = re.compile(r"[\w+/=-]{20,}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F-]+")
_RANDOM_BITS = 3.0
"""Per character: text that was drawn by lot has more, words that are repeated or filled up have less."""


def looks_like_a_key(literal: str) -> bool:
    """Say whether a string may be a credential: by a well-known beginning, or because it seems drawn by lot."""
    return bool(_KEY_PREFIX.search(literal)) or any(_is_random(word) for word in _WORD.findall(literal[:4096]))


def _is_random(word: str) -> bool:
    has_digits = any(character.isdigit() for character in word)
    has_both_cases = word.lower() != word != word.upper()
    is_solid = word.isalnum() and sum(map(str.isdigit, word)) * 8 >= len(word)
    if not has_digits or word.isdigit() or not (has_both_cases or is_solid or _HEX.fullmatch(word)):
        return False
    counts = Counter(word).values()
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts) >= _RANDOM_BITS


_RULE = re.compile(r"([=~^*#+`_\"'-])\1{2,}")
_TITLE = re.compile(r"#{1,6}\s+(.*)")
_NO_PROSE = ("[![", "![", "<", ".. ", "```", "|", ">>>", "#![", "[//]", "$ ")
_SECTIONS = re.compile(
    r"(?::(?:param|parameter|arg|type|returns?|rtype|raises?|var|ivar|copyright|license)\b.*:|"
    r"(?:args|arguments|parameters|params|returns?|raises|yields|attributes|example|examples|usage):$|>>>|```|\.\. |@)",
    re.IGNORECASE,
)
_KEPT_TAG = re.compile(r"@(?:file(?:overview)?|desc(?:ription)?|summary|overview|remarks)\b:?\s*", re.IGNORECASE)
_EMPTY_TAG = re.compile(r"@(?:packageDocumentation|module\b.*|flow\b.*|ts-\w+.*|jest-.*|vitest-.*)")
_INLINE_TAG = re.compile(r"\{@\w+\s+([^\s}|]+)[\s|]*([^}]*)\}")


_ROLE = re.compile(r":[a-z:+-]+:`(~?)([^`<]*?)(?:\s*<[^`>]*>)?`(?:\\ ?)?")


def _role(match: re.Match[str]) -> str:
    """Give what a reference is shown as: its last name if it begins with a tilde."""
    return f"`{match[2].rsplit('.', 1)[-1] if match[1] else match[2]}`"


def prose(written: str) -> str:
    """Give the first paragraph that says something, on one line; a title only if there is nothing else."""
    title = ""
    for paragraph in _paragraphs(known(written[: 16 * LONGEST_DOC])):
        heading, lines = _without_heading(paragraph)
        title = title or heading
        said = _until_section(lines)
        if said and not said[0].startswith(_NO_PROSE):
            return _shortened(" ".join(said))
        if len(said) < len(lines) and lines[len(said)].startswith(("@", ":")):
            break  # what follows is about a parameter or the like
    return _shortened(title)


def _paragraphs(written: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in written.splitlines():
        stripped = _KEPT_TAG.sub("", line.strip(), count=1) if "@" in line else line.strip()
        if _EMPTY_TAG.fullmatch(stripped):
            continue
        if stripped:
            lines.append(stripped)
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def _without_heading(lines: list[str]) -> tuple[str, list[str]]:
    if _RULE.fullmatch(lines[0]):
        lines = lines[1:]
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return lines[0], lines[2:]
    if lines and (match := _TITLE.fullmatch(lines[0])):
        return match[1], lines[1:]
    return "", lines


def _until_section(lines: list[str]) -> list[str]:
    for position, line in enumerate(lines):
        if _SECTIONS.match(line) or _RULE.fullmatch(line):
            return lines[:position]
    return lines


def _shortened(said: str) -> str:
    if "{@" in said:
        said = _INLINE_TAG.sub(lambda match: match[2].strip() or match[1], said)
    if ":`" in said:
        said = _ROLE.sub(_role, said)
    said = visible(" ".join(said.split()))
    if len(said) <= LONGEST_DOC:
        return said
    return said[:LONGEST_DOC].rsplit(" ", 1)[0] + " " + LEFT_OUT


_LINE_MARK = re.compile(r"//[/!]?|#")
_BLOCK_MARK = re.compile(r"\s*\*+(?:\s|$)?")
_DIRECTIVE = re.compile(r"//(?:go:|nolint|line |export |\s*\+build\b|\s*(?:eslint|tslint|prettier|biome|@ts-))")
_LICENCE = re.compile(
    r"copyright|licen[cs]ed? |@licen[cs]e|@preserve|SPDX-|all rights reserved|©|permission is hereby|"
    r"code generated .* do not edit",
    re.IGNORECASE,
)


def comment_prose(comments: Sequence[str]) -> str:
    """Give what comments that stand together say, without their marks."""
    return prose("\n".join(_bare(comment) for comment in comments if not _DIRECTIVE.match(comment)))


def _bare(comment: str) -> str:
    if not comment.startswith("/*"):
        return _LINE_MARK.sub("", comment.rstrip(), count=1)
    inside = comment.removeprefix("/*").removesuffix("*/").lstrip("*!")
    return "\n".join(_BLOCK_MARK.sub("", line, count=1) for line in inside.splitlines())


def is_licence(comment: str) -> bool:
    """Say whether a comment is about who owns the file rather than about what it does."""
    return _LICENCE.search(known(comment[:4096])) is not None


class Comments:
    """The comments that stand directly above the next statement."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._nodes: list[Node] = []

    def add(self, node: Node) -> None:
        if self._nodes and is_apart(self._data, self._nodes[-1], node):
            self._nodes.clear()
        self._nodes.append(node)

    def above(self, node: Node) -> list[str]:
        """Give what stands directly above `node`, and forget it."""
        nodes, self._nodes = self._nodes, []
        if not nodes or is_apart(self._data, nodes[-1], node):
            return []
        return [self._data[comment.start_byte : comment.end_byte].decode("utf-8", "replace") for comment in nodes]


def is_apart(data: bytes, upper: Node, lower: Node) -> bool:
    """Say whether there is an empty line between two nodes, the upper of which may hold its own line's end."""
    end = upper.end_byte
    if end and data[end - 1] == ord("\n"):
        end -= 1
    return data.count(b"\n", end, lower.start_byte) > 1


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Give each name once, in order."""
    return tuple(dict.fromkeys(name for name in names if name and len(name) <= LONGEST_NAME))

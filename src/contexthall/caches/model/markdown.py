"""Finds the headings of Markdown, as CommonMark has them at the top level of a document. Pure.

markdown-it-py decides. To parse every page would take a build several times as long, and most pages hold nothing that
is hard to decide: where every line that matters begins in the first column, one search finds the same headings.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from contexthall.caches.model.page import LINE_END

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

WHITE = " \t\f\v\r\n"
"""What blank lines consist of."""

# A line that may begin or end something: a heading, a fence, HTML, the underline of a heading.
_MATTERS = re.compile(r"^ {0,3}(?:(#)|(`{3,})[^`\n]*$|(~{3,})|<[A-Za-z/!?]|(=+|-+)[ \t]*$)", re.MULTILINE)
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_ATTRIBUTES = re.compile(r"\{(?:[ \t]*#[^{}\s]+[ \t]*|:[^{}]*)\}[ \t]*$")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)")
_BLANKS = re.compile(r"[ \t\r\n]+")


class Heading(NamedTuple):
    """A heading: where its own lines begin and end, its level, its text without markup that is no text."""

    start: int
    end: int
    level: int
    text: str


def is_blank(text: str) -> bool:
    """Return whether a line, or several, show nothing."""
    return not text.strip(WHITE)


def heading_text(text: str, *, atx: bool = False) -> str:
    """Return the text of a heading: without attributes, links reduced to their text, for ATX without closing `#`."""
    plain = _without_closing(text) if atx else text
    if attributes := _ATTRIBUTES.search(plain):
        plain = plain[: attributes.start()]
        plain = _without_closing(plain) if atx else plain
    while (reduced := _LINK.sub(r"\1", plain)) != plain:
        plain = reduced
    return _BLANKS.sub(" ", plain).strip(" ")


def _without_closing(text: str) -> str:
    # No regular expression: one that begins with blanks is quadratic in them.
    before = text.rstrip(" \t").rstrip("#")
    return before if before.endswith((" ", "\t")) or not before else text


def headings(text: str) -> list[Heading]:
    """Return the headings of Markdown without front matter."""
    found = None if "\r" in text or "\0" in text else _plain_headings(text)
    return list(_parsed_headings(text)) if found is None else found


def fences(text: str) -> list[range]:
    """Return where the fenced code of Markdown lies, nested in lists and quotes or not."""
    lines, tokens = _line_starts(text), _parser().parse(text)
    return [range(lines[token.map[0]], lines[token.map[1]]) for token in tokens if token.type == "fence" and token.map]


def _plain_headings(text: str) -> list[Heading] | None:
    """Return the headings, if all that matters begins in the first column; None if it takes a parser to tell."""
    found: list[Heading] = []
    at = 0
    while match := _MATTERS.search(text, at):
        start, (hash_sign, backticks, tildes, underline) = match.start(), match.groups()
        at = text.find("\n", start) + 1 or len(text)
        if underline:  # of a heading, if a paragraph stands above it; else a break, or a bullet
            if text[text.rfind("\n", 0, max(0, start - 1)) + 1 : start].strip(" \t\n"):
                return None
        elif text[start] not in "#`~":
            return None
        elif hash_sign:
            if heading := _ATX.fullmatch(text[start:at].rstrip("\n")):
                found.append(Heading(start, at, len(heading[1]), heading_text(heading[2] or "", atx=True)))
        else:
            fence = backticks or tildes
            closed = _closing_fence(fence[0], len(fence)).search(text, at)
            at = closed.end() if closed else len(text)
    return found


@cache
def _closing_fence(mark: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"^ {{0,3}}{mark}{{{length},}}[ \t]*$\n?", re.MULTILINE)


def _parsed_headings(text: str) -> Iterator[Heading]:
    lines = _line_starts(text)
    for token in _parser().parse(text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, last = token.map
            is_atx = token.markup.startswith("#")
            inside = text[lines[first] : lines[last if is_atx else last - 1]].rstrip("\r\n")
            atx = _ATX.fullmatch(inside) if is_atx else None
            plain = heading_text(atx[2] or "", atx=True) if atx else heading_text(inside)
            yield Heading(lines[first], lines[last], int(token.tag[1:]), plain)


def _line_starts(text: str) -> list[int]:
    """Return where each line begins, and where the last one ends."""
    return [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 50 ms, and only builds and scans parse

    # By default, a heading after ten nested lists is lost.
    return MarkdownIt("commonmark", {"maxNesting": 100}).disable("inline")

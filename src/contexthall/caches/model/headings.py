r"""Finds the headings of a text, by the rules of its markup (`headings-1`). Pure.

Offsets count characters. Lines end at `\n`, `\r\n` and `\r`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from contexthall.caches.model import markdown
from contexthall.caches.model.markdown import Heading, heading_text, is_blank
from contexthall.caches.model.page import LINE_END

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_COMMENT = ".. "
_TWO_BLANKS = re.compile(r"[ \t]{2}")
_ALWAYS_LONG_ENOUGH = 4
_TEXT_UNDERLINE = 3

_TAG_LINE = re.compile(r"(?:(?<=[\r\n])|\A)[ \t]*<[^\r\n]*>[ \t]*(?=[\r\n]|\Z)")
_IN_TAG = r"""(?:"[^"]*"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|[^<>"'{}])*+"""
_JSX_TAG = re.compile(rf"</?(?:[A-Za-z_$][\w$.:-]*(?:[\s/]{_IN_TAG})?)?>")
_ASCIIDOC_HEADING = re.compile(r"(={1,6}) (.*)")
_ASCIIDOC_CODE = "```"
_ASCIIDOC_DELIMITER = re.compile(r"(-|\.|=|\*|_|\+|/)\1{3,}|--|[|,:!]={3,}|```(?!`).*")


class Line(NamedTuple):
    """A line without its end, and where it begins and its end ends."""

    text: str
    start: int
    end: int


def headings_of(text: str, start: int, suffix: str) -> list[Heading]:
    """Return the headings of a text from a file with this ending; it begins at `start`, after front matter."""
    found = _FINDERS[suffix](text[start:]) if suffix in _FINDERS else ()
    return [Heading(each.start + start, each.end + start, each.level, each.text) for each in found]


def fences_of(text: str, start: int, suffix: str) -> list[range]:
    """Return where code lies that should not be cut at a blank line."""
    if suffix in MARKDOWN:
        found = markdown.fences(_as_markdown(text[start:], suffix))
    else:
        found = _asciidoc_blocks(text[start:]) if _FINDERS.get(suffix) is _asciidoc else []
    return [range(each.start + start, each.stop + start) for each in found]


def _as_markdown(text: str, suffix: str) -> str:
    """Return what CommonMark sees; in MDX, a line that is only a tag counts as blank."""
    return _TAG_LINE.sub(_without_jsx, text) if suffix == ".mdx" else text


def _without_jsx(line: re.Match[str]) -> str:
    return " " * len(line[0]) if _JSX_TAG.fullmatch(line[0].strip(" \t")) else line[0]


def _plain(text: str) -> Iterator[Heading]:
    return _underlined(text, shortest=_TEXT_UNDERLINE, is_title=lambda title: not _TWO_BLANKS.search(title))


def _asciidoc(text: str) -> Iterator[Heading]:
    for line, match in _asciidoc_lines(text):
        if match:
            text = match[2].rstrip(" \t").removesuffix(f" {match[1]}")  # `== Title ==`
            yield Heading(line.start, line.end, len(match[1]), heading_text(text))


def _asciidoc_blocks(text: str) -> list[range]:
    """Return the lines of delimited blocks."""
    return [range(line.start, line.end) for line, match in _asciidoc_lines(text) if match is None]


def _asciidoc_lines(text: str) -> Iterator[tuple[Line, re.Match[str] | None]]:
    """Yield the headings, and every line of a delimited block; one that is never closed goes to the end."""
    closing = ""
    for line in _lines(text):
        stripped = line.text.rstrip(" \t")
        if closing:
            yield line, None
            closing = "" if stripped == closing else closing
        elif _ASCIIDOC_DELIMITER.fullmatch(stripped):
            yield line, None
            closing = _ASCIIDOC_CODE if stripped.startswith(_ASCIIDOC_CODE) else stripped
        elif match := _ASCIIDOC_HEADING.fullmatch(line.text):
            yield line, match


def _lines(text: str) -> list[Line]:
    edges = [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]
    return [Line(text[start:end].rstrip("\r\n"), start, end) for start, end in pairwise(edges) if start < end]


def _underlined(
    text: str, *, shortest: int = 1, is_title: Callable[[str], bool] = lambda _title: True
) -> Iterator[Heading]:
    """Yield the headings that are marked by an adornment below them, and maybe one above."""
    lines = _lines(text)
    levels: dict[tuple[str, bool], int] = {}
    at, may_begin = 0, True
    while at < len(lines):
        overlined = _is_overlined(lines, at)
        title = at + overlined
        if may_begin and _is_underlined(lines, title, overlined, shortest) and is_title(lines[title].text.strip(" \t")):
            underline = lines[title + 1].text
            level = levels.setdefault((underline[0], overlined), len(levels) + 1)
            yield Heading(lines[at].start, lines[title + 1].end, level, heading_text(lines[title].text))
            at, may_begin = title + 2, True
        else:
            may_begin = is_blank(lines[at].text) or lines[at].text.startswith(_COMMENT)
            at += 1


def _is_overlined(lines: Sequence[Line], at: int) -> bool:
    """Return whether the line at `at` is an overline: equal to the line after the next, as long as the title."""
    if at + 2 >= len(lines) or not _ADORNMENT.fullmatch(lines[at].text):
        return False
    over, title, under = (line.text.rstrip(" \t") for line in lines[at : at + 3])
    return over == under and len(over) >= len(title)


def _is_underlined(lines: Sequence[Line], at: int, overlined: bool, shortest: int) -> bool:
    """Return whether the line at `at` is a title with an adornment below it."""
    if at + 1 >= len(lines):
        return False
    title, under = lines[at].text.rstrip(" \t"), lines[at + 1].text.rstrip(" \t")
    if is_blank(title) or _ADORNMENT.fullmatch(title) or title.startswith(_COMMENT):
        return False
    if not _ADORNMENT.fullmatch(under) or len(under) < shortest:
        return False
    is_flush = overlined or title[0] not in " \t"
    return is_flush and (len(under) >= len(title) or len(under) >= _ALWAYS_LONG_ENOUGH)


MARKDOWN = frozenset(
    {
        *(".md", ".markdown", ".mdx", ".html", ".htm", ".xhtml", ".ipynb"),
        *(".pdf", ".docx", ".pptx", ".epub", ".eml", ".msg"),
    }
)
"""The endings of files that are Markdown, or that are converted to it."""
_FINDERS: dict[str, Callable[[str], Iterable[Heading]]] = {
    **dict.fromkeys(MARKDOWN, markdown.headings),
    ".mdx": lambda text: markdown.headings(_as_markdown(text, ".mdx")),
    ".rst": _underlined,
    ".rest": _underlined,
    ".txt": _plain,
    ".adoc": _asciidoc,
    ".asciidoc": _asciidoc,
}

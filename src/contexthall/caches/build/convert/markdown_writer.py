"""Writes Markdown block by block: paragraphs, headings, code, lists, tables. Pure.

Text that Markdown would take for something else, such as a paragraph that begins with `#`, is escaped at the start of
its line; inside a line it stays as it is.
"""

import re
from collections.abc import Sequence

from contexthall.core import limits

_BLANKS = re.compile(r"[ \t\n\f\v\xa0]+")
_UNSEEN = str.maketrans("", "", "\u200b\u00ad\ufeff")
_AROUND_BREAK = re.compile(r" *\n[ \n]*")
_SPACES = re.compile(r" {2,}")
_BACKTICKS = re.compile(r"`+")
_MISREAD = re.compile(
    r"#{1,6}(?: |$)|[>|]|[-+*](?: |$)|`{3}|~{3}|<[A-Za-z/!?]|[=_*+-]+ *$|(?:[*_-] *){3,}$|\[[^\]]+\]:"
)
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?= |$)")
_SEPARATORS = ("|", "-", "–", "—", "·", "•")
_CLOSING = re.compile(r"(?<= )(#+)$")


def squeeze(text: str) -> str:
    """Return a text on one line, without what nobody sees."""
    return _BLANKS.sub(" ", text.translate(_UNSEEN)).strip(" ")


def inline_code(text: str) -> str:
    """Return code for the middle of a line."""
    code = squeeze(text)
    if not code:
        return ""
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(code)), default=0) + 1)
    return f"{fence} {code} {fence}" if code[0] == "`" or code[-1] == "`" else f"{fence}{code}{fence}"


def fenced(code: str, language: str = "") -> str:
    """Return a block of code, in a fence that nothing in it can close."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


class _Container:
    """A list item or a quote: what stands before its first line, and before all others."""

    def __init__(self, first: str, rest: str) -> None:
        self.first, self.rest = first, rest
        self.is_begun = False


class MarkdownWriter:
    """Collects text, and turns it into blocks."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._text: list[str] = []
        self._code_from: int | None = None
        self._containers: list[_Container] = []
        self._too_deep = 0
        """In how many more items we are, which are not indented any further."""
        self._begins_item = False
        self._table: list[list[str]] | None = None
        self._columns = 0
        self._lines = 0
        """In how many things we are that fit into a line."""
        self._resumed: tuple[int, str] | None = None
        self._first_heading = ""
        self._titles = 0
        """How many headings are of the first level."""

    def to_text(self, title: str) -> str:
        """Return everything; under `title`, unless the first heading says it, or one is alone on the first level."""
        self.end_block()
        first = self._first_heading
        is_titled = (self._titles == 1 or (first and first in title)) and not _is_site_name(first, title)
        if title and not is_titled:
            self._blocks.insert(0, f"# {_heading(title)}\n")
        return "\n".join(self._blocks).strip("\n") + "\n" if self._blocks else ""

    def add_text(self, text: str) -> None:
        self._text.append(_BLANKS.sub(" ", text.translate(_UNSEEN)))

    def add_break(self) -> None:
        self._text.append(" " if self._table is not None or self._lines else "\n")

    def open_code(self) -> None:
        if self._code_from is None:
            self._code_from = len(self._text)

    def close_code(self) -> None:
        """End code that is part of a line; what follows is text."""
        if self._code_from is not None:
            self._wrap_code()
            self._code_from = None

    @property
    def mark(self) -> int:
        """Where the next text will be."""
        return len(self._text)

    def add_link(self, mark: int, address: str) -> None:
        """Make a link of what was added since `mark`, unless a block ended meanwhile."""
        text = squeeze("".join(self._text[mark:]))
        if text and text != address and self._code_from is None:
            self._text[mark:] = [f"[{text}]({address})"]

    def end_block(self) -> None:
        """End a paragraph; in a table, a word."""
        if self._table is not None or self._lines:
            self._text.append(" ")
            return
        if self._code_from is not None:
            self._wrap_code()
            self._code_from = 0
        lines = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", "".join(self._text))).strip(" \n")
        self._text = []
        if lines:
            self.add_block("\n".join(map(_escaped, lines.split("\n"))))

    def add_block(self, block: str) -> None:
        """Write a block as it is, into the innermost list item or quote."""
        if self._resumed:
            self._write_heading(*self._resumed)
        inner = next((each for each in reversed(self._containers) if each.first != each.rest), None)
        begins = inner is not None and not inner.is_begun
        if self._blocks and not (begins and self._begins_item):
            self._blocks.append("".join(each.rest for each in self._containers if each.is_begun).rstrip(" "))
        first = "".join(each.rest if each.is_begun else each.first for each in self._containers)
        rest = "".join(each.rest for each in self._containers)
        head, *tail = block.split("\n")
        self._blocks += [first + head, *(f"{rest}{line}" if line else rest.rstrip(" ") for line in tail)]
        for each in self._containers:
            each.is_begun = True
        self._begins_item = begins

    def add_code(self, code: str, language: str) -> None:
        """Write a block of code; in a table, code in a line."""
        if self._table is not None:
            self._text.append(inline_code(code))
            return
        self.end_block()
        text = code.replace("\xa0", " ").rstrip().strip("\n")
        if text:
            self.add_block(fenced(text, language))

    def add_heading(self, level: int, text: str) -> None:
        """Write a heading, which ends all lists and quotes."""
        self.end_block()
        if text:
            self._first_heading = self._first_heading or text
            self._titles += level == 1
            self._write_heading(level, text)

    def resume_section(self, level: int, text: str) -> None:
        """Repeat a heading before what follows, unless that has one of its own; no text: there is none to repeat."""
        self._resumed = (level, text) if 0 < len(text) <= limits.REPEATED_HEADING_CHARACTERS else None

    def _write_heading(self, level: int, text: str) -> None:
        containers, self._containers, self._resumed = self._containers, [], None
        self.add_block(f"{'#' * level} {_heading(text)}")
        self._containers = containers

    def open_item(self, marker: str) -> None:
        self._open(marker, " " * len(marker))

    def open_quote(self) -> None:
        self._open("> ", "> ")

    def _open(self, first: str, rest: str) -> None:
        self.end_block()
        if len(self._containers) < limits.CONVERTED_LIST_LEVELS:
            self._containers.append(_Container(first, rest))
        else:
            self._too_deep += 1

    def close_item(self) -> None:
        """End a list item or a quote."""
        self.end_block()
        if self._too_deep:
            self._too_deep -= 1
        else:
            self._containers.pop()

    def open_line(self) -> None:
        """Begin something in which blocks are words of one line."""
        self.end_block()
        self._lines += 1

    def close_line(self) -> None:
        self._lines -= 1
        self.end_block()

    def open_table(self, columns: int = 0) -> None:
        """Begin a table; if it has so many columns, its rows need not be begun."""
        self.end_block()
        self._table, self._columns = [], columns

    def add_row(self) -> None:
        if self._table is not None:
            self._table.append([])

    def close_cell(self, columns: int = 1) -> None:
        if self._table is not None:
            cell = squeeze("".join(self._text)).replace("|", "\\|")
            if not self._table or (self._columns and len(self._table[-1]) >= self._columns):
                self._table.append([])
            self._table[-1] += [cell, *([""] * (columns - 1))]
            self._text = []

    def close_table(self) -> None:
        """Write a table; its first row is its head."""
        rows = [row for row in self._table or () if any(row)]
        self._table, self._text = None, []
        if not rows:
            return
        width = max(map(len, rows))
        head = rows[0] + [""] * (width - len(rows[0]))
        lines = [_row(head), "|" + " --- |" * width, *map(_row, rows[1:])]
        self.add_block("\n".join(lines))

    def _wrap_code(self) -> None:
        assert self._code_from is not None
        code = inline_code("".join(self._text[self._code_from :]))
        self._text[self._code_from :] = [code]


def _is_site_name(heading: str, title: str) -> bool:
    """Return whether a title names a page and then, as this heading does, the site."""
    page = title[: -len(heading)].rstrip() if heading and title.lower().endswith(heading.lower()) else ""
    return page.endswith(_SEPARATORS)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _heading(text: str) -> str:
    return _CLOSING.sub(r"\\\1", text)


def _escaped(line: str) -> str:
    if _MISREAD.match(line):
        return f"\\{line}"
    return _NUMBERED.sub(r"\1\\\2", line, count=1) if line[:1].isdigit() and _NUMBERED.match(line) else line

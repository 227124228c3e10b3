"""What does a page of HTML say, in Markdown, and under which heading is each of its anchors?

For benchmarks over documentation that is published as HTML only: headings, paragraphs, code, list items and tables
stay, navigation goes. Inline markup other than code is dropped.
"""

import re
from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
NAVIGATION_TAGS = {"head", "nav", "form", "script", "style"}
NAVIGATION_CLASSES = {
    *("navheader", "navfooter", "toc"),
    *("related", "sphinxsidebar", "mobile-nav", "footer", "headerlink", "highlight-copy"),
}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {"p", "div", "section", "dl", "dt", "dd", "ul", "ol", "li", "blockquote", "table", "pre", "hr", "br"}
CODE = {"code", "tt", "kbd", "samp"}

# What CommonMark would read as a heading, a fence or the start of raw HTML.
_MISREAD = re.compile(r"[#<]|```|~~~")


class Page(NamedTuple):
    """A page's Markdown, and the heading above each of its anchors ("" before the first)."""

    markdown: str
    headings: dict[str, str]


def convert(html: str) -> Page:
    converter = _Converter()
    converter.feed(html)
    converter.close()
    return converter.page()


class _Converter(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[str] = []
        self._text: list[str] = []
        self._skipping = 0
        self._lists = 0
        self._marker = ""
        self._code = 0
        self._pre = False
        self._in_heading = False
        self._heading = ""
        self._rows: list[list[str]] = []
        self._tables = 0
        self._anchors: dict[str, str] = {}
        self._waiting: list[str] = []

    def page(self) -> Page:
        self._flush()
        self._settle_anchors()
        return Page("\n\n".join(self._blocks) + "\n", self._anchors)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if self._skipping or tag in NAVIGATION_TAGS or NAVIGATION_CLASSES & set((named.get("class") or "").split()):
            self._skipping += tag not in VOID
            return
        self._waiting += [name for name in (named.get("id"), named.get("name") if tag == "a" else None) if name]
        if tag in HEADINGS or tag in BLOCKS:
            self._flush()
        self._start(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self._skipping:
            self._skipping -= 1
            return
        if tag in HEADINGS:
            self._end_heading(HEADINGS[tag])
        elif tag in CODE and self._code:
            self._backtick()
            self._code -= 1
        elif tag in {"td", "th"} and self._tables == 1 and self._rows:
            self._rows[-1].append(self._line().replace("|", r"\|"))
        elif tag in BLOCKS:
            self._flush()
            self._end_block(tag)

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        if data.strip() and not self._in_heading:
            self._settle_anchors()
        self._text.append(data)

    def _start(self, tag: str) -> None:
        match tag:
            case "ul" | "ol":
                self._lists += 1
            case "li":
                self._marker = "- "
            case "pre":
                self._pre = True
            case "table":
                self._tables += 1
            case "tr" if self._tables == 1:
                self._rows.append([])
            case "td" | "th" if self._tables == 1 and self._rows:
                self._text = []
            case _ if tag in CODE:
                self._code += 1
                self._backtick()
            case _ if tag in HEADINGS:
                self._in_heading = True

    def _end_block(self, tag: str) -> None:
        match tag:
            case "ul" | "ol":
                self._lists = max(0, self._lists - 1)
            case "li":
                self._marker = ""
            case "pre":
                self._pre = False
            case "table":
                self._tables -= 1
                if not self._tables:
                    self._end_table()

    def _end_heading(self, level: int) -> None:
        self._in_heading = False
        self._heading = self._line()
        self._settle_anchors()
        if self._heading:
            self._blocks.append(f"{'#' * level} {self._heading}")

    def _end_table(self) -> None:
        rows = ["| " + " | ".join(row) + " |" for row in self._rows if any(row)]
        if rows:
            columns = rows[0].count(" | ") + 1
            self._blocks.append("\n".join([rows[0], "|" + " --- |" * columns, *rows[1:]]))
        self._rows = []

    def _flush(self) -> None:
        """End the paragraph, code block or list item that is being read; in a table or a heading all is one line."""
        if self._tables or self._in_heading:
            self._text.append(" ")
        elif self._pre:
            self._add_fence("".join(self._text).strip("\n"))
            self._text = []
        elif line := self._line():
            escape = "\\" if _MISREAD.match(line) else ""
            self._blocks.append(self._indent() + escape + line)

    def _add_fence(self, code: str) -> None:
        if code.strip():
            longest = max((len(run) for run in re.findall("`+", code)), default=0)
            fence = "`" * max(3, longest + 1)
            self._blocks.append(f"{fence}\n{code}\n{fence}")

    def _indent(self) -> str:
        if not self._lists:
            return ""
        marker, self._marker = self._marker or "  ", ""
        return "  " * (self._lists - 1) + marker

    def _line(self) -> str:
        line = " ".join("".join(self._text).split())
        self._text = []
        return line

    def _backtick(self) -> None:
        if self._code == 1 and not self._pre and not self._in_heading:
            self._text.append("`")

    def _settle_anchors(self) -> None:
        for name in self._waiting:
            self._anchors.setdefault(name, self._heading)
        self._waiting = []

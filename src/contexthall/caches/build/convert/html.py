"""HTML as Markdown: headings, lists, code and tables stay; navigation, scripts and decoration go. Pure.

What is kept is the main part of a page, if it names one. Links to other sites keep their address, images the words
that stand for them. Emphasis is dropped. A heading ends every list, quote and table that it is in, so that each becomes
the beginning of a section.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from contexthall.caches.build.convert.html_rules import (
    PageRules,
    is_code_block,
    is_listing,
    is_name,
    is_signature,
    is_signature_line,
    is_table_cell,
    language_of,
    table_columns,
)
from contexthall.caches.build.convert.html_tree import BLOCKS, Element, Node, parse_html
from contexthall.caches.build.convert.markdown_writer import MarkdownWriter, inline_code, squeeze
from contexthall.core import limits

_CODE = frozenset({"code", "tt", "kbd", "samp"})
_BULLETS = frozenset({"ul", "menu", "dir"})
_ELSEWHERE = ("http://", "https://")
_LINK_SIGNS = " ¶§🔗"
_LOWEST_LEVEL = 6
_TEX = "tex"


def html_to_markdown(text: str) -> str:
    """Return what a page of HTML says."""
    nodes = parse_html(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"))
    return _Renderer(nodes).render()


class _Renderer:
    """Walks over the elements of a page, and writes what they mean."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._rules = PageRules(nodes)
        self._writer = MarkdownWriter()
        self._open: list[tuple[int, Callable[[], None]]] = []
        """Where open elements end, and what happens then."""
        self._numbers: list[int | None] = []
        """Of each open list, the number of the next item; None for bullets."""
        self._terms: list[bool | None] = []
        """Of each open list of terms, whether the item of a term is open; None if its terms are no items."""
        self._tables: list[str] = []
        """Of each open table, its kind."""
        self._language = 0, ""
        """Where the last element ends that names a language, and which."""
        self._level = 0
        """Of the last heading that is no signature."""
        self._signature = ""
        self._section = 0, ""
        """Level and text of the last heading."""
        self._sections: list[tuple[int, str]] = []
        """Of each open list of terms, the heading that it is under."""

    def render(self) -> str:
        at, end = self._rules.main_part()
        while at < end:
            node = self._nodes[at]
            if isinstance(node, str):
                self._writer.add_text(node)
                at += 1
            else:
                at = self._enter(node, at)
            while self._open and self._open[-1][0] <= at:
                self._open.pop()[1]()
        title = self._rules.page_title()
        return self._writer.to_text("" if title is None else squeeze(self._text(title)))

    def _enter(self, element: Element, at: int) -> int:
        """Write what an element means; return where to go on: inside it, or after it if all is written."""
        tag = element.tag
        if self._rules.is_dropped(at):
            return element.end
        if self._rules.heading_level(at):
            if tag == "dt" and not is_signature(element):
                return self._add_terms(at)
            self._add_heading(element, at)
        elif is_code_block(element):
            self._writer.add_code(self._code(at), self._code_language(element, at))
        elif tag in {"br", "img", "math"}:
            self._add_inline(element, at)
        else:
            self._open_element(element, at)
            return at + 1
        return element.end

    def _open_element(self, element: Element, at: int) -> None:
        tag, writer = element.tag, self._writer
        if tag in BLOCKS:
            writer.end_block()
            if element.attributes and (language := language_of([element])):
                self._language = element.end, language
            self._open.append((element.end, self._open_block(element, at) or writer.end_block))
        elif tag in _CODE:
            writer.open_code()
            self._open.append((element.end, writer.close_code))
        elif tag == "a" and element.attributes.get("href", "").startswith(_ELSEWHERE):
            address = element.attributes["href"].strip()
            self._open.append((element.end, partial(writer.add_link, writer.mark, address)))
        elif tag == "sup":
            writer.add_text("^")

    def _open_block(self, element: Element, at: int) -> Callable[[], None] | None:
        """Begin a list, an item, a quote or a table; return what ends it, None for any other block."""
        if element.tag == "div":
            return self._open_div(element)
        opening = _OPENINGS.get(element.tag)
        return opening(self, element, at) if opening else None

    def _open_div(self, element: Element) -> Callable[[], None] | None:
        """Begin what javadoc makes of `div`s: a signature, a table, a cell."""
        if not element.attributes:
            return None
        if is_signature_line(element):
            return self._open_code_line()
        if columns := table_columns(element):
            self._tables.append("data")
            self._numbers.append(None)
            self._writer.open_table(columns)
            return self._close_table
        is_cell = self._tables[-1:] == ["data"] and is_table_cell(element)
        return self._writer.close_cell if is_cell else None

    def _open_code_line(self) -> Callable[[], None]:
        self._writer.open_line()
        self._writer.open_code()
        return self._close_code_line

    def _close_code_line(self) -> None:
        self._writer.close_code()
        self._writer.close_line()

    def open_list(self, element: Element, _at: int) -> Callable[[], None]:
        start = element.attributes.get("start", "1")
        number = int(start) if start.isdecimal() and len(start) <= limits.LIST_NUMBER_DIGITS else 1
        self._numbers.append(None if element.tag in _BULLETS else number)
        return self._close_list

    def _close_list(self) -> None:
        self._writer.end_block()
        self._numbers.pop()

    def open_item(self, _element: Element, at: int) -> Callable[[], None] | None:
        if self._rules.has_heading(at):
            return None
        number = self._numbers[-1] if self._numbers else None
        if number is not None:
            self._numbers[-1] = number + 1
        self._writer.open_item("- " if number is None else f"{number}. ")
        return self._writer.close_item

    def open_quote(self, _element: Element, at: int) -> Callable[[], None] | None:
        if self._rules.has_heading(at):
            return None
        self._writer.open_quote()
        return self._writer.close_item

    def open_terms(self, _element: Element, at: int) -> Callable[[], None]:
        self._terms.append(None if self._rules.has_heading(at) else False)
        self._sections.append(self._section)
        return self._close_terms

    def _close_terms(self) -> None:
        self._writer.end_block()
        is_item_open, section = self._terms.pop(), self._sections.pop()
        if is_item_open:
            self._writer.close_item()
        elif is_item_open is None:
            self._section = section
            self._writer.resume_section(*section)

    def open_term(self, _element: Element, _at: int) -> None:
        """Begin the item of a term, in which what is said of the term stands as well."""
        if self._terms and self._terms[-1] is not None:
            if self._terms[-1]:
                self._writer.close_item()
            self._writer.open_item("- ")
            self._terms[-1] = True

    def open_table(self, _element: Element, at: int) -> Callable[[], None]:
        kind = self._rules.table_kind(at)
        self._tables.append(kind)
        self._numbers.append(None)
        if kind == "data":
            self._writer.open_table()
        elif kind == "line":
            self._open_code_line()
        return self._close_table

    def _close_table(self) -> None:
        kind = self._tables.pop()
        self._numbers.pop()
        if kind == "data":
            self._writer.close_table()
        elif kind == "line":
            self._close_code_line()
        self._writer.end_block()

    def open_row(self, _element: Element, at: int) -> Callable[[], None] | None:
        kind = self._tables[-1] if self._tables else ""
        if kind == "data":
            self._writer.add_row()
        elif kind == "parts" and self._rules.is_line(at):
            self._writer.open_line()
            return self._writer.close_line
        return None

    def open_cell(self, element: Element, at: int) -> Callable[[], None] | None:
        kind = self._tables[-1] if self._tables else ""
        if kind == "list":
            return self.open_item(element, at)
        if kind != "data":
            return None
        span = element.attributes.get("colspan", "1")
        columns = int(span) if span.isdecimal() and len(span) <= limits.TABLE_SPAN_DIGITS else 1
        return partial(self._writer.close_cell, columns)

    def _add_inline(self, element: Element, at: int) -> None:
        if element.tag == "br":
            self._writer.add_break()
        elif element.tag == "img":
            self._writer.add_text(element.attributes.get("alt", ""))
        else:
            self._writer.add_text(self._formula(at))

    def _formula(self, at: int) -> str:
        """Return a formula as its author wrote it, if that is there."""
        for place in range(at, self._end(at)):
            node = self._nodes[place]
            if isinstance(node, Element) and node.tag == "annotation" and _TEX in node.attributes.get("encoding", ""):
                return f"${squeeze(self._text(place))}$"
        return self._text(at)

    def _add_heading(self, element: Element, at: int) -> None:
        """Write a heading; of what a signature declares, the name, and then how it is called."""
        level, text = self._rules.heading_level(at), squeeze(self._text(at)).rstrip(_LINK_SIGNS)
        if name := self._declared_name(at) if is_signature(element) else "":
            if name != self._signature:
                self._write_heading(self._term_level() if element.tag == "dt" else level, name)
            self._writer.end_block()
            self._writer.add_block(inline_code(text))
        else:
            self._write_heading(level, text)
            self._level = level
        self._signature = name

    def _add_terms(self, at: int) -> int:
        """Write the heading of a term, and of those that share its description; return where they end."""
        texts = []
        while at < len(self._nodes):
            node = self._nodes[at]
            if isinstance(node, Element) and node.tag == "dt":
                texts.append(squeeze(self._text(at)).rstrip(_LINK_SIGNS))
                at = node.end
            elif isinstance(node, str) and not node.strip():
                at += 1
            else:
                break
        self._write_heading(self._term_level(), ", ".join(filter(None, texts)))
        self._signature = ""
        return at

    def _write_heading(self, level: int, text: str) -> None:
        self._writer.add_heading(level, text)
        self._section = (level, text) if text else self._section

    def _term_level(self) -> int:
        return max(min(self._level + len(self._terms), _LOWEST_LEVEL), 1)

    def _declared_name(self, at: int) -> str:
        names, place, end = [], at + 1, self._end(at)
        while place < end:
            node = self._nodes[place]
            is_found = isinstance(node, Element) and is_name(node)
            names += [self._text(place)] if is_found else []
            place = self._end(place) if is_found else place + 1
        return squeeze("".join(names))

    def _code_language(self, element: Element, at: int) -> str:
        end, language = self._language
        first = self._nodes[at + 1] if at + 1 < element.end else ""
        inner = [first] if isinstance(first, Element) else []
        return language_of([element, *inner]) or (language if at < end else "")

    def _text(self, at: int) -> str:
        """Return the text in an element, without what is dropped."""
        return "".join(self._texts(at, line_end=" "))

    def _code(self, at: int) -> str:
        """Return the code in an element, line by line."""
        return "".join(self._texts(at, line_end="\n"))

    def _texts(self, at: int, line_end: str) -> Iterator[str]:
        place, end = at + 1, self._end(at)
        lines: list[int] = []
        after_line = 0
        while place < end:
            node = self._nodes[place]
            if isinstance(node, str):
                # Between the lines of a listing by Doxygen, which is no `pre`, white space means nothing.
                if place != after_line or not node.isspace():
                    yield node
            elif node.tag != "code" and self._rules.is_dropped(place):
                place = node.end - 1
            elif node.tag == "br":
                yield line_end
            elif node.tag in BLOCKS or (line_end == "\n" and self._is_line_of_code(node)):
                lines.append(node.end)
            elif node.tag == "img":
                yield node.attributes.get("alt", "")
            place += 1
            while lines and lines[-1] <= place:
                lines.pop()
                after_line = place if is_listing(self._nodes[at]) else 0
                yield line_end

    def _is_line_of_code(self, element: Element) -> bool:
        """Return whether another `code` follows directly: a style sheet puts each on a line of its own."""
        last, after = self._nodes[element.end - 1], self._nodes[element.end : element.end + 1]
        is_followed = element.tag == "code" and any(isinstance(each, Element) and each.tag == "code" for each in after)
        return is_followed and not (isinstance(last, str) and last.endswith("\n"))

    def _end(self, at: int) -> int:
        element = self._nodes[at]
        assert isinstance(element, Element)
        return element.end


_OPENINGS: dict[str, Callable[[_Renderer, Element, int], Callable[[], None] | None]] = {
    **dict.fromkeys(("ul", "ol", "menu", "dir"), _Renderer.open_list),
    "li": _Renderer.open_item,
    "blockquote": _Renderer.open_quote,
    "dl": _Renderer.open_terms,
    "dt": _Renderer.open_term,
    "table": _Renderer.open_table,
    "tr": _Renderer.open_row,
    **dict.fromkeys(("td", "th"), _Renderer.open_cell),
}

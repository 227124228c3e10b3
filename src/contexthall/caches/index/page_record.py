"""What a segment records of a page, without its text."""

import re
from typing import Any, NamedTuple, Self

from contexthall.caches.index.blocks import Cursor, IndexDamagedError, pack_numbers
from contexthall.caches.model.document import VERSION_PREFIX
from contexthall.caches.model.items import Item
from contexthall.caches.model.page import LINE_END, Page, PagePart, name_sections
from contexthall.core import wire

_VERSION = re.compile(rf"{VERSION_PREFIX}[0-9a-f]{{64}}")
_NUMBERS_PER_SECTION = 8
_BYTES_PER_SECTION = 800


class Lines(NamedTuple):
    """The lines of a section, from 1: its first, its last, the first after its heading's."""

    first: int
    last: int
    body: int


class PageRecord(NamedTuple):
    """A page as a segment records it: without its text, but with the lines of its sections."""

    id: str
    version: str
    page: Page
    lines: tuple[Lines, ...]

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return _BYTES_PER_SECTION * (1 + len(self.page.sections))

    def ids(self) -> list[str]:
        """Return the ids of the page's sections."""
        return [f"{self.id}#{section.slug}" for section in self.page.sections]

    @classmethod
    def read(cls, data: bytes, sections: int) -> Self:
        """Read what `to_bytes` wrote."""
        cursor = Cursor(data)
        numbers = [cursor.numbers(sections) for _ in range(_NUMBERS_PER_SECTION)]
        digest = cursor.take(*cursor.numbers(1))
        strings: Any = wire.parse(cursor.rest())
        page_id, version, title, stem, *headings = strings
        if not all(isinstance(string, str) for string in strings):
            raise IndexDamagedError("no page")
        version = f"{VERSION_PREFIX}{digest.hex()}" if digest else version
        *places, levels = numbers[:5]
        parts = [PagePart(*each) for each in zip(*places, headings, levels, strict=True)]
        lines = tuple(Lines(*each) for each in zip(*numbers[5:], strict=True))
        return cls(page_id, version, Page("", title, stem, name_sections(title, parts)), lines)

    def to_bytes(self) -> bytes:
        sections = self.page.sections
        rows = [(*section[:4], section.level, *lines) for section, lines in zip(sections, self.lines, strict=True)]
        numbers = ([row[at] for row in rows] for at in range(_NUMBERS_PER_SECTION))
        # Half as long as its digits, if it is what versions are.
        digest = bytes.fromhex(self.version.removeprefix(VERSION_PREFIX)) if _VERSION.fullmatch(self.version) else b""
        version = "" if digest else self.version
        strings = (self.id, version, self.page.title, self.page.stem, *(section.heading for section in sections))
        head = *map(pack_numbers, numbers), pack_numbers((len(digest),)), digest
        return b"".join((*head, wire.compact(strings).encode()))

    def item(self, number: int, text: str) -> Item:
        """Return a section as a reply shows it, from the page's text."""
        section, lines = self.page.sections[number], self.lines[number]
        title, content = self.page.full_title(section), text[section.start : section.end]
        return Item(f"{self.id}#{section.slug}", title, lines.first, lines.last, content)


def lines_of(page: Page) -> tuple[Lines, ...]:
    """Count the lines of a page's sections."""
    text, line, at, found = page.text, 1, 0, []

    def number(place: int) -> int:
        nonlocal line, at
        passed, at = text[at:place], place
        line += len(LINE_END.findall(passed)) if "\r" in passed else passed.count("\n")
        return line

    for section in page.sections:
        first = number(section.start)
        has_heading = section.heading_start < section.heading_end
        body = number(section.heading_end) + (text[section.heading_end - 1] not in "\r\n") if has_heading else first
        last = number(section.end) - (text[section.end - 1] in "\r\n")
        found.append(Lines(first, last, body))
    return tuple(found)

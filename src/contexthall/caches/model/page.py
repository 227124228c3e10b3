"""A page and its sections, by where they begin and end in its text. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from contexthall.core.text import lower

BYTE_ORDER_MARK = "\ufeff"
LINE_END = re.compile(r"\r\n?|\n")
_NOT_IN_SLUGS = re.compile(r"[^\w\- ]")
_TOP = "top"


class PagePart(NamedTuple):
    """A part of a page: where it is, where its heading's own lines are in it, and that heading."""

    start: int
    end: int
    heading_start: int
    heading_end: int
    heading: str
    level: int


class Section(NamedTuple):
    """A part of a page, with the names that follow from the others: its slug, and the headings above it."""

    start: int
    end: int
    heading_start: int
    heading_end: int
    heading: str
    level: int
    slug: str
    crumbs: tuple[str, ...]


class Page(NamedTuple):
    """The text of a document, its title, the stem of its file's name, and its sections in order."""

    text: str
    title: str
    stem: str
    sections: tuple[Section, ...]

    def content(self, section: Section) -> str:
        return self.text[section.start : section.end]

    def body(self, section: Section) -> str:
        """Return what a section says besides its heading."""
        return self.text[section.start : section.heading_start] + self.text[section.heading_end : section.end]

    def way(self, section: Section) -> tuple[str, ...]:
        """Return the way from the page's title to a section's heading."""
        heading = () if section.heading in {"", self.title} else (section.heading,)
        return self.title, *section.crumbs, *heading

    def full_title(self, section: Section) -> str:
        return " > ".join(self.way(section))

    def passage(self, section: Section) -> str:
        """Return what an embedder reads of a section: the way to it, and what it says."""
        return f"{self.full_title(section)}\n{self.body(section).removeprefix(BYTE_ORDER_MARK)}"


def name_sections(title: str, parts: Iterable[PagePart]) -> tuple[Section, ...]:
    """Return the parts of a page with their names: a slug, and the headings above."""
    named, above, slugs = [], list[PagePart](), dict[str, int]()
    for part in parts:
        while above and above[-1].level >= part.level:
            above.pop()
        crumbs = tuple(each.heading for each in above if each.heading not in {"", title})
        named.append(Section(*part, _free_slug(part.heading, slugs), crumbs))
        above.append(part)
    return tuple(named)


def _free_slug(heading: str, taken: dict[str, int]) -> str:
    """Return a slug that is not taken; every taken one has the number that may be free after it."""
    slug = wanted = _NOT_IN_SLUGS.sub("", lower(heading.strip())).replace(" ", "-") or _TOP
    while slug in taken:
        slug = f"{wanted}-{taken[wanted]}"
        taken[wanted] += 1
    taken[slug] = 2
    return slug

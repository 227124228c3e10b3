"""The sections of a page: from one heading to the next, cut where they are long (`headings-1`). Pure.

The sections of a page, in order, are the page, byte for byte.
"""

import os.path
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from contexthall.caches.model.front_matter import front_matter, title_in
from contexthall.caches.model.headings import MARKDOWN, fences_of, headings_of
from contexthall.caches.model.markdown import WHITE, Heading, is_blank
from contexthall.caches.model.page import BYTE_ORDER_MARK, LINE_END, Page, PagePart, name_sections
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError
from contexthall.core.text import lower

MOST_BYTES = 6_000
"""A section with more is cut."""

_UNSEEN = re.compile(r"[ \x00-\x1f\x7f-\x9f]+")
_SHOWN = re.compile(f"[^{WHITE}]")


def split(text: str, source: str) -> Page:
    """Split the text of the document that was found at `source`; CacheInvalidError if its headings are too much."""
    stem, suffix = os.path.splitext(source.rpartition("/")[2])
    suffix = lower(suffix)
    if is_blank(text.removeprefix(BYTE_ORDER_MARK)):
        return Page(text, stem, stem, ())
    front = front_matter(text) if suffix in MARKDOWN else None
    body = (front and front.end) or int(text.startswith(BYTE_ORDER_MARK))
    headings = headings_of(text, body, suffix)
    title = _UNSEEN.sub(" ", title_in(front)).strip(" ") if front else ""
    title = title or next((each.text for each in headings if each.text), "") or stem
    cutter = _Cutter(text, lambda: fences_of(text, body, suffix))
    parts = []
    for heading, start, end in _spans(text, headings, body):
        for first, last in cutter.parts(heading, start, end):
            lines = sorted((first, heading.start, last))[1], sorted((first, heading.end, last))[1]
            parts.append(PagePart(first, last, *lines, heading.text, heading.level))
    _check_size(source, sum(len(part.heading) for part in parts))
    page = Page(text, title, stem, name_sections(title, parts))
    _check_size(source, sum(len(crumb) for section in page.sections for crumb in (title, *section.crumbs)))
    return page


def _check_size(source: str, size: int) -> None:
    if size > limits.PAGE_TITLES:
        raise CacheInvalidError(f"the titles of all sections of {source} are too long together")


def _spans(text: str, headings: Sequence[Heading], body: int) -> Iterator[tuple[Heading, int, int]]:
    """Yield each heading, and where its section begins and ends."""
    starts = [heading.start for heading in headings] + [len(text)]
    if not headings or not is_blank(text[body : starts[0]]):
        yield Heading(0, 0, 0, ""), 0, starts[0]
    else:
        starts[0] = 0
    for number, heading in enumerate(headings):
        yield heading, starts[number], starts[number + 1]


class _Cutter:
    """Cuts what is long, at the best place that keeps a part small."""

    def __init__(self, text: str, find_fences: Callable[[], Sequence[range]]) -> None:
        self._text = text
        self._find_fences = find_fences

    @cached_property
    def _fences(self) -> Sequence[range]:
        """Where code lies that is not cut at its blank lines, by ascending start."""
        return self._find_fences()

    def parts(self, heading: Heading, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield where the parts of a section begin and end."""
        while self._limit(start) < end:
            cut = self._past_blank_lines(self._cut(heading, start, end), end)
            yield start, cut
            start = cut
        if start < end:
            yield start, end

    def _cut(self, heading: Heading, start: int, end: int) -> int:
        """Return where to cut a section that is too long; its end, if it cannot be cut."""
        limit = self._limit(start)
        lines = [(at, after) for at, after in self._lines(start, limit + 2) if after <= limit]
        line_end = lines[-1][1] if lines else start
        # A part should show something besides its heading, and so should the rest.
        for floor, hidden in (self._shown(heading, start, end), (start, range(0))):
            fitting = [(at, after) for at, after in lines if floor < after < end and after not in hidden]
            blank = [after for at, after in fitting if self._is_blank(at, after) and not self._in_fence(at)]
            flush = [after for after in blank if self._text[after] not in " \t"]
            if chosen := flush or blank or [after for _, after in fitting]:
                return chosen[-1]
            within = hidden.start - 1 if limit in hidden else limit
            if max(floor, line_end) < within < end:
                return within
        return end

    def _lines(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield where each line begins, and where its end ends."""
        for match in LINE_END.finditer(self._text, start, min(end, len(self._text))):
            yield start, match.end()
            start = match.end()

    def _limit(self, start: int) -> int:
        """Return the last place at which a part is small enough."""
        data = self._text[start : start + MOST_BYTES].encode()[:MOST_BYTES]
        limit = start + len(data.decode("utf-8", "ignore"))
        return limit - 1 if self._text[limit - 1 : limit + 1] == "\r\n" else limit

    def _is_blank(self, start: int, end: int) -> bool:
        return is_blank(self._text[start:end].removeprefix("" if start else BYTE_ORDER_MARK))

    def _in_fence(self, at: int) -> bool:
        number = bisect_right(self._fences, at, key=lambda fence: fence.start)
        return number > 0 and at in self._fences[number - 1]

    def _shown(self, heading: Heading, start: int, end: int) -> tuple[int, range]:
        """Return where what is shown besides the heading begins, and where a cut leaves the rest nothing of it."""
        begin = start or int(self._text.startswith(BYTE_ORDER_MARK))
        above = _SHOWN.search(self._text, begin, heading.start)
        below = _SHOWN.search(self._text, max(begin, heading.end), end)
        if above and not below:
            return above.start(), range(start + len(self._text[start : heading.start].rstrip(WHITE)), heading.end)
        first = above or below
        return first.start() if first else end, range(0)

    def _past_blank_lines(self, cut: int, end: int) -> int:
        """Return where to cut instead, if blank lines after a cut would be a part alone."""
        shown = _SHOWN.search(self._text, cut, end)
        if not shown:
            return end
        line = max((after for _, after in self._lines(cut, shown.start())), default=cut)
        return line if line - cut >= MOST_BYTES else cut

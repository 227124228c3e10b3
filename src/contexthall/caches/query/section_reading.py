"""How an agent goes on from an answer: a page section by section, and the outline of pages. Pure.

As in an answer to a query, the budget counts the whole reply, before which it is as long as it may become.
"""

from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from contexthall.caches.model.items import Item, on_one_line
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_reply import short_version
from contexthall.core.errors import DocumentMissingError, InvalidBudgetError
from contexthall.core.marks import mark_for
from contexthall.core.tokens import BYTES_PER_TOKEN
from contexthall.core.wire import compact


class Reading(NamedTuple):
    """Sections of a page, in its order, and which one comes after them; the question's query is an id."""

    question: Question
    items: tuple[Item, ...]
    next: str | None
    tokens_used: int

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(item.id for item in self.items)

    @property
    def text(self) -> str:
        """The reply in the form that was asked for."""
        if self.question.format == "json":
            return _reading_json(self, [item.json() for item in self.items])
        mark = mark_for([item.content for item in self.items])
        return _reading_text(self, [item.text(place, mark) for place, item in enumerate(self.items, 1)])


class OutlinedSection(NamedTuple):
    """A section as an outline shows it."""

    id: str
    heading: str
    level: int
    lines: tuple[int, int]
    body_line: int
    tokens: int


class OutlinedPage(NamedTuple):
    """A page as an outline shows it."""

    page: str
    title: str
    tokens: int
    sections: tuple[OutlinedSection, ...]

    def json(self) -> str:
        return compact({**self._asdict(), "sections": [section._asdict() for section in self.sections]})

    def text(self) -> str:
        """Return one line for the page, and one for each heading, indented by its level."""
        title = f"{on_one_line(self.page)} ({self.tokens}) {on_one_line(self.title)}\n"
        return title + "".join(
            f"{'  ' * each.level}{on_one_line(each.heading)} {on_one_line(each.id)} ({each.tokens})\n"
            for each in self.sections
        )


class Outline(NamedTuple):
    """The headings of pages, and which page comes after them; the question's query is what they lie under."""

    question: Question
    under: str | None
    depth: int | None
    pages: tuple[OutlinedPage, ...]
    next: str | None
    tokens_used: int

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(page.page for page in self.pages)

    @property
    def text(self) -> str:
        """The reply in the form that was asked for."""
        is_json = self.question.format == "json"
        return (_outline_json if is_json else _outline_text)(self, [_page(self, page) for page in self.pages])


def read(question: Question, wanted: Sequence[Item], ids: Sequence[str]) -> Reading:
    """Return as many of the wanted sections of a page as fit, in the page's order, which is that of `ids`."""
    bare = Reading(question, (), max(ids, key=_longest, default=None), question.budget)
    given: list[Item] = []
    size, unfit = _size(bare.text), 0
    for item in wanted:
        cost = _size(item.json()) + 1 if question.format == "json" else _size(item.text(len(given) + 1))
        if size + cost > BYTES_PER_TOKEN * question.budget:
            unfit = cost
            break
        size += cost
        given.append(item)
    _check(question, size, given, unfit)
    places = {section_id: place for place, section_id in enumerate(ids)}
    shown = sorted(given, key=lambda item: places[item.id])
    after = places[shown[-1].id] + 1 if shown else len(ids)
    following = ids[after] if after < len(ids) else None
    return Reading(question, tuple(shown), following, _tokens(size))


def outline(
    question: Question,
    scope: tuple[str | None, int | None],
    paths: Sequence[str],
    start: int,
    page_of: Callable[[str], OutlinedPage],
) -> Outline:
    """Return as many pages as fit, from `start` on; the scope is what they lie under, and the deepest level."""
    bare = Outline(question, *scope, (), max(paths, key=_longest, default=None), question.budget)
    given: list[OutlinedPage] = []
    size, unfit = _size(bare.text), 0
    for path in paths[start:]:
        page = page_of(path)
        cost = _size(_page(bare, page)) + (question.format == "json")
        if size + cost > BYTES_PER_TOKEN * question.budget:
            unfit = cost
            break
        size += cost
        given.append(page)
    _check(question, size, given, unfit)
    after = start + len(given)
    following = paths[after] if after < len(paths) else None
    return bare._replace(pages=tuple(given), next=following, tokens_used=_tokens(size))


def paths_under(under: str | None, start: str | None, paths: Iterable[str]) -> tuple[list[str], int]:
    """Return the paths of a page or of those in a folder, sorted, and the place of `start` among them."""
    folder = (under or "").rstrip("/")
    known = list(paths)
    found = sorted(path for path in known if not folder or path == folder or path.startswith(f"{folder}/"))
    if (folder and not found) or (start is not None and start not in found):
        raise DocumentMissingError(start or folder).about((start or folder).partition("#")[0], known)
    return found, found.index(start) if start is not None else 0


def _check(question: Question, size: int, given: Sequence[object], unfit: int) -> None:
    """Refuse a budget for which not even the first fits; `unfit` is what the first one costs that does not."""
    size += unfit
    if given or size <= BYTES_PER_TOKEN * question.budget:
        return
    enough, digits = _tokens(size), len(str(question.budget))
    while BYTES_PER_TOKEN * enough < size + 2 * (len(str(enough)) - digits):  # a reply says twice how large it may be
        enough += 1
    raise InvalidBudgetError(
        f"not even the first one fits into {question.budget} tokens", hint=f"a budget of {enough} holds it"
    )


def _longest(text: str) -> int:
    return _size(quoted(text))


def _size(text: str) -> int:
    return len(text.encode())


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _reading_json(reading: Reading, documents: Sequence[str]) -> str:
    question = reading.question
    return (
        f'{{"documents":[{",".join(documents)}],"selection":{{"id":{quoted(question.query)},'
        f'"budget":{question.budget},"tokens_used":{reading.tokens_used},"next":{compact(reading.next)}}}}}\n'
    )


def _reading_text(reading: Reading, items: Sequence[str]) -> str:
    return "".join((_header(reading.question, "read", reading.tokens_used, reading.next), *items))


def _outline_json(outline: Outline, pages: Sequence[str]) -> str:
    question = outline.question
    return (
        f'{{"pages":[{",".join(pages)}],"selection":{{"under":{compact(outline.under)},'
        f'"depth":{compact(outline.depth)},"budget":{question.budget},"tokens_used":{outline.tokens_used},'
        f'"next":{compact(outline.next)}}}}}\n'
    )


def _outline_text(outline: Outline, pages: Sequence[str]) -> str:
    return "".join((_header(outline.question, "outline", outline.tokens_used, outline.next), *pages))


def _header(question: Question, what: str, used: int, following: str | None) -> str:
    parts = [
        f"context {on_one_line(question.name)}@{short_version(question.version)}",
        f"{what}: {on_one_line(question.query)}",
        f"{used} of {question.budget} tokens",
        f"next: {on_one_line(following)}" if following is not None else "complete",
    ]
    return " | ".join(parts) + "\n\n"


def _page(outline: Outline, page: OutlinedPage) -> str:
    return page.json() if outline.question.format == "json" else page.text()

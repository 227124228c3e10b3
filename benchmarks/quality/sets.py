"""Where is the documentation of each public set, and what is asked of it?

Every function returns a folder, as its package ships it, and the questions with what answers them: pairs of page and
heading, the heading "" where the whole page answers. Nothing is fetched: the arguments are downloaded and unpacked.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from benchmarks.quality import check_questions
from benchmarks.quality.anchors import headings_of

Answers: TypeAlias = frozenset[tuple[str, str]]

POSTGRESQL_INDEX = "bookindex.html"
PYTHON_INDEX = "genindex-all.html"
SEMANLINK = "cherche/data/semanlink"


class QuestionSet(NamedTuple):
    """The folder that a cache is built of, and questions with the (page, heading) pairs that answer them."""

    sources: Path
    questions: list[tuple[str, Answers]]


class IndexTerm(NamedTuple):
    """An entry of a printed index: its words from the outermost term down, and where they lead."""

    terms: tuple[str, ...]
    links: tuple[str, ...]


def postgresql(unpacked: Path) -> QuestionSet:
    """Return the set that PostgreSQL's book index makes, from Debian's `postgresql-doc-15` unpacked there."""
    index = _find(unpacked, POSTGRESQL_INDEX)
    entries = _IndexReader.read(index.read_text(encoding="utf-8"), item="dt", nest="dl", term_is_link=False)
    asked = [(" ".join(entry.terms), entry.links) for entry in entries]
    return QuestionSet(index.parent, _answered(asked, index.parent))


def python(unpacked: Path) -> QuestionSet:
    """Return the set that the index of Python's documentation makes, from Debian's `python3.11-doc` unpacked there."""
    index = _find(unpacked, PYTHON_INDEX)
    tables = re.findall(r'<table[^>]*class="indextable\b.*?</table>', index.read_text(encoding="utf-8"), re.DOTALL)
    entries = _IndexReader.read("".join(tables), item="li", nest="ul", term_is_link=True)
    asked = [(_python_query(entry), entry.links) for entry in entries]
    return QuestionSet(index.parent, _answered(asked, index.parent))


def semanlink(unpacked: Path, folder: Path) -> QuestionSet:
    """Return tags of papers as pages, written to `folder`, and the papers' titles as questions, from `cherche`."""
    data = unpacked / SEMANLINK
    papers, tags = (json.loads((data / name).read_bytes()) for name in ("arxiv.json", "tags.json"))
    folder.mkdir(exist_ok=True)
    for uri in {uri for paper in papers for uri in paper["tag"]}:
        (folder / _tag_page(uri)).write_text(_tag_markdown(tags[uri]), encoding="utf-8")
    questions = [
        (paper["arxiv_title"], frozenset((_tag_page(uri), _tag_name(tags[uri])) for uri in paper["tag"]))
        for paper in papers
    ]
    return QuestionSet(folder, questions)


def natural(unpacked: Path) -> dict[str, QuestionSet]:
    """Return the questions written here, by project: they are asked of one project's documentation at a time."""
    projects, questions = check_questions.load()
    return {
        project.name: QuestionSet(
            unpacked / project.folder_name / project.docs,
            [
                (question.text, frozenset(question.answers))
                for question in questions
                if question.project == project.name
            ],
        )
        for project in projects
    }


def _find(folder: Path, name: str) -> Path:
    return next(path for path in sorted(folder.rglob(name)))


def _answered(asked: Sequence[tuple[str, Iterable[str]]], root: Path) -> list[tuple[str, Answers]]:
    """Return each query once, with every place it leads to; a query that leads to no page is left out."""
    links: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for query, targets in asked:
        for target in targets:
            page, _, anchor = target.partition("#")
            links[page].setdefault(unquote(anchor), []).append(query)
    found: dict[str, set[tuple[str, str]]] = {query: set() for query, _ in asked}
    for page, anchors in links.items():
        if (root / page).is_file():
            headings = headings_of((root / page).read_text(encoding="utf-8"), anchors)
            for anchor, queries in anchors.items():
                for query in queries:
                    found[query].add((page, headings.get(anchor, "")))
    return [(query, frozenset(answers)) for query, answers in found.items() if answers]


def _python_query(entry: IndexTerm) -> str:
    """Join the terms; "(in module os)" below "wait() (asyncio.Event method)" means another `wait()`."""
    *above, last = entry.terms
    if above and last.startswith("("):
        above[-1] = above[-1].partition(" (")[0]
    return " ".join([*above, last])


def _tag_page(uri: str) -> str:
    return uri.rpartition("/")[2] + ".md"


def _tag_name(tag: dict[str, Any]) -> str:
    return " ".join(tag["prefLabel"][0].split())


def _tag_markdown(tag: dict[str, Any]) -> str:
    lines = [f"# {_tag_name(tag)}", *tag["prefLabel"][1:], *tag["altLabel"]]
    broader = [*tag["broader_prefLabel"], *tag["broader_altLabel"]]
    return "\n\n".join([*lines, *broader]) + "\n"


class _IndexReader(HTMLParser):
    """Reads nested lists of terms; in some indexes the term is the text of its first link, in others it precedes it."""

    def __init__(self, *, item: str, nest: str, term_is_link: bool) -> None:
        super().__init__()
        self._item, self._nest, self._term_is_link = item, nest, term_is_link
        self._depth = 0
        self._terms: list[str] = []
        self._links: list[str] = []
        self._in_link = False
        self._reading = False
        self._entries: list[IndexTerm] = []

    @classmethod
    def read(cls, html: str, *, item: str, nest: str, term_is_link: bool) -> Iterator[IndexTerm]:
        reader = cls(item=item, nest=nest, term_is_link=term_is_link)
        reader.feed(html)
        reader.close()
        return iter(reader._entries)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self._nest:
            self._end_term()
            self._depth += 1
        elif tag == self._item:
            self._end_term()
            self._terms[self._depth - 1 :] = [""]
            self._reading = True
        elif tag == "a" and self._reading:
            self._in_link = True
            href = dict(attrs).get("href") or ""
            self._links += [href] if href.partition("#")[0] else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._in_link = False
        elif tag in {self._item, self._nest}:
            self._end_term()
            self._depth -= tag == self._nest

    def handle_data(self, data: str) -> None:
        if self._reading and (self._term_is_link or not self._in_link) and not re.fullmatch(r"\[\d+\]", data):
            self._terms[-1] += data

    def _end_term(self) -> None:
        if self._reading:
            self._terms[-1] = " ".join(self._terms[-1].split()).rstrip(", ")
            if self._links:
                self._entries.append(IndexTerm(tuple(self._terms), tuple(self._links)))
            self._links, self._reading = [], False

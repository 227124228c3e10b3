"""Who answers the questions? Caches of format 1 and 2, and two search engines over the sections of format 2.

The cache of format 2 is built of the folder as it is, with the defaults of `context build`. The others get its pages,
what the converters made of the files: all have the same text.

SQLite FTS5 and tantivy get title, heading and body of every section, stem English words, and look for any word of the
question, stop words included; every field has the same weight. Tantivy is left out where it is not installed.
"""

import importlib
import importlib.util
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from contexthall import open_hall
from contexthall.caches.model.document import identify
from contexthall.caches.model.sections import split
from contexthall.core.tokens import BYTES_PER_TOKEN

BUDGET = 4_000
MOST_RANKED = 400
"""So many sections, or pages of format 1, are looked at; format 2 puts no more in order."""

_WORD = re.compile(r"\w+")
_FIELDS = ("title", "heading", "body")
_tantivy: Any = importlib.import_module("tantivy") if importlib.util.find_spec("tantivy") else None


class Place(NamedTuple):
    """A section, by the id of its page and its slug; a whole page, in format 1, has the slug ""."""

    page: str
    slug: str


class Found(NamedTuple):
    """What a question finds: its order, best first, and what of it is in the reply."""

    order: Sequence[Place]
    served: frozenset[Place]


Engine: TypeAlias = Callable[[str], Found]


class IndexedSection(NamedTuple):
    """A section as the search engines get it."""

    place: Place
    heading: str
    title: str
    body: str
    size: int


def sections_of(pages: Mapping[str, str]) -> Iterator[IndexedSection]:
    for source, text in pages.items():
        page = split(text, source)
        for section in page.sections:
            size = len(page.content(section).encode())
            place = Place(identify(source), section.slug)
            yield IndexedSection(place, section.heading, page.title, page.body(section), size)


class Engines(NamedTuple):
    """Pages by path, and the engines that were given them, by name."""

    pages: Mapping[str, str]
    by_name: Mapping[str, Engine]


def build_engines(sources: Path, folder: Path) -> Engines:
    """Build or index what is in `sources` for every engine; `folder` is empty."""
    build(sources, folder, 2)
    pages = pages_of(folder, 2)
    build(write_pages(pages, folder / "pages"), folder, 1)
    sections = list(sections_of(pages))
    found = {f"format {number}": hall_engine(folder, number) for number in (1, 2)}
    found["SQLite FTS5"] = sqlite_engine(sections)
    if _tantivy is not None:
        found["tantivy"] = tantivy_engine(sections)
    return Engines(pages, found)


def build(sources: Path, root: Path, cache_format: int, embedder: str | None = None) -> None:
    """Build a cache below `root` as `context build` does; format 1 takes whatever there is."""
    include = ["*"] if cache_format == 1 else []
    cache = str(root / cache_name(cache_format))
    open_hall(root, cache_root=root).build_cache(
        str(sources), cache, include=include, format=cache_format, embedder=embedder
    )


def cache_name(cache_format: int) -> str:
    return f"format-{cache_format}"


def pages_of(root: Path, cache_format: int) -> dict[str, str]:
    """Return the pages of a cache, by the paths of their sources."""
    files = sorted((root / cache_name(cache_format) / "documents").iterdir())
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return {each["source"]: each["content"] for each in documents}


def write_pages(pages: Mapping[str, str], folder: Path) -> Path:
    """Write pages to files below `folder`."""
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder


def hall_engine(root: Path, cache_format: int) -> Engine:
    """Ask a cache below `root` as an agent does."""
    library = open_hall(root, cache_root=root).caches
    cache = library.locate(cache_name(cache_format))

    def ask(question: str) -> Found:
        reply = library.resolve(cache, question, BUDGET)
        if cache_format == 2 and len(reply.text.encode()) > BUDGET * BYTES_PER_TOKEN:
            raise SystemExit(f"the reply to {question!r} is over its budget")
        places = library.places(cache, question, BUDGET, 0, MOST_RANKED).places
        return Found([place_of(each.id) for each in places], frozenset(place_of(each.id) for each in reply.documents))

    def place_of(found: str) -> Place:
        page, _, slug = found.rpartition("#") if cache_format == 2 else (found, "", "")
        return Place(page, slug)

    return ask


def sqlite_engine(sections: Sequence[IndexedSection]) -> Engine:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE sections USING fts5({', '.join(_FIELDS)}, tokenize='porter unicode61')")
    connection.executemany(
        "INSERT INTO sections(rowid, title, heading, body) VALUES (?, ?, ?, ?)",
        ((number, each.title, each.heading, each.body) for number, each in enumerate(sections)),
    )
    best = f"SELECT rowid FROM sections WHERE sections MATCH ? ORDER BY bm25(sections), rowid LIMIT {MOST_RANKED}"

    def ask(question: str) -> Found:
        any_word = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        rows = connection.execute(best, (any_word,)) if any_word else ()
        return _packed(sections[number] for (number,) in rows)

    return ask


def tantivy_engine(sections: Sequence[IndexedSection]) -> Engine:
    builder = _tantivy.SchemaBuilder().add_unsigned_field("number", stored=True)
    for field in _FIELDS:
        builder.add_text_field(field, tokenizer_name="en_stem")
    index = _tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for number, each in enumerate(sections):
        writer.add_document(_tantivy.Document(number=number, title=each.title, heading=each.heading, body=each.body))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(question: str) -> Found:
        # Operators of its query language are upper-case.
        words = " ".join(_WORD.findall(question.lower()))
        hits = searcher.search(index.parse_query(words, list(_FIELDS)), MOST_RANKED).hits if words else ()
        return _packed(sections[searcher.doc(address)["number"][0]] for _, address in hits)

    return ask


def _packed(order: Iterable[IndexedSection]) -> Found:
    """Take what fits into the budget, in order, as format 2 does, but count the contents alone."""
    places, served, left = list[Place](), set[Place](), BUDGET * BYTES_PER_TOKEN
    for section in order:
        places.append(section.place)
        if section.size <= left:
            served.add(section.place)
            left -= section.size
    return Found(places, frozenset(served))

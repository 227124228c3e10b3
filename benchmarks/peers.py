"""Who else indexes these documents or answers these questions? Tantivy, SQLite, ripgrep, and a plain loop.

None of them is a dependency: a peer that is not installed is left out, and `missing` says how to get it.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.generators import Corpus, PageCorpus
from benchmarks.runner import Measure, process

BEST = 20
Search = Callable[[str], object]
_FIELDS = ["title", "heading", "body"]

_tantivy: Any = importlib.import_module("tantivy") if importlib.util.find_spec("tantivy") else None
_ripgrep = shutil.which("rg")


def missing() -> Iterator[str]:
    """Name the peers that are not here, and the command that fetches each."""
    if _tantivy is None:
        yield f"tantivy is not here: {sys.executable} -m pip install tantivy"
    if _ripgrep is None:
        yield "ripgrep is not here: apt-get install ripgrep"


def indexers(corpus: Corpus, scratch: Path) -> dict[str, Measure]:
    """Give those that together do what a build does: index the words, write a file for each document."""
    loop = {"plain loop": plain_loop(corpus, scratch / "loop")}
    return loop if _tantivy is None else {"tantivy": tantivy_indexing(corpus, scratch / "tantivy"), **loop}


def section_indexers(corpus: PageCorpus, scratch: Path) -> dict[str, Measure]:
    """Give those that together do what a build of sections does."""
    loop = {"plain loop": plain_loop(corpus, scratch / "loop")}
    if _tantivy is None:
        return loop

    def index() -> float:
        begun = time.perf_counter()
        tantivy_sections(corpus, scratch / "tantivy")
        return time.perf_counter() - begun

    return {"tantivy": index, **loop}


def section_searches(corpus: PageCorpus, scratch: Path) -> dict[str, Search]:
    """Index the sections with those that are here, and give how each is asked for the best of any of the words."""
    connection = sqlite_sections(corpus, scratch / "sections.db")
    best = f"SELECT rowid, rank FROM sections WHERE sections MATCH ? ORDER BY rank LIMIT {BEST}"
    searches: dict[str, Search] = {
        "SQLite FTS5": lambda words: connection.execute(best, (" OR ".join(words.split()),)).fetchall()
    }
    if _tantivy is not None:
        index = tantivy_sections(corpus, scratch / "tantivy-asked")
        index.reload()
        searcher = index.searcher()
        searches["tantivy"] = lambda words: searcher.search(index.parse_query(words, _FIELDS), BEST).hits
    return searches


def tantivy_sections(corpus: PageCorpus, target: Path) -> Any:
    """Read the sources and index sections, stemmed and with positions, in one thread."""
    empty(target)
    schema = _tantivy.SchemaBuilder()
    for field in _FIELDS:
        schema.add_text_field(field, tokenizer_name="en_stem", index_option="position")
    index = _tantivy.Index(schema.build(), path=str(target))
    writer = index.writer(num_threads=1)
    for _, text in _read(corpus):
        for fields in sections(text):
            writer.add_document(_tantivy.Document(**dict(zip(_FIELDS, fields, strict=True))))
    writer.commit()
    writer.wait_merging_threads()
    return index


def sqlite_sections(corpus: PageCorpus, target: Path) -> sqlite3.Connection:
    """Index sections with FTS5, stemmed, without keeping their text."""
    connection = sqlite3.connect(target)
    columns = ", ".join(_FIELDS)
    connection.execute(f"CREATE VIRTUAL TABLE sections USING fts5({columns}, content='', tokenize='porter')")
    every = (fields for _, text in _read(corpus) for fields in sections(text))
    rows = ((number, *fields) for number, fields in enumerate(every, 1))
    connection.executemany(f"INSERT INTO sections(rowid, {columns}) VALUES (?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO sections(sections) VALUES ('optimize')")
    connection.commit()
    return connection


def sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Cut a generated page at its headings; give title, heading and body of each section."""
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)[1:]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        yield parts[0], heading, body


def plain_loop(corpus: Corpus | PageCorpus, target: Path) -> Measure:
    """Time reading the sources and writing the document files of a cache, with nothing made safe."""

    def measure() -> float:
        empty(target)
        begun = time.perf_counter()
        for source, content in _read(corpus):
            digest = hashlib.sha256(content.encode()).hexdigest()
            document = {
                "id": source.lower(),
                "version": f"sha256:{digest}",
                "source": source,
                "content": content,
                "metadata": {},
            }
            with open(f"{target}/{digest[:12]}.json", "w", encoding="utf-8", newline="") as file:
                file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
        return time.perf_counter() - begun

    return measure


def tantivy_indexing(corpus: Corpus, target: Path) -> Measure:
    """Time reading the sources and indexing lower-case words and their frequencies, in one thread."""
    tokens = _tantivy.TextAnalyzerBuilder(_tantivy.Tokenizer.whitespace())
    lower_words = tokens.filter(_tantivy.Filter.lowercase()).build()
    schema = _tantivy.SchemaBuilder().add_text_field("content", tokenizer_name="words", index_option="freq").build()

    def measure() -> float:
        empty(target)
        begun = time.perf_counter()
        index = _tantivy.Index(schema, path=str(target))
        index.register_tokenizer("words", lower_words)
        writer = index.writer(num_threads=1)
        for _, content in _read(corpus):
            writer.add_document(_tantivy.Document(content=content))
        writer.commit()
        seconds = time.perf_counter() - begun
        writer.wait_merging_threads()
        return seconds

    return measure


def sqlite_index(corpus: Corpus, target: Path) -> sqlite3.Connection:
    """Index the documents with FTS5, without keeping their text."""
    connection = sqlite3.connect(target)
    connection.execute("CREATE VIRTUAL TABLE documents USING fts5(content, content='')")
    connection.executemany(
        "INSERT INTO documents(rowid, content) VALUES (?, ?)",
        ((number, content) for number, (_, content) in enumerate(_read(corpus), 1)),
    )
    connection.execute("INSERT INTO documents(documents) VALUES ('optimize')")
    connection.commit()
    return connection


def sqlite_ranking(connection: sqlite3.Connection, query: str) -> Measure:
    """Time the best documents for any of the words, by bm25, in a warm process."""
    any_word = " OR ".join(query.split())
    question = f"SELECT rowid, rank FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT {BEST}"

    def measure() -> float:
        begun = time.perf_counter()
        found = connection.execute(question, (any_word,)).fetchall()
        seconds = time.perf_counter() - begun
        assert found
        return seconds

    return measure


def ripgrep(corpus: Corpus, query: str) -> dict[str, Measure]:
    """Count the lines with any of the words, a process each time; nothing where ripgrep is not installed."""
    if _ripgrep is None:
        return {}
    patterns = [argument for word in query.split() for argument in ("-e", word)]
    return {"ripgrep": process(_ripgrep, "-c", "-w", "-F", "--no-ignore", *patterns, corpus.sources)}


def empty(directory: Path) -> None:
    """Make `directory` new, and wait until the disk is done with what came before."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    os.sync()


def _read(corpus: Corpus | PageCorpus) -> Iterator[tuple[str, str]]:
    """Read every document, in the order of the paths."""
    for folder, folders, files in os.walk(corpus.sources):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", newline="") as file:
                yield path[len(corpus.sources) + 1 :], file.read()

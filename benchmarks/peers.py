"""Who else indexes these documents or answers these questions? Tantivy, SQLite, ripgrep, and a plain loop.

None of them is a dependency: a peer that is not installed is left out, and `missing` says how to get it.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.generators import Corpus
from benchmarks.runner import Measure, process

BEST = 20

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


def plain_loop(corpus: Corpus, target: Path) -> Measure:
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


def _read(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Read every document, in the order of the paths."""
    for folder, folders, files in os.walk(corpus.sources):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", newline="") as file:
                yield path[len(corpus.sources) + 1 :], file.read()

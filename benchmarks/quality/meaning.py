"""What does an embedder find, and what does it cost? Questions, asked of caches of format 2 without and with it.

    python -m benchmarks.quality.meaning .bench-quality [--embedder ID] [--only flask] [--write docs/ranking.md]

The folder is what `benchmarks.quality.fetch` filled. The large sets are left out: to embed them takes hours.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.bench import HEADERS, TOGETHER, question_sets
from benchmarks.quality.check_questions import load
from benchmarks.quality.engines import BUDGET, build, cache_name, hall_engine, pages_of, sections_of
from benchmarks.quality.measures import AnswerKey, Score, means, score
from benchmarks.quality.sets import QuestionSet
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import duration
from contexthall import open_hall
from contexthall.caches.library import Library

PART = "benchmarks.quality.meaning"
SEMANLINK = "Semanlink"


class Asked(NamedTuple):
    """How well a cache answered a set, and how long that took."""

    scores: list[Score]
    sections: int
    build_seconds: float
    answer_seconds: list[float]
    """Of each question, asked of a warm cache."""


def ask(asked: QuestionSet, embedder: str | None) -> Asked:
    """Build a cache, and ask it everything."""
    with tempfile.TemporaryDirectory() as folder:
        root, begun = Path(folder), time.perf_counter()
        build(asked.sources, root, 2, embedder)
        built = time.perf_counter()
        pages, engine = pages_of(root, 2), hall_engine(root, 2)
        key, sections = AnswerKey(pages), sum(1 for _ in sections_of(pages))
        scores = [score(engine(question), key.right(right)) for question, right in asked.questions]
        seconds = [answer_seconds(root, question) for question, _ in asked.questions]
    return Asked(scores, sections, built - begun, seconds)


def answer_seconds(root: Path, question: str) -> float:
    """Ask the cache below `root` again."""
    library = warm_library(root)
    cache, begun = library.locate(cache_name(2)), time.perf_counter()
    library.resolve(cache, question, BUDGET)
    return time.perf_counter() - begun


@cache
def warm_library(root: Path) -> Library:
    library = open_hall(root, cache_root=root).caches
    for _ in range(2):
        library.resolve(library.locate(cache_name(2)), "what is this about?", BUDGET)
    return library


def together(results: Mapping[str, Mapping[str, Asked]]) -> dict[str, Asked]:
    """Return the natural questions of all projects as one set."""
    projects = [results[project.name] for project in load()[0] if project.name in results]
    return {} if not projects else {engine: joined([each[engine] for each in projects]) for engine in projects[0]}


def joined(parts: Sequence[Asked]) -> Asked:
    return Asked(
        [each for part in parts for each in part.scores],
        sum(part.sections for part in parts),
        sum(part.build_seconds for part in parts),
        [each for part in parts for each in part.answer_seconds],
    )


def rows(name: str, engines: Mapping[str, Asked]) -> Iterator[list[str]]:
    for engine, asked in engines.items():
        questions = len(asked.scores)
        build = f"{1000 * asked.build_seconds / asked.sections:.1f} s"
        answer = duration(statistics.median(asked.answer_seconds))
        yield [name, f"{questions:,}", engine, *map(str, means(asked.scores)), build, answer]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.meaning", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what `python -m benchmarks.quality.fetch` filled")
    parser.add_argument("--embedder", default="minilm-l6-v2", help="which is installed")
    parser.add_argument("--only", action="append", metavar="SET", help="ask this set; may be repeated")
    add_page_option(parser)
    options = parser.parse_args()
    wanted = options.only or [*(project.name for project in load()[0]), SEMANLINK]
    results = {}
    for name, read in question_sets(options.folder).items():
        if name in wanted:
            print(name, file=sys.stderr, flush=True)
            asked = read()
            results[name] = {
                "format 2": ask(asked, None),
                f"with {options.embedder}": ask(asked, options.embedder),
            }
    lines = [row for name, each in {TOGETHER: together(results), **results}.items() for row in rows(name, each)]
    headers = (*HEADERS, "build, 1,000 sections", "answer, median")
    publish(Table(f"Budget {BUDGET:,}, mean ± standard error", headers, lines), PART, options.write)


if __name__ == "__main__":
    main()

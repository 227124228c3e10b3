"""Does it find what people ask for? Public question sets, asked of caches of both formats and of two search engines.

    python -m benchmarks.quality.bench .bench-quality [--only flask] [--sample 200] [--write docs/ranking.md]

The folder is what `benchmarks.quality.fetch` filled. The weights of the ranking are fixed by its contract: nothing is
tuned on these sets.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks.quality import sets
from benchmarks.quality.check_questions import load
from benchmarks.quality.engines import BUDGET, build_engines
from benchmarks.quality.fetch import CHERCHE, DEBIAN
from benchmarks.quality.measures import AnswerKey, Score, means, score
from benchmarks.quality.sets import QuestionSet
from benchmarks.report import Table, add_page_option, publish

PART = "benchmarks.quality"
PYTHON_SAMPLE = 2_000
SEED = 19
TOGETHER = "natural questions"
HEADERS = ("set", "questions", "engine", "MRR", "nDCG@10", "hit@4k", "exact section")
POSTGRESQL, PYTHON = DEBIAN

Scores: TypeAlias = Mapping[str, list[Score]]


def question_sets(folder: Path) -> dict[str, Callable[[], QuestionSet]]:
    """Return how to read each set, by name."""
    natural = sets.natural(folder)
    return {name: partial(natural.__getitem__, name) for name in natural} | {
        "PostgreSQL index": lambda: sets.postgresql(folder / POSTGRESQL),
        "Python index": lambda: sampled(sets.python(folder / PYTHON), PYTHON_SAMPLE),
        "Semanlink": lambda: sets.semanlink(folder / CHERCHE.folder_name, folder / "semanlink"),
    }


def sampled(asked: QuestionSet, most: int | None) -> QuestionSet:
    """Return the set with at most so many of its questions, the same ones each time."""
    if most is None or len(asked.questions) <= most:
        return asked
    return asked._replace(questions=random.Random(SEED).sample(asked.questions, most))


def ask_all(asked: QuestionSet) -> Scores:
    """Return the scores of every engine, question by question."""
    with tempfile.TemporaryDirectory() as folder:
        pages, engines = build_engines(asked.sources, Path(folder))
        key = AnswerKey(pages)
        return {
            name: [score(ask(question), key.right(answers)) for question, answers in asked.questions]
            for name, ask in engines.items()
        }


def table(results: Mapping[str, Scores]) -> Table:
    """Return the means of each set, and before them those of all natural questions together."""
    projects = {project.name for project in load()[0]}
    natural = [scores for name, scores in results.items() if name in projects]
    together = {engine: [each for part in natural for each in part[engine]] for engine in natural[0]} if natural else {}
    rows = [row for name, scores in {TOGETHER: together, **results}.items() for row in _rows(name, scores)]
    return Table(f"Budget {BUDGET:,}, mean ± standard error", HEADERS, rows)


def _rows(name: str, scores: Scores) -> Iterator[list[str]]:
    for engine, values in scores.items():
        yield [name, f"{len(values):,}", engine, *map(str, means(values))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.bench", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what `python -m benchmarks.quality.fetch` filled")
    parser.add_argument("--only", action="append", metavar="SET", help="ask this set; may be repeated")
    parser.add_argument("--sample", type=int, help="ask no more than so many of each set")
    add_page_option(parser)
    options = parser.parse_args()
    results = {}
    for name, read in question_sets(options.folder).items():
        if options.only is None or name in options.only:
            print(name, file=sys.stderr, flush=True)
            results[name] = ask_all(sampled(read(), options.sample))
    publish(table(results), PART, options.write)


if __name__ == "__main__":
    main()

"""Which tool is found? Graded queries, asked of the hall's search among tools and of bm25s.

    python -m benchmarks.quality.tools FOLDER [--rounds 5] [--write docs/ranking.md]

The folder has `tools.json`, `queries.json` and `published.json`, as smart-mcp-proxy/mcpproxy-go publishes them for its
own search. Distractors are tools that nobody meant, made of the words of these tools: half a sentence of one with half
of another's, under two words of their names. bm25s gets the same four texts of a tool as one. It is asked twice: for
words as they stand, and without English stop words and with Snowball's English stems.
"""

import argparse
import importlib
import json
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import duration
from contexthall.guild.lists.search import ListedTool, ToolSearch, text_of

PART = "benchmarks.quality.tools"
HEADERS = ["tools", "engine", "recall@1", "recall@5", "recall@10", "MRR", "recall@5 less than the hall's by", "p50"]
DEPTH = 10
RESAMPLES = 2_000
DISTRACTORS = (0, 500, 4_000)
HALL, PLAIN, STEMMED = "hall", "bm25s", "bm25s, stop words and stems"

Ranked: TypeAlias = list[str]
Engine: TypeAlias = Callable[[str], Ranked]


class Query(NamedTuple):
    """What somebody asks, and the tools that would do."""

    text: str
    right: frozenset[str]


class Answer(NamedTuple):
    """How well a query was answered, and in how much time."""

    recall: Mapping[int, float]
    reciprocal_rank: float
    seconds: float


def load(folder: Path) -> tuple[list[ListedTool], list[Query]]:
    """Read the tools and the queries of the corpus."""
    tools = [
        ListedTool(
            each["tool_id"],
            each["server"],
            {"name": each["tool"], "description": each["description"], "inputSchema": each["schema"]},
        )
        for each in json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    ]
    queries = [
        Query(each["query"], frozenset(label["tool_id"] for label in each["labels"] if label["relevance"] > 0))
        for each in json.loads((folder / "queries.json").read_text(encoding="utf-8"))["queries"]
    ]
    return tools, queries


def distractors(tools: Sequence[ListedTool], count: int, seed: int) -> list[ListedTool]:
    """Make tools that nobody meant out of the words of tools that somebody did."""
    chance = random.Random(seed)
    definitions = [each.definition for each in tools]
    sentences = [
        words
        for each in definitions
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", each["description"])
        if len(words := sentence.split()) > 3
    ]
    names = [part for each in definitions for part in each["name"].split("_")]
    parameters = [name for each in definitions for name in each["inputSchema"].get("properties", {})]

    def distractor(number: int) -> ListedTool:
        first, second, third = (chance.choice(sentences) for _ in range(3))
        mixed = [*first[: len(first) // 2], *second[len(second) // 2 :], *chance.sample(third, min(len(third), 8))]
        name = "_".join(chance.sample(names, 2))
        schema = {"type": "object", "properties": {each: {} for each in chance.sample(parameters, 2)}}
        member = f"{chance.choice(tools).member}-{number % 9}"
        definition = {"name": name, "description": " ".join(mixed), "inputSchema": schema}
        return ListedTool(f"distractor-{number}", member, definition)

    return [distractor(number) for number in range(count)]


def hall(tools: Sequence[ListedTool]) -> Engine:
    search = ToolSearch(tools)
    return lambda query: [each.name for each in search.find(query, DEPTH).tools]


def bm25s(tools: Sequence[ListedTool], *, stems: bool) -> Engine:
    library: Any = importlib.import_module("bm25s")
    stemmer = importlib.import_module("Stemmer").Stemmer("english") if stems else None
    stop_words = "en" if stems else []

    def tokens(texts: list[str]) -> Any:
        return library.tokenize(texts, stopwords=stop_words, stemmer=stemmer, show_progress=False)

    retriever = library.BM25()
    # Names are split, or it would find nothing by them.
    texts = [" ".join(text_of(each)).replace("_", " ") for each in tools]
    retriever.index(tokens(texts), show_progress=False)
    names = [each.name for each in tools]

    def find(query: str) -> Ranked:
        try:
            found, scores = retriever.retrieve(tokens([query]), corpus=names, k=DEPTH, show_progress=False)
        except ValueError:  # a query of stop words alone
            return []
        return [str(name) for name, score in zip(found[0], scores[0], strict=True) if score > 0]

    return find


ENGINES: dict[str, Callable[[Sequence[ListedTool]], Engine]] = {
    HALL: hall,
    PLAIN: lambda tools: bm25s(tools, stems=False),
    STEMMED: lambda tools: bm25s(tools, stems=True),
}


def answer(engine: Engine, query: Query) -> Answer:
    begun = time.perf_counter()
    found = engine(query.text)
    seconds = time.perf_counter() - begun
    recall = {depth: len(query.right & set(found[:depth])) / len(query.right) for depth in (1, 5, DEPTH)}
    first = next((rank for rank, name in enumerate(found, 1) if name in query.right), 0)
    return Answer(recall, 1 / first if first else 0.0, seconds)


def difference(ours: Sequence[Answer], theirs: Sequence[Answer]) -> str:
    """Return by how much their recall is lower, with the 95 % interval of a paired bootstrap."""
    pairs = [mine.recall[5] - other.recall[5] for mine, other in zip(ours, theirs, strict=True)]
    chance = random.Random(0)
    means = sorted(statistics.fmean(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    low, high = means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000]
    return f"{statistics.fmean(pairs):.3f} ({low:.3f} to {high:.3f})"


def rows(tools: Sequence[ListedTool], queries: Sequence[Query], count: int, rounds: int) -> list[list[str]]:
    """Ask every engine everything among so many distractors, other ones in each round."""
    answers: dict[str, list[Answer]] = {name: [] for name in ENGINES}
    for seed in range(rounds if count else 1):
        among = [*tools, *distractors(tools, count, seed)]
        for name, made in ENGINES.items():
            engine = made(among)
            for query in queries[:1]:
                engine(query.text)  # the first one makes the index
            answers[name] += [answer(engine, query) for query in queries]
    return [
        [
            f"{len(tools) + count:,}",
            name,
            *(f"{statistics.fmean(each.recall[depth] for each in given):.3f}" for depth in (1, 5, DEPTH)),
            f"{statistics.fmean(each.reciprocal_rank for each in given):.3f}",
            "" if name == HALL else difference(answers[HALL], given),
            duration(statistics.median(each.seconds for each in given)),
        ]
        for name, given in answers.items()
    ]


def published(folder: Path, count: int) -> list[str]:
    scores = json.loads((folder / "published.json").read_text(encoding="utf-8"))
    recall = scores["recall_at"]
    return [
        f"{count:,}",
        "mcpproxy-go, as published",
        *(f"{recall[depth]:.3f}" for depth in ("1", "5", "10")),
        f"{scores['mrr']:.3f}",
        "",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.tools", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with tools.json, queries.json and published.json")
    parser.add_argument("--rounds", type=int, default=5, help="so many sets of distractors of each size")
    add_page_option(parser)
    options = parser.parse_args()
    tools, queries = load(options.folder)
    first, *others = (rows(tools, queries, count, options.rounds) for count in DISTRACTORS)
    measured = [*first, published(options.folder, len(tools)), *(row for each in others for row in each)]
    publish(Table(f"{len(queries)} graded queries", HEADERS, measured), PART, options.write)


if __name__ == "__main__":
    main()

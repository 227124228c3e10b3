"""Claim: sections are found as quickly as documents are, whichever words a question has.

    python -m benchmarks.sections [--pages 10000,100000] [--rounds 5] [--steps NAMES] [--keep DIR] [--write PAGE]

Rankings are timed in processor time, everything else by the clock. Memory is read from /proc: Linux only.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import peers
from benchmarks.client import Client, timed_call
from benchmarks.generators import PageCorpus, write_page_corpus
from benchmarks.report import Table, add_page_option, claims_table, publish
from benchmarks.runner import (
    Claim,
    Measure,
    Sample,
    command_line,
    duration,
    megabytes,
    next_to_peer,
    next_to_target,
    peak_memory,
    process,
    take_turns,
)
from contexthall.caches.index.terms import terms_of, words
from contexthall.caches.query.opening import open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_ranking import SectionScorer
from contexthall.caches.query.section_reader import OpenSections, sections_of
from contexthall.system.disk import Disk

PART = "benchmarks.sections {count}"
SEED = 3
BUDGET = 4000
ASKED_BEFORE = 400
ASKED_OF_PEERS = 60

# What was promised, by the number of pages; seconds, bytes, or times a peer.
RANKING = {10_000: 0.003, 100_000: 0.025}
RANKING_P99 = {10_000: 0.010}
CALL_ABOVE = {10_000: 0.004}
COLD = {10_000: 10}
BUILD = {10_000: 2}
BUILD_MEMORY = {100_000: 600e6}
SHARDS = 4
SHARDED = 1.3
INDEX_SIZE = {10_000: 0.8, 100_000: 0.8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A corpus, the cache built from it, and room to work in on the same disk."""

    corpus: PageCorpus
    scratch: Path
    rounds: int

    @property
    def count(self) -> int:
        return self.corpus.documents

    @property
    def cache(self) -> Path:
        return self.scratch / "cache"

    @property
    def asked_before(self) -> list[str]:
        """The questions that make a process warm."""
        return self.corpus.questions[:ASKED_BEFORE]

    @property
    def asked(self) -> list[str]:
        """The questions that are measured: others, with words that were never asked for."""
        return self.corpus.questions[ASKED_BEFORE:]

    def build(self, cache: Path) -> tuple[str, ...]:
        sources = self.corpus.sources
        return command_line("build", "--sources", sources, "--cache", str(cache), "--format", "2", "--force")


def build_memory(bench: Bench) -> list[Claim]:
    """Build the cache that all the others ask."""
    peak = peak_memory(*bench.build(bench.cache))
    return [next_to_target("build, peak memory", peak, BUILD_MEMORY.get(bench.count), show=megabytes)]


def build_time(bench: Bench) -> list[Claim]:
    """Build where nothing is yet, in turns with the peers."""
    indexers, new = peers.section_indexers(bench.corpus, bench.scratch), bench.scratch / "new"
    rounds = max(1, bench.rounds * 10_000 // bench.count)
    build = {"hall": _after_removing(new, process(*bench.build(new)))}
    samples = take_turns(build | indexers, rounds=rounds, warm_up=0)
    together = sum(samples[name].median for name in indexers)
    label = " + ".join(f"{name} {duration(samples[name].median)}" for name in indexers) + " ="
    promised = BUILD.get(bench.count) if "tantivy" in indexers else None
    return [next_to_peer("build", samples["hall"].median, label, together, at_most=promised)]


def index_size(bench: Bench) -> list[Claim]:
    size = sum(file.stat().st_size for file in bench.cache.glob("segment*.bin"))
    at_most = INDEX_SIZE.get(bench.count)
    return [next_to_peer("index size", size, "text", bench.corpus.text_bytes, at_most=at_most, show=megabytes)]


def ranking(bench: Bench) -> list[Claim]:
    """Rank in a process that was asked other questions before, in turns with the peers and without numpy."""
    hall, plain = _scorer(bench), SectionScorer(_scorer(bench).segments, plain_queries=sys.maxsize)
    for question in bench.asked_before:
        hall.rank(question)
    searches = peers.section_searches(bench.corpus, bench.scratch)
    theirs: dict[str, list[float]] = {name: [] for name in ("without numpy", *searches)}
    every, ours = max(1, len(bench.asked) // ASKED_OF_PEERS), list[float]()
    for number, question in enumerate(bench.asked):
        ours.append(_processor_seconds(hall.rank, question))
        if number % every == 0:
            theirs["without numpy"].append(_processor_seconds(plain.rank, question))
            content = " ".join(word for word in words(question) if terms_of(word))
            for name, search in searches.items():
                theirs[name].append(_processor_seconds(search, content))
    sample, name = Sample(tuple(ours)), "ranking, warm"
    again = Sample(tuple(_processor_seconds(hall.rank, question) for question in bench.asked))
    return [
        next_to_target(f"{name}, p50", sample.median, RANKING.get(bench.count)),
        next_to_target(f"{name}, p99", sample.percentile(99), RANKING_P99.get(bench.count)),
        *(
            next_to_peer(f"{name}, p50", sample.median, _label(peer), Sample(tuple(seconds)).median)
            for peer, seconds in theirs.items()
        ),
        next_to_target(f"{name}, words asked for before, p50", again.median, None),
    ]


def calls(bench: Bench) -> list[Claim]:
    """Ask a server over its standard input and output, in turns with ranking the same questions here."""
    project = bench.scratch / "project"
    (project / ".context" / "caches").mkdir(parents=True, exist_ok=True)
    hall, called, ranked = _scorer(bench), list[float](), list[float]()
    with closing(Client(*command_line("serve"), cwd=project)) as client:
        for number, question in enumerate((*bench.asked_before, *bench.asked)):
            call = timed_call(client, "context.resolve", cache=str(bench.cache), query=question, budget=BUDGET)()
            begun = time.perf_counter()
            hall.rank(question)
            if number >= ASKED_BEFORE:
                called.append(call)
                ranked.append(time.perf_counter() - begun)
    name, call = "context.resolve over stdio, warm, p50", Sample(tuple(called)).median
    above = call - Sample(tuple(ranked)).median
    return [
        next_to_target(name, call, None),
        next_to_target(f"{name}, above the ranking", above, CALL_ABOVE.get(bench.count)),
    ]


def cold(bench: Bench) -> list[Claim]:
    """Ask with a process for each question, in turns with a bare interpreter."""
    bare, questions = "python -c pass", iter(bench.asked)

    def ask() -> float:
        question = next(questions)
        cache, budget = str(bench.cache), str(BUDGET)
        return process(*command_line("resolve", "--cache", cache, "--query", question, "--budget", budget))()

    samples = take_turns({"hall": ask, bare: process(sys.executable, "-c", "pass")}, rounds=bench.rounds * 5)
    name, at_most = "context resolve, cold process", COLD.get(bench.count)
    return [next_to_peer(name, samples["hall"].median, bare, samples[bare].median, at_most=at_most)]


def sharded(bench: Bench) -> list[Claim]:
    """Ask the same pages in shards, in turns with the cache that has none, in processes and in this one."""
    parts, shards = f"{SHARDS} shards", bench.scratch / "sharded"
    process(*bench.build(shards), "--shards", str(SHARDS))()
    caches = {parts: shards, "unsharded": bench.cache}
    asked = {name: iter(bench.asked) for name in caches}

    def ask(name: str) -> float:
        cache, budget = str(caches[name]), str(BUDGET)
        return process(*command_line("resolve", "--cache", cache, "--query", next(asked[name]), "--budget", budget))()

    cold = take_turns({name: partial(ask, name) for name in caches}, rounds=bench.rounds * 5)
    warm = _resolve_in_turns(bench, caches)
    return [
        next_to_peer(name, samples[parts].median, "unsharded", samples["unsharded"].median, at_most=SHARDED)
        for name, samples in (
            (f"resolve on {parts}, warm, p50", warm),
            (f"context resolve on {parts}, cold process", cold),
        )
    ]


def _resolve_in_turns(bench: Bench, caches: Mapping[str, Path]) -> dict[str, Sample]:
    """Return how long caches take that were asked before; each has the first turn as often as the others."""
    opened = {name: open_cache(Disk(), str(cache)) for name, cache in caches.items()}
    taken: dict[str, list[float]] = {name: [] for name in caches}
    for number, question in enumerate((*bench.asked_before, *bench.asked)):
        for name in sorted(caches, reverse=bool(number % 2)):
            begun = time.perf_counter()
            opened[name].resolve(Question(question, BUDGET))
            if number >= ASKED_BEFORE:
                taken[name].append(time.perf_counter() - begun)
    return {name: Sample(tuple(seconds)) for name, seconds in taken.items()}


STEPS = {step.__name__: step for step in (build_memory, build_time, index_size, ranking, calls, cold, sharded)}
"""The first builds the cache that the others ask, and is always taken."""


def _scorer(bench: Bench) -> SectionScorer:
    opened = open_cache(Disk(), str(bench.cache))
    assert isinstance(opened, OpenSections)
    return sections_of(opened).scorer


def _label(peer: str) -> str:
    return peer if peer == "without numpy" else f"{peer}, best {peers.BEST}"


def _processor_seconds(ask: Callable[[str], object], question: str) -> float:
    begun = time.process_time()
    ask(question)
    return time.process_time() - begun


def _after_removing(cache: Path, measure: Measure) -> Measure:
    def remove_and_measure() -> float:
        shutil.rmtree(cache, ignore_errors=True)
        os.sync()
        return measure()

    return remove_and_measure


def measure_all(directory: Path, count: int, rounds: int, steps: Sequence[str]) -> Table:
    """Give the table for a corpus of `count` pages in `directory`."""
    _say(f"{count} pages: writing or finding them")
    home = directory / f"pages-{count}"
    home.mkdir(parents=True, exist_ok=True)
    corpus = write_page_corpus(home, count, seed=SEED)
    claims: list[Claim] = []
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        bench = Bench(corpus=corpus, scratch=Path(scratch), rounds=rounds)
        for name, step in STEPS.items():
            if name in steps or step is build_memory:
                _say(f"{count} pages: {name.replace('_', ' ')}")
                claims += step(bench)
        sections = _scorer(bench).segments.sections
    text = megabytes(corpus.text_bytes)
    return claims_table(f"{count:,} pages, {sections:,} sections, {text} of text, budget {BUDGET:,}", claims)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sections", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pages", type=lambda text: [*map(int, text.split(","))], default=[10_000], help="sizes (default: 10000)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of what is slow; more of what is quick")
    parser.add_argument(
        "--steps", type=lambda text: text.split(","), default=[*STEPS], help=f"some of {','.join(STEPS)} (default: all)"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the corpora here, and take them from here")
    add_page_option(parser)
    options = parser.parse_args()
    for sentence in peers.missing():
        print(sentence)
    with tempfile.TemporaryDirectory() as temporary:
        directory = (options.keep or Path(temporary)).absolute()
        for count in options.pages:
            publish(
                measure_all(directory, count, options.rounds, options.steps), PART.format(count=count), options.write
            )


if __name__ == "__main__":
    main()

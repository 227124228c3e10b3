"""Claim: a cache is built about as fast as it could be, and answers from an index: quickly, in little memory.

    python -m benchmarks.caches [--documents 10000,100000] [--rounds 5] [--keep DIR] [--write docs/performance.md]

Memory is read from /proc: Linux only.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peers
from benchmarks.client import Client, timed_call
from benchmarks.generators import Corpus, write_corpus
from benchmarks.report import Table, add_page_option, claims_table, publish
from benchmarks.runner import (
    Claim,
    Measure,
    command_line,
    duration,
    megabytes,
    next_to_peer,
    next_to_target,
    peak_memory,
    process,
    resident_memory,
    take_turns,
)
from contexthall import open_hall
from contexthall.caches.library import CacheRef
from contexthall.caches.query.ranking import Query
from contexthall.caches.query.reader import OpenCache
from contexthall.system.disk import Disk

PART = "benchmarks.caches {count}"
SEED = 3
BUDGET = 4000
COMMON, RARE = "common words", "rare words"

# What was promised, by the number of documents; seconds, bytes, or times a peer.
BUILD = {10_000: 1.5}
BUILD_MEMORY = {100_000: 500e6}
INDEX_SIZE = {10_000: 0.5, 100_000: 0.5}
RANKING = {10_000: 0.003, 100_000: 0.030}
RANKING_BEYOND = {10_000: 0.001, 100_000: 0.008}
CALL = {10_000: 8}
COLD = {10_000: 10, 100_000: 20}
SCAN = {10_000: 1.5}
SERVER_MEMORY = {100_000: 200e6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A corpus, the cache built from it, and room to work in on the same disk."""

    corpus: Corpus
    scratch: Path
    rounds: int

    @property
    def count(self) -> int:
        return self.corpus.documents

    @property
    def cache(self) -> Path:
        return self.scratch / "cache"

    @property
    def queries(self) -> dict[str, str]:
        return {COMMON: self.corpus.common_query, RARE: self.corpus.rare_query}

    @property
    def slow_rounds(self) -> int:
        """Give fewer turns to what takes as long as there are documents."""
        return max(1, min(self.rounds, self.rounds * 10_000 // self.count))

    def build(self, cache: Path) -> tuple[str, ...]:
        return command_line(
            "build", "--sources", self.corpus.sources, "--cache", str(cache), "--format", "1", "--force"
        )

    def resolve(self, query: str, cache: Path) -> tuple[str, ...]:
        return command_line("resolve", "--cache", str(cache), "--query", query, "--budget", str(BUDGET))


def build_memory(bench: Bench) -> list[Claim]:
    """Build the cache that all the others ask."""
    peak = peak_memory(*bench.build(bench.cache))
    return [next_to_target("build, peak memory", peak, BUILD_MEMORY.get(bench.count), show=megabytes)]


def build_time(bench: Bench) -> list[Claim]:
    """Build where nothing is yet, as the peers do, and in the place of a cache."""
    indexers = peers.indexers(bench.corpus, bench.scratch)
    new, replaced = bench.scratch / "new", bench.scratch / "replaced"
    builds = {
        "build": _after_removing(new, process(*bench.build(new))),
        "build in place of a cache": _after_sync(process(*bench.build(replaced))),
    }
    process(*bench.build(replaced))()
    samples = take_turns(builds | indexers, rounds=bench.slow_rounds, warm_up=0)
    together = sum(samples[name].median for name in indexers)
    promised = BUILD.get(bench.count) if "tantivy" in indexers else None
    parts = " + ".join(f"{name} {duration(samples[name].median)}" for name in indexers)
    label = f"{parts} =" if len(indexers) > 1 else "plain loop"
    return [next_to_peer(name, samples[name].median, label, together, at_most=promised) for name in builds]


def index_size(bench: Bench) -> list[Claim]:
    size = sum(file.stat().st_size for file in _index_files(bench.cache))
    return [
        next_to_peer(
            "index size", size, "text", bench.corpus.text_bytes, at_most=INDEX_SIZE.get(bench.count), show=megabytes
        )
    ]


def ranking(bench: Bench) -> list[Claim]:
    """Rank in a process that has the cache open, in turns with SQLite."""
    opened = OpenCache(Disk().enter(str(bench.cache)))
    claims: list[Claim] = []
    with closing(peers.sqlite_index(bench.corpus, bench.scratch / "fts5.db")) as connection:
        for kind, query in bench.queries.items():
            turns = {"hall": _rank(opened, query), "SQLite": peers.sqlite_ranking(connection, query)}
            samples = take_turns(turns, rounds=bench.rounds * 40, warm_up=3)
            hall, sqlite, name = samples["hall"], samples["SQLite"].median, f"ranking, warm, {kind}"
            if kind == COMMON:
                claims.append(next_to_target(f"{name}, p50", hall.median, RANKING.get(bench.count)))
                claims.append(next_to_target(f"{name}, p50, beyond", hall.median, RANKING_BEYOND.get(bench.count)))
            claims.append(next_to_peer(f"{name}, p50", hall.median, f"SQLite FTS5, best {peers.BEST}", sqlite))
            claims.append(next_to_target(f"{name}, p99", hall.percentile(99), None))
    return claims


def calls(bench: Bench) -> list[Claim]:
    """Ask a server over its standard input and output, in turns with its cheapest tool on the same connection."""
    with closing(_server(bench)) as client:
        cheapest = "context.list_caches"
        turns = {cheapest: timed_call(client, cheapest)} | {
            kind: timed_call(client, "context.resolve", cache=str(bench.cache), query=query, budget=BUDGET)
            for kind, query in bench.queries.items()
        }
        samples = take_turns(turns, rounds=bench.rounds * 40, warm_up=3)
    base, at_most = samples[cheapest].median, CALL.get(bench.count)
    return [
        next_to_peer(
            f"context.resolve over stdio, warm, {kind}, p50", samples[kind].median, cheapest, base, at_most=at_most
        )
        for kind in bench.queries
    ]


def cold(bench: Bench) -> list[Claim]:
    """Ask with a process for each question, in turns with a bare interpreter and with ripgrep."""
    claims = []
    bare = "python -c pass"
    for kind, query in bench.queries.items():
        others = peers.ripgrep(bench.corpus, query)
        turns = {
            "hall": process(*bench.resolve(query, bench.cache)),
            bare: process(sys.executable, "-c", "pass"),
            **others,
        }
        samples = take_turns(turns, rounds=bench.rounds * 5)
        name, ours = f"context resolve, cold process, {kind}", samples["hall"].median
        claims.append(next_to_peer(name, ours, bare, samples[bare].median, at_most=COLD.get(bench.count)))
        claims += [next_to_peer(name, ours, f"{other} (counts lines)", samples[other].median) for other in others]
    return claims


def scan(bench: Bench) -> list[Claim]:
    """Ask the same cache without its index, after making sure that both give the same bytes."""
    bare = bench.scratch / "without-index"
    shutil.copytree(bench.cache, bare, copy_function=os.link)
    for file in _index_files(bare):
        file.unlink()
    turns = {}
    for kind, query in bench.queries.items():
        if _output(bench.resolve(query, bench.cache)) != _output(bench.resolve(query, bare)):
            raise SystemExit(f"index and full scan disagree on {query!r}")
        turns[kind] = _scan(bare, query)
    samples = take_turns(turns, rounds=bench.slow_rounds)
    target = SCAN.get(bench.count)
    return [next_to_target(f"full scan without the index, {kind}", samples[kind].median, target) for kind in turns]


def server_memory(bench: Bench) -> list[Claim]:
    """Compare a server that has answered on the cache with one that has only said that there are none."""
    with ExitStack() as stack:
        idle, busy = (stack.enter_context(closing(_server(bench))) for _ in range(2))
        for client in (idle, busy):
            timed_call(client, "context.list_caches")()
        for query in bench.queries.values():
            timed_call(busy, "context.resolve", cache=str(bench.cache), query=query, budget=BUDGET)()
        above = resident_memory(busy.process.pid) - resident_memory(idle.process.pid)
    return [next_to_target("server, memory above an idle one", above, SERVER_MEMORY.get(bench.count), show=megabytes)]


def _rank(opened: OpenCache, query: str) -> Measure:
    def measure() -> float:
        begun = time.perf_counter()
        opened.rank(Query(query, BUDGET))
        return time.perf_counter() - begun

    return measure


def _scan(cache: Path, query: str) -> Measure:
    """Time a full scan by a library that has seen nothing yet."""

    def measure() -> float:
        library = open_hall().caches
        begun = time.perf_counter()
        library.resolve(CacheRef(str(cache)), query, budget=BUDGET)
        return time.perf_counter() - begun

    return measure


def _server(bench: Bench) -> Client:
    """Start a server whose own cache root is empty."""
    project = bench.scratch / "project"
    (project / ".context" / "caches").mkdir(parents=True, exist_ok=True)
    return Client(*command_line("serve"), cwd=project)


def _index_files(cache: Path) -> list[Path]:
    """List what stands at the top of a cache beside the files of the format."""
    return [file for file in cache.iterdir() if file.is_file() and file.name not in {"manifest.json", "index.json"}]


def _after_removing(cache: Path, measure: Measure) -> Measure:
    def remove_and_measure() -> float:
        shutil.rmtree(cache, ignore_errors=True)
        return _after_sync(measure)()

    return remove_and_measure


def _after_sync(measure: Measure) -> Measure:
    """Measure once the disk is done with what came before."""

    def sync_and_measure() -> float:
        os.sync()
        return measure()

    return sync_and_measure


def _output(command: tuple[str, ...]) -> bytes:
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


STEPS = (build_memory, build_time, index_size, ranking, calls, cold, scan, server_memory)


def measure_all(directory: Path, count: int, rounds: int) -> Table:
    """Give the table for a corpus of `count` documents in `directory`."""
    _say(f"{count} documents: writing or finding them")
    home = directory / f"documents-{count}"
    home.mkdir(parents=True, exist_ok=True)
    corpus = write_corpus(home, count, seed=SEED)
    claims: list[Claim] = []
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        bench = Bench(corpus=corpus, scratch=Path(scratch), rounds=rounds)
        for step in STEPS:
            _say(f"{count} documents: {step.__name__.replace('_', ' ')}")
            claims += step(bench)
    return claims_table(f"{count:,} documents, {megabytes(corpus.text_bytes)} of text, budget {BUDGET:,}", claims)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _counts(text: str) -> list[int]:
    return [int(count) for count in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.caches", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=_counts, default=[10_000], help="sizes of the corpora (default: 10000)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of what is slow; more of what is quick")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the corpora here, and take them from here")
    add_page_option(parser)
    options = parser.parse_args()
    for sentence in peers.missing():
        print(sentence)
    with tempfile.TemporaryDirectory() as temporary:
        directory = (options.keep or Path(temporary)).absolute()
        for count in options.documents:
            publish(measure_all(directory, count, options.rounds), PART.format(count=count), options.write)


if __name__ == "__main__":
    main()

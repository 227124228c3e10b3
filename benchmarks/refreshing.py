"""Claim: a cache follows its sources, in the time that it takes to turn to the agent.

    python -m benchmarks.refreshing [--pages 1000,10000] [--rounds 20] [--write docs/performance.md]

A page is saved while a hall serves, and the hall is asked until the answer is new. Linux and macOS.
"""

import argparse
import itertools
import json
import os
import shutil
import string
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.client import Client
from benchmarks.generators import PageCorpus, write_page_corpus
from benchmarks.report import add_page_option, claims_table, publish
from benchmarks.runner import (
    Claim,
    Measure,
    Sample,
    command_line,
    next_to_peer,
    next_to_target,
    process,
    take_turns,
)
from contexthall.caches.freshness import SourceJudge
from contexthall.system.disk import Disk

PART = "benchmarks.refreshing"
SEED = 3
BUDGET = 1000
BUILDS = 3
JUDGEMENTS = 21
WARM_UP = 100
PAUSE_SECONDS = 0.02
QUIET_SECONDS = 2.5
SETTLED_SECONDS = 2.5

# What was promised: times a peer, or seconds.
REFRESH = {10_000: 0.2}
JUDGING = {10_000: 3}
NEW_ANSWER = 2.0
MEANWHILE = 2


def _words() -> Iterator[str]:
    return (f"q{''.join(letters)}x" for letters in itertools.product(string.ascii_lowercase, repeat=3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Pages in a project, and the cache of them."""

    corpus: PageCorpus
    project: Path
    rounds: int
    words: Iterator[str] = field(default_factory=_words)

    @property
    def cache(self) -> Path:
        return self.project / ".context" / "caches" / "handbook"

    def build(self, cache: Path) -> tuple[str, ...]:
        return command_line("build", "--sources", self.corpus.sources, "--cache", str(cache))

    def save(self) -> str:
        """Save a page with a word that no other page has; give the word."""
        page, word = Path(self.corpus.sources) / "00" / "000000.md", next(self.words)
        page.write_text(f"# Saved\n\nThe word is {word}.\n")
        return word


def refresh(bench: Bench) -> list[Claim]:
    """Refresh after one edit, in turns with whole builds."""
    new, refreshing = bench.project / "new", process(*command_line("refresh", str(bench.cache)))
    building = process(*bench.build(new))

    def measure_build() -> float:
        shutil.rmtree(new, ignore_errors=True)
        return building()

    def measure_refresh() -> float:
        bench.save()
        return refreshing()

    samples = take_turns({"refresh": measure_refresh, "build": measure_build}, rounds=BUILDS, warm_up=0)
    shutil.rmtree(new)
    at_most = REFRESH.get(bench.corpus.documents)
    name = "refresh after one edit, cold process"
    return [next_to_peer(name, samples["refresh"].median, "whole build", samples["build"].median, at_most=at_most)]


def judging(bench: Bench) -> list[Claim]:
    """Judge sources that did not change, in turns with a plain walk."""
    time.sleep(SETTLED_SECONDS)  # what was just written is read again, because its times tell nothing yet
    process(*command_line("refresh", str(bench.cache)))()
    disk = Disk()
    judge = SourceJudge(disk, disk.enter(str(bench.cache)), lambda _real: True)

    def judge_once() -> None:
        changes = judge.changes()
        assert changes is not None
        assert not changes.total

    peers = {"judge": _timed(judge_once), "walk": _timed(lambda: _walk(bench.corpus.sources))}
    samples = take_turns(peers, rounds=JUDGEMENTS)
    at_most = JUDGING.get(bench.corpus.documents)
    name = "judging, nothing changed, in process"
    return [next_to_peer(name, samples["judge"].median, "walk with stat", samples["walk"].median, at_most=at_most)]


def _timed(call: Callable[[], object]) -> Measure:
    def measure() -> float:
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun

    return measure


def _walk(folder: str) -> None:
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)


def serving(bench: Bench) -> list[Claim]:
    """Save a page while a hall serves, and ask until the answer is new; ask other questions meanwhile, and before."""
    quiet, meanwhile, waits, first = list[float](), list[float](), list[float](), list[float]()
    questions = itertools.cycle(bench.corpus.questions[:WARM_UP])
    with closing(Client(*command_line("serve", "--path", str(bench.project)), cwd=bench.project)) as client:
        for _ in range(2 * WARM_UP):
            _ask(client, next(questions))
        for _ in range(bench.rounds):
            begun = time.perf_counter()
            while time.perf_counter() < begun + QUIET_SECONDS:
                quiet.append(_ask(client, next(questions))[0])
                time.sleep(PAUSE_SECONDS)
            word, begun = bench.save(), time.perf_counter()
            while True:
                seconds, ids = _ask(client, word)
                if ids:
                    break
                meanwhile.append(_ask(client, next(questions))[0])
                time.sleep(PAUSE_SECONDS)
            waits.append(time.perf_counter() - begun)
            first.append(seconds)
    calm, busy = Sample(tuple(quiet)), Sample(tuple(meanwhile))
    return [
        next_to_target("one page saved: the answer is new, p50", Sample(tuple(waits)).median, None),
        next_to_target("one page saved: the answer is new, p95", Sample(tuple(waits)).percentile(95), NEW_ANSWER),
        next_to_peer("answers meanwhile, p50", busy.median, "before", calm.median, at_most=MEANWHILE),
        next_to_peer("answers meanwhile, p95", busy.percentile(95), "before", calm.percentile(95), at_most=MEANWHILE),
        next_to_peer("the slowest answer meanwhile", max(busy.seconds), "before", max(calm.seconds)),
        next_to_target("the first new answer, p50", Sample(tuple(first)).median, None),
    ]


def _ask(client: Client, query: str) -> tuple[float, list[str]]:
    """Ask, and give how long the answer took, and the ids in it."""
    begun = time.perf_counter()
    client.call("context.resolve", cache="handbook", query=query, budget=BUDGET)
    line = client.read_line()
    seconds = time.perf_counter() - begun
    answer = json.loads(json.loads(line)["result"]["content"][0]["text"])
    return seconds, [each["id"] for each in answer["documents"]]


def measure_all(count: int, rounds: int) -> list[Claim]:
    """Give the rows of a cache of so many pages."""
    project = Path(tempfile.mkdtemp())
    try:
        corpus = write_page_corpus(project / "docs", count, seed=SEED)
        bench = Bench(corpus=corpus, project=project, rounds=rounds)
        process(*bench.build(bench.cache))()
        claims = [*refresh(bench), *judging(bench), *serving(bench)]
    finally:
        shutil.rmtree(project)
    return [replace(claim, measure=f"{count:,} pages: {claim.measure}") for claim in claims]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refreshing", description=__doc__.splitlines()[0])
    parser.add_argument("--pages", default="1000,10000", help="how many, several with commas")
    parser.add_argument("--rounds", type=int, default=20, help="how often a page is saved")
    add_page_option(parser)
    options = parser.parse_args()
    claims = [claim for count in options.pages.split(",") for claim in measure_all(int(count), options.rounds)]
    publish(claims_table("Caches that follow their sources", claims), PART, options.write)


if __name__ == "__main__":
    main()

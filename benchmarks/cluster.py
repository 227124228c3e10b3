"""Claim: a cluster builds faster with more workers, and answers about as fast as its slowest shard.

    python -m benchmarks.cluster [--sections 400000] [--shards 2] [--keep DIR] [--write docs/scale.md]

Two workers on this machine, over loopback. Builds are the least of three by the clock, in turns. Questions are warm,
the median by the clock, in turns with the slowest shard alone. The simulation delays what a worker is asked for,
silences one now and then, and kills workers while they are asked; every answer is compared with that of this machine.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.generators import write_page_corpus
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import duration, milliseconds
from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.cluster.shard_holder import ShardHolder
from contexthall.caches.query.opening import AnyCache, open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core.errors import HallError
from contexthall.system.cluster import Cluster, Holders
from contexthall.system.disk import Disk

PART, FAULTS = "benchmarks.cluster", "benchmarks.cluster.faults"
WORKERS = 2
SECTIONS_A_PAGE = 6.4
BUILDS, ASKED = 3, 200
MOST_ABOVE_SECONDS, LEAST_FASTER = 0.025, 1.4


class HinderedHolder(ShardHolder):
    """Shards that take their time, and are silent now and then."""

    def __init__(self, delay_seconds: float, silent: float, silent_seconds: float) -> None:
        super().__init__()
        self._delay = delay_seconds
        self._silent = silent
        self._silent_seconds = silent_seconds
        self._dice = random.Random(os.getpid())

    def _ask(self, *arguments: Any) -> Any:
        time.sleep(self._silent_seconds if self._dice.random() < self._silent else self._delay)
        return super()._ask(*arguments)


class Fault(NamedTuple):
    """What is made to go wrong."""

    what: str
    delay_seconds: float = 0.0
    silent: float = 0.0
    silent_seconds: float = 0.0
    kill_every: int = 0


SIMULATED = (
    Fault("nothing"),
    Fault("each call takes 5 ms more", delay_seconds=0.005),
    Fault("each call takes 50 ms more", delay_seconds=0.05),
    Fault("1 call in 50 takes 3 s", silent=0.02, silent_seconds=3.0),
    Fault("a worker is killed every 20 questions", kill_every=20),
)


@contextmanager
def running(workers: int, home: Path) -> Iterator[Cluster]:
    """Start a cluster as a person does."""
    command = [sys.executable, "-m", "contexthall", "cluster", "up", "--workers", str(workers), "--port", "0"]
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert started.stdout is not None
        cluster = Cluster(started.stdout.readline().strip())
        yield cluster
        cluster.close()
    finally:
        started.terminate()
        started.wait()


def measure_builds(directory: Path, sources: str, shards: int) -> dict[int, float]:
    """Return how long a build takes on one worker, and on several."""
    seconds: dict[int, list[float]] = {1: [], WORKERS: []}
    for _ in range(BUILDS):
        for workers, taken in seconds.items():
            with running(workers, directory) as cluster:
                builder = CacheBuilder(Disk(), "", scorer=SECTIONS, shards=shards, cluster=cluster)
                cluster.client.run(partial(__import__, "contexthall.caches.build.cluster_shares"))
                begun = time.perf_counter()
                builder.build(sources, str(directory / "cluster"), force=True)
                taken.append(time.perf_counter() - begun)
    return {workers: min(taken) for workers, taken in seconds.items()}


def in_turns(caches: Sequence[AnyCache], asked: Sequence[Question]) -> list[float]:
    """Return the median time of an answer from each cache."""
    taken: list[list[float]] = [[] for _ in caches]
    for question in asked:
        for opened, seconds in zip(caches, taken, strict=True):
            begun = time.perf_counter()
            opened.resolve(question)
            seconds.append(time.perf_counter() - begun)
    return [statistics.median(each) for each in taken]


def measure_answers(cache: Path, shards: int, asked: Sequence[Question], cluster: Cluster) -> list[float]:
    """Return the median time of an answer from the cluster, from all shards here, and from each shard alone."""
    folders = [cache, *(cache / f"shard-{number:03}" for number in range(shards))]
    opened = [open_cache(Disk(), str(cache), holders=Holders(cluster, ShardHolder))]
    opened += [open_cache(Disk(), str(folder)) for folder in folders]
    for question in asked:
        answers = [each.resolve(question).text for each in opened]
        assert answers[0] == answers[1]
    return in_turns(opened, asked)


def simulate(fault: Fault, cache: Path, asked: Sequence[Question], cluster: Cluster) -> list[str]:
    """Ask while something goes wrong; return the row of the table."""
    here, hindered = open_cache(Disk(), str(cache)), (fault.delay_seconds, fault.silent, fault.silent_seconds)
    there = open_cache(Disk(), str(cache), holders=Holders(cluster, partial(HinderedHolder, *hindered)))
    there.resolve(asked[0])
    seconds, failed, other = [], 0, 0
    for number, question in enumerate(asked, 1):
        if fault.kill_every and number % fault.kill_every == 0:
            while len(cluster.workers()) < WORKERS:  # the one before is started again
                time.sleep(0.1)
            os.kill(min(cluster.client.run(os.getpid).values()), signal.SIGKILL)
        begun, answer = time.perf_counter(), ""
        try:
            answer = there.resolve(question).text
        except HallError:
            failed += 1
        seconds.append(time.perf_counter() - begun)
        other += answer not in {"", here.resolve(question).text}
    worst = statistics.quantiles(seconds, n=20)[-1]
    shown = [milliseconds(each) for each in (statistics.median(seconds), worst, max(seconds))]
    return [fault.what, *shown, f"{failed}", f"{other}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--sections", type=int, default=400_000, help="about how many sections the cache has")
    parser.add_argument("--shards", type=int, default=WORKERS)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the pages here, and take them from here")
    add_page_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = (options.keep or Path(temporary)).absolute()
        directory.mkdir(exist_ok=True)
        corpus = write_page_corpus(directory / "pages", round(options.sections / SECTIONS_A_PAGE), seed=3)
        seconds = measure_builds(directory, corpus.sources, options.shards)
        cache, asked = directory / "cluster", [Question(text, 4000, "json") for text in corpus.questions[:ASKED]]
        (cache / "sources.json").unlink()
        with running(WORKERS, directory) as cluster:
            distant, here, *alone = measure_answers(cache, options.shards, asked, cluster)
            faults = [simulate(fault, cache, asked, cluster) for fault in SIMULATED]
    publish(table(options.sections, options.shards, seconds, (distant, here, max(alone))), PART, options.write)
    headers = ["what goes wrong", "p50", "p95", "slowest", "errors", "other answers"]
    publish(Table(f"{ASKED} questions while something goes wrong", headers, faults), FAULTS, options.write)


def table(sections: int, shards: int, builds: dict[int, float], answers: tuple[float, float, float]) -> Table:
    distant, here, alone = answers
    above, faster = distant - alone, builds[1] / builds[WORKERS]
    rows = [
        ["build on 1 worker", duration(builds[1]), "", ""],
        [
            f"build on {WORKERS} workers",
            duration(builds[WORKERS]),
            f"{faster:.2f} × as fast",
            f"at least {LEAST_FASTER} ×",
        ],
        ["question, all shards on this machine, p50", milliseconds(here), "", ""],
        ["question, the slowest shard alone, p50", milliseconds(alone), "", ""],
        [
            f"question, over {WORKERS} workers, p50",
            milliseconds(distant),
            f"{milliseconds(above)} above the slowest shard",
            f"at most {milliseconds(MOST_ABOVE_SECONDS)}",
        ],
    ]
    title = f"About {sections:,} sections in {shards} shards, {WORKERS} workers, a question of 8 words, budget 4,000"
    return Table(title, ["measure", "time", "compared", "target"], rows)


if __name__ == "__main__":
    main()

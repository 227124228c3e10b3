"""Claim: a cold question of a cache in a store takes few requests, and a warm one takes what it takes on a local disk.

    python -m benchmarks.stores [--pages 1000,3000,10000,20000] [--keep DIR] [--write docs/scale.md]

The store is a folder, of which each request takes 20 ms. Cold is the lower quartile by the clock, warm the median of
processor time, in turns with the local disk. All sizes but the last give the model; the last one checks it.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.generators import write_page_corpus
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import megabytes
from contexthall.caches.query.opening import AnyCache, open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.store.ranges import read_root
from contexthall.caches.store.stores import Stores
from contexthall.hall import open_hall
from contexthall.system.disk import Disk
from contexthall.system.objects import ObjectRange, Objects

PART = "benchmarks.stores"
LATENCY_SECONDS = 0.02
COLD, WARM = 20, 200
MODELLED = (1_000_000, 10_000_000, 100_000_000)


class SlowObjects(Objects):
    """A store that takes its time for each request."""

    def get(self, name: str) -> bytes:
        time.sleep(LATENCY_SECONDS)
        return super().get(name)

    def _range(self, wanted: ObjectRange) -> bytes:
        time.sleep(LATENCY_SECONDS)
        return super()._range(wanted)


class Size(NamedTuple):
    """What was measured of a cache of one size."""

    pages: int
    sections: int
    text: int
    packs: int
    rounds: int
    requests: int
    bytes: int
    cold: float
    warm: float
    local: float


def measure(directory: Path, pages: int) -> Size:
    corpus = write_page_corpus(directory / f"pages-{pages}", pages, seed=3)
    cache, url = directory / f"cache-{pages}", f"file://{directory}/store/{pages}"
    hall = open_hall(directory)
    if not cache.exists():
        hall.build_cache(corpus.sources, str(cache))
        (cache / "sources.json").unlink()
        hall.push_cache(str(cache), url, force=True)
    asked = [Question(text, 4000, "json") for text in corpus.questions[: WARM + COLD]]
    local = open_cache(Disk(), str(cache))
    for question in asked:
        local.resolve(question)
    traffic, seconds = [], []
    for question in asked[:COLD]:
        opened: list[Objects] = []
        stores = Stores(Disk(), os.environ, "", _connecting(opened))
        begun = time.perf_counter()
        answer = stores.open(url).resolve(question)
        seconds.append(time.perf_counter() - begun)
        assert answer.text == local.resolve(question).text
        traffic.append(opened[-1].traffic)
    warm = Stores(Disk(), os.environ, str(directory / "user"), _connecting([])).open(url)
    for question in asked:
        warm.resolve(question)
    there, here = _in_turns(warm, local, asked[COLD:])
    root = read_root(Objects.at(url, {}))
    return Size(
        pages=pages,
        sections=root.sums["sections"],
        text=corpus.text_bytes,
        packs=sum(part.size for part in root.parts),
        rounds=max(each.rounds for each in traffic),
        requests=max(each.requests for each in traffic),
        bytes=max(each.bytes for each in traffic),
        cold=statistics.quantiles(seconds, n=4)[0],
        warm=there,
        local=here,
    )


def _connecting(opened: list[Objects]) -> Callable[..., Objects]:
    def connect(url: str, environment: Mapping[str, str]) -> Objects:
        found = Objects.at(url, environment)
        opened.append(SlowObjects(url, found._store))
        return opened[-1]

    return connect


def _in_turns(one: AnyCache, other: AnyCache, asked: Sequence[Question]) -> tuple[float, float]:
    """Return the processor time of an answer from each, asked in turns: the machine may be busy."""
    taken: tuple[list[float], list[float]] = [], []
    for question in asked:
        for opened, seconds in zip((one, other), taken, strict=True):
            begun = time.process_time()
            opened.resolve(question)
            seconds.append(time.process_time() - begun)
    return statistics.median(taken[0]), statistics.median(taken[1])


def line(points: Sequence[tuple[float, float]]) -> statistics.LinearRegression:
    return statistics.linear_regression(*zip(*points, strict=True))


def rows(sizes: Sequence[Size]) -> list[list[str]]:
    """Put each size next to what the model says of it, which is made from all but the last."""
    known = sizes[:-1]
    size = line([(each.sections, each.bytes) for each in known])
    clock = line([(each.sections, each.cold) for each in known])
    packs = statistics.mean(each.packs / each.sections for each in known)

    def modelled(sections: int) -> list[str]:
        seconds = clock.intercept + clock.slope * sections
        return [megabytes(size.intercept + size.slope * sections), f"{seconds * 1000:,.0f} ms"]

    table = [
        [
            f"{each.sections:,}",
            megabytes(each.text),
            megabytes(each.packs),
            f"{each.rounds}",
            f"{each.requests}",
            megabytes(each.bytes),
            f"{each.cold * 1000:,.0f} ms",
            *modelled(each.sections),
            f"{each.warm * 1000:.2f} ms",
            f"{each.warm / each.local:.2f}",
        ]
        for each in sizes
    ]
    rounds, requests = max(each.rounds for each in sizes), max(each.requests for each in sizes)
    unmeasured = [
        [f"{count:,}", "", megabytes(packs * count), f"{rounds}", f"{requests}", "", "", *modelled(count), "", ""]
        for count in MODELLED
    ]
    return table + unmeasured


HEADERS = (
    "sections",
    "text",
    "packs",
    "rounds",
    "requests",
    "bytes",
    "cold",
    "bytes, model",
    "cold, model",
    "warm",
    "warm / local disk",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pages", type=lambda text: [*map(int, text.split(","))], default=[1_000, 3_000, 10_000, 20_000], help="sizes"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the caches here, and take them from here")
    add_page_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = (options.keep or Path(temporary)).absolute()
        directory.mkdir(exist_ok=True)
        sizes = []
        for pages in options.pages:
            print(f"{pages:,} pages", file=sys.stderr, flush=True)
            sizes.append(measure(directory, pages))
        latency = f"{LATENCY_SECONDS * 1000:.0f} ms a request"
        publish(Table(f"A question of 8 words, budget 4,000, {latency}", HEADERS, rows(sizes)), PART, options.write)


if __name__ == "__main__":
    main()

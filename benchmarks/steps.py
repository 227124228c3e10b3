"""How is a claim of several parts measured? Step by step, each in a directory of its own, or one of them alone."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.report import add_page_option

Figure = TypeVar("Figure")
Step = Callable[[Path, int, int], Iterable[Figure]]
"""What measures something in a directory, in so many rounds, with so many calls."""


def choose_steps(parser: argparse.ArgumentParser, steps: Sequence[Step[Figure]]) -> argparse.Namespace:
    """Read the command line of a script that has `--rounds` and `--calls`."""
    parser.add_argument("--only", choices=[step.__name__ for step in steps], help="measure this alone")
    add_page_option(parser)
    chosen = parser.parse_args()
    if chosen.only and chosen.write:
        parser.error("--write wants all of it: leave out --only")
    return chosen


def take_steps(steps: Sequence[Step[Figure]], chosen: argparse.Namespace) -> Iterator[Figure]:
    """Measure what was chosen, where nothing is remembered of other runs."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        os.environ |= {"XDG_CACHE_HOME": f"{directory}/cache", "XDG_STATE_HOME": f"{directory}/state"}
        for step in steps:
            if chosen.only in {None, step.__name__}:
                print(step.__name__.replace("_", " "), file=sys.stderr, flush=True)
                scratch = Path(directory) / step.__name__
                scratch.mkdir()
                yield from step(scratch, chosen.rounds, chosen.calls)

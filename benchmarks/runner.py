"""How is a claim measured? Peers take turns in one run, medians are compared, a table is printed.

A benchmark is a script, never a timed test: a figure on its own proves nothing, a peer in the same run does.
"""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Measure = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """What one peer needed, in seconds, turn by turn."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def percentile(self, percent: int) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def take_turns(peers: Mapping[str, Measure], *, rounds: int, warm_up: int = 1) -> dict[str, Sample]:
    """Measure every peer once a round, so that a slow moment of the machine falls on all of them."""
    for _ in range(warm_up):
        for measure in peers.values():
            measure()
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, measure in peers.items():
            taken[name].append(measure())
    return {name: Sample(tuple(seconds)) for name, seconds in taken.items()}


def process(*command: str, cwd: Path | None = None) -> Measure:
    """Time a whole process, from start to exit."""

    def measure() -> float:
        begun = time.perf_counter()
        subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begun

    return measure


def command_line(*arguments: str) -> tuple[str, ...]:
    """Spell `context …` for the interpreter that runs the benchmark."""
    return (str(Path(sys.executable).with_name("context")), *arguments)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def times(seconds: float, base: float) -> str:
    return f"{seconds / base:.1f} ×"


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that can be pasted into a document."""
    widths = [max(len(row[column]) for row in (headers, *rows)) for column in range(len(headers))]
    print(f"\n{title} — {machine()}\n")
    for row in (headers, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")


def machine() -> str:
    """Say where the figures come from."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"

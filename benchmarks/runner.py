"""How is a claim measured? Peers take turns in one run, and medians are compared.

A benchmark is a script, never a timed test: a figure on its own proves nothing, a peer in the same run does.
"""

import os
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Measure = Callable[[], float]
Show = Callable[[float], str]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A figure of ours next to a peer's, or next to a target; `at_most` is the ratio that was promised, if any was."""

    measure: str
    ours: float
    base: float | None = None
    peer: str = ""
    at_most: float | None = None
    show: Show

    @property
    def ratio(self) -> float | None:
        return None if self.base is None else self.ours / self.base

    @property
    def is_met(self) -> bool | None:
        return None if self.ratio is None or self.at_most is None else self.ratio <= self.at_most

    @property
    def row(self) -> list[str]:
        return [
            self.measure,
            self.show(self.ours),
            f"{self.peer} {self.show(self.base)}" if self.peer and self.base is not None else "",
            "" if self.ratio is None else f"{self.ratio:.2f} ×",
            self._promise,
            {None: "", True: "yes", False: "no"}[self.is_met],
        ]

    @property
    def _promise(self) -> str:
        if self.at_most is None or self.base is None:
            return ""
        return f"{self.at_most:g} ×" if self.peer else self.show(self.base * self.at_most)


def next_to_peer(
    measure: str, ours: float, peer: str, base: float, *, at_most: float | None = None, show: Show | None = None
) -> Claim:
    return Claim(measure=measure, ours=ours, peer=peer, base=base, at_most=at_most, show=show or duration)


def next_to_target(measure: str, ours: float, target: float | None, *, show: Show | None = None) -> Claim:
    return Claim(measure=measure, ours=ours, base=target, at_most=1, show=show or duration)


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
        ended = subprocess.run(
            command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        seconds = time.perf_counter() - begun
        _expect_success(command, ended.returncode, ended.stderr)
        return seconds

    return measure


def peak_memory(*command: str) -> int:
    """Run a process and say how many bytes it and its descendants held at once, at the worst moment seen.

    Memory that processes share counts once, in equal parts for each, as the kernel adds it up: that is what a machine
    needs. Workers are forked, and share with their parent what it had by then. Linux only.
    """
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        while running.poll() is None:
            peak = max(peak, sum(proportional_memory(process_id) for process_id in _family(running.pid)))
            time.sleep(0.02)
        assert running.stderr is not None
        _expect_success(command, running.returncode, running.stderr.read())
    return peak


def proportional_memory(process_id: int) -> int:
    """Say how many bytes a process holds, of what it shares with others its part; none if it has ended."""
    try:
        sums = Path(f"/proc/{process_id}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"^Pss: +(\d+) kB$", sums, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def resident_memory(process_id: int) -> int:
    """Say how many bytes a process holds; none if it has ended."""
    try:
        pages = Path(f"/proc/{process_id}/statm").read_text().split()[1]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _family(process_id: int) -> Iterator[int]:
    """List a process and all its descendants."""
    yield process_id
    for thread in Path(f"/proc/{process_id}/task").glob("*"):
        try:
            children = (thread / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _family(int(child))


def _expect_success(command: Sequence[str], returncode: int, stderr: str) -> None:
    if returncode:
        raise SystemExit(f"`{shlex.join(command)}` ended with {returncode}\n{stderr}")


def command_line(*arguments: str) -> tuple[str, ...]:
    """Spell `context …` for the interpreter that runs the benchmark."""
    return (str(Path(sys.executable).with_name("context")), *arguments)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def times(seconds: float, base: float) -> str:
    return f"{seconds / base:.1f} ×"

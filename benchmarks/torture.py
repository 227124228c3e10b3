"""Claim: broken on purpose, the hall loses nothing and lets nobody in; at length, and with what was done in figures.

    python -m benchmarks.torture [--seed 8] [--write docs/torture.md]

Runs the suites of tests/faults in their long form, then every fuzz target under a coverage-guided fuzzer, then the
load, one after the other, and prints what each did. The same seed does the same. Fails if anything did.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from docs.parts import rewrite
from tests.faults.fuzz.targets import TARGETS

from benchmarks.report import add_page_option

FUZZ_SECONDS = 12
WORKERS = 2
PART = "benchmarks.torture"


class Run(NamedTuple):
    """One command that tries to break something."""

    suite: str
    command: Sequence[str]


class Outcome(NamedTuple):
    """How it went, and what it said in its last words."""

    run: Run
    seconds: float
    failed: bool
    said: str


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=8)
    add_page_option(options)
    chosen = options.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report"
        report.touch()
        os.environ.update(
            CONTEXT_TORTURE="1",
            CONTEXT_TORTURE_SEED=str(chosen.seed),
            CONTEXT_TORTURE_REPORT=str(report),
            CONTEXT_CI="1",
        )
        outcomes = [*in_turn(suites(chosen.seed)), *side_by_side(fuzzers(chosen.seed, scratch)), *in_turn(load())]
        rows = [json.loads(line) for line in report.read_text().splitlines()]
    text = page(outcomes, rows, f"Seed {chosen.seed}", (time.monotonic() - began) / 60)
    print(text)
    if chosen.write:
        rewrite(chosen.write, {PART: text})
    sys.exit(any(outcome.failed for outcome in outcomes))


def suites(seed: int) -> list[Run]:
    pytest = [sys.executable, "-m", "pytest", "-q", "--no-cov", f"--numprocesses={WORKERS}"]
    return [Run("suites", [*pytest, f"--randomly-seed={seed}", "tests/faults"])]


def fuzzers(seed: int, scratch: str) -> list[Run]:
    driver = [sys.executable, "-m", "tests.faults.fuzz.coverage_guided"]
    bounds = [f"--seconds={FUZZ_SECONDS}", f"--seed={seed}", f"--findings={scratch}"]
    return [Run(f"fuzzing {name}", [*driver, name, *bounds]) for name in TARGETS]


def load() -> list[Run]:
    return [Run("load", [sys.executable, "-m", "benchmarks.load"])]


def in_turn(runs: Iterable[Run]) -> list[Outcome]:
    return [carry_out(run) for run in runs]


def side_by_side(runs: Iterable[Run]) -> list[Outcome]:
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(carry_out, runs))


def carry_out(run: Run) -> Outcome:
    began = time.monotonic()
    done = subprocess.run(run.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(f"--- {run.suite}\n{done.stdout}", file=sys.stderr)
    return Outcome(run, time.monotonic() - began, done.returncode != 0, last_words(done.stdout))


def last_words(said: str) -> str:
    lines = [line.strip(" =") for line in said.splitlines() if line.strip(" =")]
    return lines[-1] if lines else ""


def page(outcomes: Sequence[Outcome], rows: Sequence[dict[str, str | int]], title: str, minutes: float) -> str:
    """Spell the result as Markdown."""
    failed = [outcome.run.suite for outcome in outcomes if outcome.failed]
    lines = [
        f"{title}, Python {platform.python_version()}, {os.cpu_count()} cores, {minutes:.0f} minutes: "
        + (f"**failed: {', '.join(failed)}**." if failed else "nothing broke."),
        "",
        "| suite | what | figure |",
        "| --- | --- | ---: |",
    ]
    lines += [f"| {suite} | {what} | {figure} |" for (suite, what), figure in added_up(rows).items()]
    lines += ["", "| run | seconds | its last words |", "| --- | ---: | --- |"]
    lines += [f"| {each.run.suite} | {each.seconds:.0f} | {each.said} |" for each in outcomes]
    return "\n".join(lines)


def added_up(rows: Sequence[dict[str, str | int]]) -> dict[tuple[str, str], str]:
    """Add up what was counted under the same name, in the order of the suites."""
    figures: dict[tuple[str, str], str | int] = {}
    for row in sorted(rows, key=lambda row: (str(row["suite"]), str(row["what"]))):
        key, figure = (str(row["suite"]), str(row["what"])), row["figure"]
        before = figures.get(key)
        figures[key] = before + figure if isinstance(before, int) and isinstance(figure, int) else figure
    return {key: f"{figure:,}" if isinstance(figure, int) else figure for key, figure in figures.items()}


if __name__ == "__main__":
    main()

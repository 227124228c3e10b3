"""Claim: a mistake that somebody could really make is noticed by the tests.

    python -m benchmarks.mutants [--only SUBSTRING]

Each mutant of benchmarks/mutant_table.py is planted in a copy of the tree, and the tests that should notice it are run
there: first without it, when they must pass, then with it, when one must fail. The copy has an interpreter of its own
that finds the package in the copy and nowhere else, whatever environment a test gives to the processes that it starts.
"""

import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from benchmarks.mutant_table import CHOSEN, MUTANTS, SURVIVED_ONCE, Mutant

WORKERS = 2
MOST_SECONDS = 300.0
BASELINE_SECONDS = 1800.0
_ROOT = Path(__file__).parent.parent
_PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Verdict(NamedTuple):
    """What became of a mutant: `killed`, `survived`, or why that is not known."""

    mutant: Mutant
    word: str
    by: str
    seconds: float


class Ran(NamedTuple):
    """How a run of tests ended; None for one that never did."""

    code: int | None
    said: str
    seconds: float


class Copy:
    """The tree in a directory of its own, and an interpreter that imports the package from there."""

    def __init__(self, place: Path) -> None:
        self._tree, self._python = place / "tree", place / "venv" / "bin" / "python"
        shutil.copytree(_ROOT, self._tree, ignore=_made_by_make, symlinks=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
        packages = next((place / "venv").glob("lib/python*/site-packages"))
        (packages / "copy.pth").write_text(f"{self._tree / 'src'}\n{sysconfig.get_path('purelib')}\n")
        self._check_is_imported()

    def _check_is_imported(self) -> None:
        """See that nobody gets the package from elsewhere, not even a process that has no environment."""
        told = subprocess.run(
            [self._python, "-c", "import contexthall; print(contexthall.__file__)"],
            cwd="/",
            env={},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if not told.startswith(f"{self._tree}/src/"):
            raise SystemExit(f"the copy imports {told.strip()}")

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """While this is entered, the copy has the mistake in it; ValueError if it is not clear where that belongs."""
        file = self._tree / mutant.path
        text = file.read_text()
        self._write(file, mutant.planted(text))
        try:
            yield
        finally:
            self._write(file, text)

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.write_text(text)
        # Byte code would be taken for that of the new text, if both are of one size and one second.
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)

    @staticmethod
    def _environment() -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**ours, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, tests: Sequence[str], *more: str, seconds: float = MOST_SECONDS) -> Ran:
        began = time.monotonic()
        running = subprocess.Popen(
            [self._python, *_PYTEST, *more, *tests],
            cwd=self._tree,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            return Ran(None, running.communicate()[0], time.monotonic() - began)
        return Ran(running.returncode, said, time.monotonic() - began)


def _made_by_make(folder: str, names: Sequence[str]) -> set[str]:
    """Name what is no part of the tree."""
    hidden = {name for name in names if name.startswith(".")} if Path(folder) == _ROOT else set()
    return hidden | {"__pycache__", "dist"}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="", metavar="SUBSTRING", help="those whose module or sentence has it")
    only = options.parse_args().only
    mutants = [mutant for mutant in MUTANTS if only.lower() in f"{mutant.module} {mutant.breaks}".lower()]
    if not mutants:
        raise SystemExit(f"no mutant has {only!r} in its module or sentence")
    with tempfile.TemporaryDirectory() as scratch:
        copies = [Copy(Path(scratch) / str(number)) for number in range(WORKERS)]
        check_baseline(copies[0], mutants)
        verdicts = judge_all(copies, mutants)
    report(verdicts)
    if any(verdict.word != "killed" for verdict in verdicts):
        sys.exit(1)


def check_baseline(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """Run all tests that are named, with nothing planted: one that fails in any case would prove nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    ran = copy.run(tests, "--numprocesses", str(WORKERS), seconds=BASELINE_SECONDS)
    if ran.code != 0:
        print(ran.said)
        raise SystemExit("the tests fail though nothing is planted")
    print(f"{len(tests)} files or tests pass with nothing planted, in {ran.seconds:.0f} s", flush=True)


def judge_all(copies: Sequence[Copy], mutants: Sequence[Mutant]) -> list[Verdict]:
    """Judge every mutant, as many at a time as there are copies, and tell of each as soon as it is judged."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def judged(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            verdict = judge(copy, mutant)
        finally:
            free.put(copy)
        print(row(verdict), flush=True)
        return verdict

    with ThreadPoolExecutor(len(copies)) as workers:
        return list(workers.map(judged, mutants))


def judge(copy: Copy, mutant: Mutant) -> Verdict:
    try:
        with copy.planted(mutant):
            ran = copy.run(mutant.tests)
    except ValueError as error:
        return Verdict(mutant, "not planted", str(error), 0.0)
    by = next(iter(_FAILED.findall(ran.said)), "")
    match ran.code:
        case None:
            return Verdict(mutant, "killed", "time-out", ran.seconds)
        case 0:
            return Verdict(mutant, "survived", "", ran.seconds)
        case 1 | 2 if by:
            return Verdict(mutant, "killed", by, ran.seconds)
        case _:
            return Verdict(mutant, "not run", ran.said[-500:], ran.seconds)


def row(verdict: Verdict) -> str:
    mutant, word, by, seconds = verdict
    told = f"{mutant.module}: {mutant.breaks}"
    return f"{word:<8} {seconds:5.1f} s  {told}" + (f"\n{'':18}by {by}" if by else "")


def report(verdicts: Sequence[Verdict]) -> None:
    for what, mutants in (("that had survived once", SURVIVED_ONCE), ("chosen since", CHOSEN)):
        judged = [verdict for verdict in verdicts if verdict.mutant in mutants]
        if judged:
            print(f"of {len(judged)} {what}: {killed(judged)} killed")
    alive = [verdict for verdict in verdicts if verdict.word != "killed"]
    for verdict in alive:
        print(row(verdict))
    print(f"kill rate: {killed(verdicts)} of {len(verdicts)}, {killed(verdicts) / len(verdicts):.0%}")


def killed(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.word == "killed" for verdict in verdicts)


if __name__ == "__main__":
    main()

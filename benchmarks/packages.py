"""Claim: the documentation of what is installed becomes a cache within a minute.

    python -m benchmarks.packages [--environment VENV] [--rounds 3] [--write docs/performance.md]

Without an environment, one of 100 packages is written: 40 MB of modules with classes, signatures and docstrings, which
is what environments of that size have. Memory is read from /proc: Linux only.
"""

import argparse
import os
import random
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from benchmarks.generators import words
from benchmarks.report import Table, add_page_option, claims_table, publish
from benchmarks.runner import (
    Claim,
    command_line,
    duration,
    megabytes,
    next_to_target,
    peak_memory,
    process,
    take_turns,
)

PART = "benchmarks.packages"
PACKAGES = 100
MODULES = 60
CLASSES = 4
METHODS = 5
SEED = 5
VOCABULARY = 4000

# What was promised, in seconds and bytes.
BUILD = 60
BUILD_MEMORY = 500e6


def measure_all(environment: Path, scratch: Path, rounds: int) -> Table:
    """Give the table for the packages of an environment."""
    cache = scratch / "cache"
    build = command_line("build", "--all-packages", "--python", str(environment), "--cache", str(cache), "--force")
    os.chdir(scratch)  # where no project asks for anything
    peak = peak_memory(*build)
    refresh = command_line("refresh", str(cache))
    samples = take_turns({"build": process(*build), "refresh": process(*refresh)}, rounds=rounds, warm_up=0)
    claims = [
        next_to_target("build --all-packages", samples["build"].median, BUILD),
        next_to_target("the same, peak memory", peak, BUILD_MEMORY, show=megabytes),
        Claim(measure="refresh, nothing changed", ours=samples["refresh"].median, show=duration),
    ]
    count = len(list(environment.glob("lib/python3*/site-packages/*.dist-info")))
    pages = len(list((cache / "documents").iterdir()))
    return claims_table(f"{count:,} packages, {pages:,} pages", claims)


def write_environment(directory: Path) -> Path:
    """Write packages of modules as an installer would; the same every time."""
    dice, known = random.Random(SEED), words(VOCABULARY, seed=SEED)
    site = directory / "environment" / "lib" / "python3.11" / "site-packages"
    for number in range(PACKAGES):
        name = f"{dice.choice(known)}{number}"
        package, info = site / name, site / f"{name}-1.{number}.dist-info"
        package.mkdir(parents=True)
        info.mkdir()
        files = [f"{name}/module{each}.py" for each in range(MODULES)]
        for file in files:
            (site / file).write_text("\n".join(_module(dice, known)))
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.{number}\n\n{_prose(dice, known, 400)}\n")
        (info / "RECORD").write_text("".join(f"{file},sha256=,\n" for file in files))
    return directory / "environment"


def _module(dice: random.Random, known: list[str]) -> Iterator[str]:
    yield f'"""{_prose(dice, known, 40)}"""'
    for _ in range(CLASSES):
        yield f'\nclass {dice.choice(known).title()}:\n    """{_prose(dice, known, 30)}"""'
        for _ in range(METHODS):
            first, second, third = dice.sample(known, 3)
            yield f"\n    def {first}(self, {second}: int = 1, *, {third}: str | None = None) -> bool:"
            yield f'        """{_prose(dice, known, 20)}"""'
            yield f"        return self.{second}({third}) is not None"


def _prose(dice: random.Random, known: list[str], count: int) -> str:
    return textwrap.fill(" ".join(dice.choices(known, k=count)).capitalize() + ".", 90)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packages", description=__doc__.splitlines()[0])
    parser.add_argument("--environment", type=Path, metavar="VENV", help="measure this one instead")
    parser.add_argument("--rounds", type=int, default=3, help="turns")
    add_page_option(parser)
    options = parser.parse_args()
    page = options.write and options.write.absolute()
    scratch = Path(tempfile.mkdtemp())
    try:
        environment = options.environment.absolute() if options.environment else write_environment(scratch)
        publish(measure_all(environment, scratch, options.rounds), PART, page)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()

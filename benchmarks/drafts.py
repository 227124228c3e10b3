"""Claim: a drafted summary says what its directory is for, or there is none.

    python -m benchmarks.drafts .bench-drafts [--sample 40] [--write docs/contexts.md]

Source packages from PyPI and npm are downloaded once, at the versions below, and never installed. Every directory that
counts is drafted, as `context init` does. Who speaks for it is counted here; whether that is useful, a person judges:
the sample is for reading.
"""

import argparse
import itertools
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Table, add_page_option, publish
from contexthall.contexts.draft.drafting import Order, draft_all
from contexthall.contexts.draft.witnesses import WITNESSES, Statement
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.project import Project
from contexthall.system.disk import Disk

PART = "benchmarks.drafts"
SEED = 24
PYPI = ("attrs==26.1.0", "click==8.5.1", "flask==3.1.3", "scrapy==2.19.0", "alembic==1.20.1", "aiohttp==3.14.5")
NPM = (
    *("express@5.1.0", "fastify@5.12.8", "rxjs@7.8.2", "zod@4.6.7", "@capacitor/android@7.4.4"),
    *("@capacitor/ios@7.4.4", "react-native@0.82.1"),
)
FILE_LIST = re.compile(r"\b\w[\w-]*\.(?:py|[cm]?[jt]sx?|java|kt|swift|rb|php|cs|[ch]pp?|rs|go|sh|json)\b.*,.*\.\w+")
"""Names of files, separated by commas: what a summary must never be."""


class Drafted(NamedTuple):
    """What was drafted of a package: of each directory that counts the statement, or None."""

    package: str
    statements: Mapping[str, Statement | None]
    files: int
    seconds: float

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.statements.values() if each is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=40, help="how many summaries to print")
    parser.add_argument("--files", type=int, default=27_000, help="how many the large tree has; 0: none is made")
    add_page_option(parser)
    chosen = parser.parse_args()
    drafted = [draft(package, folder) for package, folder in fetch(chosen.folder)]
    for line in sample(drafted, chosen.sample):
        print(line)
    if chosen.files:
        publish(large(chosen.folder, chosen.files), f"{PART}.large", chosen.write)
    publish(table(drafted), PART, chosen.write)


def large(folder: Path, files: int) -> Table:
    """Measure commands on a tree that is made of the packages, again and again, until it has so many files."""
    tree, there = folder / "large", 0
    shutil.rmtree(tree, ignore_errors=True)
    for number, (_, place) in enumerate(itertools.cycle(fetch(folder))):
        if there >= files:
            break
        shutil.copytree(place, tree / f"part{number}")
        there += sum(path.is_file() for path in (tree / f"part{number}").rglob("*"))
    rows = [_timed(tree, "init"), _timed(tree, "status"), _timed(tree, "regen", "part0")]
    shutil.rmtree(tree)
    return Table(f"A tree of {there:,} files", ["command", "seconds", "processor seconds"], rows)


def _timed(tree: Path, command: str, *arguments: str) -> list[str]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    state = {"XDG_STATE_HOME": str(tree.parent / "state"), "XDG_CACHE_HOME": str(tree.parent / "state")}
    subprocess.run(
        [sys.executable, "-m", "contexthall", command, *arguments, "--path", str(tree)],
        check=True,
        env=os.environ | state,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [f"`context {' '.join([command, *arguments])}`", f"{seconds:.1f}", f"{used:.1f}"]


def fetch(folder: Path) -> Iterator[tuple[str, Path]]:
    """Download and unpack what is not there yet; yield each package with its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in (*PYPI, *NPM):
        place = folder / re.sub(r"\W+", "-", package).strip("-")
        if not place.exists():
            archive = _download(package, folder)
            with tarfile.open(archive) as opened:
                opened.extractall(folder / "part", filter="data")
            next((folder / "part").iterdir()).rename(place)
            (folder / "part").rmdir()
            archive.unlink()
        yield package, place


def _download(package: str, folder: Path) -> Path:
    before = {*folder.glob("*.tar.gz"), *folder.glob("*.tgz")}
    if "==" in package:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet")
        name = package.partition("==")[0]
        command: tuple[str, ...] = (*pip, "--no-deps", "--no-binary", name, "--dest", str(folder), package)
    else:
        command = ("npm", "pack", "--silent", "--pack-destination", str(folder), package)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return ({*folder.glob("*.tar.gz"), *folder.glob("*.tgz")} - before).pop()


def draft(package: str, folder: Path) -> Drafted:
    """Draft a package, and write nothing."""
    project = Project(Disk(), str(folder.resolve()), Ledger(Disk(), "", time.time_ns))
    started = time.perf_counter()
    statements = draft_all(project, Order("", is_dry=True))
    seconds = time.perf_counter() - started
    files = sum(len(each.files) for each in project.look_around())
    return Drafted(package, statements, files, seconds)


def sample(drafted: list[Drafted], size: int) -> Iterator[str]:
    """Yield summaries for a person to read, always the same ones."""
    every = [
        f"{each.package} {scope} [{said.witness}]\n    {said.text}"
        for each in drafted
        for scope, said in each.statements.items()
        if said is not None
    ]
    yield from random.Random(SEED).sample(every, min(size, len(every)))


def table(drafted: list[Drafted]) -> Table:
    rows = [_row(each) for each in drafted]
    every = {f"{each.package}/{scope}": said for each in drafted for scope, said in each.statements.items()}
    whole = Drafted("all", every, sum(each.files for each in drafted), sum(each.seconds for each in drafted))
    headers = ["package", "directories", *WITNESSES, "left out", "file lists", "characters", "ms a file"]
    return Table("Who says what a directory is for", headers, [*rows, _row(whole)])


def _row(drafted: Drafted) -> list[str]:
    found = Counter(each.witness if each else "" for each in drafted.statements.values())
    lists = sum(bool(FILE_LIST.search(text)) for text in drafted.texts)
    length = statistics.median(map(len, drafted.texts)) if drafted.texts else 0
    counts = [len(drafted.statements), *(found[witness] for witness in WITNESSES), found[""], lists, round(length)]
    return [drafted.package, *map(str, counts), f"{1000 * drafted.seconds / max(drafted.files, 1):.1f}"]


if __name__ == "__main__":
    main()

"""Claim: along the history of any repository, a refreshed cache is the cache that a whole build makes.

    python -m benchmarks.history REPOSITORY [--paths docs] [--commits 60] [--queries 20]

Checks out the last commits that touch the paths, oldest first, into a directory of its own; the repository is only
read. After each one `context refresh` and a whole build must agree: manifest, index and documents byte by byte, and the
answers to queries, which are headings of the pages. Ends with 1 at the first difference. Prints how long both took.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.runner import command_line
from contexthall import open_hall

_EPOCH = "1700000000"
_BUDGETS = (400, 4_000)
_MAY_DIFFER = ("segment", "sources.json")
"""How the names of those files begin that a refresh need not write as a build does."""


class Step(NamedTuple):
    """One commit: what the refresh said, how many answers agree, and how long both commands took."""

    commit: str
    told: str
    answers: int
    refresh_seconds: float
    build_seconds: float


class Replay:
    """A history that is checked out commit by commit, and two caches of it."""

    def __init__(self, repository: Path, paths: Sequence[str], scratch: Path) -> None:
        self._repository = repository
        self._paths = paths
        self._tree = scratch / "tree"
        self._index = scratch / "index"
        # Of the same name, which answers in text show.
        self._refreshed, self._whole = scratch / "refreshed" / "cache", scratch / "whole" / "cache"
        self._tree.mkdir()

    def commits(self, count: int) -> list[str]:
        """Return the last commits that touch the paths, oldest first."""
        found = self._git("log", "--no-merges", "--format=%H", f"-{count + 1}", "--", *self._paths).split()
        return found[::-1]

    def start(self, commit: str) -> None:
        self._check_out(commit)
        self._build(self._refreshed)

    def step(self, commit: str, queries: int) -> Step:
        """Go to a commit, and compare; AssertionError names what differs."""
        self._check_out(commit)
        told, refreshing = self._run("refresh", str(self._refreshed))
        building = self._build(self._whole)
        _compare(_bytes_of(self._refreshed), _bytes_of(self._whole))
        answers = 0
        for query in self._queries(commit, queries):
            ours, theirs = _answers(self._refreshed, query), _answers(self._whole, query)
            assert ours == theirs, f"the answers to {query!r} differ"
            answers += len(ours)
        self._run("verify", "--cache", str(self._refreshed))
        again, _ = self._run("refresh", str(self._refreshed))
        assert again.endswith(": fresh"), f"not fresh after a refresh: {again}"
        return Step(commit[:10], told.partition(": ")[2].partition(", version")[0], answers, refreshing, building)

    def _queries(self, seed: str, count: int) -> list[str]:
        """Return headings of the pages, drawn by the commit, and one query that nothing answers."""
        outline = open_hall(self._whole.parent, cache_root=self._whole.parent).caches
        pages = json.loads(outline.outline(outline.locate("cache"), budget=10**9).text)["pages"]
        headings = sorted({section["heading"] for page in pages for section in page["sections"] if section["heading"]})
        return ["xyzzy", *random.Random(seed).sample(headings, min(count - 1, len(headings)))]

    def _build(self, cache: Path) -> float:
        sources = [f"{number}={self._tree / path}" for number, path in enumerate(self._paths)]
        folders = sources if len(sources) > 1 else [str(self._tree / self._paths[0])]
        options = [part for folder in folders for part in ("--sources", folder)]
        return self._run("build", *options, "--cache", str(cache), "--force")[1]

    def _check_out(self, commit: str) -> None:
        """Write the tree of a commit: only files that differ are written, as when somebody pulls."""
        self._git("--work-tree", str(self._tree), "read-tree", "--reset", "-u", commit)

    def _git(self, *arguments: str) -> str:
        environment = {**os.environ, "GIT_INDEX_FILE": str(self._index), "GIT_OPTIONAL_LOCKS": "0"}
        git = self._repository / ".git" if (self._repository / ".git").exists() else self._repository
        command = ("git", "--git-dir", str(git), *arguments)
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def _run(self, *arguments: str) -> tuple[str, float]:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
        begun = time.monotonic()
        done = subprocess.run(
            command_line(*arguments), env=environment, capture_output=True, text=True, check=False, cwd=self._tree
        )
        assert done.returncode == 0, f"context {arguments[0]} failed: {done.stderr}"
        return done.stderr.splitlines()[0] if done.stderr else "", time.monotonic() - begun


def _bytes_of(cache: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(cache)): path.read_bytes()
        for path in sorted(cache.rglob("*"))
        if path.is_file() and not path.name.startswith(_MAY_DIFFER)
    }


def _compare(ours: dict[str, bytes], theirs: dict[str, bytes]) -> None:
    differing = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    assert not differing, f"{len(differing)} files differ, such as {differing[:3]}"


def _answers(cache: Path, query: str) -> list[str]:
    """Return what a cache answers, but for whether it is fresh."""
    caches = open_hall(cache.parent, cache_root=cache.parent).caches
    found = []
    for budget in _BUDGETS:
        reply: dict[str, Any] = json.loads(caches.resolve(caches.locate("cache"), query, budget).text)
        del reply["selection"]["freshness"]
        found.append(json.dumps(reply))
    return found


def replay(repository: Path, paths: Sequence[str], commits: int, queries: int) -> Iterator[Step]:
    """Yield a step for each commit."""
    with tempfile.TemporaryDirectory() as scratch:
        history = Replay(repository, paths, Path(scratch))
        first, *rest = history.commits(commits)
        history.start(first)
        for commit in rest:
            yield history.step(commit, queries)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path, help="a local git repository, bare or not")
    parser.add_argument("--paths", nargs="+", default=["."], metavar="DIR", help="folders of documents in it")
    parser.add_argument("--commits", type=int, default=60, help="how many to go through")
    parser.add_argument("--queries", type=int, default=20, help="how many to ask after each")
    chosen = parser.parse_args()
    steps: list[Step] = []
    try:
        for step in replay(chosen.repository.absolute(), chosen.paths, chosen.commits, chosen.queries):
            steps.append(step)
            print(f"{step.commit}  {step.refresh_seconds:5.2f} s  {step.build_seconds:5.2f} s  {step.told}", flush=True)
    except AssertionError as error:
        sys.exit(f"after {len(steps)} commits that agree: {error}")
    refreshing, building = median(step.refresh_seconds for step in steps), median(step.build_seconds for step in steps)
    print(f"{len(steps)} commits, {sum(step.answers for step in steps):,} answers: all agree")
    print(f"median: refresh {refreshing:.2f} s, whole build {building:.2f} s ({refreshing / building:.2f} x)")


if __name__ == "__main__":
    main()

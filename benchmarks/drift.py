"""Claim: of the directories that a history makes stale, few have another interface.

    python -m benchmarks.drift REPOSITORY... [--commits 20] [--windows 5]

Checks out a commit into a directory of its own (the repositories are only read), drafts contexts, then checks out the
commit that is twenty later, and asks `context status` how far each directory has drifted. So for several windows, the
last one first; commits are those of the main line (first parents). Nothing is timed. Prints the
table of docs/contexts.md.
"""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.runner import command_line


class Window(NamedTuple):
    """What became of the directories that were listed first."""

    repository: str
    last: str
    listed: int
    drifts: Counter[str]

    def share(self, *drifts: str) -> str:
        count = sum(self.drifts[drift] for drift in drifts)
        return f"{count} ({count / self.listed:.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--windows", type=int, default=5)
    chosen = parser.parse_args()
    windows = [
        measure(repository, number * chosen.commits, chosen.commits)
        for repository in chosen.repositories
        for number in range(chosen.windows)
    ]
    print(as_table(windows, chosen.commits))


def measure(repository: Path, skipped: int, commits: int) -> Window:
    """Draft contexts at one commit, and grade their drift at a later one."""
    old, new = (_git(repository, "rev-parse", f"HEAD~{number}") for number in (skipped + commits, skipped))
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        _git(Path(scratch), "clone", "--quiet", "--no-checkout", str(repository.resolve()), "tree")
        _git(tree, "checkout", "--quiet", old)
        _context(tree, "init", "--no-agents")
        listed = {each["scope"] for each in _listed(tree)}
        _git(tree, "checkout", "--quiet", "--force", new)
        entries = [each for each in _listed(tree) if each["scope"] in listed]
    drifts = Counter(each.get("drift", "unknown") for each in entries if each["state"] == "stale")
    return Window(repository.name, new[:7], len(listed), drifts)


def as_table(windows: list[Window], commits: int) -> str:
    head = f"| repository | last commit | listed | stale after {commits} commits | content | interface | unknown |"
    rows = [
        f"| {each.repository} | `{each.last}` | {each.listed} | {each.share(*each.drifts)} | {each.share('content')} | "
        f"{each.share('interface')} | {each.share('unknown')} |"
        for each in windows
    ]
    return "\n".join([head, "| --- | --- | ---: | ---: | ---: | ---: | ---: |", *rows])


def _listed(tree: Path) -> list[dict[str, str]]:
    found = json.loads(_context(tree, "status", "--json"))["entries"]
    return [each for each in found if each["has_context"]]


def _context(tree: Path, *arguments: str) -> str:
    command = [*command_line(), *arguments]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()

"""Claim: of the directories that a history makes stale, few have another interface.

    python -m benchmarks.drift REPOSITORY... [--commits 20] [--windows 5]

Checks out a commit into a directory of its own (the repositories are only read), drafts contexts, then checks out the
commit that is twenty later, and asks `context status` how far each directory has drifted. So for several windows, the
last one first; commits are those of the main line (first parents). The peer is Python's own `ast`: in how many of the
directories with a context a module that stayed has other public signatures, tests left out. Nothing is timed. Prints
the rows of docs/contexts.md, and with --scopes which directories they are about.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.runner import command_line

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Window(NamedTuple):
    """What became of the directories that were listed first."""

    repository: str
    last: str
    listed: int
    tracked: int
    drifts: Counter[str]
    signatures: int
    """Directories in which public signatures of Python changed, by `ast`."""

    @property
    def stale(self) -> int:
        return sum(self.drifts.values())

    @property
    def drifted(self) -> int:
        return self.drifts["interface"] + self.drifts["evidence"]


COLUMNS: dict[str, Callable[[Window], float]] = {
    "listed": lambda each: each.listed,
    "with a context": lambda each: each.tracked,
    "stale": lambda each: each.stale,
    "content": lambda each: each.drifts["content"],
    "unknown": lambda each: each.drifts["unknown"],
    "interface": lambda each: each.drifted,
    "of those listed": lambda each: each.drifted / each.listed,
    "of those with a context": lambda each: each.drifted / each.tracked,
    "signatures, by `ast`": lambda each: each.signatures,
    "of those listed ": lambda each: each.signatures / each.listed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--scopes", action="store_true", help="name the directories with another interface on stderr")
    chosen = parser.parse_args()
    print(f"| repository | last commit | {' | '.join(map(str.strip, COLUMNS))} |")
    print(f"| --- | --- |{' ---: |' * len(COLUMNS)}")
    for repository in chosen.repositories:
        skipped = range(0, chosen.windows * chosen.commits, chosen.commits)
        windows = [measure(repository, each, chosen.commits, are_named=chosen.scopes) for each in skipped]
        for window in windows:
            print(as_row(window.repository, f"`{window.last}`", [window]), flush=True)
        print(as_row(f"**{windows[0].repository}**", f"mean of {len(windows)}", windows), flush=True)


def measure(repository: Path, skipped: int, commits: int, *, are_named: bool = False) -> Window:
    """Draft contexts at one commit, and grade their drift at a later one."""
    old, new = (_git(repository, "rev-parse", f"HEAD~{number}") for number in (skipped + commits, skipped))
    name = repository.resolve().parent.name if repository.name in {"repo", ".git"} else repository.name
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        _git(Path(scratch), "clone", "--quiet", "--no-checkout", str(repository.resolve()), "tree")
        _git(tree, "checkout", "--quiet", old)
        _context(tree, "init", "--no-agents")
        listing = _status(tree)
        listed = {each["scope"] for each in listing["entries"] if each["has_context"]}
        before = {scope: signatures(tree / scope) for scope in listed}
        _git(tree, "checkout", "--quiet", "--force", new)
        stale = [each for each in _status(tree)["entries"] if each["scope"] in listed and each["state"] == "stale"]
        after = {scope: signatures(tree / scope) for scope in listed}
    if are_named:
        print(new[:7], *(each["scope"] for each in stale if each.get("drift") == "interface"), file=sys.stderr)
    drifts = Counter(each.get("drift", "unknown") for each in stale)
    changed = sum(any(after[scope].get(file, one) != one for file, one in before[scope].items()) for scope in listed)
    return Window(name.rpartition("+")[2], new[:7], listing["total_directories"], len(listed), drifts, changed)


def as_row(repository: str, last: str, windows: list[Window]) -> str:
    means = {name: sum(map(value, windows)) / len(windows) for name, value in COLUMNS.items()}
    cells = [f"{mean:.1%}" if name.startswith("of ") else f"{mean:.3g}" for name, mean in means.items()]
    return f"| {repository} | {last} | {' | '.join(cells)} |"


def signatures(directory: Path) -> dict[str, set[str]]:
    """Return the public signatures of each Python module of a directory that holds no tests, as `ast` reads them."""
    files = sorted(directory.glob("*.py")) if "test" not in str(directory) else []
    return {file.name: set(_public(file)) for file in files if "test" not in file.name}


def _public(file: Path) -> Iterator[str]:
    try:
        body = ast.parse(file.read_bytes()).body
    except SyntaxError:
        return
    for node in body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
            methods = [each.name for each in node.body if isinstance(each, _FUNCTIONS) and each.name[0] != "_"]
            kept = sorted(set(methods)) if isinstance(node, ast.ClassDef) else []
            node.body, node.decorator_list = [ast.Pass()], []
            yield " ".join([ast.unparse(node), *kept])


def _status(tree: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_context(tree, "status", "--json"))
    return found


def _context(tree: Path, *arguments: str) -> str:
    command = [*command_line(), *arguments]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()

"""Claim: the state of a large project is known quickly, a question about one directory costs little, drafts are cheap.

    python -m benchmarks.contexts [--directories 5000] [--rounds 5] [--steps locked] [--write docs/performance.md]

"First ever" means that nothing is remembered; "remembered" that an earlier process looked at the project. The page
cache is warm throughout. The plain loop does what there is to do and no more: it lists every directory, loads every
context with libyaml and digests every file, in one process.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.client import Client, timed_call
from benchmarks.generators import write_project
from benchmarks.report import add_page_option, claims_table, publish
from benchmarks.runner import (
    Claim,
    Measure,
    Sample,
    command_line,
    megabytes,
    next_to_peer,
    next_to_target,
    peak_memory,
    process,
    take_turns,
)

PART = "benchmarks.contexts"
SEED = 4
SETTLING_SECONDS = 2.5
CALLS = 200
STEPS = "commands,calls,growth,drafting,locked"

# What was promised for 5,000 directories, in seconds, and for any number, as a ratio.
STATUS = 1.5
FIRST_LIST, LATER_LIST = 1.2, 0.4
CALL = 2
GROWTH = 11
INIT, INIT_MEMORY, DJANGO, REGEN = 20, 400e6, 3, 1.5
# "No slower than without a lock", and what medians of such processes differ by when nothing does.
LOCKED = 1.1

PLAIN_LOOP = """
import hashlib, os, sys, yaml
for path, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(path, name), "rb") as file:
            data = file.read()
        if name == ".context.yaml":
            yaml.load(data, yaml.CSafeLoader)
        else:
            hashlib.sha256(data).hexdigest()
"""

# `context`, which never takes so many contexts for enough to be worth a second process.
ONE_PROCESS = """
import sys
from contexthall.__main__ import main
from contexthall.contexts.freshness import heads
heads.MANY = sys.maxsize
main()
"""


def forgetting(memory: Path, measure: Measure) -> Measure:
    """Measure with nothing remembered."""

    def forgetful() -> float:
        shutil.rmtree(memory, ignore_errors=True)
        return measure()

    return forgetful


def first_call(project: Path) -> Measure:
    """Time the first `list_contexts` of a server that has just started."""

    def measure() -> float:
        with closing(Client(*command_line("serve"), cwd=project)) as client:
            timed_call(client, "context.list_caches")()
            return timed_call(client, "list_contexts")()

    return measure


def commands(project: Path, memory: Path, rounds: int) -> list[Claim]:
    """Measure `context status --json`, and the first answer of a server, next to doing it by hand and to git."""
    status = process(*command_line("status", "--json"), cwd=project)
    loop, one = "plain loop", "the same, read by one process"
    samples = take_turns(
        {
            "first ever": forgetting(memory, status),
            one: forgetting(memory, process(sys.executable, "-c", ONE_PROCESS, "status", "--json", cwd=project)),
            "remembered": status,
            "list, first ever": forgetting(memory, first_call(project)),
            "list, remembered": first_call(project),
            loop: process(sys.executable, "-c", PLAIN_LOOP, str(project)),
            "git status": process("git", "status", "--porcelain", cwd=project),
        },
        rounds=rounds,
    )
    figures = {name: sample.median for name, sample in samples.items()}
    return [
        next_to_target("context status --json, cold process, first ever", figures["first ever"], STATUS),
        next_to_target("context status --json, cold process, remembered", figures["remembered"], STATUS),
        *(
            next_to_peer("context status --json, cold process, first ever", figures["first ever"], peer, figures[peer])
            for peer in (loop, one)
        ),
        next_to_peer(
            "context status --json, cold process, remembered",
            figures["remembered"],
            "git status",
            figures["git status"],
        ),
        next_to_target("list_contexts over stdio, first call, first ever", figures["list, first ever"], FIRST_LIST),
        next_to_target("list_contexts over stdio, first call, remembered", figures["list, remembered"], FIRST_LIST),
    ]


def calls(project: Path, scopes: list[str], empty: Path, rounds: int) -> list[Claim]:
    """Measure the calls of a server that knows the project."""
    base = "context.list_caches on an empty root"
    with closing(Client(*command_line("serve"), cwd=project)) as client:
        listing = timed_call(client, "list_contexts")
        listing()
        later = Sample(tuple(listing() for _ in range(rounds)))
        chosen = scopes[:: max(1, len(scopes) // CALLS)]
        peers: dict[str, list[float]] = {base: [], "check_freshness": [], "query_context": []}
        for scope in chosen:
            peers[base].append(timed_call(client, "context.list_caches", root=str(empty))())
            peers["check_freshness"].append(timed_call(client, "check_freshness", scope=scope)())
            peers["query_context"].append(timed_call(client, "query_context", scope=scope)())
    medians = {name: Sample(tuple(seconds)).median for name, seconds in peers.items()}
    return [
        next_to_target("list_contexts over stdio, later calls, nothing changed", later.median, LATER_LIST),
        *(
            next_to_peer(f"{name} over stdio, p50", medians[name], base, medians[base], at_most=CALL)
            for name in ("check_freshness", "query_context")
        ),
    ]


def growth(project: Path, small: Path, memory: Path, rounds: int) -> list[Claim]:
    """Compare with a tenth of the directories."""
    shown = {}
    for name, wrap in (("first ever", lambda each: forgetting(memory, each)), ("remembered", lambda each: each)):
        peers = {str(each): wrap(process(*command_line("status", "--json"), cwd=each)) for each in (project, small)}
        samples = take_turns(peers, rounds=rounds)
        shown[name] = (samples[str(project)].median, samples[str(small)].median)
    return [
        next_to_peer(f"context status --json, {name}", large, "a tenth of the directories", less, at_most=GROWTH)
        for name, (large, less) in shown.items()
    ]


def locked(project: Path, scopes: list[str], memory: Path, rounds: int) -> list[Claim]:
    """Measure what a lock adds to a listing: while all is fresh, and with a tenth of the contexts stale."""
    lock, away = project / ".context.lock", project.parent / "away.lock"
    subprocess.run(command_line("rehash"), cwd=project, check=True, capture_output=True)
    status = process(*command_line("status", "--json"), cwd=project)
    peers = {name: _beside(lock, away, status, is_there=name == "with") for name in ("with", "without")}
    claims = []
    for what in ("all fresh", "a tenth stale"):
        if what == "a tenth stale":
            for scope in scopes[::10]:
                _append_comment(project / scope)
        time.sleep(SETTLING_SECONDS)
        for known, wrap in (("first ever", lambda each: forgetting(memory, each)), ("remembered", lambda each: each)):
            samples = take_turns({name: wrap(each) for name, each in peers.items()}, rounds=rounds)
            # Whoever sees stale code for the first time has to parse it: that is what grading costs.
            most = None if (what, known) == ("a tenth stale", "first ever") else LOCKED
            ours, theirs = samples["with"].median, samples["without"].median
            name = f"context status --json with a lock, {what}, {known}"
            claims.append(next_to_peer(name, ours, "the same without a lock", theirs, at_most=most))
    return claims


def _beside(lock: Path, away: Path, measure: Measure, *, is_there: bool) -> Measure:
    """Measure with the lock in its place, or away from it."""

    def measured() -> float:
        if is_there != lock.exists():
            (away if is_there else lock).rename(lock if is_there else away)
        return measure()

    return measured


def _append_comment(directory: Path) -> None:
    """Change the bytes of one file of code, and nothing that others use."""
    file = next(each for each in sorted(directory.iterdir()) if each.suffix in {".py", ".ts", ".go"})
    file.write_text(file.read_text() + ("# more\n" if file.suffix == ".py" else "// more\n"))


def drafting(project: Path, scratch: Path, rounds: int) -> list[Claim]:
    """Measure drafts of the whole project, of a real one, and of nothing."""
    bare, django = scratch / "bare", scratch / "django"
    without = shutil.ignore_patterns(".context.yaml", ".git", "__pycache__")
    shutil.copytree(project, bare, ignore=without)
    init = command_line("init", "--path", str(bare))
    begun = time.perf_counter()
    memory = peak_memory(*init)
    seconds = time.perf_counter() - begun
    claims = [
        next_to_target("context init, all files", seconds, INIT),
        next_to_target("context init, all files, peak memory", memory, INIT_MEMORY, show=megabytes),
    ]
    if found := importlib.util.find_spec("django"):
        shutil.copytree(Path(str(found.origin)).parent, django, ignore=without)
        fresh = _without_contexts(django, process(*command_line("init", "--path", str(django))))
        claims.append(next_to_target("context init, Django", take_turns({"": fresh}, rounds=rounds)[""].median, DJANGO))
    peers = {
        name: process(*command_line(*name.split(), "--path", str(bare))) for name in ("status --json", "regen --stale")
    }
    samples = take_turns(peers, rounds=rounds)
    nothing, status = samples["regen --stale"].median, samples["status --json"].median
    return [
        *claims,
        next_to_peer("context regen --stale, nothing stale", nothing, "context status", status, at_most=REGEN),
    ]


def _without_contexts(project: Path, measure: Measure) -> Measure:
    def measured() -> float:
        for path in [*project.rglob(".context.yaml"), *project.glob("AGENTS.md")]:
            path.unlink()
        return measure()

    return measured


def commit(project: Path) -> None:
    """Make a repository of a project, for git to compare with."""
    for arguments in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contexts", description=__doc__.splitlines()[0])
    parser.add_argument("--directories", type=int, default=5000, help="size of the project (default: 5000)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument("--steps", default=STEPS, help=f"which of {STEPS}, in this order (default: all)")
    add_page_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        os.environ["XDG_CACHE_HOME"] = str(scratch / "memory")
        memory, project, small, empty = (scratch / name for name in ("memory", "project", "small", "empty"))
        empty.mkdir()
        scopes = write_project(project, chosen.directories, seed=SEED)
        write_project(small, chosen.directories // 10, seed=SEED)
        commit(project)
        time.sleep(SETTLING_SECONDS)  # what is younger is read again each time
        steps: dict[str, Callable[[], list[Claim]]] = {
            "commands": lambda: commands(project, memory, chosen.rounds),
            "calls": lambda: calls(project, scopes, empty, chosen.rounds),
            "growth": lambda: growth(project, small, memory, chosen.rounds),
            "drafting": lambda: drafting(project, scratch, chosen.rounds),
            "locked": lambda: locked(project, scopes, memory, chosen.rounds),
        }
        claims = [claim for name in chosen.steps.split(",") if name for claim in steps[name]()]
    title = f"{chosen.directories:,} directories and {chosen.directories * 10:,} files"
    publish(claims_table(title, claims), PART, chosen.write)


if __name__ == "__main__":
    main()

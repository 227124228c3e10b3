"""Claim: the state of a large project is known quickly, a question about one directory costs little, drafts are cheap.

    python -m benchmarks.contexts [--directories 5000] [--rounds 5] [--write docs/performance.md]

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

# What was promised for 5,000 directories, in seconds, and for any number, as a ratio.
STATUS = 1.5
FIRST_LIST, LATER_LIST = 1.2, 0.4
CALL = 2
GROWTH = 11
INIT, INIT_MEMORY, DJANGO, REGEN = 20, 400e6, 3, 1.5

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
        claims = commands(project, memory, chosen.rounds)
        claims += calls(project, scopes, empty, chosen.rounds)
        claims += growth(project, small, memory, chosen.rounds)
        claims += drafting(project, scratch, chosen.rounds)
    title = f"{chosen.directories:,} directories and {chosen.directories * 10:,} files"
    publish(claims_table(title, claims), PART, chosen.write)


if __name__ == "__main__":
    main()

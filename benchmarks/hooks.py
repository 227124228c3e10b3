"""Claim: an agent hardly waits for its hooks, and a brief costs no more than the questions it replaces.

    python -m benchmarks.hooks [--rounds 25] [--write docs/performance.md]

A hook is a process, timed from its start to its end next to an interpreter that does nothing. The project has a
constraint in each of four directories, one of which cites a definition, and an AGENTS.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import count
from pathlib import Path

from benchmarks.client import Client, timed_call
from benchmarks.report import add_page_option, claims_table, publish
from benchmarks.runner import Claim, Measure, Sample, command_line, next_to_peer, process, take_turns

PART = "benchmarks.hooks"
BARE = "python -c pass"
LEVELS = (".", "src", "src/core", "src/core/rank")
TOLD, BRIEF, EDIT, BROKEN = 4, 8, 14, 14
CALL = 1.2
CALLS = 200


def write_project(root: Path) -> Path:
    """Write a small project with people's words in it; return the file that is worked on."""
    file = root / "src/core/rank/score.py"
    file.parent.mkdir(parents=True)
    file.write_text("def rank(x):\n    return x\n\n\ndef other():\n    return 1\n")
    (root / "AGENTS.md").write_text("Be brief. Ranks are in `src/core/rank/score.py`.\n")
    subprocess.run(command_line("init", "--no-agents"), cwd=root, check=True, capture_output=True)
    for scope in LEVELS:
        cited = ["--cite", "src/core/rank/score.py#rank"] if scope == LEVELS[-1] else []
        note = command_line("note", scope, "--constraint", f"What holds in {scope}.", *cited)
        subprocess.run(note, cwd=root, check=True, capture_output=True)
    return file


def hook(file: Path, root: Path, event: str, tool: str, sessions: "count[int] | None" = None) -> Measure:
    """Time a hook; each time of another session, if they are counted."""

    def measure() -> float:
        session = "one" if sessions is None else f"{event}-{next(sessions)}"
        values = {"session_id": session, "cwd": str(root), "tool_name": tool, "tool_input": {"file_path": str(file)}}
        begun = time.perf_counter()
        subprocess.run(
            command_line("hook", "claude-code", event),
            input=json.dumps(values).encode(),
            check=True,
            capture_output=True,
        )
        return time.perf_counter() - begun

    return measure


def hooks(file: Path, root: Path, rounds: int) -> list[Claim]:
    peers = {
        BARE: process(sys.executable, "-c", "pass"),
        "told": hook(file, root, "PreToolUse", "Read"),
        "brief": hook(file, root, "PreToolUse", "Read", count()),
        "edit": hook(file, root, "PostToolUse", "Edit", count()),
    }
    samples = take_turns(peers, rounds=rounds, warm_up=2)
    whole = file.read_text()
    file.write_text(whole.replace("return x", "return x * 2"))
    broken = take_turns({"broken": hook(file, root, "PostToolUse", "Edit", count())}, rounds=rounds)["broken"]
    file.write_text(whole)
    bare = samples[BARE].median
    rows = [
        ("context hook, already told", samples["told"], TOLD),
        ("context hook, a brief", samples["brief"], BRIEF),
        ("context hook, after an edit, all holds", samples["edit"], EDIT),
        ("context hook, after an edit, a claim is broken", broken, BROKEN),
    ]
    return [next_to_peer(name, sample.median, BARE, bare, at_most=most) for name, sample, most in rows]


def calls(root: Path) -> list[Claim]:
    """Measure a brief next to asking for the freshness of each directory that it speaks of."""
    with closing(Client(*command_line("serve"), cwd=root)) as client:
        brief = timed_call(client, "context.brief", path="src/core/rank/score.py")
        checks = [timed_call(client, "check_freshness", scope=scope) for scope in LEVELS]
        pairs = [(brief(), sum(check() for check in checks)) for _ in range(CALLS)]
    ours, theirs = (Sample(tuple(seconds)).median for seconds in zip(*pairs, strict=True))
    peer = f"{len(LEVELS)} calls of check_freshness"
    return [next_to_peer("context.brief over stdio, p50", ours, peer, theirs, at_most=CALL)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hooks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25, help="turns of each process (default: 25)")
    add_page_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = str(Path(directory) / "cache")
        root = Path(directory) / "project"
        root.mkdir()
        file = write_project(root)
        time.sleep(2.5)  # until the times of the files are old enough to be trusted
        claims = [*hooks(file, root, chosen.rounds), *calls(root)]
    publish(claims_table("Hooks and briefs", claims), PART, chosen.write)


if __name__ == "__main__":
    main()

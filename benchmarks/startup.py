"""Claim: a command loads only what it needs. `context --version` costs at most five bare interpreters.

python -m benchmarks.startup [--rounds 25] [--write docs/performance.md]

A process is timed from its start to its end, next to an interpreter that does nothing.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.generators import write_cache_root
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import command_line, milliseconds, process, take_turns, times

PART = "benchmarks.startup"
BARE = "python -c pass"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25, help="turns of each process (default: 25)")
    add_page_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / ".context" / "caches"
        write_cache_root(root, 10, seed=1)
        peers = {
            BARE: process(sys.executable, "-c", "pass"),
            'python -c "import click"': process(sys.executable, "-c", "import click"),
            'python -c "import mcp"': process(sys.executable, "-c", "import mcp"),
            "context --version": process(*command_line("--version")),
            "context caches": process(*command_line("caches", "-p", directory)),
            "context tools": process(*command_line("tools", "-p", directory)),
            "context call context.list_caches": process(*command_line("call", "context.list_caches", "-p", directory)),
        }
        samples = take_turns(peers, rounds=chosen.rounds, warm_up=2)
    bare = samples[BARE].median
    rows = [[f"`{name}`", milliseconds(sample.median), times(sample.median, bare)] for name, sample in samples.items()]
    publish(Table("Starting a process", ["process", "median", "bare interpreters"], rows), PART, chosen.write)


if __name__ == "__main__":
    main()

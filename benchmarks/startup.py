"""Claim: a command loads only what it needs. `context --version` costs at most five bare interpreters."""

import sys
import tempfile
from pathlib import Path

from benchmarks.generators import write_cache_root
from benchmarks.runner import command_line, milliseconds, print_table, process, take_turns, times

BARE = "python -c pass"


def main() -> None:
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
        samples = take_turns(peers, rounds=25, warm_up=2)
    bare = samples[BARE].median
    rows = [[name, milliseconds(sample.median), times(sample.median, bare)] for name, sample in samples.items()]
    print_table("Starting a process", ["process", "median", "bare interpreters"], rows)


if __name__ == "__main__":
    main()

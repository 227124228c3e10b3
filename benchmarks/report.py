"""Where do the figures go? To standard output, and with `--write PAGE` into the script's own part of that page.

Both get the same text: nobody copies a figure by hand.
"""

import argparse
import os
import platform
import statistics
import time
import timeit
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from docs.parts import rewrite

from benchmarks.runner import Claim, duration

ADDITIONS = 1_000_000


class Table(NamedTuple):
    """What was measured, a row each."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]

    def spelt(self, measured: str) -> str:
        """Spell it as Markdown, in columns; `measured` is where and when."""
        widths = [max(len(row[column]) for row in (self.headers, *self.rows)) for column in range(len(self.headers))]
        lines = (self.headers, ["-" * width for width in widths], *self.rows)
        table = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
        return "\n".join([f"{self.title} ({measured}):", "", *table])


def claims_table(title: str, claims: Sequence[Claim]) -> Table:
    """Put our figures next to those of peers and to what was promised."""
    return Table(title, ["measure", "hall", "next to", "ratio", "at most", "met"], [claim.row for claim in claims])


def add_page_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="a page; its part that is named after this script becomes the result"
    )


def publish(table: Table, part: str = "", page: Path | None = None) -> None:
    """Print the table, and write it into `part` of `page`, if there is one."""
    text = table.spelt(f"{machine()}, {time.strftime('%Y-%m-%d', time.gmtime())}")
    print(f"\n{text}")
    if page is not None:
        try:
            rewrite(page, {part: text})
        except LookupError as error:
            raise SystemExit(f"{page}: {error}") from None


def machine() -> str:
    """Say where the figures come from, and how quick it is there: a machine that is shared is not the same all day."""
    adding = timeit.repeat(f"for number in range({ADDITIONS}): total += number", "total = 0", number=1, repeat=9)
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"{ADDITIONS:,} additions in {duration(statistics.median(adding))}"
    )

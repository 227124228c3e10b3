"""`context cluster up`: a scheduler and workers on this machine, for a try."""

import signal
import threading

import click

from contexthall.faces.cli.options import HallChoice
from contexthall.faces.cli.output import counted, print_data, say

_PORT = 8786


@click.group(epilog="\b\nExample:\n  context cluster up --workers 2")
def cluster() -> None:
    """Start workers on this machine, to try a cluster.

    On several machines, Dask's own commands and projects start them: docs/scale.md.
    """


@cluster.command(epilog="\b\nExample:\n  context cluster up --workers 2")
@click.option(
    "--workers", type=click.IntRange(1, 256), default=2, show_default=True, metavar="N", help="How many processes."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_PORT,
    show_default=True,
    help="Where the scheduler listens, on this machine only; 0 takes a free one.",
)
def up(workers: int, port: int) -> None:
    """Start a scheduler and workers, and print the URL to pass with --cluster.

    They end with this command, on Ctrl-C or SIGTERM. Any user of this machine could reach them.
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with HallChoice().open().local_cluster(workers, port) as url:
        print_data(f"{url}\n")
        say(f"{counted(workers, 'worker')} at {url}; Ctrl-C ends them")
        ended.wait()

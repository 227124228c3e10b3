"""`context serve`."""

import gc
import logging

import anyio
import click

from contexthall import __version__
from contexthall.faces.cli.options import HallChoice, hall_options
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.server import HallServer
from contexthall.hall import Hall


@click.command
@click.option(
    "--guild-refresh",
    type=click.Choice(["all", "stale", "never"]),
    help="Whose tool lists to refresh after the start.  [default: all]",
)
@hall_options
def serve(hall: HallChoice) -> None:
    """Serve the hall to an agent, over standard input and output.

    Ends with exit code 0 when the agent closes standard input, and on SIGTERM or SIGINT.
    """
    opened = hall.open()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    server = HallServer(
        opened.catalog, opened.caller, version=__version__, tool_timeout_seconds=opened.settings.tool_timeout_seconds
    )
    pipes = stdio.claim_standard_streams()
    # What is loaded by now stays: without it among the garbage collector's work, no call pauses for it.
    gc.collect()
    gc.freeze()
    anyio.run(_serve, opened, server, pipes)


async def _serve(hall: Hall, server: HallServer, pipes: stdio.Pipes) -> None:
    async with hall.at_work(refresh=True):
        await stdio.serve(server, pipes)

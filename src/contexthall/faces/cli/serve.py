"""`context serve`."""

import gc

import anyio
import click

from contexthall import __version__
from contexthall.core.catalog import Caller
from contexthall.core.errors import UsageError
from contexthall.faces.cli.log import show_log
from contexthall.faces.cli.options import HallChoice, hall_options
from contexthall.faces.cli.table import load
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.server import HallServer
from contexthall.hall import Hall
from contexthall.kernel import give_back_large_memory


@click.command
@click.option(
    "--guild-refresh",
    type=click.Choice(["all", "stale", "never"]),
    help="Whose tool lists to refresh after the start.  [default: all]",
)
@click.option(
    "--http", metavar="[HOST:]PORT", help="Serve agents and people over HTTP instead: MCP at /mcp, a page at /."
)
@click.option("--token", metavar="TEXT", help="What whoever asks over HTTP must know.")
@hall_options
def serve(http: str | None, token: str | None, hall: HallChoice) -> None:
    """Serve the hall to agents over standard input and output, or to all over HTTP.

    Ends with exit code 0 when the agent closes standard input, and on SIGTERM or SIGINT.

    With --http, serve any number of agents, and a page for people. Paths that they name stay in the hall's own roots.
    Any other address than that of the machine itself needs a token.
    """
    show_log()
    if http is None:
        if token is not None:
            raise UsageError("--token is for --http", hint="over standard input and output nobody else can ask")
        _serve_stdio(hall.open())
    else:
        # Confined from the start, so that a cache root that leads out of the project is refused.
        load("http").serve_http(hall._replace(confine=True), http, token)


def _serve_stdio(hall: Hall) -> None:
    server = server_of(hall, hall.caller, only_unicode=False)
    pipes = stdio.claim_standard_streams()
    settle()
    anyio.run(_run_stdio, hall, server, pipes)


async def _run_stdio(hall: Hall, server: HallServer, pipes: stdio.Pipes) -> None:
    async with hall.at_work(refresh=True):
        await stdio.serve(server, pipes)


def server_of(hall: Hall, caller: Caller, *, only_unicode: bool) -> HallServer:
    """Make the MCP server of a hall."""
    return HallServer(
        hall.catalog,
        caller,
        version=__version__,
        tool_timeout_seconds=hall.settings.tool_timeout_seconds,
        only_unicode=only_unicode,
    )


def settle() -> None:
    """Keep what is loaded by now out of the garbage collector's work, and nothing large that was used once."""
    give_back_large_memory()
    gc.freeze()
    gc.enable()

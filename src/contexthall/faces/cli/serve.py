"""`context serve`."""

import gc
import logging
import secrets
import socket
from urllib.parse import quote

import anyio
import click

from contexthall import __version__
from contexthall.core.catalog import Caller
from contexthall.core.errors import UsageError
from contexthall.faces.cli.options import HallChoice, hall_options
from contexthall.faces.cli.output import say
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.http import HttpEndpoint
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.web.app import Entrance, Site
from contexthall.faces.web.guard import Names
from contexthall.faces.web.listener import Address, bind, listen
from contexthall.hall import Hall
from contexthall.settings import visible


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
    """Serve the hall to an agent, over standard input and output.

    Ends with exit code 0 when the agent closes standard input, and on SIGTERM or SIGINT.

    With --http, serve any number of agents, and a page for people. Paths that they name stay in the hall's own roots.
    Any other address than that of the machine itself needs a token.
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    if http is None:
        if token is not None:
            raise UsageError("--token is for --http", hint="over standard input and output nobody else can ask")
        _serve_stdio(hall.open())
    else:
        # Confined from the start, so that a cache root that leads out of the project is refused.
        _serve_http(hall._replace(confine=True).open(), Address.read(http), token)


def _serve_stdio(hall: Hall) -> None:
    server = _server(hall, hall.caller, only_unicode=False)
    pipes = stdio.claim_standard_streams()
    _settle()
    anyio.run(_run_stdio, hall, server, pipes)


async def _run_stdio(hall: Hall, server: HallServer, pipes: stdio.Pipes) -> None:
    async with hall.at_work(refresh=True):
        await stdio.serve(server, pipes)


def _serve_http(hall: Hall, address: Address, token: str | None) -> None:
    token = hall.settings.http_token if token is None else _judged(token)
    taken = bind(address, has_token=bool(token))
    address = address._replace(port=taken.getsockname()[1])
    names = Names.of(address.name, address.port)
    server = _server(hall, hall.confined_caller, only_unicode=True)
    mcp = HttpEndpoint(server, [] if names.any_address else sorted(names.hosts))
    site = Site(hall, mcp, Entrance(names, token, secrets.token_urlsafe(32)), version=__version__)
    _settle()
    ready = f"Context Hall at {address.url}" + (f"#token={quote(token, safe='')}" if token else "")
    anyio.run(_run_http, hall, mcp, site, taken, ready)


async def _run_http(hall: Hall, mcp: HttpEndpoint, site: Site, taken: socket.socket, ready: str) -> None:
    def end() -> None:
        site.end_streams()
        mcp.end_streams()

    async with hall.at_work(refresh=True), mcp.running():
        await listen(site, taken, on_ready=lambda: say(ready), on_end=end)


def _server(hall: Hall, caller: Caller, *, only_unicode: bool) -> HallServer:
    return HallServer(
        hall.catalog,
        caller,
        version=__version__,
        tool_timeout_seconds=hall.settings.tool_timeout_seconds,
        only_unicode=only_unicode,
    )


def _judged(token: str) -> str:
    try:
        return visible(token)
    except ValueError as error:
        raise UsageError(f"--token {error}") from None


def _settle() -> None:
    """Keep what is loaded by now out of the garbage collector's work, so that no call pauses for it."""
    gc.collect()
    gc.freeze()

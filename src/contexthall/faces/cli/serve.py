"""`context serve`: its options. The server is loaded once they are parsed."""

import click

from contexthall.core.errors import UsageError
from contexthall.faces.cli.log import show_log
from contexthall.faces.cli.options import PROFILE, HallChoice, serve_options
from contexthall.faces.cli.table import load


@click.command(
    epilog="""\b
Examples:
  context serve --path ~/shop
  context serve --http 8321 --guild guild-members
  context serve --profile review"""
)
@click.option(
    "--http",
    metavar="[HOST:]PORT",
    help="Serve agents and people over HTTP instead: MCP at /mcp and, by profile, /mcp/NAME; a page at /.",
)
@click.option("--token", metavar="TEXT", help="What whoever asks over HTTP must know.")
@click.option(
    "--drain",
    type=click.FloatRange(0, 3600),
    default=0,
    metavar="SECONDS",
    help="Serve on for so long after SIGTERM, while /readyz says 503.  [default: 0]",
)
@PROFILE
@serve_options
@click.option(
    "--reply",
    type=click.Choice(["json", "text"]),
    help="How caches of format 2 answer agents that do not say.  [default: json]",
)
@click.option(
    "--refresh-caches",
    type=click.Choice(["auto", "never"]),
    help="Whether to refresh caches when their sources, if in the project, change.  [default: auto]",
)
@click.option(
    "--guild-refresh",
    type=click.Choice(["all", "stale", "never"]),
    help="Whose tool lists to refresh after the start.  [default: all]",
)
@click.option(
    "--journal",
    type=click.Choice(["brief", "full", "off"]),
    default="brief",
    show_default=True,
    help="What to record of calls: that they were made, their arguments and results too, or nothing.",
)
def serve(
    http: str | None, token: str | None, journal: str, drain: float, profile: str | None, hall: HallChoice
) -> None:
    """Serve the hall over standard input and output, or over HTTP.

    Ends with exit code 0 when the agent closes standard input, and on SIGTERM or SIGINT.

    With --http, serve any number of agents, and a page for people. Paths that they name stay in the hall's own roots.
    Any other address than that of the machine itself needs a token.
    """
    show_log()
    if http is None:
        if token is not None:
            raise UsageError("--token is for --http", hint="over standard input and output nobody else can ask")
        if drain:
            raise UsageError("--drain is for --http", hint="over standard input and output nobody else can ask")
        opened = hall.open()
        load("stdio", "serve").serve_stdio(opened, journal, profile)
    else:
        # Confined from the start, so that a cache root that leads out of the project is refused.
        confined = hall._replace(confine=True)
        load("http", "serve").serve_http(confined, http, token, profile=profile, journal=journal, drain_seconds=drain)

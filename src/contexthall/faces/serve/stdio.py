"""`context serve` without `--http`: one agent over standard input and output."""

import asyncio
import sys

from contexthall import __version__
from contexthall.faces.cli.output import say
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.stdio import StdioConnection
from contexthall.faces.serve.heap import freeze_heap
from contexthall.faces.serve.refreshing import refreshing_caches
from contexthall.hall import Hall
from contexthall.system.journal import JournalMode
from contexthall.system.pipes import Pipes, PipeTransport, claim_standard_streams
from contexthall.system.signals import told_of_signals


def serve_stdio(hall: Hall, journal: JournalMode = "brief", profile: str | None = None) -> None:
    """Serve an agent until it closes standard input, or a signal comes."""
    seconds = hall.settings.tool_timeout_seconds
    server = HallServer(hall.catalog_of(profile), hall.caller, version=__version__, tool_seconds=seconds)
    if sys.stdin is not None and sys.stdin.isatty():
        say("waiting for an agent, which starts this itself once `context connect` has told it; Ctrl-D ends it")
    pipes = claim_standard_streams()
    freeze_heap()
    with hall.journalling(journal):
        asyncio.run(_run_stdio(hall, server, pipes))


async def _run_stdio(hall: Hall, server: HallServer, pipes: Pipes) -> None:
    with refreshing_caches(hall):
        async with hall.running(refresh=True):
            await serve_pipes(server, pipes)


async def serve_pipes(server: HallServer, pipes: Pipes) -> None:
    """Serve one client until it is gone, or SIGTERM or SIGINT comes; those after it are ignored."""
    connection = StdioConnection(server)
    with told_of_signals(connection.end), PipeTransport(pipes, connection):
        await connection.run()

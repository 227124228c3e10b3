"""`context serve` without `--http`: one agent over standard input and output."""

import asyncio
import sys

from contexthall import __version__
from contexthall.faces.cli.output import say
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.pipes import Pipes, claim_standard_streams
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.serve.heap import freeze_heap
from contexthall.faces.serve.refreshing import refreshing_caches
from contexthall.hall import Hall
from contexthall.system.journal import JournalMode


def serve_stdio(hall: Hall, journal: JournalMode = "brief") -> None:
    """Serve an agent until it closes standard input, or a signal comes."""
    seconds = hall.settings.tool_timeout_seconds
    server = HallServer(hall.catalog, hall.caller, version=__version__, tool_timeout_seconds=seconds)
    if sys.stdin is not None and sys.stdin.isatty():
        say("waiting for an agent, which starts this itself once `context connect` has told it; Ctrl-D ends it")
    pipes = claim_standard_streams()
    freeze_heap()
    with hall.journalling(journal):
        asyncio.run(_run_stdio(hall, server, pipes))


async def _run_stdio(hall: Hall, server: HallServer, pipes: Pipes) -> None:
    with refreshing_caches(hall):
        async with hall.running(refresh=True):
            await stdio.serve(server, pipes)

"""`context serve` without `--http`: one agent over standard input and output."""

import sys

import anyio

from contexthall.faces.cli.output import say
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.serve.server import freeze_heap, server_of
from contexthall.hall import Hall


def serve_stdio(hall: Hall) -> None:
    """Serve an agent until it closes standard input, or a signal comes."""
    server = server_of(hall, hall.caller, only_unicode=False)
    if sys.stdin is not None and sys.stdin.isatty():
        say("waiting for an agent, which starts this itself once `context connect` has told it; Ctrl-D ends it")
    pipes = stdio.claim_standard_streams()
    freeze_heap()
    anyio.run(_run_stdio, hall, server, pipes)


async def _run_stdio(hall: Hall, server: HallServer, pipes: stdio.Pipes) -> None:
    async with hall.running(refresh=True):
        await stdio.serve(server, pipes)

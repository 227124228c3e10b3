"""What the hall answers to a few lines, over files in the place of pipes."""

import asyncio
import signal
import tempfile
from collections.abc import Iterable

from contexthall.core.catalog import Caller, Catalog
from contexthall.faces.mcp import stdio
from contexthall.faces.mcp.pipes import Pipes
from contexthall.faces.mcp.server import HallServer

PATIENCE_SECONDS = 90.0


def served(catalog: Catalog, lines: Iterable[bytes], version: str = "1.2.3") -> bytes:
    """Return what the hall prints until it ends, because its input has."""
    caller = Caller(may_read=lambda _path, _home: True)
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    with tempfile.TemporaryFile() as incoming, tempfile.TemporaryFile() as outgoing:
        incoming.write(b"\n".join(lines) + b"\n")
        incoming.seek(0)

        async def serve() -> None:
            server = HallServer(catalog, caller, version=version)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await stdio.serve(server, Pipes(incoming.fileno(), outgoing.fileno()))

        try:
            asyncio.run(serve())
        finally:
            for number, handler in before:
                signal.signal(number, handler)
        outgoing.seek(0)
        return outgoing.read()

"""What the hall answers to a few lines, over files in the place of pipes."""

import asyncio
import tempfile
from collections.abc import Iterable

from contexthall.core.catalog import Caller, Catalog
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.stdio import StdioConnection
from contexthall.system.pipes import Pipes, PipeTransport

PATIENCE_SECONDS = 90.0


def served(catalog: Catalog, lines: Iterable[bytes], version: str = "1.2.3") -> bytes:
    """Return what the hall prints until it ends, because its input has."""
    caller = Caller(may_read=lambda _path, _home: True)
    with tempfile.TemporaryFile() as incoming, tempfile.TemporaryFile() as outgoing:
        incoming.write(b"\n".join(lines) + b"\n")
        incoming.seek(0)

        async def serve() -> None:
            connection = StdioConnection(HallServer(catalog, caller, version=version))
            with PipeTransport(Pipes(incoming.fileno(), outgoing.fileno()), connection):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await connection.run()

        asyncio.run(serve())
        outgoing.seek(0)
        return outgoing.read()

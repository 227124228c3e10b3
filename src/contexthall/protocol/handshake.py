"""The revisions with a handshake, 2024-11-05 to 2025-11-25: what `initialize` says on both sides."""

from contexthall.core.catalog import JsonObject
from contexthall.protocol.shapes import Shape

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST = VERSIONS[-1]

INITIALIZE: Shape = {"protocolVersion": str, "capabilities": dict, "clientInfo": {"name": str, "version": str}}


def offer(client: JsonObject) -> JsonObject:
    """Return what a client says first."""
    return {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": client}


def greeting(offered: str, server: JsonObject, capabilities: JsonObject, instructions: str) -> JsonObject:
    """Return what a server answers to that."""
    return {
        "protocolVersion": offered if offered in VERSIONS else LATEST,
        "capabilities": capabilities,
        "serverInfo": server,
        "instructions": instructions,
    }

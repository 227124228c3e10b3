"""The revisions with a handshake, 2024-11-05 to 2025-11-25: the params and the result of `initialize`."""

from contexthall.core.catalog import JsonObject
from contexthall.protocol.shapes import Shape

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST = VERSIONS[-1]

INITIALIZE: Shape = {"protocolVersion": str, "capabilities": dict, "clientInfo": {"name": str, "version": str}}


def initialize_params(client: JsonObject) -> JsonObject:
    return {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": client}


def initialize_result(offered: str, server: JsonObject, capabilities: JsonObject, instructions: str) -> JsonObject:
    """Return the answer to a client that offers a version."""
    return {
        "protocolVersion": offered if offered in VERSIONS else LATEST,
        "capabilities": capabilities,
        "serverInfo": server,
        "instructions": instructions,
    }

"""A guild member in one file: an MCP server over standard input and output, with nothing to install.

To make your own, change TOOLS and `call`, and give plugin.json your name.
"""

import json
import sys
from typing import Any

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "title": "Echo", "description": "Gives the text back.", "inputSchema": TEXT},
    {"name": "reverse", "title": "Reverse", "description": "Gives the text back to front.", "inputSchema": TEXT},
]


def call(tool: str, arguments: dict[str, Any]) -> str:
    match tool, arguments:
        case "echo", {"text": str(text)}:
            return text
        case "reverse", {"text": str(text)}:
            return text[::-1]
    raise ValueError(f"{tool} needs a text")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Give the result of a request: these four are all that a server with tools must know."""
    match method:
        case "initialize":
            version = params["protocolVersion"] if params["protocolVersion"] in PROTOCOLS else PROTOCOLS[0]
            server = {"name": "echo", "version": "0.1.0"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return called(params["name"], params.get("arguments", {}))
    raise LookupError(f"unknown method: {method}")


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Wrap what a tool says; its failure is a result too, so that the agent reads the reason."""
    if tool not in [each["name"] for each in TOOLS]:
        raise LookupError(f"unknown tool: {tool}")
    try:
        return {"content": [{"type": "text", "text": call(tool, arguments)}]}
    except ValueError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def outcome(method: str, params: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": answer(method, params)}
    except LookupError as error:
        return {"error": {"code": -32601, "message": str(error)}}


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        # What has no id is a notification, and wants no answer.
        if "id" in message:
            reply = outcome(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()

"""A guild member with more to show: structured output, progress, several calls at once, calls that are cancelled.

Like its neighbour echo, one file over standard input and output, with nothing to install.
"""

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
LONGEST_SECONDS = 20
TOOLS = [
    {
        "name": "now",
        "title": "Now",
        "description": "Tells the time, in UTC or in the zone that is named, such as Europe/Vienna.",
        "inputSchema": {"type": "object", "properties": {"zone": {"type": "string"}}},
        "outputSchema": {
            "type": "object",
            "properties": {"time": {"type": "string", "format": "date-time"}, "zone": {"type": "string"}},
            "required": ["time", "zone"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "countdown",
        "title": "Countdown",
        "description": "Counts seconds down, and reports each of them to who asks for progress.",
        "inputSchema": {
            "type": "object",
            "properties": {"seconds": {"type": "integer", "minimum": 0, "maximum": LONGEST_SECONDS}},
            "required": ["seconds"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
]

_turn = threading.Lock()
_running: dict[str | int, threading.Event] = {}


def send(**message: Any) -> None:
    with _turn:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def now(zone: str) -> dict[str, Any]:
    try:
        time = datetime.now(UTC if zone == "UTC" else ZoneInfo(zone)).isoformat(timespec="seconds")
    except (OSError, ValueError, LookupError):
        return failure(f"There is no time zone {zone}.")
    told = {"time": time, "zone": zone}
    return {"content": [{"type": "text", "text": json.dumps(told)}], "structuredContent": told}


def countdown(seconds: int, token: str | int | None, cancelled: threading.Event) -> dict[str, Any]:
    for passed in range(1, seconds + 1):
        if cancelled.wait(1):
            break
        if token is not None:
            left = f"{seconds - passed} to go"
            progress = {"progressToken": token, "progress": passed, "total": seconds, "message": left}
            send(method="notifications/progress", params=progress)
    return {"content": [{"type": "text", "text": "Lift-off!"}]}


def failure(reason: str) -> dict[str, Any]:
    """A failure is a result too, so that the agent reads the reason."""
    return {"content": [{"type": "text", "text": reason}], "isError": True}


def call(params: dict[str, Any], cancelled: threading.Event) -> dict[str, Any]:
    match params["name"], params.get("arguments", {}):
        case "now", {"zone": str(zone)}:
            return now(zone)
        case "now", {"zone": other}:
            return failure(f"A time zone is a name, not {other}.")
        case "now", _:
            return now("UTC")
        case "countdown", {"seconds": int(seconds)} if 0 <= seconds <= LONGEST_SECONDS:
            return countdown(seconds, params.get("_meta", {}).get("progressToken"), cancelled)
        case "countdown", _:
            return failure(f"countdown needs seconds, from 0 to {LONGEST_SECONDS}.")
    return failure(f"There is no tool {params['name']}.")


def work(request: str | int, params: dict[str, Any]) -> None:
    """Answer a call in its own time, unless it has been cancelled by then."""
    result = call(params, _running[request])
    if not _running.pop(request).is_set():
        send(id=request, result=result)


def answer(request: str | int, method: str, params: dict[str, Any]) -> None:
    match method:
        case "initialize":
            version = params["protocolVersion"] if params["protocolVersion"] in PROTOCOLS else PROTOCOLS[0]
            server = {"name": "clock", "version": "0.1.0"}
            abilities: dict[str, Any] = {"tools": {}}
            send(id=request, result={"protocolVersion": version, "capabilities": abilities, "serverInfo": server})
        case "ping":
            send(id=request, result={})
        case "tools/list":
            send(id=request, result={"tools": TOOLS})
        case "tools/call":
            _running[request] = threading.Event()
            threading.Thread(target=work, args=(request, params), daemon=True).start()
        case _:
            send(id=request, error={"code": -32601, "message": f"unknown method: {method}"})


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": request}}:
                _running.get(request, threading.Event()).set()
            case {"id": request, "method": method}:
                answer(request, method, message.get("params", {}))


if __name__ == "__main__":
    main()

"""What may a server print? Whatever a file says. The standard library only.

    scripted_member.py DIRECTORY

DIRECTORY/start is printed at once, DIRECTORY/initialize and DIRECTORY/tools-list in place of those answers, and
DIRECTORY/NAME in place of the answer to a call whose argument `play` is NAME; `@ID@` stands for the id of the request.
What no file speaks of is answered as it should be.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

DUE: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "sound"}]},
}


def main(directory: Path) -> None:
    play(directory / "start", None)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, request, params = message.get("method", ""), message.get("id"), message.get("params") or {}
        if request is None or method not in DUE:
            continue
        name = params["arguments"].get("play", "sound") if method == "tools/call" else method.replace("/", "-")
        if not play(directory / name, request):
            write(json.dumps({"jsonrpc": "2.0", "id": request, "result": DUE[method]}).encode() + b"\n")


def play(file: Path, request: object) -> bool:
    if not file.exists():
        return False
    write(file.read_bytes().replace(b"@ID@", json.dumps(request).encode()))
    return True


def write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

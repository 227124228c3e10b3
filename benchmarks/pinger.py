"""Who asks whether the hall is there? A process of its own, so that it measures the hall and not those who load it.

    python -m benchmarks.pinger URL SECONDS

Pings over one session, so many seconds apart, until standard input ends; then prints how long each took, as JSON.
"""

import json
import select
import sys
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pinger", "version": "1"}}


def main() -> None:
    url, pause = sys.argv[1], float(sys.argv[2])
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    session = _post(connection, {**HEADERS}, "initialize", HELLO)
    headers = {**HEADERS, "Mcp-Session-Id": session, "Mcp-Protocol-Version": HELLO["protocolVersion"]}
    taken = []
    while not select.select([sys.stdin], [], [], pause)[0]:
        begun = time.perf_counter()
        _post(connection, headers, "ping", {})
        taken.append(time.perf_counter() - begun)
    print(json.dumps(taken))


def _post(connection: HTTPConnection, headers: dict[str, Any], method: str, params: dict[str, Any]) -> str:
    """Ask; give the session of the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    connection.request("POST", "/mcp", json.dumps(message), headers)
    answer = connection.getresponse()
    if b'"result"' not in answer.read():
        raise SystemExit(f"{method} is answered with {answer.status}")
    return answer.headers["mcp-session-id"] or ""


if __name__ == "__main__":
    main()

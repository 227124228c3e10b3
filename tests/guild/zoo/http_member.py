"""What if a member speaks HTTP? The zoo's well-behaved server over Streamable HTTP, at /mcp on 127.0.0.1.

Stand-alone: the standard library only, JSON answers, a session that clients may end.
"""

import argparse
import gzip
import json
import os
import signal
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

SESSION = "zoo-session"
METHOD_NOT_FOUND = -32601


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--start-delay", type=float, default=0.0, help="wait so many seconds before listening")
    parser.add_argument("--call-delay", type=float, default=0.0, help="wait so many seconds before answering a call")
    parser.add_argument("--ignore-term", action="store_true", help="ignore SIGTERM and SIGINT")
    parser.add_argument("--die-in-call", action="store_true", help="exit with 3 instead of answering a call")
    parser.add_argument("--die-in-answer", action="store_true", help="exit with 3 after the head of an answer")
    parser.add_argument("--huge", type=int, default=0, help="answer a call with so many bytes of text")
    parser.add_argument("--huge-list", type=int, default=0, help="describe a tool with so many bytes of text")
    parser.add_argument("--events", action="store_true", help="answer with a stream of one event")
    parser.add_argument("--packed", action="store_true", help="answer a call with gzip, whoever asked for it")
    parser.add_argument("--record", default="", help="append what happens to this file, a line each")
    return parser.parse_args()


class Handler(BaseHTTPRequestHandler):
    """One connection to the member."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body leave together: else each answer waits for an acknowledgement
    flags: ClassVar[argparse.Namespace]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/mcp":
            self._reply(404)
        elif "id" not in message:
            self._reply(202)
        else:
            outcome = self._outcome(message["method"], message.get("params") or {})
            packed = self.flags.packed and message["method"] == "tools/call"
            self._reply(200, {"jsonrpc": "2.0", "id": message["id"], **outcome}, packed=packed)

    def do_GET(self) -> None:
        self._reply(405)

    def do_DELETE(self) -> None:
        append(self.flags.record, "session ended")
        self._reply(200)

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard error is for what matters."""

    def _outcome(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return {"result": hello(params["protocolVersion"])}
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": [tool("tool_0"), tool("echo", "x" * self.flags.huge_list)]}}
            case "tools/call":
                return {"result": self._call(params)}
            case _:
                return {"error": {"code": METHOD_NOT_FOUND, "message": f"unknown: {method}"}}

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        append(self.flags.record, f"call {params['name']}")
        if self.flags.die_in_call:
            os._exit(3)
        if self.flags.die_in_answer:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.flush()
            os._exit(3)
        time.sleep(self.flags.call_delay)
        text = "x" * self.flags.huge or json.dumps(params.get("arguments") or {})
        return {"content": [{"type": "text", "text": text}]}

    def _reply(self, status: int, message: dict[str, Any] | None = None, *, packed: bool = False) -> None:
        body = b"" if message is None else json.dumps(message, ensure_ascii=False).encode()
        self.send_response(status)
        if body and self.flags.events:
            body = b"event: message\ndata: " + body + b"\n\n"
        if packed:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        if body:
            self.send_header("Content-Type", "text/event-stream" if self.flags.events else "application/json")
            self.send_header("Mcp-Session-Id", SESSION)
        self.end_headers()
        with suppress(ConnectionError):  # a client that has read enough
            self.wfile.write(body)


def hello(version: str) -> dict[str, Any]:
    server = {"name": "zoo-http", "version": "1.0.0"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}


def tool(name: str, description: str = "") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description or f"Gives what {name} is given.", "inputSchema": schema}


def append(file: str, line: str) -> None:
    if file:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, line.encode() + b"\n")
        os.close(descriptor)


def main() -> None:
    Handler.flags = flags = parse_flags()
    ended: Any = signal.SIG_IGN if flags.ignore_term else lambda *_: sys.exit(0)
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGINT, ended)
    append(flags.record, f"started {os.getpid()}")
    try:
        time.sleep(flags.start_delay)
        ThreadingHTTPServer(("127.0.0.1", flags.port), Handler).serve_forever()
    finally:
        append(flags.record, f"stopped {os.getpid()}")


if __name__ == "__main__":
    main()

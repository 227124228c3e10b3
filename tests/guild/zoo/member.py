"""What may a guild have to live with? One MCP server over stdio, well-behaved until a flag says otherwise.

Stand-alone and quick to start: the standard library only, lines in, lines out, a thread for each call.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn

SWITCHES = {
    "--rubbish": "print lines that are not JSON before and between answers",
    "--mute": "never answer initialize",
    "--list-error": "answer tools/list with an error",
    "--looping-cursor": "give every page of tools/list the same next cursor",
    "--endless-cursor": "give every page of tools/list a new next cursor",
    "--bad-schema": "list a tool, `bad`, whose inputSchema is a string",
    "--no-description": "list tools without a description",
    "--hang-in-call": "never answer a call",
    "--die-in-call": "exit with 3 instead of answering a call",
    "--close-stdout": "close standard output once initialize is answered, and live on",
    "--flood-stderr": "write to standard error as fast as it takes it, for ever",
    "--ignore-term": "ignore SIGTERM, SIGINT and the end of input",
    "--grandchild": "fork a process that ignores SIGTERM and SIGINT and sleeps for ever",
    "--string-ids": "answer a call, and tell of its progress, under its id as a string",
    "--modern": "know no handshake, only requests that say which version they speak",
    "--print-env": "offer a tool, `env`, that gives the environment as JSON",
}
NUMBERS = {
    "--tools": (1, "offer tool_0 … tool_N-1 besides `echo`"),
    "--page-size": (0, "list so many tools at a time; 0: all"),
    "--progress": (0, "send so many progress notifications in a call that asks for them"),
    "--huge": (0, "answer a call with so many bytes of text"),
}
DELAYS = {
    "--start-delay": "wait so many seconds before answering initialize",
    "--call-delay": "wait so many seconds before answering a call",
}
TEXTS = {
    "--record": "append `started PID`, `grandchild PID`, `call NAME`, `stopped PID` to this file",
    "--say": "write this to standard error at the start",
    "--only": "the flags about calls concern this tool alone",
    "--tools-file": "read the list of tools, a JSON array, from this file at each tools/list",
    "--list-changed-on": "send notifications/tools/list_changed when this file changes",
    "--result-file": "answer a call with the result in this file",
    "--error-file": "answer a call with the error in this file",
    "--cancelled-file": "append the id of each cancelled request to this file",
}
POLL_SECONDS = 0.05
MODERN = "2026-07-28"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
METHOD_NOT_FOUND, INTERNAL_ERROR = -32601, -32603


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for flag, meaning in SWITCHES.items():
        parser.add_argument(flag, action="store_true", help=meaning)
    for flag, (default, meaning) in NUMBERS.items():
        parser.add_argument(flag, type=int, default=default, metavar="N", help=meaning)
    for flag, meaning in DELAYS.items():
        parser.add_argument(flag, type=float, default=0.0, metavar="S", help=meaning)
    for flag, meaning in TEXTS.items():
        parser.add_argument(flag, default="", help=meaning)
    parser.add_argument("--exit", type=int, metavar="CODE", help="exit at once")
    return parser.parse_args()


class Member:
    """The server's side of one conversation."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self._flags = flags
        self._turn = threading.Lock()
        self._cancelled: set[str | int] = set()
        self._seen = changed_at(flags.list_changed_on)

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            with suppress(ValueError):
                self._receive(json.loads(line))

    def record(self, line: str) -> None:
        append(self._flags.record, line)

    def _receive(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        match message.get("method"), message.get("id"):
            case "notifications/initialized", None if self._flags.list_changed_on:
                threading.Thread(target=self._watch, daemon=True).start()
            case "notifications/cancelled", None:
                self._cancelled.add(params["requestId"])
                append(self._flags.cancelled_file, str(params["requestId"]))
            case str(method), int() | str() as request:
                self._answer(request, method, params)

    def _answer(self, request: int | str, method: str, params: dict[str, Any]) -> None:
        version = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        match method:
            case "server/discover" if self._flags.modern:
                tools = {"listChanged": bool(self._flags.list_changed_on)}
                offer = {"supportedVersions": [MODERN], "capabilities": {"tools": tools}, "serverInfo": {"name": "zoo"}}
                self._send({"id": request, "result": {**offer, "resultType": "complete"}})
            case _ if self._flags.modern and version != MODERN:
                self._send({"id": request, "error": {"code": METHOD_NOT_FOUND, "message": f"unknown: {method}"}})
            case "subscriptions/listen" if self._flags.modern:
                threading.Thread(target=self._watch, args=({SUBSCRIPTION: request},), daemon=True).start()
            case "initialize":
                self._initialize(request, params)
            case "ping":
                self._send({"id": request, "result": {}})
            case "tools/list" if self._flags.list_error:
                self._send({"id": request, "error": {"code": INTERNAL_ERROR, "message": "the list is lost"}})
            case "tools/list":
                self._send({"id": request, "result": self._page(params.get("cursor") or "0")})
            case "tools/call":
                threading.Thread(target=self._call, args=(request, params), daemon=True).start()
            case _:
                self._send({"id": request, "error": {"code": METHOD_NOT_FOUND, "message": f"unknown: {method}"}})

    def _initialize(self, request: int | str, params: dict[str, Any]) -> None:
        if self._flags.mute:
            return
        time.sleep(self._flags.start_delay)
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": bool(self._flags.list_changed_on)}},
            "serverInfo": {"name": "zoo", "version": "1.0.0"},
        }
        self._send({"id": request, "result": result})
        if self._flags.close_stdout:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def _page(self, cursor: str) -> dict[str, Any]:
        """Give the tools from `cursor` on, which is a number that clients need not understand."""
        tools, size, start = list(self._tools()), self._flags.page_size, int(cursor)
        if self._flags.looping_cursor:
            return {"tools": tools, "nextCursor": "1"}
        if self._flags.endless_cursor:
            return {"tools": tools, "nextCursor": str(start + 1)}
        if not size or start + size >= len(tools):
            return {"tools": tools[start:]}
        return {"tools": tools[start : start + size], "nextCursor": str(start + size)}

    def _tools(self) -> Iterator[dict[str, Any]]:
        if self._flags.tools_file:
            yield from read_json(self._flags.tools_file)
            return
        for number in range(self._flags.tools):
            yield self._tool(f"tool_{number}")
        yield self._tool("echo")
        if self._flags.print_env:
            yield self._tool("env")
        if self._flags.bad_schema:
            yield {**self._tool("bad"), "inputSchema": "anything you like"}

    def _tool(self, name: str) -> dict[str, Any]:
        described = {} if self._flags.no_description else {"description": f"Gives what {name} is given."}
        return {
            "name": name,
            **described,
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        }

    def _call(self, request: int | str, params: dict[str, Any]) -> None:
        self.record(f"call {params['name']}")
        outcome: dict[str, Any] = {"result": {"content": [{"type": "text", "text": self._text(params)}]}}
        if self._flags.only in {"", params["name"]}:
            outcome = self._misbehave(params) or outcome
        if request not in self._cancelled:
            self._send({"id": str(request) if self._flags.string_ids else request, **outcome})

    def _text(self, params: dict[str, Any]) -> str:
        if params["name"] == "meta":
            return json.dumps(params.get("_meta") or {})
        if self._flags.print_env and params["name"] == "env":
            return json.dumps(dict(os.environ))
        return json.dumps(params.get("arguments") or {})

    def _misbehave(self, params: dict[str, Any]) -> dict[str, Any]:
        """Do what the flags say about calls; give what is to be answered instead, if anything is."""
        if self._flags.die_in_call:
            os._exit(3)
        if self._flags.hang_in_call:
            sleep_for_ever()
        self._report_progress(params.get("_meta", {}).get("progressToken"))
        time.sleep(self._flags.call_delay)
        if self._flags.result_file:
            return {"result": read_json(self._flags.result_file)}
        if self._flags.error_file:
            return {"error": read_json(self._flags.error_file)}
        if self._flags.huge:
            return {"result": {"content": [{"type": "text", "text": "x" * self._flags.huge}]}}
        return {}

    def _report_progress(self, token: str | int | None) -> None:
        total = self._flags.progress if token is not None else 0
        for step in range(1, total + 1):
            told = str(token) if self._flags.string_ids else token
            progress = {"progressToken": told, "progress": step, "total": total, "message": f"step {step}"}
            self._send({"method": "notifications/progress", "params": progress})

    def _watch(self, meta: dict[str, Any] | None = None) -> None:
        params = {"params": {"_meta": meta}} if meta else {}
        while True:
            if (now := changed_at(self._flags.list_changed_on)) != self._seen:
                self._seen = now
                self._send({"method": "notifications/tools/list_changed", **params})
            time.sleep(POLL_SECONDS)

    def _send(self, message: dict[str, Any]) -> None:
        rubbish = b"Listening on nothing ...\n\n{not json\n" if self._flags.rubbish else b""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
        # A client that has gone is found out by the end of input.
        with self._turn, suppress(BrokenPipeError):
            write_whole(1, rubbish + line)


def write_whole(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def append(file: str, line: str) -> None:
    """Append a line in one write, so that those of several processes never mix."""
    if file:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, line.encode() + b"\n")
        os.close(descriptor)


def read_json(file: str) -> Any:
    with open(file, encoding="utf-8") as content:
        return json.load(content)


def changed_at(file: str) -> int | None:
    try:
        return os.stat(file).st_mtime_ns
    except FileNotFoundError:
        return None


def flood() -> None:
    while True:
        os.write(2, b"the sky is falling\n" * 200)


def sleep_for_ever() -> NoReturn:
    while True:
        time.sleep(3600)


def hear_signals(*, ignored: bool) -> None:
    heard: Any = signal.SIG_IGN if ignored else lambda *_: sys.exit(0)
    signal.signal(signal.SIGTERM, heard)
    signal.signal(signal.SIGINT, heard)


def bear_grandchild(member: Member) -> None:
    """Fork a process that holds this one's pipes open and outlives it."""
    child = os.fork()
    if child == 0:
        sleep_for_ever()
    member.record(f"grandchild {child}")


def begin(member: Member, flags: argparse.Namespace) -> None:
    # Deaf until the grandchild is there, so that it is deaf from its first moment.
    hear_signals(ignored=True)
    member.record(f"started {os.getpid()}")
    if flags.say:
        os.write(2, flags.say.encode() + b"\n")
    if flags.exit is not None:
        sys.exit(flags.exit)
    if flags.grandchild:
        bear_grandchild(member)
    hear_signals(ignored=flags.ignore_term)
    if flags.flood_stderr:
        threading.Thread(target=flood, daemon=True).start()


def main() -> None:
    flags = parse_flags()
    member = Member(flags)
    begin(member, flags)
    try:
        member.serve()
        if flags.ignore_term:
            sleep_for_ever()
    finally:
        member.record(f"stopped {os.getpid()}")


if __name__ == "__main__":
    main()

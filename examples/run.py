"""How does one try the hall? It is served over HTTP, and how to connect is told, until Ctrl-C.

    python examples/run.py [--port 8321] [--once]

The examples are served: a handbook, a shop with contexts, a guild of three. What is printed names this clone, and is
written nowhere. With --once, the hall is asked what a person and an agent would ask first, and ends.
"""

import argparse
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

EXAMPLES = Path(__file__).absolute().parent
GUILD = EXAMPLES / "guild-members"
CONTEXT = str(Path(sys.executable).with_name("context"))
SERVE = [
    "serve",
    *("--path", str(EXAMPLES / "shop")),
    *("--cache-root", str(EXAMPLES / ".context" / "caches")),
    *("--guild", str(GUILD)),
]
READY = "Context Hall at "
PROTOCOL = "2025-11-25"
PATIENCE_SECONDS = 30
RECIPES = """
Look at it: {page}

Connect an agent to it: claude-code, cursor, vscode, codex, windsurf, gemini-cli, or generic for any other
  all share this hall          {share}
  each starts one of its own   {start}

Each prints what to put where; with --write it is put there, with --remove it is taken out again. An agent that asks
for an address wants {page}mcp.
"""


def recipes(page: str) -> str:
    """Say how to connect to the hall at `page`, or to start another, ready to be pasted."""
    port = page.rstrip("/").rpartition(":")[2]
    connect = [CONTEXT, "connect", "claude-code", *SERVE[1:]]
    return RECIPES.format(page=page, share=shlex.join([*connect, "--http", "--at", port]), start=shlex.join(connect))


class Visitor:
    """Asks a hall what a person and an agent would ask first."""

    def __init__(self, page: str) -> None:
        self._page = page
        # No proxy: the hall is on this machine.
        self._opener = build_opener(ProxyHandler({}))
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def look_around(self) -> None:
        """Expect the page, a healthy hall, a complete roster, and an answer from each room."""
        expect("<title>" in self._get(""), "the page is there")
        expect(json.loads(self._get("healthz"))["status"] == "ok", "the hall is well")
        roster = {member["key"]: member["tools"] for member in json.loads(self._get("api/guild"))["members"]}
        members = {manifest.parent.name for manifest in GUILD.glob("*/plugin.json")}
        expect(set(roster) == members and all(roster.values()), "the roster is complete")
        self._shake_hands()
        found = self._call("context.resolve", cache="handbook", query="How often do we rotate keys?")
        expect("rotate" in found, "context.resolve answers")
        expect("whole cents" in self._call("query_context", scope="shop"), "query_context answers")
        expect(self._call("echo__reverse", text="hall") == "llah", "a member of the guild answers")
        expect("swift" in self._call("thesaurus__synonyms", word="quick"), "one that is slow to start answers, too")

    def _get(self, path: str) -> str:
        with self._opener.open(self._page + path, timeout=PATIENCE_SECONDS) as answer:
            return str(answer.read().decode())

    def _shake_hands(self) -> None:
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "run", "version": "1"}}
        session, _ = self._post({"id": 0, "method": "initialize", "params": hello})
        self._headers |= {"Mcp-Session-Id": session, "Mcp-Protocol-Version": PROTOCOL}
        self._post({"method": "notifications/initialized"})

    def _call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; give the text of its answer."""
        _, answer = self._post({"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        # As JSON, or, where it took long, as an event of a stream.
        data = next(line for line in answer.splitlines() if line.startswith(("{", "data: {")))
        return str(json.loads(data.removeprefix("data: "))["result"]["content"][0]["text"])

    def _post(self, message: dict[str, Any]) -> tuple[str, str]:
        """Send a message; give the session and the answer."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        request = Request(f"{self._page}mcp", body, self._headers)
        with self._opener.open(request, timeout=PATIENCE_SECONDS) as answer:
            return str(answer.headers["Mcp-Session-Id"]), str(answer.read().decode())


def expect(truth: bool, sentence: str) -> None:
    print(f"{'yes' if truth else 'NO'}: {sentence}")
    if not truth:
        raise SystemExit(1)


def serve(port: int, *, once: bool) -> int:
    """Start the hall, tell how to connect once it listens, and give its exit code when it has ended."""
    command = [CONTEXT, *SERVE, "--http", str(port)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as hall:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: hall.terminate())
        try:
            assert hall.stderr is not None
            for line in hall.stderr:
                print(line, end="", file=sys.stderr, flush=True)
                if line.startswith(READY):
                    welcome(line.removeprefix(READY).partition("#")[0].strip(), once=once)
                    if once:
                        hall.terminate()
        finally:
            hall.terminate()
    return hall.returncode


def welcome(page: str, *, once: bool) -> None:
    print(recipes(page), flush=True)
    if once:
        Visitor(page).look_around()
    else:
        print("Ctrl-C ends it.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python examples/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8321, help="where to listen; 0 is a free port (default: 8321)")
    parser.add_argument("--once", action="store_true", help="ask the hall a few things, and end")
    chosen = parser.parse_args()
    raise SystemExit(serve(chosen.port, once=chosen.once))


if __name__ == "__main__":
    main()

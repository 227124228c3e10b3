"""Claim: over stdio the hall starts sooner than a TypeScript server that does nothing, and answers about as fast.

python -m benchmarks.stdio_calls [--rounds 9] [--write docs/performance.md]

The call is the cheapest there is, so that the protocol is most of it. The peers do nothing at all: one on each official
SDK, and a loop of a few lines. The TypeScript SDK is measured where `make bench-stdio_calls` could install it with npm.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.client import Client
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import command_line, milliseconds

PART = "benchmarks.stdio_calls"
CALLS = 500
IN_FLIGHT = 32
TYPESCRIPT = Path(__file__).parents[1] / ".bench-peers" / "npm" / "node_modules" / "@modelcontextprotocol" / "sdk"

PYTHON_NO_OP = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def call(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="{}")])

async def tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="no-op", input_schema={"type": "object"})])

async def main():
    server = Server("no-op", on_call_tool=call, on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
TYPESCRIPT_NO_OP = """
import {{ Server }} from "{sdk}/dist/esm/server/index.js";
import {{ StdioServerTransport }} from "{sdk}/dist/esm/server/stdio.js";
import {{ CallToolRequestSchema, ListToolsRequestSchema }} from "{sdk}/dist/esm/types.js";
const server = new Server({{ name: "no-op", version: "1" }}, {{ capabilities: {{ tools: {{}} }} }});
const tools = [{{ name: "no-op", inputSchema: {{ type: "object" }} }}];
server.setRequestHandler(ListToolsRequestSchema, async () => ({{ tools }}));
server.setRequestHandler(CallToolRequestSchema, async () => ({{ content: [{{ type: "text", text: "{{}}" }}] }}));
await server.connect(new StdioServerTransport());
"""
RAW_LOOP = """
import json, sys
results = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}},
    "tools/list": {"tools": [{"name": "no-op", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "{}"}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}), flush=True)
"""


class Turn(NamedTuple):
    """What one run of a server showed, in seconds and bytes."""

    initialized: float
    listed: float
    memory: float
    one_by_one: float
    in_flight: float


def take_turn(command: tuple[str, ...], tool: str, directory: Path) -> Turn:
    """Start a server, list its tools, and call one of them again and again."""
    begun = time.perf_counter()
    client = Client(*command, cwd=directory)
    initialized = time.perf_counter() - begun
    client.send("tools/list", {})
    client.receive()
    listed, memory = time.perf_counter() - begun, _memory(client.process)
    client.call(tool)  # which loads what only calls need
    client.receive()
    latencies = [_timed(client, tool) for _ in range(CALLS)]
    turn = Turn(initialized, listed, memory, median(latencies), _pipelined(client, tool) / CALLS)
    client.close()
    return turn


def _timed(client: Client, tool: str) -> float:
    sent = time.perf_counter()
    client.call(tool)
    client.receive()
    return time.perf_counter() - sent


def _pipelined(client: Client, tool: str) -> float:
    begun = time.perf_counter()
    for _ in range(IN_FLIGHT):
        client.call(tool)
    for number in range(CALLS):
        client.receive()
        if number < CALLS - IN_FLIGHT:
            client.call(tool)
    return time.perf_counter() - begun


def _memory(process: "subprocess.Popen[bytes]") -> float:
    status = Path(f"/proc/{process.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024.0 for line in lines if line.startswith("VmRSS")), 0.0)


def servers(scratch: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Give each server's command and the tool that is called."""
    found: dict[str, tuple[tuple[str, ...], str]] = {"the hall": (command_line("serve"), "context.list_caches")}
    if TYPESCRIPT.exists() and (node := shutil.which("node")):
        script = scratch / "no-op.mjs"
        script.write_text(TYPESCRIPT_NO_OP.format(sdk=TYPESCRIPT))
        found["TypeScript SDK, no-op"] = ((node, str(script)), "no-op")
    found["Python SDK, no-op"] = ((sys.executable, "-c", PYTHON_NO_OP), "no-op")
    found["a loop over `json`"] = ((sys.executable, "-c", RAW_LOOP), "no-op")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stdio_calls", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help=f"turns of each server, {CALLS} calls each (default: 9)")
    add_page_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, ".context", "caches").mkdir(parents=True)
        peers = servers(Path(directory))
        turns: dict[str, list[Turn]] = {name: [] for name in peers}
        for _ in range(chosen.rounds):
            for name, (command, tool) in peers.items():
                turns[name].append(take_turn(command, tool, Path(directory)))
    rows = []
    for name, taken in turns.items():
        middle = Turn(*(median(values) for values in zip(*taken, strict=True)))
        memory = f"{middle.memory / 1e6:.0f} MB"
        starts = map(milliseconds, (middle.initialized, middle.listed))
        calls = (f"{seconds * 1000:.3f} ms" for seconds in (middle.one_by_one, middle.in_flight))
        rows.append([name, *starts, *calls, memory])
    title = "Servers over stdio; the hall's call is `context.list_caches` on an empty root"
    heads = ["server", "start to `initialize`", "to the first list", "a call", f"of {IN_FLIGHT} in flight", "memory"]
    publish(Table(title, heads, rows), PART, chosen.write)


if __name__ == "__main__":
    main()

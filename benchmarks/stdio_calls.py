"""Claim: the hall's own stdio transport answers more calls, sooner, than the SDK's, in front of the same server."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.runner import Measure, Sample, command_line, milliseconds, print_table, take_turns

CALLS = 500
IN_FLIGHT = 32

SDK_TRANSPORT = """
import anyio
from mcp.server.stdio import stdio_server
from contexthall import __version__, open_hall
from contexthall.faces.mcp.server import HallServer

async def main():
    hall = open_hall()
    server = HallServer(hall.catalog, hall.caller, version=__version__)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


class Client:
    """The thinnest client there is: lines out, lines in."""

    def __init__(self, *command: str, cwd: Path) -> None:
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.send("initialize", hello)
        self.receive()

    def send(self, method: str, params: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._next

    def receive(self) -> int:
        assert self.process.stdout is not None
        identifier: int = json.loads(self.process.stdout.readline())["id"]
        return identifier

    def call(self) -> int:
        return self.send("tools/call", {"name": "context.list_caches", "arguments": {}})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def one_by_one(client: Client, latencies: list[float]) -> Measure:
    def measure() -> float:
        begun = time.perf_counter()
        for _ in range(CALLS):
            sent = time.perf_counter()
            client.call()
            client.receive()
            latencies.append(time.perf_counter() - sent)
        return time.perf_counter() - begun

    return measure


def many_at_once(client: Client, latencies: list[float]) -> Measure:
    def measure() -> float:
        begun = time.perf_counter()
        sent = {client.call(): time.perf_counter() for _ in range(IN_FLIGHT)}
        for number in range(CALLS):
            latencies.append(time.perf_counter() - sent.pop(client.receive()))
            if number < CALLS - IN_FLIGHT:
                sent[client.call()] = time.perf_counter()
        return time.perf_counter() - begun

    return measure


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        clients = {
            "hall": Client(*command_line("serve"), cwd=Path(directory)),
            "SDK": Client(sys.executable, "-c", SDK_TRANSPORT, cwd=Path(directory)),
        }
        shapes = {"one by one": one_by_one, f"{IN_FLIGHT} in flight": many_at_once}
        latencies: dict[str, list[float]] = {f"{name}, {shape}": [] for name in clients for shape in shapes}
        peers = {
            f"{name}, {shape}": shapes[shape](clients[name], latencies[f"{name}, {shape}"])
            for shape in shapes
            for name in clients
        }
        samples = take_turns(peers, rounds=15)
        for client in clients.values():
            client.close()
    rows = []
    for name, sample in samples.items():
        each = Sample(tuple(latencies[name]))
        rows.append(
            [name, f"{CALLS / sample.median:.0f}", milliseconds(each.median), milliseconds(each.percentile(99))]
        )
    print_table("context.list_caches on an empty root, over stdio", ["transport", "calls/s", "p50", "p99"], rows)


if __name__ == "__main__":
    main()

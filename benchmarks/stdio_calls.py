"""Claim: the hall's own stdio transport answers more calls, sooner, than the SDK's, in front of the same server.

python -m benchmarks.stdio_calls [--rounds 15] [--write docs/performance.md]

The call is the cheapest there is, so that the transport is most of it.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.client import Client
from benchmarks.report import Table, add_page_option, publish
from benchmarks.runner import Measure, Sample, command_line, milliseconds, take_turns

PART = "benchmarks.stdio_calls"
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stdio_calls", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help=f"turns of {CALLS} calls each (default: 15)")
    add_page_option(parser)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        clients = {
            "the hall's transport": Client(*command_line("serve"), cwd=Path(directory)),
            "the SDK's transport": Client(sys.executable, "-c", SDK_TRANSPORT, cwd=Path(directory)),
        }
        shapes = {"one by one": one_by_one, f"{IN_FLIGHT} in flight": many_at_once}
        latencies: dict[str, list[float]] = {f"{name}, {shape}": [] for name in clients for shape in shapes}
        peers = {
            f"{name}, {shape}": shapes[shape](clients[name], latencies[f"{name}, {shape}"])
            for shape in shapes
            for name in clients
        }
        samples = take_turns(peers, rounds=chosen.rounds)
        for client in clients.values():
            client.close()
    rows = []
    for name, sample in samples.items():
        each = Sample(tuple(latencies[name]))
        rows.append(
            [name, f"{CALLS / sample.median:.0f}", milliseconds(each.median), milliseconds(each.percentile(99))]
        )
    title = "`context.list_caches` on an empty root, over stdio"
    publish(Table(title, ["transport", "calls/s", "p50", "p99"], rows), PART, chosen.write)


if __name__ == "__main__":
    main()

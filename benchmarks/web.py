"""Claim: the page is there at once, and fifty agents over HTTP get more out of the hall than the SDK can carry.

    python -m benchmarks.web [--rounds 9] [--calls 300] [--only page] [--write docs/performance.md]

The page is timed by the browser, from the start of its navigation until the roster is painted, each time in a profile
that has seen nothing. Agents are connections with a session each, held by this process, which only writes requests and
reads answers. The SDK's no-op is a server of nothing but the SDK and a tool that does nothing, with the same settings.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import cycle, permutations
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, sync_playwright

from benchmarks.caches import BUDGET, SEED
from benchmarks.generators import write_corpus
from benchmarks.guild import write_guild
from benchmarks.report import claims_table, publish
from benchmarks.runner import (
    Claim,
    Measure,
    Sample,
    command_line,
    next_to_peer,
    next_to_target,
    process,
    take_turns,
)
from benchmarks.steps import choose_steps, take_steps
from contexthall.faces.web.app import STATIC

PART = "benchmarks.web"
CHROMIUM = os.environ.get("CONTEXT_CHROMIUM", "/usr/bin/chromium")
PATIENCE_SECONDS = 60

# What was promised: seconds, bytes, and times what it stands next to.
PAINTED, PAGE_BYTES, TAIL = 0.5, 150e3, 20
CHEAP_SHARE, SHARE = 1 / 2.5, 1 / 0.4
MEMBERS, TOOLS = 100, 10
DOCUMENTS, SMALL_BUDGET = 10_000, 200
CLIENTS = 50

# No polling, which would evaluate text, and the page forbids that.
PAINTED_AT = """() => new Promise((tell) => {
    const look = (seen) => seen.getEntriesByName("roster-painted").forEach((mark) => tell(mark.startTime));
    new PerformanceObserver(look).observe({ type: "mark", buffered: true });
})"""
PROTOCOL = "2025-11-25"

NO_OP = "the SDK's no-op"
NO_OP_SERVER = """
import socket, sys
import anyio, mcp_types as types, uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from contexthall.core import limits

async def call(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="")])

async def tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="no-op", input_schema={"type": "object"})])

async def main():
    taken = socket.create_server(("127.0.0.1", 0))
    host = "127.0.0.1:%d" % taken.getsockname()[1]
    manager = StreamableHTTPSessionManager(
        app=Server("no-op", on_call_tool=call, on_list_tools=tools),
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=[host], allowed_origins=["http://" + host]
        ),
        session_idle_timeout=limits.SESSION_IDLE_SECONDS,
        max_request_body_size=limits.CLIENT_MESSAGE_BYTES,
        max_sessions=limits.HTTP_SESSIONS,
    )
    how = dict(interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None, log_level="critical")
    lean = dict(access_log=False, proxy_headers=False, server_header=False)
    server = uvicorn.Server(uvicorn.Config(manager.handle_request, **how, **lean))
    async with manager.run():
        print("No-op at http://%s/" % host, file=sys.stderr, flush=True)
        await server.serve(sockets=[taken])

anyio.run(main)
"""


@contextmanager
def served(*command: str, cwd: Path) -> Iterator[str]:
    """Run a server; give its address once it listens."""
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = next((line for line in server.stderr if " at http://" in line), None)
        if line is None:
            raise SystemExit(f"{command[0]} does not listen")
        # Whatever else it says must not fill the pipe.
        threading.Thread(target=server.stderr.read, daemon=True).start()
        try:
            yield line.rpartition(" at ")[2].strip()
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)


def page(scratch: Path, rounds: int, _calls: int) -> Iterator[Claim]:
    """Open the page of a hall with a large guild that sleeps."""
    guild = write_guild(scratch, MEMBERS, tools=TOOLS)
    command = command_line("serve", "--http", "0", "--guild", str(guild.directory), "--guild-refresh", "never")
    with served(*command, cwd=scratch) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        painted = take_turns({"page": _opening(browser, url)}, rounds=rounds)["page"]
        browser.close()
        weight = sum(_sent(url, path) for path in _page_paths())
        roster = _sent(url, "/api/guild")
    what = f"roster painted, {MEMBERS} members, {MEMBERS * TOOLS:,} tools"
    yield next_to_target(f"{what}, median", painted.median, PAINTED)
    yield next_to_target(f"{what}, slowest of {rounds}", painted.percentile(100), None)
    yield next_to_target("page, all its files as sent", weight, PAGE_BYTES, show=_kilobytes)
    yield next_to_target("that roster as sent", roster, None, show=_kilobytes)


def _opening(browser: Browser, url: str) -> Measure:
    """Time the page in a profile of its own, by the browser's clock."""

    def measure() -> float:
        with browser.new_context() as profile:
            opened = profile.new_page()
            opened.goto(f"{url}#/guild")
            milliseconds = float(opened.evaluate(PAINTED_AT))
            shown = opened.locator(".member").count()
        if shown != MEMBERS:
            raise SystemExit(f"{shown} members are shown instead of {MEMBERS}")
        return milliseconds / 1000

    return measure


def _page_paths() -> Iterator[str]:
    for file in sorted(Path(STATIC).rglob("*.*")):
        yield "/" if file.name == "index.html" else f"/static/{file.relative_to(STATIC)}"


def _sent(url: str, path: str) -> int:
    """Count the bytes of an answer to a browser, with its head."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_SECONDS)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip, deflate, br"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(f"{path} is answered with {answer.status}")
    size = len(str(answer.headers).encode()) + len(answer.read())
    connection.close()
    return size


class Agent:
    """A session over one connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer = reader, writer
        self._head = (
            f"Host: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        )

    @classmethod
    async def connect(cls, url: str) -> "Agent":
        place = urlsplit(url)
        agent = cls(*await asyncio.open_connection(place.hostname, place.port, limit=1 << 24), place.netloc)
        await agent._shake_hands()
        return agent

    async def _shake_hands(self) -> None:
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        head, _ = await self.ask("POST", message("initialize", hello))
        session = next(line for line in head.splitlines() if line.lower().startswith("mcp-session-id:"))
        self._head += f"{session}\r\nMcp-Protocol-Version: {PROTOCOL}\r\n"
        await self.ask("POST", json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    async def ask(self, method: str, body: bytes = b"") -> tuple[str, bytes]:
        """Send a request; give head and body of the answer, as they came."""
        head = f"{method} /mcp HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "transfer-encoding: chunked" in head:
            return head, await self._reader.readuntil(b"\r\n0\r\n\r\n")
        length = next((line for line in head.splitlines() if line.startswith("content-length:")), ":0")
        return head, await self._reader.readexactly(int(length.partition(":")[2]))

    async def call(self, body: bytes) -> bool:
        """Send a call; say whether it was answered well."""
        head, answer = await self.ask("POST", body)
        return head.startswith("http/1.1 200") and b'"result"' in answer and b'"isError":true' not in answer

    async def leave(self) -> None:
        await self.ask("DELETE")
        self._writer.close()
        await self._writer.wait_closed()


class Turn(NamedTuple):
    """What all agents saw of a server in one turn."""

    seconds: float
    latencies: list[float]
    errors: int


def agents(scratch: Path, rounds: int, calls: int) -> Iterator[Claim]:
    """Let the same agents ask the hall and the no-op, by turns."""
    corpus, cache = write_corpus(scratch, DOCUMENTS, seed=SEED), scratch / "caches" / "documents"
    process(*command_line("build", "--sources", corpus.sources, "--cache", str(cache), "--force"))()
    hall = command_line("serve", "--http", "0", "--cache-root", str(cache.parent))
    turns: dict[str, list[Turn]] = {}
    with ExitStack() as stack:
        ours = stack.enter_context(served(*hall, cwd=scratch))
        bare = stack.enter_context(served(sys.executable, "-c", NO_OP_SERVER, cwd=scratch))
        asked = {
            NO_OP: (bare, [call("no-op")]),
            "context.list_caches": (ours, [call("context.list_caches")]),
            f"context.resolve, budget {SMALL_BUDGET}": (ours, _questions(corpus.common_query, SMALL_BUDGET)),
            f"context.resolve, budget {BUDGET}": (ours, _questions(corpus.common_query, BUDGET)),
        }
        peers = {name: _turn(*asked[name], calls, turns.setdefault(name, [])) for name in asked}
        take_turns(peers, rounds=rounds)
    base = _seconds_per_call(turns.pop(NO_OP))
    for name, taken in turns.items():
        yield from _judged(f"{CLIENTS} agents, {name}", taken[1:], base, promised="resolve" in name)
    errors = sum(turn.errors for taken in turns.values() for turn in taken)
    yield Claim(measure="errors", ours=errors, base=1, at_most=0, show=_number)


def _judged(what: str, turns: Sequence[Turn], base: float, *, promised: bool) -> Iterator[Claim]:
    sample = Sample(tuple(latency for turn in turns for latency in turn.latencies))
    share, tail = (SHARE, TAIL) if promised else (CHEAP_SHARE, None)
    yield next_to_peer(what, _seconds_per_call(turns), NO_OP, base, at_most=share, show=_rate)
    yield next_to_peer(f"{what}, p99", sample.percentile(99), "p50", sample.median, at_most=tail)


def _seconds_per_call(turns: Sequence[Turn]) -> float:
    return statistics.median(turn.seconds / len(turn.latencies) for turn in turns)


def _questions(common_words: str, budget: int) -> list[bytes]:
    """Ask for the same words in every order, so that no answer is the last one again."""
    orders = permutations(common_words.split())
    return [call("context.resolve", cache="documents", query=" ".join(order), budget=budget) for order in orders]


def call(tool: str, **arguments: Any) -> bytes:
    return message("tools/call", {"name": tool, "arguments": arguments})


def message(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def _turn(url: str, bodies: Sequence[bytes], calls: int, turns: list[Turn]) -> Measure:
    def measure() -> float:
        turns.append(asyncio.run(ask_at_once(url, bodies, calls)))
        return turns[-1].seconds

    return measure


async def ask_at_once(url: str, bodies: Sequence[bytes], calls: int) -> Turn:
    """Let all agents make their part of the calls, each one after the other."""
    asking = [await Agent.connect(url) for _ in range(CLIENTS)]
    latencies: list[float] = []
    errors: list[bytes] = []
    questions = cycle(bodies)

    async def make_calls(agent: Agent) -> None:
        for _ in range(calls // CLIENTS):
            question, sent = next(questions), time.perf_counter()
            if not await agent.call(question):
                errors.append(question)
            latencies.append(time.perf_counter() - sent)

    begun = time.perf_counter()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        for agent in asking:
            group.create_task(make_calls(agent))
    seconds = time.perf_counter() - begun
    for agent in asking:
        await agent.leave()
    return Turn(seconds, latencies, len(errors))


def _rate(seconds: float) -> str:
    return f"{1 / seconds:.0f} calls/s"


def _kilobytes(size: float) -> str:
    return f"{size / 1e3:.1f} kB"


def _number(figure: float) -> str:
    return f"{figure:.0f}"


STEPS = (page, agents)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (default: 9)")
    parser.add_argument("--calls", type=int, default=300, help="calls of all agents in one turn (default: 300)")
    chosen = choose_steps(parser, STEPS)
    publish(claims_table("HTTP and the page", list(take_steps(STEPS, chosen))), PART, chosen.write)


if __name__ == "__main__":
    main()

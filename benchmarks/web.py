"""Claim: the page is there at once, and fifty agents over HTTP are served at a good part of what the SDK can carry.

    python -m benchmarks.web [--rounds 15] [--calls 1000] [--keep DIR] [--only page]

Fifty clients are fifty connections with a session each, held by a process of their own that only writes requests and
reads answers to their end. "The SDK's no-op" is a server of nothing but the SDK and one tool that does nothing, behind
the same uvicorn with the same settings, asked by the same clients, by turns.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from playwright.sync_api import Browser, sync_playwright

from benchmarks.caches import BUDGET, SEED
from benchmarks.generators import write_corpus
from benchmarks.guild import write_guild
from benchmarks.runner import (
    Claim,
    Sample,
    command_line,
    next_to_peer,
    next_to_target,
    print_claims,
    process,
    take_turns,
)
from contexthall.faces.web.app import STATIC

CHROMIUM = os.environ.get("CONTEXT_CHROMIUM", "/usr/bin/chromium")
PATIENCE_SECONDS = 60
READY = b"Context Hall at "

# What was promised: seconds, bytes, and times a peer.
PAINTED_SECONDS, PAGE_BYTES = 0.5, 150e3
TAIL, SHARE = 20, 0.5
MEMBERS, TOOLS = 100, 10
DOCUMENTS, SMALL_BUDGET = 10_000, 200
CLIENTS = 50

PAINTED = "performance.getEntriesByName('roster-painted').length > 0"
PAINTED_AT = "performance.getEntriesByName('roster-painted')[0].startTime"

NO_OP = "the SDK's no-op"
NO_OP_SERVER = """
import socket
import anyio, mcp_types as types, uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from contexthall.faces.mcp.http import IDLE_SECONDS, MOST_BODY_BYTES, MOST_SESSIONS

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
        session_idle_timeout=IDLE_SECONDS,
        max_request_body_size=MOST_BODY_BYTES,
        max_sessions=MOST_SESSIONS,
    )
    settings = dict(interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False)
    server = uvicorn.Server(uvicorn.Config(manager.handle_request, server_header=False, **settings))
    async with manager.run():
        import sys
        print("Context Hall at http://%s/" % host, file=sys.stderr, flush=True)
        await server.serve(sockets=[taken])

anyio.run(main)
"""


@contextmanager
def served(*command: str, cwd: Path) -> Iterator[str]:
    """Run a server; give its address once it listens."""
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        said = b""
        while not said.startswith(READY):
            said = server.stderr.readline()
            if not said:
                raise SystemExit("the server is not there")
        try:
            yield said.removeprefix(READY).decode().strip()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_SECONDS)


@dataclass(slots=True)
class Turn:
    """What fifty clients saw in one turn."""

    seconds: float
    latencies: list[float]
    errors: int


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
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        head, _ = await self.ask("POST", message("initialize", hello))
        session = next(line for line in head.splitlines() if line.lower().startswith("mcp-session-id:"))
        self._head += f"{session}\r\nMcp-Protocol-Version: 2025-11-25\r\n"
        await self.ask("POST", json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    async def ask(self, method: str, body: bytes = b"") -> tuple[str, bytes]:
        """Send a request; give head and body of the answer, as they came."""
        self._writer.write(
            f"{method} /mcp HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "transfer-encoding: chunked" in head:
            return head, await self._reader.readuntil(b"\r\n0\r\n\r\n")
        length = next((line for line in head.splitlines() if line.startswith("content-length:")), ":0")
        return head, await self._reader.readexactly(int(length.partition(":")[2]))

    async def call(self, body: bytes) -> bool:
        head, answer = await self.ask("POST", body)
        return head.startswith("http/1.1 200") and b'"result"' in answer and b'"isError":true' not in answer

    async def leave(self) -> None:
        await self.ask("DELETE")
        self._writer.close()
        await self._writer.wait_closed()


def message(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


async def ask_at_once(url: str, body: bytes, calls: int) -> Turn:
    """Let fifty agents make calls, each one after the other."""
    agents = [await Agent.connect(url) for _ in range(CLIENTS)]
    turn = Turn(0, [], 0)

    async def make_calls(agent: Agent) -> None:
        for _ in range(calls // CLIENTS):
            sent = time.perf_counter()
            turn.errors += not await agent.call(body)
            turn.latencies.append(time.perf_counter() - sent)

    begun = time.perf_counter()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        for agent in agents:
            group.create_task(make_calls(agent))
    turn.seconds = time.perf_counter() - begun
    for agent in agents:
        await agent.leave()
    return turn

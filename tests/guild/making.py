"""Guilds to try things on: directories of real members, and members whose servers are objects."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from contexthall.guild.manager import Event, MCPManager, Member, discover_guild_members

ZOO = Path(__file__).parent / "zoo"
PATIENT = {"startTimeoutSeconds": 60}
"""A busy machine may take its time to start a server: how long it may is the subject of few tests."""


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def make_member(guild: Path, name: str, *flags: str, version: str = "1.0.0", **mcp: Any) -> Path:
    """Write the manifest of a member whose server is the zoo's, with `flags`."""
    directory = guild / name
    directory.mkdir(parents=True, exist_ok=True)
    launch = {"command": sys.executable, "args": [str(ZOO / "member.py"), *flags], **PATIENT, **mcp}
    (directory / "plugin.json").write_text(json.dumps({"name": name, "version": version, "mcp": launch}))
    return directory


def make_http_member(guild: Path, name: str, *flags: str, **mcp: Any) -> Path:
    """The same, for one that is spoken with over HTTP."""
    directory = make_member(guild, name)
    server = [str(ZOO / "http_member.py"), "--port", "${PORT}", *flags]
    launch = {"command": sys.executable, "args": server, **PATIENT, **mcp}
    manifest = {"name": name, "version": "1.0.0", "transport": "http", "mcp": launch}
    (directory / "plugin.json").write_text(json.dumps(manifest))
    return directory


def write_cache(
    directory: Path, *tools: dict[str, Any], version: str = "1.0.0", cached_at: str = "2026-01-02T03:04:05.678Z"
) -> None:
    cache = {"version": version, "tools": list(tools), "cachedAt": cached_at}
    (directory / "tools-cache.json").write_text(json.dumps(cache))


def read_cache(directory: Path) -> dict[str, Any]:
    cache: dict[str, Any] = json.loads((directory / "tools-cache.json").read_text())
    return cache


class FakeServer:
    """A server that is an object."""

    def __init__(self, tools: list[dict[str, Any]], answer: Callable[[str, Any], Awaitable[Any]] | None = None) -> None:
        self.tools = tools
        self.answer = answer
        self.was_stopped = False
        self.on_gone: Callable[[str, str], None] | None = None
        self.on_tools_changed: Callable[[], None] | None = None

    async def list_tools(self) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        return self.tools

    async def invoke_tool(self, name: str, arguments: Any, _progress: object = None) -> Any:
        return await self.answer(name, arguments) if self.answer else {"called": name, "with": arguments}

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self.was_stopped = True


class FakeFactory:
    """Gives servers that are objects, and remembers them in the order of their start."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = list(tools)
        self.servers: list[FakeServer] = []
        self.started: list[str] = []
        self.failure: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.answer: Callable[[str, Any], Awaitable[Any]] | None = None
        self.starting = 0
        self.most_starting = 0

    async def spawn(self, member: Member) -> FakeServer:
        self.started.append(member.name)
        self.starting += 1
        self.most_starting = max(self.most_starting, self.starting)
        try:
            await asyncio.sleep(0.001)
            if self.gate is not None:
                await self.gate.wait()
            if self.failure is not None:
                raise self.failure
        finally:
            self.starting -= 1
        server = FakeServer(self.tools, self.answer)
        self.servers.append(server)
        return server


def manager_of(guild: Path, factory: FakeFactory, **choices: Any) -> tuple[MCPManager, list[Event]]:
    """Open a guild; the events that it sends are collected in the list."""
    manager = MCPManager(discover_guild_members(str(guild)), factory, **choices)
    events: list[Event] = []
    manager.subscribe(events.append)
    return manager, events


async def refreshed(guild: Path, factory: FakeFactory, **choices: Any) -> MCPManager:
    """Ask every member for its tools, as a process that then ends."""
    manager, _ = manager_of(guild, factory, **choices)
    await manager.initialize_roster()
    await manager.refresh_tool_caches()
    await manager.shutdown()
    return manager


def kinds(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.kind, event.member) for event in events]


def is_alive(pid: int) -> bool:
    """Whether it runs: one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except (OSError, IndexError):
        return False

"""What becomes of the tools of a member when its files, the memory and its server do not agree?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import (
    FakeFactory,
    FakeServer,
    kinds,
    make_http_member,
    make_member,
    manager_of,
    refreshed,
    tool,
    write_cache,
)
from tests.processes import run_context
from tests.waiting import until

from contexthall.core import limits
from contexthall.core.catalog import Caller, Catalog
from contexthall.core.errors import MemberError
from contexthall.guild.capability import guild_capability
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import MCPManager, Member


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIST_POLL_SECONDS", "LIST_ANSWER_SECONDS", "FIRST_LIST_SECONDS", "ANNOUNCEMENT_SECONDS"):
        monkeypatch.setattr(limits, name, 0.01)


@asynccontextmanager
async def serving(manager: MCPManager) -> AsyncIterator[None]:
    """Serve as a hall does, from the moment at which every member has been asked."""
    async with manager.running("all"):
        await until(lambda: all(member.cached_at for member in manager.roster.values()))
        await asyncio.sleep(0.1)
        yield


def opened(guild: Path, factory: FakeFactory, memory: Memory, *, hold: bool = False) -> MCPManager:
    manager, _ = manager_of(guild, factory, memory=memory, hold=hold)
    manager.load_roster()
    return manager


def never_written(directory: Path) -> None:
    """Put something in the place of a tools cache that no file can replace."""
    (directory / "tools-cache.json" / "full").mkdir(parents=True)


def test_a_cache_with_a_number_beyond_all_range_harms_nobody_else(guild: Path, tmp_path: Path) -> None:
    """REQ-MCP-TOOL-11: it is malformed, because it could not be passed on; the roster is there all the same."""
    schema = {"type": "object", "properties": {"n": {"maximum": "HUGE"}}}
    write_cache(make_member(guild, "odd"), tool("a", inputSchema=schema))
    write_cache(make_member(guild, "well"), tool("a"))
    cache = guild / "odd" / "tools-cache.json"
    cache.write_text(cache.read_text().replace('"HUGE"', "1e999"))

    listed = run_context("guild", "list", "--json", "--guild", str(guild), cwd=tmp_path)

    assert listed.returncode == 0, listed.stderr
    assert [member["tools"] for member in json.loads(listed.stdout)["members"]] == [0, 1]


def test_tools_that_could_not_be_cached_stay_when_another_member_is_refreshed(guild: Path, memory: Memory) -> None:
    """REQ-MCP-TOOL-18, 20: a member in a read-only directory keeps its tools for as long as the hall runs."""
    never_written(make_member(guild, "unwritable"))
    make_member(guild, "other")

    async def work() -> None:
        manager = opened(guild, FakeFactory(tool("a")), memory)
        async with serving(manager):
            await manager.refresh_tool_caches(["other"])
            await asyncio.sleep(0.1)
            assert [each["name"] for each in manager.roster["unwritable"].tools] == ["a"]

    asyncio.run(work())


def test_a_hall_that_serves_keeps_the_tools_of_a_member_that_another_process_has_refreshed_as_a_newer_version(
    guild: Path, memory: Memory
) -> None:
    make_member(guild, "echo", version="1.0.0")

    async def work() -> None:
        manager = opened(guild, FakeFactory(tool("a")), memory)
        async with serving(manager):
            make_member(guild, "echo", version="2.0.0")
            await refreshed(guild, FakeFactory(tool("a"), tool("b")), memory=memory)
            await asyncio.sleep(0.1)
            assert manager.roster["echo"].tools

    asyncio.run(work())


def test_what_is_held_can_be_approved_where_the_cache_cannot_be_written(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "before")), memory=memory))
    (guild / "echo" / "tools-cache.json").unlink()
    never_written(guild / "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "after")), memory=memory))

    approved = opened(guild, FakeFactory(), memory, hold=True).approve("echo")

    assert [change.tool for change in approved] == ["a"]
    member = Member(name="echo", key="echo", directory=str(guild / "echo"))
    remembered = memory.recall(member)
    assert remembered is not None
    assert remembered.approved is not None
    assert [each["description"] for each in remembered.approved] == ["after"]


def test_an_approval_during_the_first_refresh_is_heeded(guild: Path, memory: Memory) -> None:
    make_member(guild, "changed")
    make_member(guild, "slow")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "before")), memory=memory))

    class Factory(FakeFactory):
        async def spawn(self, member: Member) -> FakeServer:
            if member.name == "slow":
                await may_start.wait()
            return await super().spawn(member)

    async def work() -> None:
        manager = opened(guild, Factory(tool("a", "after")), memory, hold=True)
        async with manager.running("all"):
            await until(lambda: manager.roster["changed"].is_held)
            opened(guild, FakeFactory(), memory, hold=True).approve("changed")
            may_start.set()
            await until(lambda: not manager.roster["changed"].is_held)

    may_start = asyncio.Event()
    asyncio.run(work())


def test_a_server_that_offers_something_else_than_the_cache_it_came_with_is_told(guild: Path, memory: Memory) -> None:
    write_cache(make_member(guild, "echo"), tool("a", "what people read"))

    async def work() -> Member:
        manager = opened(guild, FakeFactory(tool("a", "what agents get")), memory, hold=True)
        await manager.refresh_tool_caches()
        await manager.shutdown()
        return manager.roster["echo"]

    member = asyncio.run(work())
    assert [change.fields for change in member.changes] == [("description",)]
    assert [each["description"] for each in member.tools] == ["what people read"]


def test_a_server_that_fails_in_its_own_way_to_list_its_tools_is_an_error_of_that_member_alone(guild: Path) -> None:
    """REQ-MCP-TOOL-19: whoever made the server, and whatever it raises."""
    write_cache(make_member(guild, "broken"), tool("cached"))
    make_member(guild, "well")

    class Server(FakeServer):
        async def list_tools(self) -> list[dict[str, Any]]:
            raise ValueError("no list today")

    class Factory(FakeFactory):
        async def spawn(self, member: Member) -> FakeServer:
            return Server([]) if member.name == "broken" else await super().spawn(member)

    async def work() -> None:
        manager, events = manager_of(guild, Factory(tool("a")))
        manager.load_roster()
        await manager.refresh_tool_caches()
        await manager.shutdown()
        assert manager.roster["broken"].status == "error"
        assert [each["name"] for each in manager.roster["broken"].tools] == ["cached"]
        assert ("error", "broken") in kinds(events)
        assert ("tools_updated", "well") in kinds(events)

    asyncio.run(work())


def test_a_server_that_keeps_saying_that_its_tools_changed_is_idle_all_the_same(guild: Path) -> None:
    make_member(guild, "restless", idleSeconds=0.3)
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.invoke_tool("restless", "a", {})
        server = factory.servers[0]
        async with asyncio.timeout(3):
            while not server.was_stopped:
                if server.on_tools_changed is not None:
                    server.on_tools_changed()
                await asyncio.sleep(0.02)
        await manager.shutdown()

    asyncio.run(work())


def test_a_server_that_answers_calls_is_connected_whatever_its_last_refresh_was(guild: Path) -> None:
    make_member(guild, "echo")

    class Server(FakeServer):
        async def list_tools(self) -> list[dict[str, Any]]:
            raise MemberError("no list today")

    class Factory(FakeFactory):
        async def spawn(self, _member: Member) -> FakeServer:
            return Server([])

    async def work() -> None:
        manager, _ = manager_of(guild, Factory())
        await manager.invoke_tool("echo", "a", {})
        await manager.refresh_tool_caches()
        await manager.invoke_tool("echo", "a", {})
        assert manager.roster["echo"].status == "connected"
        await manager.shutdown()

    asyncio.run(work())


def test_a_member_on_this_machine_is_not_looked_for_behind_a_proxy(
    guild: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_http_member(guild, "echo")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    called = run_context("guild", "call", "echo", "echo", "--guild", str(guild), cwd=tmp_path)

    assert called.returncode == 0, called.stderr


def test_a_tool_that_was_listed_can_be_called_after_the_guild_has_outgrown_its_budget(guild: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("a"))
    factory = FakeFactory(*(tool(name, "long " * 100) for name in "abc"))

    async def answer(_name: str, _arguments: Any) -> Any:
        return {"content": [{"type": "text", "text": "here"}]}

    async def work() -> None:
        factory.answer = answer
        manager, _ = manager_of(guild, factory)
        manager.load_roster()
        catalog = Catalog([guild_capability(manager, budget=100)])
        assert [each.name for each in catalog.tools] == ["echo__a"]
        await manager.refresh_tool_caches()
        result = await catalog.call("echo__a", {}, Caller(may_read=lambda _path, _home: True))
        assert result.text == "here"
        await manager.shutdown()

    asyncio.run(work())


def test_a_memory_whose_tools_are_none_is_ignored(guild: Path, memory: Memory, tmp_path: Path) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a")), memory=memory))
    file = next((tmp_path / "state").glob("echo-*.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "approved": [{"name": "a"}]}))

    manager = opened(guild, FakeFactory(), memory)

    assert [each.name for each in Catalog([guild_capability(manager)]).tools] == ["echo__a"]


@pytest.mark.parametrize("hold", [True, False])
def test_a_refresh_writes_over_a_damaged_memory_unless_changes_are_held(
    guild: Path, memory: Memory, tmp_path: Path, hold: bool
) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a")), memory=memory))
    file = next((tmp_path / "state").glob("echo-*.json"))
    approved, damaged = file.read_bytes(), file.read_bytes()[:-1]
    file.write_bytes(damaged)

    manager = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Changed")), memory=memory, hold=hold))

    assert (file.read_bytes() == damaged) is hold
    assert manager.roster["echo"].tools == ([] if hold else [tool("a", "Changed")])
    file.write_bytes(approved)
    assert opened(guild, FakeFactory(), memory, hold=True).roster["echo"].tools == [tool("a")]

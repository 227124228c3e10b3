"""The twenty requirements of MCP tool caching, REQ-MCP-TOOL-1 to 20, and its five custom validations, one by one."""

import asyncio
import json
import logging
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import (
    FakeFactory,
    FakeServer,
    is_alive,
    kinds,
    make_member,
    manager_of,
    read_cache,
    refreshed,
    tool,
    write_cache,
)
from tests.processes import RawServer, run_context
from tests.waiting import until, wait_until

from contexthall.core.catalog import Caller, Catalog
from contexthall.core.errors import MemberError, UnknownToolError
from contexthall.guild.capability import guild_capability
from contexthall.guild.lists.memory import Memory
from contexthall.guild.lists.naming import tool_names
from contexthall.guild.manager import Event, MCPManager, Member, discover_guild_members

FOREVER = 1e9
"""Seconds, far more than this machine has been up: what stops then is not stopped for idleness."""


async def refresh(guild: Path, factory: FakeFactory) -> MCPManager:
    manager, _ = manager_of(guild, factory)
    await manager.initialize_roster()
    await manager.refresh_tool_caches()
    await manager.shutdown()
    return manager


def test_req_1_the_cache_stands_in_the_members_directory(guild: Path) -> None:
    """REQ-MCP-TOOL-1."""
    echo = make_member(guild, "echo")
    nested = make_member(guild / "collection", "nested")
    asyncio.run(refresh(guild, FakeFactory(tool("a"))))
    assert (echo / "tools-cache.json").is_file()
    assert (nested / "tools-cache.json").is_file()


def test_req_2_the_cache_has_version_tools_and_the_time(guild: Path) -> None:
    """REQ-MCP-TOOL-2."""
    echo = make_member(guild, "echo", version="3.2.1")
    asyncio.run(refresh(guild, FakeFactory(tool("a"))))
    cache = read_cache(echo)
    assert list(cache) == ["version", "tools", "cachedAt"]
    assert cache["version"] == "3.2.1"
    offset = datetime.fromisoformat(cache["cachedAt"]).utcoffset()
    assert offset is not None
    assert offset.total_seconds() == 0


def test_req_3_a_cached_tool_has_name_description_and_schema_and_whatever_else_it_had(guild: Path) -> None:
    """REQ-MCP-TOOL-3."""
    echo = make_member(guild, "echo")
    bare = {"name": "bare", "inputSchema": {"type": "object"}}
    rich = tool("rich", "Does much", title="Rich", outputSchema={"type": "object"}, annotations={"readOnlyHint": True})
    asyncio.run(refresh(guild, FakeFactory(bare, rich)))
    assert read_cache(echo)["tools"] == [{**bare, "description": ""}, rich]


def test_req_4_and_5_cached_tools_are_there_before_any_server_starts(guild: Path) -> None:
    """REQ-MCP-TOOL-4, REQ-MCP-TOOL-5, and the first custom validation."""
    write_cache(make_member(guild, "echo"), tool("a", "From the cache"))
    make_member(guild, "empty")
    factory = FakeFactory(tool("other"))
    manager, events = manager_of(guild, factory)
    asyncio.run(manager.initialize_roster())
    assert manager.roster["echo"].tools == [tool("a", "From the cache")]
    assert manager.roster["empty"].tools == []
    assert factory.started == []
    assert events == []


def test_req_6_and_8_the_refresh_runs_behind_a_roster_that_is_usable_at_once(guild: Path) -> None:
    """REQ-MCP-TOOL-6, REQ-MCP-TOOL-8."""
    for name in ("a", "b"):
        write_cache(make_member(guild, name), tool("old"))
    factory = FakeFactory(tool("new"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        while len(factory.started) < 2:
            await asyncio.sleep(0.001)
        assert manager.roster["a"].tools == [tool("old")]
        factory.gate.set()
        await refreshing
        assert [member.tools for member in manager.roster.values()] == [[tool("new")], [tool("new")]]
        await manager.shutdown()

    asyncio.run(work())
    assert sorted(factory.started) == ["a", "b"]


def test_req_7_a_refresh_lists_the_tools_writes_them_and_stops_the_server(guild: Path) -> None:
    """REQ-MCP-TOOL-7."""
    echo = make_member(guild, "echo")
    factory = FakeFactory(tool("a"), tool("b"))
    manager = asyncio.run(refresh(guild, factory))
    assert [each["name"] for each in read_cache(echo)["tools"]] == ["a", "b"]
    assert [server.was_stopped for server in factory.servers] == [True]
    assert manager.roster["echo"].status == "disconnected"


def test_req_7_a_server_that_was_started_for_a_refresh_is_stopped_though_the_hall_goes_on(guild: Path) -> None:
    """REQ-MCP-TOOL-7: by the refresh itself, not by the end of the hall."""
    make_member(guild, "echo", idleSeconds=FOREVER)
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, events = manager_of(guild, factory)
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        await until(lambda: factory.servers[0].was_stopped)
        await until(lambda: manager.roster["echo"].status == "disconnected")
        assert kinds(events) == [("started", "echo"), ("tools_updated", "echo"), ("stopped", "echo")]
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_req_7_a_server_whose_list_cannot_be_had_is_stopped_as_well(guild: Path) -> None:
    """REQ-MCP-TOOL-7."""
    make_member(guild, "echo", idleSeconds=FOREVER)
    factory = FakeFactory()
    factory.tools = None  # type: ignore[assignment] # nothing that could be a list

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        await until(lambda: factory.servers[0].was_stopped)
        assert manager.roster["echo"].status == "error"
        await manager.shutdown()

    asyncio.run(work())


def test_req_7_a_server_that_was_called_meanwhile_goes_on(guild: Path) -> None:
    """REQ-MCP-TOOL-7: whoever called it may call again; only idleness stops it."""
    make_member(guild, "echo", idleSeconds=FOREVER)
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        await until(lambda: factory.started == ["echo"])
        calling = asyncio.create_task(manager.invoke_tool("echo", "a", {"n": 1}))
        await asyncio.sleep(0)
        factory.gate.set()
        await refreshing
        assert (await calling)["with"] == {"n": 1}
        await asyncio.sleep(0.05)  # in which it would have been stopped
        assert not factory.servers[0].was_stopped
        assert manager.roster["echo"].status == "connected"
        assert (await manager.invoke_tool("echo", "a", {"n": 2}))["with"] == {"n": 2}
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_req_7_a_real_server_that_was_started_for_a_refresh_is_stopped_though_the_hall_goes_on(
    guild: Path, tmp_path: Path
) -> None:
    """REQ-MCP-TOOL-7, through the whole hall: one that nobody calls is gone, one that is called stays."""
    unused, used = tmp_path / "unused", tmp_path / "used"
    make_member(guild, "unused", "--record", str(unused), idleSeconds=FOREVER)
    write_cache(make_member(guild, "used", "--record", str(used), idleSeconds=FOREVER), tool("echo"))
    with RawServer("--guild", str(guild), "--guild-refresh", "all", cwd=tmp_path) as server:
        server.initialize()
        called = server.request(1, "tools/call", {"name": "used__echo", "arguments": {"text": "hi"}})
        assert not called["result"].get("isError")
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})  # which sets the refresh going
        wait_until(lambda: unused.exists() and "stopped" in unused.read_text())
        wait_until(lambda: (guild / "used" / "tools-cache.json").read_text().count("tool_0"))
        assert [line.split()[0] for line in unused.read_text().splitlines()] == ["started", "stopped"]
        assert [line.split()[0] for line in used.read_text().splitlines()] == ["started", "call"]
        started = {path: int(path.read_text().split()[1]) for path in (unused, used)}
        wait_until(lambda: not is_alive(started[unused]))
        assert is_alive(started[used])
        assert server.process.poll() is None


def test_req_9_and_10_a_cache_of_another_version_is_ignored(guild: Path) -> None:
    """REQ-MCP-TOOL-9, REQ-MCP-TOOL-10, and the second custom validation."""
    write_cache(make_member(guild, "echo", version="2.0.0"), tool("old"), version="1.0.0")
    factory = FakeFactory(tool("new"))
    manager, _ = manager_of(guild, factory)
    asyncio.run(manager.initialize_roster())
    echo = manager.roster["echo"]
    assert echo.tools == []
    assert echo.freshness.state == "missing"
    assert "1.0.0" in echo.freshness.reason
    assert "2.0.0" in echo.freshness.reason
    assert asyncio.run(refresh(guild, factory)).roster["echo"].tools == [tool("new")]


def test_req_11_no_cache_is_no_error_and_no_warning(guild: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-MCP-TOOL-11."""
    make_member(guild, "echo")
    manager, _ = manager_of(guild, FakeFactory())
    asyncio.run(manager.initialize_roster())
    assert manager.roster["echo"].tools == []
    assert caplog.records == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": "1.0.0"}',
        '{"version": "1.0.0", "tools": {}, "cachedAt": "2026-01-02T03:04:05Z"}',
        '{"version": "1.0.0", "tools": [], "cachedAt": 5}',
        '{"version": "1.0.0", "tools": [{"name": 5}], "cachedAt": "2026-01-02T03:04:05Z"}',
        '{"version": "1.0.0", "tools": [{"name": "a", "description": ""}], "cachedAt": "2026-01-02T03:04:05Z"}',
    ],
)
def test_req_11_and_17_a_malformed_cache_is_ignored_with_a_warning(
    guild: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-MCP-TOOL-11, REQ-MCP-TOOL-17, and the third custom validation."""
    echo = make_member(guild, "echo")
    (echo / "tools-cache.json").write_text(text)
    write_cache(make_member(guild, "other"), tool("a"))
    manager, _ = manager_of(guild, FakeFactory(tool("new")))
    asyncio.run(manager.initialize_roster())
    assert manager.roster["echo"].tools == []
    assert manager.roster["echo"].status == "disconnected"
    assert manager.roster["other"].tools == [tool("a")]
    assert [(record.levelno, "echo" in record.message) for record in caplog.records] == [(logging.WARNING, True)]
    assert asyncio.run(refresh(guild, FakeFactory(tool("new")))).roster["echo"].tools == [tool("new")]


def test_req_12_a_reader_never_sees_half_a_cache(guild: Path) -> None:
    """REQ-MCP-TOOL-12: what is at the name is the old file or the new one, and nothing is left beside it."""
    echo = make_member(guild, "echo")
    write_cache(echo, tool("old"))
    reader = (echo / "tools-cache.json").open()
    asyncio.run(refresh(guild, FakeFactory(tool("new"))))
    with reader:  # the file that was opened before has not been touched: another one has its name now
        assert json.load(reader)["tools"] == [tool("old")]
    assert read_cache(echo)["tools"] == [tool("new")]
    assert sorted(os.listdir(echo)) == ["plugin.json", "tools-cache.json"]


def test_req_13_caches_can_stand_elsewhere(guild: Path, tmp_path: Path) -> None:
    """REQ-MCP-TOOL-13."""
    echo = make_member(guild, "echo")
    nested = make_member(guild / "collection", "nested")
    elsewhere = tmp_path / "elsewhere"

    async def work() -> None:
        manager = MCPManager(discover_guild_members(str(guild)), FakeFactory(tool("a")), str(elsewhere))
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        await manager.shutdown()

    asyncio.run(work())
    assert read_cache(elsewhere / "echo")["tools"] == [tool("a")]
    assert read_cache(elsewhere / "collection" / "nested")["tools"] == [tool("a")]
    assert not (echo / "tools-cache.json").exists()
    assert not (nested / "tools-cache.json").exists()
    manager = MCPManager(discover_guild_members(str(guild)), FakeFactory(), cache_dir=str(elsewhere))
    asyncio.run(manager.initialize_roster())
    assert manager.roster["nested"].tools == [tool("a")]


def test_req_14_15_and_16_a_refresh_updates_files_members_and_listeners(guild: Path) -> None:
    """REQ-MCP-TOOL-14, REQ-MCP-TOOL-15, REQ-MCP-TOOL-16, and the fourth custom validation."""
    directories = [make_member(guild, name) for name in ("a", "b", "c")]
    seen_on_disk: dict[str, bool] = {}

    def look(event: Event) -> None:
        if event.kind == "tools_updated":
            seen_on_disk[event.member] = (guild / event.member / "tools-cache.json").exists()

    async def work() -> None:
        manager, events = manager_of(guild, FakeFactory(tool("new")))
        await manager.initialize_roster()
        manager.subscribe(look)
        await manager.refresh_tool_caches()
        await manager.shutdown()
        assert [member.tools for member in manager.roster.values()] == [[tool("new")]] * 3
        updates = [event for event in events if event.kind == "tools_updated"]
        assert sorted(event.member for event in updates) == ["a", "b", "c"]
        assert all(event.tools == (tool("new"),) for event in updates)

    asyncio.run(work())
    assert seen_on_disk == {"a": True, "b": True, "c": True}
    assert all(read_cache(directory)["tools"] == [tool("new")] for directory in directories)


def test_req_16_the_event_is_sent_even_if_nothing_changed(guild: Path) -> None:
    """REQ-MCP-TOOL-16."""
    write_cache(make_member(guild, "echo"), tool("same"))

    async def work() -> list[tuple[str, str]]:
        manager, events = manager_of(guild, FakeFactory(tool("same")))
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        await manager.shutdown()
        return kinds(events)

    assert ("tools_updated", "echo") in asyncio.run(work())


@pytest.mark.usefixtures("bound_by_permissions")
def test_req_17_a_cache_that_may_not_be_read_is_ignored_with_a_warning(
    guild: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-MCP-TOOL-17."""
    echo = make_member(guild, "echo")
    write_cache(echo, tool("a"))
    (echo / "tools-cache.json").chmod(0)
    manager, _ = manager_of(guild, FakeFactory())
    asyncio.run(manager.initialize_roster())
    assert manager.roster["echo"].tools == []
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.usefixtures("bound_by_permissions")
def test_req_18_a_cache_that_cannot_be_written_is_logged_and_harmless(
    guild: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-MCP-TOOL-18."""
    echo = make_member(guild, "echo")
    echo.chmod(0o555)

    async def work() -> None:
        manager, events = manager_of(guild, FakeFactory(tool("new")))
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        assert manager.roster["echo"].tools == [tool("new")]
        assert manager.roster["echo"].status != "error"
        assert ("tools_updated", "echo") in kinds(events)
        assert await manager.invoke_tool("echo", "new", {}) == {"called": "new", "with": {}}
        await manager.shutdown()

    asyncio.run(work())
    assert logging.ERROR in [record.levelno for record in caplog.records]
    echo.chmod(0o755)


def test_req_19_a_server_that_fails_to_start_has_status_error_and_keeps_its_tools(guild: Path) -> None:
    """REQ-MCP-TOOL-19."""
    echo = make_member(guild, "echo")
    write_cache(echo, tool("old"))
    factory = FakeFactory()
    factory.failure = RuntimeError("no licence")

    async def work() -> None:
        manager, events = manager_of(guild, factory)
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        member = manager.roster["echo"]
        assert (member.status, member.tools) == ("error", [tool("old")])
        assert "no licence" in member.error
        assert kinds(events) == [("error", "echo")]
        await manager.shutdown()

    asyncio.run(work())
    assert read_cache(echo)["tools"] == [tool("old")]


def test_req_20_tools_can_be_used_whatever_is_wrong_with_the_cache(guild: Path) -> None:
    """REQ-MCP-TOOL-20."""
    echo = make_member(guild, "echo")
    (echo / "tools-cache.json").write_text("rubbish")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        assert await manager.invoke_tool("echo", "a", {"x": 1}) == {"called": "a", "with": {"x": 1}}
        assert manager.roster["echo"].status == "connected"
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_req_20_a_failed_refresh_does_not_keep_the_next_call_from_trying(guild: Path) -> None:
    """REQ-MCP-TOOL-20."""
    make_member(guild, "echo")
    factory = FakeFactory(tool("a"))
    factory.failure = RuntimeError("not now")

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        await manager.refresh_tool_caches()
        with pytest.raises(MemberError):
            await manager.invoke_tool("echo", "a", {})
        factory.failure = None
        assert await manager.invoke_tool("echo", "a", {}) == {"called": "a", "with": {}}
        await manager.shutdown()

    asyncio.run(work())


def without_list(guild: Path, how: str, *flags: str, name: str = "echo") -> Path:
    """Make a member whose list cannot be used."""
    directory = make_member(guild, name, *flags)
    if how == "corrupt":
        (directory / "tools-cache.json").write_text("rubbish")
    if how == "of another version":
        write_cache(directory, tool("echo"), version="0.9.0")
    return directory


WITHOUT_LIST = ["missing", "corrupt", "of another version"]


@pytest.mark.parametrize("how", WITHOUT_LIST)
def test_req_20_an_agent_can_call_a_tool_whatever_is_wrong_with_the_cache(
    guild: Path, tmp_path: Path, how: str
) -> None:
    """REQ-MCP-TOOL-20, for an agent: the call starts the member, takes its list, and is answered."""
    record = tmp_path / "record"
    echo = without_list(guild, how, "--record", str(record))
    with RawServer("--guild", str(guild), "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        called = server.request_whatever_is_told(1, "tools/call", {"name": "echo__echo", "arguments": {"text": "hi"}})
        assert called["result"] == {"content": [{"type": "text", "text": '{"text": "hi"}'}]}
        assert [each["name"] for each in read_cache(echo)["tools"]] == ["tool_0", "echo"]
        unknown = server.request_whatever_is_told(2, "tools/call", {"name": "echo__other", "arguments": {}})
        assert unknown["error"] == {"code": -32602, "message": "Unknown tool: echo__other"}
        names = [each["name"] for each in server.request(3, "tools/list")["result"]["tools"]]
        assert "echo__echo" in names
        server.close_input()
        assert server.wait() == 0
    assert [line.split()[0] for line in record.read_text().splitlines()] == ["started", "call", "stopped"]


@pytest.mark.parametrize("how", WITHOUT_LIST)
def test_req_20_context_call_can_call_a_tool_whatever_is_wrong_with_the_cache(
    guild: Path, tmp_path: Path, how: str
) -> None:
    """REQ-MCP-TOOL-20, for a script: what is typed is read by the schema that the member has."""
    record = tmp_path / "record"
    without_list(guild, how, "--record", str(record))
    called = run_context("call", "echo__echo", "--arg", "text=5", "--guild", str(guild), cwd=tmp_path)
    assert called.stdout == b'{"text": "5"}\n'
    assert [line.split()[0] for line in record.read_text().splitlines()] == ["started", "call", "stopped"]


def test_req_20_a_tool_that_the_fresh_list_lacks_is_unknown(guild: Path, tmp_path: Path) -> None:
    """REQ-MCP-TOOL-20."""
    without_list(guild, "corrupt")
    called = run_context("call", "echo__other", "--guild", str(guild), cwd=tmp_path)
    assert called.returncode == 1
    assert b"error[usage]: Unknown tool: 'echo__other'" in called.stderr


def test_req_20_a_member_that_cannot_be_asked_fails_the_call_and_is_named(guild: Path, tmp_path: Path) -> None:
    """REQ-MCP-TOOL-20: nobody knows whether it has the tool, so it is the member that failed."""
    record = tmp_path / "record"
    without_list(guild, "corrupt", "--exit", "3", "--record", str(record))
    called = run_context("call", "echo__echo", "--guild", str(guild), cwd=tmp_path)
    assert called.returncode == 9
    assert called.stderr.splitlines()[-1] == b"echo: the server ended with exit code 3 before it answered initialize"
    assert record.read_text().count("started") == 1


def catalog_of(manager: MCPManager, **offer: Any) -> Catalog:
    return Catalog([guild_capability(manager, **offer)])


CALLER = Caller(may_read=lambda _path, _home: True)


def test_req_20_however_many_call_at_once_the_server_starts_once_and_is_asked_once(guild: Path) -> None:
    """REQ-MCP-TOOL-20."""
    without_list(guild, "corrupt")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, events = manager_of(guild, factory)
        await manager.initialize_roster()
        catalog = catalog_of(manager)
        results = await asyncio.gather(*(catalog.call("echo__a", {"x": x}, CALLER) for x in range(5)))
        assert [result.whole for result in results] == [{"called": "a", "with": {"x": x}} for x in range(5)]
        assert kinds(events) == [("started", "echo"), ("tools_updated", "echo")]
        assert not factory.servers[0].was_stopped
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_req_20_no_call_waits_for_the_refresh_of_others(guild: Path) -> None:
    """REQ-MCP-TOOL-20: while four starts hang, and this member waits for its turn, it can be called."""
    for name in ("a", "b", "c", "d"):
        make_member(guild, name)
    without_list(guild, "corrupt", name="z")
    factory = FakeFactory(tool("t"))
    hanging = asyncio.Event()

    class Slow(FakeFactory):
        async def spawn(self, member: Member) -> FakeServer:
            if member.name != "z":
                await hanging.wait()
            return await factory.spawn(member)

    async def work() -> None:
        manager, _ = manager_of(guild, Slow())
        await manager.initialize_roster()
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            result = await catalog_of(manager).call("z__t", {}, CALLER)
        assert result.whole == {"called": "t", "with": {}}
        assert not refreshing.done()
        hanging.set()
        await refreshing
        await manager.shutdown()

    asyncio.run(work())


def test_req_20_holds_for_names_with_a_hash(guild: Path) -> None:
    """REQ-MCP-TOOL-20."""
    long, odd = "m" * 90, "My Files"
    for member in (long, odd, "other"):
        without_list(guild, "corrupt", name=member)
    names = tool_names([(long, "t" * 90), (odd, "read.file"), (odd, "gone.away")])
    factory = FakeFactory(tool("t" * 90), tool("read.file"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.initialize_roster()
        catalog = catalog_of(manager)
        result = await catalog.call(names[odd, "read.file"], {}, CALLER)
        assert result.whole == {"called": "read.file", "with": {}}
        assert factory.started == [odd]
        with pytest.raises(UnknownToolError):
            await catalog.call(names[odd, "gone.away"], {}, CALLER)
        result = await catalog.call(names[long, "t" * 90], {}, CALLER)
        assert result.whole == {"called": "t" * 90, "with": {}}
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == [odd, long]


@pytest.mark.parametrize("through", ["guild_call_tool", "mail__send"])
def test_req_20_holds_where_tools_are_found_and_not_listed(guild: Path, through: str) -> None:
    """REQ-MCP-TOOL-20."""
    write_cache(make_member(guild, "other"), tool("a", "A tool that costs something"))
    without_list(guild, "corrupt", name="mail")
    named = {"name": "mail__send", "arguments": {"to": "you"}} if through == "guild_call_tool" else {"to": "you"}

    async def work() -> None:
        manager, _ = manager_of(guild, FakeFactory(tool("send")))
        await manager.initialize_roster()
        result = await catalog_of(manager, budget=0).call(through, named, CALLER)
        assert result.whole == {"called": "send", "with": {"to": "you"}}
        await manager.shutdown()

    asyncio.run(work())


def test_req_20_what_is_held_is_not_reached_this_way_either(guild: Path, memory: Memory) -> None:
    """REQ-MCP-TOOL-20: trust as always."""
    echo = make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a")), memory=memory))
    (echo / "tools-cache.json").write_text("rubbish")

    async def work() -> None:
        manager, _ = manager_of(guild, FakeFactory(tool("a"), tool("b")), memory=memory, hold=True)
        await manager.initialize_roster()
        catalog = catalog_of(manager)
        with pytest.raises(UnknownToolError):
            await catalog.call("echo__b", {}, CALLER)
        assert (await catalog.call("echo__a", {}, CALLER)).whole == {"called": "a", "with": {}}
        await manager.shutdown()

    asyncio.run(work())


def test_an_agent_invokes_a_cached_tool_of_a_server_that_is_not_running(guild: Path, tmp_path: Path) -> None:
    """The fifth custom validation, through the whole hall and with a real server."""
    record = tmp_path / "record"
    echo = make_member(guild, "echo", "--record", str(record))
    write_cache(echo, tool("echo", "Gives back"))
    with RawServer("--guild", str(guild), "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        names = [each["name"] for each in server.request(1, "tools/list")["result"]["tools"]]
        assert "echo__echo" in names
        assert not record.exists()
        called = server.request(2, "tools/call", {"name": "echo__echo", "arguments": {"text": "hi"}})["result"]
        assert called == {"content": [{"type": "text", "text": '{"text": "hi"}'}]}
        assert record.read_text().startswith("started ")
        server.close_input()
        assert server.wait() == 0
    assert "stopped " in record.read_text()

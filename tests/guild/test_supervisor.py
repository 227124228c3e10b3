"""The states of a server: what each event makes of each."""

import asyncio
from pathlib import Path

import pytest
from tests.guild.making import FakeFactory, make_member, manager_of, tool
from tests.waiting import until

from contexthall.core import limits
from contexthall.core.errors import MemberError
from contexthall.guild.manager import MCPManager
from contexthall.guild.servers.supervisor import ServerState


def state_in(manager: MCPManager) -> ServerState:
    return manager._supervisors["echo"].state


def test_the_states_from_the_first_call_to_the_end(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        assert state_in(manager) is ServerState.STOPPED
        calling = asyncio.create_task(manager.invoke_tool("echo", "a", {}))
        await until(lambda: factory.started)
        assert state_in(manager) is ServerState.STARTING
        factory.gate.set()
        await calling
        assert state_in(manager) is ServerState.RUNNING
        stopping = asyncio.create_task(manager.stop_server("echo"))
        await asyncio.sleep(0)
        assert state_in(manager) is ServerState.STOPPING
        await stopping
        assert state_in(manager) is ServerState.STOPPED
        await manager.shutdown()
        assert state_in(manager) is ServerState.CLOSED

    asyncio.run(work())


def test_a_server_that_fails_or_is_gone_has_failed_until_it_is_started_again(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        factory.failure = RuntimeError("no licence")
        with pytest.raises(MemberError):
            await manager.invoke_tool("echo", "a", {})
        assert state_in(manager) is ServerState.FAILED
        factory.failure = None
        await manager.invoke_tool("echo", "a", {})
        gone = factory.servers[0].on_gone
        assert gone is not None
        gone("it ended", "")
        assert state_in(manager) is ServerState.FAILED
        await manager.invoke_tool("echo", "a", {})
        gone("it ended", "")  # says the one before again
        assert state_in(manager) is ServerState.RUNNING
        await manager.shutdown()

    asyncio.run(work())


def test_a_call_while_the_server_stops_starts_it_once_it_has(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.invoke_tool("echo", "a", {})
        stopping = asyncio.create_task(manager.stop_server("echo"))
        await asyncio.sleep(0)
        await manager.invoke_tool("echo", "a", {})
        await stopping
        assert factory.servers[0].was_stopped
        assert state_in(manager) is ServerState.RUNNING
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]


def test_people_are_told_of_a_start_that_takes_long(guild: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_member(guild, "echo", command="npx")
    monkeypatch.setattr(limits, "SLOW_START_SECONDS", 0.01)
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, events = manager_of(guild, factory)
        calling = asyncio.create_task(manager.invoke_tool("echo", "a", {}))
        await until(lambda: len(events) > 1)
        assert {each.kind for each in events} == {"starting"}
        assert events[0].progress == "it has been starting for 0 s; a first start may download it"
        assert manager.view("echo").progress
        factory.gate.set()
        await calling
        assert manager.view("echo").progress == ""
        await manager.shutdown()

    asyncio.run(work())

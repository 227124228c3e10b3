"""What the manager promises beyond the requirements: who starts, who waits, who stops, and who is trusted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import FakeFactory, kinds, make_member, manager_of, refreshed, tool, write_cache
from tests.waiting import until

from contexthall.core.errors import MemberError, UnknownMemberError
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import ToolChange


def test_many_calls_at_once_start_one_server(guild: Path) -> None:
    for number in range(10):
        make_member(guild, f"member{number}")
    factory = FakeFactory()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        answers = await asyncio.gather(*(manager.invoke_tool("member3", "a", {"n": n}) for n in range(33)))
        assert [answer["with"]["n"] for answer in answers] == list(range(33))
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["member3"]


def test_calls_on_one_member_run_side_by_side(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        both = asyncio.Barrier(2)

        async def answer(_name: str, arguments: Any) -> Any:
            await both.wait()
            return arguments

        factory.answer = answer
        manager, _ = manager_of(guild, factory)
        answers = await asyncio.gather(*(manager.invoke_tool("echo", "a", {"n": n}) for n in range(2)))
        assert answers == [{"n": 0}, {"n": 1}]
        await manager.shutdown()

    asyncio.run(work())


def test_at_most_four_servers_start_at_a_time(guild: Path) -> None:
    for number in range(12):
        make_member(guild, f"member{number}")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        await until(lambda: factory.starting == 4)
        factory.gate.set()
        await refreshing
        assert (len(factory.started), factory.most_starting) == (12, 4)
        await manager.shutdown()

    asyncio.run(work())


def test_calls_to_many_members_start_at_most_four_at_a_time_too(guild: Path) -> None:
    for number in range(12):
        make_member(guild, f"member{number}")
    factory = FakeFactory()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await asyncio.gather(*(manager.invoke_tool(f"member{number}", "a", {}) for number in range(12)))
        assert (len(factory.started), factory.most_starting) == (12, 4)
        await manager.shutdown()

    asyncio.run(work())


def test_a_call_does_not_wait_for_a_refresh_that_hangs(guild: Path) -> None:
    for number in range(8):
        make_member(guild, f"member{number}")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        await until(lambda: len(factory.started) == 4)
        sleeping = next(name for name in manager.roster if name not in factory.started)
        gate, factory.gate = factory.gate, None
        assert await manager.invoke_tool(sleeping, "a", {}) == {"called": "a", "with": {}}
        gate.set()
        await refreshing
        await manager.shutdown()

    asyncio.run(work())


def test_a_server_that_was_called_during_its_refresh_is_not_stopped_after_it(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        refreshing = asyncio.create_task(manager.refresh_tool_caches())
        await until(lambda: factory.started)
        calling = asyncio.create_task(manager.invoke_tool("echo", "a", {}))
        await asyncio.sleep(0)
        factory.gate.set()
        await asyncio.gather(refreshing, calling)
        assert manager.roster["echo"].status == "connected"
        assert not factory.servers[0].was_stopped
        await manager.shutdown()
        assert factory.servers[0].was_stopped

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_an_idle_server_stops_and_starts_again_when_it_is_called(guild: Path) -> None:
    make_member(guild, "echo", idleSeconds=0.01)
    factory = FakeFactory()

    async def work() -> None:
        manager, events = manager_of(guild, factory)
        await manager.invoke_tool("echo", "a", {})
        await until(lambda: kinds(events) == [("started", "echo"), ("stopped", "echo")])
        assert manager.roster["echo"].status == "disconnected"
        await manager.invoke_tool("echo", "a", {})
        assert manager.roster["echo"].status == "connected"
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]


def test_a_server_is_not_idle_while_it_is_called(guild: Path) -> None:
    make_member(guild, "echo", idleSeconds=0.01)
    factory = FakeFactory()

    async def work() -> None:
        done = asyncio.Event()

        async def answer(name: str, _arguments: Any) -> Any:
            if name == "slow":
                await done.wait()
            return name

        factory.answer = answer
        manager, _ = manager_of(guild, factory)
        slow = asyncio.create_task(manager.invoke_tool("echo", "slow", {}))
        await manager.invoke_tool("echo", "quick", {})
        await asyncio.sleep(0.05)
        assert not factory.servers[0].was_stopped
        done.set()
        assert await slow == "slow"
        await until(lambda: factory.servers[0].was_stopped)
        await manager.shutdown()

    asyncio.run(work())


def test_whoever_gives_up_waiting_for_a_start_gives_up_alone(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        factory.gate = asyncio.Event()
        manager, _ = manager_of(guild, factory)
        impatient = asyncio.create_task(manager.invoke_tool("echo", "a", {}))
        patient = asyncio.create_task(manager.invoke_tool("echo", "b", {}))
        await until(lambda: factory.started)
        impatient.cancel()
        factory.gate.set()
        assert await patient == {"called": "b", "with": {}}
        assert impatient.cancelled()
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_a_crash_is_an_error_and_the_next_call_starts_anew(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        manager, events = manager_of(guild, factory)
        await manager.invoke_tool("echo", "a", {})
        gone = factory.servers[0].on_gone
        assert gone is not None
        gone("the server ended with exit code 3", "its last words: no memory")
        member = manager.roster["echo"]
        assert member.status == "error"
        assert "exit code 3" in member.error
        assert "no memory" in member.error
        assert kinds(events)[-1] == ("error", "echo")
        await manager.invoke_tool("echo", "a", {})
        assert (member.status, member.error) == ("connected", "")
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]


def test_a_member_that_keeps_failing_is_tried_ever_less_often(guild: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.core.limits.FIRST_BACK_OFF_SECONDS", 3.0)
    make_member(guild, "echo")
    factory = FakeFactory()
    factory.failure = RuntimeError("no licence")

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        for _ in range(2):  # the second attempt is made at once
            with pytest.raises(MemberError, match="could not be started"):
                await manager.invoke_tool("echo", "a", {})
        with pytest.raises(MemberError, match=r"failed 2 times and is tried again in 3 s"):
            await manager.invoke_tool("echo", "a", {})
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]


def test_a_member_that_has_failed_five_thousand_times_fails_in_the_same_words(
    guild: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contexthall.core.limits.LAST_BACK_OFF_SECONDS", 0.0)
    make_member(guild, "echo")
    factory = FakeFactory()
    factory.failure = RuntimeError("no licence")

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        with pytest.raises(MemberError, match="could not be started"):
            await manager.invoke_tool("echo", "a", {})
        manager._supervisors["echo"]._failures = 5000
        with pytest.raises(MemberError, match="could not be started"):
            await manager.invoke_tool("echo", "a", {})
        member = manager.roster["echo"]
        assert (member.status, member.error) == ("error", "the server could not be started (no licence)")
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]


def test_a_server_that_says_that_its_tools_changed_is_asked_again(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.invoke_tool("echo", "a", {})
        server = factory.servers[0]
        server.tools = [tool("a"), tool("b")]
        assert server.on_tools_changed is not None
        server.on_tools_changed()
        server.on_tools_changed()
        await until(lambda: len(manager.roster["echo"].tools) == 2)
        assert not server.was_stopped
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_one_that_says_so_at_every_start_is_not_started_over_and_over(
    guild: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contexthall.core.limits.ANNOUNCEMENT_SECONDS", 0.001)
    make_member(guild, "echo")

    class Eager(FakeFactory):
        async def spawn(self, member: Any) -> Any:
            server = await super().spawn(member)
            listing = server.list_tools

            async def list_tools() -> Any:
                assert server.on_tools_changed is not None
                server.on_tools_changed()
                return await listing()

            server.list_tools = list_tools  # type: ignore[method-assign]
            return server

    factory = Eager(tool("a"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.refresh_tool_caches()
        await asyncio.sleep(0.05)
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo"]


def test_a_refresh_can_leave_out_those_that_are_fresh(guild: Path, memory: Memory) -> None:
    make_member(guild, "fresh")
    outdated = make_member(guild, "outdated")
    (outdated / "server.py").write_text("1")
    factory = FakeFactory(tool("a"))

    async def work() -> None:
        manager, _ = manager_of(guild, factory, memory=memory)
        await manager.refresh_tool_caches()
        (outdated / "server.py").write_text("2")
        make_member(guild, "missing")
        again, _ = manager_of(guild, factory, memory=memory)
        await again.initialize_roster()
        assert again.roster["outdated"].tools == [tool("a")]
        factory.started.clear()
        await again.refresh_tool_caches(only_stale=True)
        assert sorted(factory.started) == ["missing", "outdated"]
        await manager.shutdown()
        await again.shutdown()

    asyncio.run(work())


def test_those_whose_list_is_not_to_be_relied_on_are_asked_first(guild: Path) -> None:
    for number in range(8):
        write_cache(make_member(guild, f"member{number}"), tool("a"))
    make_member(guild, "the-last-one")
    factory = FakeFactory(tool("a"))

    asyncio.run(refreshed(guild, factory))
    assert "the-last-one" in factory.started[:4]


def test_files_or_a_launch_spec_that_changed_make_a_list_outdated_and_still_served(guild: Path, memory: Memory) -> None:
    by_file = make_member(guild, "by-file")
    (by_file / "server.py").write_text("1")
    make_member(guild, "by-spec")
    asyncio.run(refreshed(guild, FakeFactory(tool("a")), memory=memory))
    (by_file / "server.py").write_text("2")
    make_member(guild, "by-spec", "--tools", "3")
    manager, _ = manager_of(guild, FakeFactory(), memory=memory)
    manager.load_roster()
    manager.look_at_files()
    states = {view.name: view.freshness for view in manager.snapshot()}
    assert states["by-file"].state == states["by-spec"].state == "outdated"
    assert states["by-file"].reason != states["by-spec"].reason
    assert [member.tools for member in manager.roster.values()] == [[tool("a")], [tool("a")]]


def test_a_definition_that_changed_without_a_new_version_is_told(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory))
    manager = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads, and tells others")), memory=memory))
    view = manager.view("echo")
    assert view.changes == (ToolChange("a", "changed", ("description",)),)
    assert view.tools == [tool("a", "Reads, and tells others")]
    assert "Reads, and tells others" in manager.difference("echo")
    assert manager.approve("echo") == view.changes
    assert manager.view("echo").changes == ()


def test_with_hold_the_approved_definition_stays_in_force_until_somebody_approves(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    before = FakeFactory(tool("a", "Reads"), tool("gone"))
    after = FakeFactory(tool("a", "Reads, and tells others"), tool("new"))
    asyncio.run(refreshed(guild, before, memory=memory, hold=True))
    view = asyncio.run(refreshed(guild, after, memory=memory, hold=True)).view("echo")
    assert view.is_held
    assert view.tools == [tool("a", "Reads")]
    assert {change.tool: change.kind for change in view.changes} == {"a": "changed", "gone": "removed", "new": "added"}
    again, _ = manager_of(guild, FakeFactory(), memory=memory, hold=True)
    again.load_roster()
    assert again.roster["echo"].tools == [tool("a", "Reads")]
    again.approve("echo")
    assert again.roster["echo"].tools == [tool("a", "Reads, and tells others"), tool("new")]
    assert not again.roster["echo"].is_held


def test_a_new_version_is_trusted(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory))
    make_member(guild, "echo", version="2.0.0")
    view = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Writes")), memory=memory)).view("echo")
    assert (view.changes, view.tools) == ((), [tool("a", "Writes")])


def test_where_definitions_are_held_those_of_a_new_version_are_too(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory, hold=True))
    make_member(guild, "echo", version="2.0.0")
    later = FakeFactory(tool("a", "Writes"), tool("b"))
    view = asyncio.run(refreshed(guild, later, memory=memory, hold=True)).view("echo")
    assert view.is_held
    assert view.tools == [tool("a", "Reads")]
    again, _ = manager_of(guild, FakeFactory(), memory=memory, hold=True)
    again.load_roster()
    assert again.roster["echo"].tools == [tool("a", "Reads")]
    again.approve("echo")
    assert again.roster["echo"].tools == [tool("a", "Writes"), tool("b")]


def test_where_definitions_are_held_a_member_cannot_shake_that_off_by_another_name(guild: Path, memory: Memory) -> None:
    echo = make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory, hold=True))
    manifest = json.loads((echo / "plugin.json").read_text())
    (echo / "plugin.json").write_text(json.dumps({**manifest, "name": "reborn"}))
    view = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Writes")), memory=memory, hold=True)).view("reborn")
    assert (view.is_held, view.tools) == (True, [tool("a", "Reads")])


def test_what_is_held_stays_held_though_somebody_refreshes_without_holding(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory, hold=True))
    make_member(guild, "echo", version="2.0.0")
    view = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Writes")), memory=memory)).view("echo")
    assert (view.changes, view.tools) == ((), [tool("a", "Writes")])
    held = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Writes")), memory=memory, hold=True)).view("echo")
    assert (held.is_held, held.tools) == (True, [tool("a", "Reads")])


def test_what_changes_after_a_new_version_is_flagged_again(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory))
    make_member(guild, "echo", version="2.0.0")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Writes")), memory=memory))
    manager = asyncio.run(refreshed(guild, FakeFactory(tool("a", "Deletes")), memory=memory))
    assert manager.view("echo").changes == (ToolChange("a", "changed", ("description",)),)
    assert '-  "description": "Writes"' in manager.difference("echo")
    manager.approve("echo")
    assert manager.view("echo").changes == ()


def test_a_tool_that_answers_only_as_a_task_is_left_out_and_named(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    kinds_of_task = [tool(kind, execution={"taskSupport": kind}) for kind in ("forbidden", "optional", "required")]
    factory = FakeFactory(*kinds_of_task)
    reason = 'tool "required" is left out: it can only be called as a task, which the hall does not pass on'
    for manager in (
        asyncio.run(refreshed(guild, factory, memory=memory)),
        manager_of(guild, factory, memory=memory)[0],
    ):
        manager.load_roster()
        view = manager.view("echo")
        assert [each["name"] for each in view.tools] == ["forbidden", "optional"]
        assert view.notes == (reason,)
        assert view.changes == ()


def test_a_cache_that_somebody_else_changed_is_flagged_too(guild: Path, memory: Memory) -> None:
    echo = make_member(guild, "echo")
    asyncio.run(refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory))
    write_cache(echo, tool("a", "Obeys somebody else"))
    manager, _ = manager_of(guild, FakeFactory(), memory=memory, hold=True)
    manager.load_roster()
    assert manager.roster["echo"].tools == [tool("a", "Reads")]
    assert manager.view("echo").changes == (ToolChange("a", "changed", ("description",)),)


def test_what_another_process_approves_is_heeded(guild: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.core.limits.LIST_POLL_SECONDS", 0.01)
    monkeypatch.setattr("contexthall.core.limits.FIRST_LIST_SECONDS", 0.0)
    make_member(guild, "echo")

    async def work() -> None:
        await refreshed(guild, FakeFactory(tool("a", "Reads")), memory=memory, hold=True)
        serving, events = manager_of(guild, FakeFactory(tool("a", "Writes")), memory=memory, hold=True)
        serving.load_roster()
        async with serving.running("all"):
            await until(lambda: serving.roster["echo"].is_held)
            other, _ = manager_of(guild, FakeFactory(), memory=memory, hold=True)
            other.load_roster()
            await asyncio.sleep(0.05)
            other.approve("echo")
            await until(lambda: serving.roster["echo"].tools == [tool("a", "Writes")])
        assert events[-1].kind in {"tools_updated", "stopped"}

    asyncio.run(work())


def test_an_unknown_member_is_named_with_those_there_are(guild: Path) -> None:
    make_member(guild, "echo")
    manager, _ = manager_of(guild, FakeFactory())
    with pytest.raises(UnknownMemberError, match="ecko") as raised:
        asyncio.run(manager.invoke_tool("ecko", "a", {}))
    assert "echo" in raised.value.hint


def test_a_listener_that_fails_harms_nobody(guild: Path) -> None:
    make_member(guild, "echo")

    async def work() -> None:
        manager, events = manager_of(guild, FakeFactory())

        def fail(_event: object) -> None:
            raise ValueError

        unsubscribe = manager.subscribe(fail)
        await manager.invoke_tool("echo", "a", {})
        unsubscribe()
        unsubscribe()
        await manager.shutdown()
        assert kinds(events) == [("started", "echo"), ("stopped", "echo")]

    asyncio.run(work())


def test_after_the_end_nothing_is_started(guild: Path) -> None:
    make_member(guild, "echo")
    factory = FakeFactory()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.shutdown()
        with pytest.raises(MemberError, match="closing"):
            await manager.invoke_tool("echo", "a", {})

    asyncio.run(work())
    assert factory.started == []


def test_plain_functions_do_as_well_for_a_factory(guild: Path) -> None:
    make_member(guild, "echo")

    class Plain:
        def spawn(self, _member: object) -> Any:
            return self

        def list_tools(self) -> Any:
            return [tool("a")]

        def invoke_tool(self, name: str, _arguments: Any) -> Any:
            return name

        def stop(self) -> Any:
            return None

    async def work() -> None:
        manager, _ = manager_of(guild, Plain())  # type: ignore[arg-type]
        await manager.refresh_tool_caches()
        assert manager.roster["echo"].tools == [tool("a")]
        assert await manager.invoke_tool("echo", "a", {}) == "a"
        await manager.shutdown()

    asyncio.run(work())


def test_how_a_member_failed_is_known_to_the_next_process(guild: Path, memory: Memory) -> None:
    make_member(guild, "echo")
    factory = FakeFactory(tool("a"))
    factory.failure = RuntimeError("no licence")

    def notes() -> tuple[str, ...]:
        manager, _ = manager_of(guild, FakeFactory(), memory=memory)
        manager.load_roster()
        manager.look_at_files()
        return manager.view("echo").notes

    asyncio.run(refreshed(guild, factory, memory=memory))
    assert [note.partition(": ")[2] for note in notes()] == ["the server could not be started (no licence)"]
    factory.failure = None
    asyncio.run(refreshed(guild, factory, memory=memory))
    assert notes() == ()


def test_a_server_that_is_gone_before_its_start_was_noted_is_not_taken_for_running(guild: Path) -> None:
    make_member(guild, "echo")

    class Hasty(FakeFactory):
        async def spawn(self, member: Any) -> Any:
            server = await super().spawn(member)
            if len(self.started) == 1:
                asyncio.get_running_loop().call_soon(lambda: server.on_gone and server.on_gone("it ended", ""))
            return server

    factory = Hasty()

    async def work() -> None:
        manager, _ = manager_of(guild, factory)
        await manager.invoke_tool("echo", "a", {})
        await until(lambda: manager.roster["echo"].status == "error")
        await manager.invoke_tool("echo", "a", {})
        await manager.shutdown()

    asyncio.run(work())
    assert factory.started == ["echo", "echo"]

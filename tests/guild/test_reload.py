"""Members come, go and change while the hall serves: noticed soon, once, and without harm to calls under way."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import FakeFactory, make_member, tool, write_cache
from tests.waiting import until

from contexthall.core import limits
from contexthall.core.catalog import Catalog, Signal
from contexthall.core.errors import UnknownMemberError
from contexthall.guild.capability import guild_capability
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import GuildWatch, MCPManager, Refresh
from contexthall.system.disk import Disk


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GUILD_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(limits, "LIST_ANSWER_SECONDS", 0.0)


class Served:
    """A guild that is served, what its agents are told, and its servers."""

    def __init__(self, guild: Path, memory: Memory, factory: FakeFactory) -> None:
        self.watch = GuildWatch(Disk(), str(guild), memory.knows)
        self.manager = MCPManager(self.watch.discover(), factory, memory=memory)
        self.manager.load_roster()
        self.catalog = Catalog([guild_capability(self.manager)])
        self.factory = factory
        self.changes = 0
        self.catalog.changed.subscribe(self._count)

    def _count(self) -> None:
        self.changes += 1

    @property
    def tools(self) -> list[str]:
        return sorted(each.name for each in self.catalog.tools)


@asynccontextmanager
async def serving(guild: Path, memory: Memory, refresh: Refresh = "never") -> AsyncIterator[Served]:
    served = Served(guild, memory, FakeFactory(tool("fresh")))
    listed = Signal()
    async with served.manager.running(refresh, listed, served.watch):
        listed.send()
        yield served


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await work()

    asyncio.run(bounded())


def test_a_new_member_offers_its_tools_and_starts_nothing(guild: Path, memory: Memory, tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(guild, memory) as served:
            write_cache(make_member(tmp_path, "echo"), tool("say"), tool("shout"))
            (tmp_path / "echo").rename(guild / "echo")
            await until(lambda: served.tools == ["echo__say", "echo__shout"])
            assert served.changes == 1
            assert served.factory.started == []
            assert await served.manager.invoke_tool("echo", "say", {}) == {"called": "say", "with": {}}

    run(work)


def test_an_added_member_without_a_list_is_refreshed_as_at_the_start(guild: Path, memory: Memory) -> None:
    async def work() -> None:
        async with serving(guild, memory, "all") as served:
            make_member(guild, "new")
            await until(lambda: served.tools == ["new__fresh"])
            assert served.changes == 1
            assert served.factory.started == ["new"]

    run(work)


def test_a_member_that_leaves_takes_its_tools_along_after_the_calls_under_way(guild: Path, memory: Memory) -> None:
    write_cache(make_member(guild, "echo"), tool("say"))
    write_cache(make_member(guild, "other"), tool("a"))

    async def work() -> None:
        async with serving(guild, memory) as served:
            called, answer = asyncio.Event(), asyncio.Event()
            served.factory.answer = waiting(called, answer)
            call = asyncio.create_task(served.manager.invoke_tool("echo", "say", {"n": 1}))
            await called.wait()
            shutil.rmtree(guild / "echo")
            await until(lambda: served.tools == ["other__a"])
            assert not served.factory.servers[0].was_stopped
            answer.set()
            assert await call == {"n": 1}
            await until(lambda: served.factory.servers[0].was_stopped)
            assert served.changes == 1
            with pytest.raises(UnknownMemberError):
                await served.manager.invoke_tool("echo", "say", {})

    run(work)


def test_calls_of_a_changed_member_finish_and_later_ones_reach_its_new_server(guild: Path, memory: Memory) -> None:
    write_cache(make_member(guild, "echo"), tool("say"))

    async def work() -> None:
        async with serving(guild, memory, "all") as served:
            await until(lambda: served.tools == ["echo__fresh"])
            before = served.changes
            called, answer = asyncio.Event(), asyncio.Event()
            served.factory.answer = waiting(called, answer)
            call = asyncio.create_task(served.manager.invoke_tool("echo", "fresh", {"n": 1}))
            await called.wait()
            old = served.factory.servers[-1]
            served.factory.tools, served.factory.answer = [tool("newer")], None
            edit(guild / "echo", version="2.0.0")
            await until(lambda: served.tools == ["echo__newer"])
            assert served.changes == before + 1
            assert await served.manager.invoke_tool("echo", "newer", {}) == {"called": "newer", "with": {}}
            answer.set()
            assert await call == {"n": 1}
            await until(lambda: old.was_stopped)

    run(work)


def test_other_words_in_a_manifest_leave_its_server_running(guild: Path, memory: Memory) -> None:
    directory = make_member(guild, "echo")
    write_cache(directory, tool("say"))

    async def work() -> None:
        async with serving(guild, memory) as served:
            await served.manager.invoke_tool("echo", "say", {})
            edit(directory, description="Says it again")
            await until(lambda: served.manager.view("echo").description == "Says it again")
            assert served.manager.view("echo").status == "connected"
            await served.manager.invoke_tool("echo", "say", {})
            assert served.factory.started == ["echo"]

    run(work)


def test_a_broken_manifest_is_an_error_until_it_is_mended(guild: Path, memory: Memory) -> None:
    directory = make_member(guild, "echo")
    write_cache(directory, tool("say"))
    whole = (directory / "plugin.json").read_bytes()

    async def work() -> None:
        async with serving(guild, memory) as served:
            (directory / "plugin.json").write_bytes(whole[:20])
            await until(lambda: served.manager.view("echo").status == "error")
            assert served.tools == []
            assert "JSON" in served.manager.view("echo").error
            (directory / "plugin.json").write_bytes(whole)
            await until(lambda: served.tools == ["echo__say"])
            assert served.manager.view("echo").status == "disconnected"

    run(work)


def test_a_directory_replaced_by_its_like_is_another_server(guild: Path, memory: Memory, tmp_path: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("say"))

    async def work() -> None:
        async with serving(guild, memory) as served:
            await served.manager.invoke_tool("echo", "say", {})
            shutil.copytree(guild / "echo", tmp_path / "copy")
            (guild / "echo").rename(tmp_path / "away")
            (tmp_path / "copy").rename(guild / "echo")
            await until(lambda: served.factory.servers[0].was_stopped)
            await served.manager.invoke_tool("echo", "say", {})
            assert served.factory.started == ["echo", "echo"]

    run(work)


def test_a_symlink_that_is_swapped_leads_to_another_member(guild: Path, memory: Memory, tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_cache(make_member(tmp_path, name), tool(name))
    (guild / "link").symlink_to(tmp_path / "first")

    async def work() -> None:
        async with serving(guild, memory) as served:
            assert served.tools == ["first__first"]
            (tmp_path / "link").symlink_to(tmp_path / "second")
            (tmp_path / "link").replace(guild / "link")
            await until(lambda: served.tools == ["second__second"])
            assert served.changes == 1

    run(work)


def test_a_directory_that_is_renamed_while_it_is_called_answers(guild: Path, memory: Memory) -> None:
    write_cache(make_member(guild, "echo"), tool("say"))

    async def work() -> None:
        async with serving(guild, memory) as served:
            called, answer = asyncio.Event(), asyncio.Event()
            served.factory.answer = waiting(called, answer)
            call = asyncio.create_task(served.manager.invoke_tool("echo", "say", {"n": 1}))
            await called.wait()
            (guild / "echo").rename(guild / "moved")
            await until(lambda: served.manager.view("echo").key == "moved")
            answer.set()
            assert await call == {"n": 1}
            assert (served.tools, served.changes) == (["echo__say"], 0)

    run(work)


def test_a_member_copied_piece_by_piece_comes_once_it_is_whole(guild: Path, memory: Memory, tmp_path: Path) -> None:
    whole = make_member(tmp_path, "echo")
    write_cache(whole, tool("say"))
    manifest = (whole / "plugin.json").read_bytes()

    async def work() -> None:
        async with serving(guild, memory) as served:
            (guild / "echo").mkdir()
            shutil.copy(whole / "tools-cache.json", guild / "echo")
            (guild / "echo" / "plugin.json").write_bytes(manifest[:10])
            await until(lambda: served.manager.roster)
            assert served.manager.view("echo").status == "error"
            with (guild / "echo" / "plugin.json").open("ab") as file:
                file.write(manifest[10:])
            await until(lambda: served.tools == ["echo__say"])
            assert served.changes == 1

    run(work)


def test_a_guild_that_is_gone_and_comes_back_is_noticed(guild: Path, memory: Memory, tmp_path: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("say"))

    async def work() -> None:
        async with serving(guild, memory) as served:
            os.rename(guild, tmp_path / "away")
            await until(lambda: not served.tools)
            os.rename(tmp_path / "away", guild)
            await until(lambda: served.tools == ["echo__say"])

    run(work)


def waiting(called: asyncio.Event, answer: asyncio.Event) -> Callable[[str, Any], Awaitable[Any]]:
    """Answer a call with its arguments, once that is allowed."""

    async def wait(_name: str, arguments: Any) -> Any:
        called.set()
        await answer.wait()
        return arguments

    return wait


def edit(directory: Path, **changes: Any) -> None:
    """Change a manifest atomically, as an editor does."""
    path = directory / "plugin.json"
    (directory / "new").write_text(json.dumps(json.loads(path.read_text()) | changes))
    os.replace(directory / "new", path)

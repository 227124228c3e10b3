"""Pages hear at once what happens to members; those that do not read are let go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message
from tests.faces.web.serving import HttpHall
from tests.guild.making import FakeFactory, make_member, manager_of, tool, write_cache

from contexthall import __version__
from contexthall.core import limits
from contexthall.faces.web.events import EventStreams
from contexthall.guild.manager import Event, MCPManager


class Page:
    """A reader of one stream, in memory."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.is_over = False
        self.may_write = anyio.Event()
        self.may_write.set()
        self.leaves = anyio.Event()
        self._heard = anyio.Event()

    async def send(self, message: Message) -> None:
        await self.may_write.wait()
        self.chunks.append(message.get("body", b""))
        self.is_over = message["type"] == "http.response.body" and not message.get("more_body")
        self._heard.set()

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def until(self, number: int) -> None:
        while len(self.chunks) < number:
            self._heard = anyio.Event()
            await self._heard.wait()


@asynccontextmanager
async def watching(streams: EventStreams, page: Page) -> AsyncIterator[anyio.Event]:
    """While this is entered, the page reads; the event tells that its stream is over."""
    over = anyio.Event()

    async def watch() -> None:
        await streams({"method": "GET", "headers": []}, page.receive, page.send)
        over.set()

    with anyio.fail_after(90):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            yield over
            tasks.cancel_scope.cancel()


def guild_of(tmp_path: Path) -> MCPManager:
    make_member(tmp_path, "zoo")
    manager, _ = manager_of(tmp_path, FakeFactory(tool("echo")))
    return manager


def listeners(manager: MCPManager) -> int:
    return len(manager._listeners)


@pytest.mark.anyio
async def test_a_page_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    manager, page = guild_of(tmp_path), Page()
    before = listeners(manager)
    async with watching(EventStreams(manager, str, version="1"), page) as over:
        await page.until(2)
        assert listeners(manager) == before + 1
        page.leaves.set()
        await over.wait()
    assert listeners(manager) == before


@pytest.mark.anyio
async def test_a_page_that_does_not_read_is_let_go_and_holds_up_nobody(tmp_path: Path) -> None:
    manager, stuck, reading = guild_of(tmp_path), Page(), Page()
    streams = EventStreams(manager, str, version="1")
    async with watching(streams, stuck) as over, watching(streams, reading) as not_over:
        await stuck.until(2)
        stuck.may_write = anyio.Event()
        for number in range(limits.WAITING_EVENTS + 2):
            manager.approve("zoo")
            await manager.refresh_tool_caches()
            await reading.until(number + 2)
        await over.wait()
        assert not not_over.is_set()
    await manager.shutdown()


@pytest.mark.anyio
async def test_a_quiet_stream_says_that_it_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEARTBEAT_SECONDS", 0.001)
    page = Page()
    async with watching(EventStreams(None, str, version="1"), page):
        await page.until(4)
    assert page.chunks[1] == b'event: hello\r\ndata: {"version":"1"}\r\n\r\n'
    assert page.chunks[2:4] == [b": still here\r\n\r\n"] * 2


@pytest.mark.anyio
async def test_when_the_hall_ends_every_stream_ends_as_it_should(tmp_path: Path) -> None:
    manager, pages = guild_of(tmp_path), [Page(), Page()]
    streams = EventStreams(manager, str, version="1")
    async with watching(streams, pages[0]) as first, watching(streams, pages[1]) as second:
        for page in pages:
            await page.until(2)
        streams.end()
        await first.wait()
        await second.wait()
    assert all(page.is_over for page in pages)


@pytest.mark.anyio
async def test_a_page_that_is_as_far_behind_as_it_may_be_hears_the_end_too(tmp_path: Path) -> None:
    manager, page = guild_of(tmp_path), Page()
    streams = EventStreams(manager, str, version="1")
    async with watching(streams, page) as over:
        await page.until(2)
        for _ in range(limits.WAITING_EVENTS):
            manager._tell(Event("roster_changed", ""))
        streams.end()
        await over.wait()
    assert (page.is_over, len(page.chunks)) == (True, 2 + limits.WAITING_EVENTS + 1)


@pytest.mark.anyio
async def test_a_page_that_is_gone_is_forgotten_while_much_happens(tmp_path: Path) -> None:
    manager, page = guild_of(tmp_path), Page()
    async with watching(EventStreams(manager, str, version="1"), page) as over:
        await page.until(2)
        page.leaves.set()
        with anyio.fail_after(3):
            while not over.is_set():
                manager._tell(Event("roster_changed", ""))
                await anyio.sleep(limits.UNWATCHED_SECONDS / 5)


def test_what_happens_to_a_member_is_told_at_once_to_every_page(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-16: `tools_updated` reaches the page when a list was refreshed."""
    write_cache(make_member(tmp_path / "guild", "zoo", "--tools", "0"), tool("old"))
    make_member(tmp_path / "guild", "absent", command="no-such-command")
    served = HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path)
    with served as hall, hall.events() as events, hall.events() as others:
        assert next(events) == next(others) == ("hello", {"version": __version__})
        hall.post("/api/guild/refresh", {"member": "zoo"})
        heard = [next(events) for _ in range(3)]
        assert heard == [next(others) for _ in range(3)]
        hall.post("/api/guild/refresh", {"member": "absent"})
        failed: tuple[str, Any] = next(events)
    assert [kind for kind, _ in heard] == ["started", "tools_updated", "stopped"]
    tools = [[each["listedAs"] for each in data["member"]["tools"]] for _, data in heard]
    assert tools == [["zoo__old"], ["zoo__echo"], ["zoo__echo"]]
    assert [data["member"]["status"] for _, data in heard] == ["connected", "connected", "disconnected"]
    assert (failed[0], failed[1]["member"]["status"]) == ("error", "error")
    assert "not found" in failed[1]["member"]["error"]


def test_a_page_is_told_that_members_came_or_went(tmp_path: Path) -> None:
    write_cache(make_member(tmp_path / "guild", "zoo", "--tools", "0"), tool("old"))
    write_cache(make_member(tmp_path / "elsewhere", "late", "--tools", "0"), tool("new"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall, hall.events() as events:
        assert next(events)[0] == "hello"
        (tmp_path / "elsewhere" / "late").rename(tmp_path / "guild" / "late")
        assert next(events) == ("roster_changed", {"member": None})
        assert [each["name"] for each in hall.get("/api/guild")["members"]] == ["late", "zoo"]
        (tmp_path / "guild" / "zoo").rename(tmp_path / "elsewhere" / "zoo")
        assert next(events) == ("roster_changed", {"member": None})
        assert [each["name"] for each in hall.get("/api/guild")["members"]] == ["late"]


def test_a_page_that_shows_the_roster_sets_the_refresh_going(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-6: after the roster is loaded, servers are started in the background."""
    make_member(tmp_path / "guild", "zoo", "--tools", "0")
    with HttpHall("--guild", "guild", cwd=tmp_path) as hall, hall.events() as events:
        assert next(events)[0] == "hello"
        assert hall.get("/api/guild")["members"][0]["tools"] == []
        assert next(data for kind, data in events if kind == "tools_updated")["member"]["name"] == "zoo"

"""How many calls are under way at a time, what waits for a place, and what does not."""

import asyncio
import json
import os
import select
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from tests.waiting import until

from contexthall.core import limits
from contexthall.core.catalog import Caller, Capability, Catalog, JsonObject, Tool, ToolResult
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.stdio import StdioConnection
from contexthall.protocol.messages import notification_line, request_line
from contexthall.system.pipes import Pipes, PipeTransport

pytestmark = pytest.mark.anyio

CALLS, PINGS = 128, 128


class Waiting:
    """A tool that runs until it is let go, and a client that counts the answers."""

    def __init__(self, to_hall: int, from_hall: int) -> None:
        self._to_hall = to_hall
        self._from_hall = from_hall
        self._received = b""
        self.running = 0
        self.begun: list[Any] = []
        self.change: Callable[[], None] = lambda: None
        self.may_end = asyncio.Event()

    async def wait(self, arguments: JsonObject, _caller: Caller) -> ToolResult:
        self.running += 1
        self.begun.append(arguments.get("number"))
        try:
            await self.may_end.wait()
        finally:
            self.running -= 1
        return ToolResult.of_text("done")

    def call(self, *numbers: int) -> None:
        for number in numbers:
            arguments = {"name": "wait", "arguments": {"number": number}}
            os.write(self._to_hall, request_line(number, "tools/call", arguments))

    def ping(self, number: int) -> None:
        os.write(self._to_hall, request_line(number, "ping", {}))

    def cancel(self, number: int) -> None:
        os.write(self._to_hall, notification_line("notifications/cancelled", {"requestId": number}))

    def answered(self) -> list[Any]:
        return [each.get("id") for each in self._read()]

    def heard(self) -> list[str]:
        """What the hall said by itself."""
        return [each["method"] for each in self._read() if "method" in each]

    def _read(self) -> list[Any]:
        while _has_bytes(self._from_hall):
            self._received += os.read(self._from_hall, 1 << 16)
        return [json.loads(line) for line in self._received.split(b"\n")[:-1]]


def _has_bytes(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


@asynccontextmanager
async def connected() -> AsyncIterator[Waiting]:
    with _pipe() as (incoming, to_hall), _pipe() as (from_hall, outgoing):
        waiting = Waiting(to_hall, from_hall)
        tool = Tool(name="wait", title="", description="", input_schema={"type": "object"}, run=waiting.wait)
        catalog = Catalog([Capability("test", tools=[tool])])
        waiting.change = catalog.changed.send
        server = HallServer(catalog, Caller(may_read=lambda _path, _home: True), version="1")
        connection = StdioConnection(server)
        with PipeTransport(Pipes(incoming, outgoing), connection):
            serving = asyncio.create_task(connection.run())
            offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            os.write(to_hall, request_line("hello", "initialize", offer))
            await until(lambda: waiting.answered() == ["hello"])
            yield waiting
            connection.end()
            await serving


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    near, far = os.pipe()
    try:
        yield near, far
    finally:
        os.close(near)
        os.close(far)


async def is_settled(holds: Callable[[], object]) -> bool:
    """Return whether something holds, and goes on holding for many turns of the event loop."""
    await until(holds)
    for _ in range(50):
        await asyncio.sleep(0)
    return bool(holds())


async def test_so_many_calls_are_under_way_and_not_one_more() -> None:
    async with connected() as waiting:
        waiting.call(*range(CALLS + 5))
        assert await is_settled(lambda: waiting.running == CALLS)
        waiting.may_end.set()
        await until(lambda: len(waiting.answered()) == 1 + CALLS + 5)


async def test_a_ping_does_not_wait_for_a_place() -> None:
    async with connected() as waiting:
        waiting.call(*range(CALLS + 5))
        await until(lambda: waiting.running == CALLS)
        for number in range(1000, 1000 + 2 * PINGS):
            waiting.ping(number)
        await until(lambda: len(waiting.answered()) == 1 + 2 * PINGS)
        assert waiting.running == CALLS


async def test_a_call_that_runs_is_cancelled_though_others_wait_and_the_next_one_gets_its_place() -> None:
    async with connected() as waiting:
        waiting.call(*range(CALLS + 1))
        await until(lambda: waiting.running == CALLS)
        waiting.cancel(3)
        await until(lambda: CALLS in waiting.begun)
        waiting.may_end.set()
        await until(lambda: len(waiting.answered()) == 1 + CALLS)
        assert 3 not in waiting.answered()


async def test_a_call_that_waits_is_cancelled_before_it_begins() -> None:
    async with connected() as waiting:
        waiting.call(*range(CALLS + 2))
        await until(lambda: waiting.running == CALLS)
        waiting.cancel(CALLS)
        waiting.may_end.set()
        await until(lambda: len(waiting.answered()) == 1 + CALLS + 1)
        assert CALLS not in waiting.begun
        assert CALLS + 1 in waiting.answered()


async def test_a_cancellation_takes_back_what_waits_before_it_and_not_what_comes_after() -> None:
    async with connected() as waiting:
        waiting.call(*range(CALLS + 1))
        waiting.cancel(CALLS)
        waiting.call(CALLS, CALLS + 1)
        waiting.may_end.set()
        await until(lambda: len(waiting.answered()) == 1 + CALLS + 2)
        assert waiting.begun == [*range(CALLS), CALLS, CALLS + 1]


async def test_once_too_many_bytes_wait_nothing_more_is_read_until_a_call_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_BYTES", 5000)
    async with connected() as waiting:
        waiting.call(*range(CALLS + 10))
        waiting.ping(1000)
        assert await is_settled(lambda: waiting.running == CALLS)
        assert waiting.answered() == ["hello"]
        waiting.may_end.set()
        await until(lambda: len(waiting.answered()) == 1 + CALLS + 10 + 1)
        assert waiting.begun == [*range(CALLS + 10)]


async def test_changes_while_the_client_does_not_read_are_told_as_one_once_it_does() -> None:
    async with connected() as waiting:
        os.write(waiting._to_hall, notification_line("notifications/initialized"))
        pings = range(4000)  # whose answers are more than a pipe holds
        for number in pings:
            waiting.ping(number)
            await asyncio.sleep(0)
        for _ in range(3):
            waiting.change()
            await asyncio.sleep(0.01)
        await until(lambda: waiting.heard() != [])
        await until(lambda: len(waiting.answered()) == len(pings) + 2)
        assert waiting.heard() == ["notifications/tools/list_changed"]

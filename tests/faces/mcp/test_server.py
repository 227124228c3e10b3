"""The server through the SDK's own client, over pipes, in both protocol eras."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.faces.mcp.sdk import ERAS, Era, piped, text_of

from contexthall.core.catalog import READ_ONLY, Caller, Capability, Catalog, JsonObject, Tool, ToolResult
from contexthall.core.errors import CacheMissingError
from contexthall.faces.mcp.server import HallServer

pytestmark = pytest.mark.anyio

OBJECT: JsonObject = {"type": "object", "additionalProperties": False, "properties": {"text": {"type": "string"}}}


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> Era:
    chosen: Era = request.param
    return chosen


def tool(name: str, run: Any, **declared: Any) -> Tool:
    declared.setdefault("input_schema", OBJECT)
    return Tool(name=name, title=name, description=f"The tool {name}", run=run, **declared)


def echo(arguments: JsonObject, _caller: Caller) -> ToolResult:
    return ToolResult.of_json({"echo": arguments.get("text", "")})


@asynccontextmanager
async def connected(*tools: Tool, era: Era, seconds: float = 5, **client: Any) -> AsyncIterator[Client]:
    async with connected_to(
        Capability("test", guidance="Do test.", tools=tools), era=era, seconds=seconds, **client
    ) as it:
        yield it


@asynccontextmanager
async def connected_to(capability: Capability, *, era: Era, seconds: float = 5, **client: Any) -> AsyncIterator[Client]:
    caller = Caller(may_read=lambda _path, _home: True)
    server = HallServer(Catalog([capability]), caller, version="1.2.3", tool_seconds=seconds)
    with anyio.fail_after(90):
        async with Client(piped(server), mode=era, **client) as connection:
            yield connection


async def test_a_client_learns_who_serves_and_what_to_call_first(era: Era) -> None:
    async with connected(era=era) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("context-hall", "1.2.3")
        assert (client.instructions or "").endswith("\nDo test.")
        assert client.server_capabilities.tools == types.ToolsCapability(list_changed=True)
        assert client.server_capabilities.prompts is None
        assert client.server_capabilities.resources is None


@pytest.mark.parametrize(("client", "shown"), [("claude-code", "mcp__context-hall__context_ask"), ("x", "context.ask")])
async def test_instructions_name_tools_as_the_client_shows_them(era: Era, client: str, shown: str) -> None:
    guidance = "First context.ask, then asking context.asked."
    capability = Capability("test", guidance=guidance, tools=[tool("context.ask", echo)])
    info = types.Implementation(name=client, version="1")
    async with connected_to(capability, era=era, client_info=info) as connection:
        assert (connection.instructions or "").endswith(f"\nFirst {shown}, then asking context.asked.")


async def test_tools_are_listed_as_they_are_declared(era: Era) -> None:
    declared = tool("context.some_name", echo, output_schema={"type": "object"}, annotations=READ_ONLY)
    async with connected(declared, era=era) as client:
        listed = (await client.list_tools()).tools
    assert [each.model_dump(by_alias=True, exclude_none=True) for each in listed] == [declared.definition()]


async def test_a_list_says_how_long_it_may_be_kept() -> None:
    async with connected(era="auto") as client:
        listed = await client.list_tools()
    assert (listed.ttl_ms, listed.cache_scope) == (60_000, "private")


async def test_there_is_one_page(era: Era) -> None:
    async with connected(era=era) as client:
        with pytest.raises(MCPError, match="Unknown cursor"):
            await client.list_tools(cursor="more")


async def test_a_result_arrives_as_text_and_as_data(era: Era) -> None:
    async with connected(tool("echo", echo), era=era) as client:
        result = await client.call_tool("echo", {"text": "é😀"})
    assert text_of(result) == '{"echo":"é😀"}'
    assert result.structured_content == {"echo": "é😀"}
    assert not result.is_error


async def test_a_bad_argument_is_named_and_the_tool_does_not_run(era: Era) -> None:
    ran = []
    async with connected(tool("echo", lambda *_: ran.append(1)), era=era) as client:
        result = await client.call_tool("echo", {"text": 5})
        assert (text_of(result), result.is_error) == ("Invalid argument 'text': 5 is not of type 'string'", True)
        result = await client.call_tool("echo", {"other": 5})
        assert (text_of(result), result.is_error) == ("Unknown argument 'other'", True)
    assert ran == []


async def test_an_error_of_the_tool_is_a_result(era: Era) -> None:
    def missing(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        raise CacheMissingError("/secret/path")

    async with connected(tool("find", missing), era=era) as client:
        result = await client.call_tool("find", {})
    assert result.is_error
    assert text_of(result) == '{"error":{"code":"cache_missing","message":"Cache does not exist"}}\n'


async def test_an_unknown_tool_is_an_error_of_the_protocol(era: Era) -> None:
    async with connected(era=era) as client:
        with pytest.raises(MCPError, match="Unknown tool: nope") as caught:
            await client.call_tool("nope", {})
    assert caught.value.code == types.INVALID_PARAMS


async def test_of_the_name_of_an_unknown_tool_no_more_is_repeated_than_any_name_has(era: Era) -> None:
    async with connected(era=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x" * 100_000, {})
    assert caught.value.message == f"Unknown tool: {'x' * 999}…"


async def test_a_tool_that_takes_too_long_is_told_so_and_the_next_call_works(era: Era) -> None:
    released = threading.Event()

    def hang(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        released.wait(60)
        return ToolResult.of_text("too late")

    async with connected(tool("hang", hang), tool("echo", echo), era=era, seconds=0.05) as client:
        result = await client.call_tool("hang", {})
        assert text_of(result) == '{"error":{"code":"internal_error","message":"Internal error"}}\n'
        assert not (await client.call_tool("echo", {})).is_error
        released.set()


async def test_plain_tools_run_side_by_side(era: Era) -> None:
    meeting = threading.Barrier(2, timeout=60)

    def meet(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        meeting.wait()
        return ToolResult.of_text("met")

    async with connected(tool("meet", meet), era=era) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "meet", {})
        assert text_of(await client.call_tool("meet", {})) == "met"


async def test_a_tool_can_say_how_far_it_has_come(era: Era) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def slow(_arguments: JsonObject, caller: Caller) -> ToolResult:
        await caller.progress(1, 2, "half-way")
        return ToolResult.of_text("done")

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connected(tool("slow", slow), era=era) as client:
        await client.call_tool("slow", {}, progress_callback=listen)
        while not heard:
            await anyio.sleep(0.01)
    assert heard == [(1, 2, "half-way")]


async def test_clients_of_the_handshake_era_are_told_when_the_list_changes() -> None:
    told = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.set()

    capability = Capability("test", tools=[tool("old", echo)])
    async with connected_to(capability, era="legacy", message_handler=note) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["old"]
        capability.replace_tools([tool("new", echo)])
        await told.wait()
        assert [each.name for each in (await client.list_tools()).tools] == ["new"]


async def test_modern_clients_that_listen_are_told_when_the_list_changes() -> None:
    capability = Capability("test", tools=[tool("old", echo)])
    async with (
        connected_to(capability, era="auto") as client,
        client.listen(tools_list_changed=True) as events,
    ):
        capability.replace_tools([tool("new", echo)])
        capability.replace_tools([tool("newer", echo)])
        async for event in events:
            assert type(event).__name__ == "ToolsListChanged"
            break
        assert [each.name for each in (await client.list_tools(cache_mode="refresh")).tools] == ["newer"]


async def test_whoever_connects_after_a_change_is_told_what_is_so_now(era: Era) -> None:
    capability = Capability("test", guidance="Do test.", tools=[tool("old", echo)])
    server = HallServer(Catalog([capability]), Caller(may_read=lambda _path, _home: True), version="1.2.3")
    with anyio.fail_after(90):
        async with Client(piped(server), mode=era) as first:
            assert (first.instructions or "").endswith("\nDo test.")
            capability.guidance = "Search."
            capability.replace_tools([tool("new", echo)])
        async with Client(piped(server), mode=era) as second:
            assert (second.instructions or "").endswith("\nSearch.")

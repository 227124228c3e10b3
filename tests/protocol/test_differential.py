"""Does the hall answer as the SDK does? The same conversations, the same tools: equal, or different for a reason.

The recording is what the hall answered while the SDK did the talking; the peer is the SDK of today.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.methods import validate_server_result
from pydantic import ValidationError
from tests.protocol.conversations import CURRENT, Lines, catalog, conversations, told
from tests.protocol.served import served

from contexthall.core.catalog import Caller, Catalog, JsonObject
from contexthall.core.errors import UnknownToolError

RECORDED: Mapping[str, list[JsonObject]] = json.loads(
    (Path(__file__).parents[2] / "vectors/protocol/recorded.json").read_text()
)
CONVERSATIONS = dict(conversations())
TURNS = 100
"""Of the event loop, after which the SDK has answered: everything is in memory, and nothing runs in a thread."""

DIFFERENCES: Mapping[str, str] = {
    r".*: complete$": "a method that is not served is not found, whatever its params are",
    r"(unopened|202[45]-.*): listen.*": "at the end of input, the SDK lost the error that it had for this request",
    r"2026-07-28: listen$": "a subscription ends with a result, as the specification has it, and not with an error",
    r"2026-07-28: (null as params|an empty id|a negative id|a long id|half an emoji as id|keys of tomorrow|two ids"
    r"|white space)$": "a ping that overtook others was answered in the era that has none",
}
"""Where the hall answers otherwise than in the recording, and why. The words of errors are its own everywhere."""

PEER_DIFFERENCES: Mapping[str, str] = {
    **DIFFERENCES,
    r".* as id$": "the SDK takes a request with such an id for a notification, and the client waits for ever",
    r".*: a NaN$": "the SDK reads a number that JSON does not have",
    r".*: many values$": "the SDK has no limit",
    r".*: (an answer|an error) that is none$": "the SDK's transport drops what is no message",
}


def differs(name: str, differences: Mapping[str, str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in differences)


def plain(messages: list[JsonObject]) -> list[str]:
    """Leave out the words of errors, and the empty data that the SDK adds to those about params."""
    return sorted(json.dumps(_plain(message), sort_keys=True) for message in messages)


def _plain(message: JsonObject) -> JsonObject:
    if "error" not in message:
        return message
    error = {key: value for key, value in message["error"].items() if key != "message" and value != ""}
    return {**message, "error": error}


def answers(lines: Lines) -> list[JsonObject]:
    return told(served(catalog(), lines))


def test_there_are_hundreds_of_conversations_and_all_were_recorded() -> None:
    assert len(CONVERSATIONS) > 400
    assert CONVERSATIONS.keys() == RECORDED.keys()


@pytest.mark.parametrize("opening", ["unopened", "2024-11-05", "2025-11-25", "2026-07-28", "envelope", "offer", "a"])
def test_the_answers_are_those_of_the_recording(opening: str) -> None:
    wrong = []
    for name, lines in CONVERSATIONS.items():
        if name.startswith(opening):
            is_equal = plain(answers(lines)) == plain(RECORDED[name])
            if is_equal == differs(name, DIFFERENCES):
                wrong.append(name)
    assert wrong == []


def test_every_reason_is_about_some_conversation() -> None:
    for pattern in PEER_DIFFERENCES:
        assert any(re.fullmatch(pattern, name) for name in CONVERSATIONS), pattern


class SdkPeer(Server[None]):
    """The same tools, offered by the SDK."""

    def __init__(self, offered: Catalog) -> None:
        self._offered = offered
        hint = CacheHint(ttl_ms=60_000, scope="private")
        super().__init__(
            "context-hall",
            version="1.2.3",
            title="Context Hall",
            instructions=offered.instructions,
            cache_hints={"tools/list": hint, "server/discover": hint},
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
        )

    async def _list(self, _context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "Unknown cursor")
        tools = [types.Tool.model_validate(tool.definition(), by_name=False) for tool in self._offered.tools]
        return types.ListToolsResult(tools=tools)

    async def _call(
        self, context: ServerRequestContext[None], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = Caller(may_read=lambda _path, _home: True, progress=context.session.report_progress)
        try:
            result = await self._offered.call(params.name, params.arguments or {}, caller)
        except UnknownToolError:
            raise MCPError(types.INVALID_PARAMS, "Unknown tool") from None
        shown = {"content": list(result.content), "structuredContent": result.structured, "isError": result.is_error}
        return types.CallToolResult.model_validate(shown, by_name=False)


async def asked(lines: Lines) -> list[JsonObject]:
    """Return what the SDK answers; it is given one message after the other, and hears of the end of none."""
    given = [SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)) for line in lines]
    server = SdkPeer(catalog())
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](100)
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    messages: list[JsonObject] = []
    async with to_server, from_client, to_client, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, from_client, to_client, options)
        for message in given:
            await to_server.send(message)
            for _ in range(TURNS):
                await anyio.lowlevel.checkpoint()
            while from_server.statistics().current_buffer_used:
                said = from_server.receive_nowait().message
                messages.append(said.model_dump(by_alias=True, mode="json", exclude_unset=True))
        tasks.cancel_scope.cancel()
    return messages


def test_the_sdk_of_today_answers_the_same() -> None:
    compared, wrong = 0, []
    for name, lines in CONVERSATIONS.items():
        if differs(name, PEER_DIFFERENCES):
            continue
        try:
            messages = anyio.run(asked, lines)
        except ValidationError:
            continue  # what is no message is a matter of the transport, and in the recording alone
        compared += 1
        if plain(messages) != plain(RECORDED[name]):
            wrong.append(name)
    assert wrong == []
    assert compared > 250


def test_every_result_has_the_shape_of_its_revision() -> None:
    methods = {"initialize", "server/discover", "tools/list", "tools/call", "ping"}
    checked = 0
    for lines in CONVERSATIONS.values():
        asked_for = {message.get("id"): message for message in map(_read, lines) if message}
        for answer in answers(lines):
            method = asked_for.get(answer.get("id"), {}).get("method")
            if "result" in answer and method in methods:
                is_current = "resultType" in answer["result"]
                validate_server_result(method, CURRENT if is_current else "2025-11-25", answer["result"])
                checked += 1
            jsonrpc_message_adapter.validate_python(answer)
    assert checked > 100


def _read(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("id"), str | int) else {}

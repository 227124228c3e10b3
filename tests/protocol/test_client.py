"""How a client opens a connection in either era, lists tools page by page, and answers what a server asks."""

import json
from typing import Any

import pytest

from contexthall.protocol.client import (
    ClientEffect,
    ClientRole,
    ClientState,
    OpeningEnded,
    ToolsChanged,
)
from contexthall.protocol.messages import (
    Response,
    error_line,
    notification_line,
    parse_server_message,
    request_line,
    result_line,
)
from contexthall.protocol.peer import Progressed, Send

INFO = {"name": "context-hall", "version": "1"}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def heard(role: ClientRole, line: bytes) -> list[ClientEffect]:
    return list(role.receive(parse_server_message(line.rstrip())))


def sent(effect: ClientEffect) -> dict[str, Any]:
    assert isinstance(effect, Send)
    message: dict[str, Any] = json.loads(effect.line)
    return message


def handshaken(capabilities: Any = None) -> ClientRole:
    role = ClientRole(INFO)
    role.open()
    answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}} if capabilities is None else capabilities}
    greeting, opened = heard(role, result_line(1, answer))
    assert sent(greeting) == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert opened == OpeningEnded()
    return role


def discovered(tools: Any) -> tuple[ClientRole, list[ClientEffect]]:
    role = ClientRole(INFO)
    role.open()
    (asked,) = heard(role, error_line(1, {"code": -32601, "message": "Method not found"}))
    assert sent(asked)["method"] == "server/discover"
    assert sent(asked)["params"]["_meta"][VERSION_KEY] == "2026-07-28"
    answer = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": tools}, "resultType": "complete"}
    return role, heard(role, result_line(2, answer))


def test_a_handshake_agrees_on_the_servers_version() -> None:
    role = ClientRole(INFO)
    offer = json.loads(role.open())
    assert (offer["method"], offer["params"]["protocolVersion"]) == ("initialize", "2025-11-25")
    assert handshaken().version == "2025-06-18"
    assert not handshaken({}).offers_tools


@pytest.mark.parametrize("code", [-32601, -32022])
def test_a_server_that_knows_no_handshake_is_discovered(code: int) -> None:
    role = ClientRole(INFO)
    role.open()
    (asked,) = heard(role, error_line(1, {"code": code, "message": "no"}))
    assert sent(asked)["method"] == "server/discover"
    assert role.state is ClientState.DISCOVERING


def test_every_request_of_the_current_era_has_its_envelope() -> None:
    role, effects = discovered({})
    assert effects == [OpeningEnded()]
    request_id, line = role.ask("tools/call", {"name": "x"}, wants_progress=True)
    meta = json.loads(line)["params"]["_meta"]
    assert (meta[VERSION_KEY], meta["progressToken"]) == ("2026-07-28", request_id)


def test_a_server_of_the_current_era_that_announces_changes_is_listened_to() -> None:
    role, (subscription, opened) = discovered({"listChanged": True})
    assert opened == OpeningEnded()
    asked = sent(subscription)
    assert (asked["method"], asked["params"]["notifications"]) == ("subscriptions/listen", {"toolsListChanged": True})
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": asked["id"]}}
    assert heard(role, notification_line("notifications/tools/list_changed", meta)) == [ToolsChanged()]
    assert heard(role, result_line(asked["id"], {"resultType": "complete"})) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (result_line(1, {"protocolVersion": "1999"}), "version '1999' of the protocol"),
        (result_line(1, {"protocolVersion": [["x"]]}), "version [['x']]"),
        (result_line(1, b'{"protocolVersion":' + b"[" * 900 + b"]" * 900 + b"}"), "version None"),
        (result_line(1, {}), "version None"),
        (error_line(1, {"code": -1, "message": "go away"}), "refused to shake hands: go away"),
    ],
)
def test_a_server_that_cannot_be_spoken_with_is_refused_in_a_sentence(line: bytes, reason: str) -> None:
    role = ClientRole(INFO)
    role.open()
    (refused,) = heard(role, line)
    assert isinstance(refused, OpeningEnded)
    assert reason in refused.refusal
    assert role.state is ClientState.REFUSED


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list", "tools/list", ""])
def test_what_a_server_may_not_ask_is_refused_and_a_ping_is_answered(method: str) -> None:
    role = handshaken()
    (refused,) = heard(role, request_line("q", method, {}))
    assert (sent(refused)["id"], sent(refused)["error"]["code"]) == ("q", -32601)
    (pong,) = heard(role, request_line(2, "ping", {}))
    assert sent(pong) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_an_answer_counts_once_and_only_to_a_question() -> None:
    role = handshaken()
    request_id, _ = role.ask("tools/call", {"name": "x"})
    assert heard(role, result_line(99, {})) == []
    assert heard(role, result_line(str(request_id), {})) == []
    (answered,) = heard(role, result_line(request_id, {"a": 1}))
    assert isinstance(answered, Response)
    assert (answered.id, answered.result) == (request_id, b'{"a":1}')
    assert heard(role, result_line(request_id, {"a": 2})) == []


def test_progress_is_heard_while_its_request_is_open() -> None:
    role = handshaken()
    request_id, _ = role.ask("tools/call", {"name": "x"}, wants_progress=True)
    line = notification_line("notifications/progress", {"progressToken": request_id, "progress": 1, "total": 2})
    assert heard(role, line) == [Progressed(request_id, 1, 2, None)]
    assert json.loads(role.abandon(request_id, "late"))["params"] == {"requestId": request_id, "reason": "late"}
    assert heard(role, line) == []
    assert role.abandon(request_id, "late") == b""


def test_an_answer_that_wants_input_is_an_error_that_says_so() -> None:
    role, _ = discovered({})
    request_id, _ = role.ask("tools/call", {"name": "x"})
    (answered,) = heard(role, result_line(request_id, {"resultType": "input_required", "inputRequests": {}}))
    assert isinstance(answered, Response)
    assert answered.error is not None
    assert '"input_required", which the hall cannot pass on' in answered.error["message"]

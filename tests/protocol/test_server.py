"""A server in its role: a method is one row, changes are told to who wants to know, and the era is decided once."""

import json
from typing import Any

import pytest
from tests.protocol.conversations import ENVELOPE, request

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.protocol.current import CLIENT_KEY
from contexthall.protocol.messages import Response, RpcError, notification_line, parse_message
from contexthall.protocol.peer import Send
from contexthall.protocol.server import (
    Call,
    Cancellable,
    Effect,
    Era,
    Method,
    OnDone,
    Report,
    ServerRole,
    Service,
    Stop,
)

OFFER = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
LISTEN = {"_meta": ENVELOPE, "notifications": {"toolsListChanged": True}}


def _double(call: Call) -> JsonObject:
    return {"doubled": 2 * call.params["number"]}


def _wait(_call: Call, _report: Report, _on_done: OnDone) -> Cancellable:
    raise AssertionError("nobody has started it")


DOUBLE = Method("toy/double", Era.BOTH, _double, params={"number": int})
WAIT = Method("toy/wait", Era.HANDSHAKE, start=_wait)


def role_of(*methods: Method) -> ServerRole:
    return ServerRole(Service(methods, {"name": "toy", "version": "1"}, lambda _client: "Do it."))


def told(role: ServerRole, line: bytes) -> list[Effect]:
    return list(role.receive(parse_message(line)))


def answer(role: ServerRole, line: bytes) -> Any:
    (effect,) = told(role, line)
    assert isinstance(effect, Send)
    return json.loads(effect.line)


def initialized(*methods: Method) -> ServerRole:
    role = role_of(*methods)
    answer(role, request("initialize", OFFER))
    told(role, notification_line("notifications/initialized").rstrip())
    return role


def test_a_method_is_one_row_of_the_table() -> None:
    assert answer(initialized(DOUBLE), request("toy/double", {"number": 4}))["result"] == {"doubled": 8}
    stamped = answer(role_of(DOUBLE), request("toy/double", {"number": 4, "_meta": ENVELOPE}))["result"]
    assert (stamped["doubled"], stamped["resultType"]) == (8, "complete")
    assert stamped["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "toy", "version": "1"}}


@pytest.mark.parametrize("number", [None, "4", True, 4.5])
def test_params_of_another_shape_are_named(number: Any) -> None:
    error = answer(initialized(DOUBLE), request("toy/double", {"number": number}))["error"]
    assert error == {"code": -32602, "message": "Invalid params: `params.number` must be an integer"}


def test_a_method_of_one_era_is_not_found_in_the_other() -> None:
    assert answer(role_of(WAIT), request("toy/wait", {"_meta": ENVELOPE}))["error"]["code"] == -32601


def test_what_takes_its_time_is_an_effect_and_its_result_is_brought_back() -> None:
    role = initialized(WAIT)
    (effect,) = told(role, request("toy/wait", {}, 7))
    assert isinstance(effect, Call)
    assert [*role.incoming] == [effect.ticket]
    assert json.loads(role.finish(effect, {"a": 1})) == {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}
    assert role.finish(effect, {"a": 1}) == b""
    assert not role.incoming


def test_a_result_that_cannot_be_spelt_leaves_its_request_open_for_an_error() -> None:
    role = initialized(WAIT)
    (effect,) = told(role, request("toy/wait", {}, 7))
    assert isinstance(effect, Call)
    with pytest.raises(TypeError):
        role.finish(effect, {"odd": object()})
    assert json.loads(role.finish(effect, RpcError(-1, "odd")))["error"] == {"code": -1, "message": "odd"}


def test_what_is_cancelled_is_stopped_and_never_answered() -> None:
    role = initialized(WAIT)
    (effect,) = told(role, request("toy/wait", {}, 7))
    assert isinstance(effect, Call)
    cancelled = notification_line("notifications/cancelled", {"requestId": 7}).rstrip()
    assert told(role, cancelled) == [Stop(effect.ticket)]
    assert role.finish(effect, RpcError(-1, "late")) == b""
    assert told(role, cancelled) == []


def test_a_client_of_the_handshake_era_is_told_of_changes_once_it_is_initialized() -> None:
    role = role_of()
    answer(role, request("initialize", OFFER))
    assert role.announce() == []
    told(role, notification_line("notifications/initialized").rstrip())
    assert [json.loads(line) for line in role.announce()] == [
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    ]


def test_a_subscription_is_acknowledged_told_and_ended_under_its_id() -> None:
    role = role_of()
    acknowledged = answer(role, request("subscriptions/listen", LISTEN, "s"))
    meta = {"io.modelcontextprotocol/subscriptionId": "s"}
    assert acknowledged["params"] == {"_meta": meta, "notifications": {"toolsListChanged": True}}
    (line,) = role.announce()
    assert json.loads(line)["params"] == {"_meta": meta}
    (end,) = role.end_subscriptions()
    assert json.loads(end)["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
    assert (role.announce(), role.end_subscriptions(), role.incoming) == ([], [], {})


def test_a_subscription_that_is_cancelled_hears_nothing() -> None:
    role = role_of()
    answer(role, request("subscriptions/listen", LISTEN, "s"))
    (stopped,) = told(role, notification_line("notifications/cancelled", {"requestId": "s"}).rstrip())
    assert isinstance(stopped, Stop)
    assert role.announce() == []


def test_of_what_a_subscription_wants_what_is_known_is_honoured() -> None:
    wanted = {"promptsListChanged": True, "toolsListChanged": False, "dinner": True}
    acknowledged = answer(role_of(), request("subscriptions/listen", {**LISTEN, "notifications": wanted}, "s"))
    assert acknowledged["params"]["notifications"] == {"promptsListChanged": True}


def test_where_nothing_is_remembered_a_handshake_is_a_method_that_is_not_there() -> None:
    role = ServerRole(Service([], {"name": "toy", "version": "1"}, str), Era.CURRENT)
    assert answer(role, request("initialize", {**OFFER, "_meta": ENVELOPE}))["error"]["code"] == -32601
    assert answer(role_of(), request("ping", {"_meta": ENVELOPE}))["error"]["code"] == -32601


def test_so_many_subscriptions_are_enough() -> None:
    role = role_of()
    for number in range(limits.SUBSCRIPTIONS):
        answer(role, request("subscriptions/listen", LISTEN, number))
    assert answer(role, request("subscriptions/listen", LISTEN, "more"))["error"]["code"] == -32603


def test_an_answer_to_a_question_never_asked_is_ignored() -> None:
    assert list(role_of().receive(Response(1, b"{}"))) == []


def test_a_result_in_bytes_gets_its_stamp_and_keeps_every_other_byte() -> None:
    role = role_of(Method("toy/raw", Era.BOTH, start=_wait))
    (effect,) = told(role, request("toy/raw", {"_meta": ENVELOPE}))
    assert isinstance(effect, Call)
    line = role.finish(effect, b'{"a": [1e999, 1.0],"_meta": {"x":1},"resultType":"odd"}')
    assert b'"a":[1e999, 1.0]' in line
    result = json.loads(line)["result"]
    assert (result["resultType"], result["_meta"]["x"]) == ("complete", 1)


@pytest.mark.parametrize(
    "odd",
    [
        {"clientInfo": "y"},
        {"_meta": {CLIENT_KEY: ["y"]}},
        {"_meta": {CLIENT_KEY: {"name": 5}}},
        {"_meta": {CLIENT_KEY: {"name": ""}}},
    ],
)
def test_a_client_is_called_as_its_handshake_said_whatever_else_a_request_says(odd: JsonObject) -> None:
    (effect,) = told(initialized(WAIT), request("toy/wait", odd))
    assert isinstance(effect, Call)
    assert effect.client == "x"


VERSION_KEY, CAPABILITIES_KEY = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"


@pytest.mark.parametrize(
    ("method", "meta", "code"),
    [
        ("toy/double", {VERSION_KEY: "2099-01-01"}, -32602),
        ("toy/double", {VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: []}, -32022),
        ("toy/unknown", {VERSION_KEY: "2026-07-28"}, -32602),
        ("toy/unknown", {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []}, -32601),
        ("toy/unknown", {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, CLIENT_KEY: 5}, -32601),
        ("toy/double", {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []}, -32602),
    ],
)
def test_of_several_mistakes_in_an_envelope_the_same_is_told_as_by_the_sdk(
    method: str, meta: JsonObject, code: int
) -> None:
    role = ServerRole(Service((DOUBLE,), {"name": "toy", "version": "1"}, lambda _client: ""), Era.CURRENT)
    assert answer(role, request(method, {"_meta": meta, "number": 1}))["error"]["code"] == code

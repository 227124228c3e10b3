"""What is a message, what is none, and what becomes of a result that nobody reads?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.core.raw_json import JsonLimitError
from contexthall.protocol.messages import (
    Notification,
    Request,
    Response,
    RpcError,
    error_line,
    parse_message,
    parse_server_message,
    result_line,
)

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (REQUEST, Request(1, "ping", {})),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', Request("a", "ping", {})),
        (b'{"jsonrpc":"2.0","method":"x","params":{"a":[1]}}', Notification("x", {"a": [1]})),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, b"{}")),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}',
            Response(1, error={"code": 1, "message": "no"}),
        ),
    ],
)
def test_each_kind_of_message_is_parsed(line: bytes, message: object) -> None:
    assert parse_message(line) == parse_server_message(line) == message


@pytest.mark.parametrize(
    ("line", "code", "identifier"),
    [
        (b"rubbish", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,', -32700, None),
        (b'{"a":"\xff"}', -32700, None),
        (b'{"a":NaN}', -32700, None),
        (b"[" * 500_000, -32700, None),
        (b"[]", -32600, None),
        (b"[" + REQUEST + b"]", -32600, None),
        (b"5", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'{"id":"seven","method":"ping"}', -32600, "seven"),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (None, -32600, None),
    ],
)
def test_what_is_no_message_gets_the_error_that_json_rpc_asks_for(
    line: bytes | None, code: int, identifier: str | int | None
) -> None:
    with pytest.raises(RpcError) as caught:
        parse_message(line)
    assert (caught.value.error["code"], caught.value.request_id) == (code, identifier)
    answer = json.loads(error_line(caught.value.request_id, caught.value.error))
    assert (answer["id"], answer["error"]) == (identifier, caught.value.error)


def test_a_batch_is_told_that_it_is_not_supported() -> None:
    with pytest.raises(RpcError, match="not supported"):
        parse_message(b"[]")


def test_text_goes_out_as_it_is_and_half_a_pair_as_an_escape() -> None:
    plain = result_line(1, {"text": "é😀\n\u2028"})
    assert plain == '{"jsonrpc":"2.0","id":1,"result":{"text":"é😀\\n\u2028"}}\n'.encode()
    assert json.loads(result_line(1, {"text": "\ud83d"}))["result"] == {"text": "\ud83d"}
    assert json.loads(result_line(1, {"half": "\ud83d", "much": float("inf")}))["result"]["much"] is None


@pytest.mark.parametrize(
    "result",
    [
        b'{ "a" : 1e999, "big":1' + b"0" * 500 + b"}",
        b'{"dup":1,"dup":2}',
        '{"text":"é😀"}'.encode(),
        b'{"deep":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"dense":[' + b"0," * 500_000 + b"0]}",
    ],
    ids=["numbers", "keys", "text", "deep", "dense"],
)
def test_a_result_stays_the_bytes_that_it_came_in(result: bytes) -> None:
    message = parse_server_message(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}")
    assert isinstance(message, Response)
    assert message.result == result
    assert result_line("x", message.result) == b'{"jsonrpc":"2.0","id":"x","result":' + result + b"}\n"


@pytest.mark.parametrize(
    ("result", "spelt"),
    [
        (b'{"a":\r1}', b'{"a": 1}'),
        (b'{"a":NaN}', b'{"a":null}'),
        (b'{"a":"\\ud800"}', b'{"a": "\\ud800"}'),
    ],
    ids=["carriage return", "NaN", "lone surrogate"],
)
def test_what_cannot_be_passed_on_as_it_is_is_spelt_anew(result: bytes, spelt: bytes) -> None:
    assert parse_server_message(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}") == Response(7, spelt)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"jsonrpc":"2.0","id":2,"error":"no"}', "no"),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":"E_NO","message":"no"}}', "no"),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":true,"message":"no"}}', "no"),
        (b'{"jsonrpc":"2.0","id":2,"result":[1]}', "its answer is malformed"),
        (b'{"jsonrpc":"1.0","id":2,"result":{}}', "its answer is malformed"),
        (b'{"jsonrpc":"2.0","id":2,"result":null}', "its answer is malformed"),
    ],
)
def test_an_answer_that_is_malformed_is_an_error_in_its_place(line: bytes, said: str) -> None:
    assert parse_server_message(line) == Response(2, error={"code": -32603, "message": said})


@pytest.mark.parametrize(
    "line", [b"rubbish", b'{"jsonrpc":"2.0","id":7,"result":{"a":"\xff"}}', b"[]", b"5", b"{}", b"[" * 100_000]
)
def test_other_bytes_are_no_message(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_server_message(line)


def test_what_nobody_looks_at_may_be_deep_beside_an_error_too() -> None:
    line = b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"why"},"x":' + b"[" * 150 + b"]" * 150 + b"}"
    assert parse_server_message(line) == Response(7, error={"code": 1, "message": "why"})


def test_what_is_parsed_beside_a_result_is_not_too_much() -> None:
    dense = b"[" + b"0," * 500_000 + b"0]"
    with pytest.raises(JsonLimitError, match="values"):
        parse_server_message(b'{"jsonrpc":"2.0","id":7,"result":{},"error":' + dense + b"}")


@pytest.mark.parametrize("data", [b"[" + b"0," * 500_000 + b"0]", b"[" * 200 + b"]" * 200], ids=["dense", "deep"])
def test_an_error_that_is_too_much_is_not_parsed(data: bytes) -> None:
    with pytest.raises(JsonLimitError):
        parse_server_message(b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x","data":' + data + b"}}")


CALL = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"\\u00e9"]}}}'


@given(
    st.sampled_from([b"7", b'"seven"', b'"\\ud83d"', b"-1", b"null", b"true", b"1.5", b"[]", b"{}"]),
    st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=2)), max_size=3),
)
def test_bytes_that_were_changed_never_lose_an_id_that_can_be_parsed(
    request_id: bytes, changes: list[tuple[int, bytes]]
) -> None:
    line = bytearray(CALL % request_id)
    for place, data in changes:
        line[place : place + len(data)] = data
    try:
        expected = json.loads(line.decode(), parse_constant=lambda _: 1 / 0)["id"]
    except (ValueError, TypeError, KeyError, ZeroDivisionError):
        return
    if isinstance(expected, str | int) and not isinstance(expected, bool):
        assert _id_of(bytes(line)) == expected


def _id_of(line: bytes) -> object:
    try:
        message = parse_message(line)
    except RpcError as error:
        return error.request_id
    assert isinstance(message, Request | Response)
    return message.id

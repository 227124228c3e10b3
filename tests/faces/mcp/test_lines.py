from itertools import pairwise
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.core.lines import Ends, LineSplitter
from contexthall.faces.mcp.lines import RejectedLineError, decode, encode

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def split(data: bytes, cuts: list[int], maximum_bytes: int = 1000, ends: int = 0) -> list[bytes | None]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    splitter = LineSplitter(maximum_bytes, ends=ends)
    lines = [line for start, end in pairwise(edges) for line in splitter.feed(data[start:end])]
    return [*lines, *splitter.finish()]


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.lists(st.integers(0)), st.booleans())
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    assert split(data, cuts) == [line.strip() for line in lines if line.strip()]


@given(st.lists(st.integers(0)))
def test_a_line_that_is_too_long_is_told_once_and_skipped_to_its_end(cuts: list[int]) -> None:
    assert split(b"before\n" + b"x" * 50 + b"\nafter", cuts, maximum_bytes=10) == [b"before", None, b"after"]


@given(st.lists(st.integers(0)))
def test_of_a_line_that_is_too_long_the_two_ends_can_be_had(cuts: list[int]) -> None:
    lines = split(b"before\nthe head" + b"x" * 50 + b"the tail\nafter", cuts, maximum_bytes=10, ends=8)
    assert lines == [b"before", b"the headthe tail", b"after"]
    assert [isinstance(line, Ends) for line in lines] == [False, True, False]


def test_a_line_of_just_the_maximum_passes() -> None:
    assert split(b"x" * 10 + b"\n", [], maximum_bytes=10) == [b"x" * 10]
    assert split(b"x" * 11, [], maximum_bytes=10) == [None]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (REQUEST, types.JSONRPCRequest),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', types.JSONRPCRequest),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', types.JSONRPCNotification),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', types.JSONRPCResponse),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', types.JSONRPCError),
    ],
)
def test_each_kind_of_message_is_read(line: bytes, kind: type[Any]) -> None:
    assert isinstance(decode(line), kind)


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
    with pytest.raises(RejectedLineError) as caught:
        decode(line)
    assert (caught.value.reply.error.code, caught.value.reply.id) == (code, identifier)
    assert decode(encode(caught.value.reply).strip()) == caught.value.reply


def test_a_batch_is_told_that_it_is_not_supported() -> None:
    with pytest.raises(RejectedLineError, match="not supported"):
        decode(b"[]")


def test_text_goes_out_as_it_is_and_half_a_pair_as_an_escape() -> None:
    plain = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "é😀\n\u2028"})
    assert encode(plain) == '{"jsonrpc":"2.0","id":1,"result":{"text":"é😀\\n\u2028"}}\n'.encode()
    half = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "\ud83d"})
    assert encode(half) == b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "\\ud83d"}}\n'


def test_half_of_a_pair_beside_what_json_does_not_have_is_still_json() -> None:
    message = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"half": "\ud83d", "much": float("inf")})
    assert encode(message) == b'{"jsonrpc": "2.0", "id": 1, "result": {"half": "\\ud83d", "much": null}}\n'

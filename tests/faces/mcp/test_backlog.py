"""How many requests are under way at a time, and which places are kept for a client that only pings."""

import anyio
import mcp_types as types
import pytest

from contexthall.faces.mcp.backlog import UnderWay

pytestmark = pytest.mark.anyio

CALLS, PINGS = 128, 128


def call(number: int, method: str = "tools/call") -> types.JSONRPCRequest:
    return types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method)


def answer(number: int) -> types.JSONRPCResponse:
    return types.JSONRPCResponse(jsonrpc="2.0", id=number, result={})


def under_way(requests: int) -> UnderWay:
    counted = UnderWay(anyio.CancelScope())
    for number in range(requests):
        counted.note_given(call(number))
    return counted


async def test_so_many_calls_are_under_way_and_not_one_more() -> None:
    assert under_way(CALLS - 1).takes(call(-1))
    assert not under_way(CALLS).takes(call(-1))
    full = under_way(CALLS)
    full.note_written(answer(0))
    assert full.takes(call(-1))


async def test_so_many_places_are_kept_for_pings_and_not_one_more() -> None:
    assert under_way(CALLS).takes(call(-1, "ping"))
    assert under_way(CALLS + PINGS - 1).takes(call(-1, "ping"))
    assert not under_way(CALLS + PINGS - 1).takes(call(-1, "tools/list"))
    assert not under_way(CALLS + PINGS).takes(call(-1, "ping"))


async def test_what_is_no_request_needs_no_place() -> None:
    cancelled = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 0})
    full = under_way(CALLS + PINGS)
    assert full.takes(cancelled)
    full.note_given(cancelled)
    assert full.takes(call(-1, "ping"))

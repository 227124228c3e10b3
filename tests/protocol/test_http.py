"""What the head of an HTTP request has to say, from 2026-07-28 on: what its body says."""

from base64 import b64encode
from typing import Any

import pytest
from tests.processes import MODERN, MODERN_META

from contexthall.core.catalog import JsonObject
from contexthall.protocol.http import HEADER_MISMATCH, check, is_current
from contexthall.protocol.messages import (
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
)

SCHEMA: JsonObject = {
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "is_dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "where": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
        "ratio": {"type": "number", "x-mcp-header": "Ratio"},
        "odd": {"type": "string", "x-mcp-header": "no token"},
        "listed": {"items": {"type": "string", "x-mcp-header": "Listed"}},
        "true": True,
    }
}


def encoded(value: str) -> str:
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def call(name: object = "tool", **arguments: Any) -> Request:
    return Request(1, "tools/call", {"name": name, "arguments": arguments, "_meta": MODERN_META})


def head(name: str = "tool", method: str = "tools/call", version: str = MODERN, **more: str) -> dict[str, str]:
    mirrored = {f"mcp-param-{key}": value for key, value in more.items()}
    return {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name, **mirrored}


def code(said: dict[str, str], message: Message) -> int:
    """Return the code of the error with which a message is refused; 0 if it is not."""
    try:
        check(said, message, lambda _name: SCHEMA)
    except RpcError as error:
        return error.code
    return 0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (head(), call()),
        (head(encoded("größe")), call("größe")),
        (head(encoded("=?base64?eA==?=")), call("=?base64?eA==?=")),
        (head(region="us-west1"), call(region="us-west1")),
        (head(region=encoded(" x ")), call(region=" x ")),
        (head(count="42"), call(count=42)),
        (head(count="42.0"), call(count=42)),
        (head(count="-7"), call(count=-7.0)),
        (head(dry="true"), call(is_dry=True)),
        (head(city="Ulm"), call(where={"city": "Ulm"})),
        (head(), call(region=None, ratio=0.5, odd="x", listed=["x"], where="no object")),
        (head(unknown="x"), call()),
        (head(method="tools/list"), Request(1, "tools/list", {"_meta": MODERN_META})),
        ({"mcp-protocol-version": MODERN, "mcp-method": "tools/list"}, Request(1, "tools/list", {})),
        ({"mcp-protocol-version": MODERN}, Notification("notifications/cancelled", {})),
        (head(), call(name=None)),
    ],
)
def test_a_head_that_says_what_the_body_says_is_taken(said: dict[str, str], message: Message) -> None:
    assert code(said, message) == 0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, call()),
        (head(version="2025-11-25"), call()),
        (head(method="tools/list"), call()),
        (head(method="TOOLS/CALL"), call()),
        (head(method=encoded("tools/call")), call()),
        (head(method="tools/call, tools/call"), call()),
        (head("other"), call()),
        (head("=?base64?%%?="), call()),
        (head("=?base64?/w==?="), call("ÿ")),
        (head(), call(region="x")),
        (head(region="x"), call()),
        (head(region="x"), call(region="y")),
        (head(region="x"), call(region=["x"])),
        (head(count="1"), call(count=2)),
        (head(count="1e0"), call(count=1)),
        (head(count="1.5"), call(count=1)),
        (head(count="one"), call(count=1)),
        (head(dry="True"), call(is_dry=True)),
        (head(dry="1"), call(is_dry=True)),
        (head(), call(where={"city": "Ulm"})),
    ],
)
def test_a_head_that_says_something_else_is_refused(said: dict[str, str], message: Message) -> None:
    assert code(said, message) == HEADER_MISMATCH


def test_a_version_that_is_not_served_and_an_answer_to_nothing_are_refused() -> None:
    assert code({"mcp-protocol-version": "2030-01-01"}, Notification("x", {})) == UNSUPPORTED_VERSION
    assert code(head(), Response(1, b"{}")) == INVALID_REQUEST


def test_the_head_decides_the_era() -> None:
    assert not is_current({})
    assert not is_current({"mcp-protocol-version": "2025-03-26"})
    assert is_current({"mcp-protocol-version": MODERN})
    assert is_current({"mcp-protocol-version": "bogus"})

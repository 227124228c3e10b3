"""What a client may say: some three hundred short conversations, every method in every era, well-formed and not.

Each is a few lines of bytes. A server is given all of them at once, and its answers are compared as a set, because
calls may be answered in any order.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from contexthall.core.catalog import READ_ONLY, Caller, Capability, Catalog, JsonObject, Tool, ToolResult
from contexthall.core.errors import CacheMissingError

Lines: TypeAlias = tuple[bytes, ...]

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CURRENT = "2026-07-28"
CLIENT = {"name": "raw", "version": "1"}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
ENVELOPE = {VERSION_KEY: CURRENT, CLIENT_KEY: CLIENT, CAPABILITIES_KEY: {}}
_ABSENT: Any = object()


def catalog() -> Catalog:
    """Return the tools that every server of these conversations offers."""
    text = {"type": "object", "additionalProperties": False, "properties": {"text": {"type": "string"}}}

    def echo(arguments: JsonObject, _caller: Caller) -> ToolResult:
        return ToolResult.of_json({"echo": arguments.get("text", "")})

    def missing(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        raise CacheMissingError

    async def progress(_arguments: JsonObject, caller: Caller) -> ToolResult:
        await caller.progress(1, 2, "half-way")
        return ToolResult.of_text("done")

    def declared(name: str, run: Any, **more: Any) -> Tool:
        return Tool(name=name, title=f"The {name}", description=f"Do {name}.", input_schema=text, run=run, **more)

    tools = (
        declared("test.echo", echo, output_schema={"type": "object"}, annotations=READ_ONLY),
        declared("test.missing", missing),
        declared("test.progress", progress),
    )
    return Catalog([Capability("test", guidance="Do test.", tools=tools)])


def request(method: Any, params: Any = _ABSENT, request_id: Any = 1, **more: Any) -> bytes:
    given = {} if params is _ABSENT else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, **given, **more}).encode()


def notification(method: str, params: Any = _ABSENT) -> bytes:
    given = {} if params is _ABSENT else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "method": method, **given}).encode()


def _hello(version: str) -> Lines:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return request("initialize", params, "hello"), notification("notifications/initialized")


_OPENINGS: Mapping[str, Lines] = {
    "unopened": (),
    **{version: _hello(version) for version in (HANDSHAKES[0], HANDSHAKES[-1])},
    CURRENT: (request("server/discover", {"_meta": ENVELOPE}, "hello"),),
}

_ASKED: Mapping[str, tuple[str, Any]] = {
    "ping": ("ping", _ABSENT),
    "ping with params": ("ping", {}),
    "list": ("tools/list", _ABSENT),
    "list with params": ("tools/list", {}),
    "list with a null cursor": ("tools/list", {"cursor": None}),
    "list with a cursor": ("tools/list", {"cursor": "more"}),
    "list with a number as cursor": ("tools/list", {"cursor": 5}),
    "list with unknown params": ("tools/list", {"other": [1]}),
    "call": ("tools/call", {"name": "test.echo", "arguments": {"text": "é😀"}}),
    "call without arguments": ("tools/call", {"name": "test.echo"}),
    "call with null as arguments": ("tools/call", {"name": "test.echo", "arguments": None}),
    "call with a list as arguments": ("tools/call", {"name": "test.echo", "arguments": []}),
    "call with a bad argument": ("tools/call", {"name": "test.echo", "arguments": {"text": 5}}),
    "call with an unknown argument": ("tools/call", {"name": "test.echo", "arguments": {"other": 5}}),
    "call without a name": ("tools/call", {"arguments": {}}),
    "call with a number as name": ("tools/call", {"name": 5}),
    "call without params": ("tools/call", _ABSENT),
    "call of an unknown tool": ("tools/call", {"name": "nope"}),
    "call of a tool that fails": ("tools/call", {"name": "test.missing"}),
    "call with progress": ("tools/call", {"name": "test.progress", "_meta": {"progressToken": "t"}}),
    "call with a number for progress": ("tools/call", {"name": "test.progress", "_meta": {"progressToken": 7}}),
    "call without progress": ("tools/call", {"name": "test.progress"}),
    "call with odd progress": ("tools/call", {"name": "test.progress", "_meta": {"progressToken": [1]}}),
    "call with a list as meta": ("tools/call", {"name": "test.progress", "_meta": []}),
    "discover": ("server/discover", {}),
    "discover without params": ("server/discover", _ABSENT),
    "listen to nothing": ("subscriptions/listen", {}),
    "listen to what is no filter": ("subscriptions/listen", {"notifications": 5}),
    "listen to odd kinds": ("subscriptions/listen", {"notifications": {"toolsListChanged": "x"}}),
    "listen": ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
    "initialize again": ("initialize", {"protocolVersion": CURRENT, "capabilities": {}, "clientInfo": CLIENT}),
    "initialize without params": ("initialize", _ABSENT),
    "prompts": ("prompts/list", {}),
    "prompt": ("prompts/get", {"name": "x"}),
    "resources": ("resources/list", {}),
    "resource": ("resources/read", {"uri": "file:///x"}),
    "templates": ("resources/templates/list", {}),
    "subscribe": ("resources/subscribe", {"uri": "file:///x"}),
    "complete": ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a"}}),
    "log level": ("logging/setLevel", {"level": "info"}),
    "roots": ("roots/list", {}),
    "sampling": ("sampling/createMessage", {}),
    "elicitation": ("elicitation/create", {}),
    "tasks": ("tasks/list", {}),
    "an unknown method": ("tools/lost", {}),
    "an empty method": ("", {}),
    "a notification as a request": ("notifications/initialized", {}),
}

_ENVELOPES: Mapping[str, Any] = {
    "unknown version": {**ENVELOPE, VERSION_KEY: "2031-01-01"},
    "handshake version": {**ENVELOPE, VERSION_KEY: "2025-11-25"},
    "version that is a number": {**ENVELOPE, VERSION_KEY: 5},
    "null as version": {**ENVELOPE, VERSION_KEY: None},
    "no capabilities": {VERSION_KEY: CURRENT, CLIENT_KEY: CLIENT},
    "capabilities that are a list": {**ENVELOPE, CAPABILITIES_KEY: []},
    "no client": {VERSION_KEY: CURRENT, CAPABILITIES_KEY: {}},
    "client that is a text": {**ENVELOPE, CLIENT_KEY: "x"},
    "client without a version": {**ENVELOPE, CLIENT_KEY: {"name": "x"}},
    "no envelope": {},
    "capabilities alone": {CAPABILITIES_KEY: {}},
}

_OFFERS: Mapping[str, Any] = {
    **{version: {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT} for version in HANDSHAKES},
    "newer": {"protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": CLIENT},
    "older": {"protocolVersion": "2023-01-01", "capabilities": {}, "clientInfo": CLIENT},
    "number": {"protocolVersion": 5, "capabilities": {}, "clientInfo": CLIENT},
    "no version": {"capabilities": {}, "clientInfo": CLIENT},
    "no capabilities": {"protocolVersion": "2025-11-25", "clientInfo": CLIENT},
    "no client": {"protocolVersion": "2025-11-25", "capabilities": {}},
    "client without a version": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}},
    "capabilities that are a list": {"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": CLIENT},
    "everything": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}}},
        "clientInfo": {**CLIENT, "title": "Raw", "icons": []},
        "_meta": {"a": 1},
    },
}

_PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
_MALFORMED: Mapping[str, bytes] = {
    "rubbish": b"rubbish",
    "half an object": b'{"jsonrpc":"2.0","id":7,',
    "no UTF-8": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\xff"}}',
    "a NaN": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}',
    "an infinite number": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}',
    "a long integer": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1' + b"0" * 400 + b"}}",
    "deep": b"[" * 5000,
    "a deep param": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + b"[" * 200 + b"]" * 200 + b"}}",
    "many values": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[' + b"0," * 100_001 + b"0]}}",
    "a byte order mark": b"\xef\xbb\xbf" + _PING,
    "an empty batch": b"[]",
    "a batch": b"[" + _PING + b"]",
    "a number": b"5",
    "a text": b'"ping"',
    "null": b"null",
    "an empty object": b"{}",
    "jsonrpc 1.0": b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    "jsonrpc as a number": b'{"jsonrpc":2.0,"id":7,"method":"ping"}',
    "no jsonrpc": b'{"id":"seven","method":"ping"}',
    "no method": b'{"jsonrpc":"2.0","id":7}',
    "a number as method": b'{"jsonrpc":"2.0","id":7,"method":5}',
    "null as method": b'{"jsonrpc":"2.0","id":7,"method":null}',
    "a list as params": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}',
    "a text as params": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}',
    "null as params": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":null}',
    "null as id": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "true as id": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "a fraction as id": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "a whole float as id": b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}',
    "a list as id": b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
    "an object as id": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "an empty id": b'{"jsonrpc":"2.0","id":"","method":"ping"}',
    "a negative id": b'{"jsonrpc":"2.0","id":-1,"method":"ping"}',
    "a long id": b'{"jsonrpc":"2.0","id":1' + b"0" * 30 + b',"method":"ping"}',
    "half an emoji as id": b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}',
    "half an emoji as method": b'{"jsonrpc":"2.0","id":7,"method":"\\ud83d"}',
    "keys of tomorrow": b'{"jsonrpc":"2.0","id":7,"method":"ping","trace":[1]}',
    "two ids": b'{"jsonrpc":"2.0","id":6,"id":7,"method":"ping"}',
    "an answer that nobody waits for": b'{"jsonrpc":"2.0","id":7,"result":{}}',
    "an error that nobody waits for": b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
    "an answer that is none": b'{"jsonrpc":"2.0","id":7,"result":[]}',
    "an error that is none": b'{"jsonrpc":"2.0","id":7,"error":"x"}',
    "an unknown notification": b'{"jsonrpc":"2.0","method":"notifications/unheard"}',
    "a cancellation of nothing": notification("notifications/cancelled", {"requestId": 99}),
    "an odd cancellation": notification("notifications/cancelled", {"requestId": {}}),
    "a cancellation without params": notification("notifications/cancelled"),
    "progress of nothing": notification("notifications/progress", {"progressToken": 1, "progress": 1}),
    "roots that changed": notification("notifications/roots/list_changed"),
    "white space": b"  \t " + _PING + b" \r",
}


def conversations() -> Iterator[tuple[str, Lines]]:
    """Give every conversation with its name."""
    for opening, lines in _OPENINGS.items():
        for name, (method, params) in _ASKED.items():
            yield f"{opening}: {name}", (*lines, request(method, _enveloped(params) if opening == CURRENT else params))
        for name, line in _MALFORMED.items():
            yield f"{opening}: {name}", (*lines, line)
    for name, envelope in _ENVELOPES.items():
        for method in ("server/discover", "tools/list"):
            line = request(method, {"_meta": envelope})
            yield f"envelope, {name}: {method}", (line,)
            yield f"envelope after discover, {name}: {method}", (*_OPENINGS[CURRENT], line)
    for name, offer in _OFFERS.items():
        yield f"offer, {name}", (request("initialize", offer), notification("notifications/initialized"))
    yield "an envelope after a handshake", (*_OPENINGS["2025-11-25"], request("tools/list", {"_meta": ENVELOPE}))
    yield "no envelope after an envelope", (*_OPENINGS[CURRENT], request("tools/list", {}))
    yield "an enveloped handshake", (request("initialize", {**_OFFERS["2025-11-25"], "_meta": ENVELOPE}),)
    yield "a call before initialized", (_hello("2025-11-25")[0], request("tools/list"))


def _enveloped(params: Any) -> Any:
    given = {} if params is _ABSENT else params
    meta = given.get("_meta", {})
    return {**given, "_meta": {**meta, **ENVELOPE} if isinstance(meta, dict) else meta}


def told(output: bytes) -> list[JsonObject]:
    """Return the messages of a server, in an order that does not depend on when each was ready."""
    messages = [json.loads(line) for line in output.splitlines()]
    return sorted(messages, key=lambda message: json.dumps(message, sort_keys=True))

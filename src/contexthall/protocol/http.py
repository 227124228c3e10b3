"""What must the head of an HTTP request say, and which status does an error have?

From 2026-07-28 on, the head repeats what the body says, for those on the way who read no bodies. A head that says
something else, or nothing, is refused: who is on the way would judge one request, and the server answer another.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import TypeAlias

from contexthall.core.catalog import JsonObject
from contexthall.protocol import current, handshake
from contexthall.protocol.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
)

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
_METHOD = "mcp-method"
_NAME = "mcp-name"
STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""By the code of an error, in the current era; every other answer has the status 200."""

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,30}(\.0{1,30})?")
_MIRRORED_TYPES = ("string", "integer", "boolean")

Head: TypeAlias = Mapping[str, str]
"""By their names in lower case; headers that came twice are joined, and so equal to nothing."""


def is_current(head: Head) -> bool:
    """Return whether a request names a version that has no handshake."""
    return VERSION in head and head[VERSION] not in handshake.VERSIONS


def check(head: Head, message: Message, schema_of: Callable[[object], JsonObject]) -> None:
    """Raise RpcError unless a message may be sent so; `schema_of` returns the schema of a tool's arguments."""
    match message:
        case Request(method="tools/call"):
            _check_request(head, message, schema_of(message.params.get("name")))
        case Request():
            _check_request(head, message, {})
        case Response():
            raise RpcError(INVALID_REQUEST, "Invalid request: nothing was asked")
        case Notification():
            if head.get(VERSION) != current.VERSION:
                raise current.unsupported(head.get(VERSION))


def _check_request(head: Head, request: Request, schema: JsonObject) -> None:
    """Raise RpcError unless the head says what the body says."""
    params = request.params
    if current.has_envelope(params):
        _check(VERSION, params["_meta"][current.VERSION_KEY], head.get(VERSION))
    _check(_METHOD, request.method, head.get(_METHOD))
    name = params.get(_NAMED.get(request.method, ""))
    if name is not None:
        _check(_NAME, name, _decoded(head.get(_NAME)))
    for header, path in _mirrored(schema):
        _check(header, _at(params.get("arguments"), path), _decoded(head.get(header)))


def _check(header: str, value: object, told: str | None) -> None:
    if not _agrees(value, told):
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} does not say what the body says")


def _decoded(told: str | None) -> str | None:
    """Return the value of a header, which may be in Base64; None if there is none, or none that can be read."""
    if told is None or not (told.startswith("=?base64?") and told.endswith("?=")):
        return told
    try:
        return base64.b64decode(told[len("=?base64?") : -len("?=")], validate=True).decode("utf-8")
    except ValueError:
        return None


def _mirrored(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the headers that repeat an argument, each with the way to it."""
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(each, Mapping):
            continue
        token = each.get("x-mcp-header")
        if isinstance(token, str) and _TOKEN.fullmatch(token) and each.get("type") in _MIRRORED_TYPES:
            yield f"mcp-param-{token.lower()}", (*path, name)
        yield from _mirrored(each, (*path, name))


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _agrees(value: object, told: str | None) -> bool:
    """Return whether a header tells a value; of one that no header can tell, there must be none."""
    match value:
        case bool():
            return told == str(value).lower()
        case str():
            return told == value
        case int() | float():
            return told is not None and _WHOLE_NUMBER.fullmatch(told) is not None and Decimal(told) == value
        case _:
            return told is None

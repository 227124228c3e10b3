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
from contexthall.protocol import current, handshake, messages
from contexthall.protocol.messages import Message, Notification, Request, RpcError

HEADER_MISMATCH, MISSING_CAPABILITY = -32020, -32021
SESSION, VERSION, _METHOD, _NAME = "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"
_MALFORMED = (messages.PARSE_ERROR, messages.INVALID_REQUEST, messages.INVALID_PARAMS, messages.UNSUPPORTED_VERSION)
STATUSES = {
    **dict.fromkeys((*_MALFORMED, HEADER_MISMATCH, MISSING_CAPABILITY), 400),
    messages.METHOD_NOT_FOUND: 404,
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
    if isinstance(message, Request):
        for header, value in _mirrored(message, schema_of):
            told = head.get(header)
            if not _agrees(value, told if header in {VERSION, _METHOD} else _decoded(told)):
                raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} does not say what the body says")
    elif not isinstance(message, Notification):
        raise RpcError(messages.INVALID_REQUEST, "Invalid request: nothing was asked")
    elif head.get(VERSION) != current.VERSION:
        raise current.unsupported(head.get(VERSION))


def _mirrored(request: Request, schema_of: Callable[[object], JsonObject]) -> Iterator[tuple[str, object]]:
    """Yield the headers that repeat a part of a request, each with that part."""
    params = request.params
    if current.has_envelope(params):
        yield VERSION, params["_meta"][current.VERSION_KEY]
    yield _METHOD, request.method
    name = params.get(_NAMED.get(request.method, ""))
    if name is not None:
        yield _NAME, name
    if request.method == "tools/call":
        yield from _mirrored_arguments(schema_of(name), params.get("arguments"))


def _mirrored_arguments(schema: JsonObject, value: object) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(each, Mapping):
            part = value.get(name) if isinstance(value, Mapping) else None
            token = each.get("x-mcp-header")
            if isinstance(token, str) and _TOKEN.fullmatch(token) and each.get("type") in _MIRRORED_TYPES:
                yield f"mcp-param-{token.lower()}", part
            yield from _mirrored_arguments(each, part)


def _decoded(told: str | None) -> str | None:
    """Return the value of a header, which may be in Base64; None if there is none, or none that can be read."""
    if told is None or not (told.startswith("=?base64?") and told.endswith("?=")):
        return told
    try:
        return base64.b64decode(told[len("=?base64?") : -len("?=")], validate=True).decode("utf-8")
    except ValueError:
        return None


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

"""The headers of an HTTP request, and the status codes of errors.

From 2026-07-28 on, headers repeat parts of the body, for proxies that do not read bodies. A request whose headers
differ from its body, or are missing, is refused: the proxy would judge one request, and the server answer another.
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
STATUSES = {**dict.fromkeys((*_MALFORMED, HEADER_MISMATCH, MISSING_CAPABILITY), 400), messages.METHOD_NOT_FOUND: 404}
"""Error code → status, in the current era; every other answer has the status 200."""

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,30}(\.0{1,30})?")
_MIRRORED_TYPES = ("string", "integer", "boolean")

Head: TypeAlias = Mapping[str, str]
"""Name in lower case → value; repeated headers are joined, and so match no value."""


def is_current(head: Head) -> bool:
    """Return whether a request names a version without a handshake."""
    return VERSION in head and head[VERSION] not in handshake.VERSIONS


def check(head: Head, message: Message, schema_of: Callable[[object], JsonObject]) -> None:
    """Raise RpcError unless the headers match the message; `schema_of` returns the input schema of a tool."""
    if isinstance(message, Request):
        for header, value in _mirrored(message, schema_of):
            given = head.get(header)
            if not _matches(value, given if header in {VERSION, _METHOD} else _decoded(given)):
                raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} does not say what the body says")
    elif not isinstance(message, Notification):
        raise RpcError(messages.INVALID_REQUEST, "Invalid request: nothing was asked")
    elif head.get(VERSION) != current.VERSION:
        raise current.unsupported(head.get(VERSION))


def _mirrored(request: Request, schema_of: Callable[[object], JsonObject]) -> Iterator[tuple[str, object]]:
    """Yield each header that repeats a part of a request, with that part."""
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


def _decoded(header: str | None) -> str | None:
    """Decode the value of a header, which may be in Base64; None if it is missing or invalid."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[len("=?base64?") : -len("?=")], validate=True).decode("utf-8")
    except ValueError:
        return None


def _matches(value: object, header: str | None) -> bool:
    """Return whether a header has a value; for values that no header can have, it must be missing."""
    match value:
        case bool():
            return header == str(value).lower()
        case str():
            return header == value
        case int() | float():
            return header is not None and _WHOLE_NUMBER.fullmatch(header) is not None and Decimal(header) == value
        case _:
            return header is None

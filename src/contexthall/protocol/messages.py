"""JSON-RPC messages: parsing and encoding.

Parsing looks at the top level of a message, and below that into `params` alone: a `result` stays the bytes that were
received, so that it can be passed on unchanged.
"""

from typing import Any, TypeAlias, cast

import msgspec

from contexthall.core import limits, raw_json, wire
from contexthall.core.catalog import JsonObject
from contexthall.core.raw_json import encode

Id: TypeAlias = str | int
Result: TypeAlias = JsonObject | bytes
"""An object, or its JSON."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
REQUEST_CANCELLED = -32800  # as other protocols have it: in MCP what is cancelled is not answered, but HTTP answers all

_VERSION = "2.0"
_MEMBERS = ("jsonrpc", "id", "method", "params", "result", "error")


class Request(msgspec.Struct, frozen=True):
    """A message that is answered once."""

    id: Id
    method: str
    params: JsonObject


class Notification(msgspec.Struct, frozen=True):
    """A message without an answer."""

    method: str
    params: JsonObject


class Response(msgspec.Struct, frozen=True):
    """The answer to a request: a result, which is the JSON of an object, or an error."""

    id: Id
    result: bytes = b""
    error: JsonObject | None = None


Message: TypeAlias = Request | Notification | Response


class RpcError(Exception):
    """The error that a request is answered with; `error` is its JSON."""

    def __init__(
        self,
        code: int,
        message: str,
        data: object = None,
        *,
        whole: JsonObject | None = None,
        request_id: Id | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.error = whole or {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.request_id = request_id
        """Which request it answers, if that is known."""


def parse_message(line: bytes | None) -> Message:
    """Parse a client's message, or raise RpcError; None stands for a line that is too long."""
    if line is None:
        raise RpcError(INVALID_REQUEST, f"Line longer than {limits.CLIENT_MESSAGE_BYTES} bytes")
    if wire.has_too_many_values(line):
        raise RpcError(PARSE_ERROR, f"Parse error: more than {limits.JSON_VALUES} values")
    try:
        value = raw_json.parse(line)
    except ValueError:
        raise RpcError(PARSE_ERROR, "Parse error") from None
    return _to_message(value)


def parse_server_message(line: bytes) -> Message:
    """Parse a server's message but for its result; ValueError if it is not a message, or exceeds a limit.

    A malformed response is returned as an error response, so that its request does not wait for a timeout.
    """
    top = raw_json.top_level(line, is_utf8=False)
    raw_json.check_limits(b" ".join(bytes(top[key]) for key in _MEMBERS if key in top and key != "result"))
    value = {
        key: raw_json.on_one_line(top[key]) if key == "result" else raw_json.parse(bytes(top[key]))
        for key in _MEMBERS
        if key in top  # nobody looks at others, however deep they are
    }
    try:
        return _to_message(value)
    except RpcError as malformed:
        if malformed.request_id is None or not top.keys() & {"result", "error"}:
            raise ValueError("no message") from None
        error = value.get("error")
        detail = error.get("message") if isinstance(error, dict) else error
        message = detail if isinstance(detail, str) and detail else "its answer is malformed"
        return Response(malformed.request_id, error={"code": INTERNAL_ERROR, "message": message})


def parse_result(result: bytes) -> dict[str, Any]:
    """Parse a server's result; ValueError if it exceeds a limit. One that is not an object is empty."""
    raw_json.check_limits(result)
    value = raw_json.parse(result)
    return value if isinstance(value, dict) else {}


def request_line(request_id: Id, method: str, params: JsonObject) -> bytes:
    return encode({"jsonrpc": _VERSION, "id": request_id, "method": method, "params": params}) + b"\n"


def notification_line(method: str, params: JsonObject | None = None) -> bytes:
    message = {"jsonrpc": _VERSION, "method": method}
    return encode(message if params is None else {**message, "params": params}) + b"\n"


def result_line(request_id: Id, result: Result) -> bytes:
    encoded = result if isinstance(result, bytes) else encode(result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encode(request_id), encoded)


def error_line(request_id: Id | None, error: JsonObject) -> bytes:
    return encode({"jsonrpc": _VERSION, "id": request_id, "error": error}) + b"\n"


def is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _to_message(value: object) -> Message:
    if isinstance(value, list):
        raise RpcError(INVALID_REQUEST, "Batches are not supported")
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "Invalid request")
    request_id = cast("Id", value["id"]) if is_id(value.get("id")) else None
    method, params = value.get("method"), value.get("params")
    if value.get("jsonrpc") == _VERSION and isinstance(method, str) and isinstance(params, dict | None):
        if "id" not in value:
            return Notification(method, params or {})
        if request_id is None:
            raise RpcError(INVALID_REQUEST, "Invalid request: the id must be a string or an integer")
        return Request(request_id, method, params or {})
    if value.get("jsonrpc") == _VERSION and "method" not in value and request_id is not None:
        match value:
            case {"result": result} if (encoded := result if isinstance(result, bytes) else encode(result))[:1] == b"{":
                return Response(request_id, encoded)
            case {"error": {"code": int(code), "message": str()} as error} if not isinstance(code, bool):
                return Response(request_id, error=error)
    raise RpcError(INVALID_REQUEST, "Invalid request", request_id=request_id)

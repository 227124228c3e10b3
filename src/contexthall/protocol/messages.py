"""What is a JSON-RPC message, as bytes and as a value?

Reading looks at the top level of a message, and below that into `params` alone: a `result` stays the bytes that it came
in, so that it can be passed on as it is. msgspec reads and writes, being the only one of the libraries measured that
can leave a part unread; what it refuses and JSON allows, a lone surrogate above all, is read and written by `json`.
"""

import json
from typing import Any, TypeAlias, cast

import msgspec

from contexthall.core import limits, wire
from contexthall.core.catalog import JsonObject

Id: TypeAlias = str | int
Result: TypeAlias = JsonObject | bytes
"""A value, or the JSON that spells one."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
REQUEST_CANCELLED = -32800

_TOP = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANYTHING = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder(enc_hook=dict)
_VERSION = "2.0"
_BAD_ID = "Invalid request: the id must be a string or an integer"


class Request(msgspec.Struct, frozen=True):
    """A question, which is answered once."""

    id: Id
    method: str
    params: JsonObject


class Notification(msgspec.Struct, frozen=True):
    """A message that is not answered."""

    method: str
    params: JsonObject


class Response(msgspec.Struct, frozen=True):
    """The answer to a question: a result, which is the JSON of an object, or an error."""

    id: Id
    result: bytes = b""
    error: JsonObject | None = None


Message: TypeAlias = Request | Notification | Response


class RpcError(Exception):
    """The error that a request is answered with."""

    def __init__(self, code: int, message: str, data: object = None, *, whole: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.error = whole or {"code": code, "message": message, **({} if data is None else {"data": data})}


class MalformedMessageError(RpcError):
    """What came is no message; `request_id` is whom to answer, as far as that can be read."""

    def __init__(self, code: int, message: str, request_id: Id | None = None) -> None:
        super().__init__(code, message)
        self.request_id = request_id


class UnreadMessageError(ValueError):
    """A message of another server is too much to read."""


def read(line: bytes | None) -> Message:
    """Read a client's message, or raise MalformedMessageError; None stands for a line that is too long."""
    if line is None:
        raise MalformedMessageError(INVALID_REQUEST, f"Line longer than {limits.CLIENT_MESSAGE_BYTES} bytes")
    if wire.has_too_many_values(line):
        raise MalformedMessageError(PARSE_ERROR, f"Parse error: more than {limits.JSON_VALUES} values")
    try:
        value = parse(line)
    except ValueError:
        raise MalformedMessageError(PARSE_ERROR, "Parse error") from None
    return _message(value)


def read_unparsed(line: bytes) -> Message:
    """Read a server's message, whose result stays as it is; ValueError if it is none.

    An answer that is malformed is an error in its place, so that nobody waits for it.
    """
    value = _parsed_but_for_result(line)
    try:
        return _message(value)
    except MalformedMessageError as malformed:
        if malformed.request_id is None or not isinstance(value, dict) or not value.keys() & {"result", "error"}:
            raise ValueError("no message") from None
        error = value.get("error")
        said = error.get("message") if isinstance(error, dict) else error
        message = said if isinstance(said, str) and said else "its answer is malformed"
        return Response(malformed.request_id, error={"code": INTERNAL_ERROR, "message": message})


def parse(data: bytes) -> object:
    """Read JSON as `wire.parse` does, with lone surrogates and exact integers; ValueError if it is none."""
    if wire.is_deep(data):
        raise ValueError("nested too deeply")
    try:
        return _ANYTHING.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return wire.parse(data, lone_surrogates=True, exact=True)


def top_level(result: bytes) -> dict[str, Any]:
    """Return the top level of a result, each part of it unparsed; ValueError if the result is no object."""
    try:
        return dict(_TOP.decode(result))
    except (msgspec.DecodeError, RecursionError):
        value = _parsed_leniently(result)
        if not isinstance(value, dict):
            raise ValueError("no object") from None
        return {key: msgspec.Raw(spell(part)) for key, part in value.items()}


def spell(value: object) -> bytes:
    """Spell a value as JSON on one line; this cannot fail."""
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):  # only an escape carries a lone surrogate
        return wire.escaped(value).encode("ascii")


def request_line(request_id: Id, method: str, params: JsonObject) -> bytes:
    return spell({"jsonrpc": _VERSION, "id": request_id, "method": method, "params": params}) + b"\n"


def notification_line(method: str, params: JsonObject | None = None) -> bytes:
    given = {} if params is None else {"params": params}
    return spell({"jsonrpc": _VERSION, "method": method, **given}) + b"\n"


def result_line(request_id: Id, result: Result) -> bytes:
    spelt = result if isinstance(result, bytes) else spell(result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (spell(request_id), spelt)


def error_line(request_id: Id | None, error: JsonObject) -> bytes:
    return spell({"jsonrpc": _VERSION, "id": request_id, "error": error}) + b"\n"


def is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _message(value: object) -> Message:
    if isinstance(value, list):
        raise MalformedMessageError(INVALID_REQUEST, "Batches are not supported")
    if not isinstance(value, dict):
        raise MalformedMessageError(INVALID_REQUEST, "Invalid request")
    request_id = cast("Id", value["id"]) if is_id(value.get("id")) else None
    method, params = value.get("method"), value.get("params")
    if value.get("jsonrpc") == _VERSION and isinstance(method, str) and isinstance(params, dict | None):
        if "id" not in value:
            return Notification(method, params or {})
        if request_id is None:
            raise MalformedMessageError(INVALID_REQUEST, _BAD_ID)
        return Request(request_id, method, params or {})
    if value.get("jsonrpc") == _VERSION and "method" not in value and request_id is not None:
        match value:
            case {"result": result} if (spelt := result if isinstance(result, bytes) else spell(result))[:1] == b"{":
                return Response(request_id, spelt)
            case {"error": {"code": int(code), "message": str()} as error} if not isinstance(code, bool):
                return Response(request_id, error=error)
    raise MalformedMessageError(INVALID_REQUEST, "Invalid request", request_id)


def _parsed_but_for_result(line: bytes) -> object:
    """Read JSON, within limits; the `result` of an object stays bytes."""
    try:
        top = _TOP.decode(line)
        if not line.isascii():
            line.decode("utf-8")  # msgspec does not look into what it leaves unread
        if "result" not in top:
            _check_size(line)
        return {key: _on_one_line(part) if key == "result" else _ANYTHING.decode(part) for key, part in top.items()}
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        _check_size(line)
        return _parsed_leniently(line)


def _on_one_line(part: msgspec.Raw) -> bytes:
    # A carriage return can only stand between two tokens; some readers would take it for the end of the line.
    return bytes(part).replace(b"\r", b" ").replace(b"\n", b" ")


def _check_size(line: bytes) -> None:
    if wire.has_too_many_values(line, limits.MEMBER_MESSAGE_VALUES):
        raise UnreadMessageError(f"it holds more than {limits.MEMBER_MESSAGE_VALUES} values")
    if wire.is_deep(line):
        raise UnreadMessageError("it is nested too deeply")


def _parsed_leniently(line: bytes) -> object:
    """Read what another server meant: a number that JSON does not have is null. ValueError if it is no JSON."""
    try:
        return json.loads(line, parse_int=wire.integer, parse_constant=wire.nothing)
    except RecursionError:
        raise ValueError("nested too deeply") from None

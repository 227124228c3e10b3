"""How does a line of bytes become a JSON-RPC message, and a message a line? Pure."""

import mcp_types as types
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from contexthall.core import limits, wire
from contexthall.core.wire import has_too_many_values


class RejectedLineError(Exception):
    """A line that is no message; `reply` is what the client is told."""

    def __init__(self, code: int, message: str, request_id: str | int | None = None) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.reply = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def decode(line: bytes | None) -> types.JSONRPCMessage:
    """Read a line as a message, or raise RejectedLineError with the answer that JSON-RPC asks for."""
    if line is None:
        raise RejectedLineError(types.INVALID_REQUEST, f"Line longer than {limits.CLIENT_MESSAGE_BYTES} bytes")
    if has_too_many_values(line):
        raise RejectedLineError(types.PARSE_ERROR, f"Parse error: more than {limits.JSON_VALUES} values")
    try:
        value = wire.parse(line, lone_surrogates=True, exact=True)
    except ValueError:
        raise RejectedLineError(types.PARSE_ERROR, "Parse error") from None
    if isinstance(value, list):
        raise RejectedLineError(types.INVALID_REQUEST, "Batches are not supported")
    if not isinstance(value, dict):
        raise RejectedLineError(types.INVALID_REQUEST, "Invalid request")
    request_id = value.get("id")
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        known_id = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
        raise RejectedLineError(types.INVALID_REQUEST, "Invalid request", known_id) from None
    if isinstance(message, types.JSONRPCNotification) and "id" in value:
        raise RejectedLineError(types.INVALID_REQUEST, "Invalid request: the id must be a string or an integer")
    return message


def encode(message: types.JSONRPCMessage) -> bytes:
    """Spell a message as a line; this cannot fail."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
    except PydanticSerializationError:  # a lone surrogate: only an escape can carry it
        return wire.escaped(message.model_dump(by_alias=True, exclude_unset=True)).encode("ascii") + b"\n"

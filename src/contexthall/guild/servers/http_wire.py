"""How are messages carried to a server over HTTP? By the SDK's client, which is a transport here and nothing else.

What it says in the server's place is understood here, and nowhere else: each of its texts has a test.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.guild.servers.transport import TOO_LARGE, first_error
from contexthall.protocol import current
from contexthall.protocol.client import NOT_READ
from contexthall.protocol.messages import Message, Notification, Request, Response, parse, spell

# What the SDK logs of a server is in its errors as well, where values of variables are taken out.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

_FIRST_BAD_STATUS = 300


# What the SDK says in the server's place: an event is larger than we read, the answer ended before it was complete, the
# server does not know the session, what came over HTTP is no MCP answer. A server may answer with the same codes.
_OVERSIZED = f" exceeded the {limits.MEMBER_MESSAGE_BYTES} byte limit."
_INCOMPLETE = "SSE stream "
_FORGOTTEN = ("Session terminated", "Session not found")
_NO_ANSWER = (
    "Server returned an error response",
    "Unexpected content type",
    "Failed to parse ",
    "Redirect",
    "server answered a request with 202",
)


class HttpError(OSError):
    """A server could not be reached; `name` is the HTTP client's name for why."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.name = type(error).__name__


class HttpWire:
    """The SDK's streams, as messages."""

    def __init__(self) -> None:
        self.version = ""
        self._status = 0
        """The status of the last HTTP answer that was none of success."""
        self._streams: Any = None

    @asynccontextmanager
    async def opened(
        self, url: str, headers: Mapping[str, str], tool_seconds: float, *, uses_proxy: bool
    ) -> "AsyncIterator[HttpWire]":
        """Open the way to a server; HttpError if it cannot be reached."""
        # How long an answer may take is counted elsewhere; here only what nobody waits for any more has to end.
        patience = httpx2.Timeout(limits.CONNECT_SECONDS, read=limits.READ_SECONDS + tool_seconds)
        most = limits.MEMBER_MESSAGE_BYTES
        try:
            async with (
                httpx2.AsyncClient(
                    headers={"Accept-Encoding": "identity", **headers},
                    timeout=patience,
                    trust_env=uses_proxy,
                    event_hooks={"response": [self._note_response]},
                ) as client,
                streamable_http_client(url, http_client=client, max_sse_event_size=most) as self._streams,
            ):
                yield self
        except* httpx2.HTTPError as group:
            raise HttpError(first_error(group)) from None

    def failure(self, message: str) -> MemberError | None:
        """Return what the SDK's words mean; None for words that are the server's own."""
        if message.endswith(_OVERSIZED):
            return MemberError(f"{NOT_READ}{TOO_LARGE}")
        if message.startswith(_INCOMPLETE):
            return MemberError("the server's answer ended before it was complete", more=message)
        if message.startswith(_FORGOTTEN):
            return MemberError("the server has forgotten the session", can_repeat=True)
        if message.startswith(_NO_ANSWER):
            told = f"answered with HTTP status {self._status}" if self._status else "gave no MCP answer over HTTP"
            return MemberError(f"the server {told}", more=_without_input(message))
        return None

    async def messages(self) -> AsyncIterator[Message]:
        async for item in self._streams[0]:
            if isinstance(item, SessionMessage) and (message := converted(item.message)) is not None:
                yield message

    async def write(self, line: bytes) -> None:
        value = cast("dict[str, Any]", parse(line))
        headers = self._headers(value.get("method"), value.get("params") or {})
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        await self._streams[1].send(SessionMessage(jsonrpc_message_adapter.validate_python(value), metadata))

    def _headers(self, method: str | None, params: JsonObject) -> dict[str, str]:
        """Say in the head what the body says, as each era wants it."""
        if method is None or not current.has_envelope(params):
            return {MCP_PROTOCOL_VERSION_HEADER: self.version} if self.version and method is not None else {}
        name = {MCP_NAME_HEADER: encode_header_value(params["name"])} if "name" in params else {}
        return {MCP_PROTOCOL_VERSION_HEADER: current.VERSION, MCP_METHOD_HEADER: method, **name}

    async def _note_response(self, response: httpx2.Response) -> None:
        if response.status_code >= _FIRST_BAD_STATUS:
            self._status = response.status_code
        if not response.headers.get("content-type", "").startswith("text/event-stream"):  # whose events are bounded
            response.stream = _BoundedBody(response)


def _without_input(message: str) -> str:
    """Return what the SDK says, without the input that it quotes: in parts, in which no value is recognised."""
    return message.partition(":")[0] if message.startswith("Failed to parse ") else message


def converted(message: types.JSONRPCMessage) -> Message | None:
    """Return a message of the SDK as one of ours; None for an error that answers nothing."""
    match message:
        case types.JSONRPCRequest():
            return Request(message.id, message.method, message.params or {})
        case types.JSONRPCNotification():
            return Notification(message.method, message.params or {})
        case types.JSONRPCResponse():
            return Response(message.id, spell(message.result))
        case types.JSONRPCError(id=None):
            return None
        case types.JSONRPCError():
            return Response(cast("int", message.id), error=message.error.model_dump(by_alias=True, exclude_none=True))


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer over HTTP, as far as it may go; of what is beyond that the SDK tells whoever asked."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        self._is_packed = response.headers.get("content-encoding", "identity") != "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError(f"{NOT_READ}it is compressed, though nobody asked for that")
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > limits.MEMBER_MESSAGE_BYTES:
                raise httpx2.StreamError(f"{NOT_READ}{TOO_LARGE}")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()

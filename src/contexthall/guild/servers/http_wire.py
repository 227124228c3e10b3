"""How are messages carried to a server over HTTP? By the SDK's client, which is a transport here and nothing else.

What it says in the server's place is understood here, and nowhere else: each of its texts has a test.
"""

import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from contexthall.core import limits
from contexthall.core.errors import MemberError
from contexthall.core.raw_json import encode, parse
from contexthall.guild.servers.process import MemberProcess
from contexthall.guild.servers.transport import Endpoint, Wire, decoded
from contexthall.guild.servers.unanswered import NOT_READ, TOO_LARGE, Unanswered
from contexthall.protocol import current
from contexthall.protocol.client import ClientRole
from contexthall.protocol.messages import Message, Response

# What the SDK logs of a server is in its errors as well, where values of variables are taken out.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

# What the SDK says in the server's place: an answer is larger than we read, or packed; it ended before it was complete;
# the server does not know the session; what came over HTTP is no MCP answer. A server may answer with the same codes.
_OVERSIZED = f" exceeded the {limits.MEMBER_MESSAGE_BYTES} byte limit."
_PACKED = "it is compressed, though nobody asked for that"
_INCOMPLETE = "SSE stream "
_FORGOTTEN = ("Session terminated", "Session not found")
_NO_ANSWER = (
    "Server returned an error response",
    "Unexpected content type",
    "Failed to parse ",
    "Redirect",
    "server answered a request with 202",
)


class HttpWire:
    """The SDK's streams, as messages."""

    def __init__(self, role: ClientRole) -> None:
        self._role = role
        self._status = 0
        """Of the last answer to a message that was no success; a stream for changes may be refused."""

    @asynccontextmanager
    async def opened(self, endpoint: Endpoint) -> AsyncIterator[Wire]:
        """Open the way to a server, once it listens."""
        if endpoint.process is not None:
            await endpoint.process.wait_until_it_listens()
        client = httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **endpoint.headers},
            # How long an answer may take is counted elsewhere; here only what nobody waits for any more has to end.
            timeout=httpx2.Timeout(limits.CONNECT_SECONDS, read=limits.READ_SECONDS + endpoint.tool_seconds),
            # A proxy leads out of this machine; what the hall started is on it.
            trust_env=endpoint.process is None,
            event_hooks={"request": [partial(_check_request, endpoint.process)], "response": [self._note_response]},
        )
        url, largest = endpoint.url, limits.MEMBER_MESSAGE_BYTES
        async with client, streamable_http_client(url, http_client=client, max_sse_event_size=largest) as streams:
            yield Wire(self._messages(streams[0]), partial(self._write, streams[1].send))

    async def _messages(self, incoming: AsyncIterable[object]) -> AsyncIterator[Message]:
        async for item in incoming:
            if isinstance(item, SessionMessage) and (message := self._message(item.message)) is not None:
                yield message

    async def _write(self, send: Callable[[SessionMessage], Awaitable[None]], line: bytes) -> None:
        value = cast("dict[str, Any]", parse(line))
        params = value.get("params") or {}
        # The head says what the body says, as each era wants it.
        head = {MCP_PROTOCOL_VERSION_HEADER: self._role.version} if self._role.version else {}
        if current.has_envelope(params):
            head = {MCP_PROTOCOL_VERSION_HEADER: current.VERSION, MCP_METHOD_HEADER: value["method"]}
            head |= {MCP_NAME_HEADER: encode_header_value(params["name"])} if "name" in params else {}
        message = jsonrpc_message_adapter.validate_python(value)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # its end says why
            await send(SessionMessage(message, ClientMessageMetadata(headers=head)))

    def _message(self, said: types.JSONRPCMessage) -> Message | None:
        if isinstance(said, types.JSONRPCResponse):
            return Response(said.id, encode(said.result))
        if isinstance(said, types.JSONRPCError) and isinstance(said.id, int):
            words = said.error.message
            if failure := failure_said(words, self._status):
                return Unanswered(said.id, failure=failure, is_cut_off=words.startswith(_INCOMPLETE))
        return decoded(encode(said.model_dump(by_alias=True, exclude_unset=True)))

    async def _note_response(self, response: httpx2.Response) -> None:
        if not response.is_success and response.request.method == "POST":
            self._status = response.status_code
        if not response.headers.get("content-type", "").startswith("text/event-stream"):  # whose events are bounded
            response.stream = _BoundedBody(response)


async def _check_request(process: MemberProcess | None, request: httpx2.Request) -> None:
    """Send nothing, headers least of all, to whoever listens in the place of a server that has ended."""
    if process is not None and process.ended.done():
        raise httpx2.ConnectError("the server has ended")
    if request.method == "DELETE":  # a goodbye, which holds up nobody for long
        request.extensions["timeout"] = httpx2.Timeout(limits.CONNECTION_GRACE_SECONDS).as_dict()


def failure_said(message: str, status: int = 0) -> MemberError | None:
    """Return what the SDK's words mean; None for words that are the server's own."""
    if message.endswith(_OVERSIZED):
        return MemberError(f"{NOT_READ}{TOO_LARGE}")
    if message.endswith(_PACKED):
        return MemberError(f"{NOT_READ}{_PACKED}")
    if message.startswith(_INCOMPLETE):
        return MemberError("the server's answer ended before it was complete", more=message)
    if message.startswith(_FORGOTTEN):
        return MemberError("the server has forgotten the session", can_repeat=True)
    if message.startswith(_NO_ANSWER):
        told = f"answered with HTTP status {status}" if status else "gave no MCP answer over HTTP"
        # The SDK quotes the input in parts, in which no value is recognised.
        more = message.partition(":")[0] if message.startswith("Failed to parse ") else message
        return MemberError(f"the server {told}", more=more)
    return None


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer over HTTP, as far as it may go; of what is beyond that the SDK tells whoever asked."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        self._is_packed = response.headers.get("content-encoding", "identity") != "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError(_PACKED)
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > limits.MEMBER_MESSAGE_BYTES:
                raise httpx2.StreamError(_OVERSIZED)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()

"""How does the hall speak MCP over HTTP?

The SDK's Streamable HTTP, both protocol eras, bounded: so many sessions, so large a message, so long an idleness. What
a client no longer waits for, because it hung up, is cancelled. Calls that are under way when the hall ends get a moment
to finish; streams that would never end by themselves are ended.
"""

import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from contexthall.core import limits, wire
from contexthall.core.wire import has_too_many_values
from contexthall.faces.mcp.sdk_server import SdkServer
from contexthall.faces.mcp.sessions import Sessions

_SESSION = "mcp-session-id"
_OF_ONE_MESSAGE = {
    *(b"accept", b"content-length", b"content-type", b"transfer-encoding"),
    *(b"mcp-protocol-version", b"mcp-session-id", b"mcp-method", b"mcp-name", b"last-event-id"),
}
_METHODS = "DELETE, GET, POST"
_WRONG_METHOD = 405
_OPENED = 200
_ENDED = {200, 404}
_PING = {"jsonrpc": "2.0", "method": "ping"}
_UNASKED = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]


class HttpEndpoint:
    """An ASGI application that serves MCP; it can be asked only while `running` is entered.

    Whoever serves it judges Host and Origin, on this path as on every other.
    """

    def __init__(self, server: SdkServer, *, most_sessions: int = limits.HTTP_SESSIONS) -> None:
        self._server = server
        self._standing: set[anyio.CancelScope] = set()
        self._sessions = Sessions(most_sessions, time.monotonic)
        self._large = anyio.Semaphore(limits.LARGE_BODIES)
        self._manager = StreamableHTTPSessionManager(
            app=server,
            json_response=False,  # a single JSON answer could carry no progress
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            session_idle_timeout=limits.SESSION_IDLE_SECONDS,
            max_request_body_size=limits.CLIENT_MESSAGE_BYTES,
            max_sessions=most_sessions,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """While this is entered, clients are served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id = Headers(scope=scope).get(_SESSION, "")
        with self._sessions.used(session_id):
            if scope["method"] == "GET":
                await self._stand(scope, receive, send)
            elif scope["method"] == "POST":
                await self._answer(scope, receive, send, session_id)
            elif scope["method"] == "DELETE":
                answer = _TrackedResponse(send)
                await self._manager.handle_request(scope, receive, answer)
                if answer.status in _ENDED:
                    self._sessions.note_ended(session_id)
            else:  # which would open a session that nobody can use
                await _refusal("Method not allowed", types.INVALID_REQUEST, _WRONG_METHOD)(scope, receive, send)

    def end_streams(self) -> None:
        """End whatever a client holds open only to hear of changes."""
        self._server.end_subscriptions()
        for standing in tuple(self._standing):
            standing.cancel()

    async def _stand(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a client listen, until it is gone or the hall ends."""
        answer = _TrackedResponse(send)
        with anyio.CancelScope() as standing:
            self._standing.add(standing)
            try:
                await self._manager.handle_request(scope, receive, answer)
            finally:
                self._standing.discard(standing)
        await answer.finish()

    async def _answer(self, scope: Scope, receive: Receive, send: Send, session_id: str) -> None:
        """Let the SDK answer a message, unless it is not worth reading."""
        if int(Headers(scope=scope).get("content-length", "0")) > limits.CLIENT_MESSAGE_BYTES:
            await self._manager.handle_request(scope, receive, send)  # which says so, and waits for none of it
            return
        turn = _LargeBodySlot(self._large)
        try:
            await self._answer_in_turn(scope, receive, _TrackedResponse(send, turn.end), session_id, turn)
        finally:
            turn.end()

    async def _answer_in_turn(
        self, scope: Scope, receive: Receive, answer: "_TrackedResponse", session_id: str, turn: "_LargeBodySlot"
    ) -> None:
        request = await _HttpMessage.read(receive, turn)
        if request.was_abandoned():
            return
        if has_too_many_values(request.body):
            await _refusal(f"Parse error: more than {limits.JSON_VALUES} values")(scope, receive, answer)
            return
        if wire.is_deep(request.body):
            await _refusal("Parse error")(scope, receive, answer)
            return
        if not session_id:
            await self._open(scope, request, answer)
            return
        if request.is_ping(Headers(scope=scope)) and not self._sessions.is_due(session_id):
            # It is asked where everybody else waits for a turn, so it is answered before.
            await _pong(request, session_id)(scope, receive, answer)
            return
        await self._manager.handle_request(scope, request.receive, answer)
        if answer.is_open and request.was_abandoned():
            await self._cancel(scope, request)

    async def _open(self, scope: Scope, request: "_HttpMessage", answer: "_TrackedResponse") -> None:
        """Let the SDK answer a message of no session, which may open one."""
        with self._sessions.opening():
            await self._make_room(scope, request)
            await self._manager.handle_request(scope, request.receive, answer)
        if answer.session_id:
            self._sessions.note_opened(answer.session_id)

    async def _make_room(self, scope: Scope, request: "_HttpMessage") -> None:
        """End the session that is missed least, if this message opens one and there are too many."""
        while (missed_least := self._sessions.to_end()) is not None and request.message.get("method") == "initialize":
            self._sessions.note_ended(missed_least)
            await self._say_unasked(scope, "DELETE", missed_least)

    async def _cancel(self, scope: Scope, request: "_HttpMessage") -> None:
        """Cancel what a client that hung up had asked for: there is no way left to give it the answer."""
        cancelled = {"requestId": request.message.get("id"), "reason": "The client hung up"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
        with anyio.CancelScope(shield=True):
            await self._say_unasked(scope, "POST", Headers(scope=scope)[_SESSION], wire.compact(message).encode())

    async def _say_unasked(self, scope: Scope, method: str, session_id: str, body: bytes = b"") -> None:
        """Say something to the SDK in the place of a client."""
        kept = [(name, value) for name, value in scope["headers"] if name not in _OF_ONE_MESSAGE]
        headers = [*kept, (_SESSION.encode(), session_id.encode("latin-1")), *_UNASKED]
        said = {**scope, "method": method, "headers": headers}
        await self._manager.handle_request(said, _HttpMessage(body).receive, _nobody)


class _LargeBodySlot:
    """The turn of a large message, which stands in memory several times until its answer begins."""

    def __init__(self, places: anyio.Semaphore) -> None:
        self._places = places
        self._has_begun = False

    async def begin(self) -> None:
        """Wait until few large messages are worked on."""
        if not self._has_begun:
            await self._places.acquire()
            self._has_begun = True

    def end(self) -> None:
        if self._has_begun:
            self._has_begun = False
            self._places.release()


class _HttpMessage:
    """A message of a client, read whole, and whether the client still waits for the answer."""

    def __init__(self, body: bytes, receive: Receive | None = None) -> None:
        self.body = body
        self._is_abandoned = False
        self._receive = receive
        self._unread: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    @classmethod
    async def read(cls, receive: Receive, turn: _LargeBodySlot) -> "_HttpMessage":
        """Read a message, a large one in its turn; of one that is too large only so much as shows that it is."""
        body, more = bytearray(), True
        while more and len(body) <= limits.CLIENT_MESSAGE_BYTES:
            part = await receive()
            if part["type"] == "http.disconnect":
                abandoned = cls(b"")
                abandoned._is_abandoned = True
                return abandoned
            body += part.get("body", b"")
            more = part.get("more_body", False)
            if len(body) >= limits.LARGE_BODY_BYTES:
                await turn.begin()
        return cls(bytes(body), receive)

    @property
    def message(self) -> dict[str, Any]:
        """What was sent, if it is an object."""
        try:
            value = wire.parse(self.body, lone_surrogates=True)
        except ValueError:
            value = None
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def is_ping(self, headers: Headers) -> bool:
        """Return whether a client of the handshake era only asks, and in the right way, whether the hall is there."""
        if len(self.body) > limits.PING_BYTES or b"ping" not in self.body:
            return False
        message, version = self.message, headers.get("mcp-protocol-version")
        return (
            message.keys() <= _PING.keys() | {"id", "params"}
            and message.items() >= _PING.items()
            and isinstance(message.get("id"), str | int)
            and not isinstance(message.get("id"), bool)
            and isinstance(message.get("params", {}), dict)
            and all(kind in headers.get("accept", "") for kind in ("application/json", "text/event-stream"))
            and headers.get("content-type") == "application/json"
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        )

    async def receive(self) -> Message:
        """Return the message once, and then word of the client."""
        if self._unread:
            return self._unread.popleft()
        if self._receive is None:
            await anyio.sleep_forever()
        heard = await cast("Receive", self._receive)()
        self._is_abandoned = self._is_abandoned or heard["type"] == "http.disconnect"
        return heard

    def was_abandoned(self) -> bool:
        """Return whether the client has hung up."""
        return self._is_abandoned


class _TrackedResponse:
    """Passes an answer on, and knows whether its end is missing."""

    def __init__(self, send: Send, begins: Callable[[], None] = lambda: None) -> None:
        self._send = send
        self._begins = begins
        self.is_open = False
        self.session_id = ""
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begins()
            headers, self.status = Headers(raw=message["headers"]), message["status"]
            self.session_id = headers.get(_SESSION, "") if message["status"] == _OPENED else ""
        await self._send(message)
        self.is_open = message["type"] == "http.response.start" or message.get("more_body", False)

    async def finish(self) -> None:
        if self.is_open:
            await self._send({"type": "http.response.body", "body": b""})


def _pong(request: _HttpMessage, session_id: str) -> Response:
    """Answer as the SDK would."""
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=request.message["id"], result={})
    data = answer.model_dump_json(by_alias=True, exclude_unset=True)
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", _SESSION: session_id}
    return Response(f"event: message\r\ndata: {data}\r\n\r\n", headers=headers)


async def _nobody(_message: Message) -> None:
    """Hear what nobody asked for."""


def _refusal(sentence: str, code: int = types.PARSE_ERROR, status: int = 400) -> Response:
    error = types.ErrorData(code=code, message=sentence)
    body = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    headers = {"Allow": _METHODS} if status == _WRONG_METHOD else None
    return Response(body.model_dump_json(by_alias=True, exclude_unset=True), status, headers, "application/json")

"""How does the hall speak MCP over HTTP?

The SDK's Streamable HTTP, both protocol eras, bounded: so many sessions, so large a message, so long an idleness. Calls
that are under way when the hall ends get a moment to finish; streams that would never end by themselves are ended.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from contexthall.faces.mcp.server import HallServer

MOST_SESSIONS = 100
MOST_BODY_BYTES = 16 * 1024 * 1024
IDLE_SECONDS = 30 * 60.0


class HttpEndpoint:
    """An ASGI application that serves MCP; it can be asked only while `running` is entered.

    `hosts` are the values of the Host header that clients may send. None of them means that somebody before this one
    judges it.
    """

    def __init__(self, server: HallServer, hosts: Sequence[str], *, most_sessions: int = MOST_SESSIONS) -> None:
        self._server = server
        self._standing: set[anyio.CancelScope] = set()
        self._manager = StreamableHTTPSessionManager(
            app=server,
            json_response=False,  # a single JSON answer could carry no progress
            security_settings=_security(hosts),
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=MOST_BODY_BYTES,
            max_sessions=most_sessions,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """While this is entered, clients are served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await self._manager.handle_request(scope, receive, send)
            return
        watched = _Watched(send)
        with anyio.CancelScope() as standing:
            self._standing.add(standing)
            try:
                await self._manager.handle_request(scope, receive, watched)
            finally:
                self._standing.discard(standing)
        await watched.finish()

    def end_streams(self) -> None:
        """End whatever a client holds open only to hear of changes."""
        self._server.end_subscriptions()
        for standing in tuple(self._standing):
            standing.cancel()


class _Watched:
    """Passes an answer on, and knows whether its end is missing."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False

    async def __call__(self, message: Message) -> None:
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        if self._is_open:
            await self._send({"type": "http.response.body", "body": b""})


def _security(hosts: Sequence[str]) -> TransportSecuritySettings:
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts),
        allowed_hosts=list(hosts),
        allowed_origins=[f"http://{host}" for host in hosts],
    )

"""How does the hall speak MCP over HTTP? Each message is a POST; until 2025-11-25 in sessions, and alone from then on.

What a client no longer waits for, because it hung up, is cancelled: there are no resumable streams, so nobody could get
the answer. Sessions, messages and idleness are bounded. Streams that would never end by themselves end with the hall.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.faces.mcp.exchange import EVENTS, JSON, Exchange, RefusedMessageError
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.sessions import Sessions
from contexthall.protocol import http as rules
from contexthall.protocol import messages
from contexthall.protocol.current import has_envelope
from contexthall.protocol.messages import Message, Request, Result, RpcError
from contexthall.protocol.peer import Send as SendLine
from contexthall.protocol.server import Begin, Call, Era, Stop

_METHODS = [(b"allow", b"DELETE, GET, POST")]
_CANCELLED = RpcError(messages.REQUEST_CANCELLED, "Request cancelled")


class HttpEndpoint:
    """An ASGI application that serves MCP; its clients hear of changes while `running` is entered.

    Whoever serves it judges Host and Origin, on this path as on every other.
    """

    def __init__(
        self,
        server: HallServer,
        *,
        most_sessions: int = limits.HTTP_SESSIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._sessions = Sessions[_HttpClient](most_sessions, clock)
        self._listening: set[_HttpClient] = set()
        """Those of the current era that wait for changes, each by a request of its own."""
        self._large = asyncio.Semaphore(limits.LARGE_BODIES)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this is entered, clients hear of every change of the list."""
        unsubscribe = self._server.catalog.changed.subscribe(self._announce)
        try:
            yield
        finally:
            unsubscribe()

    def end_streams(self) -> None:
        """End whatever a client holds open only to hear of changes."""
        for client in (*self._sessions, *self._listening):
            client.end_stream()

    def _announce(self) -> None:
        for client in (*self._sessions, *self._listening):
            client.news.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except RefusedMessageError as refused:
            line = messages.error_line(refused.request_id, refused.error.to_json())
            await exchange.conclude(line, refused.status, refused.headers)
        except ClientDisconnect:
            pass
        finally:
            exchange.end()

    async def _answer(self, exchange: Exchange) -> None:
        answer = {"POST": self._take_message, "GET": self._listen, "DELETE": self._end_session}.get(exchange.method)
        is_current = rules.is_current(exchange.head)
        if answer is None or (is_current and exchange.method != "POST"):
            raise RefusedMessageError(405, "Method not allowed", headers=_METHODS)
        session_id = "" if is_current else exchange.head.get(rules.SESSION, "")
        with self._sessions.used(session_id, exchange.head.get("origin", "")) as client:
            if session_id and client is None:
                raise RefusedMessageError(404, "Session not found")
            await answer(exchange, client)

    # Messages:

    async def _take_message(self, exchange: Exchange, client: "_HttpClient | None") -> None:
        exchange.check_length()
        if not exchange.accepts(JSON, EVENTS):
            raise RefusedMessageError(406, f"Not acceptable: an answer is {JSON} or {EVENTS}")
        if exchange.head.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedMessageError(415, f"A message is {JSON}")
        try:
            message = messages.read(await exchange.body(self._large))
        except messages.MalformedMessageError as error:
            raise RefusedMessageError(400, error, error.request_id) from None
        await self._take(exchange, client or self._new_client(exchange, message), message)

    def _new_client(self, exchange: Exchange, message: Message) -> "_HttpClient":
        """Return who speaks outside of a session: in the current era each message stands for itself."""
        is_opening = isinstance(message, Request) and message.method == "initialize"
        if rules.is_current(exchange.head) or (not is_opening and has_envelope(getattr(message, "params", {}))):
            try:
                rules.check(exchange.head, message, self._server.input_schema)
            except RpcError as error:
                raise RefusedMessageError(400, error, message.id if isinstance(message, Request) else None) from None
            return _HttpClient(self._server, Era.CURRENT)
        if is_opening:
            return _HttpClient(self._server, Era.HANDSHAKE)
        raise RefusedMessageError(400, "Missing session ID")

    async def _take(self, exchange: Exchange, client: "_HttpClient", message: Message) -> None:
        was_open = client.role.is_initialized
        for effect in client.role.receive(message):
            match effect:
                case Stop(ticket):
                    client.stop(ticket)
                case Begin(call):
                    result = await client.run(effect, exchange)
                    code = result.code if isinstance(result, RpcError) else 0
                    await exchange.conclude(_line(call, result), client.status(code))
                case SendLine(line) if client.role.is_listening:
                    await self._subscribe(exchange, client, line)
                case SendLine(line, code):
                    headers = [] if was_open else self._opened(exchange, client, message)
                    await exchange.conclude(line, client.status(code), headers)
        if not isinstance(message, Request):
            await exchange.conclude(b"", 202)

    def _opened(self, exchange: Exchange, client: "_HttpClient", message: Message) -> list[tuple[bytes, bytes]]:
        """Open a session for a client that has just shaken hands; return the header that tells its id."""
        if not client.role.is_initialized:
            return []
        session_id = self._sessions.open(client, exchange.head.get("origin", ""))
        if not session_id:
            error = RpcError(messages.INTERNAL_ERROR, "Too many open sessions")
            raise RefusedMessageError(503, error, message.id if isinstance(message, Request) else None)
        return [(rules.SESSION.encode(), session_id.encode())]

    # Changes:

    async def _subscribe(self, exchange: Exchange, client: "_HttpClient", acknowledgement: bytes) -> None:
        if len(self._listening) >= limits.SUBSCRIPTIONS:
            raise RefusedMessageError(503, RpcError(messages.INTERNAL_ERROR, "Too many subscriptions"))
        self._listening.add(client)
        try:
            await exchange.tell(acknowledgement)
            await client.listen(exchange)
        finally:
            self._listening.discard(client)

    async def _listen(self, exchange: Exchange, client: "_HttpClient | None") -> None:
        if not exchange.accepts(EVENTS):
            raise RefusedMessageError(406, f"Not acceptable: the answer is {EVENTS}")
        if client is None:
            raise RefusedMessageError(400, "Missing session ID")
        if client.is_listening:
            raise RefusedMessageError(409, "A session has one stream")
        await client.listen(exchange)

    async def _end_session(self, exchange: Exchange, client: "_HttpClient | None") -> None:
        if client is None:
            raise RefusedMessageError(400, "Missing session ID")
        self._sessions.end(exchange.head[rules.SESSION])
        client.end()
        await exchange.conclude(b"")


class _HttpClient:
    """A client: its connection, as the protocol sees it, its calls under way, and what it has to be told."""

    def __init__(self, server: HallServer, era: Era) -> None:
        self.role = server.role(era)
        self.is_listening = False
        self._server = server
        self._calls: dict[int, asyncio.Future[Result | RpcError]] = {}
        self.news = asyncio.Event()
        """Set when there may be something to tell."""
        self._over = asyncio.Event()

    def status(self, code: int) -> int:
        """Return the status of an answer, by the code of its error; 0 for none."""
        return rules.STATUSES.get(code, 200) if self.role.era is Era.CURRENT else 200

    async def run(self, begin: Begin, exchange: Exchange) -> Result | RpcError:
        """Run a call, unless it is cancelled or its client hangs up."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            if line := self.role.report(call.ticket, progress, total, message):
                await exchange.tell(line)

        def conclude(result: Result | RpcError) -> None:
            if not outcome.done():
                outcome.set_result(result)

        call = begin.call
        outcome = self._calls[call.ticket] = asyncio.get_running_loop().create_future()
        begun = begin.start(report, conclude)
        try:
            await exchange.wait(outcome)
            return outcome.result() if outcome.done() and not outcome.cancelled() else _CANCELLED
        finally:
            begun.cancel()
            del self._calls[call.ticket]

    def stop(self, ticket: int) -> None:
        """Stop a call that was cancelled."""
        if ticket in self._calls:
            self._calls[ticket].cancel()

    async def listen(self, exchange: Exchange) -> None:
        """Tell of changes until the client is gone or has to go; changes that come while one is told are one."""
        self.is_listening = True
        try:
            await exchange.tell(b"")
            while not exchange.is_abandoned and not self._over.is_set():
                news = asyncio.create_task(self.news.wait())
                try:
                    await exchange.wait(news)
                finally:
                    news.cancel()
                self.news.clear()
                for line in self.role.announce() if not self._over.is_set() else self.role.end_subscriptions():
                    await exchange.tell(line)
            await exchange.conclude(b"")
        finally:
            self.is_listening = False

    def end_stream(self) -> None:
        self._over.set()
        self.news.set()

    def end(self) -> None:
        for ticket in tuple(self._calls):
            self.stop(ticket)
        self.end_stream()


def _line(call: Call, result: Result | RpcError) -> bytes:
    """Return the line that answers a call; over HTTP, one that was cancelled is answered too."""
    return call.server.finish(call, result) or messages.error_line(call.request.id, _CANCELLED.to_json())

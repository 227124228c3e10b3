"""How does the hall speak MCP over HTTP? Each message is a POST; until 2025-11-25 in sessions, and alone from then on.

What a client no longer waits for, because it hung up, is cancelled: there are no resumable streams, so nobody could get
the answer. Sessions, messages and idleness are bounded. Streams that would never end by themselves end with the hall.
"""

import asyncio
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from contexthall.core import limits
from contexthall.faces.exchange import EVENTS, JSON, Exchange, Headers
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.sessions import Sessions
from contexthall.protocol import current, messages
from contexthall.protocol import http as rules
from contexthall.protocol.messages import Message, Request, Result, RpcError
from contexthall.protocol.peer import Send as SendLine
from contexthall.protocol.server import Call, Era, ServerRole, Stop

_METHODS = [(b"allow", b"DELETE, GET, POST")]
_CANCELLED = RpcError(messages.REQUEST_CANCELLED, "Request cancelled")


class RefusedMessageError(RpcError):
    """An error that is answered with a status of HTTP."""

    def __init__(self, status: int, message: str, code: int = messages.INVALID_REQUEST) -> None:
        super().__init__(code, message)
        self.status = status


class HttpEndpoint:
    """An ASGI application that serves MCP; whoever serves it judges Host and Origin, on this path as on every other."""

    def __init__(self, server: HallServer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._sessions = Sessions[_HttpClient](clock)
        self._listening: set[_HttpClient] = set()
        """Those of the current era that wait for changes, each by a request of its own."""
        self._turns = asyncio.Semaphore(limits.LARGE_BODIES)
        server.catalog.changed.subscribe(self._wake)

    def end_streams(self) -> None:
        """End whatever a client holds open only to hear of changes."""
        self._wake(is_over=True)

    def _wake(self, *, is_over: bool = False) -> None:
        for client in (*self._sessions, *self._listening):
            client.wake(is_over=is_over)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except RpcError as error:
            status = error.status if isinstance(error, RefusedMessageError) else 400
            line = messages.error_line(error.request_id, error.error)
            await exchange.conclude(line, status, _METHODS if status == 405 else ())  # noqa: PLR2004 - of HTTP
        except ClientDisconnect:
            pass
        finally:
            exchange.end()

    async def _answer(self, exchange: Exchange) -> None:
        is_current = rules.is_current(exchange.head)
        if exchange.method not in ({"POST"} if is_current else {"DELETE", "GET", "POST"}):
            raise RefusedMessageError(405, "Method not allowed")
        session_id = "" if is_current else exchange.head.get(rules.SESSION, "")
        with self._sessions.used(session_id, exchange.head.get("origin", "")) as client:
            if session_id and client is None:
                raise RefusedMessageError(404, "Session not found")
            if exchange.method == "POST":
                await self._take_message(exchange, client)
            elif exchange.method == "GET" and not exchange.accepts(EVENTS):
                raise RefusedMessageError(406, f"Not acceptable: the answer is {EVENTS}")
            elif client is None:
                raise RefusedMessageError(400, "Missing session ID")
            elif exchange.method == "GET":
                await client.listen(exchange)
            else:
                self._sessions.end(session_id)
                for outcome in client.calls.values():
                    outcome.cancel()
                client.wake(is_over=True)
                await exchange.conclude()

    async def _take_message(self, exchange: Exchange, client: "_HttpClient | None") -> None:
        body = await self._body(exchange)
        if not exchange.accepts(JSON, EVENTS):
            raise RefusedMessageError(406, f"Not acceptable: an answer is {JSON} or {EVENTS}")
        if exchange.head.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedMessageError(415, f"A message is {JSON}")
        message = messages.parse_message(body)
        try:
            await self._take(exchange, client or self._new_client(exchange, message), message)
        except RpcError as error:
            error.request_id = message.id if isinstance(message, Request) else None
            raise

    async def _body(self, exchange: Exchange) -> bytes:
        """Read the body; a large one, which stands in memory several times, has its turn until it is answered."""
        body, has_turn = bytearray(), False
        _check_size(int(exchange.head.get("content-length", "0")))
        async for piece in exchange.body():
            body += piece
            _check_size(len(body))
            if len(body) >= limits.LARGE_BODY_BYTES and not has_turn:
                has_turn = await self._turns.acquire()
                exchange.held.callback(self._turns.release)
        return bytes(body)

    def _new_client(self, exchange: Exchange, message: Message) -> "_HttpClient":
        """Return who speaks outside of a session: in the current era each message stands for itself."""
        is_opening = isinstance(message, Request) and message.method == "initialize"
        if rules.is_current(exchange.head) or (not is_opening and current.has_envelope(getattr(message, "params", {}))):
            rules.check(exchange.head, message, self._server.input_schema)
            return _HttpClient(self._server, Era.CURRENT)
        if is_opening:
            return _HttpClient(self._server, Era.HANDSHAKE)
        raise RefusedMessageError(400, "Missing session ID")

    async def _take(self, exchange: Exchange, client: "_HttpClient", message: Message) -> None:
        was_open = client.role.is_initialized
        for effect in client.role.receive(message):
            match effect:
                case Stop(ticket) if ticket in client.calls:
                    client.calls[ticket].cancel()
                case Call():
                    await client.run(effect, exchange)
                case SendLine(line) if client.role.subscriptions:
                    await self._subscribe(exchange, client, line)
                case SendLine(line, code):
                    headers = self._opened(exchange, client) if client.role.is_initialized and not was_open else ()
                    await exchange.conclude(line, client.status(code), headers)
        if not isinstance(message, Request):
            await exchange.conclude(status=202)

    def _opened(self, exchange: Exchange, client: "_HttpClient") -> Headers:
        """Open a session for a client that has just shaken hands; return the header that tells its id."""
        session_id = self._sessions.open(client, exchange.head.get("origin", ""))
        if not session_id:
            raise RefusedMessageError(503, "Too many open sessions", messages.INTERNAL_ERROR)
        return [(rules.SESSION.encode(), session_id.encode())]

    async def _subscribe(self, exchange: Exchange, client: "_HttpClient", acknowledgement: bytes) -> None:
        if len(self._listening) >= limits.SUBSCRIPTIONS:
            raise RefusedMessageError(503, "Too many subscriptions", messages.INTERNAL_ERROR)
        self._listening.add(client)
        try:
            await client.listen(exchange, acknowledgement)
        finally:
            self._listening.discard(client)


def _check_size(size: int) -> None:
    if size > limits.CLIENT_MESSAGE_BYTES:
        raise RefusedMessageError(413, f"Message larger than {limits.CLIENT_MESSAGE_BYTES} bytes")


class _HttpClient:
    """A client: its connection, as the protocol sees it, its calls under way, and what it has to be told."""

    def __init__(self, server: HallServer, era: Era) -> None:
        self.role = ServerRole(server, era)
        self.calls: dict[int, asyncio.Future[tuple[bytes, int]]] = {}
        """Their answers, with statuses; one that is cancelled ends its call."""
        self._is_listening = self._is_over = False
        self._news = asyncio.get_running_loop().create_future()
        """Done when there may be something to tell."""

    def status(self, code: int) -> int:
        """Return the status of an answer, by the code of its error; 0 for none."""
        return rules.STATUSES.get(code, 200) if self.role.era is Era.CURRENT else 200

    async def run(self, call: Call, exchange: Exchange) -> None:
        """Run a call and answer it, unless its client hangs up; one that is cancelled is answered too."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            if line := self.role.report(call.ticket, progress, total, message):
                await exchange.tell(line)

        def conclude(result: Result | RpcError) -> None:
            if not outcome.done():
                code = result.code if isinstance(result, RpcError) else 0
                outcome.set_result((self.role.finish(call, result), self.status(code)))

        outcome = self.calls[call.ticket] = asyncio.get_running_loop().create_future()
        begun = call.start(report, conclude)
        try:
            is_done = await exchange.wait(outcome)
        finally:
            begun.cancel()
            del self.calls[call.ticket]
        if is_done and not outcome.cancelled():
            await exchange.conclude(*outcome.result())
        else:
            line = self.role.finish(call, _CANCELLED) or messages.error_line(call.request.id, _CANCELLED.error)
            await exchange.conclude(line)

    async def listen(self, exchange: Exchange, first: bytes = b"") -> None:
        """Tell of changes until the client is gone or has to go; changes that come while one is told are one."""
        if self._is_listening:
            raise RefusedMessageError(409, "A session has one stream")
        self._is_listening = True
        try:
            await exchange.tell(first)
            is_over = False
            while not is_over and await exchange.wait(self._news):
                self._news, is_over = asyncio.get_running_loop().create_future(), self._is_over
                for line in self.role.end_subscriptions() if is_over else self.role.announce():
                    await exchange.tell(line)
            await exchange.conclude()
        finally:
            self._is_listening = False

    def wake(self, *, is_over: bool = False) -> None:
        """Let whoever listens look for something to tell, perhaps for the last time."""
        self._is_over = self._is_over or is_over
        if not self._news.done():
            self._news.set_result(None)

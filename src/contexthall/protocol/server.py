"""The server's side of one connection: its methods, in the era in which the client speaks.

A method is a row of a table: name, eras, handler. Handlers that answer at once run here. A call that takes time is an
effect: the caller starts it, and brings its result back to `finish`.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from enum import Flag, auto
from typing import NamedTuple, Protocol, TypeAlias

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.protocol import current, handshake, messages
from contexthall.protocol.messages import Message, Notification, Request, Result, RpcError
from contexthall.protocol.peer import Peer, Send
from contexthall.protocol.shapes import ANY, REQUEST, Shape, check

_UNINITIALIZED = (
    "Not initialized: send `initialize` first, or name the version of the protocol in `params._meta`, "
    f"as `{current.VERSION_KEY}`"
)
_CAPABILITIES = {"tools": {"listChanged": True}}
_LIST_CHANGED = "notifications/tools/list_changed"


class Era(Flag):
    """How client and server agree on a version of the protocol."""

    HANDSHAKE = auto()
    """Once, by `initialize`: until 2025-11-25."""
    CURRENT = auto()
    """In every request, by its envelope: from 2026-07-28 on."""
    BOTH = HANDSHAKE | CURRENT


class Cancellable(Protocol):
    """A running call."""

    def cancel(self) -> object: ...


Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends progress: how far, of how much, and a message."""
OnDone: TypeAlias = Callable[[Result | RpcError], None]
Handler: TypeAlias = Callable[["Call"], Result | Send]
"""Returns the result, or a line to send first if the result is to come at the end."""
Starter: TypeAlias = Callable[["Call", Report, OnDone], Cancellable]
"""Starts a call; its result is passed on, unless it is cancelled before."""


class Method(NamedTuple):
    """A row of the table of methods; it has a handler or a starter."""

    name: str
    eras: Era
    handle: Handler | None = None
    start: Starter | None = None
    params: Shape = ANY
    before_handshake: bool = False
    is_cacheable: bool = False
    """Whether its result has the caching hints of the current era."""


class Call(NamedTuple):
    """A request with a known method and valid params; as an effect, one to start."""

    ticket: int
    request: Request
    method: Method
    server: "ServerRole"

    @property
    def params(self) -> JsonObject:
        return self.request.params

    @property
    def client(self) -> str:
        """The name of the client, from the envelope or else from the handshake."""
        match self.params:
            case {"_meta": {current.CLIENT_KEY: {"name": str(name)}}} if name:
                return name
        return self.server.client

    def start(self, report: Report, on_done: OnDone) -> Cancellable:
        """Start a call whose method has a starter; `on_done` gets what `finish` needs."""
        assert self.method.start is not None
        return self.method.start(self, report, on_done)


class Stop(NamedTuple):
    """The client has cancelled the call with this ticket, which is not answered."""

    ticket: int


Effect: TypeAlias = Send | Call | Stop


class Service:
    """What all connections of a server share: methods, identity and instructions."""

    def __init__(self, methods: Iterable[Method], info: JsonObject, instructions: Callable[[str], str]) -> None:
        self.methods = {method.name: method for method in (*METHODS, *methods)}
        self.info = info
        self.instructions = instructions
        """By the name of the client."""


class ServerRole(Peer):
    """The server's side of one connection. The first request decides the era, unless the transport has."""

    def __init__(self, service: Service, era: Era | None = None) -> None:
        super().__init__()
        self.service = service
        self.era = era
        self._is_stateless = era is Era.CURRENT
        """Whether this is for a single request, so that no handshake is possible."""
        self.client = ""
        """The client's name in the handshake."""
        self.is_initialized = False
        """Whether an `initialize` was answered."""
        self._wants_changes = False
        self.subscriptions: dict[int, tuple[JsonObject, JsonObject]] = {}
        """Ticket → the params that identify a subscription, and the kinds of changes it is for."""

    def receive(self, message: Message) -> Iterator[Effect]:
        """Process a message and yield its effects. Responses are ignored, since a server asks nothing."""
        match message:
            case Request():
                yield from self._begin(message)
            case Notification("notifications/cancelled", {"requestId": request_id}):
                for ticket in self.cancel(request_id):
                    self.subscriptions.pop(ticket, None)
                    yield Stop(ticket)
            case Notification("notifications/initialized"):
                self._wants_changes = self.is_initialized

    def finish(self, call: Call, result: Result | RpcError) -> bytes:
        """Return the line that answers a call; empty if it was cancelled."""
        if self.era is Era.CURRENT and not isinstance(result, RpcError):
            result = current.enveloped(result, self.service.info, is_cacheable=call.method.is_cacheable)
        return self.answer(call.ticket, result)

    def announce(self) -> list[bytes]:
        """Return the lines that notify the client of a changed list of tools, if it wants to know."""
        params: list[JsonObject | None] = [None] if self._wants_changes else []
        params += [name for name, kinds in self.subscriptions.values() if kinds.get("toolsListChanged")]
        return [messages.notification_line(_LIST_CHANGED, each) for each in params]

    def end_subscriptions(self) -> list[bytes]:
        """End all subscriptions; return the lines that answer their requests."""
        ended, self.subscriptions = self.subscriptions, {}
        return [self.answer(ticket, current.enveloped(name, self.service.info)) for ticket, (name, _) in ended.items()]

    def subscribe(self, call: Call) -> Send:
        """Subscribe a client until its request is cancelled or answered; return the acknowledgement."""
        if len(self.subscriptions) >= limits.SUBSCRIPTIONS:
            raise RpcError(messages.INTERNAL_ERROR, "Too many subscriptions")
        name, kinds = self.subscriptions[call.ticket] = current.subscription(call.request)
        params = {**name, "notifications": kinds}
        return Send(messages.notification_line("notifications/subscriptions/acknowledged", params))

    def _begin(self, request: Request) -> Iterator[Effect]:
        ticket = self.begin(request)
        try:
            call = Call(ticket, request, self._method(request), self)
            if call.method.handle is None:
                yield call
                return
            result = call.method.handle(call)
            yield result if isinstance(result, Send) else Send(self.finish(call, result))
        except RpcError as error:
            yield Send(self.answer(ticket, error), error.code)

    def _method(self, request: Request) -> Method:
        """Return the method of a request, or raise RpcError: its era and the connection's state must allow it."""
        params, is_opening = request.params, request.method == "initialize"
        is_current = current.has_envelope(params) and not is_opening
        self.era = self.era or (Era.CURRENT if is_current else Era.HANDSHAKE)
        if self.era is Era.CURRENT:
            if is_opening and not self._is_stateless:
                raise current.unsupported(params.get("protocolVersion"), "There is no handshake in this version")
            current.check_envelope(params)
        elif is_current:
            raise RpcError(
                messages.INVALID_REQUEST, "This connection began with a handshake: `params._meta` names no version"
            )
        method = self.service.methods.get(request.method)
        if method is None or self.era not in method.eras:
            raise RpcError(messages.METHOD_NOT_FOUND, "Method not found", request.method)
        if self.era is Era.HANDSHAKE and not (self.is_initialized or method.before_handshake):
            raise RpcError(messages.INVALID_PARAMS, _UNINITIALIZED)
        for shape in (REQUEST, method.params, current.ENVELOPE if self.era is Era.CURRENT else ANY):
            check(params, shape)
        return method


def _initialize(call: Call) -> JsonObject:
    server, service = call.server, call.server.service
    server.is_initialized, server.client = True, call.params["clientInfo"]["name"]
    instructions = service.instructions(server.client)
    return handshake.initialize_result(call.params["protocolVersion"], service.info, _CAPABILITIES, instructions)


def _discover(call: Call) -> JsonObject:
    return current.discover_result(_CAPABILITIES, call.server.service.instructions(call.client))


METHODS = (
    Method("initialize", Era.HANDSHAKE, _initialize, params=handshake.INITIALIZE, before_handshake=True),
    Method("ping", Era.HANDSHAKE, lambda _call: {}, before_handshake=True),
    Method("server/discover", Era.CURRENT, _discover, is_cacheable=True),
    Method("subscriptions/listen", Era.CURRENT, lambda call: call.server.subscribe(call), params=current.LISTEN),
)
"""The methods of every server; those for tools are added by its face."""

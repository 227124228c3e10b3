"""What does a server say to one client? Every method that it has, in the era in which the client speaks.

A method is a row of a table: name, eras, handler. A handler that answers at once is run here; what takes its time is an
effect for whoever drives this, and its result is brought back by `finish`.
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
    """In every request, by an envelope: from 2026-07-28 on."""
    BOTH = HANDSHAKE | CURRENT


class Cancellable(Protocol):
    """A call under way."""

    def cancel(self) -> object: ...


Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Tells a client how far its call has come."""
OnDone: TypeAlias = Callable[[Result | RpcError], None]
Handler: TypeAlias = Callable[["Call"], Result | Send]
"""Answers at once, or has something else sent in place of an answer, which is to come at the end."""
Starter: TypeAlias = Callable[["Call", Report, OnDone], Cancellable]
"""Begins what a call asks for; its outcome is told, unless it is cancelled before."""


class Method(NamedTuple):
    """A row of the table of methods: it has a handler or a starter."""

    name: str
    eras: Era
    handle: Handler | None = None
    start: Starter | None = None
    params: Shape = ANY
    before_handshake: bool = False
    is_cacheable: bool = False
    """Whether the current era's hints about caching stand on its result."""


class Call(NamedTuple):
    """A request whose method is known and whose params have the right shape."""

    ticket: int
    request: Request
    method: Method
    server: "ServerRole"

    @property
    def params(self) -> JsonObject:
        return self.request.params

    @property
    def client(self) -> str:
        """The name of the client, as the envelope has it, or the handshake had."""
        match self.params:
            case {"_meta": {current.CLIENT_KEY: {"name": str(name)}}} if name:
                return name
        return self.server.client

    def start(self, report: Report, on_done: OnDone) -> Cancellable:
        """Begin it, if its method has a starter; the outcome is for `finish`."""
        assert self.method.start is not None
        return self.method.start(self, report, on_done)


class Stop(NamedTuple):
    """What runs under a ticket was cancelled, and is not answered."""

    ticket: int


Effect: TypeAlias = Send | Call | Stop
"""A call is to be started."""


class Service:
    """What a server says to each of its clients."""

    def __init__(self, methods: Iterable[Method], info: JsonObject, instructions: Callable[[str], str]) -> None:
        self.methods = {method.name: method for method in (*METHODS, *methods)}
        self.info = info
        self.instructions = instructions
        """What a client of that name is told at the start."""


class ServerRole(Peer):
    """One connection, as its server sees it. The first request decides the era, unless the transport has."""

    def __init__(self, service: Service, era: Era | None = None) -> None:
        super().__init__()
        self.service = service
        self.era = era
        self._is_stateless = era is Era.CURRENT
        """Whether there is nothing that a handshake could open."""
        self.client = ""
        """What the client of a handshake calls itself."""
        self.is_initialized = False
        """Whether an `initialize` was answered."""
        self._wants_changes = False
        self._subscriptions: dict[int, tuple[JsonObject, JsonObject]] = {}
        """By ticket: what names a subscription, and which changes it is for."""

    @property
    def is_listening(self) -> bool:
        """Whether the client waits for changes."""
        return bool(self._subscriptions)

    def receive(self, message: Message) -> Iterator[Effect]:
        """Take a message; give what has to be done about it. An answer is to no question of ours, and ignored."""
        match message:
            case Request():
                yield from self._begin(message)
            case Notification("notifications/cancelled", {"requestId": request_id}):
                for ticket in self.cancel(request_id):
                    self._subscriptions.pop(ticket, None)
                    yield Stop(ticket)
            case Notification("notifications/initialized"):
                self._wants_changes = self.is_initialized

    def finish(self, call: Call, result: Result | RpcError) -> bytes:
        """Return the line that answers a call; none if it was cancelled meanwhile."""
        if self.era is Era.CURRENT and not isinstance(result, RpcError):
            result = current.stamped(result, self.service.info, is_cacheable=call.method.is_cacheable)
        return self.answer(call.ticket, result)

    def announce(self) -> list[bytes]:
        """Return the lines that tell the client that the list of tools has changed, as far as it wants to know."""
        told: list[JsonObject | None] = [None] if self._wants_changes else []
        told += [name for name, wanted in self._subscriptions.values() if wanted.get("toolsListChanged")]
        return [messages.notification_line(_LIST_CHANGED, params) for params in told]

    def end_subscriptions(self) -> list[bytes]:
        """Return the lines that tell the client that its subscriptions are over."""
        ended, self._subscriptions = self._subscriptions, {}
        info = self.service.info
        return [self.answer(ticket, current.stamped(name, info)) for ticket, (name, _) in ended.items()]

    def subscribe(self, call: Call) -> Send:
        """Let a client hear of changes, until its request is cancelled or answered; return what acknowledges it."""
        if len(self._subscriptions) >= limits.SUBSCRIPTIONS:
            raise RpcError(messages.INTERNAL_ERROR, "Too many subscriptions")
        name, wanted = current.subscription(call.request)
        self._subscriptions[call.ticket] = name, wanted
        told = {**name, "notifications": wanted}
        return Send(messages.notification_line("notifications/subscriptions/acknowledged", told))

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
        """Return the method of a request, which its era and the state of the connection must allow."""
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
        check(params, REQUEST, method.params, current.ENVELOPE if self.era is Era.CURRENT else ANY)
        return method


def _initialize(call: Call) -> JsonObject:
    server = call.server
    server.is_initialized, server.client = True, call.params["clientInfo"]["name"]
    offered, told = call.params["protocolVersion"], server.service.instructions(server.client)
    return handshake.greeting(offered, server.service.info, _CAPABILITIES, told)


def _discover(call: Call) -> JsonObject:
    return current.discovery(_CAPABILITIES, call.server.service.instructions(call.client))


METHODS = (
    Method("initialize", Era.HANDSHAKE, _initialize, params=handshake.INITIALIZE, before_handshake=True),
    Method("ping", Era.HANDSHAKE, lambda _call: {}, before_handshake=True),
    Method("server/discover", Era.CURRENT, _discover, is_cacheable=True),
    Method("subscriptions/listen", Era.CURRENT, lambda call: call.server.subscribe(call), params=current.LISTEN),
)
"""What every server answers; tools are added by whoever has some."""

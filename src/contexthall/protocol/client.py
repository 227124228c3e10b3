"""The client's side of one connection: it opens with a handshake, and where that is refused, in the current era.

Changes of the server's tools are subscribed to, in either era. Of a server's own requests `ping` is answered; all
others are refused.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from contexthall.core import raw_json
from contexthall.core.catalog import JsonObject
from contexthall.protocol import current, handshake, messages
from contexthall.protocol.messages import Message, Notification, Request, Response, RpcError
from contexthall.protocol.peer import Peer, Progressed, Send

_NO_HANDSHAKE = {messages.METHOD_NOT_FOUND, messages.UNSUPPORTED_VERSION}
_TOOLS_CHANGED = "notifications/tools/list_changed"
_COMPLETE = b'"complete"'


class ClientState(Enum):
    """The state of a connection."""

    OFFERING = auto()
    """`initialize` is open."""
    DISCOVERING = auto()
    """The handshake was refused, and `server/discover` is open."""
    OPEN = auto()
    REFUSED = auto()


class OpeningEnded(NamedTuple):
    """The connection is open, or cannot be opened."""

    refusal: str = ""
    """Why the connection cannot be opened; empty if requests can be sent."""


class ToolsChanged(NamedTuple):
    """The server's list of tools has changed."""


ClientEffect: TypeAlias = Send | OpeningEnded | Response | Progressed | ToolsChanged


class ClientRole(Peer):
    """The client's side of one connection."""

    def __init__(self, info: JsonObject) -> None:
        super().__init__()
        self.state = ClientState.OFFERING
        self.version = ""
        """The protocol version in use."""
        self.offers_tools = True
        self._info = info
        self._meta: JsonObject = {}
        self._opening = self._listening = 0

    def open(self) -> bytes:
        """Return the line that opens the connection."""
        self._opening, line = self.ask("initialize", handshake.initialize_params(self._info))
        return line

    def ask(self, method: str, params: JsonObject, *, wants_progress: bool = False) -> tuple[int, bytes]:
        """Open a request; return its id and its line."""
        enveloped = {**params, "_meta": {**params.get("_meta", {}), **self._meta}} if self._meta else params
        return super().ask(method, enveloped, wants_progress=wants_progress)

    def receive(self, message: Message) -> Iterator[ClientEffect]:
        """Process a message and yield its effects."""
        match message:
            case Request():
                yield Send(self._answer(message))
            case Notification(method, params):
                if method == _TOOLS_CHANGED:
                    yield ToolsChanged()
                elif method == "notifications/progress" and (progressed := self.progressed(params)):
                    yield progressed
            case Response(request_id) if self.settle(message):
                if request_id == self._opening:
                    yield from self._continue_opening(message)
                elif request_id != self._listening:
                    yield self._checked(message)

    def _answer(self, request: Request) -> bytes:
        if request.method == "ping":
            return messages.result_line(request.id, {})
        refusal = RpcError(messages.METHOD_NOT_FOUND, "Method not found", request.method)
        return messages.error_line(request.id, refusal.error)

    def _checked(self, response: Response) -> Response:
        """Return a response, or an error in its place if its type is not `complete`, as of one that requests input."""
        if not self._meta or response.error is not None:
            return response
        kind = bytes(raw_json.top_level(response.result).get("resultType", _COMPLETE))
        if kind == _COMPLETE:
            return response
        message = f"the server's answer is of the type {kind.decode()[:100]}, which the hall cannot pass on yet"
        return Response(response.id, error={"code": messages.INTERNAL_ERROR, "message": message})

    # Opening the connection:

    def _continue_opening(self, response: Response) -> Iterator[ClientEffect]:
        if self.state is ClientState.OFFERING and (response.error or {}).get("code") in _NO_HANDSHAKE:
            self.state = ClientState.DISCOVERING
            self._meta = current.envelope(self._info)
            self._opening, line = self.ask("server/discover", {})
            yield Send(line)
        elif reason := self._refusal(response, answer := _object(response)):
            self.state = ClientState.REFUSED
            yield OpeningEnded(reason)
        else:
            self.state = ClientState.OPEN
            self.version = current.VERSION if self._meta else str(answer["protocolVersion"])
            yield from self._complete_opening(answer.get("capabilities"))
            yield OpeningEnded()

    def _complete_opening(self, capabilities: object) -> Iterator[Send]:
        offered = capabilities if isinstance(capabilities, Mapping) else {"tools": {}}
        self.offers_tools, tools = "tools" in offered, offered.get("tools")
        if not self._meta:
            yield Send(messages.notification_line("notifications/initialized"))
        elif isinstance(tools, Mapping) and tools.get("listChanged") is True:
            self._listening, line = self.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            yield Send(line)

    def _refusal(self, response: Response, answer: JsonObject) -> str:
        """Return why the connection cannot be opened; empty if it can."""
        if response.error is not None:
            return f"the server refused to shake hands: {response.error['message']}"
        if self.state is ClientState.OFFERING:
            version = answer.get("protocolVersion")
            known = version in handshake.VERSIONS
            return "" if known else f"the server speaks version {version!r} of the protocol, which the hall does not"
        versions = answer.get("supportedVersions")
        if isinstance(versions, list) and current.VERSION in versions:
            return ""
        return f"the server speaks versions {versions!r} of the protocol, which the hall does not"


def _object(response: Response) -> JsonObject:
    """Return the result of a response; empty if there is none, or it cannot be parsed."""
    try:
        return {} if response.error is not None else messages.parse_result(response.result)
    except ValueError:
        return {}

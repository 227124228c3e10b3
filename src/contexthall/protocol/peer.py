"""JSON-RPC in both directions: which requests are open on one connection?

Each request is answered once, or cancelled and never answered; nothing else is answered. The other side may use an id
twice, so each of its requests gets a ticket of ours. Only open requests are kept in memory. Lines to send are returned;
the clock and the connection belong to the caller.
"""

import sys
from itertools import count
from typing import NamedTuple, TypeGuard, cast

from contexthall.core.catalog import JsonObject
from contexthall.protocol import messages
from contexthall.protocol.messages import Request, Response, Result, RpcError

PROGRESS_TOKEN = "progressToken"  # noqa: S105 - the protocol's own word


class Send(NamedTuple):
    """A line for the other side."""

    line: bytes
    code: int = 0
    """The code of the error in it, if there is one."""


class Progressed(NamedTuple):
    """The progress of a request of ours."""

    request_id: int
    progress: float
    total: float | None
    message: str | None


class Peer:
    """The open requests of one connection."""

    def __init__(self) -> None:
        self.incoming: dict[int, Request] = {}
        """Open requests of the other side, by ticket."""
        self.outgoing: set[int] = set()
        """The ids of open requests of ours."""
        self._tickets, self._ids = count(1), count(1)

    # Requests of the other side:

    def begin(self, request: Request) -> int:
        """Open a request of the other side; return its ticket."""
        ticket = next(self._tickets)
        self.incoming[ticket] = request
        return ticket

    def cancel(self, request_id: object) -> tuple[int, ...]:
        """Drop the requests with that id; return their tickets. `true` or 1.0, which equal 1 in Python, are not ids."""
        is_id = messages.is_id(request_id)
        tickets = tuple(ticket for ticket, request in self.incoming.items() if is_id and request.id == request_id)
        for ticket in tickets:
            del self.incoming[ticket]
        return tickets

    def answer(self, ticket: int, result: Result | RpcError) -> bytes:
        """Close a request; return the line that answers it, empty if it was cancelled or answered already."""
        if (request := self.incoming.get(ticket)) is None:
            return b""
        if isinstance(result, RpcError):
            line = messages.error_line(request.id, result.error)
        else:
            line = messages.result_line(request.id, result)
        del self.incoming[ticket]  # not before: a request whose answer cannot be encoded stays open
        return line

    def report(self, ticket: int, progress: float, total: float | None, message: str | None) -> bytes:
        """Return the line that reports progress; empty if the request is closed or has no progress token."""
        request = self.incoming.get(ticket)
        token = (request.params.get("_meta") or {}).get(PROGRESS_TOKEN) if request is not None else None
        if not messages.is_id(token):
            return b""
        params = {PROGRESS_TOKEN: token, "progress": progress, "total": total, "message": message}
        known = {key: value for key, value in params.items() if value is not None}
        return messages.notification_line("notifications/progress", known)

    # Requests of ours:

    def ask(self, method: str, params: JsonObject, *, wants_progress: bool = False) -> tuple[int, bytes]:
        """Open a request of ours; return its id and its line."""
        request_id = next(self._ids)
        self.outgoing.add(request_id)
        if wants_progress:
            params = {**params, "_meta": {**params.get("_meta", {}), PROGRESS_TOKEN: request_id}}
        return request_id, messages.request_line(request_id, method, params)

    def settle(self, response: Response) -> bool:
        """Close the request that a response answers; return whether there is one: "7" does not answer 7."""
        is_open = response.id in self.outgoing
        self.outgoing -= {response.id}
        return is_open

    def abandon(self, request_id: int, reason: str) -> bytes:
        """Close a request of ours without its answer; return the line that cancels it, empty if it is closed."""
        if request_id not in self.outgoing:
            return b""
        self.outgoing -= {request_id}
        return messages.notification_line("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def progressed(self, params: JsonObject) -> Progressed | None:
        """Parse a progress notification; None if it is invalid or not about an open request of ours."""
        token, progress, total, message = (params.get(key) for key in (PROGRESS_TOKEN, "progress", "total", "message"))
        if not isinstance(token, int) or isinstance(token, bool) or token not in self.outgoing:
            return None
        if not _is_number(progress) or not (total is None or _is_number(total)):
            return None
        return Progressed(token, progress, total, message if isinstance(message, str) else None)


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that fits into a double, so that every client can read it."""
    return type(value) in {int, float} and abs(cast("float", value)) <= sys.float_info.max

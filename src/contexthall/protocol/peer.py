"""Who asked what on one connection, and is still waiting for the answer? JSON-RPC, both directions.

Each request is answered once, or cancelled and never answered; there is no answer without a question. A request of the
other side gets a ticket, because several may share an id. What is remembered is what is open, and nothing else. Bytes
go out; the clock and the connection belong to whoever drives this.
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
    """Of the error in it, if it is one."""


class Progressed(NamedTuple):
    """How far a request of ours has come."""

    request_id: int
    progress: float
    total: float | None
    message: str | None


class Peer:
    """The open requests of one connection."""

    def __init__(self) -> None:
        self._tickets = count(1)
        self._theirs: dict[int, Request] = {}
        self._ids = count(1)
        self._ours: set[int] = set()

    # Requests of the other side:

    @property
    def open_tickets(self) -> tuple[int, ...]:
        return tuple(self._theirs)

    def begin(self, request: Request) -> int:
        """Take a request; return its ticket."""
        ticket = next(self._tickets)
        self._theirs[ticket] = request
        return ticket

    def is_open(self, ticket: int) -> bool:
        """Return whether a request waits for its answer."""
        return ticket in self._theirs

    def cancel(self, request_id: object) -> tuple[int, ...]:
        """Forget the requests of that id; return their tickets. What is no id, `true` or 1.0, is nobody's."""
        is_id = messages.is_id(request_id)
        tickets = tuple(ticket for ticket, request in self._theirs.items() if is_id and request.id == request_id)
        for ticket in tickets:
            del self._theirs[ticket]
        return tickets

    def answer(self, ticket: int, result: Result | RpcError) -> bytes:
        """Return the line that answers a request; none if it was cancelled or answered already."""
        if (request := self._theirs.get(ticket)) is None:
            return b""
        if isinstance(result, RpcError):
            line = messages.error_line(request.id, result.error)
        else:
            line = messages.result_line(request.id, result)
        del self._theirs[ticket]  # not before: a request whose answer cannot be spelt is still open
        return line

    def report(self, ticket: int, progress: float, total: float | None, message: str | None) -> bytes:
        """Return the line that tells how far a request has come; none if nobody asked for that."""
        request = self._theirs.get(ticket)
        token = (request.params.get("_meta") or {}).get(PROGRESS_TOKEN) if request is not None else None
        if not messages.is_id(token):
            return b""
        told = {PROGRESS_TOKEN: token, "progress": progress, "total": total, "message": message}
        known = {key: value for key, value in told.items() if value is not None}
        return messages.notification_line("notifications/progress", known)

    # Requests of ours:

    @property
    def open_requests(self) -> int:
        return len(self._ours)

    def ask(self, method: str, params: JsonObject, *, wants_progress: bool = False) -> tuple[int, bytes]:
        """Open a request; return its id, and the line that asks."""
        request_id = next(self._ids)
        self._ours.add(request_id)
        if wants_progress:
            params = {**params, "_meta": {**params.get("_meta", {}), PROGRESS_TOKEN: request_id}}
        return request_id, messages.request_line(request_id, method, params)

    def settle(self, response: Response) -> bool:
        """Take an answer; return whether it is one to an open request of ours: "7" is no answer to 7."""
        request_id = response.id
        if isinstance(request_id, str) or request_id not in self._ours:
            return False
        self._ours.discard(request_id)
        return True

    def abandon(self, request_id: int, reason: str) -> bytes:
        """Stop waiting for an answer; return the line that says so, none if the answer has come."""
        if request_id not in self._ours:
            return b""
        self._ours.discard(request_id)
        return messages.notification_line("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def progressed(self, params: JsonObject) -> Progressed | None:
        """Understand what is said of the progress of an open request of ours; None if it is not, or makes no sense."""
        token, progress, total, message = (params.get(key) for key in (PROGRESS_TOKEN, "progress", "total", "message"))
        if not isinstance(token, int) or isinstance(token, bool) or token not in self._ours:
            return None
        if not _is_number(progress) or not (total is None or _is_number(total)):
            return None
        return Progressed(token, progress, total, message if isinstance(message, str) else None)


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that everybody can read."""
    return type(value) in {int, float} and abs(cast("float", value)) <= sys.float_info.max

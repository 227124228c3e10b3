"""Which requests of a pipelining client are under way, and which lines still wait for their turn?

So many requests are under way at a time. What a client sends beyond them waits as the bytes that it came in, which cost
least; and once too many bytes wait, nothing more is read. So memory is bounded, whether or not anybody reads the
answers. A cancellation and a `ping` do not wait behind the calls that were sent before them.
"""

import math
from collections import Counter, deque
from typing import NamedTuple

import anyio
import mcp_types as types

from contexthall.core import limits

# What a line that waits costs beside its bytes.
_LINE_COST = 100
# These end with the connection and not before it, so there is nothing to wait for.
_ENDLESS_METHODS = frozenset({"subscriptions/listen"})


class UnderWay:
    """The requests that the server was given and has not yet answered.

    Once the input has ended they are waited for as long as there is progress; then `life` is over.
    """

    def __init__(self, life: anyio.CancelScope) -> None:
        self._life = life
        self._ids: Counter[object] = Counter()
        self._changed = anyio.Event()
        self._deadline = math.inf

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._ids

    def note_given(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _ENDLESS_METHODS:
            self._ids[message.id] += 1
        if (cancelled := cancelled_id(message)) is not None:
            self._settle(cancelled)  # will never be answered

    def note_refused(self, reply: types.JSONRPCError) -> None:
        """Wait for this reply too: another request may have the same id, and it must not pass for its answer."""
        self._ids[reply.id] += 1

    def note_written(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    def note_end(self) -> None:
        """Wait for what is under way, from now on, but not for ever."""
        self._deadline = anyio.current_time() + limits.DRAIN_SECONDS
        self._life.deadline = self._deadline + limits.LAST_ANSWER_SECONDS
        self._changed.set()

    def takes(self, message: types.JSONRPCMessage) -> bool:
        """Return whether there is room for a message."""
        if not isinstance(message, types.JSONRPCRequest):
            return True
        more = limits.PINGS_UNDER_WAY if message.method == "ping" else 0
        return self._ids.total() < limits.REQUESTS_UNDER_WAY + more

    async def room(self, message: types.JSONRPCMessage) -> bool:
        """Wait for room for a message; return whether there is any."""
        while not self.takes(message) and not self._is_overdue():
            await self._change()
        return self.takes(message)

    async def settle(self) -> None:
        """Wait until all are answered, but not for ever."""
        while self._ids and not self._is_overdue():
            await self._change()

    async def _change(self) -> None:
        if self._changed.is_set():  # else others wait for it already
            self._changed = anyio.Event()
        with anyio.CancelScope(deadline=self._deadline):
            await self._changed.wait()

    def _is_overdue(self) -> bool:
        return anyio.current_time() >= self._deadline

    def _settle(self, request_id: object) -> None:
        if request_id in self._ids:
            self._ids[request_id] -= 1
            if not self._ids[request_id]:
                del self._ids[request_id]
        if self._deadline < math.inf:
            self.note_end()
        self._changed.set()


class Waiting(NamedTuple):
    """A line that waits; None stands for one that was too long."""

    line: bytes | None
    place: int


class Backlog:
    """The lines that have been read and wait, in their order."""

    def __init__(self) -> None:
        self._lines: deque[Waiting] = deque()
        self._bytes = 0
        self._next_place = 0
        self._revoked: dict[object, int] = {}
        self._has_ended = False
        self._put = anyio.Event()
        self._taken = anyio.Event()

    @property
    def is_empty(self) -> bool:
        return not self._lines

    async def put(self, line: bytes | None, revokes: object = None) -> None:
        """Let a line wait, as soon as there is room; it may take back the request of an id that waits before it."""
        while self._lines and self._bytes + _cost(line) > limits.WAITING_LINES_BYTES:
            self._taken = anyio.Event()
            await self._taken.wait()
        self._next_place += 1
        self._lines.append(Waiting(line, self._next_place))
        self._bytes += _cost(line)
        if revokes is not None:
            self._revoked[revokes] = self._next_place
        self._put.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._has_ended = True
        self._put.set()

    async def first(self) -> Waiting | None:
        """Return the line whose turn it is, or None at the end; it waits until it is dropped."""
        while not self._lines and not self._has_ended:
            self._put = anyio.Event()
            await self._put.wait()
        return self._lines[0] if self._lines else None

    def drop(self) -> None:
        """Let the next line have its turn."""
        self._bytes -= _cost(self._lines.popleft().line)
        self._taken.set()

    def is_revoked(self, message: types.JSONRPCMessage) -> bool:
        """Return whether a request was taken back before its turn came."""
        return isinstance(message, types.JSONRPCRequest) and message.id in self._revoked

    def forget_revocation(self, request_id: object, place: int) -> None:
        """Let requests of that id pass again, now that the line has been reached that took one back."""
        if self._revoked.get(request_id) == place:
            del self._revoked[request_id]


def cancelled_id(message: types.JSONRPCMessage) -> str | int | None:
    """Name the request that a message cancels, if it does."""
    if not isinstance(message, types.JSONRPCNotification) or message.method != "notifications/cancelled":
        return None
    request_id = (message.params or {}).get("requestId")
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def _cost(line: bytes | None) -> int:
    return len(line or b"") + _LINE_COST

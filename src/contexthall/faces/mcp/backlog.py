"""Which lines of a pipelining client still wait for their turn? Pure.

So many requests are under way at a time. What a client sends beyond them waits as the bytes that it came in, which cost
least; and once too many bytes wait, nothing more is read. So memory is bounded, whether or not anybody reads the
answers.
"""

from collections import deque

from contexthall.core import limits
from contexthall.protocol.messages import Id, Message, Request, cancelled_id

# What a line that waits costs beside its bytes.
_LINE_COST = 100


class Backlog:
    """The lines that have been read and wait, in their order; None stands for one that was too long."""

    def __init__(self) -> None:
        self._lines: deque[bytes | None] = deque()
        self._bytes = 0
        self._put = 0
        self._taken = 0
        self._revoked: dict[Id, int] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def is_full(self) -> bool:
        """Whether so much waits that nothing more should be read."""
        return self._bytes > limits.WAITING_LINES_BYTES

    def put(self, line: bytes | None, revokes: Id | None = None) -> None:
        """Let a line wait; it may take back the request of an id that waits before it."""
        self._lines.append(line)
        self._bytes += _cost(line)
        self._put += 1
        if revokes is not None:
            self._revoked[revokes] = self._put

    def take(self) -> bytes | None:
        """Return the line whose turn it is."""
        line = self._lines.popleft()
        self._bytes -= _cost(line)
        self._taken += 1
        return line

    def is_revoked(self, message: Message) -> bool:
        """Return whether the message that was just taken is a request that a later line takes back."""
        if (cancelled := cancelled_id(message)) is not None and self._revoked.get(cancelled) == self._taken:
            del self._revoked[cancelled]  # requests of that id pass again, once its last cancellation is reached
        return isinstance(message, Request) and message.id in self._revoked


def _cost(line: bytes | None) -> int:
    return len(line or b"") + _LINE_COST

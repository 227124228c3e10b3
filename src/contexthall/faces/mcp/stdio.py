"""How does the hall speak over standard input and output?

Every line that is no message is answered, and the next one still works. At end of file the calls under way are answered
first. A client that is gone ends the server.

Memory is bounded: so many calls are under way, others wait for a place, and nothing more is read once too many bytes
wait or the client has not taken its answers. What is no call, a `ping` or a cancellation, does not wait for a place.
"""

import asyncio
from collections import deque
from functools import partial
from typing import cast

from contexthall.core import limits
from contexthall.core.lines import LineSplitter
from contexthall.faces.mcp.server import HallServer
from contexthall.protocol.messages import Result, RpcError, error_line, parse_message
from contexthall.protocol.peer import Send
from contexthall.protocol.server import Call, Cancellable, ServerRole, Stop

# What a call that waits costs beside the bytes of its line.
_CALL_COST = 1000


class StdioConnection(asyncio.Protocol):
    """A client, and what it asked for."""

    _transport: asyncio.Transport

    def __init__(self, server: HallServer) -> None:
        self._server = server
        self._role = ServerRole(server)
        self._splitter = LineSplitter()
        self._lines: deque[bytes | None] = deque()
        """What was read and is not yet looked at."""
        self._waiting: deque[tuple[Call, int]] = deque()
        """Calls that wait for a place, each with what it costs meanwhile."""
        self._waiting_bytes = 0
        self._calls: dict[int, Cancellable] = {}
        self._has_changed = self._has_ended = False
        self._over = asyncio.Event()
        self._deadline: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until the input has ended and everything is answered, or `end` is called."""
        unsubscribe = self._server.catalog.changed.subscribe(self._announce)
        try:
            await self._over.wait()
        finally:
            unsubscribe()
            self._transport.pause_reading()
            await self._cancel_calls()

    def end(self) -> None:
        """End at once."""
        self._over.set()

    # Callbacks of the transport:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._lines.extend(self._splitter.feed(data))
        self._go_on()

    def eof_received(self) -> None:
        self._lines.extend(self._splitter.finish())
        self._has_ended = True
        self._go_on()

    def resume_writing(self) -> None:
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.end()

    # What comes in:

    def _go_on(self) -> None:
        """Go on with what waits, as far as there is room; once the input has ended and nothing waits, it is over."""
        while True:
            if self._waiting and len(self._calls) < limits.REQUESTS_UNDER_WAY and self._is_taken():
                self._begin_next()
            elif self._lines and self._is_taken() and self._waiting_bytes < limits.WAITING_BYTES:
                self._handle(self._lines.popleft())
            else:
                break
        if self._has_ended:
            self._end_if_settled()
        elif self._lines:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
        if self._has_changed:
            self._announce()

    def _is_taken(self) -> bool:
        """Return whether the client takes its answers."""
        return self._transport.get_write_buffer_size() < limits.UNWRITTEN_BYTES

    def _handle(self, line: bytes | None) -> None:
        try:
            message = parse_message(line)
        except RpcError as error:
            self._transport.write(error_line(error.request_id, error.error))
            return
        for effect in self._role.receive(message):
            match effect:
                case Send(answer):
                    self._transport.write(answer)
                case Call():
                    size = len(line or b"") + _CALL_COST
                    self._waiting.append((effect, size))
                    self._waiting_bytes += size
                case Stop(ticket):
                    if (begun := self._calls.pop(ticket, None)) is not None:
                        begun.cancel()

    def _begin_next(self) -> None:
        """Begin the call that has waited longest, unless it was cancelled."""
        call, size = self._waiting.popleft()
        self._waiting_bytes -= size
        if call.ticket in self._role.incoming:
            self._calls[call.ticket] = call.start(partial(self._report, call), partial(self._conclude, call))

    # What goes out:

    def _conclude(self, call: Call, outcome: Result | RpcError) -> None:
        self._calls.pop(call.ticket, None)
        self._transport.write(self._role.finish(call, outcome))

    async def _report(self, call: Call, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far a call has come, unless the client is behind with reading."""
        if self._is_taken():
            self._transport.write(self._role.report(call.ticket, progress, total, message))

    def _announce(self) -> None:
        """Tell the client that the list has changed; changes that come while something is being written are one."""
        self._has_changed = self._transport.get_write_buffer_size() > 0
        if not self._has_changed:
            self._transport.writelines(self._role.announce())

    # The end:

    def _end_if_settled(self) -> None:
        """End if nothing is left to answer; else wait for it, from now on, but not for ever."""
        self._transport.writelines(self._role.end_subscriptions())
        if self._deadline is not None:
            self._deadline.cancel()
        if self._lines or self._role.incoming or self._transport.get_write_buffer_size():
            self._deadline = asyncio.get_running_loop().call_later(limits.DRAIN_SECONDS, self.end)
        else:
            self.end()

    async def _cancel_calls(self) -> None:
        calls = tuple(self._calls.values())
        for call in calls:
            call.cancel()
        if tasks := [call for call in calls if isinstance(call, asyncio.Task)]:
            await asyncio.wait(tasks, timeout=limits.LAST_ANSWER_SECONDS)

"""How does the hall speak over standard input and output?

Every line that is no message is answered, and the next one still works. At end of file the calls under way are answered
first. SIGTERM, SIGINT and a client that is gone end the server. Nothing but messages reaches the client. What a client
sends beyond the requests under way waits; a cancellation and a `ping` do not wait behind the calls before them.
"""

import asyncio
import signal
from collections.abc import Collection
from contextlib import suppress
from functools import partial

from contexthall.core import limits
from contexthall.core.lines import LineSplitter
from contexthall.faces.mcp.backlog import Backlog
from contexthall.faces.mcp.pipes import PipeReader, Pipes, PipeWriter
from contexthall.faces.mcp.server import Cancellable, HallServer
from contexthall.protocol.messages import (
    MalformedMessageError,
    Message,
    Request,
    Result,
    RpcError,
    cancelled_id,
    error_line,
    read,
)
from contexthall.protocol.peer import Send
from contexthall.protocol.server import Begin, Call, Era, Stop

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_URGENT = (b"ping", b"cancelled")


async def serve(server: HallServer, pipes: Pipes) -> None:
    """Serve one client until it is gone or a signal comes."""
    connection = StdioConnection(server, pipes)
    _end_on_signal(connection)
    await connection.run()


def _end_on_signal(connection: "StdioConnection") -> None:
    """Let the first SIGTERM or SIGINT end the connection; those after it are ignored until the process ends."""
    loop = asyncio.get_running_loop()

    def end(*_: object) -> None:
        for number in _ENDING_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(connection.end)

    for number in _ENDING_SIGNALS:
        signal.signal(number, end)


class StdioConnection:
    """A client, and what it asked for."""

    def __init__(self, server: HallServer, pipes: Pipes) -> None:
        self._server = server
        self._role = server.role()
        self._backlog = Backlog()
        self._splitter = LineSplitter()
        self._reader = PipeReader(pipes.incoming, self._read)
        self._writer = PipeWriter(pipes.outgoing, self.end)
        self._unwritten = 0
        self._calls: dict[int, Cancellable] = {}
        self._is_announcing = False
        self._has_changed = False
        self._has_ended = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deadline: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until the input has ended and everything is answered, or `end` is called."""
        unsubscribe = self._server.catalog.changed.subscribe(self._announce)
        with self._writer.open():
            self._reader.resume()
            try:
                await self._over
            finally:
                unsubscribe()
                self._reader.pause()
                if self._deadline is not None:
                    self._deadline.cancel()
                await _cancelled(tuple(self._calls.values()))

    def end(self) -> None:
        """End at once."""
        if not self._over.done():
            self._over.set_result(None)

    # What comes in:

    def _read(self, chunk: bytes) -> None:
        with self._writer.together(), self._server.workers.together():
            for line in self._splitter.feed(chunk) if chunk else self._splitter.finish():
                self._take(line)
        if self._backlog.is_full:
            self._reader.pause()
        if not chunk:
            self._has_ended = True
            self._settle()

    def _take(self, line: bytes | None) -> None:
        """Let a line have its turn now if it can, or if it is urgent."""
        if not self._backlog and self._takes():
            self._handle_line(line)
            return
        urgent = _urgent(line)
        if urgent is not None and self._overtakes(urgent):
            self._handle(urgent)
        else:
            self._backlog.put(line, None if urgent is None else cancelled_id(urgent))

    def _takes(self, more: int = 0) -> bool:
        return self._role.running + self._unwritten < limits.REQUESTS_UNDER_WAY + more

    def _overtakes(self, message: Message) -> bool:
        if isinstance(message, Request):
            return self._role.era is Era.HANDSHAKE and self._takes(limits.PINGS_UNDER_WAY)
        cancelled = cancelled_id(message)
        return cancelled is not None and self._role.is_open(cancelled)

    def _handle_line(self, line: bytes | None) -> None:
        try:
            message = read(line)
        except MalformedMessageError as error:
            self._send(error_line(error.request_id, error.to_json()))
            return
        if not self._backlog.is_revoked(message):
            self._handle(message)

    def _handle(self, message: Message) -> None:
        for effect in self._role.receive(message):
            match effect:
                case Send(line):
                    self._send(line)
                case Begin(call):
                    report, conclude = partial(self._report, call), partial(self._conclude, call)
                    self._calls[call.ticket] = self._server.begin(call, report, conclude)
                case Stop(ticket):
                    if (begun := self._calls.pop(ticket, None)) is not None:
                        begun.cancel()
                    self._settle()

    # What goes out:

    def _conclude(self, call: Call, outcome: Result | RpcError) -> None:
        self._calls.pop(call.ticket, None)
        self._send(self._role.finish(call, outcome))

    async def _report(self, call: Call, progress: float, total: float | None, message: str | None) -> None:
        if line := self._role.report(call.ticket, progress, total, message):
            self._writer.send(line)
            await self._writer.drained()

    def _send(self, line: bytes) -> None:
        """Send an answer; none is left of what was cancelled."""
        if line:
            self._unwritten += 1
            self._writer.send(line, self._note_written)

    def _note_written(self) -> None:
        self._unwritten -= 1
        self._settle()

    def _settle(self) -> None:
        """Go on with what waits; once the input has ended and nothing does, it is over."""
        while self._backlog and self._takes():
            self._handle_line(self._backlog.take())
        if not self._has_ended:
            if not self._backlog.is_full:
                self._reader.resume()
            return
        for line in self._role.end_subscriptions():
            self._send(line)
        if not self._backlog and not self._role.running and not self._unwritten:
            self.end()
        else:
            self._wait_for_answers()

    def _wait_for_answers(self) -> None:
        """Wait for what is under way, from now on, but not for ever."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(limits.DRAIN_SECONDS, self.end)

    def _announce(self) -> None:
        """Tell the client that the list has changed; changes that come while that is being written are one."""
        if self._is_announcing:
            self._has_changed = True
            return
        lines = self._role.announce()
        self._is_announcing = bool(lines)
        for line in lines[:-1]:
            self._writer.send(line)
        for line in lines[-1:]:
            self._writer.send(line, self._note_announced)

    def _note_announced(self) -> None:
        self._is_announcing = False
        if self._has_changed:
            self._has_changed = False
            self._announce()


def _urgent(line: bytes | None) -> Message | None:
    """Read a line that may overtake others: a cancellation, or a question whether the hall is there."""
    if line is None or len(line) > limits.URGENT_LINE_BYTES or not any(word in line for word in _URGENT):
        return None
    try:
        message = read(line)
    except MalformedMessageError:
        return None
    is_ping = isinstance(message, Request) and message.method == "ping" and not message.params
    return message if is_ping or cancelled_id(message) is not None else None


async def _cancelled(calls: Collection[Cancellable]) -> None:
    for call in calls:
        call.cancel()
    if tasks := [call for call in calls if isinstance(call, asyncio.Task)]:
        await asyncio.wait(tasks, timeout=limits.LAST_ANSWER_SECONDS)

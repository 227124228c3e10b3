"""By which way does the hall reach a member's server? Over the pipes of a process that it started, or over HTTP.

Opening one starts the server where the hall has to, and leaving it ends what was started. What a server prints that is
no message is kept with its other words.
"""

import asyncio
import json
import logging
import re
import socket
import sys
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, TypeAlias, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from contexthall.core import limits, wire
from contexthall.core.errors import MemberError
from contexthall.core.lines import Ends
from contexthall.core.wire import has_too_many_values
from contexthall.guild.members.manifest import PORT, ManifestError, MemberManifest, filled_in, filled_in_headers
from contexthall.guild.servers.log import BoundedLog
from contexthall.guild.servers.process import LAUNCHER, MemberProcess, OrphanReaper, clean_environment
from contexthall.guild.servers.redaction import RedactedStream, Redactor

# What the SDK logs of a server is in its errors as well, where values of variables are taken out.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

Incoming: TypeAlias = SessionMessage | Exception

_SHELL_CODES = {127: "its command was not found", 126: "its command cannot be executed"}
# Where an answer that is not read has its own number, and not one of something in it.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*[,}]')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
NOT_READ = "the server's answer was not read: "
TOO_LARGE = f"it is larger than {limits.MEMBER_MESSAGE_BYTES} bytes"
_FIRST_BAD_STATUS = 300


class Transport:
    """The way to one server."""

    def __init__(
        self,
        manifest: MemberManifest,
        directory: str,
        log: BoundedLog,
        environment: Mapping[str, str],
        reaper: OrphanReaper,
    ) -> None:
        self.in_haste = False
        """Set if a server that does not end by itself shall be given little time."""
        self.is_http = manifest.launch.transport == "http"
        self.process: MemberProcess | None = None
        """The server, if it was the hall that started it."""
        self.redactor = Redactor({name: environment[name] for name in manifest.launch.variables if name in environment})
        """Takes the values of variables out of whatever the server says."""
        self._manifest = manifest
        self._directory = directory
        self._log = log
        self._stderr = RedactedStream(self.redactor)
        self._environment = environment
        self._reaper = reaper
        self.http_status = 0
        """The status of the last HTTP answer that was none of success."""
        self._was_stopped = False
        self._rubbish = ""
        self.rubbish_lines = 0
        """How many lines were printed that are no messages."""
        self._unanswered = 0

    def close_log(self) -> None:
        """Let go of the file to which the server's words go."""
        self._log.write(self._stderr.finish())
        self._log.close()

    @property
    def has_ended(self) -> bool:
        """Whether the server ended by itself."""
        return self.process is not None and self.process.ended.done() and not self._was_stopped

    def ending(self, when: str = "", *, is_starting: bool = False) -> str:
        """Return how the server ended, or how it looks as if it had."""
        if self.process is None or (self.is_http and not self.has_ended):
            return "the connection to the server ended"
        if not self.has_ended:
            return "the server closed its standard output"
        code = self.process.ended.result()
        if is_starting and code in _SHELL_CODES:
            return _SHELL_CODES[code]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the server {how} {when}".rstrip()

    def evidence(self) -> str:
        """Quote what the server said, for people."""
        said = self._log.last_line()
        if said.startswith(f"{LAUNCHER}: "):
            return f"its command is {self._manifest.launch.command}"
        quotes = [f"it printed {self._rubbish!r}, which is no message"] if self._rubbish else []
        return "; ".join([*quotes, *([f"its last words: {said}"] if said else [])])

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[Any, Any]]:
        """Return two streams of messages, from the server and to it."""
        launch = self._manifest.launch
        async with AsyncExitStack() as stack:
            port = _free_port() if launch.transport == "http" and launch.command else 0
            if launch.command:
                self.process = await self._start(port)
                stack.push_async_exit(self._end_process)
            if launch.transport == "stdio":
                assert self.process is not None
                yield await stack.enter_async_context(self._pipes(self.process))
            else:
                yield await stack.enter_async_context(self._http(port))

    async def _start(self, port: int) -> MemberProcess:
        launch = self._manifest.launch
        args = [each.replace(PORT, str(port)) for each in launch.args] if port else launch.args
        try:
            environment = clean_environment(self._environment, filled_in(launch.env, self._environment))
            return await MemberProcess.start(
                [launch.command, *args],
                directory=self._directory,
                environment=environment,
                reaper=self._reaper,
                on_stderr=lambda data: self._log.write(self._stderr.feed(data)),
            )
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        except FileNotFoundError:  # a command that is missing is the shell's to report
            raise MemberError("the server could not be started: its directory is gone") from None
        except OSError as error:
            raise MemberError("the server could not be started", more=str(error)) from None

    async def _end_process(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self.process is not None
        with anyio.CancelScope(shield=True):
            if kind is not None and issubclass(kind, Exception):  # what broke the connection may have been its end
                await self.process.ends_within(limits.LAST_WORDS_SECONDS)
            self._was_stopped = not self.process.ended.done()
            await self.process.stop(reads_input=not self.is_http, in_haste=self.in_haste)

    @asynccontextmanager
    async def _pipes(self, process: MemberProcess) -> AsyncIterator[tuple[Any, Any]]:
        to_hall, from_member = anyio.create_memory_object_stream[Incoming](0)
        to_member, from_hall = anyio.create_memory_object_stream[SessionMessage](limits.QUEUED_MESSAGES)
        async with to_hall, from_member, to_member, from_hall, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, to_hall)
            tasks.start_soon(self._write, process, from_hall)
            yield from_member, to_member
            tasks.cancel_scope.cancel()

    async def _read(self, process: MemberProcess, to_hall: MemoryObjectSendStream[Incoming]) -> None:
        async with to_hall:
            async for line in process.lines():
                if (message := _decoded(line)) is None:
                    await self._note_rubbish(line)
                elif self._is_heard(message):
                    await to_hall.send(SessionMessage(message))

    def _is_heard(self, message: types.JSONRPCMessage) -> bool:
        """Return whether a message is passed on: who asks more than anybody does not listen to the answers."""
        if isinstance(message, types.JSONRPCRequest):
            if self._unanswered >= limits.MEMBER_QUESTIONS:
                return False
            self._unanswered += 1
        return True

    async def _write(self, process: MemberProcess, from_hall: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(OSError):
            async for item in from_hall:
                await process.write(_encoded(item.message))
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._unanswered -= 1

    async def _note_rubbish(self, line: bytes) -> None:
        quoted = self.redactor.data(line)[: limits.RUBBISH_QUOTE_BYTES]
        self._rubbish = self._rubbish or quoted.decode("utf-8", "replace")
        await self._keep_line(b"[stdout] " + quoted)

    async def _keep_line(self, line: bytes) -> None:
        """Keep a line that was printed; one who prints too many waits until we have listened to others."""
        self._log.write(self.redactor.data(line) + b"\n")
        self.rubbish_lines += 1
        if self.rubbish_lines % limits.RUBBISH_LINES == 0:
            await asyncio.sleep(limits.RUBBISH_PAUSE_SECONDS)

    @asynccontextmanager
    async def _http(self, port: int) -> AsyncIterator[tuple[Any, Any]]:
        launch = self._manifest.launch
        try:
            headers = filled_in_headers(launch.headers, self._environment)
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        if self.process is not None:
            await self._wait_for_port(self.process, port)
        url = launch.url or f"http://127.0.0.1:{port}/mcp"
        # How long an answer may take is counted elsewhere; here only what nobody waits for any more has to end.
        patience = httpx2.Timeout(limits.CONNECT_SECONDS, read=limits.READ_SECONDS + self._manifest.tool_seconds)
        async with (
            self._overheard(),
            # A proxy leads out of this machine; what the hall started is on it.
            httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **headers},
                timeout=patience,
                trust_env=self.process is None,
                event_hooks={"response": [self._note_response]},
            ) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=limits.MEMBER_MESSAGE_BYTES) as streams,
            _validated(streams[0]) as validated,
        ):
            yield validated, streams[1]

    async def _note_response(self, response: httpx2.Response) -> None:
        if response.status_code >= _FIRST_BAD_STATUS:
            self.http_status = response.status_code
        if not response.headers.get("content-type", "").startswith("text/event-stream"):  # whose events are bounded
            response.stream = _BoundedBody(response)

    @asynccontextmanager
    async def _overheard(self) -> AsyncIterator[None]:
        """Keep what a server that speaks over HTTP prints."""
        async with anyio.create_task_group() as tasks:
            if self.process is not None:
                tasks.start_soon(self._keep_output, self.process)
            yield
            tasks.cancel_scope.cancel()

    async def _keep_output(self, process: MemberProcess) -> None:
        async for line in process.lines():
            await self._keep_line(line)

    async def _wait_for_port(self, process: MemberProcess, port: int) -> None:
        """Knock until somebody opens; the time to start is bounded elsewhere."""
        while not process.ended.done():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(limits.KNOCK_SECONDS)
            else:
                writer.close()
                return
        with anyio.move_on_after(limits.LAST_WORDS_SECONDS):
            await process.stderr_closed.wait()
        raise MemberError(self.ending("before it listened", is_starting=True), more=self.evidence())


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer over HTTP, as far as it may go; of what is beyond that the SDK tells whoever asked."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        self._is_packed = response.headers.get("content-encoding", "identity") != "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError(f"{NOT_READ}it is compressed, though nobody asked for that")
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > limits.MEMBER_MESSAGE_BYTES:
                raise httpx2.StreamError(f"{NOT_READ}{TOO_LARGE}")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def _validated(incoming: AsyncIterable[Incoming]) -> AsyncIterator[MemoryObjectReceiveStream[Incoming]]:
    """Pass on what comes over HTTP, but for what the SDK would break at or take for something else."""
    to_hall, validated = anyio.create_memory_object_stream[Incoming](0)

    async def validate() -> None:
        async with to_hall:
            async for item in incoming:
                if isinstance(item, Exception) or _is_for_us(item.message):
                    await to_hall.send(item)

    async with validated, anyio.create_task_group() as tasks:
        tasks.start_soon(validate)
        yield validated
        tasks.cancel_scope.cancel()


def _decoded(line: bytes) -> types.JSONRPCMessage | None:
    """Read a line as a message; None if it is none."""
    if isinstance(line, Ends):
        return _answer_to_what_is_not_read(line, TOO_LARGE)
    if has_too_many_values(line, limits.MEMBER_MESSAGE_VALUES):
        return _answer_to_what_is_not_read(line, f"it holds more than {limits.MEMBER_MESSAGE_VALUES} values")
    try:
        value = json.loads(line, parse_int=wire.integer, parse_constant=wire.nothing)
    except (ValueError, RecursionError):
        return None
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _answer_instead(value)
    if wire.is_deep(line):
        return _answer_instead(value)
    return message if _is_for_us(message) else None


def _is_for_us(message: types.JSONRPCMessage) -> bool:
    """Return whether the SDK may have a message.

    Our requests have numbers: an answer to "7" is not one to 7, for which the SDK would take it. And at progress by a
    number beyond all numbers it would break.
    """
    if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
        return not isinstance(message.id, str)
    if not isinstance(message, types.JSONRPCNotification) or message.method != "notifications/progress":
        return True
    token, *told = [(message.params or {}).get(key) for key in ("progressToken", "progress", "total")]
    is_odd = any(isinstance(number, int | float) and not abs(number) <= sys.float_info.max for number in told)
    return not is_odd and not isinstance(token, str)


def _answer_to_what_is_not_read(line: bytes, reason: str) -> types.JSONRPCError | None:
    """Return an error in the place of an answer that is too much to read, so that nobody waits for it."""
    found = _FIRST_ID.match(line[: limits.RUBBISH_QUOTE_BYTES]) or _LAST_ID.search(line[-limits.RUBBISH_QUOTE_BYTES :])
    if found is None:
        return None
    error = types.ErrorData(code=types.INTERNAL_ERROR, message=f"{NOT_READ}{reason}")
    return types.JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error)


def _answer_instead(value: object) -> types.JSONRPCError | None:
    """Return an error in the place of an answer that is malformed, so that nobody waits for it; None if it is none."""
    if not isinstance(value, dict) or not value.keys() & {"result", "error"}:
        return None
    answered = value.get("id")
    if isinstance(answered, bool) or not isinstance(answered, int):
        return None
    error = value.get("error")
    said = error.get("message") if isinstance(error, dict) else error
    message = said if isinstance(said, str) and said else "its answer is malformed"
    return types.JSONRPCError(
        jsonrpc="2.0", id=answered, error=types.ErrorData(code=types.INTERNAL_ERROR, message=message)
    )


def _encoded(message: types.JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
    except PydanticSerializationError:  # a lone surrogate: only an escape can carry it
        return wire.escaped(message.model_dump(by_alias=True, exclude_unset=True)).encode("ascii") + b"\n"


def _free_port() -> int:
    with socket.socket() as knocking:
        knocking.bind(("127.0.0.1", 0))
        return int(knocking.getsockname()[1])

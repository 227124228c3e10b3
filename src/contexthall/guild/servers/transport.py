"""By which way does the hall reach a member's server? Over the pipes of a process that it started, or over HTTP.

Opening one starts the server where the hall has to, and leaving it ends what was started. What a server prints that is
no message is kept with its other words.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Protocol, cast

import anyio

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.core.lines import Ends
from contexthall.guild.members.manifest import PORT, ManifestError, MemberManifest, filled_in, filled_in_headers
from contexthall.guild.servers.log import BoundedLog
from contexthall.guild.servers.process import LAUNCHER, MemberProcess, OrphanReaper, clean_environment
from contexthall.guild.servers.redaction import RedactedStream, Redactor
from contexthall.protocol.client import NOT_READ
from contexthall.protocol.messages import INTERNAL_ERROR, Message, Response, UnreadMessageError, read_unparsed

if TYPE_CHECKING:
    from contexthall.guild.servers.http_wire import HttpWire

_SHELL_CODES = {127: "its command was not found", 126: "its command cannot be executed"}
# Where an answer that is not read has its own number, and not one of something in it.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*[,}]')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
TOO_LARGE = f"it is larger than {limits.MEMBER_MESSAGE_BYTES} bytes"


class Wire(Protocol):
    """What carries messages to a server and back."""

    version: str
    """Of the protocol, once one was agreed on: over HTTP it stands in every head."""

    def messages(self) -> AsyncIterator[Message]: ...

    async def write(self, line: bytes) -> None: ...


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
        self._was_stopped = False
        self._rubbish = ""
        self.rubbish_lines = 0
        """How many lines were printed that are no messages."""
        self._explain: Callable[[str], MemberError | None] | None = None

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

    def http_failure(self, message: str) -> MemberError | None:
        """Return what was said in the place of a server over HTTP; None if the words are the server's own."""
        return None if self._explain is None else self._explain(message)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Wire]:
        """Return what carries messages to the server and back."""
        launch = self._manifest.launch
        http = None if launch.transport == "stdio" else _http_wire()
        async with AsyncExitStack() as stack:
            port = _free_port() if launch.transport == "http" and launch.command else 0
            if launch.command:
                self.process = await self._start(port)
                stack.push_async_exit(self._end_process)
            if http is not None:
                await stack.enter_async_context(self._overheard())
                yield await stack.enter_async_context(await self._reach(http, port))
            else:
                assert self.process is not None
                yield _PipeWire(self, self.process)

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

    async def note_rubbish(self, line: bytes) -> None:
        """Keep what was printed and is no message."""
        quoted = self.redactor.data(line)[: limits.RUBBISH_QUOTE_BYTES]
        self._rubbish = self._rubbish or quoted.decode("utf-8", "replace")
        await self._keep_line(b"[stdout] " + quoted)

    async def _keep_line(self, line: bytes) -> None:
        """Keep a line that was printed; one who prints too many waits until we have listened to others."""
        self._log.write(self.redactor.data(line) + b"\n")
        self.rubbish_lines += 1
        if self.rubbish_lines % limits.RUBBISH_LINES == 0:
            await asyncio.sleep(limits.RUBBISH_PAUSE_SECONDS)

    async def _reach(self, http: "HttpWire", port: int) -> AbstractAsyncContextManager[Wire]:
        launch = self._manifest.launch
        try:
            headers = filled_in_headers(launch.headers, self._environment)
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        if self.process is not None:
            await self._wait_for_port(self.process, port)
        url = launch.url or f"http://127.0.0.1:{port}/mcp"
        # A proxy leads out of this machine; what the hall started is on it.
        self._explain = http.failure
        return http.opened(url, headers, self._manifest.tool_seconds, uses_proxy=self.process is None)

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


class _PipeWire:
    """Lines of a process, one message each."""

    def __init__(self, transport: Transport, process: MemberProcess) -> None:
        self.version = ""
        self._transport = transport
        self._process = process
        self.write = process.write

    async def messages(self) -> AsyncIterator[Message]:
        async for line in self._process.lines():
            if (message := decoded(line)) is None:
                await self._transport.note_rubbish(line)
                continue
            del line  # which may be long, and its result is a copy
            yield message
            del message


def _http_wire() -> "HttpWire":
    from contexthall.guild.servers.http_wire import HttpWire  # noqa: PLC0415 - the SDK takes a second to load

    return HttpWire()


def decoded(line: bytes) -> Message | None:
    """Read a line as a message; None if it is none: our requests have numbers, so an answer to "7" is none either."""
    if isinstance(line, Ends):
        return _answer_to_what_is_not_read(line, TOO_LARGE)
    try:
        message = read_unparsed(line)
    except UnreadMessageError as error:
        return _answer_to_what_is_not_read(line, str(error))
    except ValueError:
        return None
    return None if isinstance(message, Response) and isinstance(message.id, str) else message


def _answer_to_what_is_not_read(line: bytes, reason: str) -> Response | None:
    """Return an error in the place of an answer that is too much to read, so that nobody waits for it."""
    found = _FIRST_ID.match(line[: limits.RUBBISH_QUOTE_BYTES]) or _LAST_ID.search(line[-limits.RUBBISH_QUOTE_BYTES :])
    return None if found is None else Response(int(found[1]), error=unread(reason))


def first_error(group: BaseExceptionGroup[Exception]) -> Exception:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return cast("Exception", found)


def unread(reason: str) -> JsonObject:
    """Return the error that stands for an answer that was not read."""
    return {"code": INTERNAL_ERROR, "message": f"{NOT_READ}{reason}"}


def _free_port() -> int:
    with socket.socket() as knocking:
        knocking.bind(("127.0.0.1", 0))
        return int(knocking.getsockname()[1])

"""By which way does the hall reach a member's server? Over the pipes of a process that it started, or over HTTP.

Whoever carries messages starts the server where the hall has to, and ends what was started. What a server prints that
is no message is kept with its other words.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any, NamedTuple, NoReturn

import anyio
import msgspec

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.core.lines import Ends
from contexthall.core.raw_json import JsonLimitError
from contexthall.guild.log import BoundedLog
from contexthall.guild.members.manifest import PORT, MemberManifest, filled_in, filled_in_headers
from contexthall.guild.servers.process import LAUNCHER, MemberProcess, OrphanReaper, clean_environment
from contexthall.guild.servers.redaction import RedactedStream, Redactor
from contexthall.protocol.client import ClientRole, ClientState
from contexthall.protocol.messages import INTERNAL_ERROR, Message, Response, parse_server_message

_SHELL_CODES = {127: "its command was not found", 126: "its command cannot be executed"}
_IS_REQUEST = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|id)"\s*:[^,{]*,\s*)*"method"')
# Where an answer that is not read has its own number, and not one of something in it.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*[,}]')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*([0-9]{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
NOT_READ = "the server's answer was not read: "
TOO_LARGE = f"{NOT_READ}it is larger than {limits.MEMBER_MESSAGE_BYTES} bytes"


class Unanswered(Response, frozen=True, kw_only=True):
    """What stands in the place of an answer that cannot be had."""

    failure: MemberError
    is_cut_off: bool = False
    """Whether it ended before it was complete; perhaps the server did, too."""
    error: JsonObject | None = msgspec.field(default_factory=lambda: {"code": INTERNAL_ERROR, "message": "no answer"})


class Wire(NamedTuple):
    """What carries messages to a server and back."""

    messages: AsyncIterator[Message]
    write: Callable[[bytes], Awaitable[None]]


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
        self.redactor = Redactor({name: environment[name] for name in manifest.launch.variables if name in environment})
        """Takes the values of variables out of whatever the server says."""
        self._manifest = manifest
        self._is_http = manifest.launch.transport == "http"
        self._directory = directory
        self._log = log
        self._stderr = RedactedStream(self.redactor)
        self._environment = environment
        self._reaper = reaper
        self._process: MemberProcess | None = None
        self._wire: Wire | None = None
        self._rubbish = ""
        self.rubbish_lines = 0
        """How many lines were printed that are no messages."""

    async def carry(self, role: ClientRole, take: Callable[[Message], None]) -> NoReturn:
        """Open the conversation, and carry it until it ends.

        That is always an error: a MemberError, a ManifestError, or whatever the HTTP client raises.
        """
        launch = self._manifest.launch
        port = _free_port() if self._is_http and launch.command else 0
        process = self._process = await self._started(port) if launch.command else None
        talk = asyncio.create_task(self._talk(role, take, port))
        ends: list[asyncio.Future[Any]] = [talk] if process is None else [talk, process.ended]
        code: int | None = None
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            # A server that ends closes its output a moment before; what it started may hold it open ever after.
            await asyncio.wait(ends, timeout=limits.CONNECTION_GRACE_SECONDS)
        finally:
            talk.cancel()
            with suppress(asyncio.CancelledError):  # the task's, or one that comes now: it hurries the task
                await talk
            if process is not None:
                code = process.ended.result() if process.ended.done() else None
                with suppress(asyncio.CancelledError):  # which leaves the process no time to end by itself
                    await process.stop(reads_input=not self._is_http, in_haste=self.in_haste)
            self._log.write(self._stderr.finish())
            self._log.close()
        failure = talk.result() if code is None else None
        raise failure or MemberError(self._ending(code, is_starting=role.state is not ClientState.OPEN))

    async def write(self, line: bytes) -> None:
        """Write a line; if the server does not read any more, its end says why."""
        assert self._wire is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._wire.write(line)

    def _ending(self, code: int | None, *, is_starting: bool) -> str:
        """Return how the server ended, or how it looks as if it had."""
        if code is None:  # it did not end by itself
            return "the connection to the server ended" if self._is_http else "the server closed its standard output"
        if is_starting and code in _SHELL_CODES:
            return _SHELL_CODES[code]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the server {how}{' before it answered initialize' if is_starting else ''}"

    def evidence(self) -> str:
        """Quote what the server said, for people."""
        said = self.redactor.text(self._log.last_line())  # a value may have been cut in two by a colour
        if said.startswith(f"{LAUNCHER}: "):
            return f"its command is {self._manifest.launch.command}"
        quotes = [f"it printed {self._rubbish!r}, which is no message"] if self._rubbish else []
        return "; ".join([*quotes, *([f"its last words: {said}"] if said else [])])

    async def _printed(self, process: MemberProcess) -> AsyncIterator[Message]:
        """Yield the messages that a process prints; what is none is kept with its other words."""
        async for line in process.lines():
            if (message := decoded(line)) is not None:
                del line  # which may be long, and its result is a copy
                yield message
                del message
                continue
            quoted = self.redactor.data(line)[: limits.RUBBISH_QUOTE_BYTES]
            self._rubbish = self._rubbish or quoted.decode("utf-8", "replace")
            self._log.write(b"[stdout] " + quoted + b"\n")
            self.rubbish_lines += 1
            if self.rubbish_lines % limits.RUBBISH_LINES == 0:  # who prints too much waits until others were heard
                await asyncio.sleep(limits.RUBBISH_PAUSE_SECONDS)

    async def _started(self, port: int) -> MemberProcess:
        launch = self._manifest.launch
        args = [each.replace(PORT, str(port)) for each in launch.args] if port else launch.args
        try:
            return await MemberProcess.start(
                [launch.command, *args],
                directory=self._directory,
                environment=clean_environment(self._environment, filled_in(launch.env, self._environment)),
                reaper=self._reaper,
                on_stderr=lambda data: self._log.write(self._stderr.feed(data)),
                prints_messages=not self._is_http,
            )
        except FileNotFoundError:  # a command that is missing is the shell's to report
            raise MemberError("the server could not be started: its directory is gone") from None
        except OSError as error:
            raise MemberError("the server could not be started", more=str(error)) from None

    async def _talk(self, role: ClientRole, take: Callable[[Message], None], port: int) -> Exception | None:
        """Carry messages until no more come; return what else went wrong, in whichever task."""
        try:
            async with await self._way(role, port) as self._wire:
                await self.write(role.open())
                async for message in self._wire.messages:
                    take(message)
                    del message  # which may be long, and would be held until the next one comes
        except Exception as error:  # noqa: BLE001 - it is raised, unless the server's end is why
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            return error
        return None

    async def _way(self, role: ClientRole, port: int) -> AbstractAsyncContextManager[Wire]:
        """Return what carries messages, once somebody listens."""
        launch, process = self._manifest.launch, self._process
        if not self._is_http:
            assert process is not None
            return nullcontext(Wire(self._printed(process), process.write))
        from contexthall.guild.servers.http_wire import HttpWire  # noqa: PLC0415 - the SDK takes a second to load

        headers = filled_in_headers(launch.headers, self._environment)
        if process is not None:
            await _knock(process, port)
        url = launch.url or f"http://127.0.0.1:{port}/mcp"
        # A proxy leads out of this machine; what the hall started is on it.
        return HttpWire(role).opened(url, headers, self._manifest.tool_seconds, uses_proxy=process is None)


def decoded(line: bytes) -> Message | None:
    """Read a line as a message; None if it is none: our requests have numbers, so an answer to "7" is none either."""
    if isinstance(line, Ends):
        return _in_place_of(line, TOO_LARGE)
    try:
        message = parse_server_message(line)
    except JsonLimitError as error:
        return _in_place_of(line, f"{NOT_READ}{error}")
    except ValueError:
        return None
    return None if isinstance(message, Response) and isinstance(message.id, str) else message


def _in_place_of(line: bytes, reason: str) -> Unanswered | None:
    """Return what stands in the place of an answer that is too much to read, so that nobody waits for it."""
    start, end = line[: limits.RUBBISH_QUOTE_BYTES], line[-limits.RUBBISH_QUOTE_BYTES :]
    found = None if _IS_REQUEST.match(start) else _FIRST_ID.match(start) or _LAST_ID.search(end)
    return None if found is None else Unanswered(int(found[1]), failure=MemberError(reason))


def _free_port() -> int:
    with socket.socket() as knocking:
        knocking.bind(("127.0.0.1", 0))
        return int(knocking.getsockname()[1])


async def _knock(process: MemberProcess, port: int) -> None:
    """Knock until somebody opens, ConnectionError if nobody can any more; the time to start is bounded elsewhere."""
    while not process.ended.done():
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(limits.KNOCK_SECONDS)
        else:
            writer.close()
            return
    raise ConnectionError  # whoever listens there from now on is somebody else

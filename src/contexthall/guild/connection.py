"""How does the hall speak with a member's server? As an MCP client, over its pipes or over HTTP.

One task owns each connection: it enters and leaves everything that has to be, and when it ends, the connection has
ended and so has the server, if it was the hall that started it. Any other task may call. Definitions and results are
passed on as they came, which is why nothing here is made into the SDK's models.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Protocol, TypeAlias, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from contexthall.core.catalog import JsonObject, Progress
from contexthall.core.errors import MemberError
from contexthall.guild.manifest import PORT, Launch, Manifest, ManifestError, filled_in
from contexthall.guild.process import MemberProcess, clean_environment
from contexthall.guild.roster import Member

Incoming: TypeAlias = SessionMessage | Exception

_SHELL_CODES = {127: "its command was not found", 126: "its command cannot be executed"}
_MOST_TOOLS = 100_000
_MOST_PAGES = 10_000
_MOST_QUEUED = 1024
_KNOCK_SECONDS = 0.02
_LONGEST_QUOTE = 200
_MOST_LINES = 200
_PAUSE_SECONDS = 0.05
_LONGEST_EVENT = 64 << 20
_GRACE_SECONDS = 1.0
_CONNECT_SECONDS = 30.0
_READ_SECONDS = 300.0
_STOP_SECONDS = 6.0
_HASTY_STOP_SECONDS = 2.0
_LOST_SESSION = {"Session terminated", "Session not found"}
# What the SDK says in the server's place; a server may answer with the same codes, and other words.
_CLOSED = ("Connection closed", "SSE stream ")
_TIMED_OUT = "Request {!r} timed out"


class Log(Protocol):
    """Where a server's words go."""

    def write(self, data: bytes) -> None: ...

    def last_line(self) -> str: ...

    def close(self) -> None: ...


class Connector:
    """Starts servers, or reaches those that run elsewhere: the manager's server factory."""

    def __init__(self, *, version: str, environment: Mapping[str, str], log_of: Callable[[Member], Log]) -> None:
        self._client = {"name": "context-hall", "title": "Context Hall", "version": version}
        self._environment = environment
        self._log_of = log_of

    async def spawn(self, member: Member) -> "Connection":
        """Start or reach the server of `member` and shake hands with it; MemberError if that cannot be."""
        if member.manifest is None:
            raise MemberError(f"its manifest cannot be used: {member.error}")
        connection = Connection(member.manifest, member.directory, self._log_of(member), self._environment)
        await connection.open(self._client)
        return connection


class Connection:
    """A server that is being spoken with."""

    def __init__(self, manifest: Manifest, directory: str, log: Log, environment: Mapping[str, str]) -> None:
        self.on_tools_changed: Callable[[], None] = _nothing
        """Called when the server says that its tools have changed."""
        self.on_gone: Callable[[str, str], None] = _nothing_more
        """Called with the reason, and what else is known, when the server is gone without having been stopped."""
        self.in_haste = False
        """Set if a server that does not end by itself shall be given little time."""
        self._manifest = manifest
        self._directory = directory
        self._log = log
        self._environment = environment
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._done = asyncio.Event()
        self._is_stopping = False
        self._process: MemberProcess | None = None
        self._dispatcher: JSONRPCDispatcher[TransportContext] | None = None
        self._rubbish = ""
        self._kept_lines = 0
        self._options: CallOptions = {}
        self._offers_tools = True
        self._pending = 0
        self._is_forgotten = False
        self._owner: asyncio.Task[None] | None = None
        self._reason = ""

    async def open(self, client: Mapping[str, str]) -> None:
        """Connect, within the time that the manifest gives."""
        self._owner = asyncio.create_task(self._own(client), name=f"connection to {self._manifest.name}")
        seconds = self._manifest.start_seconds
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self._abandon()
            raise MemberError(
                f"the server did not answer initialize within {seconds:g} s", more=self._evidence()
            ) from None
        except asyncio.CancelledError:
            await self._abandon()
            raise

    async def list_tools(self) -> list[object]:
        """Ask for all pages of its tools."""
        tools: list[object] = []
        cursor, seen = None, set[str]()
        while self._offers_tools:
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, self._manifest.start_seconds)
            offered = page.get("tools")
            if not isinstance(offered, list):
                raise MemberError("the server answered tools/list without a list of tools")
            tools += offered
            cursor = page.get("nextCursor")
            if not cursor:
                break
            if not isinstance(cursor, str) or cursor in seen or len(seen) >= _MOST_PAGES:
                raise MemberError("the pages of its tools/list never end")
            if len(tools) > _MOST_TOOLS:
                raise MemberError(f"the server offers more than {_MOST_TOOLS} tools")
            seen.add(cursor)
        return tools

    async def invoke_tool(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> dict[str, Any]:
        """Call a tool and give the result as it came; MemberError with the server's own error if that is its answer."""
        params = {"name": name, "arguments": dict(arguments)}
        return await self._request("tools/call", params, self._manifest.tool_seconds, progress)

    async def stop(self) -> None:
        """End the connection, and the server if it is ours."""
        self._is_stopping = True
        self._reason = self._reason or "the hall has stopped the server"
        self._done.set()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_HASTY_STOP_SECONDS if self.in_haste else _STOP_SECONDS)
            await self._abandon()

    async def _request(
        self, method: str, params: dict[str, Any], seconds: float, progress: Progress | None = None
    ) -> dict[str, Any]:
        options: CallOptions = {**self._options, "timeout": seconds}
        if progress is not None:
            options["on_progress"] = cast("ProgressFnT", progress)
        try:
            return await self._answered(method, params, options, seconds)
        except TimeoutError:
            raise MemberError(f"the server did not answer {method} within {seconds:g} s") from None
        except MCPError as error:
            raise await self._understood(error.error, method, seconds) from None

    async def _answered(
        self, method: str, params: dict[str, Any], options: CallOptions, seconds: float
    ) -> dict[str, Any]:
        assert self._dispatcher is not None
        self._pending += 1
        try:
            # The SDK's clock starts when the request is written, which a server that does not read can prevent.
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                return await self._dispatcher.send_raw_request(method, params, options)
        finally:
            self._pending -= 1
            if self._is_forgotten and not self._pending:
                self._done.set()

    async def _understood(self, error: types.ErrorData, method: str, seconds: float) -> MemberError:
        """Tell what the SDK says of the connection from what the server answered."""
        if error.code == types.REQUEST_TIMEOUT and error.message == _TIMED_OUT.format(method):
            return MemberError(f"the server did not answer {method} within {seconds:g} s")
        is_closed = error.code == types.CONNECTION_CLOSED and error.message.startswith(_CLOSED)
        if is_closed and await self._ends_within(2 * _GRACE_SECONDS):  # by then it is known why
            return MemberError(f"{self._ending()} during the call", more=self._evidence())
        if self._manifest.launch.transport == "http" and error.message in _LOST_SESSION:
            await self._leave_session()
            return MemberError("the server has forgotten the session", can_repeat=True)
        fault = error.model_dump(by_alias=True, exclude_none=True)
        return MemberError(f"the server answered {method} with an error: {error.message}", fault=fault)

    async def _leave_session(self) -> None:
        """End a connection that the server has forgotten, once all who called have heard so from the server."""
        self._is_forgotten = True
        self._reason = "the server has forgotten the session"
        if self._pending:
            await self._ends_within(_GRACE_SECONDS)
        self._done.set()
        await self._ends_within(_GRACE_SECONDS)

    async def _ends_within(self, seconds: float) -> bool:
        """Wait for the end of the connection, but not for long; say whether it has come, or is near."""
        assert self._owner is not None
        await asyncio.wait([self._owner], timeout=seconds)
        return self._owner.done() or self._done.is_set()

    async def _abandon(self) -> None:
        self._is_stopping = self.in_haste = True
        if self._owner is not None and not self._owner.done():
            self._owner.cancel()
            await asyncio.wait([self._owner])

    # The owner's part:

    async def _own(self, client: Mapping[str, str]) -> None:
        try:
            async with self._transport() as (read, write):
                await self._converse(JSONRPCDispatcher(read, write), client)
        except* MemberError as group:
            self._fail(cast("MemberError", _first(group)))
        except* MCPError as group:
            self._fail(MemberError(f"the server refused to shake hands: {_first(group)}"))
        except* (httpx2.HTTPError, OSError) as group:
            await self._fail_to_reach(_first(group))
        finally:
            self._conclude()

    async def _converse(self, dispatcher: JSONRPCDispatcher[TransportContext], client: Mapping[str, str]) -> None:
        self._dispatcher = dispatcher
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._listen, dispatcher)
            tasks.start_soon(self._notice_end)
            await self._shake_hands(dispatcher, client)
            if not self._ready.done():
                self._ready.set_result(None)
            await self._done.wait()
            tasks.cancel_scope.cancel()

    async def _listen(
        self,
        dispatcher: JSONRPCDispatcher[TransportContext],
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        await dispatcher.run(_answer, self._heed, task_status=task_status)
        if self._process is not None:  # one that ends closes its output a moment before
            await self._process.ends_within(_GRACE_SECONDS)
        self._note_end()

    async def _notice_end(self) -> None:
        """Wait for the process, whose output somebody else may hold open."""
        if self._process is not None:
            await asyncio.shield(self._process.ended)
            await asyncio.sleep(_GRACE_SECONDS)
            self._note_end()

    def _note_end(self) -> None:
        if not self._ready.done():
            raise MemberError(self._ending("before it answered initialize"), more=self._evidence())
        self._reason = self._ending()
        self._done.set()

    async def _shake_hands(self, dispatcher: JSONRPCDispatcher[TransportContext], client: Mapping[str, str]) -> None:
        offer = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": dict(client)}
        try:
            answer = await dispatcher.send_raw_request("initialize", offer, {"cancel_on_abandon": False})
        except MCPError as error:
            if error.error.code == types.CONNECTION_CLOSED and error.error.message.startswith(_CLOSED):
                await asyncio.sleep(2 * _GRACE_SECONDS)  # whoever noticed will say why
            raise
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise MemberError(f"the server speaks version {version!r} of the protocol, which the hall does not")
        capabilities = answer.get("capabilities")
        self._offers_tools = not isinstance(capabilities, dict) or "tools" in capabilities
        self._options = {"headers": {MCP_PROTOCOL_VERSION_HEADER: str(version)}}
        await dispatcher.notify("notifications/initialized", None, self._options)

    async def _heed(self, _context: DispatchContext[TransportContext], method: str, _params: object) -> None:
        if method == "notifications/tools/list_changed":
            self.on_tools_changed()

    async def _fail_to_reach(self, error: Exception) -> None:
        if self._process is not None and await self._process.ends_within(_GRACE_SECONDS):
            when = "" if self._ready.done() else "before it answered initialize"
            self._fail(MemberError(self._ending(when), more=self._evidence()))
        else:
            sentence = f"the server could not be reached: {type(error).__name__}"
            self._fail(MemberError(sentence, more=str(error)))

    def _fail(self, error: MemberError) -> None:
        self._reason = error.detail
        if not self._ready.done():
            self._ready.set_exception(error)

    def _conclude(self) -> None:
        """Say that it is over, to whoever waits for it or relied on it."""
        if not self._ready.done():
            self._ready.set_exception(MemberError("the server was not started"))
        if self._ready.exception() is None and not self._is_stopping:
            self.on_gone(self._ending(), self._evidence())
        self._log.close()

    def _ending(self, when: str = "") -> str:
        """Say how the server ended."""
        if self._reason:
            return self._reason
        if self._process is None or (self._manifest.launch.transport == "http" and not self._process.ended.done()):
            return "the connection to the server ended"
        if not self._process.ended.done():
            return "the server closed its standard output"
        code = self._process.ended.result()
        if not self._ready.done() and code in _SHELL_CODES:
            return _SHELL_CODES[code]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the server {how} {when}".rstrip()

    def _evidence(self) -> str:
        """Quote what the server said, for people."""
        said = self._log.last_line()
        quotes = [f"it printed {self._rubbish!r}, which is no message"] if self._rubbish else []
        return "; ".join([*quotes, *([f"its last words: {said}"] if said else [])])

    # Transports:

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        launch = self._manifest.launch
        async with AsyncExitStack() as stack:
            port = _free_port() if launch.transport == "http" and launch.command else 0
            if launch.command:
                self._process = await self._start(launch, port)
                stack.push_async_callback(self._end_process, self._process)
            if launch.transport == "stdio":
                assert self._process is not None
                yield await stack.enter_async_context(self._pipes(self._process))
            else:
                yield await stack.enter_async_context(self._http(launch, port))

    async def _start(self, launch: Launch, port: int) -> MemberProcess:
        args = [each.replace(PORT, str(port)) for each in launch.args] if port else launch.args
        try:
            environment = clean_environment(self._environment, filled_in(launch.env, self._environment))
            return await MemberProcess.start(
                [launch.command, *args], directory=self._directory, environment=environment, say=self._log.write
            )
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        except FileNotFoundError:  # a command that is missing is the shell's to report
            raise MemberError("the server could not be started: its directory is gone") from None
        except OSError as error:
            raise MemberError("the server could not be started", more=str(error)) from None

    async def _end_process(self, process: MemberProcess) -> None:
        with anyio.CancelScope(shield=True):
            reads = self._manifest.launch.transport == "stdio"
            await process.stop(reads_input=reads, in_haste=self.in_haste)

    @asynccontextmanager
    async def _pipes(self, process: MemberProcess) -> AsyncIterator[tuple[Any, Any]]:
        to_hall, from_member = anyio.create_memory_object_stream[Incoming](0)
        to_member, from_hall = anyio.create_memory_object_stream[SessionMessage](_MOST_QUEUED)
        async with to_hall, from_member, to_member, from_hall, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, to_hall)
            tasks.start_soon(self._write, process, from_hall)
            yield from_member, to_member
            tasks.cancel_scope.cancel()

    async def _read(self, process: MemberProcess, to_hall: MemoryObjectSendStream[Incoming]) -> None:
        async with to_hall:
            async for line in process.lines():
                if (message := _decoded(line)) is not None:
                    await to_hall.send(SessionMessage(message))
                else:
                    await self._note_rubbish(line or b"")

    async def _write(self, process: MemberProcess, from_hall: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with suppress(OSError):
            async for item in from_hall:
                await process.write(_encoded(item.message))

    async def _note_rubbish(self, line: bytes) -> None:
        text = line[:_LONGEST_QUOTE].decode("utf-8", "replace")
        self._rubbish = self._rubbish or text
        await self._keep_line(b"[stdout] " + line[:_LONGEST_QUOTE])

    async def _keep_line(self, line: bytes) -> None:
        """Keep a line that was printed; one who prints too many waits until we have listened to others."""
        self._log.write(line + b"\n")
        self._kept_lines += 1
        if self._kept_lines % _MOST_LINES == 0:
            await asyncio.sleep(_PAUSE_SECONDS)

    @asynccontextmanager
    async def _http(self, launch: Launch, port: int) -> AsyncIterator[tuple[Any, Any]]:
        try:
            headers = filled_in(launch.headers, self._environment)
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        if self._process is not None:
            await self._wait_for_port(self._process, port)
        url = launch.url or f"http://127.0.0.1:{port}/mcp"
        # How long an answer may take is counted elsewhere; here only what nobody waits for any more has to end.
        patience = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS + self._manifest.tool_seconds)
        async with (
            self._overheard(),
            httpx2.AsyncClient(headers=headers, timeout=patience) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=_LONGEST_EVENT) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _overheard(self) -> AsyncIterator[None]:
        """Keep what a server that speaks over HTTP prints."""
        async with anyio.create_task_group() as tasks:
            if self._process is not None:
                tasks.start_soon(self._keep_output, self._process)
            yield
            tasks.cancel_scope.cancel()

    async def _keep_output(self, process: MemberProcess) -> None:
        async for line in process.lines():
            await self._keep_line(line or b"")

    async def _wait_for_port(self, process: MemberProcess, port: int) -> None:
        """Knock until somebody opens; the time to start is bounded elsewhere."""
        while not process.ended.done():
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(_KNOCK_SECONDS)
            else:
                writer.close()
                return
        raise MemberError(self._ending("before it listened"), more=self._evidence())


async def _answer(
    _context: DispatchContext[TransportContext], method: str, _params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Answer what a server may ask of its client: whether it is there."""
    if method == "ping":
        return {}
    raise MCPError(types.METHOD_NOT_FOUND, "Method not found", method)


def _decoded(line: bytes | None) -> types.JSONRPCMessage | None:
    """Read a line as a message; None if it is none."""
    if line is None:
        return None
    try:
        value = json.loads(line, parse_constant=_nothing_there)
    except (ValueError, RecursionError):
        return None
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _answer_instead(value)


def _answer_instead(value: object) -> types.JSONRPCError | None:
    """Give an error in the place of an answer that is malformed, so that nobody waits for it; None if it is none."""
    if not isinstance(value, dict) or not value.keys() & {"result", "error"}:
        return None
    answered = value.get("id")
    if isinstance(answered, bool) or not isinstance(answered, str | int):
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
    except PydanticSerializationError:  # half of a surrogate pair: only an escape can carry it
        return json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode("ascii") + b"\n"


def _free_port() -> int:
    with socket.socket() as knocking:
        knocking.bind(("127.0.0.1", 0))
        return int(knocking.getsockname()[1])


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return cast("Exception", found)


def _nothing_there(_name: str) -> None:
    """NaN and its like, which some servers print and JSON does not have."""


def _nothing() -> None:
    """Do nothing, until somebody asks for more."""


def _nothing_more(_reason: str, _more: str) -> None:
    """Do nothing, until somebody asks for more."""

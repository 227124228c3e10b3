"""How does the hall speak with a member's server? As an MCP client, over its pipes or over HTTP.

One task owns each connection: it enters and leaves everything that has to be, and when it ends, the connection has
ended and so has the server, if it was the hall that started it. Any other task may call. Definitions and results are
passed on as they came, which is why nothing here is made into the SDK's models.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER, encode_header_value
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from contexthall.core import limits
from contexthall.core.catalog import JsonObject, Progress
from contexthall.core.errors import MemberError
from contexthall.guild.members.manifest import MemberManifest
from contexthall.guild.members.roster import Member
from contexthall.guild.servers.log import BoundedLog
from contexthall.guild.servers.process import OrphanReaper
from contexthall.guild.servers.transport import NOT_READ, TOO_LARGE, Transport

_NO_HANDSHAKE = {types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION}
_LOST_SESSION = {"Session terminated", "Session not found"}
# What the SDK says in the server's place; a server may answer with the same codes, and other words.
_CLOSED = ("Connection closed", "SSE stream ")
_NO_ANSWER = (
    "Server returned an error response",
    "Unexpected content type",
    "Failed to parse ",
    "Redirect",
    "server answered a request with 202",
)
_OVERSIZED_EVENT = f" exceeded the {limits.MEMBER_MESSAGE_BYTES} byte limit."
_TIMED_OUT = "Request {!r} timed out"


class Connector:
    """Starts servers, or reaches those that run elsewhere: the manager's server factory."""

    def __init__(self, *, version: str, environment: Mapping[str, str], log_of: Callable[[Member], BoundedLog]) -> None:
        self._client = {"name": "context-hall", "title": "Context Hall", "version": version}
        self._environment = environment
        self._log_of = log_of
        self._reaper = OrphanReaper()

    async def spawn(self, member: Member) -> "Connection":
        """Start or reach the server of `member` and shake hands with it; MemberError if that cannot be."""
        if member.manifest is None:
            raise MemberError(f"its manifest cannot be used: {member.error}")
        log = self._log_of(member)
        transport = Transport(member.manifest, member.directory, log, self._environment, self._reaper)
        connection = Connection(member.manifest, transport)
        await connection.open(self._client)
        return connection


class Connection:
    """A server that is being spoken with."""

    def __init__(self, manifest: MemberManifest, transport: Transport) -> None:
        self.on_tools_changed: Callable[[], None] = lambda: None
        """Called when the server says that its tools have changed."""
        self.on_gone: Callable[[str, str], None] = lambda _reason, _more: None
        """Called with the reason, and what else is known, when the server is gone without having been stopped."""
        self.in_haste = False
        """Set if a server that does not end by itself shall be given little time."""
        self._manifest = manifest
        self._transport = transport
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._done = asyncio.Event()
        self._is_stopping = False
        self._dispatcher: JSONRPCDispatcher[TransportContext] | None = None
        self._version = ""
        self._meta: dict[str, Any] = {}
        """What every request carries, in the era without a handshake."""
        self._offers_tools = True
        self._pending = 0
        self._is_forgotten = False
        self._owner: asyncio.Task[None] | None = None
        self._reason = ""

    async def open(self, client: Mapping[str, str]) -> None:
        """Connect, within the time that the manifest gives."""
        self._owner = asyncio.create_task(self._own(client), name=f"connection to {self._manifest.name}")
        seconds = self._manifest.start_seconds
        with self._redacted():
            try:
                async with asyncio.timeout(seconds):
                    await asyncio.shield(self._ready)
            except TimeoutError:
                await self._abandon()
                raise MemberError(
                    f"the server did not answer initialize within {seconds:g} s", more=self._transport.evidence()
                ) from None
            except asyncio.CancelledError:
                await self._abandon()
                raise

    async def list_tools(self) -> list[object]:
        """Ask for all pages of its tools."""
        seconds = max(self._manifest.start_seconds, self._manifest.tool_seconds)
        try:
            async with asyncio.timeout(seconds):
                return await self._all_pages()
        except TimeoutError:
            raise MemberError(f"the server did not list all its tools within {seconds:g} s") from None

    async def _all_pages(self) -> list[object]:
        tools: list[object] = []
        cursor, seen, size = None, set[str](), 0
        while self._offers_tools:
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, self._manifest.start_seconds)
            offered = page.get("tools")
            if not isinstance(offered, list):
                raise MemberError("the server answered tools/list without a list of tools")
            tools += offered
            size += len(json.dumps(offered))
            if size > limits.TOOLS_CACHE_BYTES:
                raise MemberError(f"the definitions of its tools come to more than {limits.TOOLS_CACHE_BYTES} bytes")
            cursor = page.get("nextCursor")
            if not cursor:
                break
            if not isinstance(cursor, str) or cursor in seen or len(seen) >= limits.LISTED_PAGES:
                raise MemberError("the pages of its tools/list never end")
            if len(tools) > limits.LISTED_TOOLS:
                raise MemberError(f"the server offers more than {limits.LISTED_TOOLS} tools")
            seen.add(cursor)
        return tools

    async def invoke_tool(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> dict[str, Any]:
        """Call a tool and give the result as it came; MemberError with the server's own error if that is its answer."""
        params = {"name": name, "arguments": dict(arguments)}
        return await self._request("tools/call", params, self._manifest.tool_seconds, progress)

    async def stop(self) -> None:
        """End the connection, and the server if it is ours."""
        self._is_stopping = True
        self._transport.in_haste |= self.in_haste
        self._reason = self._reason or "the hall has stopped the server"
        self._done.set()
        if self._owner is not None:
            in_haste = self._transport.in_haste
            seconds = limits.HASTY_STOP_SECONDS if in_haste else limits.CONNECTION_STOP_SECONDS
            await asyncio.wait([self._owner], timeout=seconds)
            await self._abandon()

    async def _request(
        self, method: str, params: dict[str, Any], seconds: float, progress: Progress | None = None
    ) -> dict[str, Any]:
        options: CallOptions = {"headers": self._headers(method, params), "timeout": seconds}
        if self._meta:
            params = {**params, "_meta": self._meta}
        rubbish = self._transport.rubbish_lines
        if progress is not None:
            options["on_progress"] = cast("ProgressFnT", _one_at_a_time(progress))
        with self._redacted():
            try:
                return await self._answered(method, params, options, seconds)
            except TimeoutError:
                raise self._unanswered(method, seconds, rubbish) from None
            except MCPError as error:
                if error.error.code == types.REQUEST_TIMEOUT and error.error.message == _TIMED_OUT.format(method):
                    raise self._unanswered(method, seconds, rubbish) from None
                raise await self._understood(error.error, method) from None

    @contextmanager
    def _redacted(self) -> Iterator[None]:
        """Take the values of variables out of an error: the server's words, and the SDK's, may quote them."""
        try:
            yield
        except MemberError as error:
            raise error.reworded(self._transport.redactor.text) from None

    async def _answered(
        self, method: str, params: dict[str, Any], options: CallOptions, seconds: float
    ) -> dict[str, Any]:
        assert self._dispatcher is not None
        self._pending += 1
        try:
            # The SDK's clock starts when the request is written, which a server that does not read can prevent.
            async with asyncio.timeout(seconds + limits.CONNECTION_GRACE_SECONDS):
                return await self._dispatcher.send_raw_request(method, params, options)
        finally:
            self._pending -= 1
            if self._is_forgotten and not self._pending:
                self._done.set()

    def _unanswered(self, method: str, seconds: float, rubbish: int) -> MemberError:
        instead = ", but printed what is no message" if self._transport.rubbish_lines > rubbish else ""
        return MemberError(
            f"the server did not answer {method} within {seconds:g} s{instead}", more=self._transport.evidence()
        )

    async def _understood(self, error: types.ErrorData, method: str) -> MemberError:
        """Tell what the SDK says of the connection from what the server answered."""
        is_oversized = self._transport.is_http and error.message.endswith(_OVERSIZED_EVENT)  # in the SDK's words
        if reason := TOO_LARGE if is_oversized else error.message.partition(NOT_READ)[2]:
            return MemberError(NOT_READ + reason)
        is_closed = error.code == types.CONNECTION_CLOSED and error.message.startswith(_CLOSED)
        if is_closed and await self._ends_within(2 * limits.CONNECTION_GRACE_SECONDS):  # by then it is known why
            return MemberError(f"{self._ending()} during the call", more=self._transport.evidence())
        if is_closed and self._transport.is_http:
            return MemberError("the server's answer ended before it was complete", more=error.message)
        if self._transport.is_http and error.message in _LOST_SESSION:
            await self._leave_session()
            return MemberError("the server has forgotten the session", can_repeat=True)
        if self._transport.is_http and error.message.startswith(_NO_ANSWER):
            return MemberError(self._http_failure(), more=_sdk_words(error.message))
        fault = error.model_dump(by_alias=True, exclude_none=True)
        return MemberError(f"the server answered {method} with an error: {error.message}", fault=fault)

    def _http_failure(self) -> str:
        status = self._transport.http_status
        return f"the server answered with HTTP status {status}" if status else "the server gave no MCP answer over HTTP"

    async def _leave_session(self) -> None:
        """End a connection that the server has forgotten, once all who called have heard so from the server."""
        self._is_forgotten = True
        self._reason = "the server has forgotten the session"
        if self._pending:
            await self._ends_within(limits.CONNECTION_GRACE_SECONDS)
        self._done.set()
        await self._ends_within(limits.CONNECTION_GRACE_SECONDS)

    async def _ends_within(self, seconds: float) -> bool:
        """Wait for the end of the connection, but not for long; return whether it has come, or is near."""
        assert self._owner is not None
        await asyncio.wait([self._owner], timeout=seconds)
        return self._owner.done() or self._done.is_set()

    async def _abandon(self) -> None:
        self._is_stopping = self._transport.in_haste = True
        if self._owner is not None and not self._owner.done():
            self._owner.cancel()
            await asyncio.wait([self._owner])

    # The owner's part:

    async def _own(self, client: Mapping[str, str]) -> None:
        try:
            async with self._transport.opened() as (read, write):
                await self._converse(JSONRPCDispatcher(read, write), client)
        except* MemberError as group:
            self._fail(cast("MemberError", _first(group)))
        except* MCPError as group:
            self._fail(self._refusal(str(_first(group))))
        except* (httpx2.HTTPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as group:
            await self._fail_to_reach(_first(group))
        except* Exception as group:  # noqa: BLE001 - whatever it is, whoever asked must not wait for an answer
            self._fail(MemberError(f"the connection to the server broke: {type(_first(group)).__name__}"))
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
        await dispatcher.run(_answer, self._on_notification, task_status=task_status)
        if self._transport.process is not None:  # one that ends closes its output a moment before
            await self._transport.process.ends_within(limits.CONNECTION_GRACE_SECONDS)
        self._note_end()

    async def _notice_end(self) -> None:
        """Wait for the process, whose output somebody else may hold open."""
        if self._transport.process is not None:
            await asyncio.shield(self._transport.process.ended)
            await asyncio.sleep(limits.CONNECTION_GRACE_SECONDS)
            self._note_end()

    def _note_end(self) -> None:
        if not self._ready.done():
            raise MemberError(self._ending("before it answered initialize"), more=self._transport.evidence())
        self._reason = self._ending()
        self._done.set()

    async def _shake_hands(self, dispatcher: JSONRPCDispatcher[TransportContext], client: Mapping[str, str]) -> None:
        offer = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": dict(client)}
        try:
            answer = await dispatcher.send_raw_request("initialize", offer, {"cancel_on_abandon": False})
        except MCPError as error:
            if error.error.code in _NO_HANDSHAKE:
                await self._do_without(dispatcher, client)
                return
            if error.error.code == types.CONNECTION_CLOSED and error.error.message.startswith(_CLOSED):
                await asyncio.sleep(2 * limits.CONNECTION_GRACE_SECONDS)  # whoever noticed will say why
            raise
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise MemberError(f"the server speaks version {version!r} of the protocol, which the hall does not")
        capabilities = answer.get("capabilities")
        self._offers_tools = not isinstance(capabilities, dict) or "tools" in capabilities
        self._version = str(version)
        await dispatcher.notify("notifications/initialized", None, {"headers": self._headers("", {})})

    async def _do_without(self, dispatcher: JSONRPCDispatcher[TransportContext], client: Mapping[str, str]) -> None:
        """Speak with a server of the era that has no handshake: every request says who asks, and in which version."""
        self._meta = {
            types.PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
            types.CLIENT_INFO_META_KEY: dict(client),
            types.CLIENT_CAPABILITIES_META_KEY: {},
        }
        options: CallOptions = {"headers": self._headers("server/discover", {}), "cancel_on_abandon": False}
        answer = await dispatcher.send_raw_request("server/discover", {"_meta": self._meta}, options)
        versions = answer.get("supportedVersions")
        if not isinstance(versions, list) or LATEST_MODERN_VERSION not in versions:
            raise MemberError(f"the server speaks versions {versions!r} of the protocol, which the hall does not")

    def _headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """Say over HTTP what the body says, as each era wants it."""
        if not self._meta:
            return {MCP_PROTOCOL_VERSION_HEADER: self._version}
        name = {MCP_NAME_HEADER: encode_header_value(params["name"])} if "name" in params else {}
        return {MCP_PROTOCOL_VERSION_HEADER: LATEST_MODERN_VERSION, MCP_METHOD_HEADER: method, **name}

    async def _on_notification(self, _context: DispatchContext[TransportContext], method: str, _params: object) -> None:
        if method == "notifications/tools/list_changed":
            self.on_tools_changed()

    def _refusal(self, message: str) -> MemberError:
        if self._transport.is_http and message.startswith(_NO_ANSWER):
            return MemberError(self._http_failure(), more=_sdk_words(message))
        return MemberError(f"the server refused to shake hands: {message}")

    async def _fail_to_reach(self, error: Exception) -> None:
        if self._transport.has_ended:
            when = "" if self._ready.done() else "before it answered initialize"
            self._fail(MemberError(self._ending(when), more=self._transport.evidence()))
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
            redact = self._transport.redactor.text
            self.on_gone(redact(self._ending()), redact(self._transport.evidence()))
        self._transport.close_log()

    def _ending(self, when: str = "") -> str:
        """Return how the server ended."""
        return self._reason or self._transport.ending(when, is_starting=not self._ready.done())


async def _answer(
    _context: DispatchContext[TransportContext], method: str, _params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Answer what a server may ask of its client: whether it is there."""
    if method == "ping":
        return {}
    raise MCPError(types.METHOD_NOT_FOUND, "Method not found", method)


def _sdk_words(message: str) -> str:
    """Return what the SDK says, without the input that it quotes: in parts, in which no value is recognised."""
    return message.partition(":")[0] if message.startswith("Failed to parse ") else message


def _one_at_a_time(tell: Progress) -> Progress:
    """Tell of progress in its order; of what piles up while the last is still being told, only the newest is kept."""
    waiting: deque[tuple[float, float | None, str | None]] = deque(maxlen=limits.QUEUED_PROGRESS)
    is_telling = False

    async def tell_in_turn(progress: float, total: float | None, message: str | None) -> None:
        nonlocal is_telling
        waiting.append((progress, total, message))
        if is_telling:
            return
        is_telling = True
        try:
            while waiting:
                await tell(*waiting.popleft())
        finally:
            is_telling = False

    return tell_in_turn


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return cast("Exception", found)

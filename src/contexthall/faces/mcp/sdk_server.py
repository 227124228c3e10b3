"""What does the hall say to an MCP client? Every tool of the catalog, in both protocol eras, over any transport."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.caching import CacheHint
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from contexthall.core import limits
from contexthall.core.catalog import Caller, Catalog, JsonObject
from contexthall.core.errors import UnknownToolError
from contexthall.core.wire import replace_lone_surrogates
from contexthall.faces.mcp.server import NAME
from contexthall.faces.workers import Workers

_UNINITIALIZED = (
    "Not initialized: send `initialize` first, or name the version of the protocol in `params._meta`, "
    f"as `{types.PROTOCOL_VERSION_META_KEY}`"
)
# Clients are told when the list changes, so they may keep it meanwhile.
_CACHE_HINT = CacheHint(ttl_ms=60_000, scope="private")

# What another server said is passed on as it is; the SDK would drop the fields that it does not know.
_passed_on: ContextVar[dict[str, Any]] = ContextVar("passed_on")


class SdkServer(Server[None]):
    """An MCP server over a catalog, for HTTP, which cannot carry a lone surrogate. `caller` is who connects."""

    def __init__(
        self,
        catalog: Catalog,
        caller: Caller,
        *,
        version: str,
        tool_timeout_seconds: float = limits.NATIVE_TOOL_SECONDS,
    ) -> None:
        self._catalog = catalog
        self._caller = caller
        self._workers = Workers(tool_timeout_seconds)
        self._announcements: dict[Connection | None, MemoryObjectSendStream[None]] = {}
        """To whom a change of the list is told: each connection, and None for all who listen to the bus."""
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus, max_subscriptions=limits.SUBSCRIPTIONS)
        super().__init__(
            NAME,
            version=version,
            title="Context Hall",
            instructions=catalog.instructions,
            cache_hints={"tools/list": _CACHE_HINT, "server/discover": _CACHE_HINT},
            lifespan=self._announcing,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listening,
        )
        self.middleware.append(self._with_what_is_passed_on)
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._remember_session)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Promise `listChanged`, whoever asks: the SDK's own callers ask without arguments."""
        promised = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(promised, experimental_capabilities, extensions)

    def end_subscriptions(self) -> None:
        """Let go of clients that listen for changes; they are told that it is over."""
        self._listening.close()

    async def _list_tools(
        self, _context: ServerRequestContext[None], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the list has one page")
        tools = self._catalog.tools
        _passed_on.get()["tools"] = [tool.definition() for tool in tools if tool.original is not None]
        self._catalog.listed.send()
        own = (tool.definition() for tool in tools if tool.original is None)
        return types.ListToolsResult(tools=[types.Tool.model_validate(each, by_name=False) for each in own])

    async def _call_tool(
        self, context: ServerRequestContext[None], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.session.report_progress(progress, total, _replace_lone_surrogates(message))

        caller = replace(self._caller, progress=report)
        try:
            result = await self._catalog.call(params.name, params.arguments or {}, caller, run_plain=self._workers.run)
        except UnknownToolError:
            most = limits.UNKNOWN_TOOL_CHARACTERS
            name = params.name if len(params.name) <= most else f"{params.name[:most]}…"
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}") from None
        if result.fault is not None:
            raise MCPError.from_error_data(_error_data(_replace_lone_surrogates(result.fault)))
        if result.whole is not None:
            _passed_on.get()["result"] = _replace_lone_surrogates(result.whole)
            return types.CallToolResult(content=[])
        return types.CallToolResult.model_validate(
            {
                "content": list(result.content),
                "structuredContent": result.structured,
                "isError": result.is_error,
            },
            by_name=False,
        )

    async def _with_what_is_passed_on(self, ctx: ServerRequestContext[None, Any], call_next: CallNext) -> HandlerResult:
        passed_on: dict[str, Any] = {}
        token = _passed_on.set(passed_on)
        try:
            answer = await call_next(ctx)
        except MCPError as error:
            is_uninitialized = not ctx.session._connection.initialize_accepted  # noqa: SLF001 - asked in no other way
            if is_uninitialized and error.error.code == types.INVALID_PARAMS:
                raise MCPError(types.INVALID_PARAMS, _UNINITIALIZED) from None
            raise
        finally:
            _passed_on.reset(token)
        if not isinstance(answer, dict):
            return answer
        if tools := passed_on.get("tools"):
            return {**answer, "tools": [*answer["tools"], *tools]}
        return _within(answer, passed_on["result"]) if "result" in passed_on else answer

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(self._catalog.tool(name).input_schema)
        except UnknownToolError:
            return None

    async def _remember_session(self, context: ServerRequestContext[None], _params: types.NotificationParams) -> None:
        """Tell this client of every change, for as long as it is connected."""
        connection = context.session._connection  # noqa: SLF001 - its exit stack is reached in no other way
        if connection not in self._announcements:
            connection.exit_stack.callback(self._forget, connection)
            self._announce_to(connection, connection.send_tool_list_changed)

    def _announce_to(self, connection: Connection | None, tell: Callable[[], Awaitable[None]]) -> None:
        """Let each have a task of its own: one that does not read holds up nobody else.

        Changes that come while the last one is being told are one.
        """
        self._announcements[connection], changes = anyio.create_memory_object_stream[None](1)
        self._telling.start_soon(_tell, tell, changes)

    def _forget(self, connection: Connection | None) -> None:
        self._announcements.pop(connection).close()

    def _announce(self) -> None:
        self.instructions = self._catalog.instructions  # for whoever connects from now on
        for changes in self._announcements.values():
            with suppress(anyio.WouldBlock):
                changes.send_nowait(None)

    @asynccontextmanager
    async def _announcing(self, _server: Server[None]) -> AsyncIterator[None]:
        """While this is entered, clients hear of every change of the list."""
        unsubscribe = self._catalog.changed.subscribe(self._announce)
        async with anyio.create_task_group() as self._telling:
            self._announce_to(None, partial(self._bus.publish, ToolsListChanged()))
            try:
                yield
            finally:
                unsubscribe()
                for connection in tuple(self._announcements):
                    self._forget(connection)
                self._telling.cancel_scope.cancel()


async def _tell(tell: Callable[[], Awaitable[None]], changes: MemoryObjectReceiveStream[None]) -> None:
    async with changes:
        async for _ in changes:
            await tell()


def _replace_lone_surrogates(value: Any) -> Any:  # noqa: ANN401 - whatever another server said
    """Return the same value with all text in it whole."""
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, list):
        return [_replace_lone_surrogates(each) for each in value]
    return (
        {replace_lone_surrogates(key): _replace_lone_surrogates(each) for key, each in value.items()}
        if isinstance(value, dict)
        else value
    )


def _within(envelope: dict[str, Any], result: JsonObject) -> dict[str, Any]:
    """Put another server's result into the envelope that this connection's era asks for."""
    era = {"resultType": envelope["resultType"]} if "resultType" in envelope else {}
    if "_meta" in envelope:
        era["_meta"] = {**(result.get("_meta") or {}), **envelope["_meta"]}
    return {**result, **era}


def _error_data(fault: JsonObject) -> types.ErrorData:
    """Read another server's error, whatever shape it has."""
    code, message = fault.get("code"), fault.get("message")
    return types.ErrorData(
        code=code if isinstance(code, int) else types.INTERNAL_ERROR,
        message=message if isinstance(message, str) else "Error without a message",
        data=fault.get("data"),
    )

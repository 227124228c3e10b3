"""What does the hall say to an MCP client? Every tool of the catalog, in both protocol eras, over any transport."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from contexthall.core.catalog import Caller, Catalog, JsonObject, ToolResult
from contexthall.core.errors import UnknownToolError

NAME = "context-hall"

# Clients are told when the list changes, so they may keep it meanwhile.
_CACHE_HINT = CacheHint(ttl_ms=60_000, scope="private")

# What another server said is passed on as it is; the SDK would drop the fields that it does not know.
_passed_on: ContextVar[dict[str, Any]] = ContextVar("passed_on")


class HallServer(Server[None]):
    """An MCP server over a catalog. `caller` is the authority of whoever connects."""

    def __init__(self, catalog: Catalog, caller: Caller, *, version: str, tool_timeout_seconds: float = 30.0) -> None:
        self._catalog = catalog
        self._caller = caller
        self._tool_timeout_seconds = tool_timeout_seconds
        self._sessions: set[ServerSession] = set()
        self._bus = InMemorySubscriptionBus()
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
            on_subscriptions_listen=ListenHandler(self._bus),
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
        caller = replace(self._caller, progress=context.session.report_progress)
        try:
            result = await self._catalog.call(
                params.name, params.arguments or {}, caller, run_plain=self._run_in_thread
            )
        except UnknownToolError:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}") from None
        if result.fault is not None:
            raise MCPError.from_error_data(_error_data(result.fault))
        if result.whole is not None:
            _passed_on.get()["result"] = result.whole
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
        finally:
            _passed_on.reset(token)
        if not isinstance(answer, dict):
            return answer
        if tools := passed_on.get("tools"):
            return {**answer, "tools": [*answer["tools"], *tools]}
        return _within(answer, passed_on["result"]) if "result" in passed_on else answer

    async def _run_in_thread(self, run: Callable[[], ToolResult]) -> ToolResult:
        with anyio.fail_after(self._tool_timeout_seconds):
            return await to_thread.run_sync(run, abandon_on_cancel=True)

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(self._catalog.tool(name).input_schema)
        except UnknownToolError:
            return None

    async def _remember_session(self, context: ServerRequestContext[None], _params: types.NotificationParams) -> None:
        self._sessions.add(context.session)

    @asynccontextmanager
    async def _announcing(self, _server: Server[None]) -> AsyncIterator[None]:
        """While this is entered, clients hear of every change of the list; several in quick succession are one."""
        send, receive = anyio.create_memory_object_stream[None](1)

        def announce() -> None:
            with suppress(anyio.WouldBlock):
                send.send_nowait(None)

        unsubscribe = self._catalog.changed.subscribe(announce)
        async with send, receive, anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell_clients, receive)
            try:
                yield
            finally:
                unsubscribe()
                self._sessions.clear()
                tasks.cancel_scope.cancel()

    async def _tell_clients(self, changes: MemoryObjectReceiveStream[None]) -> None:
        async for _ in changes:
            for session in tuple(self._sessions):
                await session.send_tool_list_changed()
            await self._bus.publish(ToolsListChanged())


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

"""What does the hall say to an MCP client? Every tool of the catalog, in both protocol eras, over any transport."""

import asyncio
import logging
import re
from functools import partial
from typing import Any

from contexthall.core import limits
from contexthall.core.catalog import Caller, Catalog, JsonObject, PlainCall, ToolResult
from contexthall.core.errors import UnknownToolError
from contexthall.core.text import truncated
from contexthall.core.tracing import traced
from contexthall.faces.workers import Workers
from contexthall.protocol.messages import INTERNAL_ERROR, INVALID_PARAMS, Result, RpcError
from contexthall.protocol.server import Call, Cancellable, Era, Method, OnDone, Report, Service

logger = logging.getLogger(__name__)

NAME = "context-hall"
# The server's part of a name is the one under which `context connect` writes the hall into a client's file.
_SHOWN_AS = {"claude-code": f"mcp__{NAME}__{{}}"}


class HallServer(Service):
    """An MCP server over a catalog. `caller` is the authority of whoever connects."""

    def __init__(
        self, catalog: Catalog, caller: Caller, *, version: str, tool_seconds: float = limits.NATIVE_TOOL_SECONDS
    ) -> None:
        self.catalog = catalog
        self.workers = Workers(tool_seconds)
        self._may_read = caller.may_read
        listing = Method("tools/list", Era.BOTH, self._list_tools, params={"cursor?": str}, is_cacheable=True)
        calling = Method("tools/call", Era.BOTH, start=self._start_call, params={"name": str, "arguments?": dict})
        info = {"name": NAME, "title": "Context Hall", "version": version}
        super().__init__((listing, calling), info, self._instructions)

    def input_schema(self, tool: object) -> JsonObject:
        """Return the schema of the arguments of a tool; of one that is not known, any arguments will do."""
        try:
            return self.catalog.tool(str(tool)).input_schema
        except UnknownToolError:
            return {}

    def _instructions(self, client: str) -> str:
        """Return what a client is told at the start, with the names of tools as it shows them to its model."""
        instructions = self.catalog.instructions
        if (shown := _SHOWN_AS.get(client)) is None:
            return instructions
        names = "|".join(re.escape(tool.name) for tool in self.catalog.tools if tool.original is None)
        pattern = rf"(?<![\w.])(?:{names})(?!\w)"
        return re.sub(pattern, lambda found: shown.format(found[0].replace(".", "_")), instructions)

    def _list_tools(self, call: Call) -> JsonObject:
        if call.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Unknown cursor: the list has one page")
        self.catalog.listed.send()
        return {"tools": [tool.definition() for tool in self.catalog.tools]}

    def _start_call(self, call: Call, report: Report, on_done: OnDone) -> Cancellable:
        """Begin a call: in a thread if the tool is a plain function, which needs no task, else in a task."""
        caller = Caller(may_read=self._may_read, progress=report, client=call.client, takes_raw=True)
        asked = call.params["name"], call.params.get("arguments") or {}, caller
        if (plain := self.catalog.plain_call(*asked)) is not None:
            return self.workers.start(plain.run, partial(_conclude, plain, on_done))
        return asyncio.create_task(self._run(*asked, call.params.get("_meta"), on_done))

    async def _run(self, name: str, arguments: JsonObject, caller: Caller, meta: object, on_done: OnDone) -> None:
        try:
            with traced(meta):
                result = await self.catalog.call(name, arguments, caller, run_plain=self.workers.run)
            on_done(_to_result(result))
        except UnknownToolError:
            on_done(RpcError(INVALID_PARAMS, f"Unknown tool: {truncated(name, limits.UNKNOWN_TOOL_CHARACTERS)}"))
        except Exception:
            logger.exception("tools/call: failed")
            on_done(RpcError(INTERNAL_ERROR, "Internal error"))


def _conclude(plain: PlainCall, on_done: OnDone, value: ToolResult, error: BaseException | None) -> None:
    if isinstance(error, asyncio.CancelledError):
        plain.note.end(error)
    else:
        try:
            on_done(_to_result(plain.conclude(value if error is None else error)))
        except Exception:
            logger.exception("tools/call: failed")
            on_done(RpcError(INTERNAL_ERROR, "Internal error"))


def _to_result(result: ToolResult) -> Result | RpcError:
    if (fault := result.fault) is not None:
        return RpcError(fault["code"], fault["message"], whole=fault)
    if (whole := result.raw or result.whole) is not None:
        return whole
    shown: dict[str, Any] = {"content": result.content, "isError": result.is_error}
    return shown if result.structured is None else {**shown, "structuredContent": result.structured}

"""The page's API: the rooms' own answers, as JSON; docs/api.md lists them.

All input is validated here, and every refusal is a sentence. By a GET nothing is done but what an agent's
first list does, too: members may be asked for theirs. Whatever else does something wants the hall's write token, which
only a page of the hall's own can have read.
"""

import hmac
import logging
import os.path
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias, TypeVar, cast, get_args

import anyio
from msgspec.structs import asdict
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contexthall import __version__
from contexthall.caches.library import (
    CacheEntry,
    CacheRef,
    Library,
    ReplyFormat,
    is_markdown,
)
from contexthall.core import limits, wire
from contexthall.core.activity import summaries
from contexthall.core.catalog import FailedResult, JsonObject, Tool, ToolResult
from contexthall.core.errors import (
    CODES,
    CacheMissingError,
    CheckFailedError,
    DiskError,
    HallError,
    InternalError,
    InvalidBudgetError,
    InvalidQueryError,
    MemberError,
    UnknownToolError,
    UsageError,
)
from contexthall.core.paths import native
from contexthall.core.tokens import LARGEST_BUDGET
from contexthall.core.wire import has_too_many_values
from contexthall.faces.members import facts_of
from contexthall.faces.web.guard import RefusedError, json_response
from contexthall.faces.web.rendering import Node, rendered
from contexthall.faces.workers import Workers
from contexthall.guild.manager import MCPManager, MemberView, one_line
from contexthall.hall import Hall

if TYPE_CHECKING:
    from contexthall.caches.library import CacheReport

logger = logging.getLogger(__name__)

ReadHandler: TypeAlias = Callable[[QueryParams], Awaitable[JsonObject]]
WriteHandler: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject]]
_T = TypeVar("_T")

_LARGEST_OFFSET = 2**53
_COUNT = re.compile(r"[0-9]{1,40}")


class _Asked(NamedTuple):
    """What a cache is asked, as the tool `context.resolve` names it."""

    cache: str
    query: str
    budget: int
    format: ReplyFormat

    @classmethod
    def of(cls, params: QueryParams) -> Self:
        form = params.get("format", "json")
        if form not in get_args(ReplyFormat):
            raise UsageError("`format` must be json or text")
        cache, query = _text(params, "cache"), _text(params, "query", InvalidQueryError)
        return cls(cache, query, _budget(params), cast("ReplyFormat", form))


class Api:
    """What the page asks of a hall."""

    def __init__(self, hall: Hall, *, write_token: str) -> None:
        self._hall = hall
        self._write_token = write_token
        self._workers = Workers(hall.settings.tool_timeout_seconds)

    def routes(self) -> list[Route]:
        """Return the routes of the API, those that change something by POST."""
        reading: dict[str, ReadHandler] = {
            "/healthz": self._health,
            "/api/hall": self._describe_hall,
            "/api/caches": self._list_caches,
            "/api/caches/states": self._judge_caches,
            "/api/caches/ranking": self._rank,
            "/api/caches/document": self._read_document,
            "/api/caches/section": self._show_section,
            "/api/caches/outline": self._outline_page,
            "/api/caches/contents": self._list_contents,
            "/api/caches/reply": self._reply,
            "/api/caches/why": self._explain,
            "/api/contexts": self._list_contexts,
            "/api/contexts/show": self._show_context,
            "/api/tools": self._list_tools,
            "/api/tools/show": self._show_own_tool,
            "/api/activity": self._list_activity,
            "/api/guild": self._list_members,
            "/api/guild/tool": self._show_tool,
            "/api/guild/difference": self._show_difference,
            "/api/guild/log": self._show_log,
        }
        writing: dict[str, WriteHandler] = {
            "/api/tools/call": self._call_own_tool,
            "/api/guild/call": self._call,
            "/api/guild/refresh": self._refresh,
            "/api/guild/stop": self._stop,
            "/api/guild/approve": self._approve,
            "/api/guild/switch": self._switch,
        }
        return [
            *(Route(path, partial(_read, work)) for path, work in reading.items()),
            *(Route(path, partial(self._write, work), methods=["POST"]) for path, work in writing.items()),
        ]

    def describe_member(self, name: str) -> JsonObject:
        return self._members(name)[0]

    async def _health(self, _params: QueryParams) -> JsonObject:
        return {"status": "ok", "version": __version__}

    async def _describe_hall(self, _params: QueryParams) -> JsonObject:
        settings = self._hall.settings
        return {
            "version": __version__,
            "project": os.path.basename(settings.project_root),
            "guild": self._hall.has_guild,
            "trust": settings.guild_trust,
            "toolsets": settings.toolsets,
            "reply": settings.reply,
            "writeToken": self._write_token,
        }

    async def _list_caches(self, _params: QueryParams) -> JsonObject:
        self._check_offered("caches")
        return {"caches": await self._in_thread(lambda: [*map(self._inspect, self._hall.caches.list_caches())])}

    async def _judge_caches(self, _params: QueryParams) -> JsonObject:
        self._check_offered("caches")
        reports = await self._in_thread(self._hall.caches.reports)
        return {"caches": [_state(name, report) for name, report in reports.items()]}

    def _inspect(self, entry: CacheEntry) -> JsonObject:
        try:
            known = self._hall.caches.inspect(self._locate(entry.path))._asdict()
        except (CacheMissingError, DiskError):  # gone meanwhile, or not to be read
            known = {"cache_version": "", "document_count": 0, "total_bytes": 0, "valid": False}
        return {"name": entry.path, "has_manifest": entry.has_manifest, **known}

    async def _rank(self, params: QueryParams) -> JsonObject:
        asked = _Asked.of(params)
        offset = _number(params, "offset", default=0, most=_LARGEST_OFFSET)
        limit = _number(params, "limit", default=50, most=limits.PAGE_PLACES)
        found = await self._with_cache(
            asked.cache,
            lambda library, it: library.places(it, asked.query, asked.budget, offset, limit, asked.format),
        )
        # In format 1 a place is that of a document, in format 2 that of a section.
        places = [place._asdict() for place in found.places]
        return {"query": asked.query, "budget": asked.budget, **found._asdict(), "places": places}

    async def _read_document(self, params: QueryParams) -> JsonObject:
        cache, identifier = _text(params, "cache"), _text(params, "id")
        document, tokens = await self._with_cache(cache, lambda library, it: library.document(it, identifier))
        return {**document._asdict(), "tokens": tokens, "rendered": await self._render(identifier, document.content)}

    async def _explain(self, params: QueryParams) -> JsonObject:
        asked, identifier = _Asked.of(params), _text(params, "id")
        why = await self._with_cache(
            asked.cache,
            lambda library, it: library.explain(it, asked.query, asked.budget, identifier, asked.format),
        )
        return {
            "place": why.place._asdict(),
            "considered": why.considered,
            "matched": why.matched_terms,
            "sentences": why.sentences(asked.budget),
        }

    async def _show_section(self, params: QueryParams) -> JsonObject:
        cache, identifier, query = _text(params, "cache"), _text(params, "id"), params.get("query", "")
        section = await self._with_cache(cache, lambda library, it: library.section(it, identifier, query))
        return {**section._asdict(), "rendered": await self._render(section.page, "".join(section.content))}

    async def _render(self, page: str, content: str) -> list[Node] | None:
        """Return a text as the page shows it; None if it is not Markdown, or too long."""
        return await self._in_thread(lambda: rendered(content)) if is_markdown(page) else None

    async def _outline_page(self, params: QueryParams) -> JsonObject:
        cache, page = _text(params, "cache"), _text(params, "page")
        outline = await self._with_cache(
            cache, lambda library, it: library.outline(it, page, start=page, budget=LARGEST_BUDGET)
        )
        return {**outline.pages[0]._asdict(), "sections": [each._asdict() for each in outline.pages[0].sections]}

    async def _list_contents(self, params: QueryParams) -> JsonObject:
        """Return some pages of a cache with their headings, and the page to go on from."""
        cache, start = _text(params, "cache"), params.get("start") or None
        outline = await self._with_cache(
            cache, lambda library, it: library.outline(it, start=start, budget=limits.PAGE_CONTENTS_TOKENS)
        )
        pages = [{**each._asdict(), "sections": [one._asdict() for one in each.sections]} for each in outline.pages]
        return {"pages": pages, "next": outline.next}

    async def _reply(self, params: QueryParams) -> JsonObject:
        """Return what an agent gets that asks the same: its tool is called."""
        self._check_offered("caches")
        arguments, caller = _Asked.of(params)._asdict(), self._hall.confined_caller
        called = await self._hall.catalog.call("context.resolve", arguments, caller, run_plain=self._workers.run)
        return {"text": called.text, "failed": called.is_error}

    async def _with_cache(self, cache: str, work: Callable[[Library, CacheRef], _T]) -> _T:
        self._check_offered("caches")
        try:
            return await self._in_thread(lambda: work(self._hall.caches, self._locate(cache)))
        except CacheMissingError:
            raise CacheMissingError(cache) from None  # where it was looked for is nobody's business

    def _locate(self, cache: str) -> CacheRef:
        return self._hall.caches.locate(native(cache), may_read=self._hall.confined_caller.may_read)

    async def _list_contexts(self, _params: QueryParams) -> JsonObject:
        self._check_offered("contexts")
        return await self._in_thread(lambda: self._hall.project.list_contexts().to_json())

    async def _show_context(self, params: QueryParams) -> JsonObject:
        self._check_offered("contexts")
        scope = _text(params, "scope")
        return await self._in_thread(lambda: self._hall.project.query_context(scope, with_freshness=True).to_json())

    async def _list_tools(self, _params: QueryParams) -> JsonObject:
        """Return the hall's own tools, which are those that no member has."""
        return {"tools": [_tool(tool.definition(), tool.name) for tool in self._own_tools().values()]}

    async def _show_own_tool(self, params: QueryParams) -> JsonObject:
        return {"definition": self._own_tool(_text(params, "tool")).definition()}

    async def _call_own_tool(self, body: JsonObject) -> JsonObject:
        tool, arguments = self._own_tool(_string(body, "tool")), _arguments(body)
        caller, run_plain = self._hall.confined_caller, self._workers.run
        return _outcome(await self._hall.catalog.call(tool.name, arguments, caller, run_plain=run_plain))

    def _own_tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._hall.catalog.tools if tool.original is None}

    def _own_tool(self, name: str) -> Tool:
        own = self._own_tools()
        if name not in own:
            raise UnknownToolError(f"the hall has no {name!r} of its own").about(name, own)
        return own[name]

    async def _list_members(self, _params: QueryParams) -> JsonObject:
        if not self._hall.has_guild:
            return {"members": []}
        # A page that shows the roster is as good as an agent that has its list: members may be asked from now on.
        self._hall.catalog.listed.send()
        with anyio.move_on_after(limits.PAGE_ROSTER_SECONDS):  # large members are looked at by the refresh
            await self._hall.guild.look_again()
        return {"members": self._members()}

    async def _list_activity(self, _params: QueryParams) -> JsonObject:
        calls, unread = await self._in_thread(lambda: self._hall.activity(limits.JOURNAL_CALLS))
        newest = [asdict(each) for each in reversed(calls[-limits.PAGE_CALLS :])]
        return {"calls": newest, "tools": [each._asdict() for each in summaries(calls)], "unread": unread}

    async def _show_tool(self, params: QueryParams) -> JsonObject:
        manager, member, tool = self._guild(), _text(params, "member"), _text(params, "tool")
        definition = next((each for each in manager.view(member).tools if each["name"] == tool), None)
        if definition is None:
            raise UnknownToolError(f"{member} has no {tool!r}")
        return {"listedAs": manager.listed_names(member)[member, tool], "definition": definition}

    async def _show_difference(self, params: QueryParams) -> JsonObject:
        return {"difference": self._guild().difference(_text(params, "member"))}

    async def _show_log(self, params: QueryParams) -> JsonObject:
        manager, member = self._guild(), _text(params, "member")
        lines = _number(params, "lines", default=200, most=limits.PAGE_LOG_LINES)
        return {"log": await self._in_thread(lambda: manager.log_of(member, lines))}

    async def _call(self, body: JsonObject) -> JsonObject:
        manager, member, tool = self._guild(), _string(body, "member"), _string(body, "tool")
        arguments = _arguments(body)
        name = manager.listed_names().get((member, tool))
        try:
            if name is None:  # a server may know a tool that is on no list
                return {"result": await manager.invoke_tool(member, tool, arguments)}
            called = await self._hall.catalog.call(name, arguments, self._hall.confined_caller)
        except MemberError as error:
            called = FailedResult(content=(), fault=error.fault, sentence=error.sentence)
        if called.fault is not None:
            return {"fault": called.fault}
        if isinstance(called, FailedResult):
            raise MemberError(f"{member}: {called.sentence}")
        if called.code is not None:
            raise CODES[called.code]
        return {"result": called.whole}

    async def _refresh(self, body: JsonObject) -> JsonObject:
        manager = self._guild()
        names = [_string(body, "member")] if body.get("member") is not None else list(manager.roster)
        await manager.refresh_tool_caches(names)
        return {"members": self._members(*names)}

    async def _stop(self, body: JsonObject) -> JsonObject:
        name = _string(body, "member")
        await self._guild().stop_server(name)
        return {"member": self.describe_member(name)}

    async def _approve(self, body: JsonObject) -> JsonObject:
        name, manager = _string(body, "member"), self._guild()
        if "difference" in body and body["difference"] != manager.difference(name):
            raise CheckFailedError("its definitions have changed again since that difference was shown")
        approved = manager.approve(name)
        return {"member": self.describe_member(name), "approved": [change._asdict() for change in approved]}

    async def _switch(self, body: JsonObject) -> JsonObject:
        name, is_on, manager = _string(body, "member"), body.get("on"), self._guild()
        if not isinstance(is_on, bool):
            raise UsageError("`on` must be true or false")
        manager.switch(name, [_string(body, "tool")] if body.get("tool") is not None else [], on=is_on)
        return {"member": self.describe_member(name)}

    def _guild(self) -> MCPManager:
        if not self._hall.has_guild:
            raise UsageError("this hall has no guild: start it with --guild DIR")
        return self._hall.guild

    def _members(self, *names: str) -> list[JsonObject]:
        """Return some members, or all."""
        manager = self._hall.guild
        views = map(manager.view, names) if names else manager.snapshot()
        listed = manager.listed_names(*names)
        return [_member(view, listed) for view in views]

    def _check_offered(self, toolset: str) -> None:
        if toolset not in self._hall.settings.toolsets:
            raise UsageError(f"this hall offers no {toolset}: it was started with --toolsets")

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._workers.run(work)
        except TimeoutError:
            raise InternalError("it took too long") from None

    async def _write(self, work: WriteHandler, request: Request) -> Response:
        given = request.headers.get("x-hall-write", "")
        if not hmac.compare_digest(given.encode(), self._write_token.encode()):
            raise RefusedError(403, "forbidden", "Forbidden", "Only a page of the hall's own may do that.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise UsageError("the body must be of the type application/json")
        return json_response(await work(_object(await _body(request))))


async def _read(work: ReadHandler, request: Request) -> Response:
    return json_response(await work(request.query_params))


async def _body(request: Request) -> bytes:
    """Read a body; refuse it once it is too large, or says that it will be."""
    body = bytearray()
    if int(request.headers.get("content-length", "0")) <= limits.PAGE_BODY_BYTES:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.PAGE_BODY_BYTES:
                break
        else:
            return bytes(body)
    raise RefusedError(413, "too_large", "Too large", f"A body may have {limits.PAGE_BODY_BYTES} bytes at most.")


def _object(body: bytes) -> JsonObject:
    if has_too_many_values(body):
        raise UsageError(f"the body holds more than {limits.JSON_VALUES} values")
    try:
        value = wire.parse(body)
    except ValueError:
        raise UsageError("the body is not JSON") from None
    if not isinstance(value, dict):
        raise UsageError("the body must be an object")
    return value


def _string(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"`{name}` must be a string")
    return value


def _arguments(body: JsonObject) -> JsonObject:
    value = body.get("arguments", {})
    if not isinstance(value, dict):
        raise UsageError("`arguments` must be an object")
    return value


def _text(params: QueryParams, name: str, error: type[HallError] = UsageError) -> str:
    if name not in params:
        raise error(f"`{name}` is missing")
    return params[name]


def _budget(params: QueryParams) -> int:
    budget = params.get("budget", "")
    if not _COUNT.fullmatch(budget):
        raise InvalidBudgetError(f"{budget!r} is not a whole number of tokens")
    return int(budget)


def _number(params: QueryParams, name: str, *, default: int, most: int) -> int:
    text = params.get(name, str(default))
    if not _COUNT.fullmatch(text) or int(text) > most:
        raise UsageError(f"`{name}` must be a whole number from 0 to {most}")
    return int(text)


def _state(name: str, report: "CacheReport") -> JsonObject:
    """Return what the page follows of a cache; where its sources are, and why they cannot be read, stays here."""
    state = report.freshness._asdict()
    return {"name": name, "cache_version": report.version, "created_at": report.created_at, **state}


def _member(view: MemberView, listed: Mapping[tuple[str, str], str]) -> JsonObject:
    tools = [_tool(tool, listed[view.name, tool["name"]]) for tool in view.tools]
    return facts_of(view) | {"key": view.key, "tools": tools, "cachedAt": view.cached_at}


def _outcome(called: ToolResult) -> JsonObject:
    """Return what an agent gets, as MCP spells it; an error that the tool answers with is a result, too."""
    if called.fault is not None:
        return {"fault": called.fault}
    if called.whole is not None:
        return {"result": called.whole}
    structured = {} if called.structured is None else {"structuredContent": called.structured}
    return {"result": {"content": called.content, "isError": called.is_error, **structured}}


def _tool(definition: JsonObject, listed_as: str) -> JsonObject:
    title = definition.get("title")
    return {
        "name": definition["name"],
        "listedAs": listed_as,
        "title": title if isinstance(title, str) else "",
        "line": one_line(definition),
    }

"""The tools that an agent sees of the caches, declared."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from contexthall.caches.library import DEFAULT_BUDGET, Library
from contexthall.caches.model.items import on_one_line
from contexthall.caches.query.question import ReplyFormat
from contexthall.core import limits
from contexthall.core.catalog import READ_ONLY, Caller, Capability, JsonObject, Tool, ToolResult, budget_as_number
from contexthall.core.errors import (
    CacheMissingError,
    DiskError,
    DocumentMissingError,
    InvalidBudgetError,
    InvalidQueryError,
)
from contexthall.core.paths import native
from contexthall.core.tokens import LARGEST_BUDGET

GUIDANCE = (
    "Documents: ask context.resolve a natural question about one of the caches that context.list_caches names. It "
    "answers with the sections that fit the budget. context.read gives the rest of a page, context.outline headings."
)


class Answer(Protocol):
    """What can be told as text, and the ids of what it holds."""

    @property
    def text(self) -> str: ...

    @property
    def ids(self) -> tuple[str, ...]: ...


def _object(*optional: str, **properties: JsonObject) -> JsonObject:
    """Return the schema of an object that has these properties, all but the optional ones, and no others."""
    required = [name for name in properties if name not in optional]
    schema = {"type": "object", "required": required, "additionalProperties": False, "properties": properties}
    return schema if required else {name: value for name, value in schema.items() if name != "required"}


CACHE: JsonObject = {
    "type": "string",
    "description": "Name of a cache, as context.list_caches gives it, or its path",
}
BUDGET: JsonObject = {
    "type": "integer",
    "minimum": 0,
    "maximum": LARGEST_BUDGET,
    "default": DEFAULT_BUDGET,
    "description": "Most tokens that the whole reply may cost, at four bytes a token",
}
FORMAT: JsonObject = {"type": "string", "enum": ["json", "text"], "description": "text costs a quarter less than json"}

RESOLVE_INPUT = _object(
    "budget",
    "format",
    cache=CACHE,
    query={"type": "string", "description": "A question in natural language, or words that the answer should have"},
    budget=BUDGET,
    format=FORMAT,
)
READ_INPUT = _object(
    "neighbours",
    "from",
    "budget",
    "format",
    cache=CACHE,
    id={"type": "string", "description": "Id of a section, or the path of a page, as context.resolve gives them"},
    neighbours={
        "type": "integer",
        "minimum": 0,
        "description": "How many sections before and after it to add, the nearest first, as far as the budget goes",
    },
    **{"from": {"type": "string", "description": "Of a page, the section to begin at: `next` of the reply before"}},
    budget=BUDGET,
    format=FORMAT,
)
OUTLINE_INPUT = _object(
    "under",
    "depth",
    "from",
    "budget",
    "format",
    cache=CACHE,
    under={"type": "string", "description": "Path of a page or folder; without it, the whole cache"},
    depth={"type": "integer", "minimum": 0, "description": "Deepest level of headings; without it, all"},
    **{"from": {"type": "string", "description": "The page to begin at: `next` of the reply before"}},
    budget=BUDGET,
    format=FORMAT,
)
LIST_INPUT: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"root": {"type": "string", "description": "Directory containing cache directories"}},
}
LIST_OUTPUT = _object(
    caches={"type": "array", "items": _object(path={"type": "string"}, has_manifest={"type": "boolean"})}
)
INSPECT_INPUT = _object(cache={"type": "string", "description": "Path to cache directory"})
INSPECT_OUTPUT = _object(
    cache_version={"type": "string"},
    document_count={"type": "integer", "minimum": 0},
    total_bytes={"type": "integer", "minimum": 0},
    valid={"type": "boolean"},
)


def caches_capability(library: Library, reply: ReplyFormat = "json") -> Capability:
    """Return the tools that offer `library` to agents; `reply` is the form of answers where nobody asks for one."""
    asking = _Asking(library, reply)
    tools = (
        _resolve_tool(asking),
        _read_tool(asking),
        _outline_tool(asking),
        _list_tool(library),
        _inspect_tool(library),
    )
    return Capability("caches", guidance=GUIDANCE, tools=tools)


class _Asking(NamedTuple):
    """What the tools that answer from documents have in common."""

    library: Library
    reply: ReplyFormat

    def run(self, arguments: JsonObject, caller: Caller, answer: Callable[..., Answer]) -> ToolResult:
        """Return what `answer` gives of the cache that is meant, as large and in the form that is asked for."""
        form = arguments.get("format", self.reply)
        try:
            cache = self.library.locate(_path(arguments["cache"]), may_read=caller.may_read)
            given = answer(cache, budget=int(arguments.get("budget", DEFAULT_BUDGET)), reply=form)
            return replace(ToolResult.of_text(given.text), ids=given.ids)
        except CacheMissingError as error:
            error.more = self.names(arguments)
            raise
        except DocumentMissingError as error:
            error.more = _near(error) if form == "text" else ""
            raise

    def names(self, arguments: JsonObject) -> str:
        """Return a line that names the caches that are there, in text form; nothing if there are none."""
        if arguments.get("format", self.reply) != "text":
            return ""
        with suppress(DiskError):
            names = [on_one_line(cache.path) for cache in self.library.list_caches() if cache.has_manifest]
            more = ["…"] if len(names) > limits.CACHES_NAMED else []
            return f"caches: {', '.join(names[: limits.CACHES_NAMED] + more)}\n" if names else ""
        return ""


def _near(error: DocumentMissingError) -> str:
    """Return a line that names the ids that may be meant; nothing if there are none."""
    from contexthall.core.nearest import nearest  # noqa: PLC0415 - only if something was mistyped

    found = nearest(error.unknown, error.known)
    return f"near: {', '.join(map(on_one_line, found))}\n" if found else ""


def _resolve_tool(asking: _Asking) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        return asking.run(arguments, caller, partial(asking.library.resolve, query=arguments["query"]))

    return Tool(
        name="context.resolve",
        title="Answer a question from documents",
        description=(
            "Find what the documents of a cache say about a question: before you guess an API, an option or a "
            "convention. Gives the sections that match best, whole, with their lines and why, within a budget of "
            "tokens. A natural question is fine. Then context.read gives the rest of a page, and context.outline what "
            "else there is. The same call gives the same bytes every time."
        ),
        input_schema=RESOLVE_INPUT,
        annotations=READ_ONLY,
        refusals={"query": InvalidQueryError, "budget": InvalidBudgetError},
        choices={"cache": asking.names},
        accept=budget_as_number,
        run=run,
    )


def _read_tool(asking: _Asking) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        wanted: JsonObject = {"document_id": arguments["id"], "neighbours": int(arguments.get("neighbours", 0))}
        return asking.run(arguments, caller, partial(asking.library.read, **wanted, start=arguments.get("from")))

    return Tool(
        name="context.read",
        title="Read on in a document",
        description=(
            "Read a section that context.resolve or context.outline named, with its neighbours, or a whole page by its "
            "path, section by section, within a budget of tokens. To go on, pass the page's path, and `next` of the "
            "reply as `from`."
        ),
        input_schema=READ_INPUT,
        annotations=READ_ONLY,
        refusals={"budget": InvalidBudgetError},
        choices={"cache": asking.names},
        accept=budget_as_number,
        run=run,
    )


def _outline_tool(asking: _Asking) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        depth = arguments.get("depth")
        wanted: JsonObject = {"under": arguments.get("under"), "depth": None if depth is None else int(depth)}
        return asking.run(arguments, caller, partial(asking.library.outline, **wanted, start=arguments.get("from")))

    return Tool(
        name="context.outline",
        title="Outline documents",
        description=(
            "List the headings of a cache, of a folder or of a page, with ids for context.read and what each section "
            "costs: to see what there is before you ask. To go on, pass `next` of the reply as `from`."
        ),
        input_schema=OUTLINE_INPUT,
        annotations=READ_ONLY,
        refusals={"budget": InvalidBudgetError},
        choices={"cache": asking.names},
        accept=budget_as_number,
        run=run,
    )


def _list_tool(library: Library) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        root = _path(arguments["root"]) if "root" in arguments else None
        caches = library.list_caches(root, may_read=caller.may_read)
        return ToolResult.of_json({"caches": [cache._asdict() for cache in caches]})

    return Tool(
        name="context.list_caches",
        title="List caches",
        description=(
            "List the document caches that are there, and which of them have a manifest. Without `root`: those "
            "of the hall, by the names that the other context.* tools take as `cache`."
        ),
        input_schema=LIST_INPUT,
        output_schema=LIST_OUTPUT,
        annotations=READ_ONLY,
        failure=DiskError,
        run=run,
    )


def _inspect_tool(library: Library) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        cache = library.locate(_path(arguments["cache"]), may_read=caller.may_read)
        return ToolResult.of_json(library.inspect(cache)._asdict())

    return Tool(
        name="context.inspect_cache",
        title="Inspect a cache",
        description=(
            "Tell the version, document count and size of one cache, and whether its manifest is sound. "
            "Reads no documents."
        ),
        input_schema=INSPECT_INPUT,
        output_schema=INSPECT_OUTPUT,
        annotations=READ_ONLY,
        failure=DiskError,
        run=run,
    )


def _path(text: str) -> str:
    """Return an argument as a path; what is longer than any path leads nowhere."""
    if len(text) > limits.PATH_CHARACTERS:
        raise CacheMissingError("its path is longer than any")
    return native(text)

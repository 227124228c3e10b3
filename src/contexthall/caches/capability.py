"""The tools that an agent sees of the caches, declared."""

import re
from typing import Any

from contexthall.caches.library import DEFAULT_BUDGET, LARGEST_BUDGET, Library
from contexthall.caches.query.section_reply import ReplyFormat
from contexthall.core import limits
from contexthall.core.catalog import READ_ONLY, Caller, Capability, JsonObject, Tool, ToolResult
from contexthall.core.errors import CacheMissingError, DiskError, InvalidBudgetError, InvalidQueryError
from contexthall.core.paths import native

_DIGITS = re.compile(r"[0-9]{1,19}")
GUIDANCE = (
    "Documents: ask context.resolve a natural question about one of the caches that context.list_caches names. It "
    "answers with the sections that fit the budget. context.read gives the rest of a page, context.outline headings."
)


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
    tools = (
        _resolve_tool(library, reply),
        _read_tool(library, reply),
        _outline_tool(library, reply),
        _list_tool(library),
        _inspect_tool(library),
    )
    return Capability("caches", guidance=GUIDANCE, tools=tools)


def _resolve_tool(library: Library, reply: ReplyFormat) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        cache = library.locate(_path(arguments["cache"]), may_read=caller.may_read)
        return ToolResult.of_text(library.resolve(cache, arguments["query"], **_limits(arguments, reply)).text)

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
        accept=_budget_as_number,
        run=run,
    )


def _read_tool(library: Library, reply: ReplyFormat) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        cache = library.locate(_path(arguments["cache"]), may_read=caller.may_read)
        wanted = library.read(
            cache,
            arguments["id"],
            neighbours=int(arguments.get("neighbours", 0)),
            start=arguments.get("from"),
            **_limits(arguments, reply),
        )
        return ToolResult.of_text(wanted.text)

    return Tool(
        name="context.read",
        title="Read on in a document",
        description=(
            "Read a section that context.resolve or context.outline named, with its neighbours, or a whole page by its "
            "path, section by section, within a budget of tokens. `next` in the reply is where to go on."
        ),
        input_schema=READ_INPUT,
        annotations=READ_ONLY,
        refusals={"budget": InvalidBudgetError},
        accept=_budget_as_number,
        run=run,
    )


def _outline_tool(library: Library, reply: ReplyFormat) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        cache = library.locate(_path(arguments["cache"]), may_read=caller.may_read)
        depth = arguments.get("depth")
        outlined = library.outline(
            cache,
            arguments.get("under"),
            depth=None if depth is None else int(depth),
            start=arguments.get("from"),
            **_limits(arguments, reply),
        )
        return ToolResult.of_text(outlined.text)

    return Tool(
        name="context.outline",
        title="Outline documents",
        description=(
            "List the headings of a cache, of a folder or of a page, with ids for context.read and what each section "
            "costs: to see what there is before you ask. `next` in the reply is where to go on."
        ),
        input_schema=OUTLINE_INPUT,
        annotations=READ_ONLY,
        refusals={"budget": InvalidBudgetError},
        accept=_budget_as_number,
        run=run,
    )


def _limits(arguments: JsonObject, reply: ReplyFormat) -> dict[str, Any]:
    """Return how large a reply may be, and its form."""
    return {"budget": int(arguments.get("budget", DEFAULT_BUDGET)), "reply": arguments.get("format", reply)}


def _budget_as_number(arguments: JsonObject) -> JsonObject:
    """Return arguments in which a budget that is spelt as a string of digits is a number."""
    budget = arguments.get("budget")
    if not isinstance(budget, str) or not _DIGITS.fullmatch(budget):
        return arguments
    return {**arguments, "budget": int(budget)}


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

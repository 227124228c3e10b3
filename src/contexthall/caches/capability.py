"""The tools that an agent sees of the caches, declared."""

from contexthall.caches.library import LARGEST_BUDGET, Library
from contexthall.core import limits
from contexthall.core.catalog import READ_ONLY, Caller, Capability, JsonObject, Tool, ToolResult
from contexthall.core.errors import CacheMissingError, DiskError, InvalidBudgetError, InvalidQueryError
from contexthall.core.paths import native

GUIDANCE = (
    "Documents: call context.list_caches to see which compiled caches there are, then context.resolve with one of "
    "them, a query in the words you expect in the text, and a budget in tokens: it gives whole documents, best first, "
    "and says why. context.inspect_cache tells the version and size of a cache."
)


def _object(**properties: JsonObject) -> JsonObject:
    """Return the schema of an object that has these properties, all of them and no others."""
    required = list(properties)
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


RESOLVE_INPUT = _object(
    cache={"type": "string", "description": "Name of a cache, as context.list_caches gives it, or its path"},
    query={"type": "string", "description": "Words that the documents should contain"},
    budget={
        "type": "integer",
        "minimum": 0,
        "maximum": LARGEST_BUDGET,
        "description": "Most tokens that the documents may cost together, at four bytes a token",
    },
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


def caches_capability(library: Library) -> Capability:
    """Return the tools that offer `library` to agents."""
    tools = (_resolve_tool(library), _list_tool(library), _inspect_tool(library))
    return Capability("caches", guidance=GUIDANCE, tools=tools)


def _resolve_tool(library: Library) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        cache = library.locate(_path(arguments["cache"]), may_read=caller.may_read)
        return ToolResult.of_text(library.resolve(cache, arguments["query"], int(arguments["budget"])).text)

    return Tool(
        name="context.resolve",
        title="Resolve context for a query",
        description=(
            "Give the documents of a cache that answer a query, whole, best first, within a budget of tokens. "
            "A document's score is the share of its words that are words of the query; each comes with its "
            "score, its cost and the counts behind them. The same call gives the same bytes every time."
        ),
        input_schema=RESOLVE_INPUT,
        annotations=READ_ONLY,
        refusals={"query": InvalidQueryError, "budget": InvalidBudgetError},
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

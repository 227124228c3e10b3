"""What does an agent see of the caches? The tools of the room, declared."""

from contexthall.caches.library import Library
from contexthall.core.catalog import READ_ONLY, Caller, Capability, JsonObject, Tool, ToolResult
from contexthall.core.errors import DiskError

GUIDANCE = (
    "Documents: call context.list_caches to see which compiled caches there are, then context.inspect_cache for the "
    "version and size of one."
)

LIST_INPUT: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"root": {"type": "string", "description": "Directory containing cache directories"}},
}
LIST_OUTPUT: JsonObject = {
    "type": "object",
    "required": ["caches"],
    "additionalProperties": False,
    "properties": {
        "caches": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "has_manifest"],
                "additionalProperties": False,
                "properties": {"path": {"type": "string"}, "has_manifest": {"type": "boolean"}},
            },
        }
    },
}
INSPECT_INPUT: JsonObject = {
    "type": "object",
    "required": ["cache"],
    "additionalProperties": False,
    "properties": {"cache": {"type": "string", "description": "Path to cache directory"}},
}
INSPECT_OUTPUT: JsonObject = {
    "type": "object",
    "required": ["cache_version", "document_count", "total_bytes", "valid"],
    "additionalProperties": False,
    "properties": {
        "cache_version": {"type": "string"},
        "document_count": {"type": "integer", "minimum": 0},
        "total_bytes": {"type": "integer", "minimum": 0},
        "valid": {"type": "boolean"},
    },
}


def caches_capability(library: Library) -> Capability:
    """Offer `library` to agents."""

    def list_caches(arguments: JsonObject, caller: Caller) -> ToolResult:
        caches = library.list_caches(arguments.get("root"), may_read=caller.may_read)
        return ToolResult.of_json({"caches": [cache._asdict() for cache in caches]})

    def inspect_cache(arguments: JsonObject, caller: Caller) -> ToolResult:
        directory = library.locate(arguments["cache"], may_read=caller.may_read)
        return ToolResult.of_json(library.inspect(directory)._asdict())

    return Capability(
        "caches",
        guidance=GUIDANCE,
        tools=(
            Tool(
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
                run=list_caches,
            ),
            Tool(
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
                run=inspect_cache,
            ),
        ),
    )

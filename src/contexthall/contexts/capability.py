"""The tools that agents see of the contexts, declared."""

from contexthall.contexts.answers import ContextReading, FreshnessReport, failed_listing, sentence
from contexthall.contexts.files.schema import FILTERABLE
from contexthall.contexts.project import MISSING, STATES, Projects, Selection
from contexthall.core.catalog import (
    LONGEST_PATH,
    READ_ONLY,
    Caller,
    Capability,
    JsonObject,
    PlainRun,
    Tool,
    ToolResult,
)
from contexthall.core.errors import ScopeError
from contexthall.core.paths import native
from contexthall.core.text import quoted
from contexthall.core.wire import compact, replace_lone_surrogates

GUIDANCE = (
    "Code: call list_contexts to see what the directories of the project are for, query_context for what is known of "
    "one (decisions, constraints, exports), and check_freshness before you rely on it: a stale context describes the "
    "directory as it was."
)

_SCOPE: JsonObject = {
    "type": "string",
    "description": 'Directory, relative to the project root, such as "src/core"; "." is the root',
}
_PATH: JsonObject = {"type": "string", "description": "Root of another project. Default: the hall's own project"}

LIST_INPUT: JsonObject = {
    "type": "object",
    "properties": {
        "path": _PATH,
        "under": {"type": "string", "description": "List only this scope and those below it"},
        "states": {
            "type": "array",
            "items": {"type": "string", "enum": [*STATES]},
            "description": "List only directories in these states",
        },
        "limit": {"type": "integer", "minimum": 1, "description": "List at most so many directories"},
        "offset": {"type": "integer", "minimum": 0, "description": "Leave out so many directories at the beginning"},
    },
}
CHECK_INPUT: JsonObject = {
    "type": "object",
    "required": ["scope"],
    "properties": {"scope": _SCOPE, "path": _PATH},
}
QUERY_INPUT: JsonObject = {
    "type": "object",
    "required": ["scope"],
    "properties": {
        "scope": _SCOPE,
        "filter": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Fields wanted, of {', '.join(FILTERABLE)}. Default: all. "
            "version, scope, fingerprint and last_updated always come along",
        },
        "freshness": {"type": "boolean", "description": "Say as well whether the context is fresh"},
        "path": _PATH,
    },
}


def contexts_capability(projects: Projects) -> Capability:
    """Offer `projects` to agents."""
    tools = (_list_tool(projects), _check_tool(projects), _query_tool(projects))
    return Capability("contexts", guidance=GUIDANCE, tools=tools)


def _list_tool(projects: Projects) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        root = _root(projects, arguments)
        project = projects.open(root, caller.may_read)
        if project is None:
            return _result(failed_listing(root).to_json())
        under = replace_lone_surrogates(arguments["under"]) if "under" in arguments else None
        limit = int(arguments["limit"]) if "limit" in arguments else None
        selection = Selection(under, tuple(arguments.get("states", ())), int(arguments.get("offset", 0)), limit)
        return _result(project.list_contexts(selection).to_json())

    return Tool(
        name="list_contexts",
        title="List contexts",
        description=(
            "List the directories of the project, what each is for, and whether what is said about it is fresh, stale "
            "or missing. The counts are those of the whole project; `under`, `states`, `limit` and `offset` shorten "
            "the list, and `matching` then tells how many there are."
        ),
        input_schema=LIST_INPUT,
        annotations=READ_ONLY,
        run=_unless_oversized(run),
    )


def _check_tool(projects: Projects) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        project, scope = (
            projects.open(_root(projects, arguments), caller.may_read),
            replace_lone_surrogates(arguments["scope"]),
        )
        if project is None:
            report = FreshnessReport(scope, MISSING, error=sentence(ScopeError(), scope))
        else:
            report = project.check_freshness(scope)
        return _result(report.to_json())

    return Tool(
        name="check_freshness",
        title="Check freshness",
        description=(
            "Say whether the context of a directory is fresh: written for the files that are there now. A stale one "
            "is no error; where it is known, `changed` names the files that were added, removed or modified since."
        ),
        input_schema=CHECK_INPUT,
        annotations=READ_ONLY,
        run=_unless_oversized(run),
    )


def _query_tool(projects: Projects) -> Tool:
    def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        project, scope = (
            projects.open(_root(projects, arguments), caller.may_read),
            replace_lone_surrogates(arguments["scope"]),
        )
        if project is None:
            return _result(ContextReading(scope, error=sentence(ScopeError(), scope)).to_json())
        fields, with_freshness = arguments.get("filter", ()), arguments.get("freshness", False)
        reading = project.query_context(scope, fields, with_freshness=with_freshness)
        return _result(reading.to_json(), is_error=reading.fields is None)

    return Tool(
        name="query_context",
        title="Query a context",
        description=(
            "Tell what is known of a directory: summary, decisions, constraints, exports and more. `filter` gives only "
            "some fields, `freshness` says in the same call whether they are still true."
        ),
        input_schema=QUERY_INPUT,
        annotations=READ_ONLY,
        run=_unless_oversized(run),
    )


def _unless_oversized(run: PlainRun) -> PlainRun:
    """Refuse a text that is longer than any path: an answer repeats what was asked, more than once."""

    def run_or_refuse(arguments: JsonObject, caller: Caller) -> ToolResult:
        for name, value in arguments.items():
            if isinstance(value, str) and len(value) > LONGEST_PATH:
                complaint = f"Invalid argument {quoted(name)}: longer than {LONGEST_PATH} characters"
                return ToolResult.of_text(complaint, is_error=True)
        return run(arguments, caller)

    return run_or_refuse


def _root(projects: Projects, arguments: JsonObject) -> str:
    return projects.root_of(native(replace_lone_surrogates(arguments["path"])) if "path" in arguments else None)


def _result(answer: JsonObject, *, is_error: bool | None = None) -> ToolResult:
    return ToolResult.of_text(compact(answer), is_error="error" in answer if is_error is None else is_error)

"""The tools of the contexts, declared.

The room itself is loaded with the first call: that takes as long as a sixth of a server's start.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from contexthall.contexts.brief.brief import DEFAULT_BUDGET, ReplyFormat
from contexthall.contexts.files.schema import FILTERABLE
from contexthall.contexts.freshness.states import MISSING, STATES
from contexthall.core import limits
from contexthall.core.catalog import READ_ONLY, Caller, Capability, JsonObject, Tool, ToolResult, budget_as_number
from contexthall.core.errors import InvalidBudgetError, ScopeError
from contexthall.core.paths import native
from contexthall.core.text import quoted
from contexthall.core.tokens import LARGEST_BUDGET
from contexthall.core.wire import compact, replace_lone_surrogates

if TYPE_CHECKING:
    from contexthall.contexts.answers import ContextListing, ContextReading, FreshnessReport
    from contexthall.contexts.project import Project, Projects

OpenProjects: TypeAlias = "Callable[[], Projects]"
Answer: TypeAlias = "Callable[[Project | None, str, JsonObject], ContextListing | FreshnessReport | ContextReading]"
"""Takes a project, or None if the caller may not read it; its root as it was named; and arguments."""

GUIDANCE = (
    "Code: before you work on a file or directory, call context.brief with its path: the constraints, decisions and "
    "rule files that people wrote for it. list_contexts says what the directories of the project are for, "
    "query_context what is known of one (decisions, constraints, exports), and check_freshness whether you can rely on "
    "it: a stale context describes the directory as it was."
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
        "limit": {
            "type": "integer",
            "minimum": 0,
            "description": "List at most so many directories; 0 for all, however long the answer gets",
        },
        "offset": {"type": "integer", "minimum": 0, "description": "Leave out so many directories at the beginning"},
        "query": {"type": "string", "description": "List only those whose scope and summary have all these words"},
        "depth": {"type": "integer", "minimum": 0, "description": "List at most so many levels below `under`"},
    },
}
CHECK_INPUT: JsonObject = {"type": "object", "required": ["scope"], "properties": {"scope": _SCOPE, "path": _PATH}}
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
BRIEF_INPUT: JsonObject = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {
            "type": "string",
            "description": "File or directory that you are about to work on, relative to the project root",
        },
        "budget": {
            "type": "integer",
            "minimum": 0,
            "maximum": LARGEST_BUDGET,
            "default": DEFAULT_BUDGET,
            "description": "Most tokens that the whole reply may cost, at four bytes a token",
        },
        "format": {"type": "string", "enum": ["json", "text"], "description": "text costs less than json"},
    },
}


def contexts_capability(projects: OpenProjects, reply: ReplyFormat = "json") -> Capability:
    """Offer the projects that `projects` opens to agents; `reply` is the default format of briefs."""
    tools = (
        Tool(
            name="context.brief",
            title="Be briefed about a path",
            description=(
                "Tell what people want known before you read or change a file or directory: their constraints and "
                "decisions from the root down to it, then the rule files that apply (AGENTS.md, CLAUDE.md and others). "
                "Each with where it stands, why it applies, and whether what it cites or names still holds. Nothing "
                "that a machine drafted."
            ),
            input_schema=BRIEF_INPUT,
            annotations=READ_ONLY,
            refusals={"budget": InvalidBudgetError},
            accept=budget_as_number,
            run=partial(_brief, projects, reply),
        ),
        Tool(
            name="list_contexts",
            title="List contexts",
            description=(
                "List the directories of the project, what each is for, and whether what is said about it is fresh, "
                "stale or missing. The counts are those of the whole project; `under`, `depth`, `states`, `query`, "
                "`limit` and `offset` shorten the list, and `matching` then tells how many there are. A list that is "
                "`truncated` goes on at `next_offset`. Of a stale one, `drift` says how far it is from the code: "
                "content (bytes only), interface or evidence; `claims` are those whose evidence changed."
            ),
            input_schema=LIST_INPUT,
            annotations=READ_ONLY,
            run=partial(_run, projects, _list),
        ),
        Tool(
            name="check_freshness",
            title="Check freshness",
            description=(
                "Say whether the context of a directory is fresh: written for the files that are there now. A stale "
                "one is no error; where it is known, `changed` names the files that were added, removed or modified "
                "since, and `drift` says how far it is from the code: content (bytes only), interface (public "
                "signatures, source files) or evidence. `claims` names the constraints and decisions whose evidence "
                "changed, and `cited` what became of it."
            ),
            input_schema=CHECK_INPUT,
            annotations=READ_ONLY,
            run=partial(_run, projects, _check),
        ),
        Tool(
            name="query_context",
            title="Query a context",
            description=(
                "Tell what is known of a directory: summary, decisions, constraints, exports and more. `filter` gives "
                "only some fields, `freshness` says in the same call whether they are still true. `unknown_fields` are "
                "names in `filter` that no field has."
            ),
            input_schema=QUERY_INPUT,
            annotations=READ_ONLY,
            run=partial(_run, projects, _query),
        ),
    )
    return Capability("contexts", guidance=GUIDANCE, tools=tools)


def _run(open_projects: OpenProjects, answer: Answer, arguments: JsonObject, caller: Caller) -> ToolResult:
    """Answer from the project that is named."""
    for name, value in arguments.items():
        # No path is longer, and an answer repeats the arguments, more than once.
        if isinstance(value, str) and len(value) > limits.PATH_CHARACTERS:
            complaint = f"Invalid argument {quoted(name)}: longer than {limits.PATH_CHARACTERS} characters"
            return ToolResult.of_text(complaint, is_error=True)
    projects = open_projects()
    root = projects.root_of(native(replace_lone_surrogates(arguments["path"])) if "path" in arguments else None)
    fields = answer(projects.open(root, caller.may_read), root, arguments).to_json()
    # A context that was read is an answer, even if its freshness is not known.
    return ToolResult.of_text(compact(fields), is_error="error" in fields and "context" not in fields)


def _brief(open_projects: OpenProjects, reply: ReplyFormat, arguments: JsonObject, caller: Caller) -> ToolResult:
    projects = open_projects()
    path, form = native(replace_lone_surrogates(arguments["path"])), arguments.get("format", reply)
    try:
        project = None if len(path) > limits.PATH_CHARACTERS else projects.open(projects.home, caller.may_read)
        found = project.brief(path, int(arguments.get("budget", DEFAULT_BUDGET)), form) if project else None
    except ScopeError:
        found = None
    if found is None:
        from contexthall.contexts.answers import sentence  # noqa: PLC0415 - see the top

        fields = {"path": path[: limits.COMPLAINT_CHARACTERS], "error": sentence(ScopeError(), path)}
        return ToolResult.of_text(compact(fields), is_error=True)
    return ToolResult.of_text(found.render(form))


def _list(project: "Project | None", root: str, arguments: JsonObject) -> "ContextListing":
    from contexthall.contexts.answers import Selection, failed_listing  # noqa: PLC0415 - see the top

    if project is None:
        return failed_listing(root)
    under = replace_lone_surrogates(arguments["under"]) if "under" in arguments else None
    limit, depth = arguments.get("limit"), arguments.get("depth")
    selection = Selection(
        under,
        tuple(arguments.get("states", ())),
        int(arguments.get("offset", 0)),
        int(limit) if limit else None,
        str(arguments.get("query", "")),
        None if depth is None else int(depth),
        None if limit == 0 else limits.LISTED_CONTEXTS_BYTES,
    )
    return project.list_contexts(selection)


def _check(project: "Project | None", _root: str, arguments: JsonObject) -> "FreshnessReport":
    from contexthall.contexts.answers import FreshnessReport, sentence  # noqa: PLC0415 - see the top

    scope = replace_lone_surrogates(arguments["scope"])
    if project is None:
        return FreshnessReport(scope, MISSING, error=sentence(ScopeError(), scope))
    return project.check_freshness(scope)


def _query(project: "Project | None", _root: str, arguments: JsonObject) -> "ContextReading":
    from contexthall.contexts.answers import ContextReading, sentence  # noqa: PLC0415 - see the top

    scope = replace_lone_surrogates(arguments["scope"])
    if project is None:
        return ContextReading(scope, error=sentence(ScopeError(), scope))
    fields = [replace_lone_surrogates(name) for name in arguments.get("filter", ())]
    return project.query_context(scope, fields, with_freshness=arguments.get("freshness", False))

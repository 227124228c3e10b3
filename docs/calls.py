"""Which calls does the tool reference show, and what does each field of their answers mean?

Data only. `generate.py` makes the calls; it refuses a field that has no meaning here, and a meaning that has no field.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from contexthall.contexts.files.schema import FIELDS

JsonObject: TypeAlias = Mapping[str, Any]

HOME = "/home/me"
"""Stands for the directory that the examples were copied to."""


class Shown(NamedTuple):
    """The calls of one tool, by their arguments, and the meanings of what is answered, by path."""

    calls: Sequence[JsonObject]
    meanings: Mapping[str, str] = MappingProxyType({})
    schema: JsonObject = MappingProxyType({})
    """What is known of the answer's shape where the tool declares none."""
    leaves: Sequence[str] = ()
    """Fields that hold what somebody else defined."""


_ERROR = {
    "error": "in place of all the rest: why there is no answer",
    "error.code": "which of the errors below it is",
    "error.message": "its sentence, always the same",
}
_STATE = "`fresh`, `stale`, or `missing` where no context can be read"
_DRIFT = "how far it is from the code: `content`, `interface` or `evidence`"
_CLAIMS = "constraints and decisions whose evidence changed: field and digest of the text; only where there are some"
_DRIFTED = {
    "drift": f"{_DRIFT}; only where that is known, and the context is stale",
    "claims": _CLAIMS,
    "cited": "what became of the evidence; only where there are such claims",
    "cited[].claim": "the claim, as `claims` names it",
    "cited[].text": "the claim itself",
    "cited[].path": "the file that it cites; with `symbol`, if it cites a definition in it",
    "cited[].is": "`changed` or `gone`",
}
_FINGERPRINTS = {
    "fingerprint": "of the directory's files, eight hex digits each",
    "fingerprint.stored": "as the context has it",
    "fingerprint.computed": "as the files are now",
    "changed": "files that differ since the context was written; only where it is stale and this machine wrote it",
    "changed.added": "names of new files",
    "changed.removed": "names of files that are gone",
    "changed.modified": "names of files with another content",
}

_NEXT = {
    "properties": {
        "selection": {
            "properties": {
                "next": {"type": "string or null"},
                "under": {"type": "string or null"},
                "depth": {"type": "integer or null"},
            }
        }
    }
}

CALLS: dict[str, Shown] = {
    "context.resolve": Shown(
        calls=[
            {"cache": "handbook", "query": "How often do we rotate keys?", "budget": 200},
            {"cache": "cookbook", "query": "How often do we rotate keys?"},
        ],
        meanings={
            "documents": "the sections that were taken, best first",
            "documents[].id": "the page's path below the sources in lower case, `#`, and its heading as a slug",
            "documents[].version": "hash of its content",
            "documents[].title": "title of the page, headings above, its own heading",
            "documents[].lines": "its first and last line on the page",
            "documents[].content": "its text, whole",
            "documents[].score": "how well it matches; of use only beside the others of this answer",
            "documents[].tokens": "what its content costs",
            "documents[].why": "what made it match",
            "documents[].why.matched": "the words of the query that it has",
            "selection": "how the sections were chosen",
            "selection.query": "the query, as it was given",
            "selection.budget": "the budget, as it was given",
            "selection.tokens_used": "what the reply costs",
            "selection.documents_considered": "how many sections match, at most 400",
            "selection.documents_selected": "how many were taken",
            "selection.documents_excluded_by_budget": "how many were not",
            "selection.unmatched_terms": "words of the query that no section has",
            "selection.skipped": "the best of those that did not fit",
            "selection.skipped[].id": "the section's id, for `context.read`",
            "selection.skipped[].tokens": "what its content costs",
            "selection.freshness": "whether the cache still says what its sources say",
            "selection.freshness.state": "`fresh`, `stale` or `unknown`",
            "selection.freshness.changed": "how many files of the sources changed",
            **_ERROR,
        },
    ),
    "context.read": Shown(
        calls=[
            {"cache": "handbook", "id": "security.md#rotate-keys", "neighbours": 1},
            {"cache": "handbook", "id": "cooking.md"},
        ],
        meanings={
            "documents": "the sections that were read, in the order of their page",
            "documents[].id": "the section's id; in a cache of format 1, the document's",
            "documents[].version": "hash of its content",
            "documents[].title": "title of the page, headings above, its own heading",
            "documents[].lines": "its first and last line on the page",
            "documents[].content": "its text, whole",
            "documents[].tokens": "what its content costs",
            "selection": "how far the budget went",
            "selection.id": "the id, as it was given",
            "selection.budget": "the budget, as it was given",
            "selection.tokens_used": "what the reply costs",
            "selection.next": "the section of that page that comes next, for `from`; null after the last",
            **_ERROR,
        },
        schema=_NEXT,
    ),
    "context.outline": Shown(
        calls=[{"cache": "handbook", "under": "runbooks"}],
        meanings={
            "pages": "pages with their headings, by path",
            "pages[].page": "the page's path, which is its id",
            "pages[].title": "its title",
            "pages[].tokens": "what it costs",
            "pages[].sections": "its sections, in order",
            "pages[].sections[].id": "the section's id, for `context.read`",
            "pages[].sections[].heading": "its heading; empty where there is none",
            "pages[].sections[].level": "the level of the heading; 0 where there is none",
            "pages[].sections[].lines": "its first and last line on the page",
            "pages[].sections[].body_line": "the first line after its heading",
            "pages[].sections[].tokens": "what it costs",
            "selection": "how far the budget went",
            "selection.under": "the page or folder, as it was given, or null",
            "selection.depth": "the deepest level, as it was given, or null for all",
            "selection.budget": "the budget",
            "selection.tokens_used": "what the reply costs",
            "selection.next": "the page that comes next, for `from`; null after the last",
        },
        schema=_NEXT,
    ),
    "context.list_caches": Shown(
        calls=[{}, {"root": f"{HOME}/caches"}, {"root": f"{HOME}/nowhere"}],
        meanings={
            "caches": "sorted by `path`, in the order of UTF-8 bytes",
            "caches[].path": "without `root` the directory's name, to be passed on as `cache`; else its absolute path",
            "caches[].has_manifest": "whether `manifest.json` in it is a regular file; it is not parsed",
            **_ERROR,
        },
    ),
    "context.inspect_cache": Shown(
        calls=[{"cache": "handbook"}, {"cache": "cookbook"}],
        meanings={
            "cache_version": "as the manifest says; empty where it says nothing of the right type",
            "document_count": "as the manifest says; 0 where it says nothing of the right type",
            "total_bytes": "sizes of the regular files directly in the cache; 0 if one or the manifest cannot be read",
            "valid": "the manifest is a regular file and an object with both fields, and all sizes could be read",
            **_ERROR,
        },
    ),
    "context.brief": Shown(
        calls=[{"path": "shop/prices.py"}, {"path": "shop", "budget": 200}, {"path": "../elsewhere"}],
        meanings={
            "items": "constraints and decisions from the root down, then rule files; each whole or not at all",
            "items[].kind": "`constraint`, `decision` or `rule`",
            "items[].text": "what it says; of a rule file, all but its front matter and the hall's own section",
            "items[].why": "the reason of a decision; only where there is one",
            "items[].file": "where it stands, relative to the root",
            "items[].applies": "why it applies to this path",
            "items[].holds": "whether what it cites, or the paths that it names, hold; only where it has any",
            "items[].failing": "those that are not",
            "selection": "what was asked for, and what fits",
            "selection.path": "the path, relative to the root",
            "selection.budget": "the budget",
            "selection.tokens_used": "what the reply costs, a token for every four bytes",
            "selection.items_considered": "all there are",
            "selection.items_selected": "those in `items`",
            "selection.items_excluded_by_budget": "those that did not fit",
            "selection.skipped": "the first few that did not fit, as far as there is room to say so",
            "selection.skipped[].file": "where it stands",
            "selection.skipped[].tokens": "what its text costs",
            "path": "of an error: the path, as it was given",
            "error": "why there is no brief",
        },
    ),
    "list_contexts": Shown(
        calls=[{}, {"states": ["stale"], "limit": 1}, {"path": f"{HOME}/nowhere"}],
        meanings={
            "root": "the project root, absolute",
            "total_directories": "directories that count",
            "skipped_directories": "directories that would count, but are too small",
            "tracked": "directories with a context that can be read",
            "entries": "sorted by `scope`, in the order of code points",
            "entries[].scope": "the directory, relative to the root; `.` is the root",
            "entries[].state": _STATE,
            "entries[].has_context": "whether it has a context that can be read",
            "entries[].last_updated": "when the context was written; only where there is one",
            "entries[].summary": "what the directory is for; only where the context says so",
            "entries[].drift": f"{_DRIFT}; only of a stale one of which it is known",
            "entries[].claims": _CLAIMS,
            "entries[].error": "what is wrong with the directory or its context; only where something is",
            "rules": "rule files that are there; only where there are any, and all entries are asked for",
            "rules[].path": "the file, relative to the root",
            "rules[].about": "what it is about, by its own rules",
            "rules[].gone": "what it names that is not there; only where it names any path",
            "matching": "how many entries there are before `limit` and `offset`; only where some may be left out",
            "error": "why nothing could be listed",
        },
    ),
    "check_freshness": Shown(
        calls=[{"scope": "tests"}, {"scope": "nowhere"}],
        meanings={
            "scope": "the scope, as it was given",
            "state": _STATE,
            **_FINGERPRINTS,
            "last_updated": "when the context was written",
            **_DRIFTED,
            "error": "why there is no context to judge",
        },
    ),
    "query_context": Shown(
        calls=[
            {"scope": "shop"},
            {"scope": "tests", "filter": ["summary", "colour"], "freshness": True},
            {"scope": ".", "filter": ["dependencies", "subdirectories", "project", "structure"]},
            {"scope": "../elsewhere"},
        ],
        meanings={
            "found": "whether there is a context that can be read",
            "scope": "the scope, as it was given",
            "context": "the fields of the context",
            "context.dependencies": "what the directory uses",
            "context.project": "the project as a whole; at the root only",
            "state": "as `check_freshness` gives it; this and the following only with `freshness`",
            **_FINGERPRINTS,
            **_DRIFTED,
            "unknown_fields": "names in `filter` that no field has; only where there are some",
            "error": "why there is nothing to tell",
        },
        schema={"properties": {"context": {"properties": FIELDS}}},
    ),
    "guild_find_tools": Shown(
        calls=[{"query": "reverse text", "limit": 2}],
        meanings={
            "tools": "those that fit, best first",
            "tools[].name": "the name to describe it or call it by",
            "tools[].description": "the first line of its description",
            "of": "how many tools there are to find",
            "unmatched_terms": "words of the query that no tool has",
        },
    ),
    "guild_describe_tool": Shown(
        calls=[{"name": "clock__now"}, {"name": "clock__later"}],
        meanings={
            "name": "the name that the hall knows it by",
            "title": "what people call it",
            "description": "what it does",
            "inputSchema": "its arguments, as JSON Schema",
            "outputSchema": "its structured answer, as JSON Schema",
            "annotations": "what it says of its effects",
        },
        leaves=["inputSchema", "outputSchema", "annotations"],
    ),
    "guild_call_tool": Shown(calls=[{"name": "echo__reverse", "arguments": {"text": "hall"}}, {"name": "echo__shout"}]),
}

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import contexthall

CALLS: dict[str, Callable[..., Any]] = {
    "open_hall": contexthall.open_hall,
    "resolve": contexthall.Hall.resolve,
    "query": contexthall.Hall.query,
    "brief": contexthall.Hall.brief,
    "invoke": contexthall.Hall.invoke,
    "guild_at_work": contexthall.Hall.guild_at_work,
    "GuildAtWork.invoke": contexthall.GuildAtWork.invoke,
    "build_cache": contexthall.Hall.build_cache,
}


def test_the_public_names_are_these() -> None:
    assert contexthall.__all__ == [
        "Brief",
        "CacheInvalidError",
        "CacheMissingError",
        "Context",
        "ContextError",
        "ContextMissingError",
        "DiskError",
        "GuildAtWork",
        "GuildChoice",
        "Hall",
        "HallError",
        "InvalidBudgetError",
        "InvalidQueryError",
        "MemberError",
        "Resolution",
        "ResolvedDocument",
        "ScopeError",
        "Settings",
        "SettingsError",
        "ToolResult",
        "UnknownMemberError",
        "UsageError",
        "__version__",
        "open_hall",
    ]


def test_what_a_value_is_made_of_is_this() -> None:
    document: tuple[str, ...] = ("id", "version", "content", "score", "tokens", "term_matches", "total_words")
    document += ("title", "lines", "matched")
    assert contexthall.ResolvedDocument._fields == document
    resolution = ("documents", "query", "budget", "tokens_used", "documents_considered", "text")
    assert contexthall.Resolution._fields == resolution
    assert contexthall.Context._fields == ("scope", "state", "fields", "text")
    result = ("content", "structured", "is_error", "code", "whole", "raw", "fault", "ids")
    assert contexthall.ToolResult.__struct_fields__ == result


def test_what_is_called_takes_these_arguments() -> None:
    taken = {name: [*inspect.signature(call).parameters] for name, call in CALLS.items()}
    assert taken == {
        "open_hall": [
            "path",
            "cache_root",
            "toolsets",
            "confine",
            "allow_root",
            "reply",
            "refresh_caches",
            "guild",
            "cluster",
            "disk",
        ],
        "resolve": ["self", "cache", "query", "budget"],
        "query": ["self", "scope"],
        "brief": ["self", "path", "budget"],
        "invoke": ["self", "member", "tool", "arguments"],
        "guild_at_work": ["self"],
        "GuildAtWork.invoke": ["self", "member", "tool", "arguments"],
        "build_cache": [
            "self",
            "sources",
            "cache",
            "include",
            "exclude",
            "everything",
            "strict",
            "force",
            "packages",
            "python",
            "all_packages",
            "format",
            "embedder",
            "shards",
            "progress",
        ],
    }


def test_every_public_name_is_there() -> None:
    for name in contexthall.__all__:
        assert getattr(contexthall, name) is not None


def test_any_other_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = contexthall.nope


def test_importing_the_package_loads_nothing_else() -> None:
    script = "import sys; import contexthall; print(*(name for name in sys.modules if name.startswith('contexthall')))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert answer.stdout.split() == ["contexthall"]

"""Context Hall: documents, code contexts and tools for AI agents, behind one local MCP server.

The names in `__all__` are the public ones; docs/library.md says what each is for. Each is loaded when it is first used,
so that a command pays only for what it needs.
"""

from importlib import import_module

TYPE_CHECKING = False  # typing's own, without the cost of importing typing
if TYPE_CHECKING:
    from contexthall.caches.query.resolution import Resolution, ResolvedDocument
    from contexthall.config.settings import Settings
    from contexthall.contexts.project import Brief, Context
    from contexthall.core.catalog import ToolResult
    from contexthall.core.errors import (
        CacheInvalidError,
        CacheMissingError,
        ContextError,
        ContextMissingError,
        DiskError,
        HallError,
        InvalidBudgetError,
        InvalidQueryError,
        MemberError,
        ScopeError,
        SettingsError,
        UnknownMemberError,
        UsageError,
    )
    from contexthall.guild.blocking import GuildAtWork
    from contexthall.hall import GuildChoice, Hall, open_hall

__all__ = [
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
__version__ = "0.2.0"

_HOMES = {
    "Brief": "contexts.project",
    "Context": "contexts.project",
    "GuildAtWork": "guild.blocking",
    "GuildChoice": "hall",
    "Hall": "hall",
    "Resolution": "caches.query.resolution",
    "ResolvedDocument": "caches.query.resolution",
    "Settings": "config.settings",
    "ToolResult": "core.catalog",
    "open_hall": "hall",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'contexthall' has no attribute {name!r}")
    home = _HOMES.get(name, "core.errors")
    return getattr(import_module(f"contexthall.{home}"), name)

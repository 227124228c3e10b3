"""Context Hall: documents, code contexts and tools for AI agents, behind one local MCP server.

The names in `__all__` are the public ones. Each is loaded when it is first used, so that a command pays only for what
it needs.
"""

from importlib import import_module

TYPE_CHECKING = False  # typing's own, without the cost of importing typing
if TYPE_CHECKING:
    from contexthall.core.errors import HallError
    from contexthall.hall import Hall, open_hall
    from contexthall.settings import Settings

__all__ = ["Hall", "HallError", "Settings", "__version__", "open_hall"]
__version__ = "0.1.0"

_HOMES = {"Hall": "hall", "HallError": "core.errors", "Settings": "settings", "open_hall": "hall"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'contexthall' has no attribute {name!r}")
    return getattr(import_module(f"contexthall.{_HOMES[name]}"), name)

"""What both ways of serving share: the MCP server of a hall, and a tuned garbage collector.

Loads the SDK, so only what is about to serve imports it.
"""

import gc

from contexthall import __version__
from contexthall.core.catalog import Caller
from contexthall.faces.mcp.server import HallServer
from contexthall.hall import Hall
from contexthall.system.kernel import give_back_large_memory


def server_of(hall: Hall, caller: Caller, *, only_unicode: bool) -> HallServer:
    """Make the MCP server of a hall."""
    return HallServer(
        hall.catalog,
        caller,
        version=__version__,
        tool_timeout_seconds=hall.settings.tool_timeout_seconds,
        only_unicode=only_unicode,
    )


def freeze_heap() -> None:
    """Freeze what is loaded by now, after a collection, so that the garbage collector skips it."""
    give_back_large_memory()
    gc.freeze()
    gc.enable()

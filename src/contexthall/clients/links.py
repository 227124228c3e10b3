"""Links that install a server when they are opened in a browser, for the clients that take them.

Pure. VS Code reads its entry as JSON behind `vscode:mcp/install?`; Cursor reads a name, and the entry in base64.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from contexthall.core.wire import compact


def _vscode(name: str, entry: Mapping[str, Any]) -> str:
    return f"vscode:mcp/install?{quote(compact({'name': name, **entry}), safe='')}"


def _cursor(name: str, entry: Mapping[str, Any]) -> str:
    config = b64encode(compact(entry).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode({'name': name, 'config': config})}"


LINKS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], str]]] = {"vscode": _vscode, "cursor": _cursor}

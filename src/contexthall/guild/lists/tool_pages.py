"""Which tools does a server list, page by page? Pure."""

from contexthall.core import limits, raw_json
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError


class ToolPages:
    """The tools of a server, collected page by page."""

    def __init__(self) -> None:
        self.tools: list[object] = []
        self.params: JsonObject | None = {}
        """The params of the request for the next page; None after the last."""
        self._seen: set[str] = set()
        self._size = 0

    def take(self, page: JsonObject) -> None:
        """Add a page; MemberError if it is invalid or exceeds a limit."""
        offered, cursor = page.get("tools"), page.get("nextCursor")
        if not isinstance(offered, list):
            raise MemberError("the server answered tools/list without a list of tools")
        self.tools += offered
        self._size += len(raw_json.encode(offered))
        if self._size > limits.TOOLS_CACHE_BYTES:
            raise MemberError(f"the definitions of its tools come to more than {limits.TOOLS_CACHE_BYTES} bytes")
        if not cursor:
            self.params = None
            return
        if not isinstance(cursor, str) or cursor in self._seen or len(self._seen) >= limits.LISTED_PAGES:
            raise MemberError("the pages of its tools/list never end")
        if len(self.tools) > limits.LISTED_TOOLS:
            raise MemberError(f"the server offers more than {limits.LISTED_TOOLS} tools")
        self._seen.add(cursor)
        self.params = {"cursor": cursor}

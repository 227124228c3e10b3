"""The guild for programs without an event loop: calls block while a loop in a thread does the work.

Any number of threads may call at once. A program that has an event loop must not be held up by a call, and in a forked
child no loop would ever answer: both are refused, and told what to do instead.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from anyio.from_thread import BlockingPortal, start_blocking_portal

from contexthall.core.catalog import JsonObject, ToolResult
from contexthall.core.errors import UsageError
from contexthall.guild.manager import MCPManager


class GuildAtWork:
    """The members of a guild: the server of each starts with the first call to it, and runs until the guild rests."""

    def __init__(self, manager: MCPManager, portal: BlockingPortal) -> None:
        self._manager = manager
        self._portal = portal
        self._process = os.getpid()
        self.is_over = False

    def invoke(self, member: str, tool: str, arguments: JsonObject | None = None) -> ToolResult:
        """Call a tool of a member and wait for its answer; MemberError if the member cannot give one.

        A tool that fails answers too: the result's `is_error` says so.
        """
        _check_may_wait()
        if self.is_over:
            raise UsageError("the guild is no longer at work", hint="call it inside the `with` block")
        if os.getpid() != self._process:
            raise UsageError("the guild is at work in another process", hint="in this one, call `hall.invoke`")
        return ToolResult.of_whole(self._portal.call(self._manager.invoke_tool, member, tool, arguments or {}))


@contextmanager
def start_sync(manager: MCPManager) -> Iterator[GuildAtWork]:
    """Run the guild in a thread while this is entered; at the end every server is stopped."""
    _check_may_wait()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(manager.running()):
        guild = GuildAtWork(manager, portal)
        try:
            yield guild
        finally:
            guild.is_over = True


def _check_may_wait() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "a call to the guild would hold up the event loop of this thread",
        hint="make it in another one: `await asyncio.to_thread(hall.invoke, member, tool, arguments)`",
    )

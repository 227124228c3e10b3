"""Who is in the guild, what can each do, and how is it asked? The room's public module.

The roster is complete as soon as it is loaded, from the lists that were cached; servers are started when one of their
tools is called, or to see whether the list is still true. The manager alone changes members: everybody else gets
snapshots and events, which are values.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from contexthall.core.catalog import Progress, Signal
from contexthall.core.errors import MemberError, UnknownMemberError
from contexthall.disk import Disk
from contexthall.guild.definitions import changes, difference, in_force, sift, tokens
from contexthall.guild.discovery import discover_guild_members
from contexthall.guild.fingerprint import fingerprint
from contexthall.guild.keeper import Event, Handle, Keeper, ServerFactory, settled
from contexthall.guild.memory import Failure, Memory, Remembered
from contexthall.guild.naming import tool_names
from contexthall.guild.roster import Change, Freshness, JsonObject, Member, Status
from contexthall.guild.search import one_line
from contexthall.guild.tools_cache import CachedTools, ToolsCaches, judge

__all__ = [
    "Change",
    "Event",
    "Freshness",
    "Handle",
    "MCPManager",
    "Member",
    "MemberView",
    "Refresh",
    "ServerFactory",
    "discover_guild_members",
    "one_line",
]

logger = logging.getLogger(__name__)

Refresh: TypeAlias = Literal["all", "stale", "never"]
Listener: TypeAlias = Callable[[Event], None]

MOST_STARTS = 4
_ORDER = {"missing": 0, "outdated": 1, "fresh": 2}
_MANY_TOOLS = 1000
_LOOK_SECONDS = 2.0
_LIST_SECONDS = 10.0
_ANSWER_SECONDS = 0.1
_ANNOUNCED_SECONDS = 0.2


class MemberView(NamedTuple):
    """What is known of a member at one moment."""

    name: str
    key: str
    display_name: str
    description: str
    version: str
    transport: str
    status: Status
    error: str
    tools: tuple[JsonObject, ...]
    tokens: int
    """What its tools cost an agent, about."""
    cached_at: str
    freshness: Freshness
    notes: tuple[str, ...]
    """What else a person should know, a sentence each."""
    changes: tuple[Change, ...]
    is_held: bool


def utc_now() -> str:
    """Say what time it is, as RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class MCPManager:
    """Looks after the members of a roster, their tools and their servers."""

    def __init__(
        self,
        roster: Mapping[str, Member] | Iterable[Member],
        server_factory: ServerFactory,
        cache_dir: str | None = None,
        *,
        disk: Disk | None = None,
        memory: Memory | None = None,
        hold: bool = False,
        now: Callable[[], str] = utc_now,
    ) -> None:
        self._disk = disk or Disk()
        members = roster.values() if isinstance(roster, Mapping) else roster
        self.roster = {member.name: member for member in members}
        self._caches = ToolsCaches(self._disk, cache_dir)
        self._memory = memory or Memory(self._disk, "")
        self._hold = hold
        self._now = now
        self._listeners: list[Listener] = []
        self._refresh_turns = asyncio.Semaphore(MOST_STARTS)
        call_turns = asyncio.Semaphore(MOST_STARTS)
        self._keepers = {
            name: Keeper(member, server_factory, call_turns, self._tell, self._refresh_soon)
            for name, member in self.roster.items()
        }
        self._fingerprints: dict[str, str] = {}
        self._known: dict[str, tuple[CachedTools | None, Remembered | None]] = {}
        """What was read or written last, of the cache and of the memory of each member."""
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._announced: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # The roster:

    async def initialize_roster(self) -> None:
        """Give every member the tools of its cache. Starts nothing and waits for nobody."""
        self.load_roster()

    def load_roster(self) -> None:
        """Do the same for whoever has no event loop."""
        for member in self.roster.values():
            self._load(member)

    def look_at_files(self) -> None:
        """See whose launch spec or files have changed since its list was written, and who failed since."""
        self._take_in(self._found_in_files())
        for member in self.roster.values():
            failure = self._memory.failure_of(member)
            member.last_failure = f"failed at {failure.at}: {failure.sentence}" if failure else ""

    def snapshot(self) -> tuple[MemberView, ...]:
        """Say what is known of every member now."""
        return tuple(map(_view, self.roster.values()))

    def view(self, name: str) -> MemberView:
        """Say what is known of one member now."""
        return _view(self.member(name))

    def member(self, name: str) -> Member:
        try:
            return self.roster[name]
        except KeyError:
            known = ", ".join(each if each.isprintable() else ascii(each) for each in self.roster) or "nobody"
            raise UnknownMemberError(repr(name), hint=f"the guild has {known}") from None

    def listed_names(self) -> dict[tuple[str, str], str]:
        """Say under which name agents see each tool, by member and tool."""
        return tool_names((member.name, tool["name"]) for member in self.roster.values() for tool in member.tools)

    def subscribe(self, callback: Listener) -> Callable[[], None]:
        """Call `callback` with each event, until the function that is returned is called."""
        self._listeners.append(callback)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(callback)

        return unsubscribe

    # Trust:

    def approve(self, name: str) -> tuple[Change, ...]:
        """Trust a member's tools as they are now; give what had changed."""
        member = self.member(name)
        approved, (cached, remembered) = member.changes, self._read(member)
        if cached is not None and remembered is not None:
            self._memory.remember(
                member, replace(remembered, version=member.version, approved=cached.tools, current=cached.tools)
            )
            self._load(member)
            self._tell_tools(member)
        return approved

    def difference(self, name: str) -> str:
        """Show how the tools of a member differ from those that were approved."""
        member = self.member(name)
        cached, remembered = self._read(member)
        if cached is None or remembered is None:
            return ""
        before, after = ({tool["name"]: tool for tool in tools} for tools in (remembered.approved, cached.tools))
        return "\n".join(difference(before.get(change.tool), after.get(change.tool)) for change in member.changes)

    def log_of(self, name: str, lines: int = 200) -> str:
        """Give the last lines that a member's server said on standard error, whoever had started it."""
        return self._memory.log_of(self.member(name)).tail(lines)

    # Servers:

    async def invoke_tool(
        self, member: str | Member, tool: str, arguments: JsonObject, progress: Progress | None = None
    ) -> Any:  # noqa: ANN401 - whatever the server answers
        """Call a tool of a member, whose server is started if it does not run; MemberError if it fails."""
        keeper = self._keepers[self.member(member if isinstance(member, str) else member.name).name]
        try:
            return await self._invoke(keeper, tool, arguments, progress)
        except MemberError as error:
            if not error.can_repeat:
                raise
        return await self._invoke(keeper, tool, arguments, progress)

    async def stop_server(self, name: str) -> None:
        """Stop the server of a member if it runs; calls under way fail, and the next one starts it anew."""
        await self._keepers[self.member(name).name].stop()

    async def refresh_tool_caches(self, names: Iterable[str] | None = None, *, only_stale: bool = False) -> None:
        """Ask members for their tools, those first whose list is missing or outdated, and write down the answers.

        A member that fails has status `error` afterwards, and keeps the tools that it had.
        """
        self._take_in(await asyncio.to_thread(self._found_in_files))
        members = [self.member(name) for name in (self.roster if names is None else names)]
        asked = [each for each in members if each.manifest and not (only_stale and each.freshness.state == "fresh")]
        asked.sort(key=lambda member: _ORDER[member.freshness.state])
        await asyncio.gather(*(self._refreshed(member) for member in asked))

    @asynccontextmanager
    async def at_work(self, refresh: Refresh = "never", listed: Signal | None = None) -> AsyncIterator[None]:
        """While this is entered, keep the lists true: refresh once the first agent has been given its list.

        An agent that asks for no list is waited for, but not for ever. At the end every server is stopped.
        """
        begin = asyncio.Event()
        unsubscribe = (listed or Signal()).subscribe(begin.set)
        timer = asyncio.get_running_loop().call_later(_LIST_SECONDS, begin.set)
        attending = asyncio.create_task(self._attend(refresh, begin))
        try:
            yield
        finally:
            timer.cancel()
            unsubscribe()
            attending.cancel()
            await self.shutdown()
            await asyncio.wait([attending])

    async def _attend(self, refresh: Refresh, begin: asyncio.Event) -> None:
        """Refresh, then heed what other processes find out or approve; until cancelled."""
        await begin.wait()
        await asyncio.sleep(_ANSWER_SECONDS)
        if refresh != "never":
            await self.refresh_tool_caches(only_stale=refresh == "stale")
        known = self._memory.stamp()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if (found := self._memory.stamp()) != known:
                known = found
                self._reload()

    async def shutdown(self) -> None:
        """Stop every server, and whatever is under way."""
        for keeper in self._keepers.values():
            keeper.is_closed = True
        for task in (*self._tasks, *self._refreshing.values()):
            task.cancel()
        await asyncio.gather(*(keeper.close() for keeper in self._keepers.values()))
        if pending := [*self._tasks, *self._refreshing.values()]:
            await asyncio.wait(pending)

    # Behind them:

    def _load(self, member: Member) -> None:
        if member.manifest is None:
            return
        cached, remembered = self._read(member)
        member.freshness = self._judge(member)
        if cached is None or member.freshness.state == "missing":
            member.tools, member.cached_at, member.changes, member.is_held = [], "", (), False
        else:
            self._put_in_force(member, cached.tools, remembered)
            member.cached_at = cached.cached_at
        member.left_out = remembered.left_out if remembered is not None else ()

    def _read(self, member: Member) -> tuple[CachedTools | None, Remembered | None]:
        remembered = self._memory.recall(member)
        self._known[member.name] = self._caches.read(member, remembered), remembered
        return self._known[member.name]

    def _judge(self, member: Member) -> Freshness:
        cached, remembered = self._known.get(member.name) or self._read(member)
        return judge(cached, member.version, remembered, self._fingerprints.get(member.name, ""))

    def _found_in_files(self) -> dict[str, str]:
        members = [member for member in self.roster.values() if member.manifest is not None]
        return {member.name: fingerprint(self._disk, member) for member in members}

    def _take_in(self, fingerprints: Mapping[str, str]) -> None:
        self._fingerprints |= fingerprints
        for name in fingerprints:
            member = self.roster[name]
            member.freshness = self._judge(member)

    def _put_in_force(self, member: Member, current: Iterable[JsonObject], remembered: Remembered | None) -> None:
        current = tuple(current)
        is_known = remembered is not None and remembered.version == member.version
        approved = remembered.approved if remembered is not None and is_known else current
        member.changes = changes(approved, current)
        member.is_held = self._hold and bool(member.changes)
        member.tools = in_force(approved, current) if member.is_held else list(current)

    def _reload(self) -> None:
        for member in self.roster.values():
            before = member.tools
            if member.name not in self._refreshing:
                self._load(member)
            if member.tools != before:
                self._tell_tools(member)

    async def _invoke(self, keeper: Keeper, tool: str, arguments: JsonObject, progress: Progress | None) -> Any:  # noqa: ANN401
        async with keeper.attending(for_call=True) as handle:
            invoke: Callable[..., Awaitable[Any]] = handle.invoke_tool
            more = () if progress is None else (progress,)
            result = await settled(invoke(tool, arguments, *more))
        keeper.note_success()
        return result

    def _refresh_soon(self, name: str) -> None:
        """Heed a server that says that its tools have changed; some say it often, and some at every start."""
        if name not in self._announced:
            self._announced.add(name)
            self._run(self._refresh_announced(name))

    async def _refresh_announced(self, name: str) -> None:
        await asyncio.sleep(_ANNOUNCED_SECONDS)
        self._announced.discard(name)
        if name in self._refreshing:
            await asyncio.wait([self._refreshing[name]])
        if self._keepers[name].is_running:
            await self._refreshed(self.roster[name])

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refreshed(self, member: Member) -> None:
        """Refresh a member, once for all who ask meanwhile."""
        under_way = self._refreshing.get(member.name)
        if under_way is None:
            under_way = asyncio.create_task(self._refresh(member), name=f"refresh of {member.name}")
            self._refreshing[member.name] = under_way
            under_way.add_done_callback(partial(self._note_refreshed, member.name))
        await asyncio.shield(under_way)

    def _note_refreshed(self, name: str, task: asyncio.Task[None]) -> None:
        self._refreshing.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("refresh of %s failed", name, exc_info=error)

    async def _refresh(self, member: Member) -> None:
        async with self._refresh_turns:
            await self._ask(member)

    async def _ask(self, member: Member) -> None:
        seen = await asyncio.to_thread(fingerprint, self._disk, member)
        try:
            async with self._keepers[member.name].attending(for_call=False) as handle:
                offered = await settled(handle.list_tools())
                cached_at = self._now()
                written, remembered = await asyncio.to_thread(self._write_down, member, offered, seen, cached_at)
        except MemberError as error:
            self._note_failure(member, error)
            return
        self._known[member.name] = written, remembered
        self._fingerprints[member.name] = seen
        self._put_in_force(member, remembered.current, remembered)
        member.cached_at, member.left_out, member.freshness = cached_at, remembered.left_out, Freshness("fresh")
        self._tell_tools(member)

    def _write_down(
        self, member: Member, offered: Iterable[object], seen: str, cached_at: str
    ) -> tuple[CachedTools | None, Remembered]:
        """Keep what a server offered, as far as it can be passed on."""
        tools, left_out = sift(list(offered))
        written = self._caches.write(member, tools, cached_at)
        before = self._memory.recall(member)
        remembered = Remembered(
            version=member.version,
            fingerprint=seen,
            cache_digest=written.digest if written is not None else "",
            approved=before.approved if before is not None and before.version == member.version else tuple(tools),
            current=tuple(tools),
            left_out=left_out,
        )
        self._memory.remember(member, remembered)
        self._memory.note_failure(member, None)
        return written, remembered

    def _note_failure(self, member: Member, error: MemberError) -> None:
        if member.status != "error":  # the keeper has seen it already if it could not be started
            member.status, member.error = "error", f"{error.detail} ({error.more})" if error.more else error.detail
            self._tell(Event("error", member.name, error=member.error))
        self._memory.note_failure(member, Failure(self._now(), member.error))
        logger.warning("the tools of %s could not be refreshed: %s", member.name, member.error)

    def _tell_tools(self, member: Member) -> None:
        self._tell(Event("tools_updated", member.name, tools=tuple(member.tools)))

    def _tell(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("a listener failed on %s of %s", event.kind, event.member)


def _view(member: Member) -> MemberView:
    manifest = member.manifest
    many = [f"it offers {len(member.tools)} tools: think of --guild-budget"] if len(member.tools) > _MANY_TOOLS else []
    return MemberView(
        name=member.name,
        key=member.key,
        display_name=manifest.display_name if manifest else "",
        description=manifest.description if manifest else "",
        version=member.version,
        transport=manifest.launch.transport if manifest else "",
        status=member.status,
        error=member.error,
        tools=tuple(member.tools),
        tokens=sum(map(tokens, member.tools)),
        cached_at=member.cached_at,
        freshness=member.freshness,
        notes=(*filter(None, [member.last_failure]), *member.left_out, *many),
        changes=member.changes,
        is_held=member.is_held,
    )

"""The manager of the guild, the room's public module: roster, tool calls, refreshes, the end of servers.

The roster is complete as soon as it is loaded, from the lists that were cached; servers are started when one of their
tools is called, or to see whether the list is still true. The manager alone changes members: everybody else gets
snapshots and events, which are values.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from copy import copy
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from contexthall.core import limits
from contexthall.core.catalog import JsonObject, Progress, Signal
from contexthall.core.errors import MemberError, UnknownMemberError
from contexthall.core.text import is_printable, quoted
from contexthall.guild.lists.definitions import ToolChange
from contexthall.guild.lists.memory import Memory
from contexthall.guild.lists.naming import may_name, tool_names
from contexthall.guild.lists.search import one_line
from contexthall.guild.lists.tool_lists import MemberFacts, ToolLists
from contexthall.guild.lists.tools_cache import ToolsCaches
from contexthall.guild.members.discovery import discover_guild_members
from contexthall.guild.members.enrolment import ALREADY_THERE, write_switches
from contexthall.guild.members.manifest import KEYRING
from contexthall.guild.members.roster import Freshness, Member
from contexthall.guild.members.watch import GuildWatch
from contexthall.guild.servers.supervisor import Event, Handle, ServerFactory, ServerState, Supervisor, settled
from contexthall.system.disk import Disk

__all__ = [
    "ALREADY_THERE",
    "Event",
    "Freshness",
    "GuildWatch",
    "Handle",
    "MCPManager",
    "Member",
    "MemberView",
    "Refresh",
    "ServerFactory",
    "ToolChange",
    "Trial",
    "discover_guild_members",
    "one_line",
]

logger = logging.getLogger(__name__)

Refresh: TypeAlias = Literal["all", "stale", "never"]
EventListener: TypeAlias = Callable[[Event], None]
MemberView: TypeAlias = Member
"""A copy of a member, which stays as it is."""

_ORDER = {"missing": 0, "outdated": 1, "fresh": 2}


class Trial(NamedTuple):
    """The outcome of starting a member only to see whether it can be started."""

    member: str
    seconds: float = 0.0
    """How long it took until it answered."""
    tools: int = 0
    error: str = ""


def utc_now() -> str:
    """Return the time as RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class MCPManager:
    """Owns the members of a roster, their tool lists and their servers."""

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
        self._disk = disk = disk or Disk()
        members = roster.values() if isinstance(roster, Mapping) else roster
        self.roster = {member.name: member for member in members}
        self._memory = memory or Memory(disk, "")
        self._lists = ToolLists(disk, ToolsCaches(disk, cache_dir), self._memory, hold=hold)
        self._now = now
        self._listeners: list[EventListener] = []
        self._refresh_turns = asyncio.Semaphore(limits.SERVER_STARTS)
        self._factory = server_factory
        self._call_turns = asyncio.Semaphore(limits.SERVER_STARTS)
        self._supervisors = {name: self._supervisor(member) for name, member in self.roster.items()}
        self._retired: list[Supervisor] = []
        """Of members that are gone or were replaced, as long as a call is under way."""
        self._listing: dict[tuple[str, int, bool], asyncio.Task[MemberError | None]] = {}
        """Who is being asked for its tools, by name, which object it is, and whether a call waits for the answer."""
        self._announced: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # The roster:

    async def initialize_roster(self) -> None:
        """Set every member's tools from its cache; no server is started."""
        self.load_roster()

    def load_roster(self) -> None:
        """Do what initialize_roster does, without an event loop."""
        for member in self.roster.values():
            if member.manifest is not None:
                self._lists.load(member)

    def look_at_files(self) -> None:
        """Compare launch specs and files with those at the time of each list, and set who failed since."""
        self._compare(self._lists.fingerprints(self.roster.values()))
        for member in self.roster.values():
            self._lists.recall_failure(member)

    async def look_again(self) -> None:
        """Compare launch specs and files in a thread, so that the event loop does not wait for the disk."""
        self._compare(await asyncio.to_thread(self._lists.fingerprints, tuple(self.roster.values())))

    def snapshot(self) -> tuple[MemberView, ...]:
        """Return what is known of every member now."""
        return tuple(map(copy, self.roster.values()))

    def view(self, name: str) -> MemberView:
        """Return what is known of one member now."""
        return copy(self.member(name))

    def member(self, name: str) -> Member:
        try:
            return self.roster[name]
        except KeyError:
            known = ", ".join(each if is_printable(each) else ascii(each) for each in self.roster) or "nobody"
            raise UnknownMemberError(repr(name), hint=f"the guild has {known}").about(name, self.roster) from None

    def listed_names(self, *names: str) -> dict[tuple[str, str], str]:
        """Return the names by which agents see the tools of some members, or of all, by member and tool."""
        members = map(self.member, names) if names else self.roster.values()
        return tool_names((member.name, name) for member in members for name in member.tool_names)

    def names_called(self, name: str, called: Iterable[str]) -> set[str]:
        """Return which of the names that agents called are of tools of a member, or of tools that it had."""
        member = self.member(name).name
        owners = {shown: owner for (owner, _), shown in self.listed_names().items()}
        return {each for each in called if may_name(each, member) and owners.get(each, member) == member}

    def subscribe(self, callback: EventListener) -> Callable[[], None]:
        """Call `callback` with each event, until the function that is returned is called."""
        self._listeners.append(callback)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(callback)

        return unsubscribe

    # Trust:

    def approve(self, name: str) -> tuple[ToolChange, ...]:
        """Trust a member's tools as they are now; return what had changed."""
        member = self.member(name)
        approved = member.changes
        if self._lists.approve(member):
            self._tell_tools(member)
        return approved

    def difference(self, name: str) -> str:
        """Return how the tools of a member differ from those that were approved."""
        return self._lists.difference(self.member(name))

    def switch(self, name: str, tools: Sequence[str], *, on: bool) -> MemberView:
        """Switch tools of a member on or off, or all if none is named, in its manifest."""
        member = self.member(name)
        member.manifest = write_switches(self._disk, member, tools, on=on)
        self._lists.load(member)
        self._tell_tools(member)
        return copy(member)

    def unset_variables(self, name: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return the variables that the manifest of a member refers to and that the environment lacks."""
        manifest = self.member(name).manifest
        names = manifest.launch.variables if manifest else []
        return tuple(each for each in names if each not in environment and not each.startswith(KEYRING))

    def log_of(self, name: str, lines: int = 200) -> str:
        """Return the last lines of standard error of a member's server, whichever process started it."""
        return self._memory.log_of(self.member(name)).tail(lines)

    # Servers:

    async def invoke_tool(
        self, member: str | Member, tool: str, arguments: JsonObject, progress: Progress | None = None
    ) -> Any:  # noqa: ANN401 - whatever the server answers
        """Call a tool of a member, whose server is started if it does not run; MemberError if it fails."""
        name = member if isinstance(member, str) else member.name
        return await self._invoke(name, "invoke_tool", tool, arguments, progress)

    async def invoke_raw(self, member: str, tool: str, arguments: JsonObject, progress: Progress) -> Any:  # noqa: ANN401
        """Do the same, but the result is the JSON that it came in, where the server's handle has that."""
        return await self._invoke(member, "invoke_raw", tool, arguments, progress)

    async def ensure_list(self, name: str) -> None:
        """Ask a member that has no list for its tools, because one of them is called; MemberError if it fails.

        Its server goes on running for the call.
        """
        member = self.member(name)
        if member.manifest is None or member.freshness.state != "missing":
            return
        if (error := await self._listed(member, for_call=True)) is not None:
            raise error

    async def stop_server(self, name: str) -> None:
        """Stop the server of a member if it runs; calls under way fail, and the next one starts it anew."""
        await self._supervisors[self.member(name).name].stop()

    async def refresh_tool_caches(self, names: Iterable[str] | None = None, *, only_stale: bool = False) -> None:
        """Ask members for their tools, those first whose list is missing or outdated, and write down the answers.

        A member that fails has status `error` afterwards, and keeps the tools that it had.
        """
        members = [self.member(name) for name in (self.roster if names is None else names)]
        self._compare(await asyncio.to_thread(self._lists.fingerprints, members))
        asked = [each for each in members if each.manifest and not (only_stale and each.freshness.state == "fresh")]
        asked.sort(key=lambda member: _ORDER[member.freshness.state])
        await asyncio.gather(*(self._listed(member) for member in asked))

    async def try_members(self, on_tried: Callable[[Trial], None]) -> None:
        """Start every server, ask it for its tools and stop it; no list and no record is written."""
        tried = [member for member in self.roster.values() if member.manifest is not None]
        self._announced.update(member.name for member in tried)  # as if announced already: a trial refreshes no list
        for trial in asyncio.as_completed([self._try(member) for member in tried]):
            on_tried(await trial)

    @asynccontextmanager
    async def running(
        self, refresh: Refresh = "never", listed: Signal | None = None, watch: GuildWatch | None = None
    ) -> AsyncIterator[None]:
        """While this is entered, keep the lists true: refresh once the first agent has been given its list.

        An agent that asks for no list is waited for, but not for ever. With a watch, members come and go as their
        directories do. At the end every server is stopped.
        """
        begin = asyncio.Event()
        unsubscribe = (listed or Signal()).subscribe(begin.set)
        timer = asyncio.get_running_loop().call_later(limits.FIRST_LIST_SECONDS, begin.set)
        polling = [asyncio.create_task(self._poll(refresh, begin))]
        if watch is not None:
            polling.append(asyncio.create_task(self._follow(watch, refresh, begin)))
        try:
            yield
        finally:
            timer.cancel()
            unsubscribe()
            for task in polling:
                task.cancel()
            await self.shutdown()
            await asyncio.wait(polling)

    async def _poll(self, refresh: Refresh, begin: asyncio.Event) -> None:
        """Refresh, then poll for what other processes list or approve, until cancelled."""
        await begin.wait()
        await asyncio.sleep(limits.LIST_ANSWER_SECONDS)
        if refresh != "never":
            self._run(self.refresh_tool_caches(only_stale=refresh == "stale"))
        while True:
            await asyncio.sleep(limits.LIST_POLL_SECONDS)
            for member in self._lists.written_elsewhere(self.roster.values()):
                if not self._tasks_listing(member.name) and self._lists.reload(member):
                    self._tell_tools(member)

    async def _follow(self, watch: GuildWatch, refresh: Refresh, begin: asyncio.Event) -> None:
        """Look at the guild directory again and again, and take in what changed, until cancelled."""
        before = await asyncio.to_thread(watch.look)
        await self._reload(watch, refresh, begin)  # what changed since the roster was loaded
        while True:
            await asyncio.sleep(limits.GUILD_LOOK_SECONDS)
            look = await asyncio.to_thread(watch.look)
            self._retired = [each for each in self._retired if not each.is_over]
            if look != before:
                before = look
                await self._reload(watch, refresh, begin)

    async def _reload(self, watch: GuildWatch, refresh: Refresh, begin: asyncio.Event) -> None:
        """Bring the roster up to date. Nothing is started, but members without a true list are refreshed later."""
        found = await asyncio.to_thread(watch.discover)
        changed = [member for member in found.values() if not self._has(member)]
        if not changed and found.keys() == self.roster.keys():
            return
        await asyncio.to_thread(self._load_changed, changed)
        # From here on nothing is awaited: whoever calls finds the members of before, or those of now.
        for name in self.roster.keys() - found.keys():
            self._lists.forget(name)
            self._retire(name)
        for member in changed:
            self._take_in(member)
        self.roster = {name: self.roster[name] for name in found}
        self._tell(Event("roster_changed", ""))
        if changed and refresh != "never":
            self._run(self._refresh_changed([member.name for member in changed], begin))

    def _has(self, member: Member) -> bool:
        known = self.roster.get(member.name)
        return known is not None and known.has_same_server(member) and known.manifest == member.manifest

    def _load_changed(self, members: Iterable[Member]) -> None:
        for member in members:
            before = self.roster.get(member.name)
            if before is None or not before.has_same_server(member):
                self._lists.forget(member.name)
            if member.manifest is not None:
                self._lists.load(member)

    def _take_in(self, member: Member) -> None:
        """Put a member into the roster; if only its words or switches are new, its server goes on running."""
        before = self.roster.get(member.name)
        if before is not None and before.has_same_server(member):
            before.take_list_of(member)
            return
        if before is not None:
            self._retire(member.name)
            if member.manifest is not None and member.freshness.state == "missing":
                member.offer(before.tools)  # until its own are known, so that agents see one change, not two
        self.roster[member.name] = member
        self._supervisors[member.name] = self._supervisor(member)

    def _retire(self, name: str) -> None:
        supervisor = self._supervisors.pop(name)
        supervisor.retire()
        self._retired.append(supervisor)

    async def _refresh_changed(self, names: Sequence[str], begin: asyncio.Event) -> None:
        await begin.wait()
        await self.refresh_tool_caches([name for name in names if name in self.roster], only_stale=True)

    async def shutdown(self) -> None:
        """Stop every server, and whatever is under way."""
        self._lists.is_closing = True
        supervisors = (*self._supervisors.values(), *self._retired)
        for supervisor in supervisors:
            supervisor.forbid_starts()
        for task in (*self._tasks, *self._listing.values()):
            task.cancel()
        await asyncio.gather(*(supervisor.close() for supervisor in supervisors))
        if pending := [*self._tasks, *self._listing.values()]:
            await asyncio.wait(pending)

    # Internals:

    def _supervisor(self, member: Member) -> Supervisor:
        return Supervisor(member, self._factory, self._call_turns, self._tell, self._refresh_soon)

    def _compare(self, fingerprints: Mapping[str, str]) -> None:
        for name, seen in fingerprints.items():
            if name in self.roster:  # it may have left since its files were looked at
                self._lists.compare(self.roster[name], seen)

    async def _invoke(self, member: str, how: str, tool: str, arguments: JsonObject, progress: Progress | None) -> Any:  # noqa: ANN401 - whatever the server answers
        if not self.member(member).is_on(tool):
            raise MemberError(f"the tool {quoted(tool)} is switched off")
        try:
            return await self._invoke_once(self._supervisors[member], how, tool, arguments, progress)
        except MemberError as error:
            if not error.can_repeat:
                raise
        return await self._invoke_once(self._supervisors[self.member(member).name], how, tool, arguments, progress)

    async def _invoke_once(
        self, supervisor: Supervisor, how: str, tool: str, arguments: JsonObject, progress: Progress | None
    ) -> Any:  # noqa: ANN401 - whatever the server answers
        async with supervisor.running_server(for_call=True) as handle:
            invoke: Callable[..., Awaitable[Any]] = getattr(handle, how, handle.invoke_tool)
            more = () if progress is None else (progress,)
            result = await settled(invoke(tool, arguments, *more))
        supervisor.note_success()
        return result

    def _refresh_soon(self, name: str) -> None:
        """Refresh a server that announced a change of its tools, once for all announcements within a moment."""
        if name not in self._announced:
            self._announced.add(name)
            self._run(self._refresh_announced(name))

    async def _refresh_announced(self, name: str) -> None:
        await asyncio.sleep(limits.ANNOUNCEMENT_SECONDS)
        self._announced.discard(name)
        if under_way := self._tasks_listing(name):
            await asyncio.wait(under_way)
        supervisor = self._supervisors.get(name)
        if supervisor is not None and supervisor.state is ServerState.RUNNING:
            await self._listed(self.roster[name])

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_done)

    def _note_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)

    def _tasks_listing(self, name: str) -> "list[asyncio.Task[MemberError | None]]":
        return [task for (listed, *_), task in self._listing.items() if listed == name]

    async def _listed(self, member: Member, *, for_call: bool = False) -> MemberError | None:
        """List the tools of a member, once for all who ask meanwhile; return the error if that fails."""
        key = (member.name, id(member), for_call)
        under_way = self._listing.get(key)
        if under_way is None:
            under_way = asyncio.create_task(self._list(member, for_call=for_call), name=f"list of {member.name}")
            self._listing[key] = under_way
            under_way.add_done_callback(lambda _: self._listing.pop(key, None))
            under_way.add_done_callback(self._note_done)
        return await asyncio.shield(under_way)

    async def _list(self, member: Member, *, for_call: bool) -> MemberError | None:
        try:
            heard = await self._ask(member, for_call=for_call)
        except MemberError as error:
            if not self._lists.is_closing:
                await self._note_failure(member, error)
            return error
        except Exception as error:  # noqa: BLE001 - whatever a factory's server raises is its member's failure
            failure = MemberError("the server could not be asked", more=str(error))
            await self._note_failure(member, failure)
            return failure
        if self.roster.get(member.name) is member:
            self._lists.adopt(member, heard)
            self._tell_tools(member)
        return None

    async def _ask(self, member: Member, *, for_call: bool) -> MemberFacts:
        """Ask a server for its tools, and write them down; only its start has to wait for a turn."""
        async with AsyncExitStack() as stack:
            # The turn comes first, so that members are asked in order; but a call waits for no refresh of others.
            async with nullcontext() if for_call else self._refresh_turns:
                seen = (await asyncio.to_thread(self._lists.fingerprints, [member])).get(member.name, "")
                handle = await stack.enter_async_context(
                    self._supervisors[member.name].running_server(for_call=for_call)
                )
            offered = list(await settled(handle.list_tools()))
            if self.roster.get(member.name) is not member:
                raise MemberError("the member was changed while it was asked")
            return await asyncio.to_thread(self._lists.write_down, member, offered, seen, self._now())

    async def _try(self, member: Member) -> Trial:
        clock = asyncio.get_running_loop().time
        try:
            async with AsyncExitStack() as stack:
                async with self._refresh_turns:
                    begun = clock()
                    handle = await stack.enter_async_context(
                        self._supervisors[member.name].running_server(for_call=False)
                    )
                    seconds = clock() - begun
                offered = await settled(handle.list_tools())
        except MemberError as error:
            return Trial(member.name, error=error.sentence)
        except Exception as error:  # noqa: BLE001 - whatever a factory's server raises is its member's failure
            return Trial(member.name, error=f"the server could not be asked ({error})")
        member.last_failure = ""
        return Trial(member.name, seconds, len(offered))

    async def _note_failure(self, member: Member, error: MemberError) -> None:
        if self.roster.get(member.name) is not member:
            return
        if member.status != "error":  # the supervisor has seen it already if it could not be started
            member.status, member.error = "error", error.sentence
            self._tell(Event("error", member.name, error=member.error))
        logger.warning("the tools of %s could not be refreshed: %s", member.name, member.error)
        await asyncio.to_thread(self._lists.note_failure, member, error, self._now())

    def _tell_tools(self, member: Member) -> None:
        self._tell(Event("tools_updated", member.name, tools=tuple(member.tools)))

    def _tell(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("a listener failed on %s of %s", event.kind, event.member)

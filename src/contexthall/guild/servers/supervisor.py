"""When does a member's server run? From the first moment that somebody needs it until nobody has for a while.

A supervisor looks after one member: it starts the server once, whoever asks and however many; stops it when it is idle;
and after a failure lets some time pass before it tries again.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.guild.members.roster import Member

_T = TypeVar("_T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_DOUBLINGS = 10
_LONGEST_WAIT_SECONDS = 2.0
_TURN_SECONDS = 1.0


class Handle(Protocol):
    """A server that runs. One that can do more has `on_gone`, `on_tools_changed` and `in_haste` as well."""

    def list_tools(self) -> Awaitable[list[Any]]: ...

    def invoke_tool(self, name: str, arguments: JsonObject, /) -> Awaitable[Any]: ...

    def stop(self) -> Awaitable[None]: ...


class ServerFactory(Protocol):
    """Who starts servers."""

    def spawn(self, member: Member, /) -> Awaitable[Handle]: ...


class Event(NamedTuple):
    """Something that happened to a member."""

    kind: Literal["started", "stopped", "error", "tools_updated"]
    member: str
    error: str = ""
    """Why, if it is an error."""
    tools: tuple[JsonObject, ...] = ()
    """The tools in force, if they were updated."""


class Supervisor:
    """Looks after the server of one member."""

    def __init__(
        self,
        member: Member,
        factory: ServerFactory,
        turns: asyncio.Semaphore,
        tell: Callable[[Event], None],
        on_tools_changed: Callable[[str], None],
    ) -> None:
        self.member = member
        self._factory = factory
        self._turns = turns
        self._tell = tell
        self._on_tools_changed = on_tools_changed
        self._handle: Handle | None = None
        self._gone: Handle | None = None
        self._starting: asyncio.Task[Handle] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._users = 0
        self._was_called = False
        self._last_call = 0.0
        self._failures = 0
        self._reason = ""
        self._next_start = 0.0
        self.is_closed = False
        """Set when nothing is to be started any more."""

    @asynccontextmanager
    async def running_server(self, *, for_call: bool) -> AsyncIterator[Handle]:
        """Have the server run, started now if need be; it is not stopped for idleness while anybody is here."""
        self._users += 1
        self._cancel_idle()
        if for_call:
            self._was_called = True
        try:
            yield await self._running(for_call=for_call)
        finally:
            self._users -= 1
            if for_call:
                self._last_call = asyncio.get_running_loop().time()
            self._rest()

    @property
    def is_running(self) -> bool:
        return self._handle is not None

    def note_success(self) -> None:
        """Somebody got an answer: the server is well."""
        self._failures = 0
        if self._handle is not None and self.member.status == "error":  # its list could not be had, for one
            self.member.status, self.member.error = "connected", ""

    async def stop(self) -> None:
        """Stop the server, whoever uses it; one that is being started is stopped once it runs."""
        self._cancel_idle()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self._stop()
        if self._stopping is not None:
            await asyncio.wait([self._stopping])

    async def close(self) -> None:
        """Stop the server for good, however far it has come."""
        self.is_closed = True
        self._cancel_idle()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        self._stop(in_haste=True)
        if self._stopping is not None:
            await asyncio.wait([self._stopping])

    async def _running(self, *, for_call: bool) -> Handle:
        if self.is_closed:
            raise MemberError("the hall is closing")
        if self._handle is not None:
            return self._handle
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(for_call=for_call), name=f"start of {self.member.name}")
            self._starting.add_done_callback(self._note_started)
        # Whoever gives up waiting gives up for himself only.
        return await asyncio.shield(self._starting)

    async def _start(self, *, for_call: bool) -> Handle:
        if self._stopping is not None:
            await asyncio.wait([self._stopping])
        await self._pause()
        if not for_call:  # whoever refreshes has waited for a turn already
            return await self._spawn()
        has_turn = await _acquired(self._turns, _TURN_SECONDS)
        try:
            return await self._spawn()
        finally:
            if has_turn:
                self._turns.release()

    async def _pause(self) -> None:
        """Wait until it is time to try again; if that is too far away, say so."""
        seconds = self._next_start - asyncio.get_running_loop().time()
        if seconds > _LONGEST_WAIT_SECONDS:
            raise MemberError(
                f"{self._reason}; it has failed {self._failures} times and is tried again in {seconds:.0f} s"
            )
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _spawn(self) -> Handle:
        try:
            handle = await settled(self._factory.spawn(self.member))
        except MemberError as error:
            self._note_failure(error)
            raise
        except Exception as error:
            failure = MemberError("the server could not be started", more=str(error) or type(error).__name__)
            self._note_failure(failure)
            raise failure from error
        if hasattr(handle, "on_gone"):
            handle.on_gone = partial(self._note_gone, handle)
        if hasattr(handle, "on_tools_changed"):
            handle.on_tools_changed = lambda: self._on_tools_changed(self.member.name)
        return handle

    def _note_started(self, starting: asyncio.Task[Handle]) -> None:
        self._starting = None
        if starting.cancelled() or starting.exception() is not None:
            return
        if starting.result() is self._gone:
            return
        self._handle = starting.result()
        self.member.status, self.member.error = "connected", ""
        self._tell(Event("started", self.member.name))
        self._rest()

    def _note_gone(self, handle: Handle, reason: str, more: str) -> None:
        self._gone = handle  # perhaps before its start was noted
        self._handle = None
        self._was_called = False
        self._cancel_idle()
        self._note_failure(MemberError(reason, more=more))

    def _note_failure(self, error: MemberError) -> None:
        # The first time nobody has to wait; from then on ever longer.
        pause = _FIRST_PAUSE_SECONDS * 2 ** min(self._failures - 1, _MOST_DOUBLINGS) if self._failures else 0.0
        self._failures += 1
        self._reason = error.detail
        self._next_start = asyncio.get_running_loop().time() + min(pause, _LONGEST_PAUSE_SECONDS)
        self.member.status, self.member.error = "error", error.sentence
        self._tell(Event("error", self.member.name, error=self.member.error))

    def _rest(self) -> None:
        """If nobody needs the server any more, stop it: at once if nobody ever called it, else after a while."""
        if self._users or self._handle is None or self.is_closed:
            return
        if not self._was_called:
            self._stop(in_haste=True)  # whoever calls now has to wait for it
            return
        self._cancel_idle()
        manifest = self.member.manifest
        end = self._last_call + (manifest.idle_seconds if manifest is not None else 0)
        self._idle = asyncio.get_running_loop().call_at(end, self._stop)

    def _stop(self, *, in_haste: bool = False) -> None:
        handle, self._handle = self._handle, None
        self._was_called = False
        if handle is not None:
            if hasattr(handle, "in_haste"):
                handle.in_haste = in_haste
            self._stopping = asyncio.create_task(settled(handle.stop()), name=f"end of {self.member.name}")
            self._stopping.add_done_callback(self._note_stopped)

    def _note_stopped(self, stopping: asyncio.Task[None]) -> None:
        if self._stopping is stopping:
            self._stopping = None
        error = None if stopping.cancelled() else stopping.exception()
        if error is not None:
            self.member.status, self.member.error = "error", f"it could not be stopped: {error}"
            self._tell(Event("error", self.member.name, error=self.member.error))
        elif self.member.status == "connected":
            self.member.status = "disconnected"
            self._tell(Event("stopped", self.member.name))

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


async def settled(value: Awaitable[_T]) -> _T:
    """Wait for a value, or take it if somebody's factory gave it at once."""
    given: object = value
    return await value if inspect.isawaitable(given) else cast("_T", given)


async def _acquired(turns: asyncio.Semaphore, seconds: float) -> bool:
    """Wait for a turn; whoever waits too long goes ahead without one, for a call must not hang on other servers."""
    try:
        async with asyncio.timeout(seconds):
            return await turns.acquire()
    except TimeoutError:
        return False

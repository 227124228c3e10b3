"""The supervisor of a member's server: it runs from the first moment it is needed until it has been idle for a while.

A supervisor starts the server once, whoever asks and however many; stops it when it is idle; and after a failure backs
off before it tries again.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import Enum, auto
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.guild.members.roster import Member

_T = TypeVar("_T")


class Handle(Protocol):
    """A running server. One that can do more has `on_gone`, `on_tools_changed` and `in_haste` as well."""

    def list_tools(self) -> Awaitable[list[Any]]: ...

    def invoke_tool(self, name: str, arguments: JsonObject, /) -> Awaitable[Any]: ...

    def stop(self) -> Awaitable[None]: ...


class ServerFactory(Protocol):
    """Starts servers."""

    def spawn(self, member: Member, /) -> Awaitable[Handle]: ...


class Event(NamedTuple):
    """Something that happened to a member."""

    kind: Literal["started", "stopped", "error", "tools_updated", "roster_changed", "starting"]
    member: str
    """Empty if the roster changed: then several members may have come or gone."""
    error: str = ""
    """Why, if it is an error."""
    progress: str = ""
    """How far it has come, if it is starting and that takes long."""
    tools: tuple[JsonObject, ...] = ()
    """The tools in force, if they were updated."""


class ServerState(Enum):
    """What a supervisor does with its server."""

    STOPPED = auto()
    STARTING = auto()
    """Perhaps once the one before has stopped, or its back-off is over."""
    RUNNING = auto()
    STOPPING = auto()
    FAILED = auto()
    """It could not be started, or has ended by itself: the next start may have to back off."""
    CLOSED = auto()
    """Nothing is started any more."""


class Supervisor:
    """Starts and stops the server of one member."""

    def __init__(
        self,
        member: Member,
        factory: ServerFactory,
        turns: asyncio.Semaphore,
        tell: Callable[[Event], None],
        on_tools_changed: Callable[[str], None],
    ) -> None:
        self.member = member
        self.state = ServerState.STOPPED
        self._factory = factory
        self._turns = turns
        self._tell = tell
        self._on_tools_changed = on_tools_changed
        self._handle: Handle | None = None
        self._starting: asyncio.Task[Handle] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._users = 0
        self._last_call: float | None = None
        """None if this server was never called."""
        self._idle: asyncio.TimerHandle | None = None
        self._failures = 0
        self._reason = ""
        self._next_start = 0.0
        self._is_retired = False

    @asynccontextmanager
    async def running_server(self, *, for_call: bool) -> AsyncIterator[Handle]:
        """Have the server run, started now if need be; it is not stopped for idleness while this is entered."""
        clock = asyncio.get_running_loop().time
        self._users += 1
        self._cancel_idle()
        if for_call:
            self._last_call = clock()
        try:
            yield await self._running_handle(for_call=for_call)
        finally:
            self._users -= 1
            if for_call and self._last_call is not None:
                self._last_call = clock()
            self._stop_if_unused()

    def note_success(self) -> None:
        """Forget past failures, because a call was answered."""
        self._failures = 0
        if self.state is ServerState.RUNNING and self.member.status == "error":  # its list could not be had, for one
            self.member.status, self.member.error = "connected", ""

    async def stop(self, *, in_haste: bool = False) -> None:
        """Stop the server, whoever uses it; one that is being started is stopped once it runs."""
        self._cancel_idle()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self._stop(in_haste=in_haste)
        if self._stopping is not None:
            await asyncio.wait([self._stopping])

    def forbid_starts(self) -> None:
        """Start nothing any more."""
        self.state = ServerState.CLOSED

    def retire(self) -> None:
        """Let calls under way finish, then stop the server: another one has taken its place, or its member is gone."""
        self._is_retired = True
        self._tell = lambda _event: None
        self._on_tools_changed = lambda _member: None
        self._stop_if_unused()

    @property
    def is_over(self) -> bool:
        """Whether nothing of its server is left."""
        return not self._users and self._handle is None and self._starting is None and self._stopping is None

    async def close(self) -> None:
        """Stop the server for good, even while it is being started."""
        self.forbid_starts()
        if self._starting is not None:
            self._starting.cancel()
        await self.stop(in_haste=True)

    async def _running_handle(self, *, for_call: bool) -> Handle:
        if self.state is ServerState.CLOSED:
            raise MemberError("the hall is closing")
        if self._handle is not None:
            return self._handle
        if self._starting is None:
            self.state = ServerState.STARTING
            self._starting = asyncio.create_task(self._start(for_call=for_call), name=f"start of {self.member.name}")
        # Cancelling one waiter must not cancel the shared start.
        return await asyncio.shield(self._starting)

    async def _start(self, *, for_call: bool) -> Handle:
        try:
            if self._stopping is not None:
                await asyncio.wait([self._stopping])
            await self._back_off()
            handle = await self._spawn_in_turn() if for_call else await self._spawn()  # a refresh has its turn already
        except MemberError:
            self._become(ServerState.FAILED)
            raise
        finally:
            self._starting = None
        self._handle = handle
        self._become(ServerState.RUNNING)
        self.member.status, self.member.error = "connected", ""
        self._tell(Event("started", self.member.name))
        self._stop_if_unused()
        return handle

    async def _back_off(self) -> None:
        """Wait until the next start is due; MemberError if that is too far away."""
        seconds = self._next_start - asyncio.get_running_loop().time()
        if seconds > limits.BACK_OFF_WAIT_SECONDS:
            raise MemberError(
                f"{self._reason}; it has failed {self._failures} times and is tried again in {seconds:.0f} s"
            )
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _spawn_in_turn(self) -> Handle:
        """Start the server in its turn, or without one after a second: a call must not hang on other servers."""
        has_turn = False
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(limits.START_TURN_SECONDS):
                    has_turn = await self._turns.acquire()
            return await self._spawn()
        finally:
            if has_turn:
                self._turns.release()

    async def _spawn(self) -> Handle:
        try:
            with self._telling_of_slow_start():
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

    @contextmanager
    def _telling_of_slow_start(self) -> Iterator[None]:
        """Tell again and again that what may have to be downloaded is still being started, once that takes long."""
        loop, member = asyncio.get_running_loop(), self.member
        begun = loop.time()
        if member.manifest is None or member.cached_at or not member.manifest.launch.runs_package:
            yield
            return
        timers: list[asyncio.TimerHandle] = []

        def tell() -> None:
            timers[:] = [loop.call_later(limits.SLOW_START_SECONDS, tell)]
            member.progress = f"it has been starting for {loop.time() - begun:.0f} s; a first start may download it"
            self._tell(Event("starting", member.name, progress=member.progress))

        timers.append(loop.call_later(limits.SLOW_START_SECONDS, tell))
        try:
            yield
        finally:
            timers[0].cancel()
            member.progress = ""

    def _note_gone(self, handle: Handle, reason: str, more: str) -> None:
        if handle is not self._handle:
            return
        self._handle = self._last_call = None
        self._cancel_idle()
        self._become(ServerState.FAILED)
        self._note_failure(MemberError(reason, more=more))

    def _note_failure(self, error: MemberError) -> None:
        # No back-off after the first failure; then it doubles with each.
        doublings = min(self._failures - 1, limits.BACK_OFF_DOUBLINGS)
        seconds = limits.FIRST_BACK_OFF_SECONDS * 2**doublings if self._failures else 0.0
        self._failures += 1
        self._reason = error.detail
        self._next_start = asyncio.get_running_loop().time() + min(seconds, limits.LAST_BACK_OFF_SECONDS)
        self.member.status, self.member.error = "error", error.sentence
        self._tell(Event("error", self.member.name, error=self.member.error))

    def _stop_if_unused(self) -> None:
        """Stop a server that nobody uses: at once if it was never called, else when it has been idle."""
        if self._users or self.state is not ServerState.RUNNING:
            return
        if self._last_call is None or self._is_retired:
            self._stop(in_haste=True)  # the next call has to wait for it
            return
        self._cancel_idle()
        manifest = self.member.manifest
        end = self._last_call + (manifest.idle_seconds if manifest is not None else 0)
        self._idle = asyncio.get_running_loop().call_at(end, self._stop)

    def _stop(self, *, in_haste: bool = False) -> None:
        handle, self._handle, self._last_call = self._handle, None, None
        if handle is not None:
            if hasattr(handle, "in_haste"):
                handle.in_haste = in_haste
            self._become(ServerState.STOPPING)
            self._stopping = asyncio.create_task(settled(handle.stop()), name=f"end of {self.member.name}")
            self._stopping.add_done_callback(self._note_stopped)

    def _note_stopped(self, stopping: asyncio.Task[None]) -> None:
        if self._stopping is stopping:
            self._stopping = None
        if self.state is ServerState.STOPPING:
            self.state = ServerState.STOPPED
        error = None if stopping.cancelled() else stopping.exception()
        if error is not None:
            self.member.status, self.member.error = "error", f"it could not be stopped: {error}"
            self._tell(Event("error", self.member.name, error=self.member.error))
        elif self.member.status == "connected":
            self.member.status = "disconnected"
            self._tell(Event("stopped", self.member.name))

    def _become(self, state: ServerState) -> None:
        if self.state is not ServerState.CLOSED:
            self.state = state

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


async def settled(value: Awaitable[_T]) -> _T:
    """Return what an awaitable gives, or the value itself if a plain function gave it."""
    given: object = value
    return await value if inspect.isawaitable(given) else cast("_T", given)

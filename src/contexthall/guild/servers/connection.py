"""How does the hall speak with a member's server? As an MCP client, over its pipes or over HTTP.

One task owns each connection: it enters and leaves everything that has to be, and when it ends, the connection has
ended and so has the server, if it was the hall that started it. Any other task may call. What is said, and in which
era, is the protocol's to know; here are its clock, its waiting callers, and the reasons for which a call fails.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import anyio

from contexthall.core import limits
from contexthall.core.catalog import JsonObject, Progress
from contexthall.core.errors import MemberError, UsageError
from contexthall.core.tracing import trace
from contexthall.guild.members.manifest import KEYRING, MemberManifest
from contexthall.guild.members.roster import Member
from contexthall.guild.servers.log import BoundedLog
from contexthall.guild.servers.process import OrphanReaper
from contexthall.guild.servers.redaction import Redactor
from contexthall.guild.servers.transport import Transport, Wire, first_error
from contexthall.protocol.client import (
    NOT_READ,
    Answered,
    ClientEffect,
    ClientRole,
    Ready,
    Refused,
    ToolPages,
    ToolsChanged,
    parsed_result,
)
from contexthall.protocol.messages import Message, Response
from contexthall.protocol.peer import Progressed, Send
from contexthall.system.keyring import SecretReader


class Connector:
    """Starts servers, or reaches those that run elsewhere: the manager's server factory."""

    def __init__(self, *, version: str, environment: Mapping[str, str], log_of: Callable[[Member], BoundedLog]) -> None:
        self._client = {"name": "context-hall", "title": "Context Hall", "version": version}
        self._environment = environment
        self._log_of = log_of
        self._reaper = OrphanReaper()
        self._secrets = SecretReader()
        self._redactors: dict[str, Redactor] = {}
        """Of the members that were started, by name."""

    def redacted(self, text: str) -> str:
        """Return a text without the values that members were given."""
        for redactor in tuple(self._redactors.values()):
            text = redactor.text(text)
        return text

    async def spawn(self, member: Member) -> "Connection":
        """Start or reach the server of `member` and shake hands with it; MemberError if that cannot be."""
        if member.manifest is None:
            raise MemberError(f"its manifest cannot be used: {member.error}")
        log, environment = self._log_of(member), await self._environment_of(member.manifest)
        transport = Transport(member.manifest, member.directory, log, environment, self._reaper)
        self._redactors[member.name] = transport.redactor
        connection = Connection(member.manifest, transport, ClientRole(self._client))
        is_first = member.freshness.state == "missing"
        await connection.open(member.manifest.first_start_seconds if is_first else member.manifest.start_seconds)
        return connection

    async def _environment_of(self, manifest: MemberManifest) -> Mapping[str, str]:
        """Return the environment with the secrets that a manifest names."""
        secrets = [each for each in manifest.launch.variables if each.startswith(KEYRING)]
        try:
            found = {each: await self._secrets.read(each.removeprefix(KEYRING)) for each in secrets}
        except UsageError as error:
            raise MemberError(str(error), more=error.hint) from None
        return {**self._environment, **found} if found else self._environment


class Connection:
    """A server that is being spoken with."""

    def __init__(self, manifest: MemberManifest, transport: Transport, role: ClientRole) -> None:
        self.on_tools_changed: Callable[[], None] = lambda: None
        """Called when the server says that its tools have changed."""
        self.on_gone: Callable[[str, str], None] = lambda _reason, _more: None
        """Called with the reason, and what else is known, when the server is gone without having been stopped."""
        self.in_haste = False
        """Set if a server that does not end by itself shall be given little time."""
        self._manifest = manifest
        self._transport = transport
        self._role = role
        self._wire: Wire | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._done = asyncio.Event()
        self._is_stopping = False
        self._inboxes: dict[int, asyncio.Queue[Progressed | Response | None]] = {}
        """What callers are told: how far their request has come, then the answer; None if none will come."""
        self._unasked: asyncio.Queue[bytes] = asyncio.Queue(limits.MEMBER_QUESTIONS)
        """What nobody waits for: answers to the server's own requests, and cancellations."""
        self._owner: asyncio.Task[None] | None = None
        self._reason = ""

    async def open(self, seconds: float) -> None:
        """Connect, within so many seconds."""
        self._owner = asyncio.create_task(self._own(), name=f"connection to {self._manifest.name}")
        with self._redacted():
            try:
                async with asyncio.timeout(seconds):
                    await asyncio.shield(self._ready)
            except TimeoutError:
                await self._abandon()
                raise MemberError(
                    f"the server did not answer initialize within {seconds:g} s, its startTimeoutSeconds",
                    more=self._transport.evidence(),
                ) from None
            except asyncio.CancelledError:
                await self._abandon()
                raise

    async def list_tools(self) -> list[object]:
        """Ask for all pages of its tools."""
        seconds = max(self._manifest.start_seconds, self._manifest.tool_seconds)
        pages = ToolPages()
        try:
            async with asyncio.timeout(seconds):
                while self._role.offers_tools and pages.params is not None:
                    page = await self._request("tools/list", pages.params, self._manifest.start_seconds)
                    pages.take(parsed_result(page))
        except TimeoutError:
            raise MemberError(f"the server did not list all its tools within {seconds:g} s") from None
        return pages.tools

    async def invoke_tool(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> dict[str, Any]:
        """Call a tool and give the result as it came; MemberError with the server's own error if that is its answer."""
        return parsed_result(await self.invoke_raw(name, arguments, progress))

    async def invoke_raw(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> bytes:
        """Do the same, but the result stays the JSON that it came in."""
        params: JsonObject = {"name": name, "arguments": arguments}
        if said := trace():
            params = {**params, "_meta": dict(said)}
        return await self._request("tools/call", params, self._manifest.tool_seconds, progress)

    async def stop(self) -> None:
        """End the connection, and the server if it is ours."""
        self._is_stopping = True
        self._transport.in_haste |= self.in_haste
        self._reason = self._reason or "the hall has stopped the server"
        self._done.set()
        if self._owner is not None:
            in_haste = self._transport.in_haste
            seconds = limits.HASTY_STOP_SECONDS if in_haste else limits.CONNECTION_STOP_SECONDS
            await asyncio.wait([self._owner], timeout=seconds)
            await self._abandon()

    async def _request(
        self, method: str, params: JsonObject, seconds: float, progress: Progress | None = None
    ) -> bytes:
        rubbish = self._transport.rubbish_lines
        with self._redacted():
            try:
                async with asyncio.timeout(seconds):
                    response = await self._answered(method, params, progress)
            except TimeoutError:
                instead = ", but printed what is no message" if self._transport.rubbish_lines > rubbish else ""
                sentence = f"the server did not answer {method} within {seconds:g} s{instead}"
                raise MemberError(sentence, more=self._transport.evidence()) from None
            if response is None:
                await self._ends_within(2 * limits.CONNECTION_GRACE_SECONDS)  # by then others know it too
                raise self._failure()
            if response.error is not None:
                raise await self._understood(response.error, method)
            return response.result

    async def _answered(self, method: str, params: JsonObject, progress: Progress | None) -> Response | None:
        """Return the answer to a request; None if the connection ended before it came."""
        if self._wire is None or self._done.is_set():
            return None
        request_id, line = self._role.ask(method, params, wants_progress=progress is not None)
        inbox = self._inboxes[request_id] = asyncio.Queue()
        try:
            await self._write(line)
            while isinstance(told := await inbox.get(), Progressed):
                if progress is not None and not await _is_told(progress, told):
                    progress = None
            return told
        finally:
            del self._inboxes[request_id]
            self._send_unasked(self._role.abandon(request_id, "Nobody waits for the answer any more"))
            if self._reason and not self._inboxes:
                self._done.set()

    async def _write(self, line: bytes) -> None:
        """Write a line; if the server does not read any more, whoever waits for its end says why."""
        assert self._wire is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._wire.write(line)

    def _send_unasked(self, line: bytes) -> None:
        """Send what nobody waits for; a server that does not read so much of it gets no more."""
        if line:
            with suppress(asyncio.QueueFull):
                self._unasked.put_nowait(line)

    @contextmanager
    def _redacted(self) -> Iterator[None]:
        """Take the values of variables out of an error: the server's words, and the SDK's, may quote them."""
        try:
            yield
        except MemberError as error:
            raise error.reworded(self._transport.redactor.text) from None

    async def _understood(self, error: JsonObject, method: str) -> MemberError:
        """Tell what was said in the server's place from what the server answered."""
        if reason := error["message"].partition(NOT_READ)[2]:
            return MemberError(NOT_READ + reason)
        failure = self._transport.http_failure(error["message"])
        if failure is None:
            return MemberError(f"the server answered {method} with an error: {error['message']}", fault=error)
        if failure.can_repeat:
            await self._leave_session(failure.detail)
        elif await self._ends_within(limits.CONNECTION_GRACE_SECONDS):  # by then it is known why
            return self._failure()
        return failure

    async def _leave_session(self, reason: str) -> None:
        """End a connection that the server has forgotten, once all who called have heard so from the server."""
        self._reason = reason
        if self._inboxes:
            await self._ends_within(limits.CONNECTION_GRACE_SECONDS)
        self._done.set()
        await self._ends_within(limits.CONNECTION_GRACE_SECONDS)

    async def _ends_within(self, seconds: float) -> bool:
        """Wait for the end of the connection, but not for long; return whether it has come, or is near."""
        assert self._owner is not None
        await asyncio.wait([self._owner], timeout=seconds)
        return self._owner.done() or self._done.is_set()

    async def _abandon(self) -> None:
        self._is_stopping = self._transport.in_haste = True
        if self._owner is not None and not self._owner.done():
            self._owner.cancel()
            await asyncio.wait([self._owner])

    # The owner's part:

    async def _own(self) -> None:
        try:
            async with self._transport.opened() as self._wire:
                await self._converse(self._wire)
        except* MemberError as group:
            self._fail(cast("MemberError", first_error(group)))
        except* (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as group:
            self._fail_to_reach(first_error(group))
        except* Exception as group:  # noqa: BLE001 - whatever it is, whoever asked must not wait for an answer
            self._fail(MemberError(f"the connection to the server broke: {type(first_error(group)).__name__}"))
        finally:
            self._conclude()

    async def _converse(self, wire: Wire) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, wire)
            tasks.start_soon(self._notice_end)
            tasks.start_soon(self._write_unasked)
            await self._write(self._role.open())
            await self._done.wait()
            tasks.cancel_scope.cancel()

    async def _listen(self, wire: Wire) -> None:
        async for message in wire.messages():
            self._take(message, wire)
            del message  # which may be long, and would be held until the next one comes
        if self._transport.process is not None:  # one that ends closes its output a moment before
            await self._transport.process.ends_within(limits.CONNECTION_GRACE_SECONDS)
        self._note_end()

    def _take(self, message: Message, wire: Wire) -> None:
        for effect in self._role.receive(message):
            self._perform(effect, wire)

    def _perform(self, effect: ClientEffect, wire: Wire) -> None:
        match effect:
            case Send(line):
                wire.version = self._role.version
                self._send_unasked(line)
            case Ready():
                if not self._ready.done():
                    self._ready.set_result(None)
            case Refused(reason, said):
                raise self._transport.http_failure(said) or MemberError(reason)
            case Answered(response):
                self._tell(cast("int", response.id), response)
            case Progressed(request_id):
                self._tell(request_id, effect)
            case ToolsChanged():
                self.on_tools_changed()

    def _tell(self, request_id: int, told: Progressed | Response) -> None:
        """Tell a caller, if it still waits; of what piles up, the newest is kept."""
        if (inbox := self._inboxes.get(request_id)) is not None:
            if inbox.qsize() >= limits.QUEUED_PROGRESS:
                inbox.get_nowait()
            inbox.put_nowait(told)

    async def _write_unasked(self) -> None:
        while True:
            await self._write(await self._unasked.get())

    async def _notice_end(self) -> None:
        """Wait for the process, whose output somebody else may hold open."""
        if self._transport.process is not None:
            await asyncio.shield(self._transport.process.ended)
            await asyncio.sleep(limits.CONNECTION_GRACE_SECONDS)
            self._note_end()

    def _note_end(self) -> None:
        if not self._ready.done():
            raise MemberError(self._ending("before it answered initialize"), more=self._transport.evidence())
        self._reason = self._ending()
        self._done.set()
        self._fail_callers()

    def _fail_to_reach(self, error: Exception) -> None:
        if self._transport.has_ended:
            when = "" if self._ready.done() else "before it answered initialize"
            self._fail(MemberError(self._ending(when), more=self._transport.evidence()))
        else:
            name = getattr(error, "name", type(error).__name__)
            self._fail(MemberError(f"the server could not be reached: {name}", more=str(error)))

    def _fail(self, error: MemberError) -> None:
        self._reason = error.detail
        if not self._ready.done():
            self._ready.set_exception(error)

    def _failure(self) -> MemberError:
        return MemberError(f"{self._ending()} during the call", more=self._transport.evidence())

    def _fail_callers(self) -> None:
        for inbox in self._inboxes.values():
            inbox.put_nowait(None)

    def _conclude(self) -> None:
        """Say that it is over, to whoever waits for it or relied on it."""
        self._done.set()
        if not self._ready.done():
            self._ready.set_exception(MemberError("the server was not started"))
        if self._ready.exception() is None and not self._is_stopping:
            redact = self._transport.redactor.text
            self.on_gone(redact(self._ending()), redact(self._transport.evidence()))
        self._fail_callers()
        self._transport.close_log()

    def _ending(self, when: str = "") -> str:
        """Return how the server ended."""
        return self._reason or self._transport.ending(when, is_starting=not self._ready.done())


async def _is_told(progress: Progress, told: Progressed) -> bool:
    """Tell a caller how far its request has come; return whether it listens."""
    with suppress(TimeoutError):
        async with asyncio.timeout(limits.PROGRESS_SECONDS):
            await progress(told.progress, told.total, told.message)
            return True
    return False

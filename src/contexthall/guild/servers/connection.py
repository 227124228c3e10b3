"""How does the hall speak with a member's server? As an MCP client, over its pipes or over HTTP.

One task owns each connection: it enters and leaves everything that has to be, and when it ends, the connection has
ended and so has the server, if it was the hall that started it. Any other task may call. What is said, and in which
era, is the protocol's to know; here are its clock, its waiting callers, and the reasons for which a call fails.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from contexthall.core import limits
from contexthall.core.catalog import JsonObject, Progress, no_progress
from contexthall.core.errors import MemberError
from contexthall.core.tracing import trace
from contexthall.guild.lists.tool_pages import ToolPages
from contexthall.guild.members.manifest import MemberManifest
from contexthall.guild.servers.output import ServerOutput
from contexthall.guild.servers.process import MemberProcess
from contexthall.guild.servers.transport import Launcher, Wire, opened
from contexthall.guild.servers.unanswered import NOT_READ, Unanswered
from contexthall.protocol.client import ClientRole, ClientState, OpeningEnded, ToolsChanged
from contexthall.protocol.messages import Message, Response, parse_result
from contexthall.protocol.peer import Progressed, Send


class Connection:
    """A server that is being spoken with."""

    def __init__(self, manifest: MemberManifest, launch: Launcher, output: ServerOutput, role: ClientRole) -> None:
        self.on_tools_changed: Callable[[], None] = lambda: None
        """Called when the server says that its tools have changed."""
        self.on_gone: Callable[[str, str], None] = lambda _reason, _more: None
        """Called with the reason, and what else is known, when the connection has ended, whoever ended it."""
        self.in_haste = False
        """Set if a server that does not end by itself shall be given little time."""
        self._manifest = manifest
        self._launch = launch
        self._output = output
        self._role = role
        self._process: MemberProcess | None = None
        self._wire: Wire
        """There once the server is reached."""
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the server can be asked, or it is known why it cannot."""
        self._inboxes: dict[int, asyncio.Queue[Progressed | Response]] = {}
        """What callers are told: how far their request has come, then the answer, or what stands in its place."""
        self._unasked: asyncio.Queue[bytes] = asyncio.Queue(limits.MEMBER_QUESTIONS)
        """What nobody waits for: answers to the server's own requests, and cancellations."""
        self._why: MemberError | None = None
        """Why the connection has ended, or is about to."""
        self._owner = asyncio.create_task(self._own(), name=f"connection to {manifest.name}")

    async def open(self, seconds: float) -> None:
        """Wait until the server can be asked, so many seconds at most; MemberError if it cannot."""
        late: object = True  # and so it stays for a caller who is cancelled, even at the moment of the answer
        try:
            _, late = await asyncio.wait([self._ready], timeout=seconds)
        finally:
            if late:
                self.in_haste = True
                await self.stop(f"the server did not answer initialize within {seconds:g} s, its startTimeoutSeconds")
        if self._why is not None:
            raise self._why

    async def list_tools(self) -> list[object]:
        """Ask for all pages of its tools."""
        seconds = max(self._manifest.start_seconds, self._manifest.tool_seconds)
        pages = ToolPages()
        try:
            async with asyncio.timeout(seconds):
                while self._role.offers_tools and pages.params is not None:
                    page = await self._request("tools/list", pages.params, self._manifest.start_seconds)
                    pages.take(_parsed(page))
        except TimeoutError:
            raise MemberError(f"the server did not list all its tools within {seconds:g} s") from None
        return pages.tools

    async def invoke_tool(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> dict[str, Any]:
        """Call a tool and give the result as it came; MemberError with the server's own error if that is its answer."""
        return _parsed(await self.invoke_raw(name, arguments, progress))

    async def invoke_raw(self, name: str, arguments: JsonObject, progress: Progress | None = None) -> bytes:
        """Do the same, but the result stays the JSON that it came in."""
        params: JsonObject = {"name": name, "arguments": arguments}
        if said := trace():
            params = {**params, "_meta": dict(said)}
        return await self._request("tools/call", params, self._manifest.tool_seconds, progress)

    async def stop(self, why: str = "the hall has stopped the server") -> None:
        """End the connection, and the server if it is ours."""
        self._end(MemberError(why))
        seconds = limits.HASTY_STOP_SECONDS if self.in_haste else limits.CONNECTION_STOP_SECONDS
        await asyncio.wait([self._owner], timeout=seconds)
        self._owner.cancel()  # for the second time, which leaves nobody time to end by himself
        await asyncio.wait([self._owner])

    def _end(self, why: MemberError) -> None:
        """Let the connection end, for the first reason that is given."""
        if self._why is None:
            self._why = why
            self._owner.cancel()

    async def _request(
        self, method: str, params: JsonObject, seconds: float, progress: Progress | None = None
    ) -> bytes:
        rubbish = self._output.rubbish_lines
        try:
            async with asyncio.timeout(seconds):
                response = await self._answer(method, params, progress)
        except TimeoutError:
            instead = ", but printed what is no message" if self._output.rubbish_lines > rubbish else ""
            sentence = f"the server did not answer {method} within {seconds:g} s{instead}"
            raise MemberError(sentence, more=self._output.evidence()) from None
        if response.error is None:
            return response.result
        raise (await self._failure(response, method)).reworded(self._output.redactor.text)

    async def _answer(self, method: str, params: JsonObject, progress: Progress | None) -> Response:
        if self._why is not None:
            return self._gone(self._why)
        request_id, line = self._role.ask(method, params, wants_progress=progress is not None)
        inbox = self._inboxes[request_id] = asyncio.Queue()
        try:
            await self._wire.write(line)
            while isinstance(told := await inbox.get(), Progressed):
                try:
                    async with asyncio.timeout(limits.PROGRESS_SECONDS):
                        await (progress or no_progress)(told.progress, told.total, told.message)
                except TimeoutError:
                    progress = None
            return told
        finally:
            del self._inboxes[request_id]
            self._send_unasked(self._role.abandon(request_id, "Nobody waits for the answer any more"))

    async def _failure(self, response: Response, method: str) -> MemberError:
        """Tell what was said in the server's place from what the server answered."""
        if not isinstance(response, Unanswered):
            error = response.error or {}
            return MemberError(f"the server answered {method} with an error: {error['message']}", fault=error)
        if response.is_cut_off:  # perhaps because the server ended, which is known a moment later
            await asyncio.wait([self._owner], timeout=2 * limits.CONNECTION_GRACE_SECONDS)
            if self._why is not None:
                return self._gone(self._why).failure
        if response.failure.can_repeat:  # once all who called have heard so from the server, or time is up
            await asyncio.wait([self._owner], timeout=limits.CONNECTION_GRACE_SECONDS if self._inboxes else 0)
            await self.stop(response.failure.detail)
        return response.failure

    def _gone(self, why: MemberError) -> Unanswered:
        return Unanswered(0, failure=MemberError(f"{why.detail} during the call", more=why.more))

    # The owner's part:

    async def _own(self) -> None:
        """Live as long as the connection, and end the server; whatever happens, all who wait are told why."""
        writing = asyncio.create_task(self._write_unasked())
        why = MemberError("the hall has ended")
        with suppress(asyncio.CancelledError):
            why = await self._talk()
        writing.cancel()
        try:
            if (process := self._process) is not None:
                if process.ended.done():  # it says best why
                    why = MemberError(process.how_it_ended(is_starting=self._role.state is not ClientState.OPEN))
                with suppress(asyncio.CancelledError):  # which leaves the process no time to end by itself
                    await process.stop(in_haste=self.in_haste)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must not wait for an answer
            why = _reason(error)
        self._output.close()
        self._conclude(self._why or why)

    async def _talk(self) -> MemberError:
        """Carry messages until no more come; return why, as far as that is known."""
        try:
            endpoint = await self._launch()
            if (process := endpoint.process) is not None:
                self._process = process
                process.ended.add_done_callback(self._end_soon)
            async with opened(endpoint, self._role, self._output) as self._wire:
                await self._wire.write(self._role.open())
                async for message in self._wire.messages:
                    self._take(message)
                    del message  # which may be long, and would be held until the next one comes
            ended = "the connection to the server ended" if endpoint.url else "the server closed its standard output"
            why = MemberError(ended)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must not wait for an answer
            why = _reason(error)
        if self._process is not None:  # a server that ends closes its output a moment before
            await self._process.ends_within(limits.CONNECTION_GRACE_SECONDS)
        return why

    def _end_soon(self, _exit_code: asyncio.Future[int]) -> None:
        """End a moment after the process; what it started may hold its output open ever after."""
        asyncio.get_running_loop().call_later(limits.CONNECTION_GRACE_SECONDS, self._owner.cancel)

    def _conclude(self, why: MemberError) -> None:
        """Say why it is over, to whoever waits for it or relied on it."""
        self._why = self._output.explain(why)
        for inbox in self._inboxes.values():
            inbox.put_nowait(self._gone(self._why))
        if self._ready.done():
            self.on_gone(self._why.detail, self._why.more)
        else:
            self._ready.set_result(None)

    def _take(self, message: Message) -> None:
        for effect in self._role.receive(message):
            match effect:
                case Send(line):
                    self._send_unasked(line)
                case OpeningEnded(""):
                    self._ready.set_result(None)
                case OpeningEnded(refusal):
                    self._end(message.failure if isinstance(message, Unanswered) else MemberError(refusal))
                case Response(int(request_id)) | Progressed(request_id):
                    self._tell(request_id, effect)
                case ToolsChanged():
                    self.on_tools_changed()

    def _tell(self, request_id: int, told: Progressed | Response) -> None:
        """Tell a caller, if it still waits; of what piles up, the newest is kept."""
        if (inbox := self._inboxes.get(request_id)) is not None:
            if inbox.qsize() >= limits.QUEUED_PROGRESS:
                inbox.get_nowait()
            inbox.put_nowait(told)

    def _send_unasked(self, line: bytes) -> None:
        """Send what nobody waits for; a server that does not read so much of it gets no more."""
        if line and not self._unasked.full():
            self._unasked.put_nowait(line)

    async def _write_unasked(self) -> None:
        while True:
            line = await self._unasked.get()
            await self._wire.write(line)


def _reason(error: Exception) -> MemberError:
    """Return why a server cannot be spoken with, in a sentence."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    sentence = f"the server could not be reached: {type(error).__name__}"
    return error if isinstance(error, MemberError) else MemberError(sentence, more=str(error))


def _parsed(result: bytes) -> dict[str, Any]:
    try:
        return parse_result(result)
    except ValueError as error:
        raise MemberError(f"{NOT_READ}{error}") from None

"""By which way do messages reach a member's server, and its own the hall? Over pipes, or over HTTP.

Whoever carries messages has the server launched, and ends what was started.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any, NamedTuple, NoReturn

import anyio
import msgspec

from contexthall.core import limits
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.core.raw_json import JsonLimitError
from contexthall.guild.servers.output import ServerOutput
from contexthall.guild.servers.process import MemberProcess
from contexthall.protocol.client import ClientRole, ClientState
from contexthall.protocol.messages import INTERNAL_ERROR, Message, Response, answered_id, parse_server_message


class Unanswered(Response, frozen=True, kw_only=True):
    """What stands in the place of an answer that cannot be had."""

    failure: MemberError
    is_cut_off: bool = False
    """Whether it ended before it was complete; perhaps the server did, too."""
    error: JsonObject | None = msgspec.field(default_factory=lambda: {"code": INTERNAL_ERROR, "message": "no answer"})


class Endpoint(NamedTuple):
    """Where a server is reached."""

    process: MemberProcess | None
    """None if the hall did not start it."""
    url: str
    """Empty if it is reached over the pipes of its process."""
    headers: Mapping[str, str]
    tool_seconds: float


class Wire(NamedTuple):
    """What carries messages to a server and back."""

    messages: AsyncIterator[Message]
    write: Callable[[bytes], Awaitable[None]]


class Transport:
    """The way to one server."""

    def __init__(self, launch: Callable[[], Awaitable[Endpoint]], output: ServerOutput) -> None:
        self._launch = launch
        self._output = output
        self._process: MemberProcess | None = None
        self._wire: Wire | None = None

    async def carry(self, role: ClientRole, take: Callable[[Message], None]) -> NoReturn:
        """Open the conversation, and carry it until it ends.

        That is always an error: a MemberError, or whatever the HTTP client raises.
        """
        endpoint = await self._launch()
        process = self._process = endpoint.process
        talk = asyncio.create_task(self._talk(endpoint, role, take))
        ends: list[asyncio.Future[Any]] = [talk] if process is None else [talk, process.ended]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            # A server that ends closes its output a moment before; what it started may hold it open ever after.
            await asyncio.wait(ends, timeout=limits.CONNECTION_GRACE_SECONDS)
        finally:
            talk.cancel()
            with suppress(asyncio.CancelledError):  # the task's, or one that comes now: it hurries the task
                await talk
        if process is not None and (how := process.how_it_ended(is_starting=role.state is not ClientState.OPEN)):
            raise MemberError(how)
        ended = "the connection to the server ended" if endpoint.url else "the server closed its standard output"
        raise talk.result() or MemberError(ended)

    async def write(self, line: bytes) -> None:
        """Write a line; if the server does not read any more, its end says why."""
        assert self._wire is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._wire.write(line)

    async def close(self, *, in_haste: bool) -> None:
        """End the server, if the hall has started it."""
        if self._process is not None:
            with suppress(asyncio.CancelledError):  # which leaves the process no time to end by itself
                await self._process.stop(in_haste=in_haste)
        self._output.close()

    async def _talk(self, endpoint: Endpoint, role: ClientRole, take: Callable[[Message], None]) -> Exception | None:
        """Carry messages until no more come; return what else went wrong, in whichever task."""
        try:
            async with self._open(endpoint, role) as self._wire:
                await self.write(role.open())
                async for message in self._wire.messages:
                    take(message)
                    del message  # which may be long, and would be held until the next one comes
        except Exception as error:  # noqa: BLE001 - it is raised, unless the server's end is why
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            return error
        return None

    def _open(self, endpoint: Endpoint, role: ClientRole) -> AbstractAsyncContextManager[Wire]:
        if not endpoint.url:
            assert endpoint.process is not None
            return nullcontext(Wire(self._printed(endpoint.process), endpoint.process.write))
        from contexthall.guild.servers.http_wire import HttpWire  # noqa: PLC0415 - the SDK takes a second to load

        return HttpWire(role).opened(endpoint)

    async def _printed(self, process: MemberProcess) -> AsyncIterator[Message]:
        """Yield the messages that a process prints."""
        async for line in process.lines():
            if (message := decoded(line)) is not None:
                del line  # which may be long, and its result is a copy
                yield message
                del message
            else:
                await self._output.add_rubbish(line)


def decoded(line: bytes) -> Message | None:
    """Read a line as a message; None if it is none: our requests have numbers, so an answer to "7" is none either."""
    try:
        message = parse_server_message(line)
    except JsonLimitError as error:
        request_id = answered_id(line)
        return None if request_id is None else Unanswered(request_id, failure=not_read(error))
    except ValueError:
        return None
    return None if isinstance(message, Response) and isinstance(message.id, str) else message


def not_read(reason: object) -> MemberError:
    """Return why an answer counts as none, though it came."""
    return MemberError(f"the server's answer was not read: {reason}")

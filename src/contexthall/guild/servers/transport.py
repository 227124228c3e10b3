"""By which way are messages carried to a member's server and back? Over the pipes of its process, or over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple, TypeAlias

from contexthall.core.lines import Ends
from contexthall.core.raw_json import JsonLimitError
from contexthall.guild.servers.output import ServerOutput
from contexthall.guild.servers.process import MemberProcess
from contexthall.guild.servers.unanswered import TOO_LARGE, in_place_of
from contexthall.protocol.client import ClientRole
from contexthall.protocol.messages import Message, Response, parse_server_message


class Endpoint(NamedTuple):
    """Where a server is reached."""

    process: MemberProcess | None
    """None if the hall did not start it."""
    url: str
    """Empty if it is reached over the pipes of its process."""
    headers: Mapping[str, str]
    tool_seconds: float
    """How long an answer over HTTP may take."""


Launcher: TypeAlias = Callable[[], Awaitable[Endpoint]]
"""Starts a server, if the hall is to start it, and returns where it is reached; MemberError if that cannot be."""


class Wire(NamedTuple):
    """What carries messages to a server and back; to write is no error if the server is gone: its end says why."""

    messages: AsyncIterator[Message]
    write: Callable[[bytes], Awaitable[None]]


def opened(endpoint: Endpoint, role: ClientRole, output: ServerOutput) -> AbstractAsyncContextManager[Wire]:
    """Open the way to a server."""
    if not endpoint.url:
        assert endpoint.process is not None
        return nullcontext(Wire(_printed(endpoint.process, output), endpoint.process.write))
    from contexthall.guild.servers.http_wire import HttpWire  # noqa: PLC0415 - the SDK takes a second to load

    return HttpWire(role).opened(endpoint)


async def _printed(process: MemberProcess, output: ServerOutput) -> AsyncIterator[Message]:
    """Yield the messages that a process prints; what is none is kept with its other words."""
    async for line in process.lines():
        if (message := decoded(line)) is not None:
            del line  # which may be long, and its result is a copy
            yield message
            del message
        else:
            await output.add_rubbish(line)


def decoded(line: bytes) -> Message | None:
    """Read a line as a message; None if it is none: our requests have numbers, so an answer to "7" is none either."""
    if isinstance(line, Ends):
        return in_place_of(line, TOO_LARGE)
    try:
        message = parse_server_message(line)
    except JsonLimitError as error:
        return in_place_of(line, error)
    except ValueError:
        return None
    return None if isinstance(message, Response) and isinstance(message.id, str) else message

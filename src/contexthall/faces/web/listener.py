"""Where does the hall listen, and when does it stop?

It listens at the loopback address unless another is named. At a signal it takes no more requests, lets go of whoever
only listens, gives calls under way a moment, and ends.
"""

import asyncio
import errno
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from contexthall.core.errors import UsageError
from contexthall.faces.web.connections import BoundedConnection

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 2
# So many are let in at a time, before anybody else has a turn.
_BACKLOG = 128
_LARGEST_PORT = 65_535
_ADDRESS = re.compile(r"(?:(?P<host>[^:\[\]\s/]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>[0-9]{1,5})")
_HINT = "such as --http 8080, --http 127.0.0.1:8080 or --http '[::1]:8080'; port 0 is a free one"
_REASONS = {
    errno.EADDRINUSE: "something else listens there",
    errno.EACCES: "this user may not listen there",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """Read `[HOST:]PORT`."""
        found = _ADDRESS.fullmatch(text)
        if found is None or int(found["port"]) > _LARGEST_PORT:
            raise UsageError(f"{text!r} is not an address", hint=_HINT)
        return cls((found["host"] or LOOPBACK).strip("[]"), int(found["port"]))

    @property
    def name(self) -> str:
        """The host as an address of the web spells it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def url(self) -> str:
        """Where a person of this machine finds the page."""
        everywhere = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104 - to be replaced by what a browser can open
        return f"http://{everywhere.get(self.host, self.name)}:{self.port}/"


def bind(address: Address, *, has_token: bool) -> socket.socket:
    """Take the address; one that others can reach only if they must know a token."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise UsageError(f"{address.host} is not known as a name of this machine", hint=_HINT) from None
    if not has_token and not ip_address(str(place[0]).partition("%")[0]).is_loopback:
        raise UsageError(
            f"at {address.host} others can reach the hall, so it needs a token",
            hint="give one with --token or CONTEXT_HTTP_TOKEN, or listen at 127.0.0.1",
        )
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(place)
        taken.listen()
    except OSError as error:
        taken.close()
        reason = _REASONS.get(error.errno or 0, error.strerror)
        raise UsageError(
            f"cannot listen at {address.name}:{address.port}: {reason}", hint="choose another port, or 0 for a free one"
        ) from None
    return taken


async def listen(
    app: ASGIApp, taken: socket.socket, *, on_ready: Callable[[], None], on_end: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; `on_end` is called when one has come, before requests under way are waited for."""
    server = _Server(app, on_ready)
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True
        on_end()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await server.serve(sockets=[taken])


class _Server(uvicorn.Server):
    """A server that leaves signals to the hall, and what goes wrong to the application."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedConnection,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_ready()

"""The HTTP server: where it listens, and when it stops.

It listens at the loopback address unless another is named. At a signal it takes no more requests, lets go of whoever
only listens, gives calls under way a moment, and ends.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from starlette.types import ASGIApp

from contexthall.core import limits
from contexthall.core.errors import UsageError
from contexthall.faces.web.address import HINT, Address
from contexthall.faces.web.connections import BoundedConnection
from contexthall.faces.web.neighbour import hall_at
from contexthall.system.signals import told_of_signals

_REASONS = {
    errno.EADDRINUSE: "something else listens there",
    errno.EACCES: "this user may not listen there",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}


def bind(address: Address, *, has_token: bool) -> socket.socket:
    """Bind the address; raise UsageError for one that others can reach without a token."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise UsageError(f"{address.host} is not known as a name of this machine", hint=HINT) from None
    if not has_token and not ip_address(str(place[0]).partition("%")[0]).is_loopback:
        raise UsageError(
            f"at {address.host} others can reach the hall, so it needs a token",
            hint="give one with --token or CONTEXT_HTTP_TOKEN, or listen at 127.0.0.1",
        )
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen()
    except OSError as error:
        bound.close()
        raise _refused(address, error) from None
    return bound


def _refused(address: Address, error: OSError) -> UsageError:
    reason, hint = _REASONS.get(error.errno or 0, error.strerror), "choose another port, or 0 for a free one"
    if error.errno == errno.EADDRINUSE and (version := hall_at(address.port)):
        reason, hint = f"another Context Hall listens there, {version}", f"its page is {address.url}; or {hint}"
    return UsageError(f"cannot listen at {address.name}:{address.port}: {reason}", hint=hint)


async def listen(
    app: ASGIApp,
    bound: socket.socket,
    *,
    on_ready: Callable[[], None],
    on_end: Callable[[], None],
    on_drain: Callable[[], None] = lambda: None,
    drain_seconds: float = 0,
) -> None:
    """Serve until SIGTERM or SIGINT; `on_end` is called when one has come, before requests under way are waited for.

    With `drain_seconds`, the first signal only calls `on_drain`; the hall ends so much later, or at the next signal.
    """
    server = _HttpServer(app, on_ready)

    def end() -> None:
        server.should_exit = True
        on_end()

    def drain() -> None:
        on_drain()
        asyncio.get_running_loop().call_later(drain_seconds, end)

    first = iter([drain] if drain_seconds else [])

    def go_on() -> None:
        next(first, end)()

    with told_of_signals(go_on):
        await server.serve(sockets=[bound])


class _HttpServer(uvicorn.Server):
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
                backlog=limits.LISTEN_BACKLOG,
                timeout_graceful_shutdown=limits.SHUTDOWN_SECONDS,
            )
        )
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_ready()

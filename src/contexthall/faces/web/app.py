"""The hall as an ASGI application: the page at `/`, its files below `/static`, its API below `/api`, MCP at `/mcp`.

The agents of a profile ask at `/mcp/NAME`.

The page's files are read once, at the start. Starlette's `StaticFiles` would read a file for each request, make an ETag
of its modification time, and serve `/static//main.js` as well.
"""

import gzip
import os.path
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contexthall.core.errors import HallError
from contexthall.faces.web.api import Api
from contexthall.faces.web.events import EventStreams
from contexthall.faces.web.guard import Guard, HostNames, RefusedError, respond_to_error
from contexthall.faces.web.operations import READY, Operations
from contexthall.hall import Hall
from contexthall.system.disk import Disk

STATIC = os.path.join(os.path.dirname(__file__), "static")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?![.0-9]*[1-9]))")


class Access(NamedTuple):
    """The names by which the hall is reached, and the tokens that it wants."""

    names: HostNames
    token: str = ""
    write_token: str = ""


class Site:
    """The hall as an ASGI application."""

    def __init__(self, hall: Hall, mcp: ASGIApp, access: Access, *, version: str) -> None:
        api = Api(hall, write_token=access.write_token)
        manager = hall.guild if hall.has_guild else None
        self._events = EventStreams(manager, api.describe_member, version=version)
        self._operations = Operations(version=version, store_traffic=hall.store_traffic)
        files = dict(_page_files(Disk()))
        routes = [
            Route("/mcp", mcp),  # the first that is tried, because most requests are calls
            *(Route(path, file, methods=["GET"]) for path, file in files.items()),
            *api.routes(),
            *self._operations.routes(),
            Route("/api/events", self._events),
        ]
        for route in routes:  # Starlette's expression ends with `$`, which also matches before a final line break
            route.path_regex = re.compile(re.escape(route.path) + r"\Z")
        self.paths = frozenset(route.path for route in routes)
        by_profile = Route("/mcp/{profile}", mcp)
        by_profile.path_regex = re.compile(r"/mcp/(?P<profile>[^/]+)\Z")
        handled = (HTTPException, RefusedError, HallError, ClientDisconnect, Exception)
        app = Starlette(routes=[*routes, by_profile], exception_handlers=dict.fromkeys(handled, respond_to_error))
        app.router.redirect_slashes = False
        guard = Guard(app, access.names, access.token, open_paths=[*files, READY])
        self._app = self._operations.counting(
            guard, self.paths.union(f"/mcp/{name}" for name in hall.settings.profiles)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def drain(self) -> None:
        """Tell load balancers to ask another hall."""
        self._operations.drain()

    def end_streams(self) -> None:
        """End the event streams of all pages."""
        self._events.end()


def _page_file(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a file of the page, which is compressed once for all browsers that take it so."""
    digest = sha256(content).hexdigest()[:16]
    plain = {"Content-Type": media_type, "Vary": "Accept-Encoding", "ETag": f'"{digest}"'}
    packed = {**plain, "Content-Encoding": "gzip", "ETag": f'"{digest}-gzip"'}
    compressed = cache(lambda: gzip.compress(content, mtime=0))

    async def respond(request: Request) -> Response:
        is_packed = _TAKES_GZIP.search(request.headers.get("accept-encoding", "")) is not None
        headers = packed if is_packed else plain
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(compressed() if is_packed else content, headers=headers)

    return respond


def _page_files(disk: Disk) -> Iterator[tuple[str, Callable[[Request], Awaitable[Response]]]]:
    """Yield the endpoints of the page's files, by their URL path."""
    for entry in disk.list(STATIC):
        if (media_type := _TYPES.get(os.path.splitext(entry.name)[1])) is not None:
            path = "/" if entry.name == "index.html" else f"/static/{entry.name}"
            yield path, _page_file(disk.read(os.path.join(STATIC, entry.name)), media_type)

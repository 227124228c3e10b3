"""What is where? The page at `/`, its files below `/static`, what it asks below `/api`, and MCP at `/mcp`.

One table from path to answer. The page's files are read once, at the start: they belong to the code that answers them.
"""

import os.path
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from contexthall.core.errors import PathMissingError
from contexthall.faces.web.api import Api
from contexthall.faces.web.events import EventStreams
from contexthall.faces.web.guard import Guard, HostNames, Refusal, wrong_method
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


class Entrance(NamedTuple):
    """By which names the hall is reached, and what is asked of whoever enters."""

    names: HostNames
    token: str = ""
    write_token: str = ""


class Site:
    """The hall as an ASGI application."""

    def __init__(self, hall: Hall, mcp: ASGIApp, entrance: Entrance, *, version: str, disk: Disk | None = None) -> None:
        api = Api(hall, write_token=entrance.write_token)
        manager = hall.guild if hall.has_guild else None
        self._events = EventStreams(manager, api.describe_member, version=version)
        files = dict(_page_files(disk or Disk()))
        answers: dict[str, ASGIApp] = {**files, **api.endpoints(), "/api/events": self._events, "/mcp": mcp}
        self.paths = frozenset(answers)
        self._guard = Guard(_Table(answers), entrance.names, entrance.token, open_paths=files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    def end_streams(self) -> None:
        """End what pages hold open."""
        self._events.end()


class _Table:
    """An ASGI application that looks up which other one answers a path."""

    def __init__(self, answers: Mapping[str, ASGIApp]) -> None:
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answers.get(scope["path"], _nothing_there)
        await answer(scope, receive, send)


class _PageFile:
    """A file of the page."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self._content = content
        self._headers = {"Content-Type": media_type, "ETag": f'"{sha256(content).hexdigest()[:16]}"'}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in {"GET", "HEAD"}:
            response = wrong_method("GET", "HEAD")
        elif self._headers["ETag"] in Headers(scope=scope).get("if-none-match", ""):
            response = Response(status_code=304, headers=self._headers)
        else:
            response = Response(self._content, headers=self._headers)
        await response(scope, receive, send)


def _page_files(disk: Disk, folder: str = "") -> Iterator[tuple[str, _PageFile]]:
    """Read the files of the page, by the path that each answers."""
    try:
        entries = disk.list(os.path.join(STATIC, folder))
    except PathMissingError:
        entries = ()
    for entry in entries:
        name = os.path.join(folder, entry.name)
        if entry.kind == "directory":
            yield from _page_files(disk, name)
        elif (media_type := _TYPES.get(os.path.splitext(name)[1])) is not None:
            path = "/" if name == "index.html" else f"/static/{name}"
            yield path, _PageFile(disk.read(os.path.join(STATIC, name)), media_type)


async def _nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    refusal = Refusal(404, "usage", "Cannot do that", "Nothing is at that path.")
    await refusal.response()(scope, receive, send)

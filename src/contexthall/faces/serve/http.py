"""`context serve --http`: any number of agents, and people, over HTTP.

Loaded only where it is asked for, so that an agent over pipes does not wait for it.
"""

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import quote

import anyio
from starlette.types import Receive, Scope, Send

from contexthall import __version__
from contexthall.config.settings import visible
from contexthall.core.catalog import Catalog
from contexthall.core.errors import UsageError
from contexthall.faces.cli.options import HallChoice
from contexthall.faces.cli.output import say
from contexthall.faces.exchange import Exchange
from contexthall.faces.mcp.http import HttpEndpoint
from contexthall.faces.mcp.server import HallServer
from contexthall.faces.serve.heap import freeze_heap
from contexthall.faces.serve.refreshing import refreshing_caches
from contexthall.faces.web.address import Address
from contexthall.faces.web.app import Access, Site
from contexthall.faces.web.guard import HostNames
from contexthall.faces.web.listener import bind, listen
from contexthall.hall import Hall
from contexthall.protocol.messages import INVALID_REQUEST, RpcError, error_line
from contexthall.system.journal import JournalMode


def serve_http(
    choice: HallChoice,
    where: str,
    token: str | None,
    *,
    profile: str | None = None,
    journal: JournalMode = "brief",
    drain_seconds: float = 0,
) -> None:
    """Serve agents and people, at `where`, until a signal comes."""
    address = Address.read(where)
    hall = choice.open()
    token = hall.settings.http_token if token is None else _validated(token)
    hall.catalog_of(profile)  # what is refused is refused before anybody waits
    bound = bind(address, has_token=bool(token))
    address = address._replace(port=bound.getsockname()[1])
    names = HostNames.of(address.name, address.port)
    mcp = McpEndpoints(hall, profile)
    site = Site(hall, mcp, Access(names, token, secrets.token_urlsafe(32)), version=__version__)
    freeze_heap()
    ready = f"Context Hall at {address.url}" + (f"#token={quote(token, safe='')}" if token else "")
    listening = partial(
        listen, site, bound, on_ready=lambda: say(ready), on_drain=site.drain, drain_seconds=drain_seconds
    )
    with hall.journalling(journal):
        anyio.run(_run_http, hall, mcp, site, listening)


class McpEndpoints:
    """MCP at `/mcp`, and for the agents of each profile at `/mcp/NAME`, made when the first of them comes."""

    def __init__(self, hall: Hall, profile: str | None = None) -> None:
        self._hall = hall
        self._profile = profile
        self._made: dict[str | None, HttpEndpoint] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope.get("path_params", {}).get("profile", self._profile)
        try:
            endpoint = self._endpoint(name)
        except UsageError as error:
            line = error_line(None, RpcError(INVALID_REQUEST, error.detail).error)
            await Exchange(scope, receive, send).conclude(line, 404)
        else:
            await endpoint(scope, receive, send)

    def _endpoint(self, profile: str | None) -> HttpEndpoint:
        if profile not in self._made:
            self._made[profile] = mcp_endpoint(self._hall, self._hall.catalog_of(profile))
        return self._made[profile]

    def end_streams(self) -> None:
        """End whatever a client holds open only to hear of changes."""
        for endpoint in self._made.values():
            endpoint.end_streams()


def mcp_endpoint(hall: Hall, catalog: Catalog) -> HttpEndpoint:
    """Return what serves a catalog to agents over HTTP, who are confined."""
    seconds = hall.settings.tool_timeout_seconds
    server = HallServer(catalog, hall.confined_caller, version=__version__, tool_seconds=seconds)
    return HttpEndpoint(server)


async def _run_http(hall: Hall, mcp: McpEndpoints, site: Site, listening: Callable[..., Awaitable[None]]) -> None:
    def end() -> None:
        site.end_streams()
        mcp.end_streams()

    with refreshing_caches(hall):
        async with hall.running(refresh=True):
            await listening(on_end=end)


def _validated(token: str) -> str:
    try:
        return visible(token)
    except ValueError as error:
        raise UsageError(f"--token {error}", hint="`openssl rand -hex 16` prints one") from None

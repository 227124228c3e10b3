"""Access control over HTTP: programs of this machine's user, and the hall's own pages; nobody else's web page.

Judged on every route before anything else happens: the Host header, because a foreign name may be made to lead here
(DNS rebinding); the Origin, because a foreign page may send requests; the token, where there is one. Every answer
carries the headers that keep a browser from doing more with it than it should.
"""

import hmac
import logging
import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contexthall.core.errors import DiskError, HallError, InternalError, MemberError, UsageError
from contexthall.core.wire import compact

logger = logging.getLogger(__name__)

STATUSES = {
    "usage": 400,
    "invalid_query": 400,
    "invalid_budget": 400,
    "cache_missing": 404,
    "document_missing": 404,
    "cache_invalid": 409,
    "io_error": 500,
    "internal_error": 500,
    "check_failed": 409,
    "tool_failed": 502,
    "embedder_error": 503,
}
"""By the code of an error."""
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORT = 80
# The rest of the body of such a request is not read, so the connection cannot be used again.
_CLOSING = {401, 403, 413}
_OWN_SITES = {"none", "same-origin"}
_NUMERIC = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[0-9.]+)(:[0-9]{1,5})?")
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
"""Of every answer; nobody else sets them."""


class RefusedError(Exception):
    """A request that is refused for how it was sent, or by whom."""

    def __init__(
        self, status: int, code: str, message: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        error = {"code": code, "message": message} | ({"detail": detail} if detail else {})
        self.response = json_response({"error": error}, status, headers)


class HostNames(NamedTuple):
    """The names under which the hall may be reached."""

    hosts: frozenset[str]
    """As the Host header has them, with the port."""
    any_address: bool = False
    """Whether every numeric address will do: DNS rebinding needs a name."""

    @classmethod
    def of(cls, host: str, port: int) -> "HostNames":
        """Return the names of a hall that listens at `host`, as a URL has it."""
        names = {*LOOPBACK_NAMES, host.lower()}
        hosts = {f"{name}:{port}" for name in names} | (names if port == _DEFAULT_PORT else set())
        address = _numeric_address(host)
        return cls(frozenset(hosts), any_address=address is not None and address.is_unspecified)

    def allow(self, host: str) -> bool:
        """Return whether a Host header may have that value."""
        numeric = _NUMERIC.fullmatch(host) if self.any_address else None
        return host in self.hosts or (numeric is not None and _numeric_address(numeric["name"]) is not None)

    def allow_origin(self, origin: str, host: str) -> bool:
        """Return whether a page of that origin may ask a hall by the name `host`."""
        scheme, _, name = origin.partition("://")
        return scheme == "http" and (name == host or name in self.hosts)


class Guard:
    """An ASGI application before another: it lets through what may be asked, and answers the rest itself.

    `open_paths` hold no data and need no token.
    """

    def __init__(self, app: ASGIApp, names: HostNames, token: str = "", open_paths: Iterable[str] = ()) -> None:
        self._app = app
        self._names = names
        self._token = token.encode()
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"the hall does not speak {scope['type']}")
        is_open = scope["path"] in self._open_paths

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *_HEADERS]
                if message["status"] in _CLOSING:
                    headers.append((b"connection", b"close"))
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-cache" if is_open else b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        refusal = self._refusal(Headers(scope=scope), is_open=is_open)
        try:
            await (refusal.response if refusal else self._app)(scope, receive, send_guarded)
        except Exception:  # Starlette has answered it, and raises it again
            logger.exception("%s %r failed", scope["method"], scope["path"])

    def _refusal(self, headers: Headers, *, is_open: bool) -> RefusedError | None:
        host, origins = ",".join(headers.getlist("host")).lower(), headers.getlist("origin")
        if not self._names.allow(host):
            return _forbidden("The hall is not known by that name: use the address that it printed when it started.")
        if not all(self._names.allow_origin(origin.lower(), host) for origin in origins):
            return _forbidden("A page of another origin may not ask the hall.")
        # A GET of a foreign page that cannot read the answer tells no Origin; this header it cannot leave out.
        if not is_open and not _OWN_SITES.issuperset(headers.getlist("sec-fetch-site")):
            return _forbidden("A page of another origin may not ask the hall.")
        if not is_open and not self._knows_token(headers):
            detail = "This hall wants its token: Authorization: Bearer …"
            return RefusedError(401, "unauthorized", "Not authorised", detail, {"WWW-Authenticate": "Bearer"})
        return None

    def _knows_token(self, headers: Headers) -> bool:
        if not self._token:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared whatever the scheme, so that the time taken tells nothing.
        is_right = hmac.compare_digest(given.strip().encode(), self._token)
        return is_right and scheme.lower() == "bearer"


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Serialise a value compactly; a lone surrogate, which UTF-8 cannot encode, stays an escape."""
    body = compact(value).encode("utf-8", "backslashreplace")
    return Response(body, status, dict(headers or {}), "application/json")


async def respond_to_error(_request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed; the paths in errors of the disk are logged, not sent."""
    match error:
        case RefusedError():
            return error.response
        case HTTPException(status_code=405):
            return wrong_method((error.headers or {})["Allow"])
        case HTTPException():
            return RefusedError(404, "usage", UsageError.message, "Nothing is at that path.").response
        case ClientDisconnect():
            return Response()  # which nobody reads
        case DiskError():
            logger.warning("%s", error)
            detail = "The hall's log tells what it was."
        case MemberError():
            detail = error.detail
        case HallError() if error.detail or not isinstance(error, InternalError):
            detail = str(error)
        case _:
            error, detail = InternalError(), "The hall made a mistake; its log tells which."
    return RefusedError(STATUSES[error.code], error.code, error.message, detail).response


def wrong_method(allowed: str) -> Response:
    """Return the answer to a method that a path does not have."""
    methods = ", ".join(sorted(allowed.split(", ")))
    detail = f"This path answers {methods} only."
    return RefusedError(405, "usage", UsageError.message, detail, {"Allow": methods}).response


def _forbidden(detail: str) -> RefusedError:
    return RefusedError(403, "forbidden", "Forbidden", detail)


def _numeric_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name.strip("[]"))
    except ValueError:
        return None

"""What do those ask who run several halls? Whether this one shall get requests, and what it has done.

`/readyz` is for load balancers, and says nothing else, so it needs no token. `/metrics` is Prometheus text.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contexthall.faces.web.guard import json_response

READY = "/readyz"
METRICS = "/metrics"
_OTHER = "other"


class Operations:
    """Counts what is asked of a hall, and tells whether it takes more."""

    def __init__(
        self, *, version: str, store_traffic: Callable[[], tuple[int, int]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._version = version
        self._store_traffic = store_traffic
        self._clock = clock
        self._is_draining = False
        self._in_flight = 0
        self._requests = Counter[tuple[str, int]]()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def drain(self) -> None:
        """Tell load balancers from now on to ask another hall; what comes all the same is answered."""
        self._is_draining = True

    def routes(self) -> list[Route]:
        return [Route(READY, self._ready, methods=["GET"]), Route(METRICS, self._metrics, methods=["GET"])]

    def counting(self, app: ASGIApp, paths: Collection[str]) -> ASGIApp:
        """Return an application whose requests are counted, by those of its paths that are known."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            status, begun = 0, self._clock()
            path = scope.get("path", "") if scope.get("path") in paths else _OTHER

            async def observed(message: Message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            self._in_flight += 1
            try:
                await app(scope, receive, observed)
            finally:
                self._in_flight -= 1
                self._requests[path, status] += 1
                self._seconds[path] += self._clock() - begun

        return counted

    async def _ready(self, _request: Request) -> Response:
        return json_response(
            {"status": "draining" if self._is_draining else "ready"}, 503 if self._is_draining else 200
        )

    async def _metrics(self, _request: Request) -> Response:
        text = "".join(f"{line}\n" for line in self._lines())
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    def _lines(self) -> Iterator[str]:
        yield from _metric("info", "gauge", "The version that runs.", {f'{{version="{self._version}"}}': 1})
        yield from _metric("draining", "gauge", "Whether the hall is about to end.", {"": int(self._is_draining)})
        yield from _metric("requests_in_flight", "gauge", "Requests that are not answered yet.", {"": self._in_flight})
        counts = {f'{{path="{path}",status="{status}"}}': n for (path, status), n in sorted(self._requests.items())}
        yield from _metric("requests_total", "counter", "Requests that were answered.", counts)
        seconds = {f'{{path="{path}"}}': round(spent, 6) for path, spent in sorted(self._seconds.items())}
        yield from _metric("request_seconds_total", "counter", "Time that answers took, streams included.", seconds)
        requests, size = self._store_traffic()
        yield from _metric("store_requests_total", "counter", "Requests to object stores.", {"": requests})
        yield from _metric("store_bytes_total", "counter", "Bytes that came from object stores.", {"": size})


def _metric(name: str, kind: str, about: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP contexthall_{name} {about}"
    yield f"# TYPE contexthall_{name} {kind}"
    yield from (f"contexthall_{name}{labels} {value}" for labels, value in values.items())

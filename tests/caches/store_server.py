"""An S3 store for tests, over real HTTP on loopback: moto, with faults before it."""

import os
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

SECRET = "not-to-be-told"


class FaultyStore:
    """Answers like S3; while `fault` is set, requests for packs are answered by it."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.fault: Callable[[Any, Any, FaultyStore], Iterable[bytes]] | None = None
        self.matching = "/packs/"
        self.requests: list[str] = []
        self.released = threading.Event()

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        if self.fault and self.matching in environ["PATH_INFO"]:
            return self.fault(environ, start_response, self)
        return self.pass_on(environ, start_response)

    def pass_on(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer


def fails(_environ: Any, start_response: Any, _store: FaultyStore) -> Iterable[bytes]:
    start_response("500 Internal Server Error", [("Content-Type", "text/plain")])
    return [SECRET.encode()]


def is_missing(_environ: Any, start_response: Any, _store: FaultyStore) -> Iterable[bytes]:
    start_response("404 Not Found", [("Content-Type", "text/plain")])
    return [SECRET.encode()]


def is_refused(_environ: Any, start_response: Any, _store: FaultyStore) -> Iterable[bytes]:
    start_response("403 Forbidden", [("Content-Type", "text/plain")])
    return [SECRET.encode()]


def is_slow(environ: Any, start_response: Any, store: FaultyStore) -> Iterable[bytes]:
    store.released.wait(60)
    return store.pass_on(environ, start_response)


def lies(environ: Any, start_response: Any, store: FaultyStore) -> Iterable[bytes]:
    return [bytes(byte ^ 1 for byte in b"".join(store.pass_on(environ, start_response)))]


def gives_half(environ: Any, start_response: Any, store: FaultyStore) -> Iterable[bytes]:
    told: list[Any] = []
    data = b"".join(store.pass_on(environ, lambda *each: told.append(each)))
    half = data[: len(data) // 2]
    status, headers = told[0][:2]
    others = [(name, value) for name, value in headers if name.lower() not in {"content-length", "content-range"}]
    first = environ.get("HTTP_RANGE", "bytes=0-").removeprefix("bytes=").partition("-")[0]
    start = int(first)
    others += [("Content-Length", str(len(half))), ("Content-Range", f"bytes {start}-{start + len(half) - 1}/99999")]
    start_response(status, others)
    return [half]


class _Quiet(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        pass


@contextmanager
def running_store() -> Iterator[FaultyStore]:
    """Run a store with one bucket, `bucket`, which the environment leads to."""
    store = FaultyStore()
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    environment = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "hall",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }
    try:
        with mock.patch.dict(os.environ, environment):
            urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT")).close()
            yield store
    finally:
        store.released.set()
        server.shutdown()
        thread.join()
        server.server_close()

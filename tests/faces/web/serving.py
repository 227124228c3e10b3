"""`context serve --http` as a real process, asked as a browser, a program or a stranger would."""

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx2
from tests.processes import CONTEXT, HANDSHAKE_2025, PATIENCE_SECONDS

READY = b"Context Hall at "
ACCEPT = {"Accept": "application/json, text/event-stream"}


class HttpHall:
    """A hall that listens at a free port of this machine."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        http: str = "0",
        env: Mapping[str, str] | None = None,
        context: tuple[str, ...] = CONTEXT,
    ) -> None:
        self._command = (*context, "serve", "--http", http, *arguments)
        self._cwd = cwd
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXT_")}
        self._env = {**inherited, "HOME": str(cwd), **(env or {})}
        self.said = b""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command, cwd=self._cwd, env=self._env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.address = self._ready_line().removeprefix(READY.decode())
        url, _, self.token = self.address.partition("#token=")
        self.url = url.rstrip("/")
        self.http = httpx2.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "http"):
            self.http.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.said += self.process.stderr.read()
        self.process.stderr.close()

    def _ready_line(self) -> str:
        assert self.process.stderr is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (lines := [line for line in self.said.splitlines(keepends=True) if line.startswith(READY)]):
            ready, _, _ = select.select([self.process.stderr], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.process.stderr.fileno(), 1 << 16) if ready else b""
            assert chunk, f"the hall is not there: {self.said!r}"
            self.said += chunk
        return lines[0].decode().rstrip("\n")

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, **asked: object) -> Any:
        """Ask, and give the answer, which must not be an error."""
        answer = self.http.get(path, params={name: str(value) for name, value in asked.items()}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fails(self, path: str, **asked: object) -> tuple[int, str, str]:
        """Ask what cannot be answered: the status, the code and the sentence."""
        return failure(self.http.get(path, params={name: str(value) for name, value in asked.items()}))

    def write_headers(self) -> dict[str, str]:
        return {"X-Hall-Write": self.get("/api/hall")["writeToken"]}

    def post(self, path: str, order: object) -> httpx2.Response:
        return self.http.post(path, json=order, headers=self.write_headers())

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    @contextmanager
    def events(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """What happens, from now on, as kind and data."""
        with self.http.stream("GET", "/api/events") as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream"
            yield parsed_events(answer.iter_lines())


def failure(answer: httpx2.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error.get("detail", "")


def parsed_events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            kind = value
        if field == "data":
            yield kind, json.loads(value)


def told(answer: httpx2.Response) -> list[Any]:
    """Return the messages of an answer, which is one of them or a stream."""
    if answer.headers["content-type"] == "application/json":
        return [answer.json()]
    return [data for _, data in parsed_events(iter(answer.text.splitlines()))]


class RawSession:
    """An MCP session in raw JSON, as any client of the handshake era has one."""

    def __init__(self, hall: HttpHall, path: str = "/mcp", **headers: str) -> None:
        self._hall = hall
        self._path = path
        self._headers = {**ACCEPT, **headers}

    def initialize(self) -> httpx2.Response:
        client = {"protocolVersion": HANDSHAKE_2025, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = self.send({"id": "init", "method": "initialize", "params": client})
        if answer.status_code == 200:
            self._headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            self._headers["Mcp-Protocol-Version"] = HANDSHAKE_2025
            self.send({"method": "notifications/initialized"})
        return answer

    def send(self, message: Mapping[str, Any]) -> httpx2.Response:
        return self._hall.http.post(self._path, json={"jsonrpc": "2.0", **message}, headers=self._headers)

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        return told(self.send({"id": 1, "method": method, "params": params or {}}))[-1]["result"]

    @contextmanager
    def standing(self) -> Iterator[Iterator[str]]:
        """Hear what the server says unasked, as lines."""
        with self._hall.http.stream(
            "GET", self._path, headers={**self._headers, "Accept": "text/event-stream"}
        ) as answer:
            assert answer.status_code == 200
            yield answer.iter_lines()

    def end(self) -> None:
        self._hall.http.delete(self._path, headers=self._headers)

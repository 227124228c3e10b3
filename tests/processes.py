"""Real processes: `context` as a person types it, and `context serve` spoken to in raw lines."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

CONTEXT = (sys.executable, "-m", "contexthall")
PATIENCE_SECONDS = 90.0
NOBODY = 65534
"""A user whom permissions bind."""

HANDSHAKE_2024 = "2024-11-05"
HANDSHAKE_2025 = "2025-11-25"
MODERN = "2026-07-28"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def run_context(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*CONTEXT, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def free_port() -> int:
    """Find a port of this machine that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class RawServer:
    """`context serve`, or another server, as a subprocess that is spoken to in bytes."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self._command = command or (*CONTEXT, "serve", *arguments)
        self._cwd = cwd
        self._env = {**os.environ, **(env or {})}
        self._received = b""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):  # something is left to be flushed, and nobody to read it
                stream.close()

    def send(self, *messages: Mapping[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message; fails rather than wait for ever."""
        message: dict[str, Any] = json.loads(self.receive_line())
        return message

    def exchange(self, message: Mapping[str, Any]) -> bytes:
        """Send a message; give the line that answers it."""
        self.send(message)
        return self.receive_line()

    def receive_line(self) -> bytes:
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._received:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            assert chunk, f"the server said nothing; standard error: {self.errors_so_far()!r}"
            self._received += chunk
        line, separator, self._received = self._received.partition(b"\n")
        return line + separator

    def request_whatever_is_told(
        self, identifier: int, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The same where the server may tell of a change before it answers."""
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}})
        while "id" not in (answer := self.receive()):
            pass
        return answer

    def request(self, identifier: int | str, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}})
        answer = self.receive()
        assert answer["id"] == identifier
        return answer

    def initialize(self, version: str = HANDSHAKE_2025) -> dict[str, Any]:
        answer = self.request(
            "init",
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        result: dict[str, Any] = answer["result"]
        return result

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def errors_so_far(self) -> bytes:
        """What stands on standard error, once the process has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read() if self.process.poll() is not None else b""

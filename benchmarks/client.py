"""Who asks the server? The thinnest client there is: lines out, lines in."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.runner import Measure


class Client:
    """A server in a process of its own, and the pipes to it."""

    def __init__(self, *command: str, cwd: Path) -> None:
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.send("initialize", hello)
        self.receive()

    def send(self, method: str, params: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._next

    def read_line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def receive(self) -> int:
        identifier: int = json.loads(self.read_line())["id"]
        return identifier

    def call(self, tool: str = "context.list_caches", **arguments: Any) -> int:
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def timed_call(client: Client, tool: str, **arguments: Any) -> Measure:
    """Time one call until its whole answer is here; an answer that is an error ends the benchmark."""

    def measure() -> float:
        begun = time.perf_counter()
        client.call(tool, **arguments)
        line = client.read_line()
        seconds = time.perf_counter() - begun
        answer = json.loads(line)
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"{tool} failed: {line[:500].decode()}")
        return seconds

    return measure

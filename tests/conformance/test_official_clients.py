"""The official clients that are no agents, over both transports: the TypeScript SDK and the Inspector."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache
from tests.conformance.test_conformance import INSTALLED, NODE
from tests.faces.web.serving import HttpHall
from tests.guild.making import make_member, tool, write_cache
from tests.machine import must_be_here
from tests.processes import CONTEXT, PATIENCE_SECONDS

SDK = INSTALLED / "@modelcontextprotocol" / "sdk"
INSPECTOR = INSTALLED / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
CLIENT = Path(__file__).parents[1] / "guild" / "zoo" / "client.mjs"
GUILD = ("--guild", "guild", "--guild-refresh", "never")
TRANSPORTS = ("stdio", "http")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    caches = tmp_path / ".context" / "caches"
    caches.mkdir(parents=True)
    build_cache(caches, {"a.md": "red"}, name="handbook")
    write_cache(make_member(tmp_path / "guild", "zoo"), tool("echo"))
    return tmp_path


@contextmanager
def reached(home: Path, transport: str) -> Iterator[list[str]]:
    """What a client is told: the command that serves, or an address."""
    if transport == "stdio":
        yield [*CONTEXT, "serve", *GUILD]
        return
    with HttpHall(*GUILD, cwd=home) as hall:
        yield [f"{hall.url}/mcp"]


def run(*command: str, cwd: Path) -> Any:
    env = {**os.environ, "HOME": str(cwd), "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"}
    patience = 2 * PATIENCE_SECONDS
    ran = subprocess.run(
        [str(NODE), *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=patience, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def names(listed: Any) -> set[str]:
    return {each["name"] for each in listed}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_typescript_client_takes_what_it_is_given(home: Path, transport: str) -> None:
    must_be_here(SDK.exists(), "NO SDK: type `make conformance`")
    calls = [["context.resolve", {"cache": "handbook", "query": "red", "budget": 9}], ["zoo__echo", {"text": "é"}]]
    with reached(home, transport) as place:
        told = run(str(CLIENT), str(SDK), json.dumps(calls), *place, cwd=home)
    assert names(told["tools"]) >= {"context.resolve", "zoo__echo"}
    assert '"id":"a.md"' in told["results"][0]["content"][0]["text"]
    assert told["results"][1]["content"] == [{"type": "text", "text": '{"text": "\\u00e9"}'}]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_lists_and_calls(home: Path, transport: str) -> None:
    must_be_here(INSPECTOR.exists(), "NO INSPECTOR: type `make conformance`")
    kind = () if transport == "stdio" else ("--transport", "http")
    with reached(home, transport) as place:

        def inspect(method: str, *options: str) -> Any:
            return run(str(INSPECTOR), "--cli", *place, *kind, "--method", method, *options, cwd=home)

        assert names(inspect("tools/list")["tools"]) >= {"context.resolve", "zoo__echo"}
        called = inspect("tools/call", "--tool-name", "zoo__echo", "--tool-arg", "text=red")
    assert called["content"] == [{"type": "text", "text": '{"text": "red"}'}]

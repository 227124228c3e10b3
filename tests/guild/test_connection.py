"""What a server prints or does at an odd moment costs no other call, no header and no secret."""

import asyncio
import gc
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import make_http_member, make_member

from contexthall.core import limits
from contexthall.core.errors import MemberError
from contexthall.guild.lists.memory import Memory
from contexthall.guild.log import BoundedLog
from contexthall.guild.manager import discover_guild_members
from contexthall.guild.servers.connection import Connection
from contexthall.guild.servers.connector import Connector
from contexthall.guild.servers.process import MemberProcess
from contexthall.guild.servers.transport import decoded
from contexthall.protocol import current
from contexthall.protocol.messages import Response
from contexthall.system.disk import Disk

pytestmark = pytest.mark.anyio

SERVER = """
import json, os, sys
def say(line):
    sys.stdout.buffer.write(line + b"\\n"); sys.stdout.flush()
request = json.loads(sys.stdin.readline())
result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())
sys.stdin.readline()
request = json.loads(sys.stdin.readline())
"""
HTTP_SERVER = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def reply(self, status, data=b""):
        with open(sys.argv[2], "a") as record:
            record.write(f"{self.command} {self.headers['authorization']}\\n")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "s")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        info = {"name": "s", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
        self.reply(*((200, answer) if "id" in message else (202,)))
    def do_GET(self): self.reply(405)
    def do_DELETE(self): self.reply(200)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


async def spawned(tmp_path: Path, **environment: str) -> Connection:
    memory = Memory(Disk(), str(tmp_path / "state"))
    connector = Connector(version="1", environment={**os.environ, **environment}, log_of=memory.log_of)
    return await connector.spawn(discover_guild_members(str(tmp_path / "guild"))["bad"])


def make_python(tmp_path: Path, code: str, **mcp: Any) -> None:
    make_member(tmp_path / "guild", "bad", command=sys.executable, args=["-c", SERVER + code], **mcp)


async def test_rubbish_in_utf_16_ends_no_connection(tmp_path: Path) -> None:
    code = """
say(('["\\u0122",' + "[" * 20000).encode("utf-16-le"))
say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}}).encode())
sys.stdin.readline()
"""
    make_python(tmp_path, code)
    connection = await spawned(tmp_path)
    try:
        assert await connection.invoke_tool("x", {}) == {"content": []}
    finally:
        await connection.stop()


@pytest.mark.parametrize(
    "line",
    [
        '{"x":%s,"jsonrpc":"2.0","id":ID,"result":{"content":[]}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"x":%s}',
    ],
)
async def test_what_nobody_looks_at_may_be_deep(tmp_path: Path, line: str) -> None:
    spelt = line % ("[" * 150 + "]" * 150)
    code = f"""
say({spelt!r}.replace("ID", str(request["id"])).encode())
sys.stdin.readline()
"""
    make_python(tmp_path, code, toolTimeoutSeconds=2)
    connection = await spawned(tmp_path)
    try:
        assert await connection.invoke_tool("x", {}) == {"content": []}
    finally:
        await connection.stop()


async def test_callers_hear_why_even_if_the_end_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stop(self: MemberProcess, **how: Any) -> None:
        await stopped(self, **how)
        raise OSError("odd")

    stopped = MemberProcess.stop
    monkeypatch.setattr(MemberProcess, "stop", stop)
    make_python(tmp_path, "os._exit(7)\n", toolTimeoutSeconds=30)
    connection = await spawned(tmp_path)
    gone: list[str] = []
    connection.on_gone = lambda reason, _more: gone.append(reason)
    async with asyncio.timeout(10):
        with pytest.raises(MemberError):
            await connection.invoke_tool("x", {})
    assert gone


async def test_callers_hear_why_even_if_who_relied_on_it_fails(tmp_path: Path) -> None:
    def fail(_reason: str, _more: str) -> None:
        raise OSError("odd")

    make_python(tmp_path, "os._exit(7)\n", toolTimeoutSeconds=60)
    connection = await spawned(tmp_path)
    connection.on_gone = fail
    async with asyncio.timeout(30):
        with pytest.raises(MemberError, match="ended with exit code 7 during the call"):
            await connection.invoke_tool("x", {})


@pytest.mark.parametrize("text", ["x", "x🜁"], ids=["ascii", "one character more"])
def test_a_large_result_is_passed_on_in_little_memory(text: str) -> None:
    line = ('{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"' + "x" * 10_000_000 + text + '"}]}}').encode()
    message = decoded(line)
    assert isinstance(message, Response)
    for step in (lambda: decoded(line), lambda: current.enveloped(message.result, {"name": "s"})):
        gc.collect()
        tracemalloc.start()
        try:
            step()
            assert tracemalloc.get_traced_memory()[1] < 2 * len(line)  # besides the line itself
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{"t":"\xed\xa0\xbd"}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"result":{"t":"\xc3\xa9"}}',
    ],
    ids=["half a pair", "a byte order mark"],
)
def test_an_answer_that_is_not_utf_8_but_json_can_be_read_from_is_one(line: bytes) -> None:
    message = decoded(line)
    assert isinstance(message, Response)
    assert message.result.decode()


async def test_nobody_who_has_the_port_of_a_server_that_died_gets_its_headers(tmp_path: Path) -> None:
    record = tmp_path / "record"
    server = [sys.executable, "-c", HTTP_SERVER, "${PORT}", str(record)]
    script = f"\"$@\" & until grep -qs GET '{record}'; do sleep 0.1; done; sleep 0.5; exit 5"
    headers = {"Authorization": "Bearer ${TOKEN}"}
    make_http_member(tmp_path / "guild", "bad", command="/bin/sh", args=["-c", script, "sh", *server], headers=headers)
    connection = await spawned(tmp_path, TOKEN="correct-horse")
    await asyncio.wait([connection._process.ended])  # type: ignore[union-attr]
    before = record.read_text()
    with pytest.raises(MemberError, match="ended with exit code 5"):
        await connection.invoke_tool("x", {})
    await asyncio.wait([connection._owner])
    assert record.read_text() == before


async def test_a_value_printed_in_two_colours_is_in_no_error(tmp_path: Path) -> None:
    code = "print('\\x1b[1mcorrect\\x1b[31m-horse', flush=True); raise SystemExit(2)"
    make_member(tmp_path / "guild", "bad", command=sys.executable, args=["-c", code], env={"T": "${TOKEN}"})
    with pytest.raises(MemberError) as raised:
        await spawned(tmp_path, TOKEN="correct-horse")
    assert "it printed '${TOKEN}', which is no message" in raised.value.more
    assert "-horse" not in raised.value.more
    for log in (tmp_path / "state").rglob("*.log"):
        assert "-horse" not in log.read_text()


async def test_a_server_that_does_not_answer_a_goodbye_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTION_STOP_SECONDS", 60)
    code = HTTP_SERVER.replace("do_DELETE(self): self.reply(200)", "do_DELETE(self): import time; time.sleep(60)")
    server = [sys.executable, "-c", code, "${PORT}", os.devnull]
    make_http_member(tmp_path / "guild", "bad", command=server[0], args=server[1:])
    connection = await spawned(tmp_path)
    async with asyncio.timeout(30):
        await connection.stop()


async def test_servers_that_start_at_once_are_told_ports_of_their_own() -> None:
    connector = Connector(version="1", environment={}, log_of=lambda _member: BoundedLog(Disk(), "", "bad"))
    ports = [connector._free_port() for _ in range(2000)]
    assert len(set(ports)) == len(ports)

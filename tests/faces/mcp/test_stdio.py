"""`context serve` as a real process, spoken to in raw lines and by a real client."""

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.processes import (
    CONTEXT,
    HANDSHAKE_2024,
    HANDSHAKE_2025,
    MODERN_META,
    PATIENCE_SECONDS,
    RawServer,
    run_context,
)

NAMES = [
    "context.resolve",
    "context.read",
    "context.outline",
    "context.list_caches",
    "context.inspect_cache",
    "context.brief",
    "list_contexts",
    "check_freshness",
    "query_context",
]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE_2025, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cache = tmp_path / ".context" / "caches" / "handbook"
    cache.mkdir(parents=True)
    (cache / "manifest.json").write_text('{"cache_version":"v","document_count":1}')
    return tmp_path


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    """A server that gets every bad line there is, one after the other."""
    with RawServer(cwd=tmp_path_factory.mktemp("project")) as server:
        server.initialize()
        yield server


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize("version", [HANDSHAKE_2024, HANDSHAKE_2025])
def test_a_client_of_the_handshake_era_lists_and_calls_tools(project: Path, version: str) -> None:
    with RawServer(cwd=project) as server:
        greeting = server.initialize(version)
        assert greeting["protocolVersion"] == version
        assert greeting["capabilities"] == {"tools": {"listChanged": True}}
        assert 1 < len(greeting["instructions"].splitlines()) <= 5
        tools = server.request(1, "tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == NAMES
        listed = server.request(2, "tools/call", call("context.list_caches"))["result"]
        assert listed["content"] == [{"type": "text", "text": '{"caches":[{"path":"handbook","has_manifest":true}]}'}]
        inspected = server.request("three", "tools/call", call("context.inspect_cache", cache="handbook"))["result"]
        assert inspected["content"][0]["text"] == (
            '{"cache_version":"v","document_count":1,"total_bytes":40,"valid":true}'
        )
        server.close_input()
        assert server.wait() == 0
        assert server.errors_so_far() == b""


def test_a_client_of_the_current_era_needs_no_handshake(project: Path) -> None:
    with RawServer(cwd=project) as server:
        discovered = server.request(1, "server/discover", {"_meta": MODERN_META})["result"]
        assert discovered["supportedVersions"] == ["2026-07-28"]
        assert discovered["capabilities"] == {"tools": {"listChanged": True}}
        listed = server.request(2, "tools/list", {"_meta": MODERN_META})["result"]
        assert [tool["name"] for tool in listed["tools"]] == NAMES
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 60_000, "private")
        called = server.request(3, "tools/call", {"_meta": MODERN_META, **call("context.list_caches")})["result"]
        assert called["structuredContent"] == {"caches": [{"path": "handbook", "has_manifest": True}]}
        server.close_input()
        assert server.wait() == 0


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_own_client_connects(project: Path, mode: Any) -> None:
    parameters = StdioServerParameters(command=CONTEXT[0], args=[*CONTEXT[1:], "serve", "--path", str(project)])

    async def talk() -> list[str]:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with Client(parameters, mode=mode) as client:
                result = await client.call_tool("context.inspect_cache", {"cache": "handbook"})
                assert result.structured_content == {
                    "cache_version": "v",
                    "document_count": 1,
                    "total_bytes": 40,
                    "valid": True,
                }
                return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(talk) == NAMES


@pytest.mark.parametrize(
    ("line", "code", "identifier"),
    [
        (b"rubbish", -32700, None),
        (b'{"text":"\xff\xfe"}', -32700, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"x" * 20_000_000 + b'"}}', -32600, None),
        (b"[" * 100_000, -32700, None),
    ],
    ids=["malformed", "not UTF-8", "wrong jsonrpc", "batch", "20 MB", "deep"],
)
def test_a_bad_line_is_answered_and_the_next_request_still_works(
    patient: RawServer, line: bytes, code: int, identifier: int | None
) -> None:
    patient.send(line)
    answer = patient.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, identifier)
    assert patient.request(8, "ping")["result"] == {}


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
def test_who_asks_before_the_handshake_is_told_what_is_missing(project: Path, method: str) -> None:
    with RawServer(cwd=project) as server:
        refused = server.request(1, method, {"name": "list_contexts", "arguments": {}})["error"]
        assert refused["code"] == -32602
        assert refused["message"].startswith("Not initialized: send `initialize` first")
        server.initialize()
        assert "result" in server.request(2, "tools/list")


def test_a_bad_line_before_the_handshake_does_not_spoil_it(project: Path) -> None:
    with RawServer(cwd=project) as server:
        server.send(b"rubbish", b"", b"   ")
        assert server.receive()["error"]["code"] == -32700
        assert server.initialize()["serverInfo"]["name"] == "context-hall"


def test_half_of_an_emoji_in_an_argument_is_answered(project: Path) -> None:
    with RawServer(cwd=project) as server:
        server.initialize()
        line = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.inspect_cache","arguments":%s}}'
        )
        server.send(line % b'{"cache":"\\ud83d"}')
        answer = server.receive()
        assert answer["result"]["content"][0]["text"].startswith('{"error":{"code":"cache_missing"')
        server.send(line % b'{"\\ud83d":"x"}')
        answer = server.receive()
        assert "result" in answer or answer["error"]["code"] == -32600
        assert answer["id"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(project: Path, number: signal.Signals) -> None:
    with RawServer(cwd=project) as server:
        server.initialize()
        server.process.send_signal(number)
        assert server.wait() == 0
        assert server.errors_so_far() == b""


def catches(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1]
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see when the hall first listens for signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_still_loads_ends_it_as_cleanly(project: Path, number: signal.Signals) -> None:
    with RawServer(cwd=project) as server:
        while not catches(server.process.pid, signal.SIGTERM):
            time.sleep(0.001)
        server.process.send_signal(number)
        assert server.wait() == 0
        assert server.errors_so_far() == b""


def test_a_client_that_stops_listening_ends_the_server(project: Path) -> None:
    with RawServer(cwd=project) as server:
        server.initialize()
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert server.wait() == 0
        assert server.errors_so_far() == b""


def test_input_and_output_may_be_files(project: Path) -> None:
    requests = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("context.list_caches")},
    ]
    # The last line has no newline, as when somebody typed the file by hand.
    (project / "in").write_text("\n".join(map(json.dumps, requests)))
    with (project / "in").open("rb") as source, (project / "out").open("wb") as target:
        subprocess.run([*CONTEXT, "serve"], cwd=project, stdin=source, stdout=target, timeout=90, check=True)
    answers = [json.loads(line) for line in (project / "out").read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [0, 1]


def test_no_input_at_all_is_an_end(project: Path) -> None:
    answer = run_context("serve", cwd=project)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, b"", b"")
    with Path(os.devnull).open("rb") as nothing:
        subprocess.run([*CONTEXT, "serve"], cwd=project, stdin=nothing, timeout=90, check=True)


def test_a_person_who_types_it_is_told_what_it_waits_for(project: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"\x04")  # Ctrl-D, typed ahead
    served = subprocess.run(
        [*CONTEXT, "serve"], cwd=project, stdin=theirs, capture_output=True, timeout=PATIENCE_SECONDS, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert (served.returncode, served.stdout) == (0, b"")
    assert b"`context connect`" in served.stderr


def test_a_thousand_requests_in_one_go_are_all_answered_before_the_end(project: Path) -> None:
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call("context.list_caches")}
        for number in range(1, 1001)
    ]
    lines = "\n".join(map(json.dumps, [INITIALIZE, *requests])) + "\n"
    answer = run_context("serve", cwd=project, stdin=lines.encode())
    answers = [json.loads(line) for line in answer.stdout.splitlines()]
    assert sorted(each["id"] for each in answers) == list(range(1001))
    assert all("result" in each for each in answers)


ODD_SERVER = textwrap.dedent("""
    import sys, time
    import anyio
    from contexthall.core.catalog import Caller, Capability, Catalog, Tool, ToolResult
    from contexthall.faces.mcp.server import HallServer
    from contexthall.faces.serve.stdio import serve_pipes
    from contexthall.system.pipes import claim_standard_streams
    import os

    def noisy(arguments, caller):
        print("a stray print")
        os.write(1, b"a stray write")
        os.system("echo a stray child")
        return ToolResult.of_text(repr(sys.stdin.read()))

    def slow(arguments, caller):
        time.sleep(0.5)
        return ToolResult.of_text("slow but there")

    def endless(arguments, caller):
        time.sleep(600)

    def half(arguments, caller):
        return ToolResult.of_text("\\ud83d")

    def large(arguments, caller):
        return ToolResult.of_text("x" * 5_000_000)

    schema = {"type": "object"}
    tools = [Tool(name=run.__name__, title="", description="", input_schema=schema, run=run)
             for run in (noisy, slow, endless, half, large)]
    caller = Caller(may_read=lambda path, home: True)
    server = HallServer(Catalog([Capability("odd", tools=tools)]), caller, version="1", tool_seconds=1)
    anyio.run(serve_pipes, server, claim_standard_streams())
    sys.stdout.flush()
    os._exit(0)
""")


def odd_server(tmp_path: Path) -> RawServer:
    return RawServer(cwd=tmp_path, command=(sys.executable, "-c", ODD_SERVER))


def test_stray_output_never_reaches_the_client_and_stray_input_is_empty(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        assert server.request(1, "tools/call", call("noisy"))["result"]["content"][0]["text"] == "''"
        assert server.request(2, "ping")["result"] == {}
        server.close_input()
        assert server.wait() == 0
        errors = server.errors_so_far()
        assert b"a stray print" in errors
        assert b"a stray write" in errors
        assert b"a stray child" in errors


def test_calls_in_flight_at_the_end_of_input_are_answered(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("slow")})
        server.close_input()
        assert server.receive()["result"]["content"][0]["text"] == "slow but there"
        assert server.wait() == 0


def test_a_cancelled_call_is_not_waited_for_at_the_end_of_input(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        server.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("endless")},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        )
        begun = time.monotonic()
        server.close_input()
        assert server.wait() == 0
        assert time.monotonic() - begun < 5


def test_a_tool_that_never_returns_holds_up_neither_its_answer_nor_the_end(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        text = server.request(1, "tools/call", call("endless"))["result"]["content"][0]["text"]
        assert text == '{"error":{"code":"internal_error","message":"Internal error"}}\n'
        server.close_input()
        assert server.wait() == 0


def test_a_subscription_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        params = {"_meta": MODERN_META, "notifications": {"toolsListChanged": True}}
        server.send({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
        assert server.receive()["method"] == "notifications/subscriptions/acknowledged"
        begun = time.monotonic()
        server.close_input()
        assert server.wait() == 0
        assert time.monotonic() - begun < 5


def test_half_of_an_emoji_in_a_result_arrives_and_the_server_lives(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        answer = server.request(1, "tools/call", call("half"))
        assert answer["result"]["content"][0]["text"] == "\ud83d"
        assert server.request(2, "ping")["result"] == {}


def test_a_client_that_reads_slowly_gets_everything(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        for number in range(5):
            server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call("large")})
        time.sleep(0.3)
        sizes = [len(server.receive()["result"]["content"][0]["text"]) for _ in range(5)]
        assert sizes == [5_000_000] * 5


def test_a_signal_ends_it_at_once_even_with_a_call_in_flight_and_a_client_that_does_not_read(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("large")})
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call("endless")})
        time.sleep(0.3)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 0
        assert time.monotonic() - begun < 3
        assert b"Traceback" not in server.errors_so_far()


@pytest.mark.parametrize(
    "numbers", [(signal.SIGTERM,), (signal.SIGINT,), (signal.SIGINT, signal.SIGTERM)], ids=lambda each: each[-1].name
)
def test_signals_that_keep_coming_do_not_spoil_the_end(project: Path, numbers: tuple[signal.Signals, ...]) -> None:
    with RawServer(cwd=project) as server:
        server.initialize()
        while server.process.poll() is None:
            for number in numbers:
                server.process.send_signal(number)
            time.sleep(0.0005)
        assert server.wait() == 0
        assert server.errors_so_far() == b""


def test_a_standard_output_that_others_share_is_left_as_it_was(project: Path) -> None:
    script = f'{{ "{sys.executable}" -m contexthall serve </dev/null; head -c 3000000 /dev/zero; }} | (sleep 2; wc -c)'
    answer = subprocess.run(["/bin/sh", "-c", script], cwd=project, capture_output=True, check=True)
    assert (answer.stdout.strip(), answer.stderr) == (b"3000000", b"")


def test_it_serves_without_standard_error(project: Path) -> None:
    script = f'"{sys.executable}" -m contexthall serve 2>&-'
    answer = subprocess.run(
        ["/bin/sh", "-c", script], cwd=project, input=json.dumps(INITIALIZE).encode(), capture_output=True, check=True
    )
    assert json.loads(answer.stdout)["id"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see when the server listens for signals")
def test_a_signal_ends_it_where_output_and_errors_are_one_and_nobody_reads(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-c", ODD_SERVER]
    requests = [INITIALIZE, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("large")}]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=writing, stderr=writing) as process:
        assert process.stdin is not None
        process.stdin.write("".join(json.dumps(each) + "\n" for each in requests).encode())
        process.stdin.flush()
        while not catches(process.pid, signal.SIGTERM):
            time.sleep(0.01)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    os.close(reading)
    os.close(writing)


def test_requests_that_share_an_id_are_all_answered_at_the_end_of_input(tmp_path: Path) -> None:
    with odd_server(tmp_path) as server:
        server.initialize()
        server.send(*[{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("slow")}] * 5)
        server.close_input()
        answers = [server.receive() for _ in range(5)]
        assert all(answer.get("result") for answer in answers)
        assert server.wait() == 0


def test_the_time_out_can_be_set(project: Path) -> None:
    with RawServer(cwd=project, env={"CONTEXT_TOOL_TIMEOUT_SECS": "0.0000001"}) as server:
        server.initialize()
        result = server.request(1, "tools/call", call("context.list_caches"))["result"]
        assert result["content"][0]["text"] == '{"error":{"code":"io_error","message":"I/O error occurred"}}\n'
    with RawServer(cwd=project, env={"CONTEXT_TOOL_TIMEOUT_SECS": "never"}) as server:
        assert server.wait() == 1
        assert b"CONTEXT_TOOL_TIMEOUT_SECS" in server.errors_so_far()


STUCK = """
import sys, time
from contexthall.__main__ import main
from contexthall.caches.library import Library
Library.list_caches = lambda *_, **__: time.sleep(600)
sys.argv = ["context", "serve"]
main()
"""


def test_context_serve_ends_though_a_tool_never_returned(project: Path) -> None:
    command = (sys.executable, "-c", STUCK)
    with RawServer(cwd=project, command=command, env={"CONTEXT_TOOL_TIMEOUT_SECS": "0.2"}) as server:
        server.initialize()
        assert server.request(1, "tools/call", call("context.list_caches"))["result"]["isError"]
        server.close_input()
        assert server.wait() == 0


def test_what_the_system_refuses_is_in_the_log(project: Path) -> None:
    with RawServer("--cache-root", "nowhere", cwd=project) as server:
        server.initialize()
        server.request(1, "tools/call", call("context.list_caches"))
        server.close_input()
        server.wait()
        assert b"nowhere" in server.errors_so_far()

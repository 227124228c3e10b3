"""Does the zoo behave, and misbehave, as its flags say? Raw lines, no client in between."""

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import is_alive
from tests.processes import PATIENCE_SECONDS, RawServer, free_port, is_listening
from tests.waiting import wait_until

ZOO = Path(__file__).parent / "zoo"


def member(tmp_path: Path, *flags: str) -> RawServer:
    return RawServer(cwd=tmp_path, command=(sys.executable, str(ZOO / "member.py"), *flags))


def names(server: RawServer) -> list[str]:
    """Every tool, page by page."""
    found, cursor = [], None
    while True:
        page = server.request("list", "tools/list", {"cursor": cursor} if cursor else {})["result"]
        found += [tool["name"] for tool in page["tools"]]
        if (cursor := page.get("nextCursor")) is None:
            return found


def call(server: RawServer, tool: str = "echo", **params: Any) -> dict[str, Any]:
    return server.request("call", "tools/call", {"name": tool, **params})


def test_a_member_shakes_hands_lists_calls_and_records(tmp_path: Path) -> None:
    with member(tmp_path, "--tools", "2", "--record", "record") as server:
        assert server.initialize()["protocolVersion"] == "2025-11-25"
        assert names(server) == ["tool_0", "tool_1", "echo"]
        assert json.loads(call(server, arguments={"text": "ü"})["result"]["content"][0]["text"]) == {"text": "ü"}
        server.close_input()
        assert server.wait() == 0
        pid = server.process.pid
    assert (tmp_path / "record").read_text() == f"started {pid}\ncall echo\nstopped {pid}\n"


def test_ten_thousand_tools_come_in_pages(tmp_path: Path) -> None:
    with member(tmp_path, "--tools", "10000", "--page-size", "3000") as server:
        server.initialize()
        assert len(server.request("one", "tools/list")["result"]["tools"]) == 3000
        assert len(names(server)) == 10_001


def test_a_cursor_may_loop_or_never_end(tmp_path: Path) -> None:
    for flag, after in (("--looping-cursor", "1"), ("--endless-cursor", "2")):
        with member(tmp_path, flag) as server:
            server.initialize()
            assert server.request("one", "tools/list")["result"]["nextCursor"] == "1"
            assert server.request("two", "tools/list", {"cursor": "1"})["result"]["nextCursor"] == after


def test_definitions_may_be_wrong_or_come_from_a_file_that_changes(tmp_path: Path) -> None:
    with member(tmp_path, "--bad-schema", "--no-description") as server:
        server.initialize()
        *good, bad = server.request("one", "tools/list")["result"]["tools"]
    assert isinstance(bad["inputSchema"], str)
    assert all("description" not in tool for tool in good)

    (tmp_path / "tools.json").write_text("[]")
    with member(tmp_path, "--tools-file", "tools.json", "--list-changed-on", "tools.json") as server:
        server.initialize()
        assert names(server) == []
        (tmp_path / "new.json").write_text('[{"name": "new", "inputSchema": {"type": "object"}}]')
        (tmp_path / "new.json").rename(tmp_path / "tools.json")
        assert server.receive()["method"] == "notifications/tools/list_changed"
        assert names(server) == ["new"]


def test_rubbish_surrounds_the_answers(tmp_path: Path) -> None:
    command = [sys.executable, str(ZOO / "member.py"), "--rubbish"]
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    said = subprocess.run(command, cwd=tmp_path, input=ping, capture_output=True, check=True).stdout.splitlines()
    assert said[:3] == [b"Listening on nothing ...", b"", b"{not json"]
    assert json.loads(said[3])["result"] == {}


def test_results_errors_and_progress_are_what_the_flags_say(tmp_path: Path) -> None:
    (tmp_path / "result").write_text('{"content": [], "unheard": {"of": null}}')
    (tmp_path / "error").write_text('{"code": -7, "message": "no", "data": [1]}')
    with member(tmp_path, "--result-file", "result", "--progress", "2", "--only", "echo", "--print-env") as server:
        server.initialize()
        server.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "_meta": {"progressToken": 5}},
            }
        )
        assert [server.receive()["params"]["progress"] for _ in range(2)] == [1, 2]
        assert server.receive()["result"] == {"content": [], "unheard": {"of": None}}
        assert json.loads(call(server, "env")["result"]["content"][0]["text"])["PATH"] == os.environ["PATH"]
    with member(tmp_path, "--error-file", "error") as server:
        server.initialize()
        assert call(server)["error"] == {"code": -7, "message": "no", "data": [1]}


def test_calls_run_side_by_side_and_can_be_cancelled(tmp_path: Path) -> None:
    with member(tmp_path, "--hang-in-call", "--only", "tool_0", "--cancelled-file", "cancelled") as server:
        server.initialize()
        server.send({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "tool_0"}})
        assert "result" in call(server)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}})
        assert server.request(9, "ping")["result"] == {}
    assert (tmp_path / "cancelled").read_text() == "8\n"


@pytest.mark.parametrize(("flags", "code"), [(("--exit", "4", "--say", "no key"), 4), (("--die-in-call",), 3)])
def test_a_member_may_exit_at_once_or_in_a_call(tmp_path: Path, flags: tuple[str, ...], code: int) -> None:
    with member(tmp_path, *flags) as server:
        if code == 3:
            server.initialize()
            server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})
        assert server.wait() == code
        assert server.errors_so_far() == (b"no key\n" if code == 4 else b"")


def test_standard_output_closes_and_standard_error_floods(tmp_path: Path) -> None:
    with member(tmp_path, "--close-stdout", "--flood-stderr") as server:
        server.initialize()
        assert server.process.stdout is not None
        assert server.process.stderr is not None
        assert server.process.stdout.read() == b""
        assert len(server.process.stderr.read(1_000_000)) == 1_000_000
        assert server.process.poll() is None


def test_what_ignores_everything_and_its_grandchild_are_ended_by_force_alone(tmp_path: Path) -> None:
    record = tmp_path / "record"
    with member(tmp_path, "--ignore-term", "--grandchild", "--record", "record") as server:
        server.initialize()
        family = [int(line.split()[1]) for line in record.read_text().splitlines()]
        server.close_input()
        for process_id in family:
            os.kill(process_id, signal.SIGTERM)
            os.kill(process_id, signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(0.3)
        assert all(is_alive(process_id) for process_id in family)
        for process_id in family:
            os.kill(process_id, signal.SIGKILL)
    wait_until(lambda: not any(is_alive(process_id) for process_id in family))


def test_a_member_ends_cleanly_when_it_is_told_to(tmp_path: Path) -> None:
    with member(tmp_path, "--record", "record", "--hang-in-call") as server:
        server.initialize()
        server.process.terminate()
        assert server.wait() == 0
    assert f"stopped {server.process.pid}" in (tmp_path / "record").read_text()


def test_a_member_speaks_http(tmp_path: Path) -> None:
    port = free_port()
    command = (sys.executable, str(ZOO / "http_member.py"), "--port", str(port), "--record", "record")
    with RawServer(cwd=tmp_path, command=command) as server:
        wait_until(lambda: is_listening(port))
        hello = post(port, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "x"}})
        assert hello["result"]["protocolVersion"] == "x"
        called = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}}
        assert post(port, called)["result"]["content"] == [{"type": "text", "text": "{}"}]
        server.process.terminate()
        assert server.wait() == 0
    pid = server.process.pid
    assert (tmp_path / "record").read_text() == f"started {pid}\ncall echo\nstopped {pid}\n"


def post(port: int, message: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.request("POST", "/mcp", json.dumps(message))
    answer: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_the_example_echo_answers_and_says_what_it_lacks(tmp_path: Path) -> None:
    with example("echo", tmp_path) as server:
        assert server.initialize("1999-01-01")["protocolVersion"] == "2025-11-25"
        assert names(server) == ["echo", "reverse"]
        assert call(server, "reverse", arguments={"text": "añb"})["result"]["content"][0]["text"] == "bña"
        assert call(server, "echo", arguments={"text": 5})["result"]["isError"] is True
        assert "no_tool" in call(server, "no_tool")["error"]["message"]


def test_the_example_clock_tells_the_time_in_structure(tmp_path: Path) -> None:
    with example("clock", tmp_path) as server:
        server.initialize()
        told = call(server, "now", arguments={"zone": "UTC"})["result"]
        assert told["structuredContent"]["time"].endswith("+00:00")
        assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
        assert call(server, "now", arguments={"zone": "Middle/Earth"})["result"]["isError"] is True


def test_the_example_clock_counts_down_until_it_is_cancelled(tmp_path: Path) -> None:
    with example("clock", tmp_path) as server:
        server.initialize()
        asked = {"name": "countdown", "arguments": {"seconds": 20}, "_meta": {"progressToken": "t"}}
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        assert server.receive()["params"] == {"progressToken": "t", "progress": 1, "total": 20, "message": "19 to go"}
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert call(server, "countdown", arguments={"seconds": 0})["result"]["content"][0]["text"] == "Lift-off!"


def example(name: str, tmp_path: Path) -> RawServer:
    """The example member, started as its manifest says."""
    directory = ZOO.parents[2] / "examples" / "guild-members" / name
    mcp = json.loads((directory / "plugin.json").read_text())["mcp"]
    return RawServer(cwd=tmp_path, command=(mcp["command"], str(directory / mcp["args"][0])))

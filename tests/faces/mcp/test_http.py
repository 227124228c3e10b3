"""MCP over HTTP by a real hall: the same bytes as over standard input and output, for several clients at once."""

import gc
import json
import signal
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from tests.caches.making import build_cache
from tests.faces.mcp.sdk import ERAS, Era, text_of
from tests.faces.web.serving import ACCEPT, HttpHall, RawSession, failure, told
from tests.guild.making import make_member, tool, write_cache
from tests.processes import HANDSHAKE_2025, MODERN, MODERN_META, RawServer
from tests.protocol.test_differential import SdkPeer

from contexthall.core import limits
from contexthall.core.catalog import Caller, Capability, Catalog, Tool, ToolResult
from contexthall.faces.mcp.http import HttpEndpoint, RefusedMessageError
from contexthall.faces.mcp.server import HallServer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project with a cache, and a member whose result has what nobody here knows."""
    caches = tmp_path / ".context" / "caches"
    caches.mkdir(parents=True)
    build_cache(caches, {"a.md": "größe 😀", "b.md": "b"}, name="handbook")
    result = {"content": [{"type": "text", "text": "é"}], "futureField": {"x": [1, 2.5, None]}, "_meta": {"k": "v"}}
    (tmp_path / "result.json").write_text(json.dumps(result))
    odd = tool("odd one", "Odd.", annotations={"readOnlyHint": True}, futureField={"x": None})
    write_cache(make_member(tmp_path / "guild", "zoo", "--result-file", str(tmp_path / "result.json")), odd)
    return tmp_path


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("context.list_caches", {}),
    ("context.list_caches", {"root": "/"}),
    ("context.inspect_cache", {"cache": "handbook"}),
    ("context.resolve", {"cache": "handbook", "query": "größe", "budget": 100}),
    ("context.resolve", {"cache": "handbook", "query": 5, "budget": 100}),
    ("context.resolve", {"cache": "../guild", "query": "", "budget": 100}),
    ("list_contexts", {}),
    ("query_context", {"scope": ".."}),
    ("check_freshness", {"scope": ".", "path": "/"}),
]


@asynccontextmanager
async def connected(hall: HttpHall, era: Era, token: str = "", **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with anyio.fail_after(90):
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=90) as http,
            Client(streamable_http_client(f"{hall.url}/mcp", http_client=http), mode=era, **options) as client,
        ):
            yield client


def test_the_same_bytes_as_over_standard_input_and_output(home: Path) -> None:
    guild = ("--guild", "guild", "--guild-refresh", "never")
    with HttpHall(*guild, cwd=home) as hall, RawServer(*guild, "--confine", cwd=home) as other:
        session = RawSession(hall)
        assert hall.http.get("/healthz").status_code == 200
        assert session.initialize().json()["result"] == other.initialize()
        listed = session.request("tools/list")["tools"]
        zoo = next(each["name"] for each in listed if each["name"].startswith("zoo__"))
        calls = [{"name": name, "arguments": arguments} for name, arguments in [*CALLS, (zoo, {"text": "x"})]]
        for method, params in [("tools/list", {}), *(("tools/call", call) for call in calls)]:
            asked = {"id": 1, "method": method, "params": params}
            assert session.send(asked).content == other.exchange({"jsonrpc": "2.0", **asked})


def test_the_same_bytes_in_the_current_era(home: Path) -> None:
    guild = ("--guild", "guild", "--guild-refresh", "never")
    headers = {**ACCEPT, "Mcp-Protocol-Version": MODERN}
    with HttpHall(*guild, cwd=home) as hall, RawServer(*guild, "--confine", cwd=home) as other:
        calls: list[dict[str, Any]] = [{"name": name, "arguments": arguments} for name, arguments in CALLS]
        for method, params in [("tools/list", {}), *(("tools/call", call) for call in calls)]:
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": MODERN_META}}
            named = {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
            answer = hall.http.post("/mcp", json=asked, headers={**headers, **named})
            assert answer.status_code == 200, answer.text
            assert answer.content == other.exchange(asked)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_knows_the_token_is_served(home: Path, era: Era) -> None:
    with HttpHall("--token", "secret", cwd=home) as hall:
        async with connected(hall, era, token="secret") as client:
            assert "context.resolve" in [each.name for each in (await client.list_tools()).tools]
            result = await client.call_tool("context.resolve", {"cache": "handbook", "query": "b", "budget": 1})
            assert '"id":"b.md"' in text_of(result)
        answer = RawSession(hall).initialize()
        assert failure(answer)[:2] == (401, "unauthorized")


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_progress_of_a_member_reaches_the_client(tmp_path: Path, era: Era) -> None:
    heard: list[tuple[float, float | None, str | None]] = []
    all_heard = anyio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))
        if progress == total:
            all_heard.set()

    write_cache(make_member(tmp_path / "guild", "zoo", "--progress", "3", "--call-delay", "0.2"), tool("echo"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        async with connected(hall, era) as client:
            result = await client.call_tool("zoo__echo", {"text": "x"}, progress_callback=listen)
            assert text_of(result) == '{"text": "x"}'
            await all_heard.wait()
    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


def test_half_a_surrogate_pair_from_a_member_breaks_nothing(tmp_path: Path) -> None:
    """Only an escape can carry it."""
    script = tmp_path / "member.py"
    script.write_text(MEMBER_WITH_HALVES)
    write_cache(make_member(tmp_path / "guild", "zoo", args=[str(script)]), tool("say"), tool("fail"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        session = RawSession(hall)
        session.initialize()
        answer = session.request("tools/call", {"name": "zoo__say", "_meta": {"progressToken": 1}})
        assert answer["content"] == [{"type": "text", "text": "a\ud800b"}]
        failed = session.send({"id": 2, "method": "tools/call", "params": {"name": "zoo__fail"}})
        assert failed.json()["error"]["message"] == "a\ud800b"
        told = hall.post("/api/guild/call", {"member": "zoo", "tool": "say"})
        assert told.json()["result"]["content"][0]["text"] == "a\ud800b"


MEMBER_WITH_HALVES = """
import json, sys
for message in map(json.loads, sys.stdin):
    params = message.get("params") or {}
    answer = {"result": {"content": [{"type": "text", "text": "a\\ud800b"}]}}
    if message["method"] == "initialize":
        info = {"name": "halves", "version": "1"}
        version = params["protocolVersion"]
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    elif params.get("name") == "fail":
        answer = {"error": {"code": 1, "message": "a\\ud800b"}}
    elif token := (params.get("_meta") or {}).get("progressToken"):
        told = {"progressToken": token, "progress": 1, "message": "a\\ud800b"}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}), flush=True)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def growing_member(home: Path) -> Path:
    """A member that offers what stands in the file that is given back, and says so when it changes."""
    offered = home / "tools.json"
    offered.write_text(json.dumps([tool("old")]))
    flags = ("--tools-file", str(offered), "--list-changed-on", str(offered))
    write_cache(make_member(home / "guild", "zoo", *flags), tool("old"))
    return offered


@pytest.mark.anyio
async def test_a_client_of_the_handshake_era_hears_that_a_members_tools_changed(tmp_path: Path) -> None:
    told, offered = anyio.Event(), growing_member(tmp_path)

    async def note(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.set()

    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        async with connected(hall, "legacy", message_handler=note) as client:
            await client.call_tool("zoo__old", {})
            offered.write_text(json.dumps([tool("new")]))
            await told.wait()
            names = [each.name for each in (await client.list_tools()).tools]
    assert "zoo__new" in names
    assert "zoo__old" not in names


@pytest.mark.anyio
async def test_a_client_of_the_current_era_that_listens_hears_it_too(tmp_path: Path) -> None:
    offered = growing_member(tmp_path)
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        async with connected(hall, "auto") as client, client.listen(tools_list_changed=True) as events:
            await client.call_tool("zoo__old", {})
            offered.write_text(json.dumps([tool("new")]))
            async for _ in events:
                break
            listed = await client.list_tools(cache_mode="refresh")
    assert "zoo__new" in [each.name for each in listed.tools]


@pytest.mark.anyio
async def test_several_clients_share_one_process_of_a_member(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    write_cache(make_member(tmp_path / "guild", "zoo", "--record", str(journal)), tool("echo"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        async with connected(hall, "legacy") as one, connected(hall, "auto") as two, anyio.create_task_group() as tasks:
            for client in (one, two) * 4:
                tasks.start_soon(client.call_tool, "zoo__echo", {})
        hall.post("/api/guild/call", {"member": "zoo", "tool": "echo"})
        assert hall.stop(signal.SIGTERM) == 0
    lines = journal.read_text().splitlines()
    assert len([line for line in lines if line.startswith("started")]) == 1
    assert len([line for line in lines if line == "call echo"]) == 9
    assert len([line for line in lines if line.startswith("stopped")]) == 1


def test_paths_are_confined_whoever_asks(home: Path) -> None:
    with HttpHall(cwd=home) as hall:
        session = RawSession(hall)
        session.initialize()
        for name, arguments in (
            ("context.list_caches", {"root": "/"}),
            ("context.inspect_cache", {"cache": str(home)}),
            ("list_contexts", {"path": "/"}),
        ):
            assert session.request("tools/call", {"name": name, "arguments": arguments})["isError"]
        inside = {"cache": str(home / ".context" / "caches" / "handbook")}
        assert not session.request("tools/call", {"name": "context.inspect_cache", "arguments": inside})["isError"]


def test_sessions_are_limited_and_their_end_makes_room(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path) as hall:
        sessions = [RawSession(hall) for _ in range(limits.HTTP_SESSIONS)]
        assert {session.initialize().status_code for session in sessions} == {200}
        late = RawSession(hall)
        assert late.initialize().status_code == 503
        sessions[0].end()
        assert late.initialize().status_code == 200


def test_a_message_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path) as hall:
        large = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (16 << 20) + b'"}}'
        headers = {**ACCEPT, "Content-Type": "application/json"}
        assert hall.http.post("/mcp", content=large, headers=headers).status_code == 413
        session = RawSession(hall)
        session.initialize()
        assert session.request("ping") == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_hall_and_whoever_only_listens(tmp_path: Path, number: signal.Signals) -> None:
    journal = tmp_path / "journal"
    write_cache(make_member(tmp_path / "guild", "zoo", "--record", str(journal)), tool("echo"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        session = RawSession(hall)
        session.initialize()
        session.request("tools/call", {"name": "zoo__echo", "arguments": {}})
        with hall.events() as events, session.standing() as lines:
            assert next(events)[0] == "hello"
            assert hall.stop(number) == 0
            rest: list[Any] = [kind for kind, _ in events if kind != "stopped"]
            assert [*rest, *lines] == []
    assert "Traceback" not in hall.said.decode()
    assert "stopped" in journal.read_text()


def test_signals_that_keep_coming_do_not_spoil_the_end(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path) as hall:
        while hall.process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGINT):
                hall.process.send_signal(number)
            time.sleep(0.0005)
        assert hall.process.wait() == 0
    assert "Traceback" not in hall.said.decode()


def test_a_call_under_way_is_answered_before_the_hall_ends(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    write_cache(make_member(tmp_path / "guild", "zoo", "--record", str(journal), "--call-delay", "0.5"), tool("echo"))
    with (
        HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall,
        ThreadPoolExecutor() as threads,
    ):
        session = RawSession(hall)
        session.initialize()
        call = {"name": "zoo__echo", "arguments": {"text": "x"}}
        answer = threads.submit(session.request, "tools/call", call)
        while not journal.exists() or "call echo" not in journal.read_text():
            time.sleep(0.01)
        assert hall.stop(signal.SIGTERM) == 0
        assert answer.result()["content"] == [{"type": "text", "text": '{"text": "x"}'}]


def test_a_call_that_never_ends_does_not_keep_the_hall(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    write_cache(make_member(tmp_path / "guild", "zoo", "--record", str(journal), "--hang-in-call"), tool("echo"))
    with (
        HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall,
        ThreadPoolExecutor() as threads,
    ):
        threads.submit(hall.post, "/api/guild/call", {"member": "zoo", "tool": "echo"})
        while not journal.exists() or "call echo" not in journal.read_text():
            time.sleep(0.01)
        assert hall.stop(signal.SIGTERM) == 0


HELLO = {"protocolVersion": HANDSHAKE_2025, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


@asynccontextmanager
async def endpoint_asked(catalog: Catalog | None = None, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    server = HallServer(catalog or Catalog([]), Caller(may_read=lambda _path, _home: True), version="1")
    endpoint = HttpEndpoint(server, **options)
    transport = httpx2.ASGITransport(endpoint)
    with anyio.fail_after(90):
        async with httpx2.AsyncClient(transport=transport, base_url="http://hall") as http:
            yield http


@pytest.mark.anyio
async def test_a_session_whose_end_was_refused_is_not_forgotten_and_makes_room_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "HTTP_SESSIONS", 1)
    passed = 0.0
    async with endpoint_asked(clock=lambda: passed) as http:
        opened = await http.post("/mcp", json=OPENING, headers=ACCEPT)
        session = {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        refused = await http.delete("/mcp", headers={**session, "Mcp-Protocol-Version": "bogus"})
        assert 400 <= refused.status_code < 500
        assert (await http.post("/mcp", json=OPENING, headers=ACCEPT)).status_code == 503
        passed += limits.USED_SESSION_SECONDS
        assert (await http.post("/mcp", json=OPENING, headers=ACCEPT)).status_code == 200
        assert (await http.post("/mcp", json=OPENING, headers=ACCEPT)).status_code == 503


@pytest.mark.anyio
async def test_of_a_message_that_is_too_large_nothing_waits_for_the_garbage_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CLIENT_MESSAGE_BYTES", 1000)

    async def body() -> AsyncIterator[bytes]:
        yield b" " * 1001

    async with endpoint_asked() as http:
        gc.collect()
        gc.disable()
        try:
            answer = await http.post("/mcp", content=body(), headers={**ACCEPT, "Content-Type": "application/json"})
            assert answer.status_code == 413
            assert [each for each in gc.get_objects() if isinstance(each, RefusedMessageError)] == []
        finally:
            gc.enable()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("raw", "key", "told"),
    [
        (b'{"content":[],"\\ud800":{"a":1}}', "result", {"\ud800": {"a": 1}}),
        (b'{"_meta":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}", "error", {"code": -32603}),
    ],
    ids=["key", "meta"],
)
@pytest.mark.parametrize("is_plain", [True, False], ids=["plain", "async"])
async def test_a_result_that_is_hard_to_spell_is_answered_under_its_id(
    raw: bytes, key: str, told: dict[str, Any], is_plain: bool
) -> None:
    def run_plain(_arguments: object, _caller: Caller) -> ToolResult:
        return ToolResult(content=(), raw=raw)

    async def run_async(arguments: object, caller: Caller) -> ToolResult:
        return run_plain(arguments, caller)

    run = run_plain if is_plain else run_async
    odd = Tool(name="odd", title="", description="", input_schema={"type": "object"}, run=run)
    params = {"name": "odd", "_meta": MODERN_META}
    head = {**ACCEPT, "Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "odd"}
    async with endpoint_asked(Catalog([Capability("odd", tools=[odd])])) as http:
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        answer = (await http.post("/mcp", json=call, headers=head)).json()
    assert answer["id"] == 7
    assert answer[key].items() >= told.items()


@pytest.mark.anyio
async def test_large_messages_wait_for_each_other_and_small_ones_for_none() -> None:
    begun, gate, statuses = 0, anyio.Event(), list[int]()

    def ping(number: int) -> bytes:
        return b'{"jsonrpc":"2.0","id":%3d,"method":"ping"}' % number

    async def body(number: int) -> AsyncIterator[bytes]:
        nonlocal begun
        yield b" " * limits.LARGE_BODY_BYTES
        begun += 1
        await gate.wait()
        yield ping(number)

    async with endpoint_asked() as http:
        opened = await http.post("/mcp", json=OPENING, headers=ACCEPT)
        kind = {"Content-Type": "application/json", "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        large = {**ACCEPT, **kind, "Content-Length": str(limits.LARGE_BODY_BYTES + len(ping(0)))}

        async def send(number: int) -> None:
            statuses.append((await http.post("/mcp", content=body(number), headers=large)).status_code)

        async with anyio.create_task_group() as sending:
            for number in range(2 * limits.LARGE_BODIES + 1):
                sending.start_soon(send, number)
            while begun < limits.LARGE_BODIES:
                await anyio.sleep(0.01)
            for number in range(100, 103):
                assert (await http.post("/mcp", content=ping(number), headers={**ACCEPT, **kind})).status_code == 200
            assert (begun, statuses) == (limits.LARGE_BODIES, [])
            gate.set()
    assert statuses == [200] * (2 * limits.LARGE_BODIES + 1)


@pytest.mark.anyio
async def test_whoever_only_listens_takes_no_turn_of_a_large_message(tmp_path: Path) -> None:
    padding = b" " * limits.LARGE_BODY_BYTES
    listen = {"notifications": {"toolsListChanged": True}, "_meta": MODERN_META}
    questions = {
        "subscriptions/listen": {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen},
        "tools/list": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN_META}},
    }
    with HttpHall(cwd=tmp_path) as hall, anyio.fail_after(90):
        async with httpx2.AsyncClient(base_url=hall.url, trust_env=False) as http, AsyncExitStack() as streams:

            def asking(method: str) -> AbstractAsyncContextManager[httpx2.Response]:
                headers = {**ACCEPT, "Mcp-Protocol-Version": MODERN, "Mcp-Method": method}
                content = padding + json.dumps(questions[method]).encode()
                return http.stream(
                    "POST", "/mcp", content=content, headers={**headers, "Content-Type": "application/json"}
                )

            for _ in range(limits.LARGE_BODIES):
                answer = await streams.enter_async_context(asking("subscriptions/listen"))
                assert answer.headers["content-type"].startswith("text/event-stream")
            assert (await streams.enter_async_context(asking("tools/list"))).status_code == 200


# The endpoint alone, in memory:


def tools(*, started: anyio.Event | None = None, ended: anyio.Event | None = None) -> Catalog:
    """Tools that tell of their progress, or never end."""

    async def count_up(_arguments: object, caller: Caller) -> ToolResult:
        await caller.progress(1, 2, "half")
        return ToolResult.of_text("done")

    async def hang(_arguments: object, _caller: Caller) -> ToolResult:
        try:
            if started is not None:
                started.set()
            await anyio.sleep_forever()
        finally:
            if ended is not None:
                ended.set()
        raise AssertionError("nobody ends this")

    def declared(name: str, run: Any) -> Tool:
        return Tool(name=name, title=name, description=name, input_schema={"type": "object"}, run=run)

    return Catalog([Capability("test", tools=[declared("count", count_up), declared("hang", hang)])])


def called(name: str, token: int | None = None, request_id: int = 1) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": name, **meta}}


async def opened(http: httpx2.AsyncClient, **headers: str) -> dict[str, str]:
    """Open a session; give the headers of those who have one."""
    answer = await http.post("/mcp", json=OPENING, headers={**ACCEPT, **headers})
    assert answer.status_code == 200
    return {**ACCEPT, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


@pytest.mark.anyio
async def test_a_call_is_json_unless_there_is_something_to_tell_before_the_answer() -> None:
    async with endpoint_asked(tools()) as http:
        session = await opened(http)
        plain = await http.post("/mcp", json=called("count"), headers=session)
        assert plain.headers["content-type"] == "application/json"
        assert plain.json()["result"]["content"] == [{"type": "text", "text": "done"}]
        stream = await http.post("/mcp", json=called("count", token=7), headers=session)
        assert stream.headers["content-type"] == "text/event-stream"
        progress, answer = told(stream)
        assert progress["params"] == {"progressToken": 7, "progress": 1, "total": 2, "message": "half"}
        assert answer == plain.json()


class Hearer:
    """A client of the endpoint that hangs up once it has heard what it waited for."""

    def __init__(self, session: dict[str, str], message: object, until: bytes) -> None:
        head = {"content-type": "application/json", **session}
        headers = [(name.lower().encode(), value.encode()) for name, value in head.items()]
        self.scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
        self.heard = b""
        self._body = json.dumps(message).encode()
        self._until = until
        self._enough = anyio.Event()

    async def receive(self) -> dict[str, Any]:
        if self._body:
            body, self._body = self._body, b""
            return {"type": "http.request", "body": body}
        await self._enough.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.heard += message.get("body", b"")
        if self._until in self.heard:
            self._enough.set()


@pytest.mark.anyio
@pytest.mark.parametrize("is_current", [False, True])
async def test_whoever_waits_long_gets_signs_of_life_and_cancels_by_hanging_up(
    monkeypatch: pytest.MonkeyPatch, is_current: bool
) -> None:
    monkeypatch.setattr(limits, "HEARTBEAT_SECONDS", 0.01)
    ended, asked = anyio.Event(), called("hang")
    async with endpoint_asked(tools(ended=ended)) as http:
        session = await opened(http)
        if is_current:
            session = {**ACCEPT, "Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "hang"}
            asked["params"]["_meta"] = MODERN_META
        client = Hearer(session, asked, until=b": still here\r\n\r\n: still here\r\n\r\n")
        await http._transport.app(client.scope, client.receive, client.send)  # type: ignore[attr-defined]
        await ended.wait()


@pytest.mark.anyio
async def test_a_call_that_is_cancelled_is_answered_so() -> None:
    started = anyio.Event()
    async with endpoint_asked(tools(started=started)) as http, anyio.create_task_group() as tasks:
        session = await opened(http)

        async def ask() -> None:
            answer = await http.post("/mcp", json=called("hang"), headers=session)
            assert answer.json() == {
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": -32800, "message": "Request cancelled"},
            }

        tasks.start_soon(ask)
        await started.wait()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert (await http.post("/mcp", json=cancelled, headers=session)).status_code == 202


@pytest.mark.anyio
async def test_a_session_id_is_long_and_of_no_use_to_a_page_of_another_origin() -> None:
    async with endpoint_asked(tools()) as http:
        page = await opened(http, Origin="http://localhost:1")
        program = await opened(http)
        for session in (page, program):
            assert len(bytes.fromhex(session["Mcp-Session-Id"])) >= 16
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        async def status(session: dict[str, str], **headers: str) -> int:
            return (await http.post("/mcp", json=ping, headers={**session, **headers})).status_code

        assert await status(page, Origin="http://localhost:1") == 200
        assert await status(page) == 200  # a page that only reads tells no Origin
        assert await status(program) == 200
        assert await status(page, Origin="http://127.0.0.1:1") == 404
        assert await status(program, Origin="http://localhost:1") == 404
        foreign = {**page, "Origin": "http://127.0.0.1:1"}
        assert (await http.delete("/mcp", headers=foreign)).status_code == 404
        assert await status(page) == 200


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CURRENT_HEAD = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN_META}}
Sent: TypeAlias = tuple[int, int | None, str, Any, dict[str, str]]


def sent_wrongly(session: dict[str, str]) -> list[Sent]:
    """Requests in the session, or in none, with the status and the error code that they get."""
    ping, listing, modern, unknown = PING, LISTING, CURRENT_HEAD, {**LISTING, "method": "unknown"}
    return [
        (406, -32600, "POST", ping, {**session, "Accept": "application/json"}),
        (406, -32600, "POST", ping, {**session, "Accept": "text/event-stream;q=0.5"}),
        (200, None, "POST", ping, {**session, "Accept": "*/*"}),
        (200, None, "POST", ping, {**session, "Accept": "application/*, text/*"}),
        (406, -32600, "GET", None, {**session, "Accept": "application/json"}),
        (406, -32600, "GET", None, {"Accept": "application/json"}),
        (415, -32600, "POST", ping, {**session, "Content-Type": "text/plain"}),
        (200, None, "POST", ping, {**session, "Content-Type": "application/json; charset=utf-8"}),
        (400, -32600, "POST", ping, ACCEPT),
        (400, -32600, "GET", None, ACCEPT),
        (400, -32600, "DELETE", None, ACCEPT),
        (404, -32600, "POST", ping, {**ACCEPT, "Mcp-Session-Id": "unknown"}),
        (404, -32600, "GET", None, {**ACCEPT, "Mcp-Session-Id": "unknown"}),
        (404, -32600, "DELETE", None, {**ACCEPT, "Mcp-Session-Id": "unknown"}),
        (405, -32600, "PUT", ping, session),
        (405, -32600, "GET", None, {**session, **modern}),
        (405, -32600, "DELETE", None, {**session, **modern}),
        (400, -32600, "POST", [ping], session),
        (400, -32600, "POST", {**ping, "id": None}, session),
        (202, None, "POST", {"jsonrpc": "2.0", "id": 9, "result": {}}, session),
        (202, None, "POST", {"jsonrpc": "2.0", "method": "anything"}, session),
        (200, -32601, "POST", {**ping, "method": "unknown"}, session),
        (200, None, "POST", listing, {**ACCEPT, **modern}),
        (200, None, "POST", listing, {**session, **modern}),  # whose id is ignored
        (400, -32020, "POST", listing, ACCEPT),
        (400, -32020, "POST", listing, {**ACCEPT, **modern, "Mcp-Protocol-Version": "2025-11-25"}),
        (400, -32020, "POST", listing, {**ACCEPT, **modern, "Mcp-Method": "tools/call"}),
        (404, -32601, "POST", unknown, {**ACCEPT, **modern, "Mcp-Method": "unknown"}),
        (400, -32602, "POST", {**listing, "params": {}}, {**ACCEPT, **modern}),
        (
            404,
            -32601,
            "POST",
            {**listing, "method": "initialize"},
            {**ACCEPT, **modern, "Mcp-Method": "initialize"},
        ),
        (400, -32022, "POST", {"jsonrpc": "2.0", "method": "x"}, {**ACCEPT, "Mcp-Protocol-Version": "bogus"}),
        (202, None, "POST", {"jsonrpc": "2.0", "method": "x"}, {**ACCEPT, **modern}),
        (400, -32600, "POST", {"jsonrpc": "2.0", "id": 9, "result": {}}, {**ACCEPT, **modern}),
        (400, -32600, "POST", ping, {**session, "Mcp-Session-Id": ""}),
    ]


SDK_DIFFERENCES = {
    ((400, None), (415, -32600)): "a message of another type has the status for that",
    ((405, None), (405, -32600)): "the SDK says nothing but the status",
    ((400, -32602), (400, -32600)): "a batch is no request, and has no params",
    ((202, None), (400, -32600)): "the SDK takes a request with such an id for a notification, and the client waits",
    ((400, -32600), (400, -32020)): "a body of the current era whose head is not is told so",
    ((404, -32600), (400, -32600)): "an empty session id is none",
}
"""Where the SDK's status and code are others than ours, and why."""


async def answered(http: httpx2.AsyncClient, sent: Sent) -> tuple[int, int | None]:
    """Return the status and the error code of an answer."""
    _, _, method, body, headers = sent
    content = None if body is None else json.dumps(body).encode()
    answer = await http.request(
        method, "/mcp", content=content, headers={"Content-Type": "application/json", **headers}
    )
    is_message = answer.content.startswith((b"{", b"event"))
    return answer.status_code, told(answer)[-1].get("error", {}).get("code") if is_message else None


@pytest.mark.anyio
async def test_what_is_not_sent_as_it_should_be_has_its_status() -> None:
    async with endpoint_asked(tools()) as http:
        session = await opened(http)
        for sent in sent_wrongly(session):
            assert await answered(http, sent) == sent[:2], sent
        broken = await http.post("/mcp", content=b"{", headers={**session, "Content-Type": "application/json"})
        assert (broken.status_code, broken.json()["id"], broken.json()["error"]["code"]) == (400, None, -32700)


@pytest.mark.anyio
async def test_the_sdk_of_today_answers_the_same_over_http() -> None:
    insecure = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    manager = StreamableHTTPSessionManager(app=SdkPeer(tools()), security_settings=insecure)
    transport = httpx2.ASGITransport(manager.handle_request)
    with anyio.fail_after(30):
        async with manager.run(), httpx2.AsyncClient(transport=transport, base_url="http://hall") as http:
            answers = [(await answered(http, sent), sent[:2]) for sent in sent_wrongly(await opened(http))]
    assert {(theirs, ours) for theirs, ours in answers if theirs != ours} == SDK_DIFFERENCES.keys()


@pytest.mark.anyio
async def test_a_session_that_ends_ends_its_calls() -> None:
    started, ended = anyio.Event(), anyio.Event()
    async with endpoint_asked(tools(started=started, ended=ended)) as http, anyio.create_task_group() as tasks:
        session = await opened(http)

        async def ask() -> None:
            answer = await http.post("/mcp", json=called("hang"), headers=session)
            assert answer.json()["error"]["code"] == -32800

        tasks.start_soon(ask)
        await started.wait()
        assert (await http.delete("/mcp", headers=session)).status_code == 200
        await ended.wait()
        assert (await http.post("/mcp", json=called("count"), headers=session)).status_code == 404

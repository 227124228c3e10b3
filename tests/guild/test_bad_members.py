"""What if a member misbehaves? It says what is wrong in a sentence, and its neighbour answers all the same.

Real servers in processes of their own, through a real manager and connector; at the end through a real hall.
"""

import asyncio
import gc
import importlib
import json
import os
import shutil
import sys
import threading
import tracemalloc
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.guild.making import ZOO, is_alive, kinds, make_http_member, make_member, read_cache, tool, write_cache
from tests.guild.zoo.http_member import SESSION, Handler
from tests.processes import (
    HANDSHAKE_2025,
    MODERN,
    MODERN_META,
    PATIENCE_SECONDS,
    RawServer,
    free_port,
    run_context,
)
from tests.waiting import until, wait_until

from contexthall.core import limits
from contexthall.core.catalog import no_progress
from contexthall.core.errors import MemberError
from contexthall.core.lines import Ends, LineSplitter
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import Event, MCPManager, discover_guild_members
from contexthall.guild.servers.connector import Connector
from contexthall.guild.servers.transport import decoded
from contexthall.protocol.client import ClientEffect, ClientRole, OpeningEnded
from contexthall.protocol.messages import Message, Response
from contexthall.system.disk import Disk

pytestmark = pytest.mark.anyio

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": {"audience": ["user"]}}
RESOURCE = {
    "type": "resource",
    "resource": {"uri": "note://1", "text": "ü", "mimeType": "text/plain", "_meta": {"a": 1}},
}
RESULT = {
    "content": [{"type": "text", "text": "héllo 🜁"}, IMAGE, RESOURCE, {"type": "unheard-of", "weight": 1.5}],
    "structuredContent": {"big": 12345678901234567890, "none": None, "deep": [{"er": [True, 1.0, 1e20]}]},
    "isError": True,
    "_meta": {"their.example/trace": {"id": "x"}},
    "fieldOfTomorrow": [None, {}],
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "protocolVersion": HANDSHAKE_2025,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "script", "version": "1"},
    },
}
SAY_HELLO = """printf '%s\\n' "$1\""""
FAULT = {"code": -7, "message": "no", "data": {"why": [1, None, {"deep": "er"}], "none": None}}


@asynccontextmanager
async def opened(tmp_path: Path, **environment: str) -> AsyncIterator[MCPManager]:
    """Open the guild in `tmp_path/guild`, to which a member that is well is added; at the end nothing runs."""
    make_member(tmp_path / "guild", "well")
    disk = Disk()
    memory = Memory(disk, str(tmp_path / "state"))
    connector = Connector(version="1.2.3", environment={**os.environ, **environment}, log_of=memory.log_of)
    manager = MCPManager(discover_guild_members(str(tmp_path / "guild")), connector, disk=disk, memory=memory)
    await manager.initialize_roster()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield manager
    finally:
        await manager.shutdown()


async def failure(manager: MCPManager, tool_name: str = "tool_0", member: str = "bad") -> MemberError:
    """Call a tool that must fail, and give the error, which agents may read."""
    with pytest.raises(MemberError) as raised:
        await manager.invoke_tool(member, tool_name, {})
    assert "/" not in raised.value.detail.replace("tools/", "")
    return raised.value


async def echoed(manager: MCPManager, member: str = "bad") -> Any:
    """Call `echo` and give what came back."""
    result = await manager.invoke_tool(member, "echo", {"text": "hello"})
    return json.loads(result["content"][0]["text"])


async def is_well(manager: MCPManager) -> bool:
    """Whether the neighbour of the bad one answers, as if nothing had happened."""
    answered = await echoed(manager, "well") == {"text": "hello"}
    return answered and (manager.roster["well"].status, manager.roster["well"].error) == ("connected", "")


def lines(file: Path, beginning: str = "") -> list[str]:
    text = file.read_text() if file.exists() else ""
    return [line for line in text.splitlines() if line.startswith(beginning)]


def pids(record: Path) -> list[int]:
    return [int(line.split()[1]) for line in lines(record) if line.startswith(("started", "grandchild"))]


# Servers that cannot be started:


def _not_there(guild: Path) -> None:
    make_member(guild, "bad", command="no-such-command", args=[])


def _not_executable(guild: Path) -> None:
    (make_member(guild, "bad", command="./server", args=[]) / "server").write_text("#!/bin/sh\n")


def _exits(guild: Path) -> None:
    make_member(guild, "bad", "--exit", "4", "--say", "no key")


def _is_mute(guild: Path) -> None:
    make_member(guild, "bad", "--mute", "--say", "thinking", startTimeoutSeconds=0.3)


def _is_killed(guild: Path) -> None:
    make_member(guild, "bad", command="/bin/sh", args=["-c", "kill -9 $$"])


def _prints_only_rubbish(guild: Path) -> None:
    make_member(guild, "bad", command="/bin/sh", args=["-c", "echo Usage: none of your business"])


def _lacks_a_variable(guild: Path) -> None:
    make_member(guild, "bad", env={"TOKEN": "${NO_SUCH_TOKEN}"})


def _lost_its_directory(guild: Path) -> None:
    make_member(guild, "bad")


def _http_exits(guild: Path) -> None:
    make_http_member(guild, "bad", args=["-c", "import sys; sys.exit('no ${PORT}'[:2])"])


def _http_lacks_a_variable(guild: Path) -> None:
    make_member(guild, "bad", command="", url="")
    mcp = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}}
    (guild / "bad" / "plugin.json").write_text(json.dumps({"name": "bad", "version": "1.0.0", "mcp": mcp}))


def _nobody_listens(guild: Path) -> None:
    make_url_member(guild, free_port())


def make_script(guild: Path, script: str, **mcp: Any) -> None:
    """Make a member that is a line of shell, whose first argument is its answer to initialize."""
    make_member(guild, "bad", command="/bin/sh", args=["-c", script, "sh", json.dumps(HELLO)], **mcp)


def make_url_member(guild: Path, port: int) -> None:
    (guild / "bad").mkdir(parents=True)
    manifest = {"name": "bad", "version": "1.0.0", "mcp": {"url": f"http://127.0.0.1:{port}/mcp"}}
    (guild / "bad" / "plugin.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("make", "sentence", "more"),
    [
        (_not_there, "its command was not found", "its command is no-such-command"),
        (_not_executable, "its command cannot be executed", "its command is ./server"),
        (_exits, "the server ended with exit code 4 before it answered initialize", "its last words: no key"),
        (_is_killed, "the server was ended by signal 9 before it answered initialize", ""),
        (
            _is_mute,
            "the server did not answer initialize within 0.3 s, its startTimeoutSeconds",
            "its last words: thinking",
        ),
        (
            _prints_only_rubbish,
            "the server ended with exit code 0 before it answered initialize",
            "it printed 'Usage: none of your business', which is no message",
        ),
        (_lacks_a_variable, "the server needs the environment variable NO_SUCH_TOKEN", ""),
        (_lost_its_directory, "the server could not be started: its directory is gone", ""),
        (_http_exits, "the server ended with exit code 1 before it answered initialize", "its last words: no"),
        (_http_lacks_a_variable, "the server needs the environment variable NO_SUCH_TOKEN", ""),
        (_nobody_listens, "the server could not be reached: ConnectError", ""),
    ],
    ids=lambda value: value.__name__.lstrip("_") if callable(value) else "",
)
async def test_a_server_that_cannot_be_started_is_an_error_in_a_sentence(
    tmp_path: Path, make: Callable[[Path], None], sentence: str, more: str
) -> None:
    """REQ-MCP-TOOL-19: its cached tools are kept, and the error is told."""
    make(tmp_path / "guild")
    write_cache(tmp_path / "guild" / "bad", tool("tool_0"))
    async with opened(tmp_path) as manager:
        if make is _lost_its_directory:
            shutil.rmtree(tmp_path / "guild" / "bad")
        events: list[Event] = []
        manager.subscribe(events.append)
        await manager.refresh_tool_caches()
        bad = manager.roster["bad"]
        assert bad.status == "error"
        assert bad.error.startswith(sentence)
        assert more in bad.error
        assert "context-hall" not in bad.error
        assert [offered["name"] for offered in bad.tools] == ["tool_0"]
        assert [event.error for event in events if (event.kind, event.member) == ("error", "bad")] == [bad.error]
        assert ("tools_updated", "well") in kinds(events)
        error = await failure(manager)
        assert error.detail == sentence
        assert await is_well(manager)


async def test_nobody_who_listens_in_the_place_of_a_server_that_ended_is_spoken_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importlib.import_module("contexthall.guild.servers.http_wire")  # the first time it takes long
    monkeypatch.setattr(limits, "KNOCK_SECONDS", 1.0)  # by then somebody else has the port
    monkeypatch.setattr(limits, "CONNECTION_GRACE_SECONDS", 30.0)
    server = [sys.executable, str(ZOO / "http_member.py"), "--port", "${PORT}"]
    make_http_member(tmp_path / "guild", "bad", command="/bin/sh", args=["-c", '"$@" & exit 5', "sh", *server])
    async with opened(tmp_path) as manager:
        assert (await failure(manager)).detail == "the server ended with exit code 5 before it answered initialize"


async def test_whatever_else_goes_wrong_with_a_start_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_connector: Connector) -> int:
        raise OSError("no more descriptors")

    monkeypatch.setattr(Connector, "_free_port", fail)
    make_http_member(tmp_path / "guild", "bad")
    async with opened(tmp_path) as manager:
        async with asyncio.timeout(5):
            assert (await failure(manager)).detail == "the server could not be reached: OSError"
        assert await is_well(manager)


async def test_a_start_that_is_given_up_as_the_server_answers_leaves_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def receive(role: ClientRole, message: Message) -> Iterator[ClientEffect]:
        for effect in understood(role, message):
            yield effect
            if isinstance(effect, OpeningEnded):
                start.cancel()

    understood = ClientRole.receive
    monkeypatch.setattr(ClientRole, "receive", receive)
    make_member(tmp_path / "guild", "bad", "--record", str(tmp_path / "record"))
    member, memory = discover_guild_members(str(tmp_path / "guild"))["bad"], Memory(Disk(), str(tmp_path / "state"))
    start = asyncio.create_task(Connector(version="1", environment=os.environ, log_of=memory.log_of).spawn(member))
    with pytest.raises(asyncio.CancelledError):
        await start
    assert [is_alive(pid) for pid in pids(tmp_path / "record")] == [False]


async def test_a_server_that_prints_rubbish_between_its_answers_is_understood(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--rubbish")
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        assert await echoed(manager) == {"text": "hello"}
        assert (manager.roster["bad"].status, manager.roster["bad"].error) == ("connected", "")
        assert "[stdout] Listening on nothing ..." in manager.log_of("bad")
        assert await is_well(manager)


async def test_after_failures_a_server_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contexthall.core.limits.FIRST_BACK_OFF_SECONDS", 20.0)
    make_member(tmp_path / "guild", "bad", "--exit", "4", "--record", str(tmp_path / "record"))
    async with opened(tmp_path) as manager:
        first, second, third = [(await failure(manager)).detail for _ in range(3)]
        assert first == second == "the server ended with exit code 4 before it answered initialize"
        assert third == f"{first}; it has failed 2 times and is tried again in 20 s"
        assert len(lines(tmp_path / "record", "started")) == 2
        assert await is_well(manager)


async def test_a_server_that_answers_initialize_and_ends_is_started_anew_by_every_call(tmp_path: Path) -> None:
    record = tmp_path / "record"
    make_script(tmp_path / "guild", f"echo started >>'{record}'; read -r line; {SAY_HELLO}; exit 5")
    async with opened(tmp_path) as manager:
        for attempt in range(1, 4):
            assert "exit code 5" in (await failure(manager)).detail
            await until(lambda: manager.roster["bad"].status == "error")
            assert len(lines(record)) == attempt
        assert await is_well(manager)


# Servers whose lists are bad:


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--list-error",), "the server answered tools/list with an error: the list is lost"),
        (("--looping-cursor",), "the pages of its tools/list never end"),
        (("--endless-cursor",), "the pages of its tools/list never end"),
        (("--endless-cursor", "--tools", "2000"), "the server offers more than 100000 tools"),
    ],
    ids=["error", "loop", "endless", "endless and many"],
)
async def test_a_list_that_is_refused_or_never_ends_is_an_error_but_calls_are_answered(
    tmp_path: Path, flags: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REQ-MCP-TOOL-20: what is wrong with the list keeps nobody from calling."""
    monkeypatch.setattr("contexthall.core.limits.LISTED_PAGES", 500)
    make_member(tmp_path / "guild", "bad", *flags)
    write_cache(tmp_path / "guild" / "bad", tool("echo"))
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        bad = manager.roster["bad"]
        assert (bad.status, bad.error) == ("error", sentence)
        assert [offered["name"] for offered in bad.tools] == ["echo"]
        assert await is_well(manager)
        assert await echoed(manager) == {"text": "hello"}
        assert (bad.status, bad.error) == ("connected", "")


async def test_pages_that_come_to_more_than_can_be_kept_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contexthall.core.limits.TOOLS_CACHE_BYTES", 2000)
    make_member(tmp_path / "guild", "bad", "--tools", "40", "--page-size", "5")
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        bad = manager.roster["bad"]
        assert (bad.status, bad.error) == ("error", "the definitions of its tools come to more than 2000 bytes")
        assert await echoed(manager) == {"text": "hello"}
        assert await is_well(manager)


async def test_ten_thousand_tools_are_offered_with_a_note(tmp_path: Path) -> None:
    directory = make_member(tmp_path / "guild", "bad", "--tools", "10000", "--page-size", "1000")
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        view = manager.view("bad")
        assert (view.error, len(view.tools), len(read_cache(directory)["tools"])) == ("", 10_001, 10_001)
        assert view.notes == ("it offers 10001 tools: think of --guild-budget",)
        assert await is_well(manager)


async def test_a_tool_whose_schema_is_no_object_is_left_out_and_named(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--bad-schema")
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        view = manager.view("bad")
        assert [offered["name"] for offered in view.tools] == ["tool_0", "echo"]
        assert view.notes == ('tool "bad" is left out: its inputSchema is not an object',)
        assert view.error == ""
        assert await is_well(manager)


# Servers that fail in a call:


async def test_a_call_that_hangs_is_given_up_and_the_server_is_told(tmp_path: Path) -> None:
    record, cancelled = tmp_path / "record", tmp_path / "cancelled"
    flags = ("--hang-in-call", "--only", "tool_0", "--cancelled-file", str(cancelled), "--record", str(record))
    make_member(tmp_path / "guild", "bad", *flags, toolTimeoutSeconds=0.3)
    async with opened(tmp_path) as manager:
        assert (await failure(manager)).detail == "the server did not answer tools/call within 0.3 s"
        await until(lambda: len(lines(cancelled)) == 1)
        assert await echoed(manager) == {"text": "hello"}
        assert manager.roster["bad"].status == "connected"
        assert len(lines(record, "started")) == 1
        assert await is_well(manager)


async def test_a_server_that_dies_fails_every_pending_call_and_is_started_anew(tmp_path: Path) -> None:
    record = tmp_path / "record"
    make_member(tmp_path / "guild", "bad", "--die-in-call", "--only", "tool_0", "--record", str(record), "--say", "oh")
    async with opened(tmp_path) as manager:
        errors = await asyncio.gather(*(failure(manager) for _ in range(5)))
        assert {error.detail for error in errors} == {"the server ended with exit code 3 during the call"}
        assert {error.more for error in errors} == {"its last words: oh"}
        bad = manager.roster["bad"]
        assert (bad.status, bad.error) == ("error", "the server ended with exit code 3 (its last words: oh)")
        assert await is_well(manager)
        assert await echoed(manager) == {"text": "hello"}
        assert (bad.status, bad.error) == ("connected", "")
        assert len(lines(record, "started")) == 2


async def test_a_server_that_closes_its_output_is_ended(tmp_path: Path) -> None:
    record = tmp_path / "record"
    make_member(tmp_path / "guild", "bad", "--close-stdout", "--record", str(record))
    async with opened(tmp_path) as manager:
        assert (await failure(manager)).detail == "the server closed its standard output during the call"
        await until(lambda: not any(map(is_alive, pids(record))))
        assert manager.roster["bad"].status == "error"
        assert manager.roster["bad"].error == "the server closed its standard output"
        assert await is_well(manager)


async def test_a_server_that_prints_rubbish_for_ever_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    make_script(tmp_path / "guild", f"read -r line; {SAY_HELLO}; exec yes", toolTimeoutSeconds=0.5)
    async with opened(tmp_path) as manager:
        told = "the server did not answer tools/call within 0.5 s, but printed what is no message"
        assert (await failure(manager)).detail == told
        for _ in range(3):
            assert await is_well(manager)
        assert manager.roster["bad"].status == "connected"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"jsonrpc":"2.0","id":2,"error":"no"}', "no"),
        ('{"jsonrpc":"2.0","id":2,"error":{"code":"E_NO","message":"no"}}', "no"),
        ('{"jsonrpc":"2.0","id":2,"result":[1]}', "its answer is malformed"),
    ],
)
async def test_an_answer_that_is_malformed_is_not_waited_for(tmp_path: Path, answer: str, said: str) -> None:
    make_script(tmp_path / "guild", f"read -r a; {SAY_HELLO}; read -r b; read -r c; echo '{answer}'; read -r d")
    async with opened(tmp_path) as manager:
        error = await failure(manager)
        assert error.detail == f"the server answered tools/call with an error: {said}"
        assert error.fault == {"code": -32603, "message": said}
        assert await is_well(manager)


async def test_what_a_server_floods_standard_error_with_is_bounded(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--flood-stderr")
    logs = tmp_path / "state" / "logs"
    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        while len(list(logs.glob("bad-*"))) < 2:  # until the first file is full, and beyond
            assert await echoed(manager) == {"text": "hello"}
            assert await is_well(manager)
        sizes = [file.stat().st_size for file in logs.iterdir()]
        assert 1_000_000 < sum(sizes) <= (2 << 20) + (64 << 10)
        assert manager.log_of("bad", 1) == "the sky is falling\n"
        assert manager.roster["bad"].status == "connected"


@pytest.mark.parametrize("make", [make_member, make_http_member])
async def test_a_server_that_ignores_every_request_to_end_is_ended_with_all_it_forked(
    tmp_path: Path, make: Callable[..., Path]
) -> None:
    record = tmp_path / "record"
    family = ["--grandchild"] if make is make_member else []
    make(tmp_path / "guild", "bad", "--ignore-term", *family, "--record", str(record))
    async with opened(tmp_path) as manager:
        assert await echoed(manager) == {"text": "hello"}
        assert len(pids(record)) == 1 + len(family)
        assert all(map(is_alive, pids(record)))
        await manager.shutdown()
        await until(lambda: not any(map(is_alive, pids(record))))
        assert manager.roster["bad"].status == "disconnected"
        assert (await failure(manager)).detail == "the hall is closing"


async def test_a_grandchild_that_holds_the_pipes_does_not_hide_that_its_server_died(tmp_path: Path) -> None:
    record = tmp_path / "record"
    make_member(tmp_path / "guild", "bad", "--grandchild", "--die-in-call", "--record", str(record))
    async with opened(tmp_path) as manager:
        assert (await failure(manager)).detail == "the server ended with exit code 3 during the call"
        await until(lambda: not any(map(is_alive, pids(record))))
        assert manager.roster["bad"].status == "error"
        assert await is_well(manager)


@pytest.mark.parametrize("when", ["--die-in-call", "--die-in-answer"])
async def test_an_http_server_that_dies_in_a_call_is_started_anew(tmp_path: Path, when: str) -> None:
    record = tmp_path / "record"
    make_http_member(tmp_path / "guild", "bad", when, "--record", str(record))
    async with opened(tmp_path) as manager:
        for attempt in (1, 2):
            errors = await asyncio.gather(*(failure(manager, "echo") for _ in range(3)))
            assert {error.detail for error in errors} == {"the server ended with exit code 3 during the call"}
            bad = manager.roster["bad"]
            assert (bad.status, bad.error) == ("error", "the server ended with exit code 3")
            assert len(lines(record, "started")) == attempt
        assert await is_well(manager)


class SessionHandler(Handler):
    """The zoo's, with sessions that it insists on, and forgets."""

    sessions: ClassVar[list[str]]
    calls: ClassVar[list[str]]
    answers_in_json: ClassVar[bool]

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        given = self.headers.get("Mcp-Session-Id")
        if given is not None and given not in self.sessions:
            self._refuse()
        else:
            super().do_POST()

    def _refuse(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append(f"refused {body['method']}")
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}
        self._reply(404, error if self.answers_in_json else None)

    def _outcome(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            self.sessions.append(SESSION)
        self.calls.append(method)
        return super()._outcome(method, params)


@contextmanager
def listening(
    *, answers_in_json: bool = True, kind: type[SessionHandler] = SessionHandler
) -> Iterator[tuple[int, type[SessionHandler]]]:
    class FreshHandler(kind):  # type: ignore[valid-type, misc]
        flags = Namespace(
            record="",
            die_in_call=False,
            die_in_answer=False,
            call_delay=0.0,
            huge=0,
            huge_list=0,
            events=False,
            packed=False,
        )
        sessions: ClassVar[list[str]] = []
        calls: ClassVar[list[str]] = []

    FreshHandler.answers_in_json = answers_in_json
    server = ThreadingHTTPServer(("127.0.0.1", 0), FreshHandler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1], FreshHandler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("answers_in_json", [True, False], ids=["with words", "without"])
async def test_a_call_in_a_forgotten_session_is_repeated_in_a_new_one(tmp_path: Path, *, answers_in_json: bool) -> None:
    with listening(answers_in_json=answers_in_json) as (port, server):
        make_url_member(tmp_path / "guild", port)
        async with opened(tmp_path) as manager:
            assert await echoed(manager) == {"text": "hello"}
            server.sessions.clear()
            server.calls.clear()
            assert await echoed(manager) == {"text": "hello"}
            assert server.calls == ["refused tools/call", "initialize", "tools/call"]
            assert (manager.roster["bad"].status, manager.roster["bad"].error) == ("connected", "")
            assert await is_well(manager)


async def test_several_calls_in_a_forgotten_session_are_all_repeated(tmp_path: Path) -> None:
    with listening() as (port, server):
        make_url_member(tmp_path / "guild", port)
        async with opened(tmp_path) as manager:
            assert await echoed(manager) == {"text": "hello"}
            server.sessions.clear()
            assert await asyncio.gather(*(echoed(manager) for _ in range(5))) == [{"text": "hello"}] * 5
            assert server.calls.count("initialize") == 2


class EventHandler(SessionHandler):
    """The same, whose answers are events, and as long as the call asks for."""

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x" * params["arguments"]["length"]}]}

    def _reply(self, status: int, message: dict[str, Any] | None = None, *, packed: bool = False) -> None:
        if message is None or message.get("result", {}).get("content") is None:
            super()._reply(status, message, packed=packed)
            return
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        self.close_connection = True


async def test_an_http_server_may_answer_with_one_long_event(tmp_path: Path) -> None:
    with listening(kind=EventHandler) as (port, _server):
        make_url_member(tmp_path / "guild", port)
        async with opened(tmp_path) as manager:
            for length in (1, 3 << 20):
                result = await manager.invoke_tool("bad", "echo", {"length": length})
                assert result["content"][0]["text"] == "x" * length


class PageHandler(SessionHandler):
    """The same, whose answer to a call is a page; a stream for changes it refuses."""

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        self.is_call = b'"tools/call"' in self.rfile.peek()  # type: ignore[attr-defined]
        super().do_POST()

    def send_header(self, keyword: str, value: str) -> None:
        is_page = keyword == "Content-Type" and self.is_call
        super().send_header(keyword, "text/html" if is_page else value)

    is_call = False


async def test_the_status_that_is_told_is_of_an_answer_and_not_of_the_stream_for_changes(tmp_path: Path) -> None:
    with listening(kind=PageHandler) as (port, _server):
        make_url_member(tmp_path / "guild", port)
        async with opened(tmp_path) as manager:
            assert (await failure(manager, "echo")).detail == "the server gave no MCP answer over HTTP"


# What a server is given, and what it gives:


async def test_a_server_knows_what_its_manifest_names_and_none_of_the_halls_secrets(tmp_path: Path) -> None:
    named = {"TOKEN": "Bearer ${THEIR_TOKEN}", "PLAIN": "1", "LITERAL": "$${THEIR_TOKEN}"}
    make_member(tmp_path / "guild", "bad", "--print-env", env=named)
    ours = {"LANG": "C.UTF-8", "LC_TIME": "C", "CONTEXT_SECRET": "s3cret", "AWS_KEY": "k", "THEIR_TOKEN": "abc"}
    async with opened(tmp_path, **ours) as manager:
        result = await manager.invoke_tool("bad", "env", {})
        known = json.loads(result["content"][0]["text"])
    of_the_shell = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    kept = {name for name in os.environ if name in {"PATH", "HOME", "LANGUAGE"} or name.startswith("LC_")}
    assert known.keys() - of_the_shell == {"LANG", "LC_TIME", "CONTEXTHALL_MARK", *kept - of_the_shell, *named}
    assert (known["TOKEN"], known["LITERAL"]) == ("Bearer abc", "${THEIR_TOKEN}")
    assert (known["PATH"], known["HOME"]) == (os.environ["PATH"], os.environ["HOME"])


async def test_results_are_passed_on_as_they_came(tmp_path: Path) -> None:
    (tmp_path / "result").write_text(json.dumps(RESULT))
    make_member(tmp_path / "guild", "bad", "--result-file", str(tmp_path / "result"))
    async with opened(tmp_path) as manager:
        assert same(await manager.invoke_tool("bad", "echo", {}), RESULT)


async def test_of_a_large_result_nothing_is_kept_while_the_next_one_is_awaited(tmp_path: Path) -> None:
    large = 8_000_000
    (tmp_path / "result").write_text(json.dumps({"content": [{"type": "text", "text": "x" * large}]}))
    make_member(tmp_path / "guild", "bad", "--result-file", str(tmp_path / "result"))
    async with opened(tmp_path) as manager:
        await manager.invoke_raw("bad", "echo", {}, no_progress)
        tracemalloc.start()
        try:
            size = len(await manager.invoke_raw("bad", "echo", {}, no_progress))
            await asyncio.sleep(0)  # the event loop itself holds what it is just telling
            assert size > large
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < large // 2
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "fault",
    [
        FAULT,
        {"code": -32000, "message": "the backend is down", "data": [1]},
        {"code": -32000, "message": "Connection closed"},
        {"code": -32001, "message": "the backend timed out"},
        {"code": -32601, "message": ""},
    ],
    ids=["its own", "server error", "closed", "time-out", "silent"],
)
async def test_an_error_of_the_server_is_passed_on_as_it_came(tmp_path: Path, fault: dict[str, Any]) -> None:
    (tmp_path / "error").write_text(json.dumps(fault))
    make_member(tmp_path / "guild", "bad", "--error-file", str(tmp_path / "error"))
    async with opened(tmp_path) as manager:
        error = await failure(manager)
        assert error.fault is not None
        assert same(error.fault, fault)
        assert error.detail.startswith("the server answered tools/call with an error: ")
        assert manager.roster["bad"].status == "connected"


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; to Python 1 equals true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def serve(tmp_path: Path, *flags: str) -> RawServer:
    write_cache(make_member(tmp_path / "guild", "bad", *flags), tool("echo"), tool("tool_0"))
    return RawServer("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path)


def call(tool_name: str, version: str = HANDSHAKE_2025, **meta: Any) -> dict[str, Any]:
    met = {**(MODERN_META if version == MODERN else {}), **meta}
    return {"name": tool_name, "arguments": {}, **({"_meta": met} if met else {})}


def begin(server: RawServer, version: str) -> None:
    if version == HANDSHAKE_2025:
        server.initialize()


@pytest.mark.parametrize("version", [HANDSHAKE_2025, MODERN])
def test_an_agent_gets_results_as_they_came(tmp_path: Path, version: str) -> None:
    (tmp_path / "result").write_text(json.dumps(RESULT))
    with serve(tmp_path, "--result-file", str(tmp_path / "result")) as server:
        begin(server, version)
        result = server.request(1, "tools/call", call("bad__echo", version))["result"]
    if version == MODERN:
        assert result.pop("resultType") == "complete"
        assert result["_meta"].pop("io.modelcontextprotocol/serverInfo")["name"] == "context-hall"
    assert same(result, RESULT)


@pytest.mark.parametrize("version", [HANDSHAKE_2025, MODERN])
def test_an_agent_gets_errors_as_they_came(tmp_path: Path, version: str) -> None:
    (tmp_path / "error").write_text(json.dumps(FAULT))
    with serve(tmp_path, "--error-file", str(tmp_path / "error")) as server:
        begin(server, version)
        assert same(server.request(1, "tools/call", call("bad__echo", version))["error"], FAULT)


@pytest.mark.parametrize("version", [HANDSHAKE_2025, MODERN])
def test_an_agent_gets_the_progress_that_it_asks_for(tmp_path: Path, version: str) -> None:
    with serve(tmp_path, "--progress", "3") as server:
        begin(server, version)
        asked = call("bad__echo", version, progressToken="t")
        server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        told = [server.receive()["params"] for _ in range(3)]
        assert "result" in server.receive()
    assert [{**each, "_meta": None} for each in told] == [
        {"progressToken": "t", "progress": step, "total": 3, "message": f"step {step}", "_meta": None}
        for step in (1, 2, 3)
    ]


def test_an_agent_that_cancels_a_call_cancels_it_at_the_server(tmp_path: Path) -> None:
    record, cancelled = tmp_path / "record", tmp_path / "cancelled"
    flags = ("--hang-in-call", "--only", "tool_0", "--record", str(record), "--cancelled-file", str(cancelled))
    with serve(tmp_path, *flags) as server:
        server.initialize()
        server.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call("bad__tool_0")})
        wait_until(lambda: lines(record, "call") == ["call tool_0"])
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        wait_until(lambda: len(lines(cancelled)) == 1)
        assert "result" in server.request(8, "tools/call", call("bad__echo"))
        assert len(lines(record, "started")) == 1


def test_an_agent_reads_what_is_wrong_with_a_member_in_a_sentence(tmp_path: Path) -> None:
    with serve(tmp_path, "--die-in-call", "--say", f"look into {tmp_path}") as server:
        server.initialize()
        result = server.request(1, "tools/call", call("bad__echo"))["result"]
    said = "bad: the server ended with exit code 3 during the call"
    assert result == {"content": [{"type": "text", "text": said}], "isError": True}


TOO_MUCH = 16 << 20
OVER_HTTP: list[list[str]] = [[], ["--events"]]


def make_talkative(guild: Path, how: list[str] | None, *flags: str) -> None:
    """Make a member that answers with more than is read, over HTTP in some way, or over pipes."""
    if how is None:
        make_member(guild, "bad", *flags)
    else:
        make_http_member(guild, "bad", *flags, *how)


@pytest.mark.parametrize("how", [None, *OVER_HTTP], ids=["pipes", "json", "events"])
def test_an_answer_beyond_the_limit_is_a_result_that_names_the_member(tmp_path: Path, how: list[str] | None) -> None:
    make_talkative(tmp_path / "guild", how, "--huge", str(TOO_MUCH))
    with RawServer("--guild", str(tmp_path / "guild"), "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        result = server.request_whatever_is_told(1, "tools/call", call("bad__echo"))["result"]
        server.close_input()
        assert server.wait() == 0
        assert b"Traceback" not in server.errors_so_far()
    said = "bad: the server's answer was not read: it is larger than 16777216 bytes"
    assert result == {"content": [{"type": "text", "text": said}], "isError": True}


@pytest.mark.parametrize("how", OVER_HTTP, ids=["json", "events"])
def test_a_list_beyond_the_limit_is_told_in_one_line(tmp_path: Path, how: list[str]) -> None:
    make_http_member(tmp_path / "guild", "bad", "--huge-list", str(TOO_MUCH), *how)
    ran = run_context("guild", "refresh", "--guild", str(tmp_path / "guild"), cwd=tmp_path, env={"HOME": str(tmp_path)})
    said = ran.stdout.decode().strip()
    assert said == "bad: error: the server's answer was not read: it is larger than 16777216 bytes"
    assert b"Traceback" not in ran.stderr


async def test_an_answer_to_the_string_of_a_number_is_not_the_numbers(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--string-ids", "--progress", "2", "--only", "echo", toolTimeoutSeconds=0.5)
    told = []

    async def tell(*progress: Any) -> None:
        told.append(progress)

    async with opened(tmp_path) as manager:
        with pytest.raises(MemberError) as raised:
            await manager.invoke_tool("bad", "echo", {}, tell)
        said = "the server did not answer tools/call within 0.5 s, but printed what is no message"
        assert raised.value.detail == said
        assert told == []
        assert await is_well(manager)


@pytest.mark.parametrize(
    ("status", "kind", "body", "sentence"),
    [
        (401, "text/html", b"<h1>Who are you?</h1>", "the server answered with HTTP status 401"),
        (503, "text/plain", b"later", "the server answered with HTTP status 503"),
        (200, "text/html", b"<h1>Welcome!</h1>", "the server gave no MCP answer over HTTP"),
        (200, "application/json", b"{", "the server gave no MCP answer over HTTP"),
    ],
)
async def test_a_url_that_answers_with_something_else_than_mcp_is_told(
    tmp_path: Path, status: int, kind: str, body: bytes, sentence: str
) -> None:
    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        make_url_member(tmp_path / "guild", server.server_port)
        async with opened(tmp_path) as manager:
            assert (await failure(manager)).detail == sentence
            assert await is_well(manager)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_server_that_knows_no_handshake_is_spoken_with_in_its_own_era(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--modern", "--progress", "2")
    steps: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)

    async with opened(tmp_path) as manager:
        await manager.refresh_tool_caches()
        assert [each["name"] for each in manager.roster["bad"].tools] == ["tool_0", "echo"]
        result = await manager.invoke_tool("bad", "echo", {"text": "hello"}, note)
        assert json.loads(result["content"][0]["text"]) == {"text": "hello"}
        await until(lambda: steps == [1.0, 2.0])


async def test_of_progress_that_piles_up_only_the_newest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PROGRESS_SECONDS", 60)
    make_member(tmp_path / "guild", "bad", "--progress", "30")
    steps: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)
        await asyncio.sleep(2 if len(steps) == 1 else 0)

    async with opened(tmp_path) as manager:
        await manager.invoke_tool("bad", "echo", {}, note)
        assert steps[-15:] == [*range(16, 31)]
        assert len(steps) <= 17


async def test_a_caller_that_does_not_listen_to_progress_gets_its_answer(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "bad", "--progress", "30")
    steps: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)
        await asyncio.Event().wait()

    async with opened(tmp_path) as manager:
        assert await manager.invoke_tool("bad", "echo", {}, note)
        assert len(steps) == 1


async def test_a_value_that_was_printed_in_two_colours_is_not_quoted_of_a_call_that_hangs(tmp_path: Path) -> None:
    say = r'printf "${TOKEN%-*}\033[0m-${TOKEN#*-}\n" >&2'
    hangs = "while read -r b; do :; done"
    launch = {"env": {"TOKEN": "${OUTER}"}, "toolTimeoutSeconds": 0.5}
    make_script(tmp_path / "guild", f"read -r a; {say}; {SAY_HELLO}; {hangs}", **launch)
    async with opened(tmp_path, OUTER="s3cret-V4lue") as manager:
        error = await failure(manager)
    assert error.sentence == "the server did not answer tools/call within 0.5 s (its last words: ${OUTER})"


# What is too much to read, and who asks too much:


DENSE = b"[" + b"0," * 400_000 + b"0]"
ID_INSIDE = b'{"a":{"id":66},"b":%b,"c":{"d":1,"id":77}}'


@pytest.mark.parametrize(
    ("answer", "pinned_on"),
    [
        (b'{"jsonrpc":"2.0","id":7,"error":%b}', 7),
        (b' { "id" : 7 , "error":%b,"jsonrpc":"2.0"}', 7),
        (b'{"error":%b,"id":7}', 7),
        (b'{"jsonrpc":"2.0","error":%b , "id": 7 }', 7),
        (b'{"error":%b,"id":7,"jsonrpc":"2.0"}', 7),
        (b'{"jsonrpc":"2.0","error":%b}', None),
        (b'{"jsonrpc":"2.0","id":"x","error":%b}', None),
        (b'{"jsonrpc":"2.0","id":7,"method":"roots/list","params":%b}', None),
        (b'{ "id": 7, "jsonrpc": "2.0", "method": "roots/list", "params":%b}', None),
        (b'{"jsonrpc":"2.0","method":"roots/list","params":%b,"id":7}', None),
    ],
)
@pytest.mark.parametrize("is_long", [False, True], ids=["dense", "long"])
def test_an_answer_that_is_not_read_is_pinned_on_its_own_id(
    answer: bytes, pinned_on: int | None, *, is_long: bool
) -> None:
    line = answer % (ID_INSIDE % DENSE)
    if is_long:
        (found,) = LineSplitter(1000, ends=200).feed(line + b"\n")
        assert isinstance(found, Ends)
        line = found
    message = decoded(line)
    assert (message.id if isinstance(message, Response) and message.error is not None else None) == pinned_on


async def test_who_asks_and_does_not_read_the_answers_gets_no_more_of_them(tmp_path: Path) -> None:
    """A thousand requests are more than are kept; the call after them is answered all the same."""
    question = """'{"jsonrpc":"2.0","id":'$i',"method":"roots/list"}'"""
    ask = f"i=0; while [ $i -lt 1000 ]; do echo {question}; i=$((i+1)); done"
    answer = """echo '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'"""
    call = f'while read -r b; do case "$b" in *tools/call*) {answer};; esac; done'
    make_script(tmp_path / "guild", f"read -r a; {SAY_HELLO}; {ask}; {call}")
    async with opened(tmp_path) as manager:
        assert await manager.invoke_tool("bad", "echo", {}) == {"content": []}
        assert await is_well(manager)

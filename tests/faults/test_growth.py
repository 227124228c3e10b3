"""One message, however it is made, costs the hall a bounded amount of memory, and a connection costs a bounded wait.

The bounded form sends a third of what the long one does, which is still far more than the bounds permit.
"""

import asyncio
import gzip
import json
import re
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from benchmarks.load import QUESTIONS, Pipe, Question, Watched, Web, furnish, served
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.caches.making import build_cache
from tests.faults.scale import record, scaled
from tests.guild.making import make_http_member, make_member, tool, write_cache
from uvicorn.server import ServerState

from contexthall.core import limits
from contexthall.core.wire import has_too_many_values
from contexthall.faces.mcp.sessions import Sessions
from contexthall.faces.web import connections
from contexthall.faces.web.connections import BoundedConnection
from contexthall.hall import open_hall

PING = QUESTIONS[0]
MOST_GROWTH = 96 << 20
MOST_COPIES = 7
"""How often an answer stands in memory at once."""
MUCH = scaled(100_000, 100_000, 333_333)
HEAD = "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"


def call(tool_name: str, arguments: str) -> bytes:
    params = f'{{"name":{json.dumps(tool_name)},"arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":"hostile","method":"tools/call","params":{params}}}'.encode()


MESSAGES: dict[str, Callable[[], bytes]] = {
    "a query of one word": lambda: call(
        "context.resolve", f'{{"cache":"many","query":"{"a" * (30 * MUCH)}","budget":9}}'
    ),
    "a query of many words": lambda: call(
        "context.resolve", f'{{"cache":"many","query":"{"a " * (15 * MUCH)}","budget":99999}}'
    ),
    "a query told with every document": lambda: call(
        "context.resolve", f'{{"cache":"many","query":"{"a " * 200_000}","budget":99999}}'
    ),
    "a query of other words": lambda: call(
        "context.resolve", f'{{"cache":"many","query":"{" ".join(map(str, range(3 * MUCH)))}","budget":9}}'
    ),
    "a budget of many digits": lambda: call(
        "context.resolve", f'{{"cache":"many","query":"a","budget":{"9" * (30 * MUCH)}}}'
    ),
    "objects": lambda: call("context.resolve", '{"cache":[' + "{}," * (15 * MUCH) + "{}]}"),
    "lists": lambda: call("query_context", '{"scope":"","filter":[' + "[]," * (15 * MUCH) + "[]]}"),
    "numbers": lambda: call("query_context", '{"scope":"","filter":[' + "1," * (20 * MUCH) + "1]}"),
    "as many numbers as may be": lambda: call(
        "query_context", '{"scope":"","filter":[' + "1," * (limits.JSON_VALUES - 9) + "1]}"
    ),
    "as many names as may be": lambda: call(
        "query_context", '{"scope":"","filter":[' + '"x",' * (limits.JSON_VALUES - 9) + "1]}"
    ),
    "unknown arguments": lambda: call("context.list_caches", json.dumps(dict.fromkeys(map(str, range(3 * MUCH)), 1))),
    "as many unknown arguments as may be": lambda: call(
        "context.list_caches", json.dumps(dict.fromkeys(map(str, range(limits.JSON_VALUES - 9)), 1))
    ),
    "brackets": lambda: b"[" * (45 * MUCH),
    "nested objects": lambda: b'{"a":' * (9 * MUCH),
    "a string without an end": lambda: b'{"a":"' + b'\\"' * (20 * MUCH),
    "escapes": lambda: call("context.resolve", '{"cache":"many","query":"' + "\\ud800" * (7 * MUCH) + '","budget":9}'),
    "a scope": lambda: call("query_context", f'{{"scope":"{"a/" * (20 * MUCH)}"}}'),
    "a scope that climbs": lambda: call("check_freshness", f'{{"scope":"{"../" * 300_000}"}}'),
    "a path": lambda: call("list_contexts", f'{{"path":"{"/a" * (20 * MUCH)}"}}'),
    "a root": lambda: call("context.list_caches", f'{{"root":"{"/a" * (20 * MUCH)}"}}'),
    "a cache": lambda: call("context.inspect_cache", f'{{"cache":"{"a/" * (20 * MUCH)}"}}'),
    "the name of a tool": lambda: call("x" * (45 * MUCH), "{}"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    furnish(tmp_path)
    build_cache(tmp_path / ".context" / "caches", {f"{number}.md": "a b c" for number in range(1000)}, name="many")
    return tmp_path


@pytest.mark.parametrize(
    ("tool_name", "argument", "refusal"),
    [
        ("list_contexts", "path", "Invalid argument 'path': longer than 4194304 characters"),
        ("list_contexts", "under", "Invalid argument 'under': longer than 4194304 characters"),
        ("check_freshness", "scope", "Invalid argument 'scope': longer than 4194304 characters"),
        ("query_context", "scope", "Invalid argument 'scope': longer than 4194304 characters"),
        ("context.list_caches", "root", "cache_missing"),
        ("context.inspect_cache", "cache", "cache_missing"),
    ],
)
def test_what_is_longer_than_any_path_is_refused_and_not_repeated(
    tool_name: str, argument: str, refusal: str, tmp_path: Path
) -> None:
    hall = open_hall(str(tmp_path))
    result = asyncio.run(
        hall.catalog.call(tool_name, {argument: "/a" * (limits.PATH_CHARACTERS // 2 + 1)}, hall.caller)
    )
    assert (result.is_error, refusal in result.text, len(result.text) < 200) == (True, True, True)


def test_no_message_over_pipes_makes_the_hall_grow_beyond_bounds(home: Path) -> None:
    async def try_all() -> None:
        async with asyncio.timeout(55), Pipe.opened(home, "--confine", guild=False) as pipe:
            watched, most = Watched(pipe.process.pid), 0
            assert pipe.process.stdin is not None
            for question in QUESTIONS:
                await pipe.ask(question)
            for name, message in MESSAGES.items():
                watched.forget_peak()
                before = watched.look().resident
                pipe.process.stdin.write(message() + b"\n")
                answer = await pipe.receive()
                assert answer["id"] in {"hostile", None}, name
                assert answer.get("result", {}).get("isError", True), name
                assert watched.peak - before < MOST_GROWTH, name
                assert (await pipe.ask(PING))["result"] == {}
                most = max(most, watched.peak - before)
            record("load", "growth by one hostile message over stdio, at most", f"{most / 1e6:.0f} MB")

    asyncio.run(try_all())


@pytest.mark.long
def test_no_message_over_http_makes_the_hall_grow_beyond_bounds(home: Path) -> None:
    async def try_all() -> None:
        async with asyncio.timeout(55), served(home) as (url, watched):
            client, most = Web(url), 0
            await client.open()
            for question in QUESTIONS:
                await client.ask(question)
            for name, message in MESSAGES.items():
                watched.forget_peak()
                before = watched.look().resident
                _, body = await client._exchange(message())
                assert b'"error' in body or b'"isError":true' in body, name
                assert watched.peak - before < MOST_GROWTH, name
                assert (await client.ask(PING))["result"] == {}
                most = max(most, watched.peak - before)
            await client.hang_up()
            record("load", "growth by one hostile message over HTTP, at most", f"{most / 1e6:.0f} MB")

    asyncio.run(try_all())


def test_the_largest_answer_that_there_is_has_its_bound_too(home: Path) -> None:
    # A thousand times the question: each document comes with all its words.
    query = "a " * scaled(5000, 5000, 16_000)
    question = Question(
        "tools/call", {"name": "context.resolve", "arguments": {"cache": "many", "query": query, "budget": 99_999}}
    )

    async def ask() -> None:
        async with asyncio.timeout(55), Pipe.opened(home, "--confine", guild=False) as pipe:
            watched = Watched(pipe.process.pid)
            await pipe.ask(PING)
            watched.forget_peak()
            before = watched.look().resident
            result = (await pipe.ask(question))["result"]
            size = len(result["content"][0]["text"])
            assert not result["isError"]
            assert size > 1500 * len(query)
            assert watched.peak - before < MOST_COPIES * size
            record("load", f"growth by an answer of {size / 1e6:.0f} MB", f"{(watched.peak - before) / 1e6:.0f} MB")

    asyncio.run(ask())


def make_answering(tmp_path: Path, result: str) -> None:
    (tmp_path / "result.json").write_text(result)
    flags = ("--result-file", str(tmp_path / "result.json"))
    write_cache(make_member(tmp_path / "guild", "zoo", *flags, toolTimeoutSeconds=600), tool("echo"))


def test_an_answer_of_a_member_that_is_too_long_is_an_error_at_once(tmp_path: Path) -> None:
    make_answering(tmp_path, '{"content":[{"type":"text","text":"' + "x" * (17 << 20) + '"}]}')

    async def ask() -> None:
        async with asyncio.timeout(50), Pipe.opened(tmp_path) as pipe:
            answer = await pipe.ask(Question("tools/call", {"name": "zoo__echo", "arguments": {}}))
            assert answer["result"]["isError"]
            assert answer["result"]["content"][0]["text"].startswith("zoo: the server's answer was not read: it ")
            assert "bytes" in answer["result"]["content"][0]["text"]

    asyncio.run(ask())


def test_an_answer_of_a_member_with_any_number_of_values_passes_without_being_parsed(tmp_path: Path) -> None:
    result = '{"content":[],"structuredContent":{"x":[' + "{}," * 500_000 + "{}]}}"
    make_answering(tmp_path, result)

    async def ask() -> None:
        async with asyncio.timeout(50), Pipe.opened(tmp_path) as pipe:
            question = Question("tools/call", {"name": "zoo__echo", "arguments": {}})
            await pipe.ask(question)
            watched = Watched(pipe.process.pid)
            watched.forget_peak()
            before = watched.look().resident
            assert (await pipe.ask(question))["result"] == json.loads(result)
            assert watched.peak - before < MOST_COPIES * len(result)

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("flags", "complaint"), [(("--huge", str(17 << 20)), "larger"), (("--packed", "--huge", "9"), "compressed")]
)
def test_an_answer_over_http_that_is_too_much_is_an_error_at_once(
    tmp_path: Path, flags: tuple[str, ...], complaint: str
) -> None:
    write_cache(make_http_member(tmp_path / "guild", "zoo", *flags, toolTimeoutSeconds=600), tool("echo"))

    async def ask() -> None:
        async with asyncio.timeout(50), Pipe.opened(tmp_path) as pipe:
            answer = await pipe.ask(Question("tools/call", {"name": "zoo__echo", "arguments": {}}))
            assert complaint in answer["result"]["content"][0]["text"]

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[" + b"1," * 9 + b"1]", False),
        (b"[" + b"1," * 10 + b"1]", True),
        (b'["' + b"," * 100 + b'"]', False),
        (b'["' + b'\\",' * 100 + b'"]', False),
        (b'["a",' + b"{}," * 5 + b"1]", True),
        (b'"' * 1001 + b"," * 10, False),
        (b'{"[,":"[,"' + b',"[,":"[,"' * 9 + b"}", False),
        (b'{"[,":"[,"' + b',"[,":"[,"' * 10 + b"}", True),
    ],
)
def test_only_values_count_and_not_what_stands_in_strings(data: bytes, expected: bool) -> None:
    assert has_too_many_values(data, 10) is expected


def test_what_has_more_strings_than_json_could_have_is_not_looked_at_to_its_end() -> None:
    assert has_too_many_values(b'"[" ' * 400_000)


# What HTTP allows besides:


async def exchange(url: str, *parts: bytes | str) -> bytes:
    """Say something over a connection of its own, and give all that comes back until its end."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        for part in parts:
            writer.write(part if isinstance(part, bytes) else part.encode())
            await writer.drain()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def test_requests_that_break_the_rules_of_http_are_refused_and_the_hall_goes_on(home: Path) -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    message = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    async def try_all() -> None:
        async with asyncio.timeout(55), served(home) as (url, watched):
            client = Web(url)
            await client.open()
            head = f"{HEAD}Host: {urlsplit(url).netloc}\r\n"
            closing = f"{head}Connection: close\r\n"
            watched.forget_peak()
            before = watched.look().resident
            packed = f"{closing}Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n"
            assert b" 400 " in await exchange(url, packed, bomb)
            assert b" 413 " in await exchange(url, f"{closing}Content-Length: {1 << 40}\r\n\r\n")
            assert b" 400 " in await exchange(url, f"{closing}Content-Length: 2\r\n\r\n", message)
            # Who is still sending when the refusal comes may not get to read it.
            for never_ending in ("X-Long: " + "x" * (1 << 20), "X: y\r\n" * 100_000):
                assert (await exchange(url, head, never_ending, "\r\n\r\n")).partition(b" ")[2][:3] in {b"400", b""}
            endless = [b"100000\r\n" + b" " * (1 << 20) + b"\r\n"] * 17
            refused = await exchange(url, f"{closing}Transfer-Encoding: chunked\r\n\r\n", *endless)
            assert refused.partition(b" ")[2][:3] in {b"413", b""}
            assert watched.peak - before < MOST_GROWTH
            assert (await client.ask(PING))["result"] == {}
            await client.hang_up()

    asyncio.run(try_all())


def test_a_flood_of_connections_leaves_descriptors_for_those_who_are_served(home: Path) -> None:
    async def flood() -> None:
        async with asyncio.timeout(55), served(home) as (url, watched):
            resource.prlimit(int(watched._place.name), resource.RLIMIT_NOFILE, (128, 128))
            client, place = Web(url), urlsplit(url)
            await client.open()
            opened = [await asyncio.open_connection(place.hostname, place.port) for _ in range(200)]
            assert (await client.ask(QUESTIONS[5]))["result"]["isError"] is False
            assert watched.look().descriptors < 128
            for _, writer in opened:
                writer.transport.abort()
            late = Web(url)
            await late.open()
            assert (await late.ask(PING))["result"] == {}
            await late.hang_up()
            await client.hang_up()

    asyncio.run(flood())


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(0, 1), (7, 1), (8, 2), (1023, 255), (1024, 256), (1 << 20, 256), (resource.RLIM_INFINITY, 256)],
)
def test_a_quarter_of_the_descriptors_is_for_connections_but_256_at_most(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (descriptors, resource.RLIM_INFINITY))
    assert connections.most_connections() == most


def test_so_many_connections_are_served_as_many_more_are_told_and_the_rest_turned_away(home: Path) -> None:
    """A real hall that may open 64 files: 16 connections, 16 more that get a 503, and not one beyond them."""
    most = 16

    async def connect() -> None:
        async with asyncio.timeout(55), served(home) as (url, watched):
            resource.prlimit(int(watched._place.name), resource.RLIMIT_NOFILE, (4 * most, 4 * most))
            place = urlsplit(url)
            request = f"GET /healthz HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()

            async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                return await asyncio.open_connection(place.hostname, place.port)

            async def status(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
                reader, writer = streams
                with suppress(ConnectionError):
                    writer.write(request)
                    return (await reader.readline())[9:12]
                return b""

            # Let in one after the other: who is turned away, has all who came before counted.
            everybody = [await connected() for _ in range(2 * most + 1)]
            turned_away = await status(everybody[-1])
            told = [await status(each) for each in everybody[:-1]]
            for _, writer in everybody:
                writer.transport.abort()
            assert turned_away == b""
            assert told == [b"200"] * most + [b"503"] * most

    asyncio.run(connect())


@pytest.mark.parametrize("most", [1, 3])
def test_the_bound_on_connections_is_exact(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(limits, "HTTP_CONNECTIONS", most)
    monkeypatch.setattr(limits, "HTTP_SURPLUS_SECONDS", 60.0)
    request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    async def begin() -> None:
        async with listening(echoing_nothing) as (url, state):
            held = []
            for number in range(2 * most):
                held.append(await asyncio.open_connection("127.0.0.1", urlsplit(url).port))
                while len(state.connections) <= number:
                    await asyncio.sleep(0.01)
            turned_away, told = await exchange(url, request), []
            for reader, writer in held:
                writer.write(request.encode())
                told.append((await reader.readline())[9:12])
                writer.transport.abort()
            assert turned_away == b""
            assert told == [b"200"] * most + [b"503"] * most

    asyncio.run(begin())


def test_only_so_many_pages_listen_and_one_that_leaves_makes_room(home: Path) -> None:
    async def listen() -> None:
        async with asyncio.timeout(55), served(home) as (url, _):
            place = urlsplit(url)
            request = f"GET /api/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()

            async def page() -> tuple[bytes, asyncio.StreamWriter]:
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
                writer.write(request)
                return await reader.readline(), writer

            pages = [await page() for _ in range(limits.EVENT_STREAMS)]
            assert {status for status, _ in pages} == {b"HTTP/1.1 200 OK\r\n"}
            status, late = await page()
            assert b" 503 " in status
            pages[0][1].transport.abort()
            while b" 503 " in status:
                late.transport.abort()
                status, late = await page()
            assert b" 200 " in status
            for _, writer in (*pages, (status, late)):
                writer.transport.abort()

    asyncio.run(listen())


def test_a_session_that_is_left_makes_room_first_and_one_in_use_never_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_SESSIONS", 2)
    now = 0.0
    sessions = Sessions[str](lambda: now)
    used, _ = sessions.open("used"), sessions.open("left")
    for _ in range(2):
        with sessions.used(used):
            pass
    assert not sessions.open("late")
    now += limits.UNUSED_SESSION_SECONDS
    late = sessions.open("late")
    assert list(sessions) == ["used", "late"]
    with sessions.used(late):
        assert not sessions.open("later")
        now += limits.USED_SESSION_SECONDS
        with sessions.used(used):
            assert not sessions.open("later")
        now += limits.USED_SESSION_SECONDS
        assert sessions.open("later")
        assert list(sessions) == ["late", "later"]


def test_a_session_that_nobody_uses_lapses() -> None:
    now = 0.0
    sessions = Sessions[str](lambda: now)
    session_id = sessions.open("held")
    with sessions.used(session_id):
        now += limits.SESSION_IDLE_SECONDS
        with sessions.used(session_id) as held:
            assert held == "held"
    now += limits.SESSION_IDLE_SECONDS
    with sessions.used(session_id) as held:
        assert held is None
    assert list(sessions) == []


# How long a client may take, with less patience:


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[tuple[str, ServerState]]:
    config, state = uvicorn.Config(app, http=BoundedConnection, lifespan="off", log_config=None), ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BoundedConnection(config, state, {}), "127.0.0.1", 0)
    async with asyncio.timeout(30), server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", state


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body, and answer with much."""
    del scope
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"50000000")]})
    for _ in range(50):
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("patience", "said"),
    [
        ("HTTP_HEAD_SECONDS", ""),
        ("HTTP_HEAD_SECONDS", "GET / HT"),
        ("HTTP_BODY_SECONDS", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"),
        ("HTTP_BODY_SECONDS", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx"),
    ],
)
def test_whoever_does_not_end_its_request_is_let_go(monkeypatch: pytest.MonkeyPatch, patience: str, said: str) -> None:
    monkeypatch.setattr(limits, patience, 0.1)

    async def begin() -> None:
        async with listening(answering) as (url, state):
            assert await exchange(url, said) == b""
            assert not state.connections

    asyncio.run(begin())


async def echoing_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body, and answer with nothing."""
    del scope
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_whoever_does_not_end_a_request_that_it_sent_with_the_one_before_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "HTTP_BODY_SECONDS", 0.1)
    said = "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\nPOST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"

    async def begin() -> None:
        async with listening(echoing_nothing) as (url, state):
            assert (await exchange(url, said)).count(b"HTTP/1.1 ") == 1
            assert not state.connections

    asyncio.run(begin())


async def repeating(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what was read: the path, the names in the head, and the body."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    names = b" ".join(name for name, _ in scope["headers"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"<%b %b %b>" % (scope["path"].encode(), names, body)})


@pytest.mark.parametrize(
    ("said", "read"),
    [
        # Another protocol is not spoken: the body is still one of HTTP, however the bytes come.
        (["POST /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi"], [b"/a hi"]),
        (["POST /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n", "hi"], [b"/a hi"]),
        # What stands behind the chunks is no part of the head.
        (["POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nHost: x\r\n\r\n"], [b"/a hi"]),
        # A request that does not wait for the answer to the one before is not read.
        (["GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"], [b"/a "]),
        (["GET /a HTTP/1.1\r\n\r\nthis is no HTTP"], [b"/a "]),
        (["GET /a HTTP/1.1\r\n\r\n", "GET /b HTTP/1.0\r\n\r\n"], [b"/a ", b"/b "]),
        # Nor one to somebody else.
        (["GET http://evil.example/a HTTP/1.1\r\n\r\n"], []),
        (["CONNECT /a HTTP/1.1\r\n\r\n"], []),
    ],
)
def test_only_a_request_is_read_as_one(monkeypatch: pytest.MonkeyPatch, said: list[str], read: list[bytes]) -> None:
    monkeypatch.setattr(limits, "HTTP_HEAD_SECONDS", 0.5)

    async def begin() -> None:
        async with listening(repeating) as (url, state):
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            for part in said:
                writer.write(part.encode())
                await asyncio.sleep(0.1)
            writer.write_eof()
            received = await reader.read()
            writer.transport.abort()
            seen = [each.split(b" ") for each in re.findall(rb"<(.*?)>", received)]
            assert [b"%b %b" % (path, body) for path, *_, body in seen] == read
            assert not any(b"host" in names for _, *names, _ in seen)
            assert not state.connections

    asyncio.run(begin())


def test_what_is_no_body_is_bounded_wherever_it_stands() -> None:
    much = b"x" * (limits.HTTP_HEAD_BYTES + 1)
    chunked = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def begin() -> None:
        async with listening(repeating) as (url, _):
            for said in (
                b"GET /" + much,
                b"GET / HTTP/1.1\r\nX: " + much,
                b"GET / HTTP/1.1\r\n" + much,
                chunked + b"1;" + much,
                chunked + b"0\r\nX: " + much,
                chunked + b"0\r\n" + b"X: y\r\n" * (limits.HTTP_HEAD_BYTES // 6 + 1),
                chunked + b"1\r\nx\r\n" * (limits.HTTP_HEAD_BYTES // 4),
            ):
                assert (await exchange(url, said))[:12] in {b"HTTP/1.1 400", b""}, said[:60]

    asyncio.run(begin())


def test_whoever_reads_nothing_of_its_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_READING_SECONDS", 0.2)

    async def begin() -> None:
        async with listening(answering) as (url, state):
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readline()
            while state.connections or state.tasks:
                await asyncio.sleep(0.02)
            writer.transport.abort()

    asyncio.run(begin())


def test_one_connection_too_many_is_told_so_and_the_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_CONNECTIONS", 1)
    request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    async def begin() -> None:
        async with listening(answering) as (url, state):
            first, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            while not state.connections:
                await asyncio.sleep(0.01)
            assert b" 503 " in await exchange(url, request)
            writer.write(request.encode())
            assert len(await first.read()) > 50_000_000
            writer.transport.abort()

    asyncio.run(begin())

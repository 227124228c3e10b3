"""No web page of somebody else's, and nobody without the token, gets anything out of a hall that listens.

In raw bytes against a real `context serve --http`, because a library for clients would mend what an attacker would not.
"""

import hmac
import itertools
import os
import re
import select
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.faces.web.serving import HttpHall
from tests.faults.scale import record
from tests.faults.traversal import AT_PROJECT, FORMS, THERE, Ground

from contexthall.faces.cli.table import run
from contexthall.faces.web.guard import Guard, HostNames

TOKEN = "correct-horse-battery-staple"
PATIENCE_SECONDS = 90.0
OPEN = {"/", "/static/main.js"}
PATHS = ("/", "/static/main.js", "/healthz", "/api/hall", "/api/events", "/api/guild", "/mcp", "/nothing")
_CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes
    answers: int
    """How many answers came."""


def talk(hall: HttpHall, request: bytes) -> Answer:
    """Send bytes, and read until the hall hangs up."""
    with socket.create_connection(_place(hall), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(request)
        received = b""
        while chunk := _receive(connection):
            received += chunk
    return _parsed(received)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionResetError:  # of what was sent, something was not read
        return b""


def _place(hall: HttpHall) -> tuple[str, int]:
    host, _, port = hall.url.removeprefix("http://").rpartition(":")
    return host.strip("[]"), int(port)


def _parsed(received: bytes) -> Answer:
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1]) if lines[0].startswith("HTTP/1.1 ") else 0
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return Answer(status, headers, body, len(re.findall(rb"HTTP/1\.1 \d\d\d ", received)))


def ask(
    hall: HttpHall, path: str, *headers: str, method: str = "GET", host: str | None = "", body: bytes = b""
) -> Answer:
    """Ask for one answer; the empty host stands for the right one, None for none."""
    right = hall.url.removeprefix("http://")
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host or right}"] if host is not None else []), *headers]
    lines += ["Connection: close", f"Content-Length: {len(body)}"]
    return talk(hall, "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def hall(home: Path) -> Iterator[HttpHall]:
    """A hall that wants no token."""
    (home / "guild").mkdir(exist_ok=True)
    with HttpHall("--guild", "guild", cwd=home) as served:
        yield served


@pytest.fixture(scope="module")
def locked(home: Path) -> Iterator[HttpHall]:
    """A hall that wants one."""
    with HttpHall("--token", TOKEN, cwd=home) as served:
        yield served


@pytest.fixture(scope="module")
def anywhere(home: Path) -> Iterator[HttpHall]:
    """A hall that listens at every address of the machine; its Host may be any address, and no name."""
    with HttpHall("--token", TOKEN, cwd=home, http="0.0.0.0:0") as served:
        yield served


HOSTS = (
    """
evil.example|evil.example:PORT|localhost|127.0.0.1|localhost:1|127.0.0.1:1|127.0.0.1:80|127.0.0.1.evil.example:PORT
localhost.evil.example:PORT|evil.example.localhost:PORT|127.0.0.1:PORT.evil.example|localhost.:PORT|127.0.0.1.:PORT
127.1:PORT|127.0.1:PORT|2130706433:PORT|0x7f000001:PORT|0x7f.0.0.1:PORT|0177.0.0.1:PORT|017700000001:PORT
0.0.0.0:PORT|0:PORT|[::]:PORT|[::ffff:127.0.0.1]:PORT|[::ffff:7f00:1]:PORT|[0:0:0:0:0:0:0:1]:PORT|[::1%25lo]:PORT
::1:PORT|[::1|127.0.0.1:PORT:PORT|user@127.0.0.1:PORT|127.0.0.1:PORT@evil.example|evil.example#127.0.0.1:PORT
evil.example/127.0.0.1:PORT|127.0.0.1:PORT/|127.0.0.1:PORT?|127.0.0.1:PORT#|127.0.0.1:PORT,evil.example
127.0.0.1:PORT evil.example|127.0.0.1:0PORT|127.0.0.1:+PORT|127.0.0.1: PORT|http://127.0.0.1:PORT|//127.0.0.1:PORT
*|*:PORT|null|-|.|:PORT|"127.0.0.1:PORT"|127.0.0.2:PORT|10.0.0.1:PORT|host.docker.internal:PORT|localtest.me:PORT
127.0.0.1.nip.io:PORT|ⓛocalhost:PORT|１２７.0.0.1:PORT|127。0。0。1:PORT|loca\u0131host:PORT|localhost\u200b:PORT
xn--localhost-:PORT|localhost%00:PORT|localhost%2eevil.example:PORT|127.0.0.1%0a:PORT
""".encode()
    .decode("unicode_escape")
    .encode("latin-1")
    .decode()
    .replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("path", PATHS)
def test_no_other_name_leads_to_the_hall(path: str, hall: HttpHall) -> None:
    port = hall.url.rpartition(":")[2]
    for host in HOSTS:
        answer = ask(hall, path, host=host.replace("PORT", port))
        assert answer.status in {400, 403}, host
        assert b"writeToken" not in answer.body


def test_a_name_that_is_made_to_lead_here_is_refused_at_every_address(anywhere: HttpHall) -> None:
    port = anywhere.url.rpartition(":")[2]
    names = [host for host in HOSTS if not re.match(r"(127|10|0)\.|\[", host)]
    for host in names:
        answer = ask(anywhere, "/api/hall", f"Authorization: Bearer {TOKEN}", host=host.replace("PORT", port))
        assert answer.status in {400, 403}, host
    assert ask(anywhere, "/api/hall", f"Authorization: Bearer {TOKEN}").status == 200
    assert ask(anywhere, "/api/hall").status == 401


def test_a_request_without_a_host_or_with_two_is_refused(hall: HttpHall) -> None:
    right = hall.url.removeprefix("http://")
    for head in (
        "GET /api/hall HTTP/1.0\r\n\r\n",
        "GET /api/hall HTTP/1.1\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost: {right}\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost: evil.example\r\nHost: {right}\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost: {right}\r\nHost: {right}\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.0\r\nHost: evil.example\r\nX-Forwarded-Host: {right}\r\n\r\n",
        f"GET http://{right}/api/hall HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        f"GET http://evil.example/api/hall HTTP/1.1\r\nHost: {right}\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost: {right}\r\n evil.example\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost : {right}\r\nConnection: close\r\n\r\n",
        f"GET /api/hall HTTP/1.1\r\nHost: evil.example\r\nForwarded: host={right}\r\nConnection: close\r\n\r\n",
        "GET /api/hall\r\n\r\n",
    ):
        answer = talk(hall, head.encode())
        assert answer.status in {0, 400, 403, 404}, head
        assert b"writeToken" not in answer.body, head


def test_blanks_around_a_value_are_no_part_of_it(hall: HttpHall) -> None:
    right = hall.url.removeprefix("http://")
    assert ask(hall, "/healthz", "Sec-Fetch-Site: \t same-origin \t", host=f" {right} \t").status == 200


def test_what_a_proxy_would_say_widens_nothing(hall: HttpHall) -> None:
    for name in ("X-Forwarded-Host", "X-Host", "X-Original-Host", "X-Forwarded-Server", "Forwarded"):
        assert ask(hall, "/api/hall", f"{name}: {hall.url}", host="evil.example").status == 403
    for name in ("X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override"):
        assert ask(hall, "/nothing", f"{name}: /api/hall").status == 404


ORIGINS = (
    """
null|http://evil.example|https://127.0.0.1:PORT|http://127.0.0.1|http://127.0.0.1:1|http://localhost|http://localhost:1
http://127.0.0.1:PORT.evil.example|http://127.0.0.1:PORT@evil.example|http://user@127.0.0.1:PORT|http://127.0.0.1:PORT/
http://127.0.0.1:PORT/x|http://127.0.0.1:PORT#x|http://127.0.0.1:PORT?x|http://127.0.0.1:PORT http://evil.example
http://evil.example http://127.0.0.1:PORT|http://127.0.0.1:PORT,http://evil.example|http://localhost.:PORT|file://
file:///|chrome-extension://abcdef|moz-extension://abcdef|ws://127.0.0.1:PORT|ftp://127.0.0.1:PORT|//127.0.0.1:PORT
127.0.0.1:PORT|http:127.0.0.1:PORT|http:/127.0.0.1:PORT|http:///127.0.0.1:PORT|http://127.1:PORT|http://2130706433:PORT
http://0x7f000001:PORT|http://0177.0.0.1:PORT|http://0.0.0.0:PORT|http://[::ffff:127.0.0.1]:PORT|http://[::]:PORT
http://127.0.0.1:0PORT|http://127.0.0.2:PORT|http://evil.example://127.0.0.1:PORT|javascript:alert(1)|data:|about:blank
blob:http://127.0.0.1:PORT/x|*|undefined|http://localhost%00:PORT|http://localhost\t:PORT|http://xn--localhost:PORT
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("path", ["/", "/api/hall", "/mcp", "/api/guild/refresh"])
def test_a_page_of_another_origin_gets_nothing(path: str, hall: HttpHall) -> None:
    port = hall.url.rpartition(":")[2]
    for origin in [each.replace("PORT", port) for each in ORIGINS]:
        for method, body in (("GET", b""), ("POST", _CALL), ("OPTIONS", b"")):
            answer = ask(hall, path, f"Origin: {origin}", "Content-Type: text/plain", method=method, body=body)
            assert answer.status in {400, 403}, (origin, method)
            assert not any(name.startswith("access-control-") for name in answer.headers)
    for origins in ([hall.url, "http://evil.example"], ["http://evil.example", hall.url], [hall.url, ""], [""]):
        assert ask(hall, "/api/hall", *(f"Origin: {origin}" for origin in origins)).status == 403, origins
    assert ask(hall, "/api/hall", f"Origin: {hall.url}").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "none, cross-site", "x", ""])
def test_a_request_that_a_foreign_page_caused_gets_nothing_but_the_page(site: str, hall: HttpHall) -> None:
    for path in ("/api/hall", "/api/events", "/api/guild", "/healthz", "/mcp"):
        for mode in ("no-cors", "navigate", "cors", "websocket"):
            assert ask(hall, path, f"Sec-Fetch-Site: {site}", f"Sec-Fetch-Mode: {mode}").status == 403
    assert ask(hall, "/api/hall", "Sec-Fetch-Site: none", f"Sec-Fetch-Site: {site}").status == 403
    assert ask(hall, "/", f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate").status == 200
    assert ask(hall, "/api/hall", "Sec-Fetch-Site: same-origin").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_what_a_form_can_send_does_nothing(kind: str, hall: HttpHall) -> None:
    for path in ("/mcp", "/api/guild/call", "/api/guild/refresh", "/api/guild/stop", "/api/guild/approve"):
        answer = ask(hall, path, f"Content-Type: {kind}", "Accept: */*", method="POST", body=_CALL)
        assert answer.status in {400, 403, 406, 415}, (path, answer)
    for path in ("/api/guild/call", "/api/guild/refresh"):
        for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"):
            assert ask(hall, path, method=method).status == 405, (path, method)


def test_writing_wants_the_token_of_this_very_hall(hall: HttpHall) -> None:
    right = hall.write_headers()["X-Hall-Write"]
    wrong = [
        "",
        right[:-1],
        right + "x",
        right.swapcase(),
        " ",
        "null",
        "undefined",
        "*",
        f"{right}, {right}",
        "é" * 43,
    ]
    answers = set()
    for each in wrong:
        headers = (f"X-Hall-Write: {each}", "Content-Type: application/json")
        answer = ask(hall, "/api/guild/refresh", *headers, method="POST", body=b"{}")
        assert answer.status == 403, each
        answers.add(answer.body)
    assert len(answers) == 1
    headers = (f"X-Hall-Write: {right}", "Content-Type: application/json")
    assert ask(hall, "/api/guild/refresh", *headers, method="POST", body=b"{}").status == 200


@pytest.mark.parametrize("path", [path for path in PATHS if path not in OPEN])
def test_no_guess_of_the_token_tells_how_near_it_was(path: str, locked: HttpHall) -> None:
    guesses = [
        "Bearer", "Bearer ", f"bearer{TOKEN}", f"Basic {TOKEN}", f"Token {TOKEN}", TOKEN, f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x", f"Bearer x{TOKEN}", f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}, Bearer {TOKEN}",
        f"Bearer {TOKEN} {TOKEN}", f"Bearer '{TOKEN}'", f'Bearer "{TOKEN}"', f"Bearer {TOKEN}%00", "Bearer null",
        "Bearer undefined", "Bearer *", "Bearer é", "Bearer \udcff\udcfe", f"Bearer {'x' * 30_000}", f"Bearer:{TOKEN}",
        f"Bearer {TOKEN[: len(TOKEN) // 2]}", "Bearer 0", "Bearer []", "Bearer {}", "Bearer true", "Digest x", "",
        f"Bear\u0435r {TOKEN}",
    ]  # fmt: skip
    told = {
        (answer.status, answer.body) for answer in (ask(locked, path, f"Authorization: {each}") for each in guesses)
    }
    told |= {(answer.status, answer.body) for answer in (ask(locked, path), *_elsewhere(locked, path))}
    assert len(told) == 1
    assert told.pop()[0] == 401


def _elsewhere(locked: HttpHall, path: str) -> Iterator[Answer]:
    """Give the right token where it does not belong."""
    yield ask(locked, f"{path}?token={TOKEN}")
    yield ask(locked, f"{path}?access_token={TOKEN}")
    yield ask(locked, f"{path}#token={TOKEN}")
    yield ask(locked, path, f"Cookie: token={TOKEN}")
    yield ask(locked, path, f"X-Token: {TOKEN}", f"Proxy-Authorization: Bearer {TOKEN}")
    yield ask(locked, path, "Authorization: Bearer wrong", f"Authorization: Bearer {TOKEN}")


def test_the_page_itself_holds_no_secret(locked: HttpHall) -> None:
    for path in OPEN:
        answer = ask(locked, path)
        assert answer.status == 200
        assert TOKEN.encode() not in answer.body
    assert ask(locked, "/api/hall", f"Authorization: Bearer {TOKEN}").status == 200


def test_the_token_is_told_once_and_never_logged(home: Path) -> None:
    with HttpHall("--token", TOKEN, cwd=home) as hall:
        for path in (f"/api/hall?token={TOKEN}", f"/{TOKEN}", f"/api/caches/document?cache={TOKEN}&id=x"):
            ask(hall, path, f"Authorization: Bearer {TOKEN}")
    assert hall.said.count(TOKEN.encode()) == 1


def test_a_token_is_compared_in_a_time_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(given: bytes, _right: bytes) -> bool:
        compared.append(given)
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for given in (b"Bearer x", b"Basic x", b"", b"Bearer " + TOKEN.encode()):
        assert _status(Guard(_nobody, HostNames.of("127.0.0.1", 80), TOKEN), given) == 401
    assert compared == [b"x", b"x", b"", TOKEN.encode()]


async def _nobody(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("somebody was let through")


def _status(app: Guard, authorization: bytes) -> int:
    sent: list[Message] = []
    headers = [(b"host", b"127.0.0.1"), (b"authorization", authorization)]
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/api/hall", "headers": headers}

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(app, scope, receive, send)
    return int(sent[0]["status"])


def test_a_token_that_is_none_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = tmp_path / "contexthall" / "contexthall.toml"
    settings.parent.mkdir()
    everywhere = ["serve", "--http", "0.0.0.0:0"]
    for token in ("", " ", "\t", "a b", "a\nb", "é", "\x7f", "a\x00b"):
        assert run([*everywhere, "--token", token]) == 1, token
        escaped = "".join(f"\\u{ord(each):04x}" for each in token)
        settings.write_text(f'http_token = "{escaped}"\n')
        assert run(everywhere) == 1, token
        assert "http_token" in capfd.readouterr().err
        settings.unlink()
        if "\0" not in token:  # which no variable can hold
            monkeypatch.setenv("CONTEXT_HTTP_TOKEN", token)
            assert run(everywhere) == 1, token
            monkeypatch.delenv("CONTEXT_HTTP_TOKEN")


HEADERS = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def test_every_answer_keeps_a_browser_from_doing_more_with_it(hall: HttpHall, locked: HttpHall) -> None:
    answers = [ask(hall, path) for path in PATHS if path not in {"/api/events", "/mcp"}]
    answers += [ask(hall, path, host="evil.example") for path in PATHS]
    answers += [ask(locked, path) for path in PATHS]
    answers += [ask(hall, "/api/hall", method=method) for method in ("POST", "OPTIONS", "TRACE", "HEAD")]
    answers += [ask(hall, "/mcp", "Content-Type: application/json", method="POST", body=b"{")]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers.get(name, "").startswith(value), (name, answer)
        assert not {"set-cookie", "server", "x-powered-by", "access-control-allow-origin"} & answer.headers.keys()
        assert answer.headers["cache-control"] in {"no-store", "no-cache", "no-store, no-transform"}
    policy = answers[0].headers["content-security-policy"]
    for rule in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "script-src 'self'"):
        assert rule in policy
    assert "unsafe" not in policy


TARGETS = (
    "/api/hall/", "/api//hall", "//api/hall", "/API/HALL", "/api/hall;x", "/api/hall%00", "/api/hall%20", "/./api/hall",
    "/x/../api/hall", "/static/../api/hall", "/static/%2e%2e/api/hall", "/static/..%2fapi/hall", "/api/hall%2f",
    "/%61pi/hall", "/api%2fhall", "/api%252fhall", "/api/hall?/static/main.js", "/api/hall#/static/main.js",
    "/static/main.js/../../api/hall", "/api/hall\\", "/\\api/hall", "/static/", "/static", "/static/.",
    "/static/index.html",
    "/static/main.js%00", "/static/main.js/", "/static//main.js", "*", "http://127.0.0.1/", "//evil.example/",
    "/static/../guard.py", "/static/..%2fguard.py", "/static/%2e%2e%2fguard.py", "/static/....//guard.py",
    "/static/..\\guard.py", "/static/..%5cguard.py", "/static/..%c0%afguard.py", "/static/%252e%252e%252fguard.py",
    "/static/%2fetc/passwd", "/static//etc/passwd", "/static/main.js?../guard.py", "/" + "a" * 60_000,
)  # fmt: skip


def test_no_other_spelling_of_a_path_goes_past_the_guard(locked: HttpHall, home: Path) -> None:
    spelt = [f"/static/{form.spell(Ground(home), AT_PROJECT, THERE)}" for form in FORMS]
    targets = [*TARGETS, *(each for each in spelt if re.fullmatch(r"[!-~]+", each))]
    for target in targets:
        answer = ask(locked, target)
        is_the_page = answer.status == 200 and answer.headers["content-type"].startswith("text/javascript")
        assert answer.status in {400, 401, 404, 431} or (is_the_page and target.startswith("/static/main.js?")), target
        assert b"writeToken" not in answer.body
        assert b"hmac" not in answer.body, target
    record("hostile input", "spellings of a path of the page", len(targets))
    record("hostile input", "names of a host that are refused", len(HOSTS))
    record("hostile input", "origins that are refused", len(ORIGINS))


def test_no_request_is_hidden_in_another(hall: HttpHall) -> None:
    """What one reader takes for a body and another for a request is neither, or one that is judged as any other."""
    right = hall.url.removeprefix("http://")
    hidden = b"GET /api/hall HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    for lines, body in (
        (["Content-Length: 5", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + hidden),
        (["Transfer-Encoding: chunked", "Content-Length: 5"], b"0\r\n\r\n" + hidden),
        (["Content-Length: 0", f"Content-Length: {len(hidden)}"], hidden),
        ([f"Content-Length: {len(hidden)}", "Content-Length: 0"], hidden),
        (["Content-Length: +0"], hidden),
        (["Content-Length: -1"], hidden),
        (["Content-Length: 0x0"], hidden),
        (["Content-Length: 0, 0"], hidden),
        (["Content-Length: \u0663"], hidden),
        (["Transfer-Encoding: xchunked"], b"0\r\n\r\n" + hidden),
        (["Transfer-Encoding : chunked"], b"0\r\n\r\n" + hidden),
        (["Transfer-Encoding:\x0bchunked"], b"0\r\n\r\n" + hidden),
        (["Transfer-Encoding: identity, chunked"], b"0\r\n\r\n" + hidden),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], b"0\r\n\r\n" + hidden),
        (["X: y\n\nGET /api/hall HTTP/1.1"], hidden),
        (["X: y\rGET /api/hall HTTP/1.1"], hidden),
        (["Transfer-Encoding: chunked"], b"1;ext=\n\r\nx\r\n0\r\n\r\n" + hidden),
        (["Transfer-Encoding: chunked"], b"fffffffffffffffff\r\n" + hidden),
        (["Expect: 100-continue", "Content-Length: 5"], b"hello" + hidden),
    ):
        head = "\r\n".join(["POST /healthz HTTP/1.1", f"Host: {right}", *lines]).encode()
        answer = talk(hall, head + b"\r\n\r\n" + body)
        assert answer.status in {0, 100, 400, 403, 405}, lines
        assert b"writeToken" not in answer.body, lines
        assert answer.answers <= 3, lines
        if {"Content-Length: 5", "Transfer-Encoding: chunked"} == set(lines):
            assert (answer.status, answer.answers, answer.headers["connection"]) == (400, 1, "close")


def flood(path: str, hall: HttpHall, *headers: str) -> Iterator[bytes]:
    """A message of 300,000 chunks of one byte, in pieces."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {hall.url.removeprefix('http://')}", "Transfer-Encoding: chunked"]
    lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream", *headers]
    yield "\r\n".join(lines).encode() + b"\r\n\r\n"
    for _ in range(300):
        yield b"1\r\n \r\n" * 1000
    yield b"0\r\n\r\n"


def sent_until_refused(hall: HttpHall, pieces: Iterator[bytes]) -> tuple[int, Answer]:
    """Send pieces until the hall says something: how many were sent, and what it said before it hung up."""
    received, taken = b"", 0
    with socket.create_connection(_place(hall), timeout=PATIENCE_SECONDS) as connection:
        for piece in pieces:
            try:
                connection.sendall(piece)
            except ConnectionError:
                break
            taken += 1
            if select.select([connection], [], [], 0)[0]:
                break
        while chunk := _receive(connection):
            received += chunk
    return taken, _parsed(received)


def seconds_worked(hall: HttpHall) -> float:
    """How long the hall has kept a processor busy, whatever else this machine does."""
    fields = Path(f"/proc/{hall.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("path", ["/mcp", "/api/guild/call", "/healthz", "/nothing", "/"])
def test_a_body_ground_to_dust_is_not_read(hall: HttpHall, path: str) -> None:
    write = f"X-Hall-Write: {hall.get('/api/hall')['writeToken']}"
    before = seconds_worked(hall)
    with ThreadPoolExecutor(8) as clients:
        outcomes = list(clients.map(lambda _: sent_until_refused(hall, flood(path, hall, write)), range(8)))
    assert hall.get("/healthz")["status"] == "ok"
    assert {answer.status for _, answer in outcomes} <= {0, 400, 404, 405}
    assert seconds_worked(hall) - before < 3  # to read it all takes more than ten


@pytest.mark.parametrize("path", ["/mcp", "/api/guild/call", "/healthz"])
def test_whoever_is_refused_is_not_listened_to_any_longer(locked: HttpHall, path: str) -> None:
    begun = itertools.islice(flood(path, locked), 1)  # of the body, nothing ever comes
    taken, answer = sent_until_refused(locked, begun)
    assert (taken, answer.status, answer.headers["connection"]) == (1, 401, "close")
    begun = itertools.islice(flood(path, locked, f"Authorization: Bearer {TOKEN}", "Origin: http://evil.example"), 1)
    taken, answer = sent_until_refused(locked, begun)
    assert (taken, answer.status, answer.headers["connection"]) == (1, 403, "close")


def test_a_message_that_says_it_is_too_large_is_not_listened_to(hall: HttpHall) -> None:
    right = hall.url.removeprefix("http://")
    head = f"POST /mcp HTTP/1.1\r\nHost: {right}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    answer = talk(hall, head.encode())
    assert (answer.status, answer.headers["connection"]) == (413, "close")


def test_what_stands_around_chunks_is_bounded_too(hall: HttpHall) -> None:
    before = seconds_worked(hall)
    pieces = itertools.chain(
        itertools.islice(flood("/mcp", hall), 1), (b"100;" + b"x" * 15_000 + b"\r\n" + b" " * 256 + b"\r\n",) * 2000
    )
    taken, answer = sent_until_refused(hall, pieces)
    assert taken > 1  # else the first one was too long
    assert seconds_worked(hall) - before < 3
    assert answer.status in {0, 400}


def test_a_head_of_two_minds_that_may_have_no_body_is_refused_without_a_word_in_the_log(home: Path) -> None:
    with HttpHall(cwd=home) as hall:
        right = hall.url.removeprefix("http://")
        lines = [f"HEAD / HTTP/1.1\r\nHost: {right}", "Content-Length: 5", "Transfer-Encoding: chunked"]
        assert talk(hall, "\r\n".join(lines).encode() + b"\r\n\r\n").status == 400
    assert b"Traceback" not in hall.said


@pytest.mark.parametrize("size", [300, 5000])
def test_a_body_in_ordinary_chunks_is_read(hall: HttpHall, size: int) -> None:
    body = _CALL.replace(b"}", b"%s}" % (b" " * 3_000_000))
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(body[start : start + size]), body[start : start + size])
        for start in range(0, len(body), size)
    )
    head = next(flood("/mcp", hall, "Connection: close"))
    assert b"Missing session ID" in talk(hall, head + chunks + b"0\r\n\r\n").body  # which shows that it was read


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "PROPFIND"])
def test_no_other_method_opens_a_session(hall: HttpHall, method: str) -> None:
    answer = ask(hall, "/mcp", "Accept: application/json, text/event-stream", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET, POST")
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["FOO", "get", "CONNECT"])
def test_what_is_no_method_of_http_is_refused_before_anybody_is_asked(hall: HttpHall, method: str) -> None:
    answer = ask(hall, "/mcp", "Accept: application/json, text/event-stream", method=method)
    assert (answer.status, answer.answers, answer.headers["connection"]) == (400, 1, "close")
    assert "mcp-session-id" not in answer.headers


def test_a_hall_that_was_attacked_still_answers(hall: HttpHall, locked: HttpHall) -> None:
    noise = os.urandom(4096)
    for each in (b"", b"\r\n\r\n", noise, b"GET", b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        for served in (hall, locked):
            with socket.create_connection(_place(served), timeout=PATIENCE_SECONDS) as connection:
                connection.sendall(each)
                connection.shutdown(socket.SHUT_WR)
                while _receive(connection):
                    pass
    assert hall.get("/healthz")["status"] == "ok"
    assert locked.get("/healthz", headers={"Authorization": f"Bearer {TOKEN}"})["status"] == "ok"

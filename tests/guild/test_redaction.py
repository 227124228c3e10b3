"""Values that the hall filled in from its environment are shown, logged and kept nowhere."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faces.web.serving import HttpHall
from tests.guild.making import ZOO, make_member
from tests.processes import free_port, is_listening, run_context
from tests.waiting import wait_until

from contexthall.guild.members.manifest import Launch, ManifestError, filled_in_headers, parse_manifest, write_manifest
from contexthall.guild.servers.redaction import RedactedStream, Redactor

SECRET = "s3cret-V4lue"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("the key s3cret-V4lue is wrong", "the key ${KEY} is wrong"),
        ("s3cret-V4lues3cret-V4lue", "${KEY}${KEY}"),
        ("s3cret-V4lu", "s3cret-V4lu"),
        ('{"k": "a \\"quoted\\" one"}', '{"k": "${QUOTED}"}'),
        ("?q=a%20%22quoted%22%20one&", "?q=${QUOTED}&"),
        ("line two of it", "${PEM} of it"),
        ("for all", "for all"),
        ("\ud800 s3cret-V4lue", "\ud800 ${KEY}"),
        ("?q=a+%22quoted%22+one", "?q=${QUOTED}"),
        ("b'caf\\xc3\\xa9/au+lait'", "b'${BYTES}'"),
        ("caf%C3%A9/au%2Blait", "${BYTES}"),
        ("no such token: t0kentoken", "no such token: ${AUTH}"),
        ("not UTF-8: \udca9abcd", "not UTF-8: ${ODD}"),
        ("caféabcd", "caféabcd"),
    ],
)
def test_the_name_of_a_variable_stands_for_its_value(said: str, shown: str) -> None:
    values = {"KEY": SECRET, "QUOTED": 'a "quoted" one', "PEM": "line one\nline two\n", "SHORT": "for"}
    values |= {"BYTES": "café/au+lait", "AUTH": "Bearer t0kentoken", "ODD": "\udca9abcd"}
    assert Redactor(values).text(said) == shown


def test_of_two_values_the_longer_one_is_seen() -> None:
    assert Redactor({"A": "secret", "B": "secret-two"}).text("secret-two secret") == "${B} ${A}"


few_letters = st.text("abc", min_size=4, max_size=8)


@given(st.lists(few_letters, max_size=4), st.lists(st.text("abcx", max_size=6), max_size=30))
def test_a_value_that_comes_in_pieces_is_seen(values: list[str], pieces: list[str]) -> None:
    redactor = Redactor({f"V{number}": value for number, value in enumerate(values)})
    stream, data = RedactedStream(redactor), [piece.encode() for piece in pieces]
    passed_on = [stream.feed(piece) for piece in data]
    assert b"".join([*passed_on, stream.finish()]) == redactor.data(b"".join(data))


def test_what_cannot_be_part_of_a_value_is_not_held_back() -> None:
    assert RedactedStream(Redactor({"KEY": SECRET})).feed(b"ready\n") == b"ready\n"


# Headers:


@pytest.mark.parametrize(
    ("value", "sent"), [("abcd", "abcd"), ("abcd\n", "abcd"), ("abcd\r\n", "abcd"), ("", ""), ("a b\tc", "a b\tc")]
)
def test_a_line_end_behind_a_value_is_not_sent(value: str, sent: str) -> None:
    assert filled_in_headers({"X": "<${KEY}>", "Y": "y"}, {"KEY": value}) == {"X": f"<{sent}>", "Y": "y"}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("s3cret\r", "it has a line break"),
        ("s3cret\n\n", "it has a line break"),
        ("s3\ncret", "it has a line break"),
        ("s3crét", "it has characters that are not ASCII"),
        ("s3cret\x00", "it has control characters"),
        ("s3cret ", "it begins or ends with a blank"),
        ("s3cret\t\n", "it begins or ends with a blank"),
    ],
)
def test_what_http_cannot_carry_is_told_without_the_value(value: str, fault: str) -> None:
    with pytest.raises(ManifestError) as refused:
        filled_in_headers({"Authorization": "Bearer ${KEY}"}, {"KEY": value})
    assert str(refused.value).endswith(fault)
    assert "KEY" in str(refused.value)
    assert "s3" not in str(refused.value)


def test_a_blank_between_two_values_is_no_fault() -> None:
    assert filled_in_headers({"X": "${A}${B}"}, {"A": "Bearer ", "B": "x"}) == {"X": "Bearer x"}


@pytest.mark.parametrize("value", ["é", "x ", " x", "a\nb", "a\x00"])
def test_a_manifest_whose_own_header_http_cannot_carry_is_refused(value: str) -> None:
    launch = {"url": "http://127.0.0.1:1/mcp", "headers": {"X": value}}
    with pytest.raises(ManifestError, match=r"`mcp\.headers` must have names and values that HTTP can carry"):
        parse_manifest(json.dumps({"name": "a", "version": "1", "transport": "http", "mcp": launch}).encode())


# Wherever a member is shown:


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def http_member() -> Iterator[str]:
    """The address of a server that speaks MCP."""
    port = free_port()
    with subprocess.Popen((sys.executable, str(ZOO / "http_member.py"), "--port", str(port))) as server:
        wait_until(lambda: is_listening(port))
        yield f"http://127.0.0.1:{port}/mcp"
        server.terminate()


def everything_said(guild: Path, cwd: Path, env: dict[str, str]) -> bytes:
    """All that commands, the page, the log and the disk tell of the members of a guild."""
    said, names = [], sorted(os.listdir(guild))
    commands = [["guild", "refresh"], ["guild", "list", "--json"], ["doctor"]]
    for name in names:
        commands += [["guild", "call", name, "echo"], ["call", f"{name}__echo"], ["guild", "why", name]]
    with ThreadPoolExecutor(4) as people:
        typed = people.map(lambda command: run_context(*command, "--guild", str(guild), cwd=cwd, env=env), commands)
        said += [ran.stdout + ran.stderr for ran in typed]
    with HttpHall("--guild", str(guild), cwd=cwd, env=env) as hall:
        hall.post("/api/guild/refresh", {})
        for name in names:
            said.append(hall.post("/api/guild/call", {"member": name, "tool": "echo"}).content)
            said.append(hall.http.get("/api/guild/log", params={"member": name}).content)
        said.append(hall.http.get("/api/guild").content)
    said.append(hall.said)
    files = [Path(folder, file) for folder, _, files in os.walk(cwd / "state") for file in files]
    return b"\n".join([*said, *(file.read_bytes() for file in files)])


def make_remote(guild: Path, url: str, name: str = "it", variable: str = "KEY") -> None:
    (guild / name).mkdir()
    launch = Launch(transport="http", url=url, headers={"Authorization": f"Bearer ${{{variable}}}"})
    (guild / name / "plugin.json").write_bytes(write_manifest(name, launch))


@pytest.mark.long
@pytest.mark.timeout(180)
def test_no_value_that_http_cannot_carry_is_told(
    guild: Path, tmp_path: Path, home: dict[str, str], http_member: str
) -> None:
    values = {"CR": f"{SECRET}\r", "BLANK": f"{SECRET} ", "ACCENT": f"{SECRET}é", "LINES": f"{SECRET}\n{SECRET}"}
    for variable in values:
        make_remote(guild, http_member, variable.lower(), variable)
    said = everything_said(guild, tmp_path, home | values)
    assert [variable for variable in values if f"environment variable {variable}: it has".encode() not in said] == [
        "BLANK"  # which is a fault of the header
    ]
    assert b"cannot be sent the header Authorization: with BLANK, it begins or ends with a blank" in said
    assert SECRET.encode() not in said
    assert b"Traceback" not in said


def test_a_value_with_a_line_end_behind_it_works(
    guild: Path, tmp_path: Path, home: dict[str, str], http_member: str
) -> None:
    make_remote(guild, http_member)
    called = run_context(
        *("guild", "call", "it", "echo", "--arg", "text=hi", "--guild", str(guild)),
        cwd=tmp_path,
        env={**home, "KEY": f"{SECRET}\n"},
    )
    assert called.stdout == b'{"text": "hi"}\n'


TELL_TALES = {
    "in its last words": 'printf "bad key: %s\\n" "$KEY" >&2; exit 3',
    "in pieces": 'printf "bad key: s3cret" >&2; sleep 0.3; printf -- "-V4lue again" >&2; exit 3',
    "instead of an answer": 'while read -r line; do printf "my key is %s\\n" "$KEY"; done',
    "between two lines of rubbish": (
        'printf "s3cret-V4" >&2; printf "rubbish\\n"; sleep 0.3; printf "lue\\n" >&2; sleep 0.3; exit 3'
    ),
    "in an error": (
        """read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":"""
        """{"tools":{}},"serverInfo":{"name":"a","version":"1"}}}\\n'; read -r line; """
        """n=2; while read -r line; do printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"bad key %s","""
        """"data":{"k":["%s"]}}}\\n' "$n" "$KEY" "$KEY"; n=$((n + 1)); done"""
    ),
    "in a refusal": (
        "read -r line; printf "
        """'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no such key: %s"}}\\n' "$KEY"; read -r line"""
    ),
}


class _TellTale(BaseHTTPRequestHandler):
    """A server that repeats the header that it was sent, in ways that the SDK quotes in part."""

    protocol_version = "HTTP/1.1"
    how: str

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = self.headers["Authorization"]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "a"}}
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id"), "result": hello}
        kind, body = "application/json", json.dumps(answer).encode()
        if message["method"].startswith("tools/") or self.how == "no JSON-RPC":
            body = json.dumps({"status": "unauthorized", "detail": f"no such key: {told}"}).encode()
        if message["method"].startswith("tools/") and self.how == "no JSON in an event":
            kind, body = "text/event-stream", f'event: message\ndata: {{"oops": {told}\n\n'.encode()
        self.send_response(200 if "id" in message else 202)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.long
@pytest.mark.timeout(180)
def test_what_the_sdk_quotes_of_an_answer_is_not_told(guild: Path, tmp_path: Path, home: dict[str, str]) -> None:
    with ExitStack() as servers:
        for number, how in enumerate(("no JSON-RPC", "no JSON-RPC later", "no JSON in an event")):
            server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_TellTale,), {"how": how}))
            servers.enter_context(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.callback(server.shutdown)
            make_remote(guild, f"http://127.0.0.1:{server.server_address[1]}/mcp", f"it{number}")
        said = everything_said(guild, tmp_path, {**home, "KEY": SECRET})
    assert b"HTTP" in said
    assert b"ret-V4lue" not in said


@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_member_that_tells_its_own_secret_is_not_quoted(guild: Path, tmp_path: Path, home: dict[str, str]) -> None:
    for number, script in enumerate(TELL_TALES.values()):
        launch: dict[str, Any] = {"args": ["-c", script], "env": {"KEY": f"${{OUTER{number}}}"}}
        make_member(guild, f"it{number}", command="/bin/sh", startTimeoutSeconds=1.5, **launch)
    said = everything_said(guild, tmp_path, {**home, **{f"OUTER{number}": SECRET for number in range(len(TELL_TALES))}})
    told = {how for number, how in enumerate(TELL_TALES) if f"${{OUTER{number}}}".encode() in said}
    assert told == set(TELL_TALES)
    assert SECRET.encode() not in said


def test_a_text_without_a_value_keeps_its_colours() -> None:
    assert Redactor({"TOKEN": "correct-horse"}).text("\x1b[1mno\x1b[0m") == "\x1b[1mno\x1b[0m"


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("correct-horse", b"\x1b[1mcorrect\x1b[31;4m-horse\x1b[0m"),
        ("correct-horse", b"correct\x1b[38;2;255;255;255;48;2;255;255;255m-horse"),
        ("correct-horse", b"correct\x1b(B\x1b[m-horse"),
        ("correct-horse", b"correct\x1b\x1b[0m[31m-horse"),
        ("\x1b[1mcorrect-horse\x1b[0m", b"\x1b[1mcorrect-horse\x1b[0m"),
    ],
    ids=["two", "true", "as tput ends it", "one in the other", "in the value"],
)
def test_a_value_in_colours_is_recognised_wherever_the_stream_is_cut(value: str, printed: bytes) -> None:
    printed = b"a " + printed + b" b\n"
    for cut in range(len(printed)):
        stream = RedactedStream(Redactor({"TOKEN": value}))
        told = stream.feed(printed[:cut]) + stream.feed(printed[cut:]) + stream.finish()
        assert b"correct-horse" not in told
        assert "correct-horse" not in Redactor({"TOKEN": value}).text(printed.decode())
        assert told.startswith(b"a ")
        assert told.endswith(b" b\n")

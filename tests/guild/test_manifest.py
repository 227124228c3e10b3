"""A manifest is understood whole, or refused with a sentence that names the key."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.guild.members.manifest import Launch, ManifestError, filled_in, parse_manifest, write_manifest

LEAST: dict[str, Any] = {"name": "echo", "version": "0.1.0", "mcp": {"command": "python3"}}


def spelt(mcp: object = None, **fields: object) -> bytes:
    return json.dumps(LEAST | ({} if mcp is None else {"mcp": mcp}) | fields).encode()


def launch_of(mcp: object, **fields: object) -> Launch:
    return parse_manifest(spelt(mcp, **fields)).launch


def reason(data: bytes) -> str:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(data)
    return str(caught.value)


def test_every_key_finds_its_place() -> None:
    mcp = {
        "command": "python3",
        "args": ["server.py", "--fast"],
        "env": {"TOKEN": "${TOKEN}"},
        "startTimeoutSeconds": 2,
        "toolTimeoutSeconds": 0.5,
        "idleSeconds": 60,
    }
    manifest = parse_manifest(spelt(mcp, displayName="Echo", description="Says it again", transport="stdio"))
    assert (manifest.name, manifest.version) == ("echo", "0.1.0")
    assert (manifest.display_name, manifest.description) == ("Echo", "Says it again")
    assert manifest.launch == Launch(command="python3", args=("server.py", "--fast"), env={"TOKEN": "${TOKEN}"})
    assert (manifest.start_seconds, manifest.tool_seconds, manifest.idle_seconds) == (2, 0.5, 60)


def test_name_version_and_command_are_enough_and_unknown_keys_are_ignored() -> None:
    manifest = parse_manifest(spelt({"command": "python3", "cwd": 7}, icon=[], author=None))
    assert manifest == parse_manifest(spelt())
    assert manifest.launch == Launch(command="python3")
    assert (manifest.start_seconds, manifest.tool_seconds, manifest.idle_seconds) == (10, 30, 300)


def test_a_byte_order_mark_is_accepted() -> None:
    assert parse_manifest(b"\xef\xbb\xbf" + spelt()) == parse_manifest(spelt())


def test_a_server_over_http_is_reached_by_its_url_with_its_headers() -> None:
    mcp = {"url": "https://example.org:8443/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    launch = launch_of(mcp, transport="http")
    assert (launch.transport, launch.command, launch.url) == ("http", "", "https://example.org:8443/mcp")
    assert launch.headers == {"Authorization": "Bearer ${TOKEN}"}


def test_a_url_alone_means_http() -> None:
    assert launch_of({"url": "http://[::1]:8000/mcp"}).transport == "http"


def test_a_server_over_http_is_started_with_a_port() -> None:
    launch = launch_of({"command": "serve", "args": ["--port=${PORT}"]}, transport="http")
    assert (launch.transport, launch.command, launch.args) == ("http", "serve", ("--port=${PORT}",))


def test_over_stdio_a_url_and_headers_play_no_part() -> None:
    plain, extra = {"command": "a"}, {"command": "a", "url": "http://example.org", "headers": {"X": "1"}}
    assert launch_of(plain) == launch_of(extra) == launch_of(extra, transport="stdio")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{}".ljust((1 << 20) + 1), "the manifest is larger than 1048576 bytes"),
        (b'{"name": "\xff"}', "the manifest is not UTF-8 text"),
        (b'{"name": "\\ud800"}', "the manifest has a lone surrogate, which is no text"),
        (b"", "the manifest is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"name": NaN}', "the manifest is not JSON: NaN is not JSON"),
        (b"[" * 100_000, "the manifest is not JSON: nested too deeply"),
        (b"[]", "the manifest must be a JSON object"),
        (b"null", "the manifest must be a JSON object"),
    ],
    ids=["large", "latin", "half", "empty", "nan", "deep", "list", "null"],
)
def test_what_is_no_json_object_is_refused(data: bytes, expected: str) -> None:
    assert reason(data) == expected


def test_a_manifest_of_just_the_largest_size_is_read() -> None:
    assert parse_manifest(spelt().ljust(1 << 20)) == parse_manifest(spelt())


@pytest.mark.parametrize("key", ["name", "version", "mcp"])
def test_a_key_that_must_be_there_is_missed(key: str) -> None:
    assert (
        reason(json.dumps({other: LEAST[other] for other in LEAST if other != key}).encode()) == f"`{key}` is missing"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, "`name` must not be empty"),
        ({"name": 7}, "`name` must be a string"),
        ({"name": None}, "`name` must be a string"),
        ({"name": "n" * 101}, "`name` must have at most 100 characters"),
        ({"name": "a\tb"}, "`name` must not have control characters"),
        ({"name": "a\x85b"}, "`name` must not have control characters"),
        ({"name": " echo"}, "`name` must not begin or end with white space"),
        ({"name": "echo\u3000"}, "`name` must not begin or end with white space"),
        ({"version": 1.10}, "`version` must be a string, not a number: put it in quotes"),
        ({"version": True}, "`version` must be a string"),
        ({"version": ""}, "`version` must not be empty"),
        ({"displayName": 1}, "`displayName` must be a string"),
        ({"description": ["a"]}, "`description` must be a string"),
        ({"transport": "sse"}, '`transport` must be "stdio" or "http"'),
        ({"transport": ""}, '`transport` must be "stdio" or "http"'),
        ({"transport": None}, '`transport` must be "stdio" or "http"'),
        ({"transport": ["http"]}, '`transport` must be "stdio" or "http"'),
        ({"mcp": "python3"}, "`mcp` must be an object"),
    ],
)
def test_a_bad_value_is_named_by_its_key(fields: dict[str, object], expected: str) -> None:
    assert reason(spelt(**fields)) == expected


SECONDS = "`mcp.{}` must be a number of seconds above 0"


@pytest.mark.parametrize(
    ("mcp", "expected"),
    [
        ({}, "`mcp.command` or `mcp.url` is needed"),
        ({"args": ["a"]}, "`mcp.command` or `mcp.url` is needed"),
        ({"command": ""}, "`mcp.command` must not be empty"),
        ({"command": ["python3"]}, "`mcp.command` must be a string"),
        ({"command": "a\0"}, "`mcp.command` must not have NUL characters"),
        ({"command": "a", "args": "b"}, "`mcp.args` must be a list of strings"),
        ({"command": "a", "args": [1]}, "`mcp.args` must be a list of strings"),
        ({"command": "a", "args": None}, "`mcp.args` must be a list of strings"),
        ({"command": "a", "args": ["b\0"]}, "`mcp.args` must not have NUL characters"),
        ({"command": "a", "env": ["B=1"]}, "`mcp.env` must be an object of strings"),
        ({"command": "a", "env": {"B": 1}}, "`mcp.env` must be an object of strings"),
        ({"command": "a", "env": {"B": "\0"}}, "`mcp.env` must not have NUL characters"),
        ({"command": "a", "env": {"\0": "b"}}, "`mcp.env` must not have NUL characters"),
        ({"command": "a", "env": {"": "b"}}, "`mcp.env` must have names that are not empty and have no `=`"),
        ({"command": "a", "env": {"B=": "b"}}, "`mcp.env` must have names that are not empty and have no `=`"),
        ({"url": ""}, "`mcp.url` must not be empty"),
        ({"url": 8000}, "`mcp.url` must be a string"),
        ({"url": "http://h", "headers": {"X": 1}}, "`mcp.headers` must be an object of strings"),
        (
            {"url": "http://h", "headers": {"X Y": "1"}},
            "`mcp.headers` must have names and values that HTTP can carry",
        ),
        (
            {"url": "http://h", "headers": {"X": "1\r\nY: 2"}},
            "`mcp.headers` must have names and values that HTTP can carry",
        ),
        ({"command": "a", "startTimeoutSeconds": 0}, SECONDS.format("startTimeoutSeconds")),
        ({"command": "a", "startTimeoutSeconds": "5"}, SECONDS.format("startTimeoutSeconds")),
        ({"command": "a", "toolTimeoutSeconds": -1}, SECONDS.format("toolTimeoutSeconds")),
        ({"command": "a", "toolTimeoutSeconds": True}, SECONDS.format("toolTimeoutSeconds")),
        ({"command": "a", "idleSeconds": None}, SECONDS.format("idleSeconds")),
    ],
)
def test_a_bad_value_in_mcp_is_named_by_its_key(mcp: dict[str, object], expected: str) -> None:
    assert reason(spelt(mcp)) == expected


@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 400])
def test_seconds_without_end_are_refused(number: str) -> None:
    data = spelt({"command": "a", "idleSeconds": 5}).replace(b"5}", number.encode() + b"}")
    assert reason(data) == SECONDS.format("idleSeconds")


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "ftp://example.org",
        "http://",
        "http:///mcp",
        "http://h:99999",
        "http://h:0",
        "http://[",
        "http://h/a b",
        "http://h\n",
    ],
)
def test_a_url_is_a_web_address_with_a_host(url: str) -> None:
    assert reason(spelt({"url": url})) == "`mcp.url` must begin with http:// or https:// and name a host"


def test_a_url_is_not_enough_where_stdio_is_asked_for() -> None:
    assert (
        reason(spelt({"url": "http://example.org"}, transport="stdio"))
        == '`mcp.command` is missing: only with `transport` "http" is `mcp.url` enough'
    )


def test_over_http_a_command_and_a_url_exclude_each_other() -> None:
    mcp = {"command": "a", "args": ["${PORT}"], "url": "http://example.org"}
    assert "drop `mcp.url` if the hall shall start the server, else `mcp.command`" in reason(
        spelt(mcp, transport="http")
    )


def test_a_command_over_http_must_be_told_its_port() -> None:
    assert (
        reason(spelt({"command": "a", "args": ["$PORT"]}, transport="http"))
        == "`mcp.args` must have `${PORT}` where an http server is told its port"
    )


@given(
    st.binary()
    | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_whatever_a_file_holds_the_answer_is_a_manifest_or_a_reason(data: bytes) -> None:
    assert reason(data)


@pytest.mark.parametrize("key", ["transport", "command", "args", "env", "url", "headers"])
def test_the_launch_spec_tells_any_two_launches_apart(key: str) -> None:
    one = Launch(transport="http", command="a", args=("b",), env={"C": "d"}, url="e", headers={"F": "g"})
    assert json.loads(json.dumps(one.spec())) == one.spec()
    assert one.spec()[key] != Launch().spec()[key]


def test_what_is_written_reads_back() -> None:
    data = write_manifest("My échø", Launch(command="npx", args=("-y", "some server")))
    manifest = parse_manifest(data)
    assert (manifest.name, manifest.version) == ("My échø", "1.0.0")
    assert manifest.launch == Launch(command="npx", args=("-y", "some server"))
    assert data.endswith(b"\n}\n")
    assert parse_manifest(write_manifest("e", Launch(command="a"), version="2")).version == "2"


def test_a_server_that_is_reached_at_an_address_reads_back() -> None:
    launch = Launch(transport="http", url="https://example.org/mcp", headers={"Authorization": "Bearer ${TOKEN}"})
    assert parse_manifest(write_manifest("e", launch)).launch == launch


@pytest.mark.parametrize(
    ("name", "launch", "expected"),
    [
        ("", Launch(command="a"), "`name` must not be empty"),
        ("e", Launch(), "`mcp.command` or `mcp.url` is needed"),
        ("e", Launch(command="a", args=("\0",)), "`mcp.args` must not have NUL characters"),
        ("e", Launch(command="a", args=("\udcff",)), "its name and its command must be UTF-8 text"),
        ("e", Launch(transport="http", url="ftp://a"), "`mcp.url` must begin with http:// or https:// and name a host"),
    ],
)
def test_a_manifest_that_could_not_be_read_is_not_written(name: str, launch: Launch, expected: str) -> None:
    with pytest.raises(ManifestError) as caught:
        write_manifest(name, launch)
    assert str(caught.value) == expected


def test_variables_are_filled_in() -> None:
    values = {"A": "Bearer ${TOKEN}", "B": "${X}${X}", "C": "plain"}
    assert filled_in(values, {"TOKEN": "t", "X": "${TOKEN}"}) == {
        "A": "Bearer t",
        "B": "${TOKEN}${TOKEN}",
        "C": "plain",
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("$${X}", "${X}"),
        ("$X", "$X"),
        ("$$", "$$"),
        ("${}", "${}"),
        ("${X", "${X"),
        ("${X:-y}", "${X:-y}"),
        ("$$${X}", "$${X}"),
    ],
)
def test_nothing_else_is_special(written: str, meant: str) -> None:
    assert filled_in({"A": written}, {"X": "no"}) == {"A": meant}


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ManifestError, match=r"^needs the environment variable TOKEN_2$"):
        filled_in({"A": "${TOKEN_2}"}, {"TOKEN": "t"})


@pytest.mark.parametrize(
    ("command", "args", "more", "seconds"),
    [
        ("npx", ["-y", "server"], {}, 120),
        ("/usr/local/bin/uvx", ["server"], {}, 120),
        ("docker", ["run", "image"], {}, 120),
        ("uv", ["run", "server.py"], {}, 120),
        ("docker", ["ps"], {}, 10),
        ("npm", [], {}, 10),
        ("python3", ["npx"], {}, 10),
        ("npx", ["server"], {"startTimeoutSeconds": 5}, 5),
    ],
)
def test_the_first_start_of_a_package_runner_may_take_long(
    command: str, args: list[str], more: dict[str, object], seconds: float
) -> None:
    launch = {"command": command, "args": args, **more}
    manifest = parse_manifest(json.dumps({"name": "a", "version": "1", "mcp": launch}).encode())
    assert manifest.first_start_seconds == seconds
    assert manifest.start_seconds == min(seconds, 10)

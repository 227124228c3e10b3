"""What a server of a client's file becomes as a member: the same command, and no secret of it."""

import re
import subprocess
from pathlib import Path
from shlex import join
from typing import Any

import pytest

from contexthall.clients.discretion import secret_in
from contexthall.clients.importing import Found, Origin, as_member, contested
from contexthall.clients.servers import server_of

PROJECT, HOME = "/home/me/shop", "/home/me"
THERE = {f"{PROJECT}/server/index.js", f"{PROJECT}/."}


def member(entry: Any, *, name: str = "github", keep: tuple[str, ...] = ()) -> Found:
    return as_member(server_of(name, entry), Origin(PROJECT, HOME, THERE.__contains__, keep))


def test_a_command_is_taken_over_as_it_is() -> None:
    found = member({"command": "npx", "args": ["-y", "some server"]})
    assert found == Found("github", command=("npx", "-y", "some server"))


def test_a_value_in_the_environment_stays_where_it_is() -> None:
    found = member({"command": "npx", "env": {"GITHUB_TOKEN": "ghp_0123456789abcdef"}})
    assert found.env == {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert found.needs == ("GITHUB_TOKEN",)


def test_a_value_that_is_kept_is_copied_and_is_no_reference() -> None:
    found = member({"command": "npx", "env": {"LEVEL": "debug"}}, keep=("LEVEL",))
    assert found.env == {"LEVEL": "debug"}
    assert found.needs == ()


@pytest.mark.parametrize(
    ("written", "expected", "needs"),
    [
        ("${TOKEN}", "${TOKEN}", ("TOKEN",)),
        ("${env:TOKEN}", "${TOKEN}", ("TOKEN",)),
        ("$TOKEN", "${TOKEN}", ("TOKEN",)),
        ("${TOKEN:-none}", "${TOKEN}", ("TOKEN",)),
        ("${input:github-token}", "${GITHUB_TOKEN}", ("GITHUB_TOKEN",)),
        ("Bearer ${env:A}:${B}", "Bearer ${A}:${B}", ("A", "B")),
        ("${workspaceFolder}/${env:A}", f"{PROJECT}/${{A}}", ("A",)),
    ],
)
def test_a_reference_is_spelt_as_a_manifest_does(written: str, expected: str, needs: tuple[str, ...]) -> None:
    found = member({"command": "npx", "env": {"X": written}})
    assert (found.env["X"], found.needs) == (expected, needs)


def test_a_header_that_holds_a_secret_becomes_a_reference() -> None:
    found = member({"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer abc", "X-Team": "${TEAM}"}})
    assert found.headers == {"Authorization": "Bearer ${GITHUB_AUTHORIZATION}", "X-Team": "${TEAM}"}
    assert found.needs == ("GITHUB_AUTHORIZATION", "TEAM")
    assert found.url == "https://example.org/mcp"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--token", "<hunter2hunter2>"],
        ["--api-key=<hunter2hunter2>"],
        ["--key", "<hunter2hunter2>"],
        ["/token:<hunter2hunter2>"],
        ["postgresql://me:hunter2hunter2@localhost/shop"],
        ["--dsn=<postgresql://me:hunter2hunter2@localhost/shop>"],
        ["postgresql://me:hunter2hunter2@${HOST}/shop"],
        ["sk-hunter2hunter2hunter2"],
        ["https://example.org/?api_key=hunter2hunter2"],
        ["https://example.org/?key=hunter2hunter2"],
        ["https://example.org/#token=hunter2hunter2"],
        ["https://hunter2hunter2@example.org/"],
        ["https://example.org/s/hunter2hunter2hunter2/mcp"],
        ["run", "-e", "REGION=<hunter2hunter2>", "image"],
        ["run", "--env", "REGION=<hunter2 hunter2>", "image"],
        ["run", "--env=REGION=<hunter2hunter2>", "image"],
        ["run", "-eAPI_KEY=<hunter2hunter2>", "image"],
        ["API_KEY=<hunter2hunter2>", "npx"],
        ["--header", "Authorization: Bearer <hunter2hunter2>"],
        ["--header", "X-Team:<hunter2hunter2>"],
        ["--header=Authorization: Basic <hunter2hunter2>"],
        ["-H", "Cookie: <a=hunter2hunter2; b=2>"],
        ["-c", "API_KEY=hunter2hunter2 exec npx server"],
        ["-c", "exec npx server --token hunter2hunter2"],
        ["--config", '{"apiKey": "hunter2hunter2"}'],
        ["--connection", "Server=a;Password=hunter2hunter2"],
    ],
)
def test_an_argument_that_looks_like_a_secret_comes_from_the_environment(arguments: list[str]) -> None:
    """What stands between `<` and `>` is the secret; without these, it is the whole word."""
    words = [re.sub("[<>]", "", word) for word in arguments]
    found = member({"command": "printf", "args": ["%s,", *words]})
    assert "hunter2" not in repr(found)
    [variable] = found.needs
    assert found.env == {variable: f"${{{variable}}}"}
    [secret] = (word for word in arguments if "hunter2" in word)
    value = secret[secret.find("<") + 1 : secret.find(">") if ">" in secret else None]
    answer = subprocess.run(found.command, env={variable: value}, capture_output=True, check=True, text=True)
    assert answer.stdout == "".join(f"{word}," for word in words)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
        ["--from", "token-counter==1.2.3", "token-counter"],
        ["mcp-remote", "https://mcp.example.org/v1/sse?region=eu"],
        ["--from", "git+https://github.com/oraios/serena@0123456789abcdef0123456789abcdef01234567"],
        ["-y", "@nobody/npm-search-mcp-server", "sk-learn-mcp-server", "hf-mcp-server-2"],
        ["postgresql://me@localhost/shop"],
        ["--port=8080", "--level", "debug", "--keyboard", "us", "C:\\tools\\server.exe", "/c", "monkey=1"],
        ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/my secrets"],
    ],
)
def test_an_argument_that_is_no_secret_is_taken_over(arguments: list[str]) -> None:
    assert member({"command": "x", "args": arguments}) == Found("github", command=("x", *arguments))


def test_an_argument_that_is_no_secret_after_all_can_be_kept() -> None:
    found = member({"command": "x", "args": ["--max-tokens", "4000"]}, keep=("GITHUB_ARGUMENT_2",))
    assert found == Found("github", command=("x", "--max-tokens", "4000"))


@pytest.mark.parametrize(
    "word",
    ["token" * 50_000, "-" * 250_000, "token" + " " * 250_000, "https://a/" + "a" * 250_000, "sk-" * 80_000],
)
def test_a_long_word_is_judged_in_linear_time(word: str) -> None:
    """With quadratic time it would take longer than a test may."""
    assert not secret_in("", word)


@pytest.mark.parametrize(
    "unclosed", ["${Y:-$(touch pwned)", "${`touch pwned`", '${"; touch pwned; "', "$(touch pwned)"]
)
def test_what_only_begins_like_a_reference_is_itself(unclosed: str, tmp_path: Path) -> None:
    found = member({"command": "printf", "args": ["%s,", f"${{X}}{unclosed}", "}", '"']})
    answer = subprocess.run(found.command, cwd=tmp_path, env={"X": "x"}, capture_output=True, check=True, text=True)
    assert answer.stdout == f'x{unclosed},}},",'
    assert not list(tmp_path.iterdir())


def test_two_servers_that_give_a_variable_different_values_get_one_each() -> None:
    servers = [
        server_of("one", {"command": "x", "env": {"API_KEY": "first", "REGION": "eu"}}),
        server_of("2nd", {"command": "x", "env": {"API_KEY": "second", "REGION": "eu"}}),
        server_of("third", {"command": "x", "env": {"API_KEY": "${API_KEY}"}}),
    ]
    origin = Origin(PROJECT, HOME, THERE.__contains__, contested=contested(servers))
    assert [as_member(server, origin).env for server in servers] == [
        {"API_KEY": "${ONE_API_KEY}", "REGION": "${REGION}"},
        {"API_KEY": "${_2ND_API_KEY}", "REGION": "${REGION}"},
        {"API_KEY": "${API_KEY}"},
    ]


def test_a_directory_may_be_a_reference(tmp_path: Path) -> None:
    (tmp_path / "$(id)").mkdir()
    found = member({"command": "pwd", "cwd": "${env:PLACE}/$(id)"})
    answer = subprocess.run(found.command, env={"PLACE": str(tmp_path)}, capture_output=True, check=True, text=True)
    assert (answer.stdout, found.needs) == (f"{tmp_path}/$(id)\n", ("PLACE",))


def test_an_argument_that_refers_to_a_variable_gets_its_value() -> None:
    found = member({"command": "printf", "args": ["%s,", "a b", "${env:TOKEN}", "it's ${TOKEN}!"]})
    answer = subprocess.run(found.command, env={"TOKEN": "$x `y`"}, capture_output=True, check=True, text=True)
    assert answer.stdout == "a b,$x `y`,it's $x `y`!,"


def test_a_server_that_needs_its_directory_gets_it(tmp_path: Path) -> None:
    (tmp_path / "here it is").mkdir()
    server = server_of("pwd", {"command": "pwd", "cwd": "${workspaceFolder}/here it is"})
    found = as_member(server, Origin(str(tmp_path), HOME, lambda _: False))
    answer = subprocess.run(found.command, cwd="/", capture_output=True, check=True, text=True)
    assert answer.stdout == f"{tmp_path}/here it is\n"


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", "exec ./serve"],
        ["npm", "run", "mcp"],
        ["/opt/bin/uv", "run", "server"],
        ["python3", "-m", "server"],
    ],
)
def test_a_server_that_is_found_by_looking_around_runs_in_the_project(command: list[str]) -> None:
    found = member({"command": command[0], "args": command[1:]})
    assert found.command == ("/bin/sh", "-c", f"cd {PROJECT} && exec {join(command)}")


@pytest.mark.parametrize("arguments", [["server/index.js"], ["."]])
def test_a_server_whose_arguments_name_files_of_the_project_runs_there(arguments: list[str]) -> None:
    assert member({"command": "node", "args": arguments}).command[2].startswith(f"cd {PROJECT} && exec node ")


def test_places_are_filled_in() -> None:
    found = member({"command": "${userHome}/bin/x", "args": ["${workspaceFolder}/a"]})
    assert found.command == ("/home/me/bin/x", "/home/me/shop/a")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "sse", "url": "https://example.org/sse"}, "SSE"),
        ({"command": "x", "disabled": True}, "switched off"),
        ({"command": "x", "enabled": False}, "switched off"),
        ({"command": "/opt/bin/context", "args": ["serve", "--path", "/p"]}, "a hall itself"),
        ({"command": "python3", "args": ["-m", "contexthall", "serve"]}, "a hall itself"),
        ({"url": "https://example.org/mcp?api_key=abc"}, "address holds a secret"),
        ({"url": "https://me:abc@example.org/mcp"}, "address holds a secret"),
        ({"url": "https://${HOST}/mcp"}, "address holds a secret, or a variable"),
        ({"command": "x", "args": ["${command:pick}"]}, "no counterpart"),
        ({"command": "x", "env": {"X": "${command:pick}${env:A}"}}, "no counterpart"),
        ({"command": "x", "args": ["${A:-${B}}"]}, "no counterpart"),
        ({"command": "x", "env": {"X": "$${A}"}}, "no counterpart"),
        ({"command": "x", "cwd": "${command:pick}"}, "no counterpart"),
        ({"command": "x", "envFile": "${workspaceFolder}/.env"}, "from a file"),
        ({"command": "x", "env": {"not a name": "y"}}, "'not a name'"),
        ({"command": ["x"]}, "`command` is no text"),
        ({"command": "x", "args": "y"}, "`args` is no list"),
        ({"command": "x", "env": ["y"]}, "`env` is no object"),
        ({"command": "x", "env": {"A": {}}}, "`env` is no object of texts"),
        ({}, "neither a command nor an address"),
        ("x", "no object"),
    ],
)
def test_what_cannot_be_a_member_is_left_out_with_its_reason(entry: Any, reason: str) -> None:
    found = member(entry)
    assert reason in found.reason
    assert (found.command, found.url) == ((), "")

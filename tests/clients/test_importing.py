"""What a server of a client's file becomes as a member: the same command, and no secret of it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from contexthall.clients.importing import Found, Origin, as_member
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
        ["--token", "hunter2hunter2"],
        ["--api-key=hunter2hunter2"],
        ["postgresql://me:hunter2hunter2@localhost/shop"],
        ["--dsn=postgresql://me:hunter2hunter2@localhost/shop"],
        ["sk-hunter2hunter2hunter2"],
        ["https://example.org/?api_key=hunter2hunter2"],
    ],
)
def test_an_argument_that_looks_like_a_secret_comes_from_the_environment(arguments: list[str]) -> None:
    found = member({"command": "printf", "args": ["%s,", *arguments]})
    assert "hunter2" not in repr(found)
    [variable] = found.needs
    assert found.env == {variable: f"${{{variable}}}"}
    secret = next(word for word in arguments if "hunter2" in word)
    value = secret.partition("=")[2] if secret.startswith("-") else secret
    answer = subprocess.run(found.command, env={variable: value}, capture_output=True, check=True, text=True)
    assert answer.stdout == "".join(f"{word}," for word in arguments)


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

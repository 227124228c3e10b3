"""What a server of a client's file becomes as a member: the same command, and no secret of it."""

import re
import subprocess
from pathlib import Path
from shlex import join
from typing import Any

import pytest
from tests.clients.making import register_in

from contexthall.clients.importing import ImportedServer, Origin, as_members
from contexthall.clients.secret_detection import secret_in
from contexthall.clients.servers import server_of

PROJECT, HOME = "/home/me/shop", "/home/me"
THERE = {f"{PROJECT}/server/index.js", f"{PROJECT}/."}


def members(entries: dict[str, Any], *, keep: tuple[str, ...] = ()) -> list[ImportedServer]:
    servers = [server_of(name, entry) for name, entry in entries.items()]
    return as_members(servers, Origin(PROJECT, HOME, THERE.__contains__, keep))


def member(entry: Any, *, keep: tuple[str, ...] = ()) -> ImportedServer:
    [found] = members({"github": entry}, keep=keep)
    return found


def test_a_command_is_taken_over_as_it_is() -> None:
    found = member({"command": "npx", "args": ["-y", "some server"]})
    assert found == ImportedServer("github", command=("npx", "-y", "some server"))


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
        ["--headers", "Authorization", "Bearer <hunter2hunter2>", "https://example.org/sse"],
        ["-H", "authorization", "Bearer <hunter2hunter2>"],
        ["--header", "X-Team", "<hunter2hunter2>"],
        ["-e", "API_KEY", "<hunter2hunter2>", "npx"],
        ["--env", "REGION", "<hunter2hunter2>"],
        ["-e", "api_key", "<hunter2hunter2>", "--", "docker", "run", "-e", "OTHER", "image"],
        ["serve", "Bearer <hunter2hunter2>"],
        ["--with", "basic <hunter2hunter2>"],
        ["-c", "API_KEY=hunter2hunter2 exec npx server"],
        ["-c", "exec npx server --token hunter2hunter2"],
        ["--config", '{"apiKey": "hunter2hunter2"}'],
        ["--config", r'"{\"apiKey\":\"hunter2hunter2\"}"'],
        ["--dsn", "root:hunter2hunter2@tcp(127.0.0.1:3306)/shop"],
        ["--dsn=<root:hunter2hunter2@tcp(127.0.0.1:3306)/shop>"],
        ["root:p@hunter2hunter2@unix(/tmp/mysql.sock)/shop"],
        ["root:hunter2hunter2@/shop"],
        ["${DATABASE_USER}:hunter2hunter2@tcp(127.0.0.1)/shop"],
        ["DSN=me:hunter2hunter2@localhost:5432"],
        ["jdbc:mysql://me:hunter2hunter2@localhost/shop"],
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
        ["docker", "run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
        ["/usr/bin/podman", "run", "--env", "GITHUB_TOKEN", "-e", "GITHUB_HOST", "image"],
        ["-e", "script.py", "first", "--env", "production", "deploy"],
        ["-H", "localhost", "--port", "8080", "-H", "--verbose", "serve"],
        ["basic", "memory", "Basic ", "bearer"],
        ["--config", r'"{\"apiKey\":\"\"}"'],
        ["@nobody/package", "git@github.com:nobody/package", "npm:package@1.2.3", "npm:package@1.2.3/bin", "C:@x"],
        ["npm:@nobody/package@1.2.3", "C:\\tools\\@nobody/server", "http://localhost:8080/@nobody/mcp"],
        ["alpine:3.19@sha256:0123", "root@tcp(127.0.0.1:3306)/shop", "root:@tcp(127.0.0.1:3306)/shop"],
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
    assert member({"command": "x", "args": arguments}) == ImportedServer("github", command=("x", *arguments))


def test_an_argument_that_is_no_secret_after_all_can_be_kept() -> None:
    found = member({"command": "x", "args": ["--max-tokens", "4000"]}, keep=("GITHUB_ARGUMENT_2",))
    assert found == ImportedServer("github", command=("x", "--max-tokens", "4000"))


@pytest.mark.parametrize(
    "word",
    [
        "token" * 50_000,
        "-" * 250_000,
        "token" + " " * 250_000,
        "token" + "\\" * 250_000,
        "https://a/" + "a" * 250_000,
        "sk-" * 80_000,
        "Bearer" + " " * 250_000,
        "=a:b@" * 50_000,
        "a:" + "b@" * 125_000,
        "//" * 125_000,
    ],
)
def test_a_long_word_is_judged_in_linear_time(word: str) -> None:
    """With quadratic time it would take longer than a test may."""
    assert secret_in("", word) is None


@pytest.mark.parametrize(
    "unclosed", ["${Y:-$(touch pwned)", "${`touch pwned`", '${"; touch pwned; "', "$(touch pwned)"]
)
def test_what_only_begins_like_a_reference_is_itself(unclosed: str, tmp_path: Path) -> None:
    found = member({"command": "printf", "args": ["%s,", f"${{X}}{unclosed}", "}", '"']})
    answer = subprocess.run(found.command, cwd=tmp_path, env={"X": "x"}, capture_output=True, check=True, text=True)
    assert answer.stdout == f'x{unclosed},}},",'
    assert not list(tmp_path.iterdir())


def test_two_servers_that_give_a_variable_different_values_get_one_each() -> None:
    servers = {
        "one": {"command": "x", "env": {"API_KEY": "first", "REGION": "eu"}},
        "2nd": {"command": "x", "env": {"API_KEY": "second", "REGION": "eu"}},
        "third": {"command": "x", "env": {"API_KEY": "${API_KEY}"}},
        "last": {"command": "x", "env": {"API_KEY": "none"}},
    }
    assert [found.env for found in members(servers, keep=("LAST_API_KEY",))] == [
        {"API_KEY": "${ONE_API_KEY}", "REGION": "${REGION}"},
        {"API_KEY": "${_2ND_API_KEY}", "REGION": "${REGION}"},
        {"API_KEY": "${API_KEY}"},
        {"API_KEY": "none"},
    ]


@pytest.mark.parametrize(
    "referring",
    [
        {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}},
        {"url": "https://example.org/mcp", "bearer_token_env_var": "GITHUB_TOKEN", "env": {"GITHUB_TOKEN": "private"}},
        {"command": "x", "args": ["${env:GITHUB_TOKEN}"]},
        {"command": "x", "args": ["${input:github-token}"]},
        {"command": "x", "env": {"TOKEN": "$GITHUB_TOKEN"}},
    ],
)
def test_a_server_that_refers_to_a_variable_is_not_sent_what_another_gives_it(referring: dict[str, Any]) -> None:
    private = {"command": "x", "env": {"GITHUB_TOKEN": "private"}}
    one, two = members({"one": referring, "two": private})
    assert one.needs == ("GITHUB_TOKEN",)
    assert (two.env, two.needs) == ({"GITHUB_TOKEN": "${TWO_GITHUB_TOKEN}"}, ("TWO_GITHUB_TOKEN",))


def test_a_server_that_refers_to_what_it_gives_itself_keeps_the_name() -> None:
    entry = {"command": "x", "args": ["X:${AUTH}"], "env": {"AUTH": "Bearer abc"}}
    one, two = members({"one": entry, "two": entry})
    assert one.env == two.env == {"AUTH": "${AUTH}"}


@pytest.mark.parametrize(
    ("names", "variables"),
    [
        (["日本", "中文", "server"], ["SERVER_KEY", "SERVER_2_KEY", "SERVER_3_KEY"]),
        (["my-api", "my_api"], ["MY_API_KEY", "MY_API_2_KEY"]),
        (["a", "a_2", "A"], ["A_KEY", "A_2_KEY", "A_3_KEY"]),
    ],
)
def test_servers_whose_names_are_alike_get_variables_of_their_own(names: list[str], variables: list[str]) -> None:
    found = members({name: {"url": "https://example.org/mcp", "headers": {"Key": name}} for name in names})
    assert [each.needs for each in found] == [(variable,) for variable in variables]


def test_a_variable_that_is_made_for_a_server_is_none_that_another_names() -> None:
    remote = {"url": "https://example.org/mcp", "headers": {"Api-Key": "a"}}
    deeper = {"url": "https://example.org/mcp", "headers": {"Api-Key": "b", "Api_Key": "c"}}
    local = {"command": "x", "args": ["--token", "${BRAVE_V2_API_KEY}"], "env": {"BRAVE_API_KEY": "d"}}
    found = members({"brave": remote, "brave v2": deeper, "local": local})
    needs = [name for each in found for name in each.needs]
    assert len(needs) == len(set(needs)) == 5
    assert found[2].needs == ("BRAVE_V2_API_KEY", "BRAVE_API_KEY")


def test_very_many_servers_whose_names_are_alike_are_named_in_linear_time() -> None:
    """With quadratic time it would take longer than a test may."""
    remote = {"url": "https://example.org/mcp", "headers": {"Key": "abc"}}
    found = members({chr(ord("一") + number): remote for number in range(20_000)})
    assert found[-1].needs == ("SERVER_20000_KEY",)


@pytest.mark.parametrize(
    ("env", "keep", "needs"),
    [
        ({"AUTH": "v"}, ("AUTH",), ()),
        ({"AUTH": "a ${b}"}, ("AUTH",), ("b",)),
        ({"AUTH": "${OTHER}"}, (), ("OTHER",)),
        ({"AUTH": "token=abc ${OTHER}"}, ("AUTH",), ()),
        ({}, (), ("AUTH",)),
    ],
)
def test_only_variables_that_the_manifest_refers_to_are_needed(
    env: dict[str, str], keep: tuple[str, ...], needs: tuple[str, ...]
) -> None:
    found = member({"command": "x", "args": ["--header", "X:${AUTH}"], "env": env}, keep=keep)
    assert found.needs == needs


@pytest.mark.parametrize(
    ("file", "project"),
    [
        (".mcp.json", ""),
        (".cursor/mcp.json", ""),
        (".vscode/mcp.json", ""),
        (".gemini/settings.json", ""),
        (".codex/config.toml", ""),
        (".dotfiles/.mcp.json", "/.dotfiles"),
        ("Claude/.mcp.json", "/Claude"),
    ],
)
def test_the_project_of_a_file_is_above_the_directory_of_a_client_and_no_other(
    file: str, project: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    is_toml = path.suffix == ".toml"
    path.write_text('[mcp_servers.x]\ncommand = "uv"' if is_toml else '{"mcpServers": {"x": {"command": "uv"}}}')
    [found] = register_in(tmp_path).members_in(str(path))
    assert found.command == ("/bin/sh", "-c", f"cd {tmp_path}{project} && exec uv")


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
    [found] = as_members([server], Origin(str(tmp_path), HOME, lambda _: False))
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
        ({"command": {"path": "x"}}, "`command` is no text"),
        ({"command": ["x", 1]}, "`command` is no list of texts"),
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

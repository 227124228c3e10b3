"""Every client names its servers in its own words; they are understood all the same."""

from typing import Any

import pytest

from contexthall.clients.register import CLIENTS, Client, Reach
from contexthall.clients.servers import ConfiguredServer, server_of, servers_of


@pytest.mark.parametrize("keys", ["mcpServers", "servers", "mcp_servers"])
def test_the_servers_of_every_kind_of_file_are_found(keys: str) -> None:
    values: dict[str, Any] = {"theme": "dark", keys: {"b": {"command": "x"}, "a": {"url": "http://y"}}}
    assert servers_of(values) == [ConfiguredServer("b", command="x"), ConfiguredServer("a", url="http://y")]


@pytest.mark.parametrize("values", [{}, {"mcpServers": None}, {"mcpServers": []}, {"servers": "x"}])
def test_a_file_without_servers_has_none(values: dict[str, Any]) -> None:
    assert servers_of(values) == []


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_what_is_written_for_a_client_is_understood_again(client: Client) -> None:
    reach = Reach("/opt/bin/context", ("serve", "--path", "/home/me/shop"))
    server = server_of("context-hall", client.entry(reach))
    assert (server.command, server.args) == ("/opt/bin/context", ("serve", "--path", "/home/me/shop"))
    assert server.served_project == "/home/me/shop"
    if client.url_key:
        served = server_of("context-hall", client.entry(Reach(url="http://127.0.0.1:8321/mcp", has_token=True)))
        assert served.url == "http://127.0.0.1:8321/mcp"
        assert list(served.headers) == (["Authorization"] if client.token else [])
        assert "CONTEXT_HTTP_TOKEN" in served.headers.get("Authorization", "CONTEXT_HTTP_TOKEN")


def test_codex_names_variables_rather_than_values() -> None:
    entry = {"command": "x", "env_vars": ["TOKEN"], "env": {"LEVEL": 3, "NOTHING": None}}
    assert server_of("a", entry).env == {"TOKEN": "${TOKEN}", "LEVEL": "3"}
    remote = {
        "url": "http://y",
        "bearer_token_env_var": "T",
        "env_http_headers": {"X": "U"},
        "http_headers": {"Y": "v"},
    }
    assert server_of("a", remote).headers == {"Authorization": "Bearer ${T}", "X": "${U}", "Y": "v"}


@pytest.mark.parametrize(
    ("command", "args", "project"),
    [
        ("/opt/bin/context", ["serve", "--path", "/p"], "/p"),
        ("context", ["serve", "-p", "/p", "--confine"], "/p"),
        ("context", ["serve", "--confine", "--path=/p"], "/p"),
        ("/usr/bin/python3", ["-m", "contexthall", "serve", "--path", "/p"], "/p"),
        ("/usr/bin/python3", ["-P", "-m", "contexthall", "serve", "--path", "/p"], "/p"),
        ("uvx", ["--from", "contexthall", "context", "serve", "-p", "/p"], "/p"),
        ("env", ["A=1", "/opt/bin/context", "serve"], ""),
        ("uvx", ["contexthall", "serve", "--path", "/p"], "/p"),
        ("/opt/bin/contexthall", ["serve", "--path", "/p"], "/p"),
        ("npx", ["-y", "contexthall-like", "serve"], None),
        ("context", ["serve"], ""),
        ("context", ["serve", "--path"], ""),
        ("context", ["tools"], None),
        ("npx", ["serve"], None),
        ("npx", [], None),
    ],
)
def test_a_hall_is_recognised_and_its_project_known(command: str, args: list[str], project: str | None) -> None:
    assert server_of("x", {"command": command, "args": args}).served_project == project

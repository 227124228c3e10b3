"""Where each client has its file, and how it wants to read of the hall."""

import pytest

from contexthall.clients.register import CLIENTS, Reach

LINUX, MAC = "linux", "darwin"
HOME = {"HOME": "/home/me"}
COMMAND = Reach("/opt/context", ("serve", "--path", "/p"))
CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
ADDRESS = Reach(url="http://127.0.0.1:8321/mcp")


def place(name: str, environment: dict[str, str] = HOME, platform: str = LINUX) -> str:
    resolve = CLIENTS[name].place
    return resolve.resolve("/p", environment, platform) if resolve else ""


def test_the_clients_are_these() -> None:
    assert list(CLIENTS) == [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "codex",
        "windsurf",
        "gemini-cli",
        "opencode",
        "zed",
        "cline",
        "copilot-cli",
        "generic",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code", "/p/.mcp.json"),
        ("claude-desktop", "/home/me/.config/Claude/claude_desktop_config.json"),
        ("cursor", "/p/.cursor/mcp.json"),
        ("vscode", "/p/.vscode/mcp.json"),
        ("codex", "/home/me/.codex/config.toml"),
        ("windsurf", "/home/me/.codeium/windsurf/mcp_config.json"),
        ("gemini-cli", "/p/.gemini/settings.json"),
        ("opencode", "/p/opencode.json"),
        ("zed", "/p/.zed/settings.json"),
        ("cline", f"/home/me/.config/Code/User/{CLINE}"),
        ("copilot-cli", "/home/me/.copilot/mcp-config.json"),
        ("generic", ""),
    ],
)
def test_each_has_its_file(name: str, expected: str) -> None:
    assert place(name) == expected


def test_a_place_depends_on_the_environment_and_the_platform() -> None:
    assert place("codex", {**HOME, "CODEX_HOME": "/srv/codex"}) == "/srv/codex/config.toml"
    assert place("copilot-cli", {**HOME, "COPILOT_HOME": "/srv/copilot"}) == "/srv/copilot/mcp-config.json"
    assert place("claude-desktop", {**HOME, "XDG_CONFIG_HOME": "/srv"}) == "/srv/Claude/claude_desktop_config.json"
    mac = "/home/me/Library/Application Support/Claude/claude_desktop_config.json"
    assert place("claude-desktop", {**HOME, "XDG_CONFIG_HOME": "/srv"}, MAC) == mac


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_nobody_guesses(environment: dict[str, str]) -> None:
    assert place("windsurf", environment) == ""
    assert place("claude-desktop", environment) == ""
    assert place("codex", environment) == ""
    assert place("cursor", environment) == "/p/.cursor/mcp.json"


@pytest.mark.parametrize(
    ("name", "stdio", "http"),
    [
        ("claude-code", {"type": "stdio"}, {"type": "http", "url": ADDRESS.url}),
        ("cursor", {}, {"url": ADDRESS.url}),
        ("vscode", {"type": "stdio"}, {"type": "http", "url": ADDRESS.url}),
        ("codex", {}, {"url": ADDRESS.url}),
        ("windsurf", {}, {"serverUrl": ADDRESS.url}),
        ("gemini-cli", {}, {"httpUrl": ADDRESS.url}),
        ("zed", {"source": "custom"}, {"source": "custom", "url": ADDRESS.url}),
        ("cline", {"disabled": False}, {"type": "streamableHttp", "disabled": False, "url": ADDRESS.url}),
        ("copilot-cli", {"type": "local", "tools": ["*"]}, {"type": "http", "tools": ["*"], "url": ADDRESS.url}),
        ("generic", {}, {"url": ADDRESS.url}),
    ],
)
def test_each_reads_of_the_hall_in_its_own_words(name: str, stdio: dict[str, object], http: dict[str, object]) -> None:
    started = {"command": "/opt/context", "args": ["serve", "--path", "/p"]}
    assert CLIENTS[name].entry(COMMAND) == {**stdio, **started}
    assert CLIENTS[name].entry(ADDRESS) == http


def test_opencode_has_the_command_in_one_list() -> None:
    told = CLIENTS["opencode"].entry(COMMAND)
    assert told == {"type": "local", "enabled": True, "command": ["/opt/context", "serve", "--path", "/p"]}
    assert CLIENTS["opencode"].entry(ADDRESS) == {"type": "remote", "enabled": True, "url": ADDRESS.url}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code", {"headers": {"Authorization": "Bearer ${CONTEXT_HTTP_TOKEN}"}}),
        ("cursor", {"headers": {"Authorization": "Bearer ${env:CONTEXT_HTTP_TOKEN}"}}),
        ("vscode", {"headers": {"Authorization": "Bearer ${env:CONTEXT_HTTP_TOKEN}"}}),
        ("codex", {"bearer_token_env_var": "CONTEXT_HTTP_TOKEN"}),
        ("windsurf", {"headers": {"Authorization": "Bearer ${env:CONTEXT_HTTP_TOKEN}"}}),
        ("gemini-cli", {"headers": {"Authorization": "Bearer ${CONTEXT_HTTP_TOKEN}"}}),
        ("opencode", {"headers": {"Authorization": "Bearer {env:CONTEXT_HTTP_TOKEN}"}}),
    ],
)
def test_the_token_itself_is_never_written(name: str, expected: dict[str, object]) -> None:
    plain, with_token = CLIENTS[name].entry(ADDRESS), CLIENTS[name].entry(ADDRESS._replace(has_token=True))
    assert with_token == {**plain, **expected}

"""The table of clients: where each keeps its servers, and the form of an entry.

Pure: a table. Where a file is depends on the project, the environment and the platform, which are arguments.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from contexthall.core.paths import absolute

NAME = "context-hall"
"""What the hall is called in a client's file."""
TOKEN_VARIABLE = "CONTEXT_HTTP_TOKEN"  # noqa: S105 - a name, no token

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_MAC, _ELSEWHERE = "Library/Application Support", ".config"


class Reach(NamedTuple):
    """How an agent reaches the hall: by a command that it starts, or at an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    has_token: bool = False
    """Whether the address wants a token."""


class ConfigLocation(NamedTuple):
    """Where a file is."""

    base: Literal["project", "home", "codex", "copilot", "applications"]
    path: str

    def resolve(self, project_root: str, environment: Mapping[str, str], platform: str) -> str:
        """Return the path; empty if that cannot be known."""
        home = environment.get("HOME", "")
        home = home if home.startswith("/") else ""
        bases = {
            "project": project_root,
            "home": home,
            "codex": environment.get("CODEX_HOME") or (home and absolute(".codex", home)),
            "copilot": environment.get("COPILOT_HOME") or (home and absolute(".copilot", home)),
            "applications": _applications(home, environment, platform),
        }
        base = bases[self.base]
        return absolute(self.path, base) if base.startswith("/") else ""


class Client(NamedTuple):
    """An agent, or the editor that it lives in."""

    name: str
    title: str
    place: ConfigLocation | None
    """Where its file is; None if that is not known."""
    next_step: str
    """What its user does once the file is written."""
    keys: tuple[str, ...] = ("mcpServers",)
    """The way to the object in the file that holds the servers."""
    stdio: Mapping[str, Any] = _NOTHING
    """What it wants to read beside a command and its arguments."""
    http: Mapping[str, Any] = _NOTHING
    """What it wants to read beside an address."""
    url_key: str = "url"
    """What it calls an address; empty if its file can hold none."""
    token: Mapping[str, Any] = _NOTHING
    """The keys that make it send the token, which is named by a variable."""
    also: tuple[ConfigLocation, ...] = ()
    """Where else it may have servers: these files are read, and never written."""
    has_command_list: bool = False
    """Whether its `command` is one list, of the program and its arguments."""
    programs: tuple[str, ...] = ()
    """What is typed to start it."""
    folders: tuple[ConfigLocation, ...] = ()
    """Where it has its own things: if one of these is there, so is the client."""

    def entry(self, reach: Reach) -> dict[str, Any]:
        """Return the entry for the hall in this client's form."""
        if not reach.url and self.has_command_list:
            return {**self.stdio, "command": [reach.command, *reach.args]}
        if not reach.url:
            return {**self.stdio, "command": reach.command, "args": list(reach.args)}
        return {**self.http, self.url_key: reach.url, **(self.token if reach.has_token else {})}


def _applications(home: str, environment: Mapping[str, str], platform: str) -> str:
    """Return the directory in which desktop applications keep their settings."""
    if platform != "darwin" and environment.get("XDG_CONFIG_HOME", "").startswith("/"):
        return environment["XDG_CONFIG_HOME"]
    return home and absolute(_MAC if platform == "darwin" else _ELSEWHERE, home)


def _header(variable: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {variable}"}}


_PLAIN, _ENV = f"${{{TOKEN_VARIABLE}}}", f"${{env:{TOKEN_VARIABLE}}}"

CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            place=ConfigLocation("project", ".mcp.json"),
            next_step="start `claude` in the project: it asks once whether the servers of this file may be used",
            stdio={"type": "stdio"},
            http={"type": "http"},
            token=_header(_PLAIN),
            also=(ConfigLocation("home", ".claude.json"),),
            programs=("claude",),
            folders=(ConfigLocation("home", ".claude"),),
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            place=ConfigLocation("applications", "Claude/claude_desktop_config.json"),
            next_step="quit Claude Desktop and start it again",
            url_key="",
            folders=(ConfigLocation("applications", "Claude"),),
        ),
        Client(
            "cursor",
            "Cursor",
            place=ConfigLocation("project", ".cursor/mcp.json"),
            next_step="open the project in Cursor, and switch the server on in its MCP settings if it is off",
            token=_header(_ENV),
            also=(ConfigLocation("home", ".cursor/mcp.json"),),
            programs=("cursor", "cursor-agent"),
            folders=(ConfigLocation("home", ".cursor"),),
        ),
        Client(
            "vscode",
            "VS Code",
            place=ConfigLocation("project", ".vscode/mcp.json"),
            next_step="open the project in VS Code, and start the server from the list of MCP servers",
            keys=("servers",),
            stdio={"type": "stdio"},
            http={"type": "http"},
            token=_header(_ENV),
            also=(ConfigLocation("applications", "Code/User/mcp.json"),),
            programs=("code",),
            folders=(ConfigLocation("applications", "Code"),),
        ),
        Client(
            "codex",
            "Codex",
            place=ConfigLocation("codex", "config.toml"),
            next_step="start `codex` again; `codex mcp list` shows it",
            keys=("mcp_servers",),
            token={"bearer_token_env_var": TOKEN_VARIABLE},
            also=(ConfigLocation("project", ".codex/config.toml"),),
            programs=("codex",),
            folders=(ConfigLocation("codex", ""),),
        ),
        Client(
            "windsurf",
            "Windsurf",
            place=ConfigLocation("home", ".codeium/windsurf/mcp_config.json"),
            next_step="refresh the list of MCP servers in Cascade",
            url_key="serverUrl",
            token=_header(_ENV),
            programs=("windsurf",),
            folders=(ConfigLocation("home", ".codeium/windsurf"),),
        ),
        Client(
            "gemini-cli",
            "Gemini CLI",
            place=ConfigLocation("project", ".gemini/settings.json"),
            next_step="start `gemini` in the project, and trust the folder when it asks; `/mcp` shows it",
            url_key="httpUrl",
            token=_header(_PLAIN),
            also=(ConfigLocation("home", ".gemini/settings.json"),),
            programs=("gemini",),
            folders=(ConfigLocation("home", ".gemini"),),
        ),
        Client(
            "opencode",
            "opencode",
            place=ConfigLocation("project", "opencode.json"),
            next_step="start `opencode` in the project; `opencode mcp list` shows it",
            keys=("mcp",),
            stdio={"type": "local", "enabled": True},
            http={"type": "remote", "enabled": True},
            token=_header(f"{{env:{TOKEN_VARIABLE}}}"),
            also=(
                ConfigLocation("project", "opencode.jsonc"),
                ConfigLocation("project", ".opencode/opencode.json"),
                ConfigLocation("home", ".config/opencode/opencode.json"),
            ),
            has_command_list=True,
            programs=("opencode",),
            folders=(ConfigLocation("home", ".config/opencode"),),
        ),
        Client(
            "zed",
            "Zed",
            place=ConfigLocation("project", ".zed/settings.json"),
            next_step="open the project in Zed and trust it; the settings of its agent panel show the server",
            keys=("context_servers",),
            stdio={"source": "custom"},
            http={"source": "custom"},
            also=(ConfigLocation("home", ".config/zed/settings.json"),),
            programs=("zed", "zeditor"),
            folders=(ConfigLocation("home", ".config/zed"),),
        ),
        Client(
            "cline",
            "Cline",
            place=ConfigLocation(
                "applications", "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
            ),
            next_step="open the list of MCP servers in Cline, where it is shown",
            stdio={"disabled": False},
            http={"type": "streamableHttp", "disabled": False},
            also=(ConfigLocation("home", ".cline/data/settings/cline_mcp_settings.json"),),
            programs=("cline",),
            folders=(
                ConfigLocation("applications", "Code/User/globalStorage/saoudrizwan.claude-dev"),
                ConfigLocation("home", ".cline"),
            ),
        ),
        Client(
            "copilot-cli",
            "Copilot CLI",
            place=ConfigLocation("copilot", "mcp-config.json"),
            next_step="start `copilot` again; `/mcp show` shows it",
            stdio={"type": "local", "tools": ["*"]},
            http={"type": "http", "tools": ["*"]},
            token=_header(_PLAIN),
            also=(ConfigLocation("project", ".github/mcp.json"),),
            programs=("copilot",),
            folders=(ConfigLocation("copilot", ""),),
        ),
        Client(
            "generic",
            "another client",
            place=None,
            next_step="start the client again",
            token=_header(_PLAIN),
        ),
    )
}

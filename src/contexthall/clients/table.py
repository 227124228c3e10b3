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

    base: Literal["project", "home", "codex", "applications"]
    path: str

    def resolve(self, project_root: str, environment: Mapping[str, str], platform: str) -> str:
        """Return the path; empty if that cannot be known."""
        home = environment.get("HOME", "")
        home = home if home.startswith("/") else ""
        bases = {
            "project": project_root,
            "home": home,
            "codex": environment.get("CODEX_HOME") or (home and absolute(".codex", home)),
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

    def entry(self, reach: Reach) -> dict[str, Any]:
        """Return the entry for the hall in this client's form."""
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
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            place=ConfigLocation("applications", "Claude/claude_desktop_config.json"),
            next_step="quit Claude Desktop and start it again",
            url_key="",
        ),
        Client(
            "cursor",
            "Cursor",
            place=ConfigLocation("project", ".cursor/mcp.json"),
            next_step="open the project in Cursor, and switch the server on in its MCP settings if it is off",
            token=_header(_ENV),
            also=(ConfigLocation("home", ".cursor/mcp.json"),),
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
        ),
        Client(
            "codex",
            "Codex",
            place=ConfigLocation("codex", "config.toml"),
            next_step="start `codex` again; `codex mcp list` shows it",
            keys=("mcp_servers",),
            token={"bearer_token_env_var": TOKEN_VARIABLE},
            also=(ConfigLocation("project", ".codex/config.toml"),),
        ),
        Client(
            "windsurf",
            "Windsurf",
            place=ConfigLocation("home", ".codeium/windsurf/mcp_config.json"),
            next_step="refresh the list of MCP servers in Cascade",
            url_key="serverUrl",
            token=_header(_ENV),
        ),
        Client(
            "gemini-cli",
            "Gemini CLI",
            place=ConfigLocation("project", ".gemini/settings.json"),
            next_step="start `gemini` in the project, and trust the folder when it asks; `/mcp` shows it",
            url_key="httpUrl",
            token=_header(_PLAIN),
            also=(ConfigLocation("home", ".gemini/settings.json"),),
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

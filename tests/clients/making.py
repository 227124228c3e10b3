"""Files as people have them, one a client: with comments, other servers, and settings that are none of our business."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from contexthall.clients.change import TextError
from contexthall.clients.register import CLIENTS, Client, Reach, Register
from contexthall.system.disk import Disk

CLAUDE_CODE: Final = """{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}
    }
  }
}
"""
CLAUDE_DESKTOP: Final = """{
    "globalShortcut": "Ctrl+Space",
    "mcpServers": {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desktop"]
        },
        "postgres": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://me:hunter2@localhost/shop"]
        }
    }
}"""
CURSOR: Final = """\
// Shared by the team; ask before you add one.
{
\t"mcpServers": {
\t\t"linear": { "url": "https://mcp.linear.app/mcp" }, // issues
\t\t/* the old one:
\t\t"jira": { "command": "jira" }, */
\t\t"local": {
\t\t\t"command": "node",
\t\t\t"args": ["./tools/server.js"],
\t\t\t"env": { "API_KEY": "${env:LOCAL_API_KEY}", "LEVEL": "debug" },
\t\t},
\t},
}
"""
VSCODE: Final = """{
  // Asked for once, and kept by the editor.
  "inputs": [
    {"type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true}
  ],
  "servers": {
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask"],
      "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}"}
    },
    "fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"], "cwd": "${workspaceFolder}"}, // web
  }
}
"""
CODEX: Final = '''\
# What I like.
model = "gpt-5"
approval_policy = "on-request"
notify = ["sh", "-c", """
[mcp_servers.not-a-table]
"""]

[profiles.deep]
model_reasoning_effort = "high"   # slow

# Documents of libraries.
[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env = { "CONTEXT7_API_KEY" = "ctx7sk-0123456789abcdef" }

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"

[mcp_servers.figma.http_headers]
"X-Figma-Region" = "eu-west-1"

[tui]
notifications = true
'''
WINDSURF: Final = '{"mcpServers":{"memory":{"command":"npx","args":["-y","@modelcontextprotocol/server-memory"]}}}'
GEMINI: Final = """{
  "theme": "GitHub",
  // My own server.
  "mcpServers": {
    "weather": {
      "command": "python3",
      "args": ["-m", "weather"],
      "env": {"WEATHER_KEY": "$WEATHER_KEY"},
      "timeout": 15000,
      "trust": false
    }
  },
  "selectedAuthType": "gemini-api-key"
}
"""
OPENCODE: Final = """{
  "$schema": "https://opencode.ai/config.json",
  "theme": "opencode",
  "mcp": {
    "everything": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "environment": {"LEVEL": "debug"},
    },
    "jira": {"type": "remote", "url": "https://jira.example.com/mcp", "enabled": false}
  }
}
"""
ZED: Final = """// Zed settings
{
  "ui_font_size": 16,
  "context_servers": {
    "postgres-context-server": {"settings": {"database_url": "postgresql://localhost/shop"}},
    "hexdocs": {"source": "custom", "command": "npx", "args": ["-y", "hexdocs-mcp"], "env": {}},
  },
}
"""
CLINE: Final = """{
  "mcpServers": {
    "local": {
      "command": "node",
      "args": ["/path/to/server.js"],
      "disabled": false,
      "autoApprove": []
    }
  }
}
"""
COPILOT: Final = """{
  "mcpServers": {
    "playwright": {"type": "local", "command": "npx", "tools": ["*"], "args": ["@playwright/mcp@latest"]}
  }
}
"""
FILES: Final = {
    "claude-code": CLAUDE_CODE,
    "claude-desktop": CLAUDE_DESKTOP,
    "cursor": CURSOR,
    "vscode": VSCODE,
    "codex": CODEX,
    "windsurf": WINDSURF,
    "gemini-cli": GEMINI,
    "opencode": OPENCODE,
    "zed": ZED,
    "cline": CLINE,
    "copilot-cli": COPILOT,
}


def register_in(root: Path, disk: Disk | None = None) -> Register:
    """Give the clients of somebody who lives in `root` and works on `root/shop`."""
    (root / "shop").mkdir(exist_ok=True)
    environment = {"HOME": str(root)}
    return Register(disk or Disk(), project_root=str(root / "shop"), environment=environment, platform="linux")


def reach_in(root: Path) -> Reach:
    """Give a hall of that project, whose command is there."""
    return Reach("/bin/sh", ("-m", "contexthall", "serve", "--path", str(root / "shop")))


def write_file(root: Path, client: Client, text: str) -> Path:
    """Put a client's file where the client looks for it."""
    file = Path(register_in(root).place(client))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def refusal(change: Callable[[], object]) -> str:
    """Give the words with which a change is refused, if it is."""
    try:
        change()
    except TextError as error:
        return str(error)
    return "changed"


def of(name: str) -> Client:
    return CLIENTS[name]

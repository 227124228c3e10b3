"""The agents themselves read what `context connect` wrote, and reach the hall.

Copilot CLI reads its file; to start a server it wants somebody who is logged in.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.machine import must_be_here
from tests.processes import run_context

INSTALLED = Path(__file__).parents[2] / ".clients"
PROGRAMS = INSTALLED / "node_modules" / ".bin"
PATIENCE_SECONDS = 90.0

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    must_be_here((INSTALLED / "installed").exists(), "NO CLIENTS: they are not installed; type `make clients`")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def environment(home: Path) -> dict[str, str]:
    """Give the environment of somebody new, from which nothing but this machine is reached."""
    nowhere = "http://127.0.0.1:9"
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere)
    path = os.pathsep.join([str(PROGRAMS), os.path.dirname(sys.executable), os.environ["PATH"]])
    return {"HOME": str(home), "PATH": path, "NO_PROXY": "127.0.0.1", **proxies, "DISABLE_TELEMETRY": "1"}


def connect(client: str, shop: Path, *more: str) -> None:
    home = {"HOME": str(shop.parent), "CODEX_HOME": ""}
    answer = run_context("connect", client, "--write", *more, cwd=shop, env=home)
    assert answer.returncode == 0, answer.stderr


def ask(shop: Path, *command: str, words: int = subprocess.DEVNULL) -> str:
    """Ask an agent; give what it says, with its `words` on standard error if they are wanted."""
    answer = subprocess.run(
        command,
        cwd=shop,
        env=environment(shop.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=words,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    return answer.stdout


def line_of_the_hall(answer: str) -> str:
    return next(line for line in answer.splitlines() if "context-hall" in line)


@pytest.mark.timeout(120)
def test_claude_code_connects(shop: Path) -> None:
    connect("claude-code", shop)
    approved = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["context-hall"]}
    (shop.parent / ".claude.json").write_text(json.dumps({"projects": {str(shop): approved}}))
    assert line_of_the_hall(ask(shop, "claude", "mcp", "list")).endswith("Connected")


@pytest.mark.timeout(180)
def test_gemini_cli_connects(shop: Path) -> None:
    connect("gemini-cli", shop)
    (shop.parent / ".gemini").mkdir()
    (shop.parent / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(shop): "TRUST_FOLDER"}))
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
    (shop.parent / ".gemini" / "settings.json").write_text(json.dumps(quiet))
    # It gives a server five seconds to start, which is little while everything else is being tested.
    lines = (line_of_the_hall(ask(shop, "gemini", "mcp", "list", words=subprocess.STDOUT)) for _ in range(3))
    assert any(line.endswith(" Connected") for line in lines)


@pytest.mark.timeout(120)
def test_opencode_connects(shop: Path) -> None:
    connect("opencode", shop)
    assert "✓ context-hall" in line_of_the_hall(ask(shop, "opencode", "mcp", "list", words=subprocess.STDOUT))


@pytest.mark.timeout(120)
def test_copilot_cli_knows_the_hall(shop: Path) -> None:
    connect("copilot-cli", shop)
    assert line_of_the_hall(ask(shop, "copilot", "mcp", "list")).strip() == "context-hall (local)"
    told = ask(shop, "copilot", "mcp", "get", "context-hall")
    assert "Status: Enabled" in told
    assert f"serve --path {shop}" in told


@pytest.mark.timeout(120)
def test_codex_knows_the_hall_both_ways(shop: Path) -> None:
    connect("codex", shop)
    [server] = json.loads(ask(shop, "codex", "mcp", "list", "--json"))
    assert server["name"] == "context-hall"
    assert server["transport"]["args"][:5] == ["-P", "-m", "contexthall", "serve", "--path"]
    connect("codex", shop, "--http")
    assert "http://127.0.0.1:8321/mcp" in line_of_the_hall(ask(shop, "codex", "mcp", "list"))

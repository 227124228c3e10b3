"""No command pays for what it does not use."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.caches.making import build_cache, build_pages
from tests.guild.making import make_member, tool, write_cache

from contexthall.faces.cli.guild import guild
from contexthall.faces.cli.table import COMMANDS

SDK = {"mcp", "mcp_types"}
HEAVY = SDK | {"ctypes", "numpy", "pickle", "anyio", "asyncio", "jsonschema", "pydantic", "tomllib", "rich"}

ARGUMENTS = {
    "setup": ["setup", "--dry-run"],
    "connect": ["connect", "cursor", "--write"],
    "doctor": ["doctor", "--no-start", "--guild", "guild-members"],
    "tools": ["tools"],
    "call": ["call", "context.list_caches"],
    "activity": ["activity"],
    "completion": ["completion", "bash"],
    "guild": ["guild", "list", "--guild", "guild-members"],
    "build": ["build", "--sources", "handbook", "--cache", "built"],
    "refresh": ["refresh", "pages"],
    "ask": ["ask", "a", "--cache", "cache"],
    "read": ["read", "a.md", "--cache", "cache"],
    "outline": ["outline", "--cache", "cache"],
    "resolve": ["resolve", "--cache", "cache", "--query", "a", "--budget", "9"],
    "verify": ["verify", "--cache", "cache"],
    "caches": ["caches"],
    "inspect": ["inspect", "--cache", "handbook"],
    "init": ["init"],
    "regen": ["regen"],
    "status": ["status"],
    "show": ["show", "."],
    "brief": ["brief", "."],
    "hook": ["hook", "claude-code", "SessionStart"],
    "note": ["note", ".", "--constraint", "Never."],
    "check": ["check", "--changed", "-"],
    "rehash": ["rehash"],
    "validate": ["validate"],
}

GUILD_ARGUMENTS = {
    "tools": ["tools", "echo"],
    "why": ["why", "echo"],
    "logs": ["logs", "echo"],
    "approve": ["approve", "echo"],
    "add": ["add", "new", "--", "true"],
    "import": ["import", ".mcp.json"],
    "enable": ["enable", "echo"],
    "disable": ["disable", "echo", "echo"],
}

SCRIPT = """
import json, os, sys
from contexthall.__main__ import main
end = os._exit
def leave(code):
    print()
    print(json.dumps(sorted(sys.modules)), flush=True)
    end(code)
os._exit = leave
sys.argv = ["context", *json.loads(sys.argv[1])]
main()
"""


def modules_loaded_by(arguments: list[str], cwd: Path, environment: Mapping[str, str] = os.environ) -> set[str]:
    command = [sys.executable, "-c", SCRIPT, json.dumps(arguments)]
    process = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=True, text=True)
    printed = process.stdout or process.stderr  # who serves has sent what is printed to standard error
    return set(json.loads(printed.splitlines()[-1]))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".context" / "caches" / "handbook").mkdir(parents=True)
    (tmp_path / "handbook").mkdir()
    build_cache(tmp_path, {"a.md": "a"})
    build_pages(tmp_path, {"a.md": "a"}, name="pages", knows_sources=True)
    fields = {"version": 1, "scope": ".", "fingerprint": "x", "last_updated": "now", "summary": "x", "maintenance": "x"}
    (tmp_path / ".context.yaml").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    write_cache(make_member(tmp_path / "guild-members", "echo"), tool("echo"))
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "other"}}}')
    return tmp_path


def test_every_command_that_ends_is_looked_at() -> None:
    others = {"serve", "watch", "push", "pull", "cluster"}  # push and pull need a store
    assert set(ARGUMENTS) | others == set(COMMANDS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_no_command_loads_the_sdk(name: str, project: Path) -> None:
    assert not SDK & modules_loaded_by(ARGUMENTS[name], project)


def test_serving_over_pipes_loads_neither_the_sdk_nor_what_it_needs(project: Path) -> None:
    """Standard input is empty: the hall has begun to serve when it ends."""
    loaded = modules_loaded_by(["serve", "--guild", "guild-members"], project)
    assert "contexthall.faces.mcp.stdio" in loaded
    assert not (SDK | {"pydantic", "pydantic_core", "httpx2", "starlette", "uvicorn", "jsonschema"}) & loaded


def test_serving_over_http_does_not_load_the_sdk() -> None:
    script = "import sys, contexthall.faces.serve.http; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert "contexthall.faces.mcp.http" in ran.stdout.split()
    assert not (SDK | {"pydantic", "httpx2"}) & set(ran.stdout.split())


def test_calling_a_member_over_pipes_does_not_load_the_sdk(project: Path) -> None:
    loaded = modules_loaded_by(["guild", "call", "echo", "echo", "--guild", "guild-members"], project)
    assert "contexthall.guild.servers.connector" in loaded
    assert not (SDK | {"pydantic", "httpx2"}) & loaded


def test_asking_how_to_serve_loads_nothing_that_serves(project: Path) -> None:
    assert not (SDK | {"anyio", "asyncio", "pydantic"}) & modules_loaded_by(["serve", "--help"], project)


def test_every_command_of_the_guild_that_starts_nothing_is_looked_at() -> None:
    assert set(GUILD_ARGUMENTS) | {"list", "refresh", "call", "secret"} == set(guild.commands)


@pytest.mark.parametrize("name", GUILD_ARGUMENTS)
def test_a_command_of_the_guild_that_starts_nothing_does_not_load_the_sdk(name: str, project: Path) -> None:
    named = {**os.environ, "CONTEXT_GUILD": "guild-members"}
    assert not SDK & modules_loaded_by(["guild", *GUILD_ARGUMENTS[name]], project, named)


@pytest.mark.parametrize("name", ["resolve", "verify", "caches", "inspect"])
def test_a_command_of_the_caches_loads_nothing_heavy_and_no_other_room(name: str, project: Path) -> None:
    loaded = modules_loaded_by(ARGUMENTS[name], project)
    assert not HEAVY & loaded
    others = {
        "contexthall.contexts",
        "contexthall.guild",
        "contexthall.core.catalog",
        "contexthall.caches.build.builder",
    }
    assert not others & loaded


@pytest.mark.parametrize("name", ["status --json", "show", "brief", "hook", "rehash", "note", "check"])
def test_a_command_of_the_contexts_loads_nothing_heavy_and_no_other_room(name: str, project: Path) -> None:
    name, *more = name.split()
    loaded = modules_loaded_by([*ARGUMENTS[name], *more], project)
    writing = {"rehash": {"ctypes", "tree_sitter", "tomllib"}, "note": {"ctypes"}}.get(name, set())
    assert not (HEAVY | {"watchfiles", "tree_sitter"}) & loaded - writing
    others = {
        "contexthall.caches",
        "contexthall.guild",
        "contexthall.core.catalog",
        "contexthall.contexts.files.validation",
    }
    assert not others & loaded


@pytest.mark.parametrize("words", [["status"], ["caches", "--long"]])
def test_to_judge_caches_loads_nothing_heavy(words: list[str], project: Path) -> None:
    loaded = modules_loaded_by(words, project)
    assert "contexthall.caches.report" in loaded
    assert not (HEAVY | {"watchfiles", "tree_sitter", "contexthall.caches.build.builder"}) & loaded


def test_the_version_loads_not_even_click(project: Path) -> None:
    loaded = modules_loaded_by(["--version"], project)
    assert {name for name in loaded if name.startswith("contexthall")} == {"contexthall", "contexthall.__main__"}
    assert "click" not in loaded


def test_toml_is_loaded_only_where_there_is_a_settings_file(project: Path) -> None:
    (project / "contexthall.toml").write_text("")
    assert "tomllib" in modules_loaded_by(["caches"], project)


def test_what_serves_loads_what_watches_sources_later_and_only_for_a_cache_that_knows_them() -> None:
    script = "import contexthall.faces.serve.stdio, sys; print('contexthall.system.watching' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"

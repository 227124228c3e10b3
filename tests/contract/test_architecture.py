"""The rules of the house hold, and a break is caught: each is broken once here, in a copy."""

import ast
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "contexthall"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "src" / "contexthall", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    return tmp_path


def run_in(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "", "COLUMNS": "200"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def lint_imports(copy: Path) -> subprocess.CompletedProcess[str]:
    script = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(cache_dir=None))"
    return run_in(copy, sys.executable, "-c", script)


def lint(copy: Path) -> subprocess.CompletedProcess[str]:
    return run_in(copy, sys.executable, "-m", "ruff", "check", "--no-cache", "src")


def test_the_house_is_in_order(copy: Path) -> None:
    assert lint_imports(copy).returncode == 0
    assert lint(copy).returncode == 0


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/wire.py", "import contexthall.system.disk", "The house"),
        ("system/disk/handles.py", "import contexthall.config", "The house"),
        ("caches/library.py", "import contexthall.guild", "The house"),
        ("contexts/__init__.py", "import contexthall.caches.model.format", "The house"),
        ("caches/capability.py", "import contexthall.hall", "The house"),
        ("hall.py", "import contexthall.faces.cli.output", "The house"),
        ("faces/mcp/server.py", "import contexthall.hall", "The MCP face knows catalog"),
        ("faces/mcp/stdio.py", "import contexthall.system.disk", "The MCP face knows catalog"),
        ("faces/cli/caches.py", "import contexthall.caches.model.format", "The command line uses each room"),
        ("protocol/peer.py", "import contexthall.system.disk", "The house"),
        ("system/kernel.py", "import contexthall.protocol.peer", "The house"),
        ("protocol/server.py", "import asyncio", "The protocol is pure"),
        ("protocol/messages.py", "import time", "The protocol is pure"),
        ("caches/store/ranges.py", "import obstore", "Only system.objects speaks"),
        ("caches/build/builder.py", "import distributed", "Only system.cluster speaks"),
        ("caches/library.py", "import mcp", "Only the way to members over HTTP"),
        ("faces/cli/tools.py", "import mcp_types", "Only the way to members over HTTP"),
        ("faces/mcp/http.py", "import mcp", "Only the way to members over HTTP"),
        ("protocol/messages.py", "import mcp_types", "Only the way to members over HTTP"),
        ("guild/servers/transport.py", "import mcp", "Only the way to members over HTTP"),
    ],
)
def test_an_import_against_the_rules_is_caught(copy: Path, module: str, line: str, contract: str) -> None:
    with (copy / "src" / "contexthall" / module).open("a") as file:
        file.write(f"\n{line}\n")
    answer = lint_imports(copy)
    assert answer.returncode != 0
    assert f"{contract}" in answer.stdout
    assert "BROKEN" in answer.stdout


@pytest.mark.parametrize(
    ("module", "statement", "rule"),
    [
        ("caches/library.py", 'open("x")', "PTH123"),
        ("caches/library.py", 'os.stat("x")', "TID251"),
        ("caches/library.py", 'os.path.exists("x")', "TID251"),
        ("hall.py", "import pathlib", "TID251"),
        ("hall.py", "from os import scandir", "TID251"),
        ("faces/mcp/stdio.py", "import shutil", "TID251"),
        ("config/settings.py", "def later() -> None:\n    import tomllib", "PLC0415"),
    ],
)
def test_touching_files_elsewhere_or_hiding_an_import_is_caught(
    copy: Path, module: str, statement: str, rule: str
) -> None:
    with (copy / "src" / "contexthall" / module).open("a") as file:
        file.write(f"\n\n{statement}\n")
    answer = lint(copy)
    assert answer.returncode != 0
    assert rule in answer.stdout


def test_no_class_name_occurs_twice() -> None:
    """Private ones count too: whoever searches for a name finds one thing."""
    names = Counter(
        node.name.lstrip("_")
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []

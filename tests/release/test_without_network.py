"""Does nothing leave the machine? Everything is done where there is no network: in a namespace without a route.

There the loopback address is down, too, so whoever tried to connect anywhere would fail.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.machine import must_be_here
from tests.processes import PATIENCE_SECONDS, RawServer
from tests.release.making import REPOSITORY

ALONE = ("unshare", "--map-root-user", "--net", "--")
CONTEXT = (sys.executable, "-P", "-m", "contexthall")
INTERFACES = "import socket; print([name for _, name in socket.if_nameindex()])"


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A project, on a machine where a process may be put into a namespace."""
    works = (
        shutil.which("unshare") and subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
    )
    must_be_here(works, "NO NAMESPACES: nobody may be cut off from the network here")
    shutil.copytree(REPOSITORY / "examples" / "handbook", tmp_path / "handbook")
    shutil.copytree(REPOSITORY / "examples" / "guild-members" / "echo", tmp_path / "guild" / "echo")
    (tmp_path / "prices.py").write_text('"""Prices, without floats."""\n' * 40)
    return tmp_path


def run(cwd: Path, *command: str) -> str:
    env = {**os.environ, "HOME": str(cwd)}
    ran = subprocess.run(
        [*ALONE, *command], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_documents_are_built_and_asked_contexts_are_drafted_and_a_member_is_called(alone: Path) -> None:
    assert run(alone, sys.executable, "-c", INTERFACES) == "['lo']\n"
    run(alone, *CONTEXT, "build", "--sources", "handbook", "--cache", ".context/caches/handbook")
    found = json.loads(run(alone, *CONTEXT, "resolve", "--cache", "handbook", "--query", "rotate keys"))
    assert found["documents"][0]["id"] == "security.md#rotate-keys"
    run(alone, *CONTEXT, "init")
    assert "Prices, without floats." in run(alone, *CONTEXT, "show", ".")
    answer = run(alone, *CONTEXT, "guild", "call", "echo", "reverse", "--arg", "text=hello", "--guild", "guild")
    assert answer == "olleh\n"


@pytest.mark.slow
def test_an_agent_is_served_and_its_call_reaches_a_member(alone: Path) -> None:
    chosen = ("--path", str(alone), "--guild", str(alone / "guild"), "--guild-refresh", "never")
    command = (*ALONE, *CONTEXT, "serve", *chosen)
    with RawServer(command=command, cwd=alone) as server:
        server.initialize()
        answer = server.request_whatever_is_told(
            1, "tools/call", {"name": "echo__reverse", "arguments": {"text": "hello"}}
        )
        assert answer["result"]["content"][0]["text"] == "olleh"
        server.close_input()
        assert server.wait() == 0

"""What does a person see? Commands, run one after another in one process whose streams are a terminal."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.processes import PATIENCE_SECONDS

_PROGRAM = """
import json, sys
from contexthall.faces.cli.table import run
for number, arguments in enumerate(json.loads(sys.argv[1])):
    code = run(arguments)
    sys.stdout.flush()
    print(f"<<{number}:{code}>>", file=sys.stderr, flush=True)
"""


def shown(commands: Sequence[Sequence[str]], cwd: Path, env: Mapping[str, str] | None = None) -> list[tuple[int, str]]:
    """Run commands, and give the exit code of each and what a terminal was sent, data and words together."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, json.dumps(commands)],
        cwd=cwd,
        env={**os.environ, **(env or {}), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    received = b""
    while chunk := _read(ours):
        received += chunk
    os.close(ours)
    assert process.wait(PATIENCE_SECONDS) == 0, received
    return [_cut(received, number) for number in range(len(commands))]


def _cut(received: bytes, number: int) -> tuple[int, str]:
    after = received.split(f"<<{number - 1}:".encode(), 1)[1].split(b">>\r\n", 1)[1] if number else received
    text, rest = after.split(f"<<{number}:".encode(), 1)
    return int(rest.split(b">>", 1)[0]), text.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # the other end is closed
        return b""

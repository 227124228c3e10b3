"""Real shells on a terminal, typed to as a person would, to see what they make of what was typed."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.machine import must_be_here
from tests.processes import PATIENCE_SECONDS

COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
TAUGHT_BY = {
    "bash": "source <(context completion bash)",
    "zsh": "source <(context completion zsh)",
    "fish": "context completion fish | source",
}


class Shell:
    """A shell that was taught to complete, with a `context` that completes for real but only notes down all else."""

    def __init__(self, name: str, cwd: Path, home: Path) -> None:
        must_be_here(shutil.which(name), f"NO SHELL: there is no {name}; type `make shells`")
        self._name = name
        self._cwd = cwd
        self._noted = home / "noted"
        self._environment = {
            "PATH": f"{_bin(home, self._noted)}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(home),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
        }

    def __enter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        command = ["setsid", "--ctty", *COMMANDS[self._name]]
        self._process = subprocess.Popen(
            command, cwd=self._cwd, env=self._environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        self.run(TAUGHT_BY[self._name])
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def run(self, line: str) -> None:
        """Type a line and wait until it is done; a word that the line spells otherwise says so."""
        os.write(self._ours, f"{line}; echo do''ne\n".encode())
        received, deadline = b"", time.monotonic() + PATIENCE_SECONDS
        while b"done\r\n" not in received:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, received
            received += os.read(self._ours, 1 << 16)

    def completed(self, typed: str) -> list[str]:
        """Type a line, press Tab and Enter, and give the words that `context` was called with."""
        self._noted.unlink(missing_ok=True)
        self.run(f"{typed}\t")
        return self._noted.read_text().split("\0")[:-1]


def _bin(home: Path, noted: Path) -> Path:
    """Make a directory for the path, with a `context` in it."""
    directory = home / "bin"
    directory.mkdir(parents=True)
    real, note = shlex.quote(sys.executable), shlex.quote(str(noted))
    script = f"""#!/bin/sh
        if [ "$1" = completion ]; then exec {real} -m contexthall "$@"; fi
        printf '%s\\0' "$@" >{note}
    """
    (directory / "context").write_text(script)
    (directory / "context").chmod(0o755)
    return directory

"""What does a document tell people to type, and do they then see what it shows?

`typed_in` reads the ```console blocks of a Markdown text: `$ ` begins a command, which goes on after a backslash or at
`> `; what follows is what it prints, where `…` stands for anything, also for whole lines. A `Terminal` is a bash where
the commands of a document are typed one after the other; what does not end by itself gets Ctrl-C once it is ready.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, Self

from tests.contract.markdown import REPOSITORY, Block, blocks_in, files_of_a_clone
from tests.processes import HANDSHAKE_2025, free_port

PATIENCE_SECONDS = 90.0
HELLO = {"protocolVersion": HANDSHAKE_2025, "capabilities": {}, "clientInfo": {"name": "pasted", "version": "1"}}
INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"

# Commands come over a descriptor of their own, so that standard input is the command's, as in a terminal. After each
# its exit code is told, between NULs, and `$?` is what it was.
_BASH = r"""
trap : INT
__code=0
while IFS= read -r -d '' -u {descriptor} __typed; do
    (exit "$__code")
    eval "$__typed" {descriptor}<&-
    __code=$?
    printf '\0%s\0' "$__code"
done
"""


class Typed(NamedTuple):
    """A command, and if there are any: the output that the document shows, the next command of the same block."""

    line: int
    command: str
    shown: str | None = None
    following: str | None = None

    @property
    def bare(self) -> str:
        """The command without a comment."""
        return re.sub(r"\s+#\s.*$", "", self.command)


class Unending(NamedTuple):
    """How a command that does not end is waited for: what it says when it is ready, its exit code, what it is told."""

    ready: bytes
    code: int
    told: bytes = b""


UNENDING = {
    r"(\.venv/bin/)?context serve (?!.*--help).*--http [^&|]*": Unending(b"Context Hall at ", 0),
    r"(\.venv/bin/)?context serve(?!.*(--http|--help))[^&|]*": Unending(b'"serverInfo"', 0, INITIALIZE),
    r"(\.venv/bin/)?context watch(?!.*--help)[^&|]*": Unending(b"press Ctrl+C to end", 130),
    r"make run(?!.*ONCE).*": Unending(b"Ctrl-C ends it.", 130),
}


class Outcome(NamedTuple):
    code: int
    printed: str


def typed_in(text: str) -> Iterator[Typed]:
    for block in blocks_in(text):
        if block.language == "console":
            yield from _typed_in(block)


def _typed_in(block: Block) -> Iterator[Typed]:
    commands = list(re.finditer(r"^\$ (.*(?:(?<=\\)\n.*|\n> .*)*)\n((?:(?!\$ ).*\n)*)", block.text, flags=re.MULTILINE))
    assert "".join(command[0] for command in commands) == block.text, f"line {block.line}: a block begins with `$ `"
    for command, following in zip_longest(commands, commands[1:]):
        line = block.line + block.text.count("\n", 0, command.start()) + 1
        shown = command[2].rstrip("\n") or None
        yield Typed(line, command[1].replace("\n> ", "\n"), shown, following and following[1])


def agrees(shown: str, printed: str) -> bool:
    """Say whether this was printed, where `…` stands for anything: on a line of its own, for any number of lines."""
    lines = [r"(?:.*\n)*" if line.strip() == "…" else _as_pattern(line) for line in shown.splitlines()]
    return re.fullmatch("".join(lines), f"{printed.rstrip()}\n") is not None


def _as_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ \t]*\n"


def unending(command: str) -> Unending | None:
    """Say how to wait for this command, and how it ends, if it does not do so by itself."""
    return next((each for pattern, each in UNENDING.items() if re.fullmatch(pattern, command)), None)


def copy_clone(clone: Path) -> None:
    """Make a fresh clone in which `make run` has nothing to install."""
    for name in files_of_a_clone():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, clone / name)
    install(clone / ".venv" / "bin")
    (clone / ".venv" / "installed").touch()


def install(programs: Path) -> None:
    """Put `context` and Python there, as in a virtual environment: those of the tests."""
    programs.mkdir(parents=True)
    (programs / "context").symlink_to(Path(sys.executable).with_name("context"))
    for name in ("python", "python3"):
        # A link would be a Python without the packages of the environment that it leads to.
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / name).chmod(0o755)


class Ports:
    """The ports that a document names, each with a free one in its place."""

    def __init__(self) -> None:
        self._free: dict[str, str] = {}

    def free(self, named: str) -> str:
        if named not in self._free:
            self._free[named] = str(free_port())
        return self._free[named]

    def into(self, command: str) -> str:
        named = r"(?<=--http )[1-9]\d+|(?<=127\.0\.0\.1:)[1-9]\d+|(?<=localhost:)[1-9]\d+|(?<=PORT=)[1-9]\d+"
        return re.sub(named, lambda port: self.free(port[0]), command)

    def out_of(self, printed: str) -> str:
        for named, free in self._free.items():
            printed = printed.replace(f":{free}", f":{named}").replace(f" {free}", f" {named}")
        return printed


class Terminal:
    """A bash, of a person who has nothing but `context` and an empty home."""

    def __init__(self, directory: Path, home: Path) -> None:
        self._directory = directory
        self._ports = Ports()
        self._environment = environment(home, self._ports)
        self._printed = b""

    def __enter__(self) -> Self:
        read, self._commands = os.pipe()
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", _BASH.replace("{descriptor}", str(read))],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[read],
            start_new_session=True,
        )
        os.close(read)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._commands)
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.close()
        self._bash.stdout.close()

    def type(self, command: str) -> Outcome:
        """Type a command, and wait until it has ended; with Ctrl-C, if it does not end by itself."""
        os.write(self._commands, self._ports.into(command).encode() + b"\0")
        waited_for = unending(command)
        if waited_for is not None:
            self._tell(waited_for.told)
            if self._wait_for(re.escape(waited_for.ready) + rb"|\0\d+\0")[0] == waited_for.ready:
                os.killpg(self._bash.pid, signal.SIGINT)
        code = self._wait_for(rb"\0(\d+)\0")
        printed, self._printed = self._printed[: code.start()], self._printed[code.end() :]
        return Outcome(int(code[1]), self._ports.out_of(printed.decode(errors="replace")))

    def _tell(self, text: bytes) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(text)
        self._bash.stdin.flush()

    def _wait_for(self, pattern: bytes) -> re.Match[bytes]:
        assert self._bash.stdout is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := re.search(pattern, self._printed)) is None:
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._bash.stdout.fileno(), 1 << 16) if ready else b""
            assert chunk, f"it neither ended nor became ready; printed:\n{self._printed.decode(errors='replace')}"
            self._printed += chunk
        return found


def environment(home: Path, ports: Ports) -> Mapping[str, str]:
    """Give the environment of somebody who has just logged in, with the hall installed."""
    install(home / "bin")
    return {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "PORT": ports.free("8321"),
        "NO_PROXY": "127.0.0.1,localhost",
    }

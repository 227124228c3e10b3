"""Real processes that are ended by `kill -9`: when, whom, and who is left.

All that a test starts carries the test's own token in its environment, members by way of their manifests; the hall's
orphan reaper, which has no environment to speak of, is known by the hall's mark among its arguments.
"""

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.scale import SEED
from tests.guild.making import ZOO, is_alive
from tests.processes import CONTEXT, PATIENCE_SECONDS

GONE_SECONDS = 30.0
TOKEN = "KILLING_TOKEN"
_MARK = b"CONTEXTHALL_MARK="
_TICK_SECONDS = 0.002
_LOOK_SECONDS = 0.02


def moments(name: str, count: int) -> Iterator[float]:
    """Give fractions of a duration: one at random out of each of `count` equal parts, in random order."""
    dice = random.Random(f"{SEED}-{name}")
    parts = list(range(count))
    dice.shuffle(parts)
    return ((part + dice.random()) / count for part in parts)


class Family:
    """Everybody who runs on behalf of one test."""

    def __init__(self, tmp_path: Path) -> None:
        self.token = sha256(os.fsencode(tmp_path)).hexdigest()
        self._marks: set[bytes] = set()
        self._strangers = set(_processes())

    def environment(self, **more: str) -> dict[str, str]:
        """What a process of the family gets."""
        return {**os.environ, TOKEN: self.token, "SOURCE_DATE_EPOCH": "0", **more}

    def alive(self) -> dict[int, str]:
        """Who runs now, and by which command."""
        token = f"{TOKEN}={self.token}".encode()
        known = {process: environment_of(process) for process in _processes() if process not in self._strangers}
        ours = {process for process in known if token in known[process]}
        self._marks.update(each for process in ours for each in known[process] if each.startswith(_MARK))
        commands = {process: arguments_of(process) for process in known}
        ours |= {process for process in known if self._marks.intersection(commands[process])}
        return {each: b" ".join(commands[each]).decode(errors="replace") for each in ours if is_alive(each)}

    def find(self, *parts: str) -> list[int]:
        """Who has all of these in its command."""
        return [process for process, command in self.alive().items() if all(part in command for part in parts)]

    def ends_in_time(self) -> None:
        """Nobody outlives the hall, or whatever else was killed, for long."""
        deadline = time.monotonic() + GONE_SECONDS
        while left := self.alive():
            assert time.monotonic() < deadline, f"still there: {left}"
            time.sleep(_LOOK_SECONDS)

    def end(self) -> None:
        """Leave nobody behind if a test has failed."""
        for process in self.alive():
            _kill(process)


@contextmanager
def family_of(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path)
    try:
        yield family
    finally:
        family.end()


def environment_of(process: int) -> list[bytes]:
    return _entries(process, "environ")


def arguments_of(process: int) -> list[bytes]:
    return _entries(process, "cmdline")


def _entries(process: int, file: str) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/{file}").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return []


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != os.getpid()]


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


# Commands:


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    said: str
    seconds: float


def run(family: Family, *arguments: str, cwd: Path) -> Ended:
    """Run a command to its end."""
    began = time.monotonic()
    with running(family, *arguments, cwd=cwd, words=subprocess.PIPE) as process:
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
    return Ended(process.returncode, said.decode(), time.monotonic() - began)


@contextmanager
def running(
    family: Family, *arguments: str, cwd: Path, words: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A command under way, which is killed, itself alone, at the latest when this is left."""
    with subprocess.Popen(
        [*CONTEXT, *arguments],
        cwd=cwd,
        env=family.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=words,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def pass_time(seconds: float, process: subprocess.Popen[bytes], meanwhile: Callable[[], object] = bool) -> None:
    """Let time pass, unless the process ends before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        meanwhile()
        time.sleep(_TICK_SECONDS)


class Course(NamedTuple):
    """How long a command takes until it has begun to write, and from then on."""

    before: float
    after: float


def course_of(family: Family, *arguments: str, cwd: Path, has_begun: Callable[[], object]) -> Course:
    """Let a command run to its end, which must be a good one, and see how long that takes."""
    start = time.monotonic()
    with running(family, *arguments, cwd=cwd) as process:
        while not has_begun() and process.poll() is None:
            time.sleep(_TICK_SECONDS)
        begun = time.monotonic()
        assert process.wait(PATIENCE_SECONDS) == 0
    return Course(begun - start, time.monotonic() - begun)


def kill_at(
    process: subprocess.Popen[bytes],
    moment: float,
    course: Course,
    has_begun: Callable[[], object],
    meanwhile: Callable[[], object] = bool,
) -> None:
    """Kill a command at a moment between 0 and 1: the first third before it writes, the others from then on."""
    keyed = (moment - 1 / 3) * 3 / 2
    if keyed < 0:
        pass_time(moment * 3 * course.before, process, meanwhile)
    else:
        while not has_begun() and process.poll() is None:
            meanwhile()
            time.sleep(_TICK_SECONDS)
        pass_time(keyed * course.after, process, meanwhile)
    process.kill()
    process.wait()


# What is on the disk:


def bytes_below(directory: Path) -> dict[str, bytes]:
    """Read every file below a directory, but for those that tell the times of others; nothing if there is none."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != "sources.json"]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def leftovers(*directories: Path) -> list[str]:
    """Name what is half made."""
    return sorted(str(path) for each in directories for path in each.rglob(".contexthall-*"))


def is_lock_free(directory: Path) -> bool:
    """Whether nobody has the lock of a directory, which may not be there."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def undisturbed_port() -> int:
    """Find a port that the system gives to nobody who does not ask for it, so that it stays free between two halls."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


# Members:

_RUNAWAY = 'setsid sh -c "sleep 600 & exec sleep 600" & (setsid sleep 600 &) ; exec "$0" "$@"'


def launch(family: Family, *flags: str, program: str = "member.py") -> dict[str, Any]:
    """Say in a manifest how a server of the zoo is started."""
    return {"command": sys.executable, "args": [str(ZOO / program), *flags], "env": environment(family)}


def launch_runaway(family: Family, *flags: str) -> dict[str, Any]:
    """The same for one that leaves processes in sessions of their own, one of them nobody's child."""
    args = ["-c", _RUNAWAY, sys.executable, str(ZOO / "member.py"), *flags]
    return {"command": "/bin/sh", "args": args, "env": environment(family)}


def environment(family: Family) -> Mapping[str, str]:
    return {TOKEN: family.token}

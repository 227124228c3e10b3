"""Does the same hold for the real command and the real kernel? strace lets one of its calls fail.

In the long form only: each fault costs two processes. Faults are chosen by the seed among all calls that touch the
files of an operation; what the interpreter itself does before is left alone.
"""

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.caches.making import write_sources
from tests.clients.making import CURSOR
from tests.contexts.making import write_files
from tests.faults.failing import Tree, snapshot, without_leftovers
from tests.faults.scale import IS_LONG, SEED, record
from tests.guild.making import make_member
from tests.processes import run_context

CALLS = [
    *("openat", "openat2", "write", "pwrite64", "fsync", "syncfs", "rename", "renameat", "renameat2", "linkat"),
    *("mkdir", "mkdirat", "unlink", "unlinkat", "newfstatat", "getdents64", "flock", "fchmodat"),
]
FAULTS = ("ENOSPC", "EIO")
_CALL = re.compile(rf"^(\d+) +({'|'.join(CALLS)})\(")
_HERE = re.compile("AT_FDCWD<[^>]*>")
_DATED = re.compile(rb'"(created_at|cachedAt|cached_at|at)": ?"[^"]*"|(last_updated): \S+')


class Command(NamedTuple):
    """A command that writes below a directory, and what is there before."""

    prepare: Callable[[Path], object]
    arguments: Sequence[str]
    done_again: Sequence[int] = (0,)
    """With which exit codes a later run may end."""
    most_faults: int = 12


def prepare_sources(root: Path) -> None:
    write_sources(root / "sources", {"a.md": "rotate the keys", "b.md": "keys, again"})


def prepare_cache(root: Path) -> None:
    prepare_sources(root)
    assert run_context("build", "--sources", "sources", "--cache", "cache", cwd=root).returncode == 0
    write_sources(root / "sources", {"c.md": "one more"})


def prepare_project(root: Path) -> None:
    write_files(root, {"README.md": "# Shop\n\nSells things.\n", "src/orders.py": '"""Orders."""\n'})


def prepare_contexts(root: Path) -> None:
    prepare_project(root)
    assert run_context("init", cwd=root).returncode == 0
    write_files(root, {"README.md": "# Shop\n\nSells more.\n", "src/goods.py": '"""Goods."""\n'})


def prepare_member(root: Path) -> None:
    make_member(root / "guild", "echo")


def prepare_client(root: Path) -> None:
    write_files(root, {".cursor/mcp.json": CURSOR})


def prepare_connected(root: Path) -> None:
    prepare_client(root)
    assert run_context("connect", "cursor", "--write", cwd=root).returncode == 0


COMMANDS = {
    "build": Command(prepare_sources, ("build", "--sources", "sources", "--cache", "cache"), (0, 1)),
    "build --force": Command(prepare_cache, ("build", "--sources", "sources", "--cache", "cache", "--force")),
    "init": Command(prepare_project, ("init",)),
    "regen": Command(prepare_contexts, ("regen", "--stale")),
    "rehash": Command(prepare_contexts, ("rehash", ".")),
    "guild refresh": Command(prepare_member, ("guild", "refresh", "--guild", "guild"), most_faults=3),
    "guild add": Command(prepare_member, ("guild", "add", "more", "--guild", "guild", "--", "server"), (0, 1)),
    "guild import": Command(prepare_client, ("guild", "import", ".cursor/mcp.json", "--guild", "guild", "--write")),
    "connect": Command(prepare_client, ("connect", "cursor", "--write")),
    "connect --remove": Command(prepare_connected, ("connect", "cursor", "--remove")),
}


def traced(root: Path, command: Command, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command under strace."""
    assert shutil.which("strace"), "the long form needs strace: install it, or run the bounded form"
    strace = ["strace", "-f", "-qq", "-y", "-o", str(root.parent / "trace"), *options]
    # Without the working directory among the places where modules are looked for.
    context = [sys.executable, "-P", "-m", "contexthall", *command.arguments]
    return subprocess.run([*strace, *context], cwd=root, capture_output=True, check=False)


def calls_on(root: Path, command: Command) -> list[tuple[str, int]]:
    """Run a command undisturbed; name its calls that touch the files below `root`, and the number of each."""
    result = traced(root, command, f"-etrace={','.join(CALLS)}")
    assert result.returncode == 0, result.stderr
    found, counts, first = [], dict.fromkeys(CALLS, 0), ""
    for line in (root.parent / "trace").read_text(errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None or match[1] != (first := first or match[1]):  # strace counts for each process anew
            continue
        counts[match[2]] += 1
        if str(root) in _HERE.sub("", line):
            found.append((match[2], counts[match[2]]))
    return found


def timeless(tree: Tree) -> Tree:
    """Leave out when something was written, and what the hall remembers beside it."""
    return {
        path: (kind, mode, _DATED.sub(b"", content))
        for path, (kind, mode, content) in tree.items()
        if not path.startswith((".cache", ".state"))
    }


if IS_LONG:

    @pytest.mark.timeout(240)
    @pytest.mark.parametrize("name", COMMANDS)
    def test_whatever_call_the_kernel_refuses_nothing_is_half_done(
        tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # so that two runs give the same
        command, root, pristine = COMMANDS[name], tmp_path / "root", tmp_path / "pristine"
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / ".cache"))
        monkeypatch.setenv("XDG_STATE_HOME", str(root / ".state"))
        root.mkdir()
        command.prepare(root)
        shutil.copytree(root, pristine, symlinks=True)
        old = timeless(snapshot(root))
        calls = calls_on(root, command)
        new = timeless(snapshot(root))
        dice = random.Random(f"{SEED} {name}")
        for call, number in dice.sample(calls, min(command.most_faults, len(calls))):
            fault = dice.choice(FAULTS)
            shutil.rmtree(root)
            shutil.copytree(pristine, root, symlinks=True)
            result = traced(root, command, f"-etrace={call}", f"-einject={call}:error={fault}:when={number}")
            found = timeless(without_leftovers(snapshot(root)))
            told = f"{call} {number} {fault}, seed {SEED}: {result}"
            assert b"Traceback" not in result.stderr, told
            assert result.returncode in range(10), told
            for path in {*found, *old}:
                is_whole = found.get(path) in (old.get(path), new.get(path))
                assert is_whole or (result.returncode != 0 and path in new), f"{path}: {told}"
            again = run_context(*command.arguments, cwd=root)
            assert again.returncode in command.done_again, f"{again}: {told}"
            found = snapshot(root)
            assert without_leftovers(found) == found, told
            assert timeless(found).keys() == new.keys(), told
        record("I/O faults", f"{name}, by the kernel", min(command.most_faults, len(calls)))

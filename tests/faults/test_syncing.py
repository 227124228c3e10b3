"""What cannot be made again is on the disk before it gets its name: each operation's calls, in their order.

Recorded where all calls pass, at the `perform` of `Disk`. Nothing is really synced: a test need not wait for that.
"""

import errno
import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import compile_folder
from tests.faults.test_every_call_fails import MEMORY, OPERATIONS, prepare_cache

from contexthall.system import kernel
from contexthall.system.disk import Disk

_TEMPORARY = re.compile(r"\.contexthall-\d+-[0-9a-f]{8}(-[0-9a-f]{16}-[0-9a-f]{16})?")
_DIGEST = re.compile(r"-[0-9a-f]{12}\b")
_ON_DESCRIPTORS = {"write": "write", "pwrite": "write", "fsync": "fsync", "sync_file_system": "syncfs"}
_NAMING = {"rename", "link", "exchange"}


class Journal:
    """A `perform` that writes down what is written, synced and named, by paths from `root`.

    A file without its name is `NEW`, one that has given it away `ASIDE`. Some calls can be refused.
    """

    def __init__(self, root: Path, refused: Collection[Callable[..., Any]] = ()) -> None:
        self.lines: list[str] = []
        self._root = os.path.realpath(root)
        self._refused = refused

    def perform(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        name = call.__name__
        if name in _ON_DESCRIPTORS:
            self._note(_ON_DESCRIPTORS[name], _path_of(arguments[0]))
        elif name in _NAMING:
            folder = options.get("src_dir_fd", arguments[2] if len(arguments) > 2 else None)
            base = _path_of(folder) if folder is not None else ""
            self._note(name, *(os.path.join(base, each) for each in arguments[:2]))
        if call in self._refused:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return None if call in {os.fsync, kernel.sync_file_system} else call(*arguments, **options)

    def _note(self, call: str, *paths: str) -> None:
        line = " ".join([call, *(_readable(os.path.relpath(path, self._root)) for path in paths)])
        if self.lines[-1:] != [line]:  # one file may take several writes
            self.lines.append(line)


def _path_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _readable(path: str) -> str:
    return _DIGEST.sub("-DIGEST", _TEMPORARY.sub(lambda found: "ASIDE" if found[1] else "NEW", path))


def rewritten(folder: str, name: str) -> list[str]:
    """A file changes names with its successor."""
    new, aside = f"{folder}/NEW", f"{folder}/ASIDE"
    return [f"write {new}", f"fsync {new}", f"rename {new} {aside}", f"exchange {aside} {folder}/{name}"]


def put(folder: str, name: str, *, synced: bool = True) -> list[str]:
    """A new file gets a name that nobody has."""
    new = f"{folder}/NEW"
    return [f"write {new}", *([f"fsync {new}"] if synced else []), f"link {new} {folder}/{name}"]


def replaced(folder: str, name: str, *, synced: bool = True) -> list[str]:
    """A new file takes the name of another one."""
    return [line.replace("link ", "rename ") for line in put(folder, name, synced=synced)]


def drafted(folder: str) -> list[str]:
    """A draft can be made again, so nobody waits for the disk."""
    return put(folder, ".context.yaml", synced=False)


TOOLS = replaced("guild/echo", "tools-cache.json", synced=False)
APPROVED = replaced("state/guild", "echo-DIGEST.json")
NEW_LOCK, LOCK = put("project", ".context.lock"), rewritten("project", ".context.lock")
JOURNALS = {
    "init": [*NEW_LOCK, *drafted("project/src"), *put("project", "AGENTS.md"), *drafted("project")],
    "init beside AGENTS.md": [
        *NEW_LOCK,
        *drafted("project/src"),
        *rewritten("project", "AGENTS.md"),
        *drafted("project"),
    ],
    "init of a new directory": [
        *LOCK,
        *drafted("project/web"),
        *rewritten("project", "AGENTS.md"),
        *rewritten("project", ".context.yaml"),
        *LOCK,
    ],
    "regen": [
        *LOCK,
        *rewritten("project/src", ".context.yaml"),
        *rewritten("project", "AGENTS.md"),
        *rewritten("project", ".context.yaml"),
        *LOCK,
    ],
    "rehash": rewritten("project", ".context.yaml"),
    "first refresh": [*TOOLS, *APPROVED],
    "refresh": [*TOOLS, *APPROVED],
    "approve": APPROVED,
    "note a failure": APPROVED,
    "add a member": put("guild/echo", "plugin.json"),
    "add the first member": put("guild/echo", "plugin.json"),
    "import members": [*put("guild/filesystem", "plugin.json"), *put("guild/postgres", "plugin.json")],
    "connect a new client": put("shop/.cursor", "mcp.json"),
    "connect a client": [
        *replaced("shop/.cursor", "mcp.json.before-context-hall"),
        *rewritten("shop/.cursor", "mcp.json"),
    ],
    "connect Codex": [*replaced(".codex", "config.toml.before-context-hall"), *rewritten(".codex", "config.toml")],
    "disconnect a client": rewritten(".codex", "config.toml"),
}


def journal_of(operation: str, root: Path, refused: Collection[Callable[..., Any]] = ()) -> list[str]:
    """Make an operation; give what it did, but for what saves work only."""
    OPERATIONS[operation].prepare(root)
    journal = Journal(root, refused)
    OPERATIONS[operation].run(root, Disk(journal.perform))
    return [line for line in journal.lines if f" {MEMORY}/" not in line]


@pytest.mark.parametrize("operation", JOURNALS)
def test_what_cannot_be_made_again_is_synced_before_it_gets_its_name(tmp_path: Path, operation: str) -> None:
    assert journal_of(operation, tmp_path) == JOURNALS[operation]


@pytest.mark.parametrize("operation", ["rehash", "connect a client", "regen", "init beside AGENTS.md"])
def test_where_names_cannot_be_exchanged_a_file_is_synced_before_its_rename(tmp_path: Path, operation: str) -> None:
    expected: list[str] = []
    for line in JOURNALS[operation]:
        expected += [line, line.replace("exchange ", "rename ")] if line.startswith("exchange ") else [line]
    assert journal_of(operation, tmp_path, refused=[kernel.exchange]) == expected


def test_where_no_file_can_have_two_names_a_manifest_is_synced_before_its_rename(tmp_path: Path) -> None:
    renamed = "rename guild/echo/NEW guild/echo/plugin.json"
    assert journal_of("add a member", tmp_path, refused=[os.link]) == [*put("guild/echo", "plugin.json"), renamed]


CACHE_FILES = ("documents/2ec84b1f9d35.json", "documents/c977e92bb1c8.json", "manifest.json", "index.json")


@pytest.mark.parametrize(
    ("operation", "folder", "naming"),
    [
        ("build", ".", "rename"),
        ("build where no directory is", "x/y", "rename"),
        ("build over the same", ".", "exchange"),
    ],
)
def test_a_cache_is_synced_with_everything_in_it_before_it_gets_its_name_and_its_parent_after_that(
    tmp_path: Path, operation: str, folder: str, naming: str
) -> None:
    lines = journal_of(operation, tmp_path)
    workshop = os.path.normpath(f"{folder}/.contexthall-cache")
    written = {f"write {workshop}/new/{name}" for name in (*CACHE_FILES, "postings.bin")}
    synced = lines.index(f"syncfs {workshop}")
    assert written <= {*lines[:synced]}
    assert lines[synced:] == [
        f"syncfs {workshop}",
        f"{naming} {workshop}/new {os.path.normpath(f'{folder}/cache')}",
        f"fsync {folder}",
    ]


def test_where_names_cannot_be_exchanged_a_cache_is_synced_before_both_renames_and_its_parent_after_them(
    tmp_path: Path,
) -> None:
    prepare_cache(tmp_path)
    journal = Journal(tmp_path, refused=[kernel.exchange])
    compile_folder(tmp_path / "sources", tmp_path / "cache", force=True, disk=Disk(journal.perform))
    assert journal.lines[-5:] == [
        "syncfs .contexthall-cache",
        "exchange .contexthall-cache/new cache",
        "rename cache .contexthall-cache/old",
        "rename .contexthall-cache/new cache",
        "fsync .",
    ]


@pytest.mark.parametrize("call", [os.fsync, kernel.sync_file_system])
def test_what_cannot_be_synced_gets_no_name(tmp_path: Path, call: Callable[..., Any]) -> None:
    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if each is call:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return each(*arguments, **options)

    operation = OPERATIONS["add a member" if call is os.fsync else "build"]
    operation.prepare(tmp_path)
    with pytest.raises(Exception, match="Input/output error"):
        operation.run(tmp_path, Disk(perform))
    assert not (tmp_path / "guild" / "echo").exists()
    assert not (tmp_path / "cache").exists()

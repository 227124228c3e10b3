"""Projects for tests: directories with contexts that are fresh when they are made."""

import os
from collections.abc import Mapping
from pathlib import Path

from contexthall.contexts.draft.definitions import find_definition
from contexthall.contexts.draft.interface import interface_of
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.freshness.verdict import read_contents
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import scan_one
from contexthall.system.disk import Disk

WRITTEN = "2026-02-13T10:00:00Z"


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, and the directories above them."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def fingerprint_of(directory: Path) -> str:
    return read_contents(Disk(), scan_one(Disk(), str(directory), ".")).fingerprint


def write_context(directory: Path, scope: str, fingerprint: str | None = None, more: str = "") -> Path:
    """Give a directory a context, by default a fresh one."""
    path = directory / ".context.yaml"
    stored = fingerprint_of(directory) if fingerprint is None else fingerprint
    path.write_text(
        f'version: 1\nlast_updated: "{WRITTEN}"\nfingerprint: "{stored}"\nscope: {scope}\n'
        f"summary: About {scope}.\nmaintenance: Keep it true.\n{more}"
    )
    return path


def make_project(root: Path, files: Mapping[str, str | bytes]) -> Project:
    """Make a project with a fresh context in every directory that has a file."""
    root.mkdir(exist_ok=True)
    write_files(root, files)
    for name in {os.path.dirname(name) for name in files}:
        write_context(root / name, name or ".")
    return open_project(root)


class Code:
    """Reads code, as the hall does."""

    interface_of = staticmethod(interface_of)
    find_definition = staticmethod(find_definition)


def quietly(_done: int, _total: int) -> None:
    """Report no progress."""


def open_project(root: Path, memory: Path | None = None, clock: int | None = None) -> Project:
    """Open a project that remembers nothing, or in `memory`."""
    now = (lambda: clock) if clock is not None else (lambda: 0)
    return Project(Disk(), str(root), Ledger(Disk(), str(memory) if memory else "", now), code=Code())

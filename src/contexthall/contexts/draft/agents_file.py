"""Writing our section of AGENTS.md, atomically, and only that section of it."""

import os
from collections.abc import Sequence

from contexthall.contexts.draft.agents import AGENTS_FILE, Row, with_section
from contexthall.contexts.files.writing import as_bytes, as_text, put, rewrite
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import PathMissingError, UsageError

CREATED, UPDATED, UNCHANGED, LEFT_ALONE = "created", "updated", "unchanged", "left alone"
CHANGES = {CREATED, UPDATED}


def write_agents(project: Project, rows: Sequence[Row], *, is_dry: bool) -> str:
    """Write the section about these directories; return what became of the file, or why it was left alone.

    DiskError if it cannot be written.
    """
    try:
        before = _read(project)
        after = as_bytes(with_section(as_text(before or b""), rows), like=before or b"")
        if after == before:
            return UNCHANGED
        if not is_dry:
            _replace(project, before, after)
    except UsageError as error:
        return str(error)
    return CREATED if before is None else UPDATED


def _read(project: Project) -> bytes | None:
    try:
        _, data = project.disk.read_small(os.path.join(project.base, AGENTS_FILE), limits.AGENTS_FILE_BYTES)
    except PathMissingError:
        return None
    if len(data) > limits.AGENTS_FILE_BYTES:
        raise UsageError(f"{AGENTS_FILE} is too large to be ours")
    return data


def _replace(project: Project, before: bytes | None, after: bytes) -> None:
    root = project.look(ROOT)
    if before is not None:
        rewrite(project.disk, root, AGENTS_FILE, before, after)
    elif not put(project.disk, root, AGENTS_FILE, after, sync=True):
        raise UsageError(f"somebody else is writing {AGENTS_FILE}")

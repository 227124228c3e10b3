"""Writing the lock: by compare-and-swap, and never through a symlink."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from contexthall.contexts.files.claims import drafted_digests, orphans
from contexthall.contexts.files.drafted_fields import digests
from contexthall.contexts.files.lock import LOCK_FILE, NO_LOCK, Citation, Lock, LockEntry, read_lock
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.writing import put, rewrite, scan_to_write
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.drift import DriftJudge
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import PathMissingError, UsageError
from contexthall.core.paths import native

Decision: TypeAlias = Callable[[Lock], Mapping[str, LockEntry | None]]
"""Takes the lock as it is, returns the entries to replace; None for a scope that is gone."""


def update_lock(project: Project, decide: Decision) -> None:
    """Replace the entries of some scopes; if another process writes at the same time, read its lock and try again.

    UsageError if the lock must be left alone, DiskError if it cannot be written.
    """
    for tries_left in reversed(range(limits.LOCK_FILE_TRIES)):
        try:
            if _update(project, decide):
                return
        except UsageError:
            if not tries_left:
                raise
    raise UsageError(f"somebody else is writing {LOCK_FILE}", hint="try again")


def _update(project: Project, decide: Decision) -> bool:
    before = _read(project)
    lock = NO_LOCK if before is None else read_lock(before)
    after = lock.with_entries(decide(lock))
    if after == (before or b""):
        return True
    root = scan_to_write(project, ROOT)
    if before is None:
        return put(project.disk, root, LOCK_FILE, after, sync=True)
    rewrite(project.disk, root, LOCK_FILE, before, after)
    return True


def _read(project: Project) -> bytes | None:
    try:
        _, data = project.disk.read_small(os.path.join(project.base, LOCK_FILE), limits.LOCK_BYTES)
    except PathMissingError:
        return None
    if len(data) > limits.LOCK_BYTES:
        raise UsageError(f"{LOCK_FILE} is too large to be ours", hint="remove it, then type `context rehash`")
    return data


def removed_scopes(project: Project, scopes: Iterable[str], there: Collection[str]) -> dict[str, None]:
    """Return the scopes of the lock without a context; those in `there` are known to have one."""
    paths = {scope: os.path.join(project.base, native(scope), CONTEXT_FILE) for scope in scopes if scope not in there}
    return {scope: None for scope, path in paths.items() if not project.disk.is_there(path)}


def renew_entry(judge: DriftJudge, before: LockEntry | None, values: Mapping[str, Value], interface: str) -> LockEntry:
    """Return the entry of a context that was confirmed: for the current files, and its current claims."""
    if before is None:
        return LockEntry(interface, drafted_digests(values))
    lost = orphans(values, before.citations)
    cited = tuple(_renew_citation(judge, each) for each in before.citations if each not in lost)
    return settle_entry(before, values, interface)._replace(citations=cited)


def settle_entry(before: LockEntry, values: Mapping[str, Value], interface: str) -> LockEntry:
    """Return the settled entry of a context that is fresh and has these values."""
    now = digests(values)
    drafted = {name: _settle_digest(each.split(), now.get(name)) for name, each in before.drafted.items()}
    return before._replace(interface=interface, drafted=drafted)


def _settle_digest(either: list[str], now: str | None) -> str:
    """Return the one of several digests that is that of the value; the first if none is."""
    return now if now in either else " ".join(either[:1])


def _renew_citation(judge: DriftJudge, citation: Citation) -> Citation:
    """Cite the evidence as it is now; if it is gone, the citation stays as it is and fails."""
    return citation._replace(digest=judge.look_up(citation) or citation.digest)


def moved_citations(judge: DriftJudge, citations: Iterable[Citation], old: str, new: str) -> tuple[Citation, ...]:
    """Return citations after a move of their directory: of its files by their new paths, if they are unchanged."""
    return tuple(_move(judge, each, old, new) for each in citations)


def _move(judge: DriftJudge, citation: Citation, old: str, new: str) -> Citation:
    if not old or not citation.path.startswith(f"{old}/") or judge.look_up(citation) is not None:
        return citation
    moved = citation._replace(path=new + citation.path.removeprefix(old))
    return moved if judge.look_up(moved) == citation.digest else citation

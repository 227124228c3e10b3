"""Writing the lock: atomically, never through a symlink, and never over what somebody else wrote meanwhile."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from contexthall.contexts.files.claims import drafted_digests, orphans
from contexthall.contexts.files.drafted_fields import digests
from contexthall.contexts.files.lock import LOCK_FILE, NO_LOCK, Citation, Lock, LockEntry, read_lock
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.writing import look_at_itself, put, rewrite
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.drift import DriftJudge
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import PathMissingError, UsageError
from contexthall.core.paths import native

Decision: TypeAlias = Callable[[Lock], Mapping[str, LockEntry | None]]
"""From the lock as it is, the entries that shall be others; None for a scope that is gone."""


def update_lock(project: Project, decide: Decision) -> None:
    """Write other entries for some scopes; whoever writes at the same moment is read again, and not overwritten.

    UsageError says why it is left alone, DiskError that the system did not let it be written.
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
    root = look_at_itself(project, ROOT)
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


def gone(project: Project, scopes: Iterable[str], there: Collection[str]) -> dict[str, None]:
    """Return those of the lock's scopes that have no context any more; of `there` it is known that they have."""
    paths = {scope: os.path.join(project.base, native(scope), CONTEXT_FILE) for scope in scopes if scope not in there}
    return {scope: None for scope, path in paths.items() if not project.disk.is_there(path)}


def renewed(judge: DriftJudge, before: LockEntry | None, values: Mapping[str, Value], interface: str) -> LockEntry:
    """Return the entry of a context that somebody says is true: for what is there now, and claims that it makes."""
    if before is None:
        return LockEntry(interface, drafted_digests(values))
    lost = orphans(values, before.citations)
    cited = tuple(_renew(judge, each) for each in before.citations if each not in lost)
    return settled(before, values, interface)._replace(citations=cited)


def settled(before: LockEntry, values: Mapping[str, Value], interface: str) -> LockEntry:
    """Return the entry of a context of which it is known what it says, and that it is fresh."""
    now = digests(values)
    drafted = {name: _settled(each.split(), now.get(name)) for name, each in before.drafted.items()}
    return before._replace(interface=interface, drafted=drafted)


def _settled(either: list[str], now: str | None) -> str:
    """Return which of the digests that a merge has left is that of the draft."""
    return now if now in either else " ".join(either[:1])


def _renew(judge: DriftJudge, citation: Citation) -> Citation:
    """Cite what is there now; what is gone cannot be cited, and stays a claim that does not hold."""
    return citation._replace(digest=judge.look_up(citation) or citation.digest)


def moved_citations(judge: DriftJudge, citations: Iterable[Citation], old: str, new: str) -> tuple[Citation, ...]:
    """Return what a directory cites after a move: its own files where they are now, if they are what was cited."""
    return tuple(_move(judge, each, old, new) for each in citations)


def _move(judge: DriftJudge, citation: Citation, old: str, new: str) -> Citation:
    if not old or not citation.path.startswith(f"{old}/") or judge.look_up(citation) is not None:
        return citation
    moved = citation._replace(path=new + citation.path.removeprefix(old))
    return moved if judge.look_up(moved) == citation.digest else citation

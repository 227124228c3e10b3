"""Confirming that contexts are true: the current fingerprint in each, and current digests in the lock."""

from collections.abc import Sequence
from typing import NamedTuple

from contexthall.contexts.files.lock import Lock, LockEntry
from contexthall.contexts.files.lock_file import removed_scopes, renew_entry, update_lock
from contexthall.contexts.files.writing import rehash
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.project import Project
from contexthall.core.errors import HallError
from contexthall.core.paths import shown


class Rehashed(NamedTuple):
    """What became of each scope."""

    rehashed: list[str]
    unchanged: list[str]
    errors: list[HallError]


def rehash_contexts(project: Project, scopes: Sequence[str] | None) -> Rehashed:
    """Confirm that the contexts of some directories are true; None for all of the project."""
    done = Rehashed([], [], [])
    renewing: dict[str, tuple[dict[str, Value], str]] = {}
    for scope in project.places() if scopes is None else scopes:
        try:
            place = project.locate(scope)
            is_other, directory, values = rehash(project, place)
            (done.rehashed if is_other else done.unchanged).append(shown(place))
            interface = project.drift.interface_of(directory, values["fingerprint"])
            renewing[shown(place)] = (values, interface)
        except HallError as error:
            done.errors.append(error)

    def decide(lock: Lock) -> dict[str, LockEntry | None]:
        entries = {
            scope: renew_entry(project.drift, lock.entry(scope), values, interface)
            for scope, (values, interface) in renewing.items()
        }
        return entries | (removed_scopes(project, lock.scopes, entries) if scopes is None else {})

    try:
        update_lock(project, decide)
    except HallError as error:
        done.errors.append(error)
    return done

"""Watching a project: which contexts become stale, fresh or missing over time."""

import logging
from collections.abc import Iterator
from typing import TypeAlias

from contexthall.contexts.answers import StateChange
from contexthall.contexts.project import Project
from contexthall.core.errors import DiskError, HallError
from contexthall.system.watching import Pace, changed_paths

logger = logging.getLogger(__name__)

States: TypeAlias = dict[str, tuple[str, str]]
"""Scope → state and drift."""
Folders: TypeAlias = dict[str, tuple[int, ...]]

_PACE = Pace(quiet=50, most=200, tick=500)


def state_changes(project: Project) -> Iterator[list[StateChange]]:
    """Yield all states at first, then each set of changes. Ends when it is interrupted."""
    states, folders = _look(project)
    yield _difference({}, states)
    while True:
        watched, is_due = folders, True  # once more, for what happened before the watch stood
        for changes in changed_paths(watched, _PACE):
            if changes or is_due:
                before, is_due = states, False
                states, folders = _look_if_possible(project, states, folders)
                if states != before:
                    yield _difference(before, states)
                if folders != watched:
                    break
        else:
            raise DiskError(f"cannot watch {project.root}: a directory is gone", hint="try again")


def _difference(before: States, after: States) -> list[StateChange]:
    scopes = sorted(before.keys() | after.keys())
    nothing = (None, "")
    pairs = [(scope, before.get(scope, nothing), after.get(scope, nothing)) for scope in scopes]
    return [StateChange(scope, was[0], *now) for scope, was, now in pairs if was != now]


def _look(project: Project) -> tuple[States, Folders]:
    """Return the states by scope, and the directories by path, each with its identity on the disk."""
    listing = project.list_contexts()
    if listing.error:
        raise DiskError(listing.error)
    folders = {each.path: each.survey.stamp[:1] for each in project.overview().directories if not each.error}
    return {entry.scope: (entry.state, entry.drift) for entry in listing.entries}, folders


def _look_if_possible(project: Project, states: States, folders: Folders) -> tuple[States, Folders]:
    """Look again; while the configuration is invalid, as in the middle of an edit, nothing changes."""
    try:
        return _look(project)
    except HallError as error:
        logger.warning("%s", error)
        return states, folders

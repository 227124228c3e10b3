"""Which contexts became stale, fresh or missing just now? Tells it while people work."""

import logging
import os
from collections.abc import Iterator
from typing import TypeAlias

from watchfiles import Change, watch

from contexthall.contexts.answers import Turn
from contexthall.contexts.project import Project
from contexthall.contexts.scan import is_entered
from contexthall.core.errors import DiskError

logger = logging.getLogger(__name__)

States: TypeAlias = dict[str, str]

_POLL_MILLISECONDS = 500
_GATHER_MILLISECONDS = 200


def turns(project: Project) -> Iterator[list[Turn]]:
    """Give what is the case at first, then what changes, each time something does. Ends when it is interrupted."""
    known = _states(project)
    yield _difference({}, known)
    is_first = True
    for changes in _changes(project.root):
        if changes or is_first:  # at first, for what happened before the watch stood
            found, is_first = _states_if_possible(project, known), False
            if found != known:
                yield _difference(known, found)
            known = found


def _difference(before: States, after: States) -> list[Turn]:
    scopes = sorted(before.keys() | after.keys())
    turned = [Turn(scope, before.get(scope), after.get(scope)) for scope in scopes]
    return [turn for turn in turned if turn.was != turn.state]


def _changes(root: str) -> Iterator[set[tuple[Change, str]]]:
    def is_relevant(_change: Change, path: str) -> bool:
        folders = os.path.relpath(path, root).split("/")[:-1]
        return all(is_entered(folder) for folder in folders if folder != "..")

    try:
        yield from watch(
            root,
            watch_filter=is_relevant,
            debounce=_GATHER_MILLISECONDS,
            rust_timeout=_POLL_MILLISECONDS,
            yield_on_timeout=True,
        )
    except OSError as error:
        raise DiskError(f"cannot watch {root}: {error}", hint="is the limit of inotify watches too low?") from error


def _states(project: Project) -> States:
    answer = project.list_contexts()
    if "error" in answer:
        raise DiskError(answer["error"])
    return {entry["scope"]: entry["state"] for entry in answer["entries"]}


def _states_if_possible(project: Project, known: States) -> States:
    """Look again; while somebody is in the middle of editing the configuration, nothing new is known."""
    try:
        return _states(project)
    except DiskError as error:
        logger.warning("%s", error)
        return known

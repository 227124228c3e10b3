"""Drafting runs: `init` and `regen` write contexts from the code without touching what people wrote.

A run makes a plan, drafts every directory by it, then writes the drafts. Workers get the plan and give back values;
what happened is noted by the parent alone. One directory that cannot be written costs the others nothing.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from contexthall.contexts.answers import Outcome
from contexthall.contexts.draft.agents import Row
from contexthall.contexts.draft.agents_file import CHANGES, LEFT_ALONE, write_agents
from contexthall.contexts.draft.apply import is_emptied, move_context, write_draft
from contexthall.contexts.draft.plan import (
    Draft,
    DraftPlan,
    Order,
    below_each,
    draft_directory,
    first_of,
    make_plan,
    values_of,
)
from contexthall.contexts.draft.syntax.prose import first_sentence
from contexthall.contexts.files.merge import derived_fields
from contexthall.contexts.files.writing import look_at_itself, rehash, tidy
from contexthall.contexts.project import FRESH, STALE, Overview, Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory
from contexthall.core.errors import ContextError, DiskError, HallError
from contexthall.core.paths import shown
from contexthall.system.processes import run_parallel

__all__ = ["DraftProgress", "Order", "draft_again", "draft_missing"]

DraftProgress: TypeAlias = Callable[[int, int], None]
Result = TypeVar("Result")

_WORTH_SHARING = 100
_WORKERS = 2


def draft_missing(project: Project, order: Order, progress: DraftProgress) -> Outcome:
    """Draft a context for every directory that lacks one, and give those that were moved their new scope."""
    overview = project.overview()
    missing = [each.scope for each in overview.census.kept if _lacks_context(each)]
    moved = [each.scope for each in overview.census.kept if not _lacks_context(each) and _is_moved(project, each)]
    run = _Drafting(project, overview, order)
    drafted = {shown(scope) for scope in (*missing, *run.refused)}
    for entry in overview.entries:
        if entry.error and not entry.has_context and entry.scope not in drafted:
            run.note(entry.scope, "", entry.error)
    new = {*missing, *moved}
    again = [each.scope for each in overview.census.kept if each.scope not in new and run.is_outdated(each.scope, new)]
    return run.run([*missing, *again], moved, progress)


def draft_again(project: Project, scopes: Sequence[str] | None, order: Order, progress: DraftProgress) -> Outcome:
    """Draft the contexts of some directories again; None for those that are stale."""
    overview = project.overview()
    if scopes is None:
        stale = {entry.scope for entry in overview.entries if entry.state == STALE}
        scopes = [each.scope for each in overview.census.kept if shown(each.scope) in stale]
    run = _Drafting(project, overview, order)
    return run.run(scopes, [], progress) if scopes else run.only_tidy()


def _lacks_context(directory: ScannedDirectory) -> bool:
    return (directory.context is None or is_emptied(directory)) and not directory.error


def _is_moved(project: Project, directory: ScannedDirectory) -> bool:
    try:
        return project.head(directory, project.ledger.now()).scope != shown(directory.scope)
    except ContextError:
        return False


class _Drafting:
    """One run: what has been done so far. The parent process alone has it."""

    def __init__(self, project: Project, overview: Overview, order: Order) -> None:
        self._project = project
        self._overview = overview
        self._order = order
        self._directories = {each.scope: each for each in overview.directories}
        self._below = below_each(overview)
        self._summaries = {entry.scope: first_sentence(str(entry.summary or "")) for entry in overview.entries}
        self._outcome = Outcome([], [], [], [], "unchanged")
        self.refused: set[str] = set()
        self._unruled = {each.scope for each in overview.directories if each.cause}
        for directory in overview.directories:
            reason = overview.refused.get(shown(directory.scope))
            if directory.cause or reason:
                self._refuse(directory.scope, reason or f"{directory.error}: {directory.cause}")

    def run(self, scopes: Sequence[str], moved: Sequence[str], progress: DraftProgress) -> Outcome:
        self._tidy()
        plan = make_plan(self._project, self._overview, self._order)
        for scope, reason in plan.faults.items():
            self._refuse(scope, reason)
        drafts = {
            scope: drafted
            for scope, drafted in _share(self._clear(scopes), partial(_attempt_draft, plan), progress).items()
            if isinstance(drafted, Draft) or self._refuse(scope, drafted)
        }
        self._summaries |= {shown(scope): each.summary for scope, each in drafts.items()}
        self._write(plan, {scope: drafts[scope] for scope in self._clear(scopes)})
        for scope in self._clear(moved):
            self.note(scope, *_attempt(partial(move_context, plan, scope)))
        # The root is last: AGENTS.md, which tells of all the others, is one of its files.
        if ROOT in drafts and ROOT not in self.refused:
            self.note(ROOT, *_attempt(partial(self._write_root, plan, drafts[ROOT])))
        elif self._has_written_agents() and self._root_was_fresh and not self._order.is_dry:
            self.note(ROOT, *_attempt(self._refresh_root))
        return self._outcome

    def _write(self, plan: DraftPlan, drafts: Mapping[str, Draft]) -> None:
        """Write all drafts but that of the root."""
        others = [scope for scope in drafts if scope != ROOT]
        write = partial(_attempt_write, plan, drafts, {**self._summaries})
        for scope, verdict in _share(others, write, _quietly).items():
            self.note(scope, *verdict)

    def _write_root(self, plan: DraftPlan, root: Draft) -> str:
        look_at_itself(self._project, ROOT)
        self._write_agents()  # the root stays as it is if AGENTS.md must, so that both are written the next time
        return write_draft(plan, ROOT, root.fields, self._summaries)

    def _refresh_root(self) -> str:
        rehash(self._project, ROOT)
        return "updated"

    @property
    def _root_was_fresh(self) -> bool:
        return any(each.scope == ROOT and each.state == FRESH for each in self._overview.entries)

    def only_tidy(self) -> Outcome:
        self._tidy()
        return self._outcome

    def is_outdated(self, scope: str, new: Collection[str]) -> bool:
        """Return whether a draft names a directory below it that is gone, lacks one, or has a `new` one."""
        try:
            values, below = values_of(self._project, self._directories[scope]), self._below.get(scope, ())
        except ContextError as error:
            return self._refuse(scope, str(error))
        if "subdirectories" not in derived_fields(values):
            return bool(derived_fields(values)) and any(each in new for each in below)
        there = {f"{shown(os.path.basename(each))}/" for each in below}
        listed = values.get("subdirectories")
        named = [str(each.get("name")) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        return any(each in new for each in below) or there != {*named}

    def note(self, scope: str, kind: str, reason: str) -> None:
        if reason:
            self._outcome.failed.append((shown(scope), reason))
        else:
            getattr(self._outcome, kind).append(shown(scope))

    def _tidy(self) -> None:
        """Clear away what runs that were killed have left."""
        if not self._order.is_dry:
            for directory in self._directories.values():
                tidy(self._project.disk, directory)

    def _refuse(self, scope: str, reason: str) -> Literal[False]:
        """Write nothing about a directory of which the system would not show something; what was said of it stays."""
        if scope not in self.refused:
            self.refused.add(scope)
            self.note(scope, "", reason)
            self._summaries[shown(scope)] = self._summaries.get(shown(scope)) or self._said_above(scope)
        return False

    def _said_above(self, scope: str) -> str:
        """Return what the directory above says about one."""
        parent = self._directories.get(os.path.dirname(scope) or ROOT)
        if parent is None:  # which does not count itself, when one below it was asked for by name
            return ""
        with suppress(ContextError):
            listed = values_of(self._project, parent).get("subdirectories")
            named = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            return next((first_of(each) for each in named if each.get("name") == f"{os.path.basename(scope)}/"), "")
        return ""

    def _clear(self, scopes: Sequence[str]) -> list[str]:
        """Leave out what was refused, and what lies below a directory whose rules are not known: it may not count."""
        unruled = self._unruled
        return [scope for scope in scopes if scope not in self.refused and unruled.isdisjoint((ROOT, *_lineage(scope)))]

    def _write_agents(self) -> bool:
        """Write our section of AGENTS.md; return whether that changed the file."""
        what = LEFT_ALONE
        try:
            if self._order.with_agents:
                what = write_agents(self._project, self._rows(), is_dry=self._order.is_dry)
        except DiskError as error:
            what = str(error)
            raise
        finally:
            self._outcome = self._outcome._replace(agents=what)
        return what in CHANGES

    def _has_written_agents(self) -> bool:
        try:
            return self._write_agents()
        except DiskError:
            return False

    def _rows(self) -> list[Row]:
        kept = [each.scope for each in self._overview.census.kept]
        rows = [Row(shown(scope), self._summaries.get(shown(scope), "")) for scope in kept]
        return [row for row in rows if row.summary]


def _attempt_draft(plan: DraftPlan, scope: str) -> Draft | str:
    try:
        return draft_directory(plan, scope)
    except HallError as error:
        return str(error)


def _attempt_write(
    plan: DraftPlan, drafts: Mapping[str, Draft], summaries: Mapping[str, str], scope: str
) -> tuple[str, str]:
    return _attempt(partial(write_draft, plan, scope, drafts[scope].fields, summaries))


def _share(scopes: Sequence[str], act: Callable[[str], Result], progress: DraftProgress) -> dict[str, Result]:
    """Do something for every directory, in two processes if there are many."""
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress(done, len(scopes))

    workers = _WORKERS if len(scopes) >= _WORTH_SHARING else 1
    shares = [scopes[number::workers] for number in range(workers)]
    found = run_parallel([partial(_do_share, share, act) for share in shares], report)
    results = dict(each for share in found for each in share)
    return {scope: results[scope] for scope in scopes}


def _lineage(scope: str) -> list[str]:
    """Return a directory and those above it, but for the root."""
    parts = scope.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _do_share(
    scopes: Sequence[str], act: Callable[[str], Result], report: Callable[[int], None]
) -> list[tuple[str, Result]]:
    results = []
    for scope in scopes:
        results.append((scope, act(scope)))
        report(1)
    return results


def _attempt(act: Callable[[], str]) -> tuple[str, str]:
    """Do something about a directory; give in which list it belongs, or why it failed."""
    try:
        return act(), ""
    except HallError as error:
        return "", str(error)


def _quietly(_done: int, _total: int) -> None:
    """Tell nobody how far it has come."""

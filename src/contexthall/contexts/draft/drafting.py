"""Drafting runs: `init` and `regen` write contexts from the code without touching what people wrote.

A run makes a plan, drafts every directory by it, then writes the drafts. Workers get the plan and return values; only
the parent records what happened. A directory that cannot be written is an entry of the outcome and stops no other.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Literal, TypeAlias, TypeVar

from contexthall.contexts.answers import Outcome
from contexthall.contexts.draft.agents import AGENTS_FILE, Row
from contexthall.contexts.draft.agents_file import CHANGES, LEFT_ALONE, write_agents
from contexthall.contexts.draft.apply import WrittenDraft, fields_of, lacks_context, move_context, write_draft
from contexthall.contexts.draft.exports_sentence import exports_sentence
from contexthall.contexts.draft.importers import Importers
from contexthall.contexts.draft.interface import interface_of
from contexthall.contexts.draft.plan import (
    Draft,
    DraftPlan,
    Order,
    below_each,
    derive_again,
    draft_directory,
    first_of,
    imports_elsewhere,
    make_plan,
    values_of,
)
from contexthall.contexts.draft.syntax.sentences import first_sentence
from contexthall.contexts.draft.witnesses import WRITTEN, Statement
from contexthall.contexts.files.drafted_fields import derived_fields, digests
from contexthall.contexts.files.lock import LOCK_FILE, Lock, LockEntry, either
from contexthall.contexts.files.lock_file import Decision, moved_citations, removed_scopes, settle_entry, update_lock
from contexthall.contexts.files.writing import rehash, scan_to_write, tidy
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.project import FRESH, STALE, Overview, Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory, is_repository, source_bytes
from contexthall.contexts.scan.unread import unread_files
from contexthall.core.errors import ContextError, DiskError, HallError, UsageError
from contexthall.core.paths import shown
from contexthall.system.processes import Report, run_parallel

__all__ = ["DraftProgress", "Order", "draft_again", "draft_all", "draft_missing"]

DraftProgress: TypeAlias = Callable[[int, int], None]
Result = TypeVar("Result")

_WORTH_SHARING = 100
_WORKERS = 2
_NAMED = 3


def draft_missing(project: Project, order: Order, progress: DraftProgress) -> Outcome:
    """Draft a context for every directory that lacks one, and write the new scope into those that were moved."""
    overview = project.overview()
    _refuse_several(overview)
    if not any(each.every_file or each.subdirectories or each.error for each in overview.directories):
        return Outcome([], [], [], [], "unchanged", {}, {})  # an empty project has nothing to draft
    missing = [each.scope for each in overview.census.kept if lacks_context(each) and not each.error]
    moved = [each.scope for each in overview.census.kept if not lacks_context(each) and _is_moved(project, each)]
    run = _Drafting(project, overview, order)
    drafted = {shown(scope) for scope in (*missing, *run.refused)}
    for entry in overview.entries:
        if entry.error and not entry.has_context and entry.scope not in drafted:
            run.note(entry.scope, "", entry.error)
    return run.run(missing, moved, progress, with_outdated=True)


def draft_all(project: Project, order: Order) -> dict[str, Statement | None]:
    """Return the statement that each directory that counts would get as its summary, whatever it has; None if none.

    Nothing is written.
    """
    overview = project.overview()
    scopes = [each.scope for each in overview.census.kept]
    run = _Drafting(project, overview, order)
    plan = make_plan(project, overview, order, scopes)
    run.add_importers(plan, run.draft(plan, scopes, None))
    return {scope: run.chosen.get(scope) for scope in scopes}


def _refuse_several(overview: Overview) -> None:
    """Refuse to draft a folder of repositories as if it were one project."""
    top, others = overview.directories[0], [shown(each) for each in sorted(overview.repositories)]
    if len(others) > 1 and not is_repository(top) and top.context is None:
        more = len(others) - _NAMED
        named = ", ".join(others[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise UsageError(
            f"this is no project but holds {len(others)} repositories: {named}",
            hint=f"type `context init --path {others[0]}`, and so on for each of them",
        )


def draft_again(project: Project, scopes: Sequence[str] | None, order: Order, progress: DraftProgress) -> Outcome:
    """Draft the contexts of some directories again; None for those that are stale."""
    overview = project.overview()
    if scopes is None:
        stale = {entry.scope for entry in overview.entries if entry.state == STALE}
        scopes = [each.scope for each in overview.census.kept if shown(each.scope) in stale]
    run = _Drafting(project, overview, order)
    return run.run(scopes, [], progress) if scopes else run.recover()


def _is_moved(project: Project, directory: ScannedDirectory) -> bool:
    try:
        return project.head(directory, project.ledger.now()).scope != shown(directory.scope)
    except ContextError:
        return False


class _Drafting:
    """One run and its outcome so far, in the parent process alone."""

    def __init__(self, project: Project, overview: Overview, order: Order) -> None:
        self._project = project
        self._overview = overview
        self._order = order
        self._directories = {each.scope: each for each in overview.directories}
        self._below = below_each(overview)
        self._summaries = {entry.scope: first_sentence(str(entry.summary or "")) for entry in overview.entries}
        self._outcome = Outcome([], [], [], [], "unchanged", {}, {}, [], unread_files(overview.directories))
        self.chosen: dict[str, Statement] = {}
        every = sorted(overview.entries, key=lambda entry: _depth_order(entry.scope), reverse=True)
        self._described = {str(entry.summary): entry.scope for entry in every if entry.summary}
        self._written: dict[str, WrittenDraft] = {}
        self.refused: set[str] = set()
        for directory in overview.directories:
            reason = overview.refused.get(shown(directory.scope))
            if directory.cause or reason:
                self._refuse(directory.scope, reason or f"{directory.error}: {directory.cause}")

    def run(
        self, scopes: Sequence[str], moved: Sequence[str], progress: DraftProgress, *, with_outdated: bool = False
    ) -> Outcome:
        project = self._project
        self._tidy()
        plan = make_plan(project, self._overview, self._order, scopes)
        for scope, reason in plan.faults.items():
            self._refuse(scope, reason)
        if self.refused and not lacks_context(self._directories[ROOT]):
            # The root would lose the summaries of what cannot be read now; the next run still finds it outdated.
            scopes, with_outdated = [scope for scope in scopes if scope != ROOT], False
        drafts = self.draft(plan, scopes, progress)
        if with_outdated:
            new = {*drafts, *moved}
            kept = [each.scope for each in self._overview.census.kept if each.scope not in {*new, *scopes}]
            drafts |= self.draft(plan, [scope for scope in kept if self._is_outdated(scope, new)], None)
        self.add_importers(plan, drafts)
        self._write_lock(partial(self._decide_ahead, plan, drafts))
        write = partial(write_draft, project, plan, drafts, {**self._summaries})
        for scope, (written, reason) in _attempt_each([each for each in drafts if each != ROOT], write).items():
            self._note_written(scope, written, reason)
        for scope in self._without_refused(moved):
            move = partial(move_context, project, self._directories[scope], is_dry=self._order.is_dry)
            self._note_written(scope, *_attempt(move))
        # The root is last: AGENTS.md, which lists all the others, is one of its files.
        if ROOT in drafts:
            self._note_written(ROOT, *_attempt(partial(self._write_root, plan, drafts)))
        else:
            self._write_agents_alone()
        self._write_lock(self._decide)
        return self._outcome

    def draft(self, plan: DraftPlan, scopes: Sequence[str], progress: DraftProgress | None) -> dict[str, Draft]:
        """Draft directories, and choose their summaries; one without a summary gets no context."""
        found = _attempt_each(self._without_refused(scopes), partial(draft_directory, self._project, plan), progress)
        drafts = {scope: each for scope, (each, reason) in found.items() if each or self._refuse(scope, reason)}
        for scope in sorted(drafts, key=_depth_order):
            summary = drafts[scope].human_summary or self._summary(plan, scope, drafts[scope])
            if not summary:
                self.note(scope, "missing", "")
                del drafts[scope]
            self._summaries[shown(scope)] = summary
        return drafts

    def _summary(self, plan: DraftPlan, scope: str, draft: Draft) -> str:
        """Return the best statement that is about this directory; else its summary from an earlier run.

        A statement that a directory above has too is about that one. So is what people wrote of one that comes first.
        """
        above = {self._summaries.get(shown(each)) for each in _lineage(scope) if each != scope}
        taken = [each for each in draft.statements if each.text in above or self._is_of_another(scope, each)]
        best = next((each for each in draft.statements if each not in taken), None)
        if best is None and taken:
            best = derive_again(self._project, plan, scope)
        if best is None or best.text in above:
            return draft.drafted_summary
        self.chosen[scope] = best
        self._described[best.text] = scope
        return best.text

    def _is_of_another(self, scope: str, statement: Statement) -> bool:
        first = self._described.get(statement.text, scope) if statement.witness in WRITTEN else scope
        return _depth_order(first) < _depth_order(scope)

    def add_importers(self, plan: DraftPlan, drafts: Mapping[str, Draft]) -> None:
        """Add their importers to statements about exports, now that it is known which directories have a context."""
        exporting = {scope: each for scope, each in self.chosen.items() if each.exports and scope in drafts}
        imports = {scope: each.imports for scope, each in drafts.items()}
        others = (
            scope for scope in self._directories if scope not in drafts and not lacks_context(self._directories[scope])
        )
        importers = Importers(imports | imports_elsewhere(self._project, plan, others, exporting), self._directories)
        for scope, each in exporting.items():
            counts = importers.counts(scope, each.exports)
            text = exports_sentence(each.exports, counts, importers.users(scope)) or each.text
            self.chosen[scope], self._summaries[shown(scope)] = each._replace(text=text), text

    def _write_lock(self, decide: Decision) -> None:
        reason = "" if self._order.is_dry else _attempt(partial(update_lock, self._project, decide))[1]
        if reason and (LOCK_FILE, reason) not in self._outcome.failed:
            self.note(LOCK_FILE, "", reason)

    def _decide_ahead(self, plan: DraftPlan, drafts: Mapping[str, Draft], lock: Lock) -> dict[str, LockEntry | None]:
        """Return entries that hold whether or not a draft is written, in case this run is killed on the way.

        Else what was drafted would differ from what the lock has, and pass for what a person wrote.
        """
        entries: dict[str, LockEntry | None] = {}
        for scope, each in drafts.items():
            before, fields = lock.entry(shown(scope)), fields_of(plan, drafts, self._summaries, scope)
            drafted = LockEntry(each.interface, digests(fields))
            entries[shown(scope)] = drafted if before is None else either(before, drafted)
        return entries

    def _decide(self, lock: Lock) -> dict[str, LockEntry | None]:
        """Return the entries for what was written; what people cite stays."""
        entries: dict[str, LockEntry | None] = {**self._settled(lock)}
        for scope, written in self._written.items():
            before = lock.entry(scope) or lock.entry(written.moved_from) or LockEntry()
            after = written.entry or before
            cited = moved_citations(self._project.drift, before.citations, written.moved_from, scope)
            entries[scope] = after._replace(citations=cited) if after != LockEntry() else None
        there = {shown(each.scope) for each in self._overview.directories if each.context}
        return removed_scopes(self._project, lock.scopes, {*there, *entries}) | entries

    def _settled(self, lock: Lock) -> dict[str, LockEntry]:
        """Return what becomes of entries that merges and killed runs left unsettled, for contexts that are fresh."""
        fresh = {entry.scope for entry in self._overview.entries if entry.state == FRESH}
        places = {shown(scope): scope for scope in self._directories}
        settled_entries = {}
        for scope, entry in lock.unsettled.items():
            if scope in fresh and scope not in self._written:
                directory = self._directories[places[scope]]
                values, interface = values_of(self._project, directory), interface_of(self._project.disk, directory)
                settled_entries[scope] = settle_entry(entry, values, interface)
        return settled_entries

    def _note_written(self, scope: str, written: WrittenDraft | None, reason: str) -> None:
        self.note(scope, written.kind if written else "", reason)
        if written is not None and not reason:
            self._written[shown(scope)] = written
            for name in ("replaced", "kept"):
                if fields := getattr(written, name):
                    getattr(self._outcome, name)[shown(scope)] = [*fields]

    def _write_root(self, plan: DraftPlan, drafts: Mapping[str, Draft]) -> WrittenDraft:
        self._write_agents()  # the root stays as it is if AGENTS.md must, so that both are written the next time
        plan = plan._replace(directories={ROOT: scan_to_write(self._project, ROOT)})
        return write_draft(self._project, plan, drafts, self._summaries, ROOT)

    def _write_agents_alone(self) -> None:
        """Write AGENTS.md, and the fingerprint of the root with it, if its context was fresh until now."""
        was_fresh = any(each.scope == ROOT and each.state == FRESH for each in self._overview.entries)
        with suppress(DiskError):
            if self._write_agents() and was_fresh and not self._order.is_dry:
                self.note(ROOT, "updated", _attempt(partial(rehash, self._project, ROOT))[1])

    def recover(self) -> Outcome:
        """Remove what killed runs have left, and settle the lock."""
        self._tidy()
        if self._project.drift.lock().unsettled:
            self._write_lock(self._decide)
        return self._outcome

    def _tidy(self) -> None:
        if not self._order.is_dry:
            for directory in self._directories.values():
                tidy(self._project.disk, directory)

    def _is_outdated(self, scope: str, new: Collection[str]) -> bool:
        """Return whether a draft lists subdirectories that are gone, lacks some, or has `new` ones."""
        try:
            values, below = values_of(self._project, self._directories[scope]), self._below.get(scope, ())
        except ContextError as error:
            return self._refuse(scope, str(error))
        derived, has_new = derived_fields(values), any(each in new for each in below)
        if "subdirectories" not in derived:
            return bool(derived) and has_new
        there = {f"{shown(os.path.basename(each))}/" for each in below if self._summaries.get(shown(each))}
        return has_new or there != {str(each.get("name")) for each in _subdirectories(values)}

    def note(self, scope: str, kind: str | None, reason: str) -> None:
        if reason:
            self._outcome.failed.append((shown(scope), reason))
        elif kind:
            getattr(self._outcome, kind).append(shown(scope))

    def _refuse(self, scope: str, reason: str) -> Literal[False]:
        """Write nothing about a directory that cannot be read in full; its summary stays."""
        if scope not in self.refused:
            self.refused.add(scope)
            self.note(scope, "", reason)
            self._summaries[shown(scope)] = self._summaries.get(shown(scope)) or self._summary_above(scope)
        return False

    def _summary_above(self, scope: str) -> str:
        """Return the summary of a directory in the context of its parent."""
        parent = self._directories.get(os.path.dirname(scope) or ROOT)
        if parent is None:  # the parent does not count, and the scope was named by the user
            return ""
        with suppress(ContextError):
            named = _subdirectories(values_of(self._project, parent))
            return next((first_of(each) for each in named if each.get("name") == f"{os.path.basename(scope)}/"), "")
        return ""

    def _without_refused(self, scopes: Sequence[str]) -> list[str]:
        """Leave out what was refused, and what is below a directory whose ignore rules are unknown."""
        unruled = {each.scope for each in self._overview.directories if each.cause}
        return [scope for scope in scopes if scope not in self.refused and unruled.isdisjoint(_lineage(scope))]

    def _write_agents(self) -> bool:
        """Write our section of AGENTS.md; return whether that changed the file."""
        what = LEFT_ALONE
        sizes = {shown(each.scope): _size(each) for each in self._overview.census.kept}
        with_words = {entry.scope for entry in self._overview.entries if entry.has_words}
        named = {scope: summary for scope in sizes if (summary := self._summaries.get(scope))}
        rows = [Row(scope, summary, scope in with_words, sizes[scope]) for scope, summary in named.items()]
        try:
            if self._order.with_agents:
                what = write_agents(self._project, rows, is_dry=self._order.is_dry)
        except DiskError as error:
            what = str(error)
            raise
        finally:
            self._outcome = self._outcome._replace(agents=what)
        return what in CHANGES


def _size(directory: ScannedDirectory) -> int:
    """Return the size of the source files of a directory, but for AGENTS.md."""
    return source_bytes(directory._replace(files=[each for each in directory.files if each.name != AGENTS_FILE]))


def _subdirectories(values: Mapping[str, Value]) -> list[dict[str, Value]]:
    listed = values.get("subdirectories")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _depth_order(scope: str) -> tuple[int, bool, str]:
    return scope.count("/"), scope != ROOT, scope


def _lineage(scope: str) -> list[str]:
    """Return a directory and those above it."""
    return [ROOT, *accumulate(scope.split("/"), os.path.join)]


def _attempt_each(
    scopes: Sequence[str], act: Callable[[str], Result], progress: DraftProgress | None = None
) -> dict[str, tuple[Result | None, str]]:
    """Call `act` for every directory, in two processes if there are many."""
    found: dict[str, tuple[Result | None, str]] = {}

    def take(attempt: tuple[str, tuple[Result | None, str]]) -> None:
        found.update([attempt])
        if progress is not None:
            progress(len(found), len(scopes))

    workers = _WORKERS if len(scopes) >= _WORTH_SHARING else 1
    run_parallel([partial(_report_attempts, scopes[number::workers], act) for number in range(workers)], take)
    return {scope: found[scope] for scope in scopes}


def _report_attempts(scopes: Sequence[str], act: Callable[[str], Result], report: Report) -> None:
    """Report each attempt as it is made, so that no results pile up here."""
    for scope in scopes:
        report((scope, _attempt(partial(act, scope))))


def _attempt(act: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return the result of a call, or why it failed."""
    try:
        return act(), ""
    except HallError as error:
        return None, str(error)

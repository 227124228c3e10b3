"""How do contexts come to be, and how are they kept true? Drafted from the code, without touching what people wrote.

One directory that cannot be written costs the others nothing.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from contexthall.contexts.answers import Outcome
from contexthall.contexts.draft.agents import Row
from contexthall.contexts.draft.agents_file import CHANGES, LEFT_ALONE, write_agents
from contexthall.contexts.draft.languages.layout import Layout
from contexthall.contexts.draft.material import gather, inherited_manifests, language_sizes, manifests_of
from contexthall.contexts.draft.outline import Surroundings, draft, with_below
from contexthall.contexts.draft.prose import first_sentence
from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.edit import change_fields
from contexthall.contexts.files.merge import FULL, derived_fields, digests, flatten, merge
from contexthall.contexts.files.schema import CONTEXT_FILE, in_order
from contexthall.contexts.files.writing import (
    as_bytes,
    as_text,
    look_at_itself,
    put,
    readable_contents,
    rehash,
    rewrite,
    tidy,
)
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of, read_context_of
from contexthall.contexts.freshness.ledger import Written
from contexthall.contexts.project import FRESH, STALE, Overview, Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory
from contexthall.core.errors import ContextError, DiskError, HallError, PathMissingError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk
from contexthall.system.processes import run_shares

DraftProgress: TypeAlias = Callable[[int, int], None]
Result = TypeVar("Result")

_WORTH_SHARING = 100
_WORKERS = 2


class Order(NamedTuple):
    """How drafting shall be done."""

    now: str
    is_full: bool = False
    is_dry: bool = False
    with_agents: bool = True


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
    return (directory.context is None or _is_emptied(directory)) and not directory.error


def _is_emptied(directory: ScannedDirectory) -> bool:
    """Say whether a context holds nobody's words: drafts are not synced, and a power cut may empty one."""
    return directory.context is not None and directory.context.kind == "file" and directory.context.size == 0


def _is_moved(project: Project, directory: ScannedDirectory) -> bool:
    try:
        return project.head(directory).scope != shown(directory.scope)
    except ContextError:
        return False


class _Draft(NamedTuple):
    """The drafted fields of a directory, and what it will be said to be for, by whomever."""

    fields: dict[str, Value]
    summary: str


class _Drafting:
    """One run: what is known of the project, and what has been done so far."""

    def __init__(self, project: Project, overview: Overview, order: Order) -> None:
        self._project = project
        self._order = order
        self._is_full = order.is_full or overview.config.mode == "full"
        self._directories = {each.scope: each for each in overview.directories}
        self._kept = [each.scope for each in overview.census.kept]
        self._below: dict[str, list[str]] = {}
        for scope in self._kept:
            if scope != ROOT:
                self._below.setdefault(os.path.dirname(scope) or ROOT, []).append(scope)
        self._summaries = {entry.scope: first_sentence(str(entry.summary or "")) for entry in overview.entries}
        self._root_was_fresh = any(each.scope == ROOT and each.state == FRESH for each in overview.entries)
        self._outcome = Outcome([], [], [], [], "unchanged")
        self.refused: set[str] = set()
        self._unruled = {each.scope for each in overview.directories if each.cause}
        for directory in overview.directories:
            reason = overview.refused.get(shown(directory.scope))
            if directory.cause or reason:
                self._refuse(directory.scope, reason or f"{directory.error}: {directory.cause}")

    def run(self, scopes: Sequence[str], moved: Sequence[str], progress: DraftProgress) -> Outcome:
        self._tidy()
        self._inherited = self._read_if_allowed(ROOT, inherited_manifests) or {}
        self._layout = self._find_layout()
        drafts = {
            scope: drafted
            for scope, drafted in self._share(self._clear(scopes), self._attempt_draft, progress).items()
            if isinstance(drafted, _Draft) or self._refuse(scope, drafted)
        }
        self._summaries |= {shown(scope): each.summary for scope, each in drafts.items()}
        scopes, moved = self._clear(scopes), self._clear(moved)
        others = [scope for scope in scopes if scope != ROOT]
        for scope, verdict in self._share(others, partial(self._attempt_write, drafts), _quietly).items():
            self.note(scope, *verdict)
        for scope in moved:
            self.note(scope, *_attempt(partial(self._move, scope)))
        # The root is last: AGENTS.md, which tells of all the others, is one of its files.
        if ROOT in scopes:
            self.note(ROOT, *self._attempt_write(drafts, ROOT))
        elif self._has_written_agents() and self._root_was_fresh and not self._order.is_dry:
            self.note(ROOT, *_attempt(partial(self._refresh, ROOT)))
        return self._outcome

    def only_tidy(self) -> Outcome:
        self._tidy()
        return self._outcome

    def is_outdated(self, scope: str, new: Collection[str]) -> bool:
        """Say whether a draft names a directory below it that is gone, or does not yet name one, or has a `new` one."""
        try:
            values, below = self._values(self._directories[scope]), self._below.get(scope, ())
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
        """Give what the directory above says about one."""
        parent = self._directories.get(os.path.dirname(scope) or ROOT)
        if parent is None:  # which does not count itself, when one below it was asked for by name
            return ""
        with suppress(ContextError):
            listed = self._values(parent).get("subdirectories")
            named = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
            return next((_first_of(each) for each in named if each.get("name") == f"{os.path.basename(scope)}/"), "")
        return ""

    def _clear(self, scopes: Sequence[str]) -> list[str]:
        """Leave out what was refused, and what lies below a directory whose rules are not known: it may not count."""
        unruled = self._unruled
        return [scope for scope in scopes if scope not in self.refused and unruled.isdisjoint((ROOT, *_lineage(scope)))]

    def _read_if_allowed(self, scope: str, read: Callable[[Disk, ScannedDirectory], Result]) -> Result | None:
        try:
            return read(self._project.disk, self._directories[scope])
        except DiskError as error:
            self._refuse(scope, str(error))
            return None

    def _attempt_draft(self, scope: str) -> "_Draft | str":
        try:
            return self._draft(scope)
        except HallError as error:
            return str(error)

    def _draft(self, scope: str) -> _Draft:
        """Draft a directory, but for what is said of those below it."""
        directory = self._directories.get(scope) or self._project.look(scope)
        values = self._values(directory)
        sizes = language_sizes(self._directories.values()) if scope == ROOT else {}
        around = Surroundings(
            scope=shown(scope),
            layout=self._layout,
            below=sorted(shown(os.path.basename(each)) for each in self._below.get(scope, ())),
            name=shown(os.path.basename(self._project.root)),
            language=max(sizes, key=lambda each: (sizes[each], each)) if sizes else "",
        )
        was_full = any(name in derived_fields(values) for name in FULL)
        material = gather(self._project.disk, directory, self._inherited)
        fields = draft(material, around, is_full=self._is_full or was_full)
        is_ours = not values or ("summary" in derived_fields(values) and "summary" not in self._edited(scope, values))
        return _Draft(fields, _first_of(fields if is_ours else values))

    def _values(self, directory: ScannedDirectory) -> Mapping[str, Value]:
        """Give the fields of the context that a directory has; none if it has none that can be read."""
        try:
            return read_context_of(self._project.disk, directory.path)[1]
        except ContextError as error:
            if isinstance(error.__cause__, DiskError) and not isinstance(error.__cause__, PathMissingError):
                raise
            return {}

    def _attempt_write(self, drafts: Mapping[str, _Draft], scope: str) -> tuple[str, str]:
        return _attempt(partial(self._write, scope, drafts[scope].fields))

    def _write(self, scope: str, fields: Mapping[str, Value]) -> str:
        """Write a draft, and say in which list of the outcome it belongs."""
        directory = look_at_itself(self._project, scope)
        below = sorted(self._below.get(scope, ()))
        summaries = {shown(os.path.basename(each)): self._summaries.get(shown(each), "") for each in below}
        fields = with_below(fields, scope, summaries)
        if scope == ROOT:  # which stays as it is if AGENTS.md must, so that both are written the next time
            self._write_agents()
            directory = look_at_itself(self._project, ROOT)
        if directory.context is None or _is_emptied(directory):
            return self._write_new(directory, fields)
        _, before = read_bytes_of(self._project.disk, directory.path)
        return self._write_again(directory, before, self._merge(scope, before, fields))

    def _write_new(self, directory: ScannedDirectory, fields: Mapping[str, Value]) -> str:
        contents = readable_contents(self._project.disk, directory)
        values = {
            "version": 1,
            "scope": shown(directory.scope),
            "fingerprint": contents.fingerprint,
            "last_updated": self._order.now,
            "derived_fields": [*flatten(fields)],
            **fields,
        }
        if not self._order.is_dry:
            data = yaml_text.write(in_order(values)).encode()
            if directory.context is not None:
                rewrite(self._project.disk, directory, CONTEXT_FILE, b"", data)
            elif not put(self._project.disk, directory, CONTEXT_FILE, data):
                return "unchanged"  # somebody else was faster
            written = Written(contents.fingerprint, contents.digests, self._order.now, digests(fields))
            self._project.ledger.learn_written(directory.scope, written)
        return "written"

    def _merge(self, scope: str, before: bytes, fields: Mapping[str, Value]) -> str:
        values = read_context(before)
        return merge(as_text(before), values, fields, self._edited(scope, values))

    def _write_again(self, directory: ScannedDirectory, before: bytes, merged: str) -> str:
        contents, values = readable_contents(self._project.disk, directory), read_context(before)
        is_moved = values["scope"] != shown(directory.scope)
        if merged == as_text(before) and not is_moved and values["fingerprint"] == contents.fingerprint:
            return "unchanged"
        changed = change_fields(merged, {"scope": shown(directory.scope), "last_updated": self._order.now})
        after = replace_fingerprint(as_bytes(changed, like=before), contents.fingerprint)
        if not self._order.is_dry:
            rewrite(self._project.disk, directory, CONTEXT_FILE, before, after)
            now = read_context(after)
            listed = derived_fields(now)
            ours = {name: each for name, each in digests(now).items() if {name, name.partition(".")[0]} & {*listed}}
            written = Written(contents.fingerprint, contents.digests, self._order.now, ours)
            self._project.ledger.learn_written(directory.scope, written)
        return "updated"

    def _edited(self, scope: str, values: Mapping[str, Value]) -> set[str]:
        """Name the machine's fields that a person has changed since this machine wrote them."""
        written = self._project.ledger.written(scope)
        if written is None or written.last_updated != values["last_updated"]:
            return set()
        return {
            name for name, each in digests(values).items() if name in written.fields and written.fields[name] != each
        }

    def _move(self, scope: str) -> str:
        directory = look_at_itself(self._project, scope)
        _, before = read_bytes_of(self._project.disk, directory.path)
        after = as_bytes(change_fields(as_text(before), {"scope": shown(scope)}), like=before)
        if not self._order.is_dry:
            rewrite(self._project.disk, directory, CONTEXT_FILE, before, after)
        return "updated"

    def _refresh(self, scope: str) -> str:
        rehash(self._project, scope)
        return "updated"

    def _write_agents(self) -> bool:
        """Write our section of AGENTS.md; say whether that changed the file."""
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
        rows = [Row(shown(scope), self._summaries.get(shown(scope), "")) for scope in self._kept]
        return [row for row in rows if row.summary]

    def _find_layout(self) -> Layout:
        packages: dict[str, str] = {}
        for scope in self._directories:
            for manifest in self._read_if_allowed(scope, manifests_of) or ():
                packages |= {name: scope for name in (manifest.module, manifest.name) if name}
        files = {scope: {file.name for file in each.files} for scope, each in self._directories.items()}
        return Layout(files, packages, os.path.basename(self._project.root))

    def _share(self, scopes: Sequence[str], act: Callable[[str], Result], progress: DraftProgress) -> dict[str, Result]:
        """Do something for every directory, in two processes if there are many."""
        done = 0

        def report(count: int) -> None:
            nonlocal done
            done += count
            progress(done, len(scopes))

        workers = _WORKERS if len(scopes) >= _WORTH_SHARING else 1
        shares = [scopes[number::workers] for number in range(workers)]
        found = run_shares([partial(_do_share, share, act) for share in shares], report)
        results = dict(each for share in found for each in share)
        return {scope: results[scope] for scope in scopes}


def _lineage(scope: str) -> list[str]:
    """Name a directory and those above it, but for the root."""
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


def _first_of(values: Mapping[str, Value]) -> str:
    """Give the first sentence of a summary, if there is one."""
    return first_sentence(str(values.get("summary") or ""))

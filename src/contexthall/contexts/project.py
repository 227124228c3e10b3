"""The contexts of a project, and whether they are still true. The room's public module.

Its answers are those of the three tools, errors included: a bad directory is an entry and stops no other.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from contexthall.contexts.answers import (
    EVERYTHING,
    ChangedReport,
    Context,
    ContextEntry,
    ContextListing,
    ContextReading,
    FreshnessReport,
    Outcome,
    Report,
    Selection,
    StateChange,
    failed_listing,
    is_beyond,
    listing,
    sentence,
)
from contexthall.contexts.brief.brief import DEFAULT_BUDGET, Brief, ReplyFormat, pack
from contexthall.contexts.brief.gathering import find_target, gather, levels
from contexthall.contexts.brief.rule_files import RuleFile, find_rules
from contexthall.contexts.files.config import CONFIG_FILE, Config, read_config
from contexthall.contexts.files.lock import Lock
from contexthall.contexts.files.schema import FILTERABLE, METADATA, select_fields
from contexthall.contexts.files.yaml_text import Value, finite, write
from contexthall.contexts.freshness.drift import (
    CONTENT,
    DRIFTS,
    NO_CODE,
    NO_DRIFT,
    CodeReader,
    Drift,
    DriftJudge,
)
from contexthall.contexts.freshness.heads import FAULTS, Head, SecondReader, read_context_of, read_head
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.freshness.states import FRESH, MISSING, STALE, STATES
from contexthall.contexts.freshness.verdict import (
    Verdict,
    changes,
    compute_fingerprint,
    judge,
    read_contents,
)
from contexthall.contexts.scan.directories import ROOT, Census, ScannedDirectory, count, scan_one, walk
from contexthall.contexts.scan.unread import unread_files
from contexthall.core import limits
from contexthall.core.errors import (
    ContextCorruptError,
    ContextMissingError,
    DiskError,
    HallError,
    InvalidBudgetError,
    PathMissingError,
    ScopeError,
    SettingsError,
)
from contexthall.core.paths import absolute, native, shown
from contexthall.core.tokens import LARGEST_BUDGET
from contexthall.system.disk import Disk, Kind
from contexthall.system.kernel import open_straight

__all__ = [
    "CONTENT",
    "DEFAULT_BUDGET",
    "DRIFTS",
    "FIELDS",
    "FRESH",
    "MISSING",
    "STALE",
    "STATES",
    "Brief",
    "ChangedReport",
    "Context",
    "ContextEntry",
    "ContextListing",
    "FreshnessReport",
    "Outcome",
    "Project",
    "Projects",
    "Report",
    "RuleFile",
    "Selection",
    "StateChange",
    "as_yaml",
    "is_beyond",
]

FIELDS = FILTERABLE
as_yaml = write


class Overview(NamedTuple):
    """A scanned project: every directory, which of them are kept, and the entries of those."""

    config: Config
    directories: Sequence[ScannedDirectory]
    census: Census
    entries: Sequence[ContextEntry]
    refused: Mapping[str, str]
    """Scopes whose context the system refused to read, and why, for people."""
    repositories: Sequence[str] = ()
    """Other repositories below the root, which are not entered, as paths from there."""


class Projects:
    """The projects whose contexts are served; `home` is the default."""

    def __init__(
        self,
        disk: Disk,
        *,
        home: str,
        working_directory: str,
        memory: str,
        clock: Callable[[], int],
        code: CodeReader = NO_CODE,
    ) -> None:
        self.home = home
        self._code = code
        self._disk = disk
        self._working_directory = working_directory
        self._memory = memory
        self._clock = clock
        # The last few projects stay in memory, with what is known of them.
        self._open = lru_cache(maxsize=limits.OPEN_PROJECTS)(self._new)

    def root_of(self, path: str | None) -> str:
        """Return which project root `path` names."""
        return self.home if path is None else absolute(path, self._working_directory)

    def open(self, root: str, may_read: Callable[[str, str], bool]) -> "Project | None":
        """Open the project at `root`; None if the caller may not read where that really is."""
        base = real_root(self._disk, root)
        return self._open(root, base) if may_read(base, self.home) else None

    def at(self, root: str) -> "Project":
        """Open the project at `root`, without a check of authority."""
        return self._open(root, real_root(self._disk, root))

    def _new(self, root: str, base: str) -> "Project":
        # By its real path: any number of symlinks may lead to a root.
        name = sha256(os.fsencode(base)).hexdigest()[:16] if "\0" not in base else ""
        ledger = Ledger(self._disk, os.path.join(self._memory, name) if self._memory else "", self._clock)
        return Project(self._disk, root, ledger, base, self._code)


def real_root(disk: Disk, root: str) -> str:
    """Return the real path of a root; an impossible one is returned unchanged, and opening it will fail."""
    try:
        return disk.real(root)
    except DiskError:
        return root


class Project:
    """One project, below one directory: nothing outside of it is opened, even if symlinks are created meanwhile."""

    def __init__(
        self, disk: Disk, root: str, ledger: Ledger, base: str | None = None, code: CodeReader = NO_CODE
    ) -> None:
        self.root = root
        self.base = real_root(disk, root) if base is None else base
        """The real path of the root. All files are opened from here, without following symlinks."""
        self.disk = disk.opened_by(open_straight)
        self.ledger = ledger
        self.drift = DriftJudge(self.disk, self.base, ledger, code)
        self._known: dict[str, ScannedDirectory] = {}
        """The directories of the last scan, of those whose next change will show in their times."""

    def list_contexts(self, selection: Selection = EVERYTHING) -> ContextListing:
        """Return what `list_contexts` answers."""
        try:
            if selection.under is not None:
                selection = selection._replace(under=shown(self.locate(selection.under)))
            overview = self.overview()
        except SettingsError as error:
            return failed_listing(self.root, error.detail)
        except DiskError:
            return failed_listing(self.root)
        except HallError as error:
            return ContextListing(shown(self.root), error=sentence(error, ""))
        rules = self._rules(overview.directories)
        found = listing(self.root, overview.census, overview.entries, selection, rules)
        return found._replace(unread=unread_files(overview.directories))

    def check_freshness(self, scope: str) -> FreshnessReport:
        """Return what `check_freshness` answers."""
        try:
            return self._freshness(scope, self.locate(scope))
        except HallError as error:
            return FreshnessReport(scope, MISSING, error=sentence(error, scope))

    def query_context(self, scope: str, fields: Sequence[str] = (), *, with_freshness: bool = False) -> ContextReading:
        """Return what `query_context` answers."""
        try:
            return self._reading(scope, fields, with_freshness=with_freshness)
        except HallError as error:
            return ContextReading(scope, error=sentence(error, scope))

    def query(self, scope: str) -> Context:
        """Return what is known of a directory, and whether it is still true; HallError if nothing is."""
        return Context.of(self._reading(scope, (), with_freshness=True))

    def brief(self, path: str = ROOT, budget: int = DEFAULT_BUDGET, form: ReplyFormat = "json") -> Brief:
        """Return what `context.brief` answers about a file or directory; ScopeError if it is not in the project."""
        if not 0 <= budget <= LARGEST_BUDGET:
            raise InvalidBudgetError(f"{budget} is not between 0 and {LARGEST_BUDGET}")
        place = self._real_place(self.locate(path))
        target = find_target(self.disk, self.base, place)
        return pack(
            shown(place), budget, gather(self.disk, self.base, target, self.drift.lock(), self.drift.look_up), form
        )

    def unread_above(self, path: str) -> list[str]:
        """Return the directories from the root down to a path whose contexts are there, but cannot be read."""
        target = find_target(self.disk, self.base, self._real_place(self.locate(path)))
        return [shown(place) for place in levels(target.directory) if self._is_corrupt(place)]

    def _is_corrupt(self, place: str) -> bool:
        try:
            self.head(self.look(place), self.ledger.now())
        except ContextMissingError:
            return False
        except HallError:
            return True
        return False

    def locate(self, scope: str) -> str:
        """Return which directory `scope` names, as a path from the root; ScopeError if it is not in the project."""
        text = native(scope).replace("\\", "/")
        target = absolute(text, self.root)
        base = self.root.rstrip("/") + "/"
        if "\0" in text or not f"{target}/".startswith(base):
            raise ScopeError(scope)
        if "\0" in self.root:
            raise PathMissingError(self.root)
        place = target[len(base) :] or ROOT
        self._real_place(place)
        return place

    def kind(self, scope: str) -> Kind | None:
        """Return the kind of a path in the project; None if it does not exist."""
        return self.disk.kind(os.path.join(self.base, self.locate(scope)))

    def _real_place(self, place: str) -> str:
        """Return the real path of a place, from the root; ScopeError if that is not in the project."""
        base = self.base.rstrip("/") + "/"
        real = self.disk.real(os.path.join(base, place))
        if not f"{real}/".startswith(base):
            raise ScopeError(f"{place} leads out of the project")
        return real[len(base) :] or ROOT

    def read(self, place: str) -> dict[str, Value]:
        """Read the context of a directory; DiskError if the directory itself cannot be read."""
        directory = os.path.normpath(os.path.join(self.base, self._real_place(place)))
        try:
            return read_context_of(self.disk, directory)[1]
        except ContextCorruptError as error:
            if isinstance(error.__cause__, DiskError):
                self.disk.survey(directory)
            raise

    def look_around(self) -> list[ScannedDirectory]:
        """Scan every directory that may be entered."""
        return [*walk(self.disk, self.base, self.config())]

    def repository_above(self) -> str:
        """Return the git repository around the root; empty if there is none, or if the root is one itself."""
        place = self.base
        while not self._is_repository(place):
            above = os.path.dirname(place)
            if above == place:
                return ""
            place = above
        return "" if place == self.base else shown(place)

    def _is_repository(self, place: str) -> bool:
        try:
            return any(each.name == ".git" for each in self.disk.survey(place).seen)
        except DiskError:
            return False

    def places(self) -> list[str]:
        """Return every directory that has a context, as paths from the root."""
        return sorted(directory.scope for directory in self.look_around() if directory.context is not None)

    def config(self) -> Config:
        """Read the project's configuration; SettingsError if it is invalid."""
        try:
            _, data = self.disk.read_small(os.path.join(self.base, CONFIG_FILE), limits.CONTEXT_FILE_BYTES)
        except PathMissingError:
            return Config()
        except DiskError as error:
            self.disk.survey(self.base)  # if the root itself cannot be read, that is the fault
            raise SettingsError(f"{CONFIG_FILE} cannot be read: {error.cause}", hint="see who may read it") from error
        return read_config(data)

    def overview(self) -> Overview:
        """Scan the whole project."""
        seen_at, config = self.ledger.now(), self.config()
        repositories: list[str] = []
        directories = self._scan_all(config, seen_at, repositories)
        census = count(directories, config)
        lock = self.drift.lock()
        entries = [self._entry(directory, lock, seen_at) for directory in census.kept]
        self.ledger.keep([directory.scope for directory in directories])
        in_order = sorted(entries, key=lambda entry: entry.scope)
        refused = {entry.scope: entry.cause for entry in entries if entry.cause}
        return Overview(config, directories, census, in_order, refused, repositories)

    def _rules(self, directories: Sequence[ScannedDirectory]) -> list[RuleFile]:
        return find_rules(self.disk, self.base, [each.scope for each in directories if each.has_rules])

    def look(self, place: str) -> ScannedDirectory:
        """Scan one directory, wherever in the project its real path is."""
        try:
            return scan_one(self.disk, self.base, self._real_place(place))
        except PathMissingError as error:
            raise ContextMissingError(place) from error

    def _scan_all(self, config: Config, seen_at: int, repositories: list[str]) -> list[ScannedDirectory]:
        """Scan every directory, and record heads and fingerprints in the ledger where a second process can help."""
        directories: list[ScannedDirectory] = []
        settled: dict[str, ScannedDirectory] = {}
        unknown: dict[str, ScannedDirectory] = {}
        with SecondReader() as second:
            for directory in walk(self.disk, self.base, config, self._known, repositories):
                directories.append(directory)
                is_known = self._known.get(directory.scope) is directory
                if is_known or (not directory.error and directory.survey.is_settled(seen_at)):
                    settled[directory.scope] = directory
                if not is_known and directory.scope in settled and self._is_unread(directory):
                    unknown[directory.path] = directory
                    second.ask_for(directory.path)
            if second.is_busy:
                self._learn(unknown, second, seen_at)
        self._known = settled
        return directories

    def _is_unread(self, directory: ScannedDirectory) -> bool:
        context = directory.context
        return context is not None and context.kind == "file" and self.ledger.head(directory.scope, context) is None

    def _learn(self, unknown: Mapping[str, ScannedDirectory], second: SecondReader, seen_at: int) -> None:
        """Read the files of directories while the second process reads their contexts."""
        for directory in unknown.values():
            if self.ledger.fingerprint(directory.scope, directory.files) is None:
                with suppress(DiskError):  # the entry of the directory will report it
                    compute_fingerprint(self.disk, self.ledger, directory, seen_at)
        for path, (context, head) in second.answers().items():
            self.ledger.learn_head(unknown[path].scope, context, head, seen_at)

    def _entry(self, directory: ScannedDirectory, lock: Lock, seen_at: int) -> ContextEntry:
        scope = shown(directory.scope)
        try:
            head = self.head(directory, seen_at)
            verdict = judge(self.disk, self.ledger, directory, head.fingerprint, seen_at)
            drift = self._drift(directory, lock, verdict)
        except ContextMissingError:
            return ContextEntry(scope, MISSING, error=directory.error)
        except HallError as error:
            is_refused = isinstance(error, DiskError) or isinstance(error.__cause__, DiskError)
            return ContextEntry(scope, MISSING, error=sentence(error, scope), cause=str(error) if is_refused else "")
        return ContextEntry(
            scope,
            verdict.state,
            has_context=True,
            last_updated=head.last_updated,
            summary=head.summary,
            has_summary=head.has_summary,
            error=verdict.error,
            has_words=head.has_words,
            drift=drift.level,
            claims=drift.claims if drift.failing else (),
        )

    def _drift(self, directory: ScannedDirectory, lock: Lock, verdict: Verdict) -> Drift:
        """Return the drift of a directory; its context is read again only if it has citations."""
        is_stale = verdict.state == STALE
        if not is_stale and not lock.citing:  # by far the most of them
            return NO_DRIFT
        scope = shown(directory.scope)
        if not is_stale and not lock.may_cite(scope):
            return NO_DRIFT
        entry = lock.entry(scope)
        values = self.read(directory.scope) if entry is not None and entry.citations else {}
        return self.drift.judge(entry, directory, values, verdict.computed if is_stale else None)

    def _reading(self, scope: str, fields: Sequence[str], *, with_freshness: bool) -> ContextReading:
        place = self.locate(scope)
        values = self.read(place)
        freshness = self._freshness(scope, place) if with_freshness else None
        unknown = [*dict.fromkeys(name for name in fields if name not in FILTERABLE and name not in METADATA)]
        return ContextReading(scope, finite(select_fields(values, fields)), freshness, unknown=unknown)

    def _freshness(self, scope: str, place: str) -> FreshnessReport:
        """Return whether the context at a place is fresh; the report names it `scope`, as the caller did."""
        seen_at = self.ledger.now()
        directory = self.look(place)
        head = self.head(directory, seen_at)
        verdict = judge(self.disk, self.ledger, directory, head.fingerprint, seen_at)
        written = self.ledger.written(directory.scope) if verdict.state == STALE else None
        changed = {}
        if written is not None and written.fingerprint == head.fingerprint:
            changed = changes(written.files, read_contents(self.disk, directory).digests)
        drift = self._drift(directory, self.drift.lock(), verdict)
        return FreshnessReport(
            scope, verdict.state, head.fingerprint, verdict.computed, head.last_updated, changed, verdict.error, drift
        )

    def head(self, directory: ScannedDirectory, seen_at: int) -> Head:
        """Return the head of a directory's context, from the ledger if it is there; ContextError if it has none."""
        context = directory.context
        if context is None:
            raise ContextMissingError(directory.scope)
        if context.kind != "file":
            raise ContextCorruptError(f"a {context.kind} in the place of a file")
        head, refusal = self.ledger.head(directory.scope, context), None
        if head is None:
            seen, head = read_head(self.disk, directory.path)
            if seen is not None:
                self.ledger.learn_head(directory.scope, seen, head, seen_at)
            else:
                refusal = DiskError(head.detail)
        if head.fault:
            raise FAULTS[head.fault](head.detail) from refusal
        return head

"""The caches that are there, and what is known of each: the room's public module."""

import os.path
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from contexthall.caches.model.document import Document
from contexthall.caches.model.format import MANIFEST, SOURCES
from contexthall.caches.model.inspection import Inspection, inspect
from contexthall.caches.query.cache_files import has_few_sources, read_part
from contexthall.caches.query.opening import AnyCache, index_doubts, model_in, open_cache
from contexthall.caches.query.question import UNKNOWN, Question, SourcesState
from contexthall.caches.query.question import ReplyFormat as ReplyFormat  # noqa: PLC0414 - for the faces
from contexthall.core import limits
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    HallError,
    InvalidBudgetError,
    InvalidQueryError,
    PathMissingError,
    UsageError,
)
from contexthall.core.paths import MayRead, absolute, native, shown
from contexthall.core.store_url import is_url, parse_url
from contexthall.core.tokens import tokens
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.kernel import open_straight

if TYPE_CHECKING:
    from contexthall.caches.build.builder import Refreshed as Refreshed  # noqa: PLC0414 - for the command line
    from contexthall.caches.build.changes import SourceChanges as SourceChanges  # noqa: PLC0414
    from contexthall.caches.freshness import SourceJudge, SourcesLook
    from contexthall.caches.query.explanation import Explanation, RankingPage
    from contexthall.caches.query.joined import JoinedReply as JoinedReply  # noqa: PLC0414 - for the command line
    from contexthall.caches.query.joined import JoinedSection as JoinedSection  # noqa: PLC0414
    from contexthall.caches.query.resolution import Resolution
    from contexthall.caches.query.section_explanation import SectionExplanation
    from contexthall.caches.query.section_places import SectionRankingPage, ShownSection
    from contexthall.caches.query.section_reading import Outline as Outline  # noqa: PLC0414 - as above
    from contexthall.caches.query.section_reading import Reading as Reading  # noqa: PLC0414
    from contexthall.caches.refresh_rules import CacheStateChange as CacheStateChange  # noqa: PLC0414
    from contexthall.caches.refresh_rules import RefreshResult as RefreshResult  # noqa: PLC0414
    from contexthall.caches.report import CacheReport as CacheReport  # noqa: PLC0414
    from contexthall.caches.report import PacedReports
    from contexthall.caches.store.publishing import Published as Published  # noqa: PLC0414
    from contexthall.caches.store.stores import Stores

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

LARGEST_BUDGET = 2**63 - 1
DEFAULT_BUDGET = 4_000


class CacheEntry(NamedTuple):
    """A directory that may be a cache."""

    path: str
    has_manifest: bool


class CacheRef(NamedTuple):
    """Where a cache is, a path or the URL of one in a store, and by whose authority it is opened."""

    path: str
    admits: Callable[[str], bool] | None = None
    """Judges the real path whenever the cache is opened, which then follows no symlink; None: the system decides."""


class SizedDocument(NamedTuple):
    """A document, and what it costs."""

    document: Document
    tokens: int


def anyone(_path: str, _home: str) -> bool:
    """Return True: the caller may name every path, and the operating system decides."""
    return True


def _retried_if_replaced(
    read: Callable[Concatenate["Library", CacheRef, Arguments], Answer],
) -> Callable[Concatenate["Library", CacheRef, Arguments], Answer]:
    """Return `read`, retried where it fails and the cache was replaced meanwhile."""

    @wraps(read)
    def retried(self: "Library", cache: CacheRef, /, *args: Arguments.args, **options: Arguments.kwargs) -> Answer:
        for _ in range(limits.CACHE_SWAPS):
            before = self.identity(cache)
            try:
                return read(self, cache, *args, **options)
            except (CacheInvalidError, CacheMissingError, DiskError):
                if self.identity(cache) == before:
                    raise
        raise DiskError(f"{cache.path} is being replaced all the time", hint="try again")

    return retried


class Library:
    """The caches below one root, and those that a caller names by their path."""

    def __init__(  # noqa: PLR0913 - one for each thing that the hall decides
        self,
        disk: Disk,
        *,
        root: str,
        root_is_named: bool,
        working_directory: str,
        clock: Callable[[], int] = time.time_ns,
        is_home: Callable[[str], bool] = lambda _real: True,
        may_judge: Callable[[str], bool] = lambda _real: True,
        open_stores: "Callable[[], Stores] | None" = None,
    ) -> None:
        self.root = root
        self._open_stores = open_stores
        self._disk = disk
        self._straight = disk.opened_by(open_straight)
        self._is_home = is_home
        self._may_judge = may_judge
        self._root_is_named = root_is_named
        self._working_directory = working_directory
        self._clock = clock
        self._opened: dict[str, AnyCache] = {}
        self._was_asked: WeakSet[AnyCache] = WeakSet()
        self._reports: PacedReports | None = None
        self._judges: WeakKeyDictionary[AnyCache, SourceJudge] = WeakKeyDictionary()

    def list_caches(self, root: str | None = None, *, may_read: MayRead = anyone) -> tuple[CacheEntry, ...]:
        """Return the directories in `root` by absolute path, or those in the library's own root by name."""
        if root is None:
            return self._own_entries()
        directory = self._foreign_root(root, may_read)
        with self._enter(directory) as opened:
            return _entries(opened, os.path.join(directory.path, ""))

    def locate(self, cache: str, *, may_read: MayRead = anyone) -> CacheRef:
        """Return the cache that a caller means by `cache`: a name below the root, an absolute path, or a URL."""
        if is_url(cache):
            return self._locate_url(cache, may_read)
        if cache.startswith("/"):
            return CacheRef(cache, lambda real: may_read(real, self.root))
        names = [name for name in cache.split("/") if name not in {"", "."}]
        if not names or ".." in names:
            raise CacheMissingError(cache)
        return CacheRef(os.path.join(self.root, *names), self._is_own)

    def find(self, path: str) -> CacheRef:
        """Return the cache that a person means by `path`: a URL, or one in the working directory, or below the root."""
        if is_url(path):
            return CacheRef(parse_url(path))
        here = os.path.join(self._working_directory, path)
        if path and self._disk.is_there(os.path.join(here, MANIFEST)):
            return CacheRef(here)
        # A directory of that name need not be the cache that is meant.
        with suppress(CacheMissingError):
            below = self.locate(path)
            if self._disk.is_there(below.path):
                return below
        if path and self._disk.is_there(here):
            return CacheRef(here)
        raise CacheMissingError(path)

    @_retried_if_replaced
    def inspect(self, cache: CacheRef) -> Inspection:
        """Return what a cache holds, as far as its manifest and its file sizes tell."""
        if is_url(cache.path):
            return self.stores.inspect(cache.path)
        with self._enter(cache) as opened:
            found = inspect(opened)
            # A cache that is being replaced may lose files before they are counted, and still look valid.
            self._check_current(cache, opened)
            return found

    @staticmethod
    def check_query(query: str) -> None:
        """Refuse a query that is no text."""
        try:
            query.encode()
        except UnicodeEncodeError:
            raise InvalidQueryError("the query is not Unicode text") from None

    @staticmethod
    def check_budget(budget: int) -> None:
        """Refuse a budget that is out of range, or no whole number: nothing has checked the types of a program."""
        if type(budget) is not int:  # True is one to `isinstance`
            raise InvalidBudgetError(f"{budget!r} is not a whole number of tokens")
        if not 0 <= budget <= LARGEST_BUDGET:
            raise InvalidBudgetError(f"{budget} is not between 0 and {LARGEST_BUDGET}")

    @_retried_if_replaced
    def resolve(self, cache: CacheRef, query: str, budget: int, reply: ReplyFormat = "json") -> "Resolution":
        """Return the documents or sections that answer a query within a budget."""
        opened, question = self._ask(cache, query, budget, reply)
        return opened.resolve(question._replace(freshness=self._freshness(opened)))

    def ask(self, caches: Sequence[CacheRef], query: str, budget: int = DEFAULT_BUDGET) -> "JoinedReply":
        """Return the sections of several caches, of either format, that answer a query, as if they were one."""
        from contexthall.caches.query.joined import ask_all  # noqa: PLC0415 - 15 ms, which only this needs

        self._check(query, budget)
        opened = {cache: self._open(cache) for cache in caches}
        names = [_name(cache) for cache in opened]
        return ask_all(names, list(opened.values()), Question(query, budget, "text"))

    @_retried_if_replaced
    def explain(
        self, cache: CacheRef, query: str, budget: int, document_id: str, reply: ReplyFormat = "json"
    ) -> "Explanation | SectionExplanation":
        """Return where a document or section stands in a query's order, and why."""
        opened, question = self._ask(cache, query, budget, reply)
        return opened.explain(question, document_id)

    @_retried_if_replaced
    def places(
        self, cache: CacheRef, query: str, budget: int, offset: int, limit: int, reply: ReplyFormat = "json"
    ) -> "RankingPage | SectionRankingPage":
        """Return at most `limit` places of a query's order, from `offset` on, what was skipped included."""
        opened, question = self._ask(cache, query, budget, reply)
        return opened.places(question, slice(offset, offset + limit))

    @_retried_if_replaced
    def section(self, cache: CacheRef, section_id: str, query: str = "") -> "ShownSection":
        """Return one section of a cache of format 2, with the words of a query marked."""
        self.check_query(query)
        return self._open(cache).section(section_id, query)

    @_retried_if_replaced
    def read(
        self,
        cache: CacheRef,
        document_id: str,
        *,
        neighbours: int = 0,
        start: str | None = None,
        budget: int = DEFAULT_BUDGET,
        reply: ReplyFormat = "json",
    ) -> "Reading":
        """Return a section with its neighbours, or a page from the section `start` on, as far as the budget goes."""
        opened, question = self._ask(cache, document_id, budget, reply)
        return opened.read(question, neighbours, start)

    @_retried_if_replaced
    def outline(
        self,
        cache: CacheRef,
        under: str | None = None,
        *,
        depth: int | None = None,
        start: str | None = None,
        budget: int = DEFAULT_BUDGET,
        reply: ReplyFormat = "json",
    ) -> "Outline":
        """Return the headings of pages, from the page `start` on, as far as the budget goes."""
        opened, question = self._ask(cache, under or "", budget, reply)
        return opened.outline(question, under, depth, start)

    @_retried_if_replaced
    def document(self, cache: CacheRef, document_id: str) -> SizedDocument:
        """Read one document."""
        _, document = self._open(cache).find(document_id)
        return SizedDocument(document, tokens(document.content.encode()))

    @_retried_if_replaced
    def verify(self, cache: CacheRef, on_document: Callable[[], None] = lambda: None) -> tuple[str, ...]:
        """Return everything that is wrong with a cache; `on_document` is called for each document that was read."""
        if is_url(cache.path):
            return self.stores.verify(cache.path, on_document)
        from contexthall.caches.model.verification import violations  # noqa: PLC0415 - 20 ms, which only this needs

        with self._enter(cache) as opened:
            found = tuple(violations(opened, on_document))
            if found:
                self._check_current(cache, opened)
            return found

    @_retried_if_replaced
    def doubts(self, cache: CacheRef) -> str:
        """Return why queries do not believe the term index of a cache and read every document; empty if they do."""
        with self._enter(cache) as opened:
            return index_doubts(opened)

    @_retried_if_replaced
    def embedder_of(self, cache: CacheRef) -> str:
        """Return the id of the embedder that a cache names, which must be of use; empty if it names none."""
        with self._enter(cache) as opened:
            model = model_in(read_part(opened, MANIFEST))
        if not model:
            return ""
        from contexthall.caches.embedding.embedders import find_model  # noqa: PLC0415 - few need it

        return find_model(model).id

    def changes(self, cache: CacheRef) -> "SourceChanges | None":
        """Return what became of the sources of a cache; None if they are not known, gone, or not to be read."""
        return self._judge(self._open(cache)).changes()

    def look_at_sources(self, cache: CacheRef, may_watch: Callable[[str], bool]) -> "SourcesLook":
        """Return whether the sources of a cache are fresh, and where to watch them."""
        from contexthall.caches.freshness import SourceJudge, SourcesLook  # noqa: PLC0415 - for format 2 only

        if not self._disk.is_there(os.path.join(cache.path, SOURCES)):
            return SourcesLook()
        # One that agents ask is opened for them, too, if it was replaced; others are not kept open.
        opened = self._open(cache) if cache.path in self._opened else open_cache(*self._reach(cache))
        if not opened.has_sources:
            return SourcesLook()
        if opened is not self._opened.get(cache.path):
            return SourceJudge(self._disk, opened.directory, self._may_judge).look(may_watch)
        self._was_asked.add(opened)
        return self._judge(opened).look(may_watch)

    def last_verdict(self, cache: CacheRef) -> SourcesState:
        """Return what the last answer from a cache that is open said of its sources."""
        opened = self._opened.get(cache.path)
        judge = self._judges.get(opened) if opened is not None else None
        return judge.verdict if judge is not None else UNKNOWN

    def has_sources(self) -> bool:
        """Return whether a cache below the root records where it came from."""
        try:
            return any(
                self._disk.is_there(os.path.join(self.root, entry.path, SOURCES)) for entry in self._own_entries()
            )
        except HallError:
            return False

    @_retried_if_replaced
    def report(self, cache: CacheRef) -> "CacheReport":
        """Return what a cache says of itself, and what became of its sources; for people of this machine."""
        from contexthall.caches.report import report_on  # noqa: PLC0415 - 40 ms, as it reads sources

        with self._enter(cache) as opened:
            return report_on(self._disk, opened, self._may_judge)

    def reports(self, root: str | None = None) -> "dict[str, CacheReport]":
        """Return a report on everything that `list_caches` lists, by its path; a cache that fails hides no other.

        Whoever asks again at once gets the last ones.
        """
        if not (entries := self.list_caches(root)):
            return {}
        from contexthall.caches.report import PacedReports  # noqa: PLC0415 - as above

        self._reports = self._reports or PacedReports()
        return self._reports.update(entries, lambda path: self.report(self.locate(native(path))))

    def make_root(self) -> None:
        """Make the default root, so that whoever names it finds it there, empty."""
        if not self._root_is_named and not self._disk.is_there(self.root):
            self._disk.make_directories(self.root)

    def leftovers(self) -> tuple[str, ...]:
        """Return the names of caches below the root that are being built, or whose build was killed."""
        try:
            names = [entry.name for entry in self._disk.list(self.root) if entry.kind == "directory"]
        except PathMissingError:
            return ()
        return tuple(name.removeprefix(TEMPORARY_PREFIX) for name in names if name.startswith(TEMPORARY_PREFIX))

    def _ask(self, cache: CacheRef, query: str, budget: int, reply: ReplyFormat = "json") -> tuple[AnyCache, Question]:
        """Return a cache, opened, and what is asked of it."""
        self._check(query, budget)
        opened = self._open(cache)
        version = opened.version if reply == "text" else ""
        return opened, Question(query, budget, reply, _name(cache), version, model=opened.model)

    def _freshness(self, opened: AnyCache) -> SourcesState:
        """Return whether a cache is fresh; of many sources, whoever asks only once does not wait to hear."""
        if not opened.has_sources or (opened not in self._was_asked and not has_few_sources(opened.directory)):
            self._was_asked.add(opened)
            return UNKNOWN
        return self._judge(opened).state()

    def _judge(self, opened: AnyCache) -> "SourceJudge":
        from contexthall.caches.freshness import SourceJudge  # noqa: PLC0415 - for format 2 only

        if opened not in self._judges:
            self._judges[opened] = SourceJudge(self._disk, opened.directory, self._may_judge)
        return self._judges[opened]

    def _check(self, query: str, budget: int) -> None:
        self.check_query(query)
        self.check_budget(budget)

    def _open(self, cache: CacheRef) -> AnyCache:
        """Open a cache, or take it from the few that were opened last."""
        known = self._opened.get(cache.path)
        if is_url(cache.path):
            opened: AnyCache = self.stores.open(cache.path, known)
        else:
            disk, path = self._reach(cache)
            opened = open_cache(disk, path, known, clock=self._clock)
        if opened is not known:
            self._opened.pop(cache.path, None)
            for oldest in list(self._opened)[: 1 - limits.OPEN_CACHES]:
                self._opened.pop(oldest, None)
            self._opened[cache.path] = opened
        return opened

    @cached_property
    def stores(self) -> "Stores":
        """The object stores, which are loaded with the first URL."""
        if self._open_stores is None:
            raise CacheMissingError("there are no stores here")
        return self._open_stores()

    def open_directory(self, cache: CacheRef) -> Directory:
        """Open the directory of a cache, which must be on this machine."""
        return self._enter(cache)

    def _locate_url(self, url: str, may_read: MayRead) -> CacheRef:
        try:
            parsed = parse_url(url)
        except UsageError as error:
            raise CacheMissingError(error.detail) from None
        if not may_read(parsed, self.root):
            raise CacheMissingError(parsed, hint="an agent may name what is below --allow-root URL")
        return CacheRef(parsed)

    def identity(self, cache: CacheRef) -> object:
        """Return what changes when a cache is replaced; None if nothing can be seen of it."""
        if is_url(cache.path):
            return None  # what was opened in a store stays as it is
        try:
            disk, path = self._reach(cache)
            # With its times: a file system may give the next directory the number of one that was removed.
            return disk.look(path).stamp
        except (CacheMissingError, DiskError):
            return None

    def _check_current(self, cache: CacheRef, opened: Directory) -> None:
        """Refuse what was read from a directory that is not the cache any more."""
        if self.identity(cache) != opened.status().stamp:
            raise CacheMissingError(f"{cache.path} was replaced meanwhile")

    def _own_entries(self) -> tuple[CacheEntry, ...]:
        try:
            disk, path = self._reach(CacheRef(self.root, self._is_home))
            with disk.enter(path) as opened:
                return _entries(opened)
        except CacheMissingError:
            raise DiskError(f"{self.root} leads out of the project", hint="name it with --cache-root") from None
        except PathMissingError:
            if self._root_is_named or self._disk.is_there(self.root):
                raise
            return ()

    def _foreign_root(self, root: str, may_read: MayRead) -> CacheRef:
        directory = absolute(root, self._working_directory)
        try:
            if root and may_read(directory, self.root) and self._disk.is_there(directory):
                return CacheRef(directory, lambda real: may_read(real, self.root))
        except PathMissingError:
            pass
        raise CacheMissingError(root)

    def _is_own(self, real: str) -> bool:
        """Return whether a real path lies below the library's own root."""
        home = self._disk.real(self.root)
        return self._is_home(home) and f"{real}/".startswith(home.rstrip("/") + "/")

    def _reach(self, cache: CacheRef) -> tuple[Disk, str]:
        """Return the disk and the path by which to open a cache: no symlink that was not judged is followed."""
        if cache.admits is None:
            return self._disk, cache.path
        with suppress(PathMissingError):  # what cannot be a path at all is nowhere
            real = self._disk.real(cache.path)
            if cache.admits(real):
                return self._straight, real
        raise CacheMissingError(cache.path)

    def _enter(self, cache: CacheRef) -> Directory:
        if is_url(cache.path):
            raise UsageError(f"not on this machine: {cache.path}", hint="`context pull` gets a cache from a store")
        try:
            disk, path = self._reach(cache)
            return disk.enter(path)
        except PathMissingError:
            raise CacheMissingError(cache.path) from None


def _entries(opened: Directory, prefix: str = "") -> tuple[CacheEntry, ...]:
    """Return the directories in an open one."""
    return tuple(
        sorted(
            CacheEntry(shown(prefix + entry.name), _has_manifest(opened, entry.name))
            for entry in opened.entries()
            if entry.kind == "directory" and not entry.name.startswith(TEMPORARY_PREFIX)
        )
    )


def _has_manifest(opened: Directory, name: str) -> bool:
    """Return whether a cache has a manifest; if it was replaced after it was opened, the second query finds it."""
    for _ in range(2):
        with suppress(DiskError):
            if opened.look_below(name, MANIFEST).kind == "file":
                return True
    return False


def _name(cache: CacheRef) -> str:
    return shown(os.path.basename(cache.path.rstrip("/")))

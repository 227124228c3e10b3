"""The caches that are there, and what is known of each: the room's public module."""

import os.path
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from contexthall.caches.index.blocks import IndexDamagedError, IndexUnreadError
from contexthall.caches.index.postings import PostingsError
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import MANIFEST, scorer_in
from contexthall.caches.model.inspection import Inspection, inspect
from contexthall.caches.model.verification import violations
from contexthall.caches.query import section_explanation
from contexthall.caches.query.explanation import Explanation, RankingPage, explanation_of, page_of
from contexthall.caches.query.joined import JoinedReply as JoinedReply  # noqa: PLC0414 - for the command line
from contexthall.caches.query.joined import JoinedSection as JoinedSection  # noqa: PLC0414
from contexthall.caches.query.joined import joined_reply
from contexthall.caches.query.ranking import Query
from contexthall.caches.query.reader import OpenCache, open_postings, read_part
from contexthall.caches.query.resolution import Resolution
from contexthall.caches.query.scorers import SectionFormat
from contexthall.caches.query.section_explanation import SectionExplanation
from contexthall.caches.query.section_reader import OpenSections, open_cache, open_segments, sections_of
from contexthall.caches.query.section_reading import Outline, Reading
from contexthall.caches.query.section_reply import Question, ReplyFormat
from contexthall.caches.query.whole_documents import WholeDocuments
from contexthall.core import limits
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    InvalidBudgetError,
    InvalidQueryError,
    PathMissingError,
    UsageError,
)
from contexthall.core.paths import MayRead, absolute, shown
from contexthall.core.tokens import tokens
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.kernel import open_straight

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

LARGEST_BUDGET = 2**63 - 1
DEFAULT_BUDGET = 4_000


class CacheEntry(NamedTuple):
    """A directory that may be a cache."""

    path: str
    has_manifest: bool


class CacheRef(NamedTuple):
    """Where a cache is, and by whose authority it is opened."""

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
            before = self._identity(cache)
            try:
                return read(self, cache, *args, **options)
            except (CacheInvalidError, CacheMissingError, DiskError):
                if self._identity(cache) == before:
                    raise
        raise DiskError(f"{cache.path} is being replaced all the time", hint="try again")

    return retried


class Library:
    """The caches below one root, and those that a caller names by their path."""

    def __init__(
        self,
        disk: Disk,
        *,
        root: str,
        root_is_named: bool,
        working_directory: str,
        clock: Callable[[], int] = time.time_ns,
        is_home: Callable[[str], bool] = lambda _real: True,
    ) -> None:
        self.root = root
        self._disk = disk
        self._straight = disk.opened_by(open_straight)
        self._is_home = is_home
        self._root_is_named = root_is_named
        self._working_directory = working_directory
        self._clock = clock
        self._opened: dict[str, OpenCache | OpenSections] = {}

    def list_caches(self, root: str | None = None, *, may_read: MayRead = anyone) -> tuple[CacheEntry, ...]:
        """Return the directories in `root` by absolute path, or those in the library's own root by name."""
        if root is None:
            return self._own_entries()
        directory = self._foreign_root(root, may_read)
        with self._enter(directory) as opened:
            return _entries(opened, os.path.join(directory.path, ""))

    def locate(self, cache: str, *, may_read: MayRead = anyone) -> CacheRef:
        """Return the cache that a caller means by `cache`: a name below the root, or an absolute path."""
        if cache.startswith("/"):
            return CacheRef(cache, lambda real: may_read(real, self.root))
        names = [name for name in cache.split("/") if name not in {"", "."}]
        if not names or ".." in names:
            raise CacheMissingError(cache)
        return CacheRef(os.path.join(self.root, *names), self._is_own)

    def find(self, path: str) -> CacheRef:
        """Return the cache that a person means by `path`: one in the working directory, else below the root."""
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
    def resolve(self, cache: CacheRef, query: str, budget: int, reply: ReplyFormat = "json") -> Resolution:
        """Return the documents or sections that answer a query within a budget."""
        asked = self._asked(query, budget)
        opened = self._open(cache)
        if isinstance(opened, OpenSections):
            question = self._question(cache, opened, query, budget, reply)
            return opened.ask(lambda sections: sections.resolve(question)).resolution()
        ranking = opened.rank(asked)
        return Resolution.of(ranking, map(opened.documents().read, ranking.listed))

    def ask(self, caches: Sequence[CacheRef], query: str, budget: int = DEFAULT_BUDGET) -> JoinedReply:
        """Return the sections of several caches, of either format, that answer a query, as if they were one."""
        self._asked(query, budget)
        opened = [self._open(cache) for cache in caches]
        names = [shown(os.path.basename(cache.path.rstrip("/"))) for cache in caches]
        question = Question(query, budget, "text")
        try:
            return joined_reply(names, [sections_of(each) for each in opened], question)
        except IndexDamagedError:
            return joined_reply(names, [sections_of(each, again=True) for each in opened], question)

    @_retried_if_replaced
    def explain(self, cache: CacheRef, query: str, budget: int, document_id: str) -> Explanation | SectionExplanation:
        """Return where a document stands in a query's order, and why."""
        asked = self._asked(query, budget, slice(0, 0))
        opened = self._open(cache)
        if isinstance(opened, OpenSections):
            question = self._question(cache, opened, query, budget)
            return opened.ask(lambda sections: section_explanation.explain(sections, question, document_id))
        number, document = _find(opened, document_id)
        return explanation_of(opened.rank(asked), number, document)

    @_retried_if_replaced
    def places(self, cache: CacheRef, query: str, budget: int, offset: int, limit: int) -> RankingPage:
        """Return at most `limit` places of a query's order, the skipped documents among them, from `offset` on."""
        asked = self._asked(query, budget, slice(offset, offset + limit))
        opened = self._open(cache)
        if isinstance(opened, OpenSections):
            question, page = self._question(cache, opened, query, budget), slice(offset, offset + limit)
            return opened.ask(lambda sections: section_explanation.places_of(sections, question, page))
        return page_of(opened.rank(asked))

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
    ) -> Reading:
        """Return a section with its neighbours, or a page from the section `start` on, as far as the budget goes."""
        self._asked(document_id, budget)
        opened = self._open(cache)
        question = self._question(cache, opened, document_id, budget, reply)
        if isinstance(opened, OpenSections):
            return opened.ask(lambda sections: sections.read(question, neighbours, start))
        return _whole(opened).read(question, neighbours, start)

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
    ) -> Outline:
        """Return the headings of pages, from the page `start` on, as far as the budget goes."""
        self._asked(under or "", budget)
        opened = self._open(cache)
        question = self._question(cache, opened, under or "", budget, reply)
        if isinstance(opened, OpenSections):
            return opened.ask(lambda sections: sections.outline(question, under, depth, start))
        return _whole(opened).outline(question, under, depth, start)

    @_retried_if_replaced
    def document(self, cache: CacheRef, document_id: str) -> SizedDocument:
        """Read one document."""
        _, document = _find(self._open(cache), document_id)
        return SizedDocument(document, tokens(document.content.encode()))

    @_retried_if_replaced
    def verify(self, cache: CacheRef, on_document: Callable[[], None] = lambda: None) -> tuple[str, ...]:
        """Return everything that is wrong with a cache; `on_document` is called for each document that was read."""
        with self._enter(cache) as opened:
            found = tuple(violations(opened, on_document))
            if found:
                self._check_current(cache, opened)
            return found

    @_retried_if_replaced
    def doubts(self, cache: CacheRef) -> str:
        """Return why queries do not believe the term index of a cache and read every document; empty if they do."""
        with self._enter(cache) as opened:
            manifest = read_part(opened, MANIFEST)
            try:
                if isinstance(scorer_in(manifest), SectionFormat):
                    open_segments(opened, manifest)
                else:
                    open_postings(opened, manifest).files()
            except (PostingsError, IndexDamagedError, IndexUnreadError) as error:
                return str(error)
            return ""

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

    def _question(
        self, cache: CacheRef, opened: OpenCache | OpenSections, query: str, budget: int, reply: ReplyFormat = "json"
    ) -> Question:
        name = shown(os.path.basename(cache.path.rstrip("/")))
        return Question(query, budget, reply, name, opened.version if reply == "text" else "")

    def _asked(self, query: str, budget: int, page: slice | None = None) -> Query:
        self.check_query(query)
        self.check_budget(budget)
        return Query(query, budget, page)

    def _open(self, cache: CacheRef) -> OpenCache | OpenSections:
        """Open a cache, or take it from the few that were opened last."""
        known = self._opened.get(cache.path)
        disk, path = self._reach(cache)
        opened = open_cache(disk, path, known, clock=self._clock)
        if opened is not known:
            self._opened.pop(cache.path, None)
            for oldest in list(self._opened)[: 1 - limits.OPEN_CACHES]:
                self._opened.pop(oldest, None)
            self._opened[cache.path] = opened
        return opened

    def _identity(self, cache: CacheRef) -> object:
        """Return what changes when a cache is replaced; None if nothing can be seen of it."""
        try:
            disk, path = self._reach(cache)
            # With its times: a file system may give the next directory the number of one that was removed.
            return disk.look(path).stamp
        except (CacheMissingError, DiskError):
            return None

    def _check_current(self, cache: CacheRef, opened: Directory) -> None:
        """Refuse what was read from a directory that is not the cache any more."""
        if self._identity(cache) != opened.status().stamp:
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


def _whole(cache: OpenCache) -> WholeDocuments:
    listed = {each.id: each for each in cache.listing().documents}
    return WholeDocuments(listed, cache.documents().read)


def _find(cache: OpenCache | OpenSections, document_id: str) -> tuple[int, Document]:
    """Read a document; return its number as well."""
    for number, listed in enumerate(cache.listing().documents):
        if listed.id == document_id:
            return number, cache.documents().read(listed)
    raise UsageError(f"the cache has no document {document_id}", hint="an id is a path in lower case")

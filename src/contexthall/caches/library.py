"""Which caches are there, and what is known of one? The room's public module."""

import os.path
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from operator import not_
from typing import NamedTuple, Self, TypeAlias, TypeVar

from contexthall.caches.index.postings import PostingsError
from contexthall.caches.model.document import Document
from contexthall.caches.model.format import MANIFEST
from contexthall.caches.model.inspection import Inspection, inspect
from contexthall.caches.model.verification import violations
from contexthall.caches.query.ranking import RankedDocument, Ranking
from contexthall.caches.query.reader import OpenCache, open_cache, open_postings, read_part
from contexthall.caches.query.selection import words
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    InvalidBudgetError,
    InvalidQueryError,
    PathMissingError,
    UsageError,
)
from contexthall.core.paths import absolute, shown
from contexthall.core.tokens import tokens
from contexthall.system.disk import TEMPORARY_PREFIX, Directory, Disk
from contexthall.system.kernel import open_straight

MayRead: TypeAlias = Callable[[str, str], bool]

Answer = TypeVar("Answer")

LARGEST_BUDGET = 2**63 - 1

_MOST_OPEN = 4
_MOST_SWAPS = 10


class CacheEntry(NamedTuple):
    """A directory that may be a cache."""

    path: str
    has_manifest: bool


class Confined(str):
    """A path that is judged whenever it is opened: `admits` says of where it then really is whether that may be."""

    __slots__ = ("admits",)

    def __new__(cls, path: str, _admits: Callable[[str], bool]) -> Self:
        return super().__new__(cls, path)

    def __init__(self, _path: str, admits: Callable[[str], bool]) -> None:
        self.admits = admits


class Explanation(NamedTuple):
    """Where a document stands in a query's order, how many stand there, and which of the query's terms it has."""

    place: RankedDocument
    considered: int
    matched_terms: tuple[str, ...]

    def sentences(self, budget: int) -> tuple[str, ...]:
        """Say it to a person."""
        terms, place = ", ".join(self.matched_terms) or "none of the query's terms", self.place
        return (
            f"{place.id} is number {place.rank} of {self.considered}.",
            f"It matches {terms}: {place.term_matches} of its {place.total_words} words.",
            _fate(place, budget),
        )


class Standings(NamedTuple):
    """A query's order as a person looks at it: some places of it, and what the budget made of the whole."""

    terms: tuple[str, ...]
    tokens_used: int
    considered: int
    selected: int
    total_tokens: int
    """What all documents of the cache cost together."""
    places: tuple[RankedDocument, ...]


class SizedDocument(NamedTuple):
    """A document, and what it costs."""

    document: Document
    tokens: int


def anyone(_path: str, _home: str) -> bool:
    """Let the caller name every path: the operating system decides."""
    return True


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
        self._opened: dict[str, OpenCache] = {}

    def list_caches(self, root: str | None = None, *, may_read: MayRead = anyone) -> tuple[CacheEntry, ...]:
        """List the directories in `root` by absolute path, or those in the library's own root by name."""
        if root is None:
            return self._own_entries()
        directory = self._foreign_root(root, may_read)
        with self._enter(directory) as opened:
            return _entries(opened, os.path.join(directory, ""))

    def locate(self, cache: str, *, may_read: MayRead = anyone) -> str:
        """Find the directory that a caller means by `cache`: a name below the root, or an absolute path."""
        admits: Callable[[str], bool]
        if cache.startswith("/"):
            path, admits = cache, partial(_admitted, may_read, self.root)
        else:
            names = [name for name in cache.split("/") if name not in {"", "."}]
            if not names or ".." in names:
                raise CacheMissingError(cache)
            path, admits = os.path.join(self.root, *names), self._is_own
        return Confined(path, admits)

    def find(self, path: str) -> str:
        """Find the directory that a person means by `path`: from the working directory, else below the root."""
        here = os.path.join(self._working_directory, path)
        if path and self._disk.is_there(here):
            return here
        below = self.locate(path)
        if self._disk.is_there(below):
            return below
        raise CacheMissingError(path)

    def inspect(self, directory: str) -> Inspection:
        """Say what the cache in `directory` holds, as far as its manifest and its file sizes tell."""
        # One that was replaced meanwhile may have lost files before they were counted, and still look valid.
        return self._reading(directory, lambda: inspect(self._enter(directory)), is_sound=lambda _: False)

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

    def resolve(self, directory: str, query: str, budget: int) -> str:
        """Answer a query: the text of `context.resolve`."""
        return self._with_ranking(directory, query, budget, lambda ranking, cache: ranking.text(cache.documents().read))

    def rank(self, directory: str, query: str, budget: int) -> Ranking:
        """Put the documents of a cache in a query's order, and see which fit."""
        return self._with_ranking(directory, query, budget, lambda ranking, _: ranking.settled())

    def explain(self, directory: str, query: str, budget: int, document_id: str) -> Explanation:
        """Say where a document stands in a query's order, and why."""
        return self._with_ranking(directory, query, budget, partial(_explain, document_id))

    def places(self, directory: str, query: str, budget: int, offset: int, limit: int) -> Standings:
        """Show at most `limit` places of a query's order, the skipped documents among them, from `offset` on."""
        return self._with_ranking(directory, query, budget, partial(_standings, offset, limit))

    def document(self, directory: str, document_id: str) -> SizedDocument:
        """Read one document."""
        return self._reading(directory, lambda: _find(self._open(directory), document_id))

    def verify(self, directory: str, on_document: Callable[[], None] = lambda: None) -> tuple[str, ...]:
        """Name everything that is wrong with a cache; `on_document` is called for each document that was read."""
        return self._reading(directory, lambda: tuple(violations(self._enter(directory), on_document)), is_sound=not_)

    def doubts(self, directory: str) -> str:
        """Say why queries do not believe the term index of a cache and read every document; empty if they do."""
        return self._reading(directory, lambda: _doubts(self._enter(directory)))

    def leftovers(self) -> tuple[str, ...]:
        """Name the caches below the root that somebody builds just now, or whose build was killed."""
        try:
            names = [entry.name for entry in self._disk.list(self.root) if entry.kind == "directory"]
        except PathMissingError:
            return ()
        return tuple(name.removeprefix(TEMPORARY_PREFIX) for name in names if name.startswith(TEMPORARY_PREFIX))

    def _with_ranking(
        self, directory: str, query: str, budget: int, work: Callable[[Ranking, OpenCache], Answer]
    ) -> Answer:
        self.check_query(query)
        self.check_budget(budget)
        terms = words(query)

        def answer(cache: OpenCache) -> Answer:
            return cache.answer(terms, lambda table, listed: work(Ranking(query, terms, budget, table, listed), cache))

        return self._reading(directory, lambda: answer(self._open(directory)))

    def _reading(
        self, directory: str, read: Callable[[], Answer], *, is_sound: Callable[[Answer], bool] = lambda _: True
    ) -> Answer:
        """Read a cache; if that goes wrong and another took its place meanwhile, read that one."""
        for _ in range(_MOST_SWAPS):
            before = self._identity(directory)
            try:
                answer = read()
            except (CacheInvalidError, CacheMissingError, DiskError):
                if self._identity(directory) == before:
                    raise
            else:
                if is_sound(answer) or self._identity(directory) == before:
                    return answer
        raise DiskError(f"{directory} is being replaced all the time", hint="try again")

    def _open(self, directory: str) -> OpenCache:
        """Open a cache, or take it from the few that were opened last."""
        known = self._opened.get(directory)
        disk, path = self._reach(directory)
        cache = open_cache(disk, path, known, clock=self._clock)
        if cache is not known:
            self._opened.pop(directory, None)
            for oldest in list(self._opened)[: 1 - _MOST_OPEN]:
                self._opened.pop(oldest, None)
            self._opened[directory] = cache
        return cache

    def _identity(self, directory: str) -> object:
        try:
            disk, path = self._reach(directory)
            # With its times: a file system may give the next directory the number of one that was removed.
            return disk.look(path).stamp
        except (CacheMissingError, PathMissingError):
            return None

    def _own_entries(self) -> tuple[CacheEntry, ...]:
        try:
            disk, path = self._reach(Confined(self.root, self._is_home))
            with disk.enter(path) as opened:
                return _entries(opened)
        except CacheMissingError:
            raise DiskError(f"{self.root} leads out of the project", hint="name it with --cache-root") from None
        except PathMissingError:
            if self._root_is_named or self._disk.is_there(self.root):
                raise
            return ()

    def _foreign_root(self, root: str, may_read: MayRead) -> str:
        directory = absolute(root, self._working_directory)
        try:
            if root and may_read(directory, self.root) and self._disk.is_there(directory):
                return Confined(directory, partial(_admitted, may_read, self.root))
        except PathMissingError:
            pass
        raise CacheMissingError(root)

    def _is_own(self, real: str) -> bool:
        """Say whether what is really there lies below the library's own root."""
        home = self._disk.real(self.root)
        return self._is_home(home) and f"{real}/".startswith(home.rstrip("/") + "/")

    def _reach(self, directory: str) -> tuple[Disk, str]:
        """Say on which disk and by which path to open a directory: no symlink that was not judged is followed."""
        if not isinstance(directory, Confined):
            return self._disk, directory
        with suppress(PathMissingError):  # what cannot be a path at all is nowhere
            real = self._disk.real(directory)
            if directory.admits(real):
                return self._straight, real
        raise CacheMissingError(directory)

    def _enter(self, directory: str) -> Directory:
        try:
            disk, path = self._reach(directory)
            return disk.enter(path)
        except PathMissingError:
            raise CacheMissingError(directory) from None


def _admitted(may_read: MayRead, home: str, real: str) -> bool:
    return may_read(real, home)


def _entries(opened: Directory, prefix: str = "") -> tuple[CacheEntry, ...]:
    """List the directories in an open one."""
    return tuple(
        sorted(
            CacheEntry(shown(prefix + entry.name), _has_manifest(opened, entry.name))
            for entry in opened.entries()
            if entry.kind == "directory" and not entry.name.startswith(TEMPORARY_PREFIX)
        )
    )


def _has_manifest(opened: Directory, name: str) -> bool:
    """Say whether a cache has a manifest; if it was replaced after it was opened, a second look finds the new one."""
    return _shows_manifest(opened, name) or _shows_manifest(opened, name)


def _shows_manifest(opened: Directory, name: str) -> bool:
    try:
        return opened.look_below(name, MANIFEST).kind == "file"
    except DiskError:
        return False


def _doubts(cache: Directory) -> str:
    try:
        open_postings(cache, read_part(cache, MANIFEST)).files()
    except PostingsError as error:
        return str(error)
    return ""


def _explain(document_id: str, ranking: Ranking, cache: OpenCache) -> Explanation:
    document, _ = _find(cache, document_id)
    places = list(ranking.places())
    place = next(place for place in places if place.id == document_id)
    found = set(words(document.content))
    return Explanation(place, len(places), tuple(term for term in dict.fromkeys(ranking.terms) if term in found))


def _fate(place: RankedDocument, budget: int) -> str:
    """Say what became of a document."""
    if place.fits:
        return f"It was taken: its {place.tokens} tokens fit into the {place.left_before} that were left."
    if not budget:
        return "The budget kept it out: with a budget of 0 nothing is taken."
    if place.tokens > budget:
        return f"The budget kept it out: it costs {place.tokens} tokens, and the whole budget is {budget}."
    left = f"it costs {place.tokens} tokens, and {place.left_before} of {budget} were left"
    return f"What ranks before it used the budget up: {left}."


def _standings(offset: int, limit: int, ranking: Ranking, _cache: OpenCache) -> Standings:
    return Standings(
        tuple(ranking.terms),
        ranking.tokens_used,
        ranking.considered,
        len(ranking.selected),
        ranking.total_tokens,
        tuple(islice(ranking.places(), offset, offset + limit)),
    )


def _find(cache: OpenCache, document_id: str) -> SizedDocument:
    listed = next((each for each in cache.listed() if each.id == document_id), None)
    if listed is None:
        raise UsageError(f"the cache has no document {document_id}", hint="an id is a path in lower case")
    document = cache.documents().read(listed)
    return SizedDocument(document, tokens(document.content.encode()))

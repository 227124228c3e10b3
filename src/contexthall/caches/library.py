"""What the caches answer, and what is known of each: the room's public module."""

import os.path
import time
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from itertools import compress
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from contexthall.caches.cache_root import CacheEntry as CacheEntry  # noqa: PLC0414 - for the faces
from contexthall.caches.cache_root import CacheRef as CacheRef  # noqa: PLC0414
from contexthall.caches.cache_root import CacheRoot
from contexthall.caches.model.document import Document, identify
from contexthall.caches.model.format import MANIFEST, SOURCES
from contexthall.caches.model.inspection import Inspection, inspect
from contexthall.caches.query.cache_files import read_part
from contexthall.caches.query.opening import AnyCache, index_doubts, model_in, open_cache
from contexthall.caches.query.question import UNKNOWN, Question, SourcesState
from contexthall.caches.query.question import ReplyFormat as ReplyFormat  # noqa: PLC0414 - for the faces
from contexthall.caches.source_judges import SourceJudges
from contexthall.core import limits
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    DocumentMissingError,
    InvalidBudgetError,
    InvalidQueryError,
)
from contexthall.core.paths import native, shown
from contexthall.core.store_url import is_url
from contexthall.core.tokens import LARGEST_BUDGET, tokens
from contexthall.system.disk import Directory, Disk

if TYPE_CHECKING:
    from contexthall.caches.build.builder import Refreshed as Refreshed  # noqa: PLC0414 - for the command line
    from contexthall.caches.build.changes import SourceChanges as SourceChanges  # noqa: PLC0414
    from contexthall.caches.build.document_folders import DocumentFolder as DocumentFolder  # noqa: PLC0414 - as above
    from contexthall.caches.freshness import SourcesLook
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
    from contexthall.system.cluster import Holders

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

DEFAULT_BUDGET = 4_000


def is_markdown(page: str) -> bool:
    """Return whether the text of a page is Markdown, or was converted to it."""
    from contexthall.caches.model.headings import MARKDOWN  # noqa: PLC0415 - for people only

    return os.path.splitext(page)[1].lower() in MARKDOWN


class SizedDocument(NamedTuple):
    """A document, and what it costs."""

    document: Document
    tokens: int


def _retried_if_replaced(
    read: Callable[Concatenate["Library", CacheRef, Arguments], Answer],
) -> Callable[Concatenate["Library", CacheRef, Arguments], Answer]:
    """Return `read`, retried where it fails and the cache was replaced meanwhile."""

    @wraps(read)
    def retried(self: "Library", cache: CacheRef, /, *args: Arguments.args, **options: Arguments.kwargs) -> Answer:
        for _ in range(limits.CACHE_SWAPS):
            judged = self._judged(cache)
            before = self.identity(judged)
            try:
                return read(self, judged, *args, **options)
            except (CacheInvalidError, CacheMissingError, DiskError):
                if self.identity(cache) == before:
                    raise
        raise DiskError(f"{cache.path} is being replaced all the time", hint="try again")

    return retried


class Library(CacheRoot):
    """The caches below one root, and those that a caller names by their path: what each answers."""

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
        holders: "Holders | None" = None,
    ) -> None:
        super().__init__(
            disk, root=root, root_is_named=root_is_named, working_directory=working_directory, is_home=is_home
        )
        self._open_stores = open_stores
        self._holders = holders
        self._clock = clock
        self._opened: dict[str, AnyCache] = {}
        self._judges = SourceJudges(disk, may_judge)
        self._reports: PacedReports | None = None

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
        return opened.resolve(question._replace(freshness=self._judges.freshness(opened)))

    def ask(self, caches: Sequence[CacheRef], query: str, budget: int = DEFAULT_BUDGET) -> "JoinedReply":
        """Return the sections of several caches, of either format, that answer a query, as if they were one."""
        from contexthall.caches.query.joined import ask_all  # noqa: PLC0415 - 15 ms, which only this needs

        self._check(query, budget)
        opened = {cache: self._open(cache) for cache in caches}
        names = [_name(cache) for cache in opened]
        reply = ask_all(names, list(opened.values()), Question(query, budget, "text"))
        states = [self._judges.freshness(each).state for each in opened.values()]
        stale = tuple(name for name, state in zip(names, states, strict=True) if state == "stale")
        in_vain = map(self._judges.has_looked_in_vain, opened.values())
        return reply._replace(stale=stale, unknown=tuple(compress(names, in_vain)))

    @_retried_if_replaced
    def explain(
        self, cache: CacheRef, query: str, budget: int, document_id: str, reply: ReplyFormat = "json"
    ) -> "Explanation | SectionExplanation":
        """Return where a document or section stands in a query's order, and why."""
        opened, question = self._ask(cache, query, budget, reply)
        return _in_any_case(lambda wanted: opened.explain(question, wanted), document_id)

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
        return _in_any_case(lambda wanted: opened.read(question._replace(query=wanted), neighbours, start), document_id)

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
        return _in_any_case(
            lambda wanted: opened.outline(question._replace(query=wanted), under and wanted, depth, start), under or ""
        )

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
        if is_url(cache.path):
            return ""  # from a store, queries never read every document
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
        opened = self._open(cache)
        return self._judges.of(opened).changes() if opened.has_sources else None

    def look_at_sources(self, cache: CacheRef, may_watch: Callable[[str], bool]) -> "SourcesLook | None":
        """Return whether the sources of a cache are fresh, and where to watch them; None if it records none."""
        if not self._disk.is_there(os.path.join(cache.path, SOURCES)):
            return None
        # One that agents ask is opened for them, too, if it was replaced; others are not kept open.
        opened = self._open(cache) if cache.path in self._opened else open_cache(*self._reach(cache))
        return self._judges.look(opened, may_watch, is_kept=opened is self._opened.get(cache.path))

    def last_verdict(self, cache: CacheRef) -> SourcesState:
        """Return what the last answer from a cache that is open said of its sources."""
        opened = self._opened.get(cache.path)
        return UNKNOWN if opened is None else self._judges.last_verdict(opened)

    @_retried_if_replaced
    def report(self, cache: CacheRef) -> "CacheReport":
        """Return what a cache says of itself, and what became of its sources; for people of this machine."""
        from contexthall.caches.report import report_on  # noqa: PLC0415 - 40 ms, as it reads sources

        with self._enter(cache) as opened:
            return report_on(self._disk, opened, self._judges.may_read)

    def reports(self, root: str | None = None) -> "dict[str, CacheReport]":
        """Return a report on everything that `list_caches` lists, by its path; a cache that fails hides no other.

        Whoever asks again at once gets the last ones.
        """
        if not (entries := self.list_caches(root)):
            return {}
        from contexthall.caches.report import PacedReports  # noqa: PLC0415 - as above

        self._reports = self._reports or PacedReports()
        return self._reports.update(entries, lambda path: self.report(self.locate(native(path))))

    def _ask(self, cache: CacheRef, query: str, budget: int, reply: ReplyFormat = "json") -> tuple[AnyCache, Question]:
        """Return a cache, opened, and what is asked of it."""
        self._check(query, budget)
        opened = self._open(cache)
        version = opened.version if reply == "text" else ""
        return opened, Question(query, budget, reply, _name(cache), version, model=opened.model)

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
            opened = open_cache(disk, path, known, clock=self._clock, holders=self._holders)
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

    def store_traffic(self) -> tuple[int, int]:
        """Return how many requests went to object stores, and how many bytes came; nothing is loaded for that."""
        return self.stores.traffic() if "stores" in self.__dict__ else (0, 0)

    def open_directory(self, cache: CacheRef) -> Directory:
        """Open the directory of a cache, which must be on this machine."""
        return self._enter(cache)

    def _check_current(self, cache: CacheRef, opened: Directory) -> None:
        """Refuse what was read from a directory that is not the cache any more."""
        if self.identity(cache) != opened.status().stamp:
            raise CacheMissingError(f"{cache.path} was replaced meanwhile")


def _in_any_case(answer: Callable[[str], Answer], wanted: str) -> Answer:
    """Return the answer about an id, which is in lower case, however it is spelt."""
    try:
        return answer(wanted)
    except DocumentMissingError:
        if (lower := identify(wanted)) == wanted:
            raise
    return answer(lower)


def _name(cache: CacheRef) -> str:
    return shown(os.path.basename(cache.path.rstrip("/")))

"""How is the hall put together? The only module that builds real objects.

A room is imported when it is opened: a command that needs one room does not pay for the others.
"""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from contexthall.authority import Authority
from contexthall.config.settings import Settings
from contexthall.config.settings_files import Source, load_despite_faults, load_settings
from contexthall.core.errors import UsageError
from contexthall.core.paths import absolute
from contexthall.core.profile import EVERYTHING, Profile
from contexthall.core.store_url import is_url, parse_url
from contexthall.core.timestamp import created_at
from contexthall.system.disk import Disk
from contexthall.system.machine import Machine

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from threading import Event

    from contexthall.caches.build.builder import Built, CacheBuilder, Progress, Refreshed
    from contexthall.caches.build.document_folders import DocumentFolder
    from contexthall.caches.library import CacheRef, Library
    from contexthall.caches.query.resolution import Resolution
    from contexthall.caches.refresh_rules import CacheStateChange, RefreshResult
    from contexthall.caches.store.publishing import Published
    from contexthall.caches.store.stores import Stores
    from contexthall.clients.register import ImportedServer, Register
    from contexthall.contexts.draft.drafting import DraftProgress
    from contexthall.contexts.files.note import Noted
    from contexthall.contexts.files.rehashing import Rehashed
    from contexthall.contexts.project import (
        Brief,
        ChangedReport,
        Context,
        ContextEntry,
        Outcome,
        Project,
        Projects,
        Report,
        StateChange,
    )
    from contexthall.core.activity import Activity
    from contexthall.core.catalog import Caller, Capability, Catalog, JsonObject, ToolResult
    from contexthall.guild.blocking import GuildAtWork
    from contexthall.guild.lists.memory import Memory
    from contexthall.guild.manager import GuildWatch, Handle, MCPManager, Member, MemberView, Trial
    from contexthall.guild.members.manifest import Launch
    from contexthall.guild.servers.connector import Connector
    from contexthall.system.cluster import Cluster, Holders
    from contexthall.system.journal import Journal, JournalMode
    from contexthall.system.undo_journal import UndoJournal

AnyPath: TypeAlias = str | os.PathLike[str]


class GuildChoice(NamedTuple):
    """What was chosen about the guild; None where nothing was."""

    guild: str | None = None
    """The directory of its members, which are executed: no guild is found by itself."""
    guild_refresh: str | None = None
    guild_budget: int | None = None
    guild_trust: str | None = None
    guild_pin: Sequence[str] | None = None


def open_hall(  # noqa: PLR0913 - one for each thing that can be chosen
    path: AnyPath | None = None,
    *,
    cache_root: AnyPath | None = None,
    toolsets: str | Sequence[str] | None = None,
    confine: bool | None = None,
    allow_root: AnyPath | Sequence[AnyPath] | None = None,
    reply: str | None = None,
    refresh_caches: str | None = None,
    guild: GuildChoice | AnyPath | None = None,
    cluster: str | None = None,
    disk: Disk | None = None,
) -> "Hall":
    """Open the hall of the project at `path`, by default the working directory.

    What is not given comes from the environment, the project's or the user's `contexthall.toml`, or the defaults. There
    is no guild unless somebody names the directory of its members, because they are executed. `cluster` is the URL of
    a Dask scheduler, whose workers build caches and answer from them; it comes from nowhere else.
    """
    disk = disk or Disk()
    choice = guild if isinstance(guild, GuildChoice) else GuildChoice(_as_text(guild))
    allowed = [allow_root] if isinstance(allow_root, str | os.PathLike) else allow_root
    roots = None if allowed is None else [os.fspath(root) for root in allowed]
    given = {"cache_root": _as_text(cache_root), "toolsets": toolsets, "confine": confine, "allow_root": roots}
    given |= {"reply": reply, "refresh_caches": refresh_caches, **choice._asdict()}
    flags = {key: value for key, value in given.items() if value is not None}
    return Hall(load_settings(_as_text(path), flags, os.environ, disk), disk, _connected(cluster))


def _connected(url: str | None) -> "Cluster | None":
    if url is None:
        return None
    from contexthall.system.cluster import Cluster

    return Cluster(url)


def _as_text(path: AnyPath | None) -> str | None:
    return None if path is None else os.fspath(path)


def open_despite_faults(
    path: str | None, flags: Mapping[str, object], disk: Disk | None = None
) -> "tuple[Hall, tuple[Source, ...]]":
    """Open the hall without the settings that cannot be used, and say how each source of settings is."""
    disk = disk or Disk()
    settings, sources = load_despite_faults(path, flags, os.environ, disk)
    return Hall(settings, disk), sources


class _LateConnector:
    """Starts servers; what that takes is loaded with the first one."""

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    async def spawn(self, member: "Member") -> "Handle":
        return await self._connector.spawn(member)

    def redacted(self, text: str) -> str:
        """Return a text without the values that members were given."""
        return self._connector.redacted(text) if "_connector" in vars(self) else text

    @cached_property
    def _connector(self) -> "Connector":
        from contexthall import __version__
        from contexthall.guild.servers.connector import Connector

        return Connector(version=__version__, environment=os.environ, log_of=self._memory.log_of)


class Hall:
    """The rooms of one hall, each opened on first use. From Python, `resolve`, `query` and `invoke` ask them."""

    def __init__(self, settings: Settings, disk: Disk, cluster: "Cluster | None" = None) -> None:
        self.settings = settings
        self._disk = disk
        self._cluster = cluster
        self._authority = Authority(settings, disk)
        self._views: dict[str, Catalog] = {}
        """What agents of each profile see, once some do."""

    def resolve(self, cache: AnyPath, query: str, *, budget: int = 4_000) -> "Resolution":
        """Return the documents or sections of a cache that answer a query, best first, within a budget of tokens.

        `cache` is a name below the cache root, or an absolute path. The answer is that of the tool `context.resolve`.
        """
        return self.caches.resolve(
            self.caches.locate(os.fspath(cache), may_read=self._authority.may_read), query, budget
        )

    def query(self, scope: str = ".") -> "Context":
        """Tell what is known of a directory of the project, and whether it is still true.

        `scope` is a path from the project root. The answer is that of the tool `query_context`, with freshness.
        """
        return self.project.query(scope)

    def brief(self, path: str = ".", budget: int = 2000) -> "Brief":
        """Tell what people want known before somebody works on a file or directory of the project.

        `path` is a path from the project root. The answer is that of the tool `context.brief`.
        """
        return self.project.brief(path, budget)

    def invoke(self, member: str, tool: str, arguments: "JsonObject | None" = None) -> "ToolResult":
        """Call a tool of a member of the guild, whose server is started for this call and then stopped."""
        with self.guild_at_work() as guild:
            return guild.invoke(member, tool, arguments)

    def guild_at_work(self) -> "AbstractContextManager[GuildAtWork]":
        """Call tools of the guild without starting a server for every call; at the end all are stopped."""
        from contexthall.guild.blocking import start_sync

        return start_sync(self._open_guild(_LateConnector(self._guild_memory)))

    @cached_property
    def caches(self) -> "Library":
        from contexthall.caches.library import Library

        settings = self.settings
        return Library(
            self._disk,
            root=settings.cache_root,
            root_is_named=settings.cache_root_is_named,
            working_directory=settings.working_directory,
            clock=time.time_ns,
            is_home=self._authority.may_hold_caches,
            may_judge=partial(self._authority.may_read, home=settings.project_root),
            open_stores=self._open_stores,
            holders=self._shard_holders,
        )

    @cached_property
    def _shard_holders(self) -> "Holders | None":
        if self._cluster is None:
            return None
        from contexthall.caches.cluster.shard_holder import ShardHolder
        from contexthall.system.cluster import Holders

        return Holders(self._cluster, ShardHolder)

    def close(self) -> None:
        """Leave the cluster, if there is one; the next question connects again."""
        if self._cluster is not None:
            self._cluster.close()

    @contextmanager
    def local_cluster(self, workers: int, port: int) -> Iterator[str]:
        """Start a scheduler and workers on this machine, for as long as they are needed; their URL is yielded."""
        from contexthall.system.cluster import local_cluster

        with self.caches.stores.working_directory() as folder, local_cluster(workers, port, folder.path) as url:
            yield url

    def store_traffic(self) -> tuple[int, int]:
        """Return how many requests went to object stores, and how many bytes came."""
        return self.caches.store_traffic()

    def _open_stores(self) -> "Stores":
        from contexthall.caches.store.stores import Stores

        return Stores(self._disk, os.environ, self.settings.user_cache, holders=self._shard_holders)

    @cached_property
    def contexts(self) -> "Projects":
        return self._open_contexts(self.settings.user_cache)

    def _open_contexts(self, user_cache: str) -> "Projects":
        from contexthall.contexts.freshness.late_code import CODE
        from contexthall.contexts.project import Projects

        return Projects(
            self._disk,
            home=self.settings.project_root,
            working_directory=self.settings.working_directory,
            memory=os.path.join(user_cache, "contexts") if user_cache else "",
            clock=time.time_ns,
            code=CODE,
        )

    @cached_property
    def guild(self) -> "MCPManager":
        """The guild, its roster loaded; nothing runs yet."""
        return self._open_guild(self._connector)

    def _open_guild(self, connector: _LateConnector) -> "MCPManager":
        from contexthall.guild.manager import MCPManager

        disk, memory, members = self._disk, self._guild_memory, self._guild_watch.discover()
        hold = self.settings.guild_trust == "hold"
        manager = MCPManager(members, connector, disk=disk, memory=memory, hold=hold)
        manager.load_roster()
        return manager

    @cached_property
    def _connector(self) -> _LateConnector:
        return _LateConnector(self._guild_memory)

    @cached_property
    def _guild_memory(self) -> "Memory":
        from contexthall.guild.lists.memory import Memory

        state = self.settings.user_state
        return Memory(self._disk, os.path.join(state, "guild") if state else "")

    @property
    def _guild_watch(self) -> "GuildWatch":
        from contexthall.guild.manager import GuildWatch
        from contexthall.guild.members.enrolment import existing_guild

        return GuildWatch(self._disk, existing_guild(self._disk, self.settings.guild), self._guild_memory.knows)

    @cached_property
    def machine(self) -> Machine:
        """What this user finds on this machine."""
        return Machine(self._disk, os.environ)

    @cached_property
    def clients(self) -> "Register":
        """The agents of this machine, as far as their files show them."""
        from contexthall.clients.register import Register

        settings = self.settings
        return Register(
            self._disk,
            project_root=settings.project_root,
            environment=os.environ,
            platform=sys.platform,
            backups=os.path.join(settings.user_state, "backups") if settings.user_state else "",
        )

    def running(self, *, refresh: bool = False) -> "AbstractAsyncContextManager[None]":
        """While this is entered, servers of the guild may run; at the end none does."""
        if not self.has_guild:
            return nullcontext()
        if not refresh:
            return self.guild.running()
        return self.guild.running(self.settings.guild_refresh, self.catalog.listed, self._guild_watch)

    def keep_secret(self, name: str, value: str) -> None:
        """Keep a secret in the user's keyring, for members whose manifests name it."""
        from contexthall.system.keyring import write_secret

        write_secret(name, value)

    @property
    def journal_directory(self) -> str:
        """Where the journals of all halls of this user are; empty if nowhere."""
        state = self.settings.user_state
        return os.path.join(state, "activity") if state else ""

    @contextmanager
    def journalling(self, mode: "JournalMode") -> Iterator[None]:
        """While this is entered, keep a record of the calls of agents."""
        from contexthall.system.journal import Journal

        journal = Journal(self._disk, self.journal_directory, mode, redact=self._redacted)
        self._keep_journal(journal)
        try:
            yield
        finally:
            self._keep_journal(None)
            journal.close()

    def _redacted(self, text: str) -> str:
        return self._connector.redacted(text) if self.has_guild else text

    def _keep_journal(self, journal: "Journal | None") -> None:
        for catalog in (self.catalog, *self._views.values()):
            catalog.journal = journal

    def activity(self, most: int) -> "tuple[list[Activity], int]":
        """Return the last calls of agents, and the number of lines of the journal that could not be read."""
        from contexthall.system.journal import read_journal

        return read_journal(self._disk, self.journal_directory, most) if self.journal_directory else ([], 0)

    @property
    def has_guild(self) -> bool:
        """Whether there is a guild, and it is among what the hall offers."""
        return bool(self.settings.guild) and "guild" in self.settings.toolsets

    def check_guild(self) -> None:
        """Refuse a guild that is named and not there: nothing could be served with it."""
        if self.has_guild:
            from contexthall.guild.members.enrolment import existing_guild

            existing_guild(self._disk, self.settings.guild)

    @property
    def project(self) -> "Project":
        """The project whose contexts are the hall's own."""
        return self.contexts.at(self.settings.project_root)

    @cached_property
    def catalog(self) -> "Catalog":
        """The tools of the chosen toolsets that have any."""
        from contexthall.core.catalog import Catalog

        return Catalog(self._capabilities(EVERYTHING))

    def catalog_of(self, profile: str | None) -> "Catalog":
        """Return the tools that a profile of the user's shows, or all if none is named.

        UsageError if there is no such profile, or nothing in it.
        """
        if profile is None:
            return self.catalog
        chosen = self.profile(profile)
        # Kept even if nothing is in it now, because it listens to the guild, in which somebody may be later.
        view = self._views[profile] = self._views.get(profile) or self._view(chosen)
        self._check_offers(chosen, view)
        return view

    def _view(self, profile: Profile) -> "Catalog":
        from contexthall.core.catalog import Catalog

        view = Catalog(self._capabilities(profile))
        view.journal = self.catalog.journal
        view.listed.subscribe(self.catalog.listed.send)
        return view

    def profile(self, name: str | None) -> Profile:
        """Return a profile of the user's; if none is named, everything is in it."""
        if name is None:
            return EVERYTHING
        profiles = self.settings.profiles
        if name not in profiles:
            known = ", ".join(profiles)
            hint = f"yours are {known}" if known else "a profile is a table [profiles.NAME] in your own settings"
            raise UsageError(f"there is no profile {name!r}", hint=hint).about(name, profiles)
        return profiles[name]

    def offered_members(self, profile: str | None) -> "list[MemberView]":
        """Return the members that a profile shows, each with those of its tools that are in it."""
        chosen, names = self.profile(profile), self.guild.listed_names()
        members = [each for each in self.guild.snapshot() if chosen.has_member(each.name)]
        for each in members:
            each.tools = [tool for tool in each.tools if chosen.has_tool(names[each.name, tool["name"]])]
        return members

    def _check_offers(self, profile: Profile, view: "Catalog") -> None:
        """Refuse a profile that names nobody; a member that has no list yet may have any tool."""
        roster = self.guild.roster if self.has_guild and profile.has_toolset("guild") else {}
        members = [each for each in roster.values() if profile.has_member(each.name)]
        if profile.members and roster and not members:
            patterns = ", ".join(profile.members)
            raise UsageError(
                f"the profile {profile.name!r} names no member of the guild: {patterns}",
                hint=f"the guild has {', '.join(roster)}",
            ).about(profile.members[0], roster)
        if not view.tools and not any(each.freshness.state == "missing" for each in members):
            raise UsageError(
                f"no tool is in the profile {profile.name!r}", hint="`context tools` shows those that could be"
            )

    def _capabilities(self, profile: Profile) -> "Iterator[Capability]":
        for name in self.settings.toolsets:
            if name == "caches":
                from contexthall.caches.capability import caches_capability

                yield caches_capability(self.caches, self.settings.reply).within(profile)
            elif name == "contexts":
                from contexthall.contexts.capability import contexts_capability

                yield contexts_capability(lambda: self.contexts, self.settings.reply).within(profile)
            elif name == "guild" and self.has_guild:
                from contexthall.guild.capability import guild_capability

                yield guild_capability(self.guild, self.settings.guild_budget, self.settings.guild_pins, profile)

    @cached_property
    def caller(self) -> "Caller":
        """The authority of whoever speaks over standard input and output, or types a command."""
        from contexthall.core.catalog import Caller

        return Caller(may_read=self._authority.may_read)

    @cached_property
    def confined_caller(self) -> "Caller":
        """The authority of whoever speaks over HTTP: the hall's own roots, and those that were allowed."""
        from contexthall.core.catalog import Caller

        return Caller(may_read=self._authority.is_in_roots)

    def build_cache(  # noqa: PLR0913 - one for each thing that can be chosen
        self,
        sources: str | Sequence[str],
        cache: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        everything: bool = False,
        strict: bool = False,
        force: bool = False,
        packages: bool = False,
        python: str | None = None,
        all_packages: bool = False,
        format: int = 2,  # noqa: A002 - as the option has it
        embedder: str | None = None,
        shards: int = 1,
        progress: "Progress | None" = None,
    ) -> "Built":
        """Compile the documents below `sources` into a cache; both are paths from the working directory.

        `cache` may also be the URL of one in a store: it is built here, and then put there.
        `sources` is a folder, or several, of which all but one have a name: `["docs", "api=docs-of-the-api"]`. With
        `packages`, the documentation of the installed packages that the project asks for is taken too. `embedder` is
        the id of one that is installed, which is run to compare sections by meaning too. Both are for format 2,
        and so are `shards`: the parts that the cache has on the disk, which give the answers of one.
        """
        from contexthall.caches.build.package_sources import choose_packages
        from contexthall.caches.build.selection import Choice

        builder, chosen = self._cache_builder(format, embedder, shards, self._cluster), None
        if packages or python is not None or all_packages:
            named = None if python is None else absolute(python, self.settings.working_directory)
            root = self.settings.project_root
            chosen = choose_packages(self._disk, root, named, os.environ, everything=all_packages)
        choice = Choice(tuple(include), tuple(exclude), everything)
        build = partial(builder.build, sources, choice=choice, strict=strict, packages=chosen, progress=progress)
        if is_url(cache):
            return self._build_in_store(build, parse_url(cache), force=force)
        return build(cache, force=force)

    def _build_in_store(self, build: "Callable[[str], Built]", url: str, *, force: bool) -> "Built":
        self.caches.stores.check_target(url, force=force)
        with self.caches.stores.working_directory() as folder:
            built = build(os.path.join(folder.path, "cache"))
            with folder.enter("cache") as cache:
                self.caches.stores.push(cache, url, force=force, progress=lambda _done, _total: None)
        return built

    def push_cache(
        self, cache: str, url: str, *, force: bool = False, progress: "Progress | None" = None
    ) -> "Published":
        """Put a cache of this machine into a store, so that it can be asked by its URL."""
        with self.caches.open_directory(self.caches.find(cache)) as directory:
            return self.caches.stores.push(directory, parse_url(url), force=force, progress=progress or _untold)

    def pull_cache(
        self, url: str, cache: str, *, force: bool = False, progress: "Progress | None" = None
    ) -> "Published":
        """Get a cache from a store onto this machine; `cache` is a path from the working directory."""
        target = self._disk.real(absolute(cache, self.settings.working_directory))
        return self.caches.stores.pull(parse_url(url), target, force=force, progress=progress or _untold)

    def refresh_cache(
        self, cache: "CacheRef", *, only_project: bool = False, whole: bool = False, progress: "Progress | None" = None
    ) -> "Refreshed":
        """Build a cache again of what its sources are now; only what changed is read, unless `whole`.

        If `only_project`, sources outside of the project are refused, whoever may read them.
        """
        callers = partial(self._authority.may_read, home=self.settings.project_root)
        may_read = self._authority.is_in_project if only_project else callers
        builder = self._cache_builder(embedder=self.caches.embedder_of(cache) or None)
        return builder.refresh(cache.path, may_read=may_read, whole=whole, progress=progress)

    def _cache_builder(
        self, number: int = 2, embedder: str | None = None, shards: int = 1, cluster: "Cluster | None" = None
    ) -> "CacheBuilder":
        from contexthall.caches.build.choices import choose_builder

        at, here = created_at(os.environ, time.time), self.settings.working_directory
        chosen = partial(choose_builder, number=number, embedder=embedder, shards=shards, cluster=cluster)
        return chosen(self._disk, at, here)

    @property
    def may_refresh_caches(self) -> bool:
        """Whether a hall that serves refreshes its caches."""
        return self.settings.refresh_caches == "auto" and "caches" in self.settings.toolsets

    def keep_caches_fresh(self, refresh: "Callable[[str], RefreshResult]", stop: "Event") -> None:
        """Watch the sources of caches that are in the project, and refresh what becomes stale, until `stop` is set."""
        from contexthall.caches.refreshing import CacheRefresher
        from contexthall.caches.watching import CacheWatcher

        CacheRefresher(CacheWatcher(self.caches, self._authority.is_in_project), refresh).run(stop)

    def watch_caches(self, stop: "Event") -> "Iterator[list[CacheStateChange]]":
        """Tell which caches become fresh, stale or unknown, until `stop` is set."""
        from contexthall.caches.watching import CacheWatcher, cache_state_changes

        return cache_state_changes(CacheWatcher(self.caches), stop)

    def document_folders(self) -> "list[DocumentFolder]":
        """Return the folders of the project that hold documents, each worth a cache, with as many as a build takes."""
        from contexthall.caches.build.document_folders import count_documents, find_folders

        seen = self.project.look_around()
        folders = find_folders({each.scope: [file.name for file in each.files] for each in seen})
        counted = (count_documents(self._disk, self.settings.project_root, each) for each in folders)
        return [each for each in counted if each.documents]

    @cached_property
    def setup_journal(self) -> "UndoJournal":
        """What `context setup` has written for this project."""
        from contexthall.system.undo_journal import UndoJournal

        if not self.settings.user_state:
            raise UsageError("there is no home directory to remember in what is done", hint="set HOME")
        name = sha256(os.fsencode(self._disk.real(self.settings.project_root))).hexdigest()[:16]
        return UndoJournal(self._disk, os.path.join(self.settings.user_state, "setup", f"{name}.jsonl"))

    def rehash_contexts(self, scopes: Sequence[str] | None = None) -> "Rehashed":
        """Say that the contexts of some directories are true again; None for all of them."""
        from contexthall.contexts.files.rehashing import rehash_contexts

        return rehash_contexts(self.project, scopes)

    def note_claim(self, scope: str, field: str, value: object, targets: Sequence[str]) -> "Noted":
        """Add a claim to the context of a directory, which is drafted if it has none, and say what it rests on.

        Where nothing can be drafted, the claim is the summary, too. Without a field, `value` names a claim that is
        there already.
        """
        from contexthall.contexts.files.note import cite_for, note_claim

        project = self.project
        place = project.locate(scope)
        if not field:
            return cite_for(project, place, str(value), targets)
        begin_at = ""
        if project.look(place).context is None:
            now = created_at(os.environ, time.time)
            done = self.regen_contexts(
                [place], full=False, dry_run=False, agents=False, progress=lambda _done, _all: None
            )
            begin_at = now if done.missing else ""
        return note_claim(project, place, field, value, targets, begin_at=begin_at)

    def check_changed(self, names: bytes) -> "ChangedReport":
        """Judge the contexts and claims that a list of changed files concerns."""
        from contexthall.contexts.freshness.changed import check_changed, read_names

        return check_changed(self.project, read_names(names))

    def init_contexts(self, *, full: bool, dry_run: bool, agents: bool, progress: "DraftProgress") -> "Outcome":
        """Draft a context for every directory that lacks one, and AGENTS.md."""
        from contexthall.contexts.draft.drafting import Order, draft_missing

        order = Order(created_at(os.environ, time.time), is_full=full, is_dry=dry_run, with_agents=agents)
        return draft_missing(self.project, order, progress)

    def regen_contexts(
        self, scopes: Sequence[str] | None, *, full: bool, dry_run: bool, agents: bool, progress: "DraftProgress"
    ) -> "Outcome":
        """Draft the machine's fields of some contexts again; None for those that are stale."""
        from contexthall.contexts.draft.drafting import Order, draft_again

        order = Order(created_at(os.environ, time.time), is_full=full, is_dry=dry_run, with_agents=agents)
        return draft_again(self.project, scopes, order, progress)

    def validate_contexts(self, *, strict: bool = False) -> "Report":
        """Judge every context of the project by its schema, and if `strict` by the code as well."""
        from contexthall.contexts.files.validation import validate_project

        return validate_project(self.project, is_strict=strict)

    def survey_contexts(self) -> "tuple[Sequence[ContextEntry], Report]":
        """Say of every directory how its context is, and judge every context; what is seen is not remembered."""
        from contexthall.contexts.files.validation import survey

        return survey(self._open_contexts("").at(self.settings.project_root))

    def watch_contexts(self) -> "Iterator[list[StateChange]]":
        """Tell which contexts become fresh, stale or missing, until interrupted."""
        from contexthall.contexts.freshness.watcher import state_changes

        return state_changes(self.project)

    async def try_members(self, on_tried: "Callable[[Trial], None]") -> None:
        """Start every member's server, ask it for its tools, and stop it; tell of each how that went."""
        # Loaded first, so that no member's time has it in it.
        import contexthall.guild.servers.connector  # noqa: F401 - what is used are the classes that the connector finds

        async with self.guild.running():
            await self.guild.try_members(on_tried)

    def add_member(self, name: str, command: Sequence[str], *, version: str) -> None:
        """Write the manifest of a new member of the guild, a server that `command` starts; none is ever replaced."""
        from contexthall.guild.members.enrolment import enrol, launch_of

        enrol(self._disk, self.settings.guild, name, launch_of(command), version=version)

    def members_in(self, file: str, *, keep: Collection[str] = ()) -> "tuple[ImportedServer, ...]":
        """Return which members the guild could get from a file in which an MCP client names its servers.

        Values that may be secrets become references to variables, but for those of the variables named by `keep`.
        """
        from contexthall.guild.manager import discover_guild_members
        from contexthall.guild.members.enrolment import directory_name, named_guild, objection

        members = discover_guild_members(named_guild(self.settings.guild), self._disk)
        found = self.clients.members_in(absolute(file, self.settings.working_directory), keep=keep)
        named = [each._replace(name=directory_name(each.name)) for each in found]
        return tuple(
            each._replace(reason=each.reason or objection(each.name, _launch(each), members)) for each in named
        )

    def manifest_place(self, name: str) -> str:
        """Return where the manifest of a new member is written."""
        from contexthall.guild.members.manifest import FILE_NAMES

        return os.path.join(self.settings.guild, name, FILE_NAMES[0])

    def import_member(self, found: "ImportedServer") -> None:
        """Write the manifest of a member that was found in a client's file."""
        from contexthall.guild.members.enrolment import enrol

        enrol(self._disk, self.settings.guild, found.name, _launch(found))


def _untold(_done: int, _total: int) -> None:
    pass


def _launch(found: "ImportedServer") -> "Launch":
    from contexthall.guild.members.enrolment import launch_of

    return launch_of(found.command, env=found.env, url=found.url, headers=found.headers)

"""How is the hall put together? The only module that builds real objects.

A room is imported when it is opened: a command that needs one room does not pay for the others.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from contexthall.core.errors import DiskError, HallError, PathMissingError, SettingsError, UsageError
from contexthall.core.paths import absolute
from contexthall.disk import Disk
from contexthall.settings import SETTINGS_FILE, Settings, SettingsFile, resolve, user_directory

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from contexthall.caches.builder import Built, Progress
    from contexthall.caches.library import Library
    from contexthall.contexts.drafting import Progress as Drafted
    from contexthall.contexts.project import Outcome, Project, Projects, Report, Turn
    from contexthall.core.catalog import Caller, Capability, Catalog
    from contexthall.guild.manager import Handle, MCPManager, Member, ServerFactory
    from contexthall.guild.memory import Memory

_FIRST_YEAR, _LAST_YEAR = 1000, 9999
_LARGEST_SETTINGS, _MOST_DOTS = 1 << 16, 1000


class GuildChoice(NamedTuple):
    """What was chosen about the guild; None where nothing was."""

    guild: str | None = None
    """The directory of its members, which are executed: no guild is found by itself."""
    guild_refresh: str | None = None
    guild_budget: int | None = None
    guild_trust: str | None = None
    guild_pin: Sequence[str] | None = None


def open_hall(
    path: str | None = None,
    *,
    cache_root: str | None = None,
    toolsets: str | Sequence[str] | None = None,
    confine: bool | None = None,
    allow_root: Sequence[str] | None = None,
    guild: "GuildChoice | None" = None,
    disk: Disk | None = None,
) -> "Hall":
    """Open the hall of the project at `path`, by default the working directory.

    What is not given comes from the environment, the project's or the user's `contexthall.toml`, or the defaults.
    """
    disk = disk or Disk()
    given = {"cache_root": cache_root, "toolsets": toolsets, "confine": confine, "allow_root": allow_root}
    given |= (guild or GuildChoice())._asdict()
    flags = {key: value for key, value in given.items() if value is not None}
    return Hall(load_settings(path, flags, os.environ, disk), disk)


def load_settings(
    path: str | None, flags: Mapping[str, object], environment: Mapping[str, str], disk: Disk
) -> Settings:
    """Find the settings files that count and merge them with flags and environment."""
    working_directory = disk.working_directory()
    project_root = absolute(path or "", working_directory)
    if path is not None and (not path or not _is_directory(project_root, disk)):
        raise UsageError(f"the project root is not a directory: {path}", hint="name one with --path DIR")
    candidates = [(project_root, False), (user_directory(environment, "XDG_CONFIG_HOME", ".config"), True)]
    files = [_read_file(directory, disk, trusted=trusted) for directory, trusted in candidates if directory]
    settings = resolve(
        flags=flags,
        environment=environment,
        files=[file for file in files if file is not None],
        working_directory=working_directory,
        project_root=project_root,
    )
    if settings.confine and not settings.cache_root_is_trusted:
        # Whoever wrote the project may have put a symlink there; callers would be confined to what it leads to.
        _check_stays_in_project(settings, disk)
    return settings


def _check_stays_in_project(settings: Settings, disk: Disk) -> None:
    if not disk.is_within(settings.cache_root, settings.project_root):
        raise SettingsError(
            f"the cache root leads out of the project: {settings.cache_root}", hint="name it with --cache-root"
        )


def open_caches(settings: Settings, disk: Disk, is_home: Callable[[str], bool]) -> "Library":
    from contexthall.caches.library import Library

    return Library(
        disk,
        root=settings.cache_root,
        root_is_named=settings.cache_root_is_named,
        working_directory=settings.working_directory,
        clock=time.time_ns,
        is_home=is_home,
    )


def open_contexts(settings: Settings, disk: Disk) -> "Projects":
    from contexthall.contexts.project import Projects

    return Projects(
        disk,
        home=settings.project_root,
        working_directory=settings.working_directory,
        memory=os.path.join(settings.user_cache, "contexts") if settings.user_cache else "",
        clock=time.time_ns,
    )


def open_guild(settings: Settings, disk: Disk) -> "MCPManager":
    from contexthall.guild.manager import MCPManager, discover_guild_members
    from contexthall.guild.memory import Memory

    if not _is_directory(_named_guild(settings), disk):
        raise UsageError(f"the guild is not a directory: {settings.guild}", hint="name one with --guild DIR")
    memory = Memory(disk, os.path.join(settings.user_state, "guild") if settings.user_state else "")
    manager = MCPManager(
        discover_guild_members(settings.guild, disk),
        _LateConnector(memory),
        disk=disk,
        memory=memory,
        hold=settings.guild_trust == "hold",
    )
    manager.load_roster()
    return manager


def _named_guild(settings: Settings) -> str:
    if not settings.guild:
        raise UsageError("no guild is named", hint="name its directory with --guild DIR or CONTEXT_GUILD")
    return settings.guild


def _check_member_directory(name: str) -> None:
    """Refuse a name of a directory in which nobody would look for a member."""
    if not name or name.startswith(".") or "/" in name or "\0" in name or name == "node_modules":
        raise UsageError(
            f"{name!r} cannot be the name of a member's directory",
            hint="it may have no `/` and no dot at its beginning",
        )


class _LateConnector:
    """Starts servers; what that takes is loaded with the first one."""

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    async def spawn(self, member: "Member") -> "Handle":
        return await self._connector.spawn(member)

    @cached_property
    def _connector(self) -> "ServerFactory":
        from contexthall import __version__
        from contexthall.guild.connection import Connector

        return Connector(version=__version__, environment=os.environ, log_of=self._memory.log_of)


class Hall:
    """The rooms of one hall, each opened on first use."""

    def __init__(self, settings: Settings, disk: Disk) -> None:
        self.settings = settings
        self._disk = disk

    @cached_property
    def caches(self) -> "Library":
        return open_caches(self.settings, self._disk, self._may_hold_caches)

    @cached_property
    def contexts(self) -> "Projects":
        return open_contexts(self.settings, self._disk)

    @cached_property
    def guild(self) -> "MCPManager":
        """The guild, its roster loaded; nothing runs yet."""
        return open_guild(self.settings, self._disk)

    def at_work(self, *, refresh: bool = False) -> "AbstractAsyncContextManager[None]":
        """While this is entered, servers of the guild may run; at the end none does."""
        if not self.has_guild:
            return nullcontext()
        return self.guild.at_work(self.settings.guild_refresh if refresh else "never", self.catalog.listed)

    @property
    def has_guild(self) -> bool:
        """Whether there is a guild, and it is among what the hall offers."""
        return bool(self.settings.guild) and "guild" in self.settings.toolsets

    @property
    def project(self) -> "Project":
        """The project whose contexts are the hall's own."""
        return self.contexts.at(self.settings.project_root)

    @cached_property
    def catalog(self) -> "Catalog":
        """The tools of the chosen toolsets that have any."""
        from contexthall.core.catalog import Catalog

        capabilities = {"caches": self._caches_capability, "contexts": self._contexts_capability}
        if self.has_guild:
            capabilities["guild"] = self._guild_capability
        return Catalog(capabilities[name]() for name in self.settings.toolsets if name in capabilities)

    @cached_property
    def caller(self) -> "Caller":
        """The authority of whoever speaks over standard input and output, or types a command."""
        from contexthall.core.catalog import Caller

        return self.confined_caller if self.settings.confine else Caller(may_read=lambda _path, _home: True)

    @cached_property
    def confined_caller(self) -> "Caller":
        """The authority of whoever speaks over HTTP: the hall's own roots, and those that were allowed."""
        from contexthall.core.catalog import Caller

        return Caller(may_read=self._is_in_roots)

    def build_cache(
        self,
        sources: str,
        cache: str,
        *,
        include: Sequence[str] = (),
        force: bool = False,
        progress: "Progress | None" = None,
    ) -> "Built":
        """Compile the documents below `sources` into a cache; both are paths from the working directory."""
        from contexthall.caches.builder import build

        if not sources or not cache:  # an unset variable of a script, not the working directory
            raise UsageError("the sources or the cache have no name", hint="name them with --sources and --cache")

        return build(
            self._disk,
            sources=os.path.join(self.settings.working_directory, sources),
            target=os.path.join(self.settings.working_directory, cache),
            created_at=_created_at(os.environ, time.time),
            globs=tuple(include),
            force=force,
            progress=progress,
        )

    def rehash_context(self, place: str) -> bool:
        """Write the fingerprint of a directory into its context; False if it was there already."""
        from contexthall.contexts.writing import rehash

        return rehash(self.project, place)

    def init_contexts(self, *, full: bool, dry_run: bool, agents: bool, progress: "Drafted") -> "Outcome":
        """Draft a context for every directory that lacks one, and AGENTS.md."""
        from contexthall.contexts.drafting import Order, draft_missing

        order = Order(_created_at(os.environ, time.time), is_full=full, is_dry=dry_run, with_agents=agents)
        return draft_missing(self.project, order, progress)

    def regen_contexts(
        self, scopes: Sequence[str] | None, *, full: bool, dry_run: bool, agents: bool, progress: "Drafted"
    ) -> "Outcome":
        """Draft the machine's fields of some contexts again; None for those that are stale."""
        from contexthall.contexts.drafting import Order, draft_again

        order = Order(_created_at(os.environ, time.time), is_full=full, is_dry=dry_run, with_agents=agents)
        return draft_again(self.project, scopes, order, progress)

    def validate_contexts(self, *, strict: bool = False) -> "Report":
        """Judge every context of the project by its schema, and if `strict` by the code as well."""
        from contexthall.contexts.validation import validate

        project = self.project
        return validate(project.disk, project.base, project.overview().census.kept, is_strict=strict)

    def watch_contexts(self) -> "Iterator[list[Turn]]":
        """Tell which contexts become fresh, stale or missing, until interrupted."""
        from contexthall.contexts.watcher import turns

        return turns(self.project)

    def add_member(self, name: str, command: Sequence[str], *, version: str) -> None:
        """Write the manifest of a new member of the guild, a server that `command` starts; none is ever replaced."""
        from contexthall.guild.manager import discover_guild_members
        from contexthall.guild.manifest import FILE_NAMES, ManifestError, write_manifest

        guild = _named_guild(self.settings)
        _check_member_directory(name)
        taken = UsageError(f"the guild has a member {name} already", hint="give the new one another name")
        if member := discover_guild_members(guild, self._disk).get(name):
            with suppress(DiskError), self._disk.enter(member.directory) as opened:
                opened.tidy()  # it may be there because we were killed just before the end
            raise taken
        try:
            manifest = write_manifest(name, command, version=version)
        except ManifestError as error:
            raise UsageError(str(error)) from None
        directory = os.path.join(guild, name)
        made = self._disk.make_directories(directory)
        try:
            with self._disk.enter(directory) as opened:
                if not opened.put(FILE_NAMES[0], manifest, sync=True):
                    raise taken
        except HallError:
            for path in reversed(made):
                with suppress(DiskError):  # unless somebody has put something there
                    self._disk.remove_directory(path)
            raise

    def _caches_capability(self) -> "Capability":
        from contexthall.caches.capability import caches_capability

        return caches_capability(self.caches)

    def _contexts_capability(self) -> "Capability":
        from contexthall.contexts.capability import contexts_capability

        return contexts_capability(self.contexts)

    def _guild_capability(self) -> "Capability":
        from contexthall.guild.capability import Offer, guild_capability

        return guild_capability(self.guild, Offer(self.settings.guild_budget, self.settings.guild_pins))

    def _is_in_roots(self, path: str, home: str) -> bool:
        return any(self._is_below(path, root) for root in (home, *self.settings.allow_roots))

    def _is_below(self, path: str, root: str) -> bool:
        # Where a root really is, is looked up once: what is judged is what counts.
        real = self._disk.real(root)
        return self._disk.is_within(path, real) and (root != self.settings.cache_root or self._may_hold_caches(real))

    def _may_hold_caches(self, real: str) -> bool:
        """Say whether callers may be confined to a cache root that is really there: a project's may not lead out of it.

        Whoever wrote the project may put a symlink there at any time.
        """
        is_trusted = self.settings.cache_root_is_trusted or not self.settings.confine
        return is_trusted or self._disk.is_within(real, self.settings.project_root)


def _created_at(environment: Mapping[str, str], clock: Callable[[], float]) -> str:
    """Say what time it is, or what time it shall be, as RFC 3339 in UTC."""
    epoch = environment.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = time.gmtime(int(epoch) if epoch else clock())
    except (ValueError, OverflowError, OSError):
        raise SettingsError(f"SOURCE_DATE_EPOCH must be a number of seconds, not {epoch!r}") from None
    if not _FIRST_YEAR <= moment.tm_year <= _LAST_YEAR:
        raise SettingsError(f"SOURCE_DATE_EPOCH must be in a year of four digits, not {moment.tm_year}")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


def _is_directory(path: str, disk: Disk) -> bool:
    try:
        return disk.look(path).kind == "directory"
    except PathMissingError:
        return False


def _read_file(directory: str, disk: Disk, *, trusted: bool) -> SettingsFile | None:
    path = os.path.join(directory, SETTINGS_FILE)
    is_link = False
    try:
        is_link = disk.look(path, follow=False).kind == "symlink"
        data = disk.read(path, follow=trusted)
    except PathMissingError:
        if is_link:
            raise SettingsError(f"{path}: a symlink that is not followed", hint="put the file itself there") from None
        return None
    import tomllib

    # The time that tomllib takes grows with the square of the parts of a key, and no setting has any.
    if len(data) > _LARGEST_SETTINGS or any(line.count(b".") > _MOST_DOTS for line in data.splitlines()):
        raise SettingsError(f"{path}: too large to be settings", hint="mend the file or remove it")
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}", hint="mend the file or remove it") from None
    return SettingsFile(path=path, directory=directory, values=values, trusted=trusted)

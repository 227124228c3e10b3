"""The clients of this machine: who has the hall in its file, and how it gets in and out.

The public module of the room.
"""

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, count
from typing import Any, Literal, NamedTuple

from contexthall.clients.config_file import ConfigFile, FileChange
from contexthall.clients.hook_events import HOOK_CLIENTS, HookClient
from contexthall.clients.hooks import has_hooks, with_hooks, without_hooks
from contexthall.clients.importing import ImportedServer, Origin, as_members
from contexthall.clients.links import LINKS
from contexthall.clients.servers import ConfiguredServer, is_server, reached_by, servers_of
from contexthall.clients.table import CLIENTS, NAME, Client, ConfigLocation, Reach
from contexthall.core.errors import DiskError, HallError, UsageError
from contexthall.core.paths import absolute
from contexthall.system.disk import Disk

__all__ = [
    "CLIENTS",
    "HOOK_CLIENTS",
    "NAME",
    "Client",
    "FileChange",
    "ImportedServer",
    "KnownClient",
    "Reach",
    "Register",
]

_PRECEDENCE = {"this": 0, "broken": 1, "gone": 2, "other": 3, "absent": 4}
_SWITCHES = frozenset({"enabled", "disabled", "tools"})
_OURS = {"command", "args"}.union(*((each.url_key, *each.stdio, *each.http, *each.token) for each in CLIENTS.values()))
_OURS -= _SWITCHES
"""What an entry of ours says, for one client or another; what its user has switched on or off stays so."""
# Codex reads nothing at all of a file in which an address has one of the first, or a command one of the others.
_OF_COMMANDS = frozenset({"env", "environment", "env_vars", "envFile", "cwd"})
_OF_ADDRESSES = frozenset({"http_headers", "env_http_headers", "oauth", "oauth_resource"})


class KnownClient(NamedTuple):
    """Whether a client knows the hall of this project."""

    client: str
    title: str
    file: str
    state: Literal["this", "gone", "other", "broken", "absent"]
    """Of a hall that is `gone`, the client knows a command that cannot be started."""
    detail: str = ""
    name: str = NAME
    """What the hall of this project is called there, or may be called since nothing else is."""
    url: str = ""
    """Where the client asks for the hall, if it does not start one."""


class Register:
    """The clients of this machine, as their files show them."""

    def __init__(
        self, disk: Disk, *, project_root: str, environment: Mapping[str, str], platform: str, backups: str = ""
    ) -> None:
        self._disk = disk
        self._project_root = project_root
        self._environment = environment
        self._platform = platform
        self._backups = backups
        """The folder for backups of the project's files; empty for where they are."""

    def place(self, client: Client) -> str:
        """Return the path of a client's file; empty if that is not known."""
        return self._path_of(client.place) if client.place else ""

    def _path_of(self, place: ConfigLocation) -> str:
        return place.resolve(self._project_root, self._environment, self._platform)

    def snippet(self, client: Client, reach: Reach, *, name: str = NAME, file: str | None = None) -> str:
        """Return the text of a client's file that has the hall and no other server."""
        usual = client.place.path if client.place else "mcp.json"
        return ConfigFile(self._disk, file or usual, client.keys).with_server("", name, _entry(client, reach))

    def link(self, client: Client, reach: Reach, *, name: str = NAME) -> str:
        """Return an address that installs the hall in a client when it is opened; UsageError if it knows none."""
        if client.name not in LINKS:
            known = " and ".join(f"`context connect {each} --link`" for each in LINKS)
            raise UsageError(f"{client.title} installs nothing from a link", hint=f"{known} print one")
        return LINKS[client.name](name, _entry(client, reach))

    def connect(self, client: Client, reach: Reach, *, name: str = NAME, file: str | None = None) -> FileChange:
        """Write the hall into a client's file; raise UsageError if another server has its name.

        What somebody else has put into the entry stays in it.
        """
        config, entry = self._config(client, file), _entry(client, reach)
        with config.opened() as (directory, before):
            there = config.servers_in(before.values).get(name)
            if what := self._other(name, there, reach, config.within):
                raise _name_taken(client, name, file, f"{config.path} has {what}", servers_of(before.values))
            after = config.with_server(before.text, name, {**entry, **_kept(there, reach)})
            return config.write(directory, before, after, name)

    def disconnect(self, client: Client, *, name: str = NAME, file: str | None = None) -> FileChange:
        """Remove the hall from a client's file."""
        config = self._config(client, file)
        if not config.has_directory():
            return FileChange(config.path, is_needed=False)
        with config.opened() as (directory, before):
            there = reached_by(name, config.servers_in(before.values).get(name))
            change = config.write(directory, before, config.without_server(before.text, name), name)
            return change._replace(whose=self._other_project(there, config.within)) if change.is_needed else change

    def connect_hooks(self, client: Client, command: str) -> FileChange:
        """Write the hall's hooks into the project's file of a client, beside those that are there."""
        hooks, config = self._hooks(client)
        with config.opened() as (directory, before):
            after = config.changed(partial(with_hooks, client=hooks, command=command), before.text)
            return config.replace(directory, before, after, bare="", was_in=has_hooks(before.text, hooks))

    def disconnect_hooks(self, client: Client) -> FileChange:
        """Remove the hall's hooks from the project's file of a client."""
        hooks, config = self._hooks(client)
        if not config.has_directory():
            return FileChange(config.path, is_needed=False)
        with config.opened() as (directory, before):
            after = config.changed(partial(without_hooks, client=hooks), before.text)
            bare = without_hooks(with_hooks("", hooks, f"contexthall hook {hooks.name}"), hooks)
            return config.replace(directory, before, after, bare=bare, was_in=has_hooks(before.text, hooks))

    def _hooks(self, client: Client) -> tuple[HookClient, ConfigFile]:
        hooks = HOOK_CLIENTS.get(client.name)
        if hooks is None:
            names = ", ".join(HOOK_CLIENTS)
            raise UsageError(f"no hooks of {client.title} are known", hint=f"hooks are there for {names}")
        root = self._project_root
        return hooks, ConfigFile(self._disk, absolute(hooks.file, root), ("hooks",), root, self._backups)

    def restore_layout(self, client: Client) -> None:
        """Give a client's file its bytes from before the hall was in it, if it says the same again."""
        config = self._config(client, None)
        if config.has_directory():
            config.restore_layout()

    def new_backups(self, client: Client) -> list[str]:
        """Return where copies of a client's files would be kept, as far as none is there yet."""
        configs = [self._config(client, None), *([self._hooks(client)[1]] if client.name in HOOK_CLIENTS else ())]
        places: dict[str, None] = {}
        for config in configs:
            with suppress(HallError):  # a file that must not be written gets no copy
                places[config.backup_place()] = None
        return [place for place in places if not self._is_there(place)]

    def missing_hooks_place(self, client: Client) -> str:
        """Return the path of the file that a client's hooks are to be written into; empty if it has some of ours."""
        if client.name not in HOOK_CLIENTS:
            return ""
        hooks, config = self._hooks(client)
        with suppress(HallError):  # whoever writes into it will be told
            if has_hooks(config.read().text, hooks):
                return ""
        return config.path

    def count_servers(self) -> int:
        """Return how many servers of the clients' files could become members of a guild."""
        found = set()
        for file in self.files():
            with suppress(HallError):
                found |= {each.name for each in self.members_in(file) if not each.reason}
        return len(found)

    def known(self, *, port: int) -> tuple[KnownClient, ...]:
        """Return for each client whether it has the hall of this project, which this machine may serve at that port."""
        return tuple(
            _foremost(self._known(client, each, port) for each in (client.place, *client.also))
            for client in CLIENTS.values()
            if client.place
        )

    def found(self, find_command: Callable[[str], str]) -> frozenset[str]:
        """Return the names of the clients that are on this machine; `find_command` finds a program on the path."""
        return frozenset(client.name for client in CLIENTS.values() if self._is_found(client, find_command))

    def _is_found(self, client: Client, find_command: Callable[[str], str]) -> bool:
        places = (self._path_of(folder) for folder in client.folders)
        return any(map(find_command, client.programs)) or any(self._is_there(place) for place in places if place)

    def _is_there(self, path: str) -> bool:
        try:
            return self._disk.is_there(path)
        except DiskError:
            return False

    def files(self) -> tuple[str, ...]:
        """Return the files of all clients that are there, in which other servers may be named."""
        locations = (place for client in CLIENTS.values() for place in (client.place, *client.also) if place)
        paths = dict.fromkeys(path for path in map(self._path_of, locations) if path)
        return tuple(path for path in paths if self._is_there(path))

    def members_in(self, file: str, *, keep: Collection[str] = ()) -> list[ImportedServer]:
        """Return what the servers of any client's file would be as members of a guild."""
        read = ConfigFile(self._disk, file, ()).read()
        if read.data is None:
            raise UsageError(f"no file is there: {file}", hint="name one such as .mcp.json or ~/.codex/config.toml")
        home = self._environment.get("HOME", "")
        return as_members(servers_of(read.values), Origin(_project_of(file), home, self._disk.is_there, keep))

    def _config(self, client: Client, file: str | None) -> ConfigFile:
        place = file or self.place(client)
        if not place:
            raise UsageError(f"it is not known where {client.title} has its file", hint="name it with --file FILE")
        is_of_project = not file and client.place is not None and client.place.base == "project"
        if not is_of_project:
            return ConfigFile(self._disk, place, client.keys)
        return ConfigFile(self._disk, place, client.keys, self._project_root, self._backups)

    def _other(self, name: str, entry: object, reach: Reach, base: str) -> str:
        """Return what else a file has under a name; empty if it is this hall, or no server."""
        there = reached_by(name, entry)
        if project := self._other_project(there, base):
            return f"a hall of {project}"
        is_same = there.is_hall or there.local_port is not None or (there.url and there.url == reach.url)
        return "another server" if is_server(entry) and not is_same else ""

    def _other_project(self, server: ConfiguredServer, base: str) -> str:
        """Return the project whose hall a server is; empty if that is this one, or not known."""
        return "" if self._is_here(server, base) else server.served_project or ""

    def _is_here(self, server: ConfiguredServer, base: str) -> bool:
        """Return whether a server is a hall of this project, by whatever path.

        Its client starts it in `base`; empty if that is not known.
        """
        project, root = server.served_project, self._project_root
        path = "" if project is None else os.path.join(base, server.cwd, project)
        if not path.startswith("/"):
            return False
        try:
            return absolute(path, "/") == root or self._disk.real(absolute(path, "/")) == self._disk.real(root)
        except DiskError:
            return False

    def _known(self, client: Client, place: ConfigLocation, port: int) -> KnownClient:
        file = self._path_of(place)
        known = KnownClient(client.name, client.title, file, "absent")
        try:
            started = self._started(client, place, file) if file else []
        except HallError as error:  # a file that is never written may be as large or odd as its program likes
            return known._replace(state="broken", detail=error.detail) if place == client.place else known
        halls = [
            self._state_of(known, server)
            for server, base in started
            if self._is_here(server, base) or (server.url and (server.is_hall or server.local_port == port))
        ]
        others = sorted({server.served_project for server, _ in started if server.served_project})
        if halls or not others:
            return _foremost([*halls, known])
        free = _free_name(NAME, (server for server, _ in started))
        return known._replace(state="other", detail=f"a hall of {', '.join(others)}", name=free)

    def _started(self, client: Client, place: ConfigLocation, file: str) -> list[tuple[ConfiguredServer, str]]:
        """Return the servers of a file, each with the directory it is started in; empty if that is not known."""
        root = self._project_root
        within = root if place.base == "project" else ""
        values = ConfigFile(self._disk, file, client.keys, within).read().values
        started = [(each, within) for each in servers_of(values)]
        if isinstance(projects := values.get("projects"), Mapping):
            own = projects.get(root, projects.get(self._disk.real(root)))
            started += [(each, root) for each in servers_of(own if isinstance(own, Mapping) else {})]
        return started

    def _state_of(self, known: KnownClient, hall: ConfiguredServer) -> KnownClient:
        if fault := self._fault(hall.command):
            return known._replace(state="gone", detail=f"its command {fault}: {hall.command}", name=hall.name)
        facts = [f"at {hall.url}" if hall.url else "", "switched off" if hall.is_off else ""]
        return known._replace(state="this", detail=", ".join(filter(None, facts)), url=hall.url)

    def _fault(self, command: str) -> str:
        """Return why a command cannot be started; empty if it seems it can."""
        try:
            return "" if not command.startswith("/") or self._disk.is_there(command) else "is gone"
        except DiskError:
            return "may not be looked at"


def _foremost(known: Iterable[KnownClient]) -> KnownClient:
    return min(known, key=lambda each: _PRECEDENCE[each.state])


def _kept(entry: object, reach: Reach) -> dict[str, Any]:
    """Return the keys of an entry that others wrote, without those that only the other kind of server can have."""
    ours = _OURS | (_OF_COMMANDS if reach.url else _OF_ADDRESSES)
    return {key: value for key, value in entry.items() if key not in ours} if isinstance(entry, Mapping) else {}


def _name_taken(
    client: Client, name: str, file: str | None, what: str, servers: Iterable[ConfiguredServer]
) -> UsageError:
    """Return the error that says what has the name in a file, and what to type instead."""
    options = {"--name": name if name != NAME else "", "--file": file}
    named = [word for option, value in options.items() if value for word in (option, value)]
    removing = shlex.join(["context", "connect", client.name, "--remove", *named])
    another = shlex.join(["--name", _free_name(name, servers)])
    hint = f"another name for this one: `{another}`; or first `{removing}`"
    return UsageError(f"{what} under the name {name}", hint=hint)


def _entry(client: Client, reach: Reach) -> dict[str, object]:
    if reach.url and not client.url_key:
        raise UsageError(
            f"the file of {client.title} takes no address", hint=f"`context connect {client.name}` without --http"
        )
    try:
        "".join((reach.command, *reach.args)).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            "a path of this hall is not UTF-8, and no client's file can name it", hint="rename the directory"
        ) from None
    return client.entry(reach)


def _free_name(name: str, servers: Iterable[ConfiguredServer]) -> str:
    """Return the name, if need be with the first number that makes it unique."""
    taken = {server.name for server in servers}
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def _project_of(file: str) -> str:
    """Return the directory in which a client starts its servers: above the client's own, if the file is in that."""
    directory, name = os.path.split(os.path.dirname(file))
    places = (place for client in CLIENTS.values() for place in (client.place, *client.also) if place)
    is_clients = name.startswith(".") and any(os.path.dirname(place.path) == name for place in places)
    return directory if is_clients else os.path.join(directory, name)

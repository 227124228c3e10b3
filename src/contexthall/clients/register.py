"""Which agents know the hall? Their files are looked at, and changed where somebody asks for it.

The public module of the room.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count
from typing import Literal, NamedTuple

from contexthall.clients.config_file import Change, ConfigFile
from contexthall.clients.importing import Found, Origin, as_member, contested
from contexthall.clients.servers import Server, server_of, servers_of
from contexthall.clients.table import CLIENTS, NAME, Client, Place, Reach
from contexthall.core.errors import HallError, UsageError
from contexthall.disk import Disk

__all__ = ["CLIENTS", "NAME", "Change", "Client", "Found", "Known", "Reach", "Register"]

_TELLING = {"this": 0, "broken": 1, "other": 2, "absent": 3}


class Known(NamedTuple):
    """Whether a client knows the hall of this project."""

    client: str
    title: str
    file: str
    state: Literal["this", "other", "broken", "absent"]
    detail: str = ""
    name: str = NAME
    """What the hall of this project is called there, or may be called since nothing else is."""
    url: str = ""
    """Where the client asks for the hall, if it does not start one."""


class Register:
    """The clients of this machine, as their files show them."""

    def __init__(self, disk: Disk, *, project_root: str, environment: Mapping[str, str], platform: str) -> None:
        self._disk = disk
        self._project_root = project_root
        self._environment = environment
        self._platform = platform

    def place(self, client: Client) -> str:
        """Say where the file of a client is; empty if that is not known."""
        return self._found(client.place) if client.place else ""

    def _found(self, place: Place) -> str:
        return place.found(self._project_root, self._environment, self._platform)

    def spelling(self, client: Client, reach: Reach, *, name: str = NAME) -> str:
        """Spell the hall as a file of this client's would that knows no other server."""
        usual = client.place.path if client.place else "mcp.json"
        config = ConfigFile(self._disk, usual, client.keys)
        return config.spelt(name, _entry(client, reach))

    def introduce(self, client: Client, reach: Reach, *, name: str = NAME, file: str | None = None) -> Change:
        """Write the hall into a client's file. What stands there under its name may be the same hall, and no other."""
        config = self._config(client, file)
        entry = _entry(client, reach)
        self._check_replaces_itself(client, config, name, server_of(name, entry))
        return config.put(name, entry)

    def forget(self, client: Client, *, name: str = NAME, file: str | None = None) -> Change:
        """Take the hall out of a client's file."""
        return self._config(client, file).drop(name)

    def known(self) -> tuple[Known, ...]:
        """Say of each client whether it knows the hall of this project."""
        return tuple(self._best(client, client.place) for client in CLIENTS.values() if client.place)

    def _best(self, client: Client, place: Place) -> Known:
        """Give what the most telling of a client's files says."""
        return min((self._known(client, each) for each in (place, *client.also)), key=lambda each: _TELLING[each.state])

    def members_in(self, file: str, *, keep: Collection[str] = ()) -> list[Found]:
        """Say what the servers that a file names would be as members of a guild, whichever client's file it is."""
        values = ConfigFile(self._disk, file, ()).values()
        if values is None:
            raise UsageError(f"no file is there: {file}", hint="name one such as .mcp.json or ~/.codex/config.toml")
        servers, home = servers_of(values), self._environment.get("HOME", "")
        origin = Origin(_project_of(file), home, self._disk.is_there, keep, contested(servers))
        return [as_member(server, origin) for server in servers]

    def _config(self, client: Client, file: str | None) -> ConfigFile:
        place = file or self.place(client)
        if not place:
            raise UsageError(f"it is not known where {client.title} has its file", hint="name it with --file FILE")
        is_of_project = not file and client.place is not None and client.place.base == "project"
        return ConfigFile(self._disk, place, client.keys, self._project_root if is_of_project else "")

    def _check_replaces_itself(self, client: Client, config: ConfigFile, name: str, new: Server) -> None:
        servers = servers_of(config.values() or {})
        there = next((each for each in servers if each.name == name), None)
        if there is None or there == new:
            return
        project = there.served_project
        if (there.command and project is None) or (project and project != self._project_root):
            what = f"a hall of {project}" if project else "another server"
            free = _free_name(name, servers)
            raise UsageError(
                f"{config.path} has {what} under the name {name}",
                hint=f"another name for this one: `--name {free}`; or first `context connect {client.name} --remove`",
            )

    def _known(self, client: Client, place: Place) -> Known:
        file = self._found(place)
        known = Known(client.name, client.title, file, "absent")
        try:
            servers = self._servers_in(client, place, file) if file else []
        except HallError as error:
            return known._replace(state="broken", detail=error.detail)
        for server in servers:
            if server.served_project == self._project_root or (server.is_hall and server.url):
                return self._judged(known, server)
        others = sorted({server.served_project for server in servers if server.served_project})
        if not others:
            return known
        return known._replace(state="other", detail=f"a hall of {', '.join(others)}", name=_free_name(NAME, servers))

    def _servers_in(self, client: Client, place: Place, file: str) -> list[Server]:
        within = self._project_root if place.base == "project" else ""
        values = ConfigFile(self._disk, file, client.keys, within).values() or {}
        projects = values.get("projects")
        own = projects.get(self._project_root) if isinstance(projects, Mapping) else None
        return [*servers_of(values), *(servers_of(own) if isinstance(own, Mapping) else ())]

    def _judged(self, known: Known, hall: Server) -> Known:
        if hall.command.startswith("/") and not self._disk.is_there(hall.command):
            return known._replace(state="other", detail=f"its command is gone: {hall.command}", name=hall.name)
        facts = [f"at {hall.url}" if hall.url else "", "switched off" if hall.is_off else ""]
        return known._replace(state="this", detail=", ".join(filter(None, facts)), url=hall.url)


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


def _free_name(name: str, servers: Iterable[Server]) -> str:
    """Give the name, or with the first number behind it that makes it one of no server."""
    taken = {server.name for server in servers}
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def _project_of(file: str) -> str:
    """Say in which directory a client starts the servers of its file: above the hidden one that the file may be in."""
    directory = os.path.dirname(file)
    return os.path.dirname(directory) if os.path.basename(directory).startswith(".") else directory

"""Which settings files count? The project's and the user's own are found, read, and merged with what is stronger."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

from contexthall.config.settings import SETTINGS_FILE, Settings, SettingsFile, resolve, user_directory
from contexthall.core import limits
from contexthall.core.errors import HallError, PathMissingError, SettingsError, UsageError
from contexthall.core.paths import absolute
from contexthall.system.disk import Disk

_OUR_VARIABLES = "CONTEXT_"
_T = TypeVar("_T")


class Source(NamedTuple):
    """Where settings may stand, a file or a variable: whether any do, and what is wrong with them."""

    name: str
    is_there: bool
    fault: HallError | None = None


def load_settings(
    path: str | None, flags: Mapping[str, object], environment: Mapping[str, str], disk: Disk
) -> Settings:
    """Find the settings files that count and merge them with flags and environment."""
    working_directory = disk.working_directory()
    project_root = _project_root(path, working_directory, disk)
    read = partial(resolve, working_directory=working_directory, project_root=project_root)
    homes = _settings_directories(project_root, environment)
    files = [_read_file(directory, disk, trusted=trusted) for directory, trusted in homes]
    settings = read(flags=flags, environment=environment, files=[file for file in files if file is not None])
    _check_stays_in_project(settings, disk)
    return settings


def load_despite_faults(
    path: str | None, flags: Mapping[str, object], environment: Mapping[str, str], disk: Disk
) -> tuple[Settings, tuple[Source, ...]]:
    """Do the same without the settings that cannot be used, and say how each source of settings is."""
    working_directory = disk.working_directory()
    project_root = _project_root(path, working_directory, disk)
    read = partial(resolve, working_directory=working_directory, project_root=project_root)
    files, sources = [], []
    for directory, trusted in _settings_directories(project_root, environment):
        file, fault = _try(partial(_read_file, directory, disk, trusted=trusted))
        if file is not None:
            _, fault = _try(partial(read, flags={}, environment={}, files=[file]))
        files += [file] if file is not None and fault is None else []
        is_there = file is not None or fault is not None
        sources.append(Source(os.path.join(directory, SETTINGS_FILE), is_there, fault))
    usable = dict(environment)
    for name in sorted(name for name in environment if name.startswith(_OUR_VARIABLES)):
        _, fault = _try(partial(read, flags={}, environment={name: environment[name]}, files=[]))
        if fault is not None:
            sources.append(Source(name, is_there=True, fault=fault))
            del usable[name]
    settings = read(flags=flags, environment=usable, files=files)
    _, fault = _try(partial(_check_stays_in_project, settings, disk))
    return settings, (*sources, *([Source(settings.cache_root, is_there=True, fault=fault)] if fault else []))


def _try(call: Callable[[], _T]) -> tuple[_T | None, HallError | None]:
    """Return what a call returns, or the error that it raises."""
    try:
        return call(), None
    except HallError as error:
        return None, error


def _project_root(path: str | None, working_directory: str, disk: Disk) -> str:
    project_root = absolute(path or "", working_directory)
    if path is not None and (not path or disk.kind(project_root) != "directory"):
        raise UsageError(f"the project root is not a directory: {path}", hint="name one with --path DIR")
    return project_root


def _settings_directories(project_root: str, environment: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return where settings files may be, the strongest first, and which of them are trusted."""
    own = user_directory(environment, "XDG_CONFIG_HOME", ".config")
    return [(project_root, False), *([(own, True)] if own else [])]


def _check_stays_in_project(settings: Settings, disk: Disk) -> None:
    # Whoever wrote the project may have put a symlink there; callers would be confined to what it leads to.
    is_theirs = settings.confine and not settings.cache_root_is_trusted
    if is_theirs and not disk.is_within(settings.cache_root, settings.project_root):
        raise SettingsError(
            f"the cache root leads out of the project: {settings.cache_root}", hint="name it with --cache-root"
        )


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

    if len(data) > limits.SETTINGS_BYTES or any(line.count(b".") > limits.SETTINGS_DOTS for line in data.splitlines()):
        raise SettingsError(f"{path}: too large to be settings", hint="mend the file or remove it")
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}", hint="mend the file or remove it") from None
    return SettingsFile(path=path, directory=directory, values=values, trusted=trusted)

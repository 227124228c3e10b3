"""What did the user choose? Flags over environment over `contexthall.toml` over defaults, resolved once.

Pure: flags, environment and the contents of files are arguments.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from contexthall.config.profiles import TOOLSETS, read_profiles
from contexthall.core import limits
from contexthall.core.errors import SettingsError, UsageError
from contexthall.core.paths import absolute
from contexthall.core.profile import Profile
from contexthall.core.store_url import is_url, parse_url

SETTINGS_FILE = "contexthall.toml"
DEFAULT_CACHE_ROOT = ".context/caches"
_VISIBLE = re.compile("[!-~]+")


class Settings(NamedTuple):
    """Every choice, resolved: paths are absolute, values are in range."""

    working_directory: str
    project_root: str
    cache_root: str
    cache_root_is_named: bool = False
    cache_root_is_trusted: bool = False
    """Whether the user, and not the project, said where it is."""
    toolsets: tuple[str, ...] = TOOLSETS
    confine: bool = False
    allow_roots: tuple[str, ...] = ()
    """Directories, and URLs below which callers may name caches in stores."""
    tool_timeout_seconds: float = limits.NATIVE_TOOL_SECONDS
    reply: Literal["json", "text"] = "json"
    """The form of answers from caches of format 2 where nobody asks for one."""
    refresh_caches: Literal["auto", "never"] = "auto"
    """Whether a hall that serves refreshes its caches whose sources are in the project."""
    user_cache: str = ""
    """Where things may be remembered that can be found out again; empty if there is no such place."""
    user_state: str = ""
    """Where things are remembered that cannot; empty if there is no such place."""
    guild: str = ""
    """Where the members of the guild are; empty if nobody named it, for they are executed."""
    guild_refresh: Literal["all", "stale", "never"] = "all"
    guild_budget: int | None = None
    guild_trust: Literal["warn", "hold"] = "warn"
    guild_pins: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = MappingProxyType({})
    http_token: str = ""
    """What whoever speaks over HTTP must know; empty if that is nothing."""

    def __repr__(self) -> str:
        """Return every choice but the token, which is nobody else's business."""
        shown = (f"{name}={value!r}" for name, value in self._asdict().items() if name != "http_token")
        return f"Settings({', '.join(shown)})"


class SettingsFile(NamedTuple):
    """A `contexthall.toml`, read. The user's own is trusted; a project's was written by whoever wrote the project."""

    path: str
    directory: str
    values: Mapping[str, object]
    trusted: bool


def resolve(
    *,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    files: Sequence[SettingsFile],
    working_directory: str,
    project_root: str,
) -> Settings:
    """Merge all sources, strongest first; a bad value is an error even where a stronger source overrides it."""
    own = [_flags(flags, working_directory), _environment(environment, working_directory)]
    sources = [*((source, True) for source in own), *((_file(file), file.trusted) for file in files)]
    naming = [is_trusted for source, is_trusted in sources if "cache_root" in source]
    chosen: dict[str, Any] = {"cache_root_is_trusted": naming[:1] == [True]}
    for source, _ in sources:
        chosen = source | chosen
    defaults = {
        "cache_root": absolute(DEFAULT_CACHE_ROOT, project_root),
        "user_cache": user_directory(environment, "XDG_CACHE_HOME", ".cache"),
        "user_state": user_directory(environment, "XDG_STATE_HOME", ".local/state"),
    }
    chosen = defaults | chosen
    # Whoever names the default, as `context connect` does, need not have it there.
    is_named = chosen["cache_root"] != defaults["cache_root"]
    return Settings(
        working_directory=working_directory, project_root=project_root, cache_root_is_named=is_named, **chosen
    )


def user_directory(environment: Mapping[str, str], variable: str, below_home: str) -> str:
    """Return where the hall keeps the user's own things of one kind, by the XDG rules; empty if there is no home."""
    base, home = environment.get(variable, ""), environment.get("HOME", "")
    if not base.startswith("/"):  # a relative one is to be ignored
        base = f"{home}/{below_home}" if home.startswith("/") else ""
    return absolute("contexthall", base) if base else ""


class _Key(NamedTuple):
    """A choice: the field it fills, how its value is read, and who may make it."""

    field: str
    read: Callable[[Any, str], object]
    variable: str = ""
    trusted_only: bool = False
    is_secret: bool = False
    names_fault: bool = False
    """Whether its error says itself what is bad, of a value that is large."""


def _path(value: object, base: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be the path of a directory")
    return absolute(value, base)


def _roots(value: object, base: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of directories")
    return tuple(_url(each) if isinstance(each, str) and is_url(each) else _path(each, base) for each in value)


def _url(value: str) -> str:
    try:
        return parse_url(value)
    except UsageError as error:
        raise ValueError(f"has {error.detail}") from None


def _toolsets(value: object, _base: str) -> tuple[str, ...]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(name in TOOLSETS for name in names):
        raise ValueError(f"must name some of {', '.join(TOOLSETS)}")
    return tuple(name for name in TOOLSETS if name in names)


def _flag(value: object, _base: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _seconds(value: object, _base: str) -> float:
    with suppress(ValueError, OverflowError):
        if isinstance(value, str | int | float) and not isinstance(value, bool) and 0 < float(value) < math.inf:
            return float(value)
    raise ValueError("must be a number of seconds above 0")


def _one_of(*names: str) -> Callable[[Any, str], object]:
    def read(value: object, _base: str) -> str:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return str(value)

    return read


def _token_count(value: object, _base: str) -> int:
    with suppress(ValueError):
        if isinstance(value, str | int) and not isinstance(value, bool) and int(value) >= 0:
            return int(value)
    raise ValueError("must be a whole number of tokens, 0 or more")


def _names(value: object, _base: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise ValueError("must be a list of names")
    return tuple(value)


def visible(value: object, _base: str = "") -> str:
    """Read a secret that a header and an address can carry."""
    if not isinstance(value, str) or not _VISIBLE.fullmatch(value):
        raise ValueError("must be letters, digits and signs of ASCII, without spaces")
    return value


_KEYS = {
    "cache_root": _Key("cache_root", _path, "CONTEXT_CACHE_ROOT"),
    "toolsets": _Key("toolsets", _toolsets),
    "confine": _Key("confine", _flag, trusted_only=True),
    "allow_root": _Key("allow_roots", _roots, trusted_only=True),
    "tool_timeout_secs": _Key("tool_timeout_seconds", _seconds, "CONTEXT_TOOL_TIMEOUT_SECS"),
    "reply": _Key("reply", _one_of("json", "text"), "CONTEXT_REPLY"),
    "refresh_caches": _Key("refresh_caches", _one_of("auto", "never"), "CONTEXT_REFRESH_CACHES", trusted_only=True),
    "guild": _Key("guild", _path, "CONTEXT_GUILD", trusted_only=True),
    "guild_refresh": _Key("guild_refresh", _one_of("all", "stale", "never"), trusted_only=True),
    "guild_budget": _Key("guild_budget", _token_count, trusted_only=True),
    "guild_trust": _Key("guild_trust", _one_of("warn", "hold"), trusted_only=True),
    "guild_pin": _Key("guild_pins", _names, trusted_only=True),
    "profiles": _Key("profiles", read_profiles, trusted_only=True, names_fault=True),
    "http_token": _Key("http_token", visible, "CONTEXT_HTTP_TOKEN", trusted_only=True, is_secret=True),
}


def _read(key: _Key, value: object, base: str, name: str) -> object:
    try:
        return key.read(value, base)
    except ValueError as error:
        # A URL may hold a password, although none should.
        is_hidden = key.is_secret or key.names_fault or "://" in repr(value)
        shown = "" if is_hidden else f", not {value!r}"
        raise SettingsError(f"{name} {error}{shown}") from None


def _flags(flags: Mapping[str, object], base: str) -> dict[str, object]:
    names = {key: "--" + key.replace("_", "-") for key in flags}
    return {_KEYS[key].field: _read(_KEYS[key], value, base, names[key]) for key, value in flags.items()}


def _environment(environment: Mapping[str, str], base: str) -> dict[str, object]:
    """Read our variables; an empty one counts as not set."""
    ours = [key for key in _KEYS.values() if environment.get(key.variable)]
    return {key.field: _read(key, environment[key.variable], base, key.variable) for key in ours}


def _file(file: SettingsFile) -> dict[str, object]:
    chosen = {}
    for name, value in file.values.items():
        where = f"{file.path}: `{name}`"
        if name not in _KEYS:
            raise SettingsError(f"{where} is not a setting", hint=f"the settings are {', '.join(_KEYS)}")
        key = _KEYS[name]
        if key.trusted_only and not file.trusted:
            raise SettingsError(
                f"{where} may not be set by a project", hint="set it with a flag or in your own configuration"
            )
        chosen[key.field] = _read(key, value, file.directory, where)
    # The cache root is also what callers are confined to, so a project that could move it could widen it.
    cache_root = str(chosen.get("cache_root", file.directory))
    if not file.trusted and not f"{cache_root}/".startswith(file.directory.rstrip("/") + "/"):
        raise SettingsError(
            f"{file.path}: `cache_root` may not leave the project", hint="set it with --cache-root instead"
        )
    return chosen

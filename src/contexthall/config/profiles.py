"""What do the tables `[profiles.NAME]` of the user's settings say? Pure."""

import re
from collections.abc import Mapping

from contexthall.core.profile import Profile

TOOLSETS = ("caches", "contexts", "guild")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEYS = ("toolsets", "members", "tools")


def read_profiles(value: object, _base: str) -> dict[str, Profile]:
    """Read all profiles; a ValueError names the one that is bad."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be tables such as [profiles.review], not {value!r}")
    return {name: _profile(name, table) for name, table in value.items()}


def _profile(name: str, table: object) -> Profile:
    if not _NAME.fullmatch(name):
        raise ValueError(f"cannot have the name {name!r}: it must be letters, digits, `-` and `_`, at most 64")
    try:
        return Profile(name, **_choices(table))
    except ValueError as error:
        raise ValueError(f"cannot be used: in [profiles.{name}], {error}") from None


def _choices(table: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, Mapping):
        raise ValueError(f"a table must stand, not {table!r}")
    for key in table:
        if key not in _KEYS:
            raise ValueError(f"`{key}` is not known: a profile has {', '.join(_KEYS)}")
    if not table:
        raise ValueError(f"nothing is named: a profile has some of {', '.join(_KEYS)}")
    chosen = {key: _patterns(key, table[key]) for key in ("toolsets", "members") if key in table}
    for name in chosen.get("toolsets", ()):
        if name not in TOOLSETS:
            raise ValueError(f"`toolsets` must name some of {', '.join(TOOLSETS)}, not {name!r}")
    return chosen | _tools(table["tools"]) if "tools" in table else chosen


def _tools(value: object) -> dict[str, tuple[str, ...]]:
    """Read patterns of tools: a list of those that are in, or a table of `allow` and `deny` as a manifest has it."""
    if not isinstance(value, Mapping):
        return {"tools": _patterns("tools", value)}
    fields = {"allow": "tools", "deny": "denied_tools"}
    if not value or not all(key in fields for key in value):
        raise ValueError(f"`tools` must be a list, or a table of `allow` and `deny`, not {dict(value)!r}")
    return {fields[key]: _patterns(f"tools.{key}", patterns) for key, patterns in value.items()}


def _patterns(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise ValueError(f"`{key}` must be a list of at least one name or pattern, not {value!r}")
    return tuple(value)

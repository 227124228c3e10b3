"""What did the server offer when it was last asked?

One file a member, written in one step, so that it is there whole or not at all. What cannot be read is as good as not
there, and what cannot be written stops nobody. Whether a list still speaks for its server is judged without a look at
the disk or the clock.
"""

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from contexthall.core import wire
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.guild.lists.definitions import is_deep, validate_tools
from contexthall.guild.lists.memory import Remembered
from contexthall.guild.members.roster import Freshness, Member
from contexthall.system.disk import Disk

logger = logging.getLogger(__name__)

FILE_NAME = "tools-cache.json"
MOST_BYTES = 64 << 20
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_SURELY_FLAT = 20


class MalformedCacheError(ValueError):
    """A file that is no tools cache; the message says why."""


class CachedTools(NamedTuple):
    """A member's tools as last seen."""

    version: str
    tools: tuple[JsonObject, ...]
    cached_at: str
    digest: str = ""
    """The hex SHA-256 of the file."""


def parse(data: bytes, remembered: Remembered | None = None) -> CachedTools:
    """Read a tools cache, of which every entry must be well-formed; else MalformedCacheError.

    The tools of the very file that is remembered were examined when it was written, and are the remembered ones.
    """
    if len(data) > MOST_BYTES:
        raise MalformedCacheError(f"it is larger than {MOST_BYTES} bytes")
    try:
        value = wire.parse(data, finite=True)
    except ValueError as error:
        raise MalformedCacheError(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedCacheError("it is not an object")
    digest = sha256(data).hexdigest()
    known = remembered.current if remembered is not None and remembered.cache_digest == digest else None
    return CachedTools(
        version=_text(value, "version"),
        tools=_tools(value.get("tools"), may_be_deep=_may_be_deep(data)) if known is None else known,
        cached_at=_moment(_text(value, "cachedAt")),
        digest=digest,
    )


def render(version: str, tools: Sequence[JsonObject], cached_at: str) -> bytes:
    """Spell a tools cache."""
    return (wire.pretty({"version": version, "tools": list(tools), "cachedAt": cached_at}) + "\n").encode("utf-8")


def judge(cached: CachedTools | None, version: str, remembered: Remembered | None, fingerprint: str) -> Freshness:
    """Say whether `cached` still speaks for a server of that version; an empty fingerprint was not looked at."""
    if cached is None:
        return Freshness("missing", "its tools cache cannot be used" if remembered else "no list yet")
    if cached.version != version:
        return Freshness("missing", f"written for version {cached.version}, the manifest says {version}")
    if remembered is None or remembered.cache_digest != cached.digest:  # by somebody else, of whom nothing is known
        return Freshness("fresh")
    if changed := _changed(remembered.fingerprint, fingerprint):
        return Freshness("outdated", f"{changed} changed")
    return Freshness("fresh")


class ToolsCaches:
    """The tools caches of all members, below `directory`; without one, each in its member's own directory."""

    def __init__(self, disk: Disk, directory: str | None = None) -> None:
        self._disk = disk
        self._directory = directory

    def path_of(self, member: Member) -> str:
        """Say where a member's cache is, or would be."""
        return os.path.join(self._directory_of(member), FILE_NAME)

    def read(self, member: Member, remembered: Remembered | None = None) -> CachedTools | None:
        """Read what a member offered when it was last asked; None if that is not known.

        With what is remembered of the member it is quicker.
        """
        try:
            _, data = self._disk.read_small(self.path_of(member), MOST_BYTES)
            return parse(data, remembered)
        except PathMissingError:
            return None
        except (DiskError, MalformedCacheError) as error:
            logger.warning("the tools cache of %s is ignored: %s", member.name, error)
            return None

    def write(self, member: Member, tools: Sequence[JsonObject], cached_at: str) -> CachedTools | None:
        """Write down what a member offers; where that cannot be done, it is logged, and None."""
        try:
            data = render(member.version, tools, cached_at)
            cached = parse(data)  # what could not be read again is not written
            self._replace(self._directory_of(member), data)
        except (DiskError, ValueError, RecursionError) as error:
            logger.error("the tools cache of %s cannot be written: %s", member.name, error)  # noqa: TRY400 - no mistake of ours
            return None
        return cached

    def _replace(self, directory: str, data: bytes) -> None:
        if self._directory is not None:
            self._disk.make_directories(directory)
        with self._disk.enter(directory) as opened:
            opened.replace(FILE_NAME, data)

    def _directory_of(self, member: Member) -> str:
        return member.directory if self._directory is None else os.path.join(self._directory, member.key)


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str):
        raise MalformedCacheError(f"its {key} is not a string")
    return text


def _moment(text: str) -> str:
    """Give a time in UTC, which one without an offset is taken to be; as it is spelt where that says so already."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.utcoffset() == timedelta(0):
            return text
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise MalformedCacheError("its cachedAt is not an ISO 8601 time") from None
    if "T" not in text and " " not in text:
        raise MalformedCacheError("its cachedAt has no time of day")
    return moment.isoformat().replace("+00:00", "Z")


def _may_be_deep(data: bytes) -> bool:
    """Say whether JSON may be nested too deeply, at a glance: its brackets are taken away from the inside."""
    brackets = data.translate(None, delete=_NO_BRACKETS)
    for _ in range(_SURELY_FLAT):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return bool(brackets)


def _tools(listed: object, *, may_be_deep: bool) -> tuple[JsonObject, ...]:
    if not isinstance(listed, list):
        raise MalformedCacheError("its tools are not a list")
    if may_be_deep and is_deep(listed):
        raise MalformedCacheError("it is nested too deeply")
    tools, faults = validate_tools(listed, is_read=True)
    if faults:
        raise MalformedCacheError(faults[0])
    for tool in listed:
        if not isinstance(tool.get("description"), str):
            raise MalformedCacheError(f'the tool "{tool["name"]}" has no description')
    return tuple(tools)


def _changed(remembered: str, found: str) -> str:
    """Name what two fingerprints, neither of them empty, differ in."""
    if not (remembered and found):
        return ""
    pairs = zip(("launch spec", "files"), remembered.split("-"), found.split("-"), strict=False)
    return " and ".join(called for called, before, after in pairs if before != after)

"""The tools cache: what a member's server offered when it was last asked, in one file, replaced atomically.

A file that cannot be read counts as missing; a failure to write one is logged, and harms nothing else.
"""

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from contexthall.core import limits, wire
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.guild.lists.definitions import validate_tools
from contexthall.guild.lists.memory import MemberRecord, text_in
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk

logger = logging.getLogger(__name__)

FILE_NAME = "tools-cache.json"


class CachedTools(NamedTuple):
    """A member's tools as last seen."""

    version: str
    tools: tuple[JsonObject, ...]
    cached_at: str
    digest: str = ""
    """The hex SHA-256 of the file."""


def parse(data: bytes, record: MemberRecord | None = None) -> CachedTools:
    """Return a tools cache, or raise ValueError if any entry is not well-formed.

    The tools of the very file whose digest is recorded were validated when it was written, and are the recorded ones.
    """
    if len(data) > limits.TOOLS_CACHE_BYTES:
        raise ValueError(f"it is larger than {limits.TOOLS_CACHE_BYTES} bytes")
    try:
        value = wire.parse(data, finite=True)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    digest = sha256(data).hexdigest()
    known = record.current if record is not None and record.cache_digest == digest else None
    return CachedTools(
        version=text_in(value, "version"),
        tools=_tools(value.get("tools"), data) if known is None else known,
        cached_at=_moment(text_in(value, "cachedAt")),
        digest=digest,
    )


def render(version: str, tools: Sequence[JsonObject], cached_at: str) -> bytes:
    """Return the bytes of a tools cache."""
    return (wire.pretty({"version": version, "tools": list(tools), "cachedAt": cached_at}) + "\n").encode("utf-8")


class ToolsCaches:
    """The tools caches of all members, below `directory`; without one, each in its member's own directory."""

    def __init__(self, disk: Disk, directory: str | None = None) -> None:
        self._disk = disk
        self._directory = directory

    def read(self, member: Member, record: MemberRecord | None = None) -> CachedTools | None:
        """Return what a member offered when it was last asked; None if that is not known.

        With the member's record it is quicker.
        """
        try:
            path = os.path.join(self._directory_of(member), FILE_NAME)
            _, data = self._disk.read_small(path, limits.TOOLS_CACHE_BYTES)
            return parse(data, record)
        except PathMissingError:
            return None
        except (DiskError, ValueError) as error:
            logger.warning("the tools cache of %s is ignored: %s", member.name, error)
            return None

    def write(self, member: Member, tools: Sequence[JsonObject], cached_at: str) -> CachedTools | None:
        """Write what a member offers; a failure to do so is logged, and gives None."""
        try:
            data = render(member.version, tools, cached_at)
            cached = parse(data)  # what could not be read again is not written
            directory = self._directory_of(member)
            if self._directory is not None:
                self._disk.make_directories(directory)
            with self._disk.enter(directory) as opened:
                opened.replace(FILE_NAME, data)
        except (DiskError, ValueError, RecursionError) as error:
            logger.error("the tools cache of %s cannot be written: %s", member.name, error)  # noqa: TRY400 - no mistake of ours
            return None
        return cached

    def _directory_of(self, member: Member) -> str:
        return member.directory if self._directory is None else os.path.join(self._directory, member.key)


def _moment(text: str) -> str:
    """Return a time in UTC, unchanged if it is in UTC already; one without an offset is taken to be in UTC."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.utcoffset() == timedelta(0):
            return text
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("its cachedAt is not an ISO 8601 time") from None
    if "T" not in text and " " not in text:
        raise ValueError("its cachedAt has no time of day")
    return moment.isoformat().replace("+00:00", "Z")


def _tools(listed: object, data: bytes) -> tuple[JsonObject, ...]:
    if not isinstance(listed, list):
        raise ValueError("its tools are not a list")
    if wire.is_deep(data, 2 + limits.TOOL_DEFINITION_LEVELS):
        raise ValueError("it is nested too deeply")
    tools, faults = validate_tools(listed, is_read=True)
    if faults:
        raise ValueError(faults[0])
    for tool in listed:
        if not isinstance(tool.get("description"), str):
            raise ValueError(f'the tool "{tool["name"]}" has no description')
    return tuple(tools)

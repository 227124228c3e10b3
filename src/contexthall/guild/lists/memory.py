"""The records of members, in the user's state directory, where no member can change them: one file a member.

Where no record can be kept, every list is taken as it comes.
"""

import json
import logging
import os
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from contexthall.core import limits, wire
from contexthall.core.catalog import JsonObject
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.guild.log import BoundedLog
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk

logger = logging.getLogger(__name__)

# A release that validates tools more strictly counts it up: what is remembered is not examined again.
_FORMAT = 1
_UNREADABLE_PART = re.compile(r"[^A-Za-z0-9_]+")
_DIGITS = 12


class MemberRecord(NamedTuple):
    """All that is known of a member besides its list; without a listing, only how it failed."""

    version: str = ""
    """That of the manifest when its tools were last listed, like all that follows."""
    fingerprint: str = ""
    """The digest of the launch spec, a dash, and the digest of the files."""
    cache_digest: str = ""
    """The hex SHA-256 of the tools cache that was written; empty if it could not be."""
    cached_at: str = ""
    """When its tools were listed; empty if they never were."""
    approved: tuple[JsonObject, ...] | None = None
    """The definitions that were seen first, or that a person approved since; None before any were."""
    baseline: tuple[JsonObject, ...] = ()
    """The definitions that were seen first of this version."""
    current: tuple[JsonObject, ...] = ()
    """The definitions last seen, which may differ from the approved ones."""
    left_out: tuple[str, ...] = ()
    """What was wrong with tools that are not offered, a sentence each."""
    failure: str = ""
    """When and how it failed since its tools were listed."""

    @property
    def is_listed(self) -> bool:
        return bool(self.cached_at)


class Memory:
    """The records of all members, in `directory`; if that is empty, none is kept."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._lost: dict[str, Exception] = {}

    def recall(self, member: Member) -> MemberRecord | None:
        """Return the record of the member in this very directory; None if there is none that can be read."""
        self._lost.pop(member.name, None)
        if not self._directory:
            return None
        try:
            # By where it really is, else by where it is said to be: a symlink may have been put in the place of it.
            for directory in dict.fromkeys((self._disk.real(member.directory), member.directory)):
                if (data := self._read(directory)) is not None:
                    return _parsed(wire.parse(data, lone_surrogates=True, finite=True), directory)
        except PathMissingError:
            pass
        except (DiskError, ValueError) as error:
            logger.warning("what was remembered of %s is ignored: %s", member.name, error)
            self._lost[member.name] = error
        return None

    def knows(self, name: str, directory: str) -> bool:
        """Return whether the tools of the member in a directory were listed, under that name."""
        try:
            real = self._disk.real(directory)
            kept = wire.parse(self._read(real) or b"", lone_surrogates=True)
        except (DiskError, ValueError):
            return False
        if not isinstance(kept, dict) or kept.get("directory") != real or not kept.get("cached_at"):
            return False
        # A file without a name was written by an older release, under the only name that the member had.
        return bool(kept.get("name", name) == name)

    def has_lost(self, member: Member) -> bool:
        """Return whether a member has a record that could not be read, or parsed, when last wanted."""
        return member.name in self._lost

    def is_damaged(self, member: Member) -> bool:
        """Return whether the record of a member could be read, but not parsed."""
        return isinstance(self._lost.get(member.name), ValueError)

    def remember(self, member: Member, record: MemberRecord) -> None:
        """Write the record of a member; a failure to do so is logged."""
        try:
            self.keep(member, record)
        except (DiskError, ValueError) as error:
            logger.error("what is known of %s cannot be remembered: %s", member.name, error)  # noqa: TRY400 - no mistake of ours

    def keep(self, member: Member, record: MemberRecord) -> None:
        """Write the record of a member, synced to the disk, or raise DiskError."""
        if not self._directory:
            return
        real = self._disk.real(member.directory)
        data = _to_json(record, member.name, real)
        for directory in (os.path.dirname(self._directory), self._directory):  # each of them for the user alone
            self._disk.make_directories(directory)
        with self._disk.enter(self._directory) as opened:
            opened.replace(f"{_stem(real)}.json", data, sync=True)

    def note_failure(self, member: Member, failure: str) -> None:
        """Add to the record of a member how it failed; a record that cannot be read just now stays as it is."""
        record = self.recall(member)
        if not self.has_lost(member):
            text = failure.encode("utf-8", "replace").decode("utf-8")
            self.remember(member, (record or MemberRecord())._replace(failure=text))

    def stamp(self, member: Member | None = None) -> object:
        """Return a value that changes whenever a record is written, this member's or any; None if there is none."""
        try:
            file = f"{self.name_of(member)}.json" if member else ""
            return self._disk.look(os.path.join(self._directory, file)).stamp if self._directory else None
        except DiskError:
            return None

    def name_of(self, member: Member) -> str:
        """Return the stem of a member's file names: readable, and different for every directory.

        What its manifest calls it does not count: a member could shake off what is remembered by another name.
        """
        return _stem(self._disk.real(member.directory))

    def log_of(self, member: Member) -> BoundedLog:
        """Return the log of a member's standard error, for one run of its server."""
        try:
            directory = os.path.join(self._directory, "logs") if self._directory else ""
            return BoundedLog(self._disk, directory, self.name_of(member))
        except DiskError as error:
            logger.warning("what %s says is not kept: %s", member.name, error)
            return BoundedLog(self._disk, "", "")

    def _read(self, directory: str) -> bytes | None:
        """Return the file about a directory; None if there is none. In older releases its name began otherwise."""
        try:
            return self._disk.read(os.path.join(self._directory, f"{_stem(directory)}.json"))
        except PathMissingError:
            ending = f"-{_digits(directory)}.json"
            older = [each.name for each in self._disk.list(self._directory) if each.name.endswith(ending)]
            return self._disk.read(os.path.join(self._directory, older[0])) if older else None


def _stem(directory: str) -> str:
    readable = _UNREADABLE_PART.sub("-", os.path.basename(directory)).strip("-")[: limits.RECORD_NAME_CHARACTERS]
    return f"{readable or 'member'}-{_digits(directory)}"


def _digits(directory: str) -> str:
    return sha256(os.fsencode(directory)).hexdigest()[:_DIGITS]


def _to_json(record: MemberRecord, name: str, directory: str) -> bytes:
    approved = _json(record.approved)
    kept = {"format": _FORMAT, "name": name, "directory": directory, **record._asdict()}
    kept |= {key: None for key in ("baseline", "current") if _json(kept[key]) == approved}
    # ASCII, because a directory that is not UTF-8 has lone surrogates in its name.
    return _json(kept).encode("ascii")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _parsed(kept: object, directory: str) -> MemberRecord | None:
    """Return the record that was kept; None if it is about another directory. ValueError if it is malformed."""
    if not isinstance(kept, dict) or kept.get("format") != _FORMAT:
        raise ValueError(f"it is not of format {_FORMAT}")
    if text_in(kept, "directory") != directory:
        return None
    failure = text_in({"failure": "", **kept}, "failure")  # an older release kept it in a file of its own, which lapses
    if not text_in(kept, "cached_at"):
        return MemberRecord(failure=failure)
    approved = _all_in(kept, "approved", _is_tool, "tools")
    baseline = approved if kept.get("baseline") is None else _all_in(kept, "baseline", _is_tool, "tools")
    current = approved if kept.get("current", "") is None else _all_in(kept, "current", _is_tool, "tools")
    left_out = _all_in(kept, "left_out", lambda each: isinstance(each, str), "sentences")
    texts = (text_in(kept, key) for key in ("version", "fingerprint", "cache_digest", "cached_at"))
    version, fingerprint, digest, cached_at = texts
    return MemberRecord(version, fingerprint, digest, cached_at, approved, baseline, current, left_out, failure)


def text_in(kept: dict[str, Any], key: str) -> str:
    """Return a string out of an object, or raise ValueError."""
    if not isinstance(text := kept.get(key), str):
        raise ValueError(f"its {key} is not a string")
    return text


def _all_in(kept: dict[str, Any], key: str, is_one: Callable[[Any], bool], what: str) -> tuple[Any, ...]:
    values = kept.get(key)
    if not isinstance(values, list) or not all(map(is_one, values)):
        raise ValueError(f"its {key} are not {what}")
    return tuple(values)


def _is_tool(tool: object) -> bool:
    parts = {"name": str, "description": str, "inputSchema": dict}
    return isinstance(tool, dict) and all(isinstance(tool.get(key), kind) for key, kind in parts.items())

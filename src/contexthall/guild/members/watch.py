"""Has the guild directory changed? A look that costs a few system calls a member, and who is there if it has.

A look compares which directories there are and which files their manifests are, by identity, size and times; what
those say, only discovery reads.
"""

import os
from collections.abc import Iterator
from typing import TypeAlias

from contexthall.core.errors import DiskError
from contexthall.guild.members.discovery import IsKnown, discover_guild_members, is_looked_into
from contexthall.guild.members.manifest import FILE_NAMES
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk

Look: TypeAlias = tuple[object, ...]


class GuildWatch:
    """The directory of a guild, looked at again and again."""

    def __init__(self, disk: Disk, directory: str, is_known: IsKnown) -> None:
        self._disk = disk
        self._directory = directory
        self._is_known = is_known

    def look(self) -> Look:
        """Return a value that differs whenever a member came, went, was replaced, or has another manifest."""
        return tuple(self._looked_at(self._directory, is_collection=False))

    def discover(self) -> dict[str, Member]:
        """Return the members that are there now, by name."""
        members = discover_guild_members(self._directory, self._disk, self._is_known)
        for member in members.values():
            member.identity = _identity(self._disk, member.directory)
        return members

    def _looked_at(self, directory: str, *, is_collection: bool) -> Iterator[object]:
        try:
            entries = self._disk.list(directory)
        except DiskError as error:
            yield directory, type(error).__name__
            return
        for entry in entries:
            if entry.kind not in ("directory", "symlink") or not is_looked_into(entry.name):
                continue
            path = os.path.join(directory, entry.name)
            manifests = [self._stamp(os.path.join(path, name)) for name in FILE_NAMES]
            yield path, _identity(self._disk, path), *manifests
            if not is_collection and not any(manifests):
                yield from self._looked_at(path, is_collection=True)

    def _stamp(self, path: str) -> object:
        try:
            return self._disk.look(path).stamp
        except DiskError:
            return None


def _identity(disk: Disk, path: str) -> object:
    """Return what tells a directory from another one that is put in its place."""
    try:
        return disk.look(path).identity
    except DiskError:
        return None

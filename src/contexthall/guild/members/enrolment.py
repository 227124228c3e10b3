"""How does a server become a member? Its manifest is written, in one step, and none is ever replaced."""

import os
import re
from contextlib import suppress

from contexthall.core.errors import DiskError, HallError, UsageError
from contexthall.guild.members.discovery import discover_guild_members, is_looked_into
from contexthall.guild.members.manifest import FILE_NAMES, FIRST_VERSION, Launch, ManifestError, write_manifest
from contexthall.system.disk import Disk


def enrol(disk: Disk, guild: str, name: str, launch: Launch, *, version: str = FIRST_VERSION) -> None:
    """Write the manifest of a new member, in a directory of its name."""
    check_directory(name)
    if member := discover_guild_members(guild, disk).get(name):
        with suppress(DiskError), disk.enter(member.directory) as opened:
            opened.tidy()  # it may be there because we were killed just before the end
        raise taken(name)
    try:
        manifest = write_manifest(name, launch, version=version)
    except ManifestError as error:
        raise UsageError(str(error)) from None
    _put(disk, os.path.join(guild, name), manifest, name)


def check_directory(name: str) -> None:
    """Refuse a name of a directory in which nobody would look for a member."""
    if not name or "/" in name or "\0" in name or not is_looked_into(name):
        raise UsageError(
            f"{name!r} cannot be the name of a member's directory",
            hint="it may have no `/` and no dot at its beginning",
        )


def taken(name: str) -> UsageError:
    """Say that a name is another's."""
    return UsageError(f"the guild has a member {name} already", hint="give the new one another name")


def suitable(name: str) -> str:
    """Give the name under which a server that others named can have a directory."""
    return re.sub(r"[/\x00-\x1f\x7f-\x9f]+", "-", name).lstrip(". ").strip() or "server"


def objection(name: str, launch: Launch) -> str:
    """Say why a server cannot become a member, whoever else is one; empty if it can."""
    try:
        check_directory(name)
        write_manifest(name, launch)
    except (UsageError, ManifestError) as error:
        return str(error)
    return ""


def _put(disk: Disk, directory: str, manifest: bytes, name: str) -> None:
    made = disk.make_directories(directory)
    try:
        with disk.enter(directory) as opened:
            if not opened.put(FILE_NAMES[0], manifest, sync=True):
                raise taken(name)
    except HallError:
        for path in reversed(made):
            with suppress(DiskError):  # unless somebody has put something there
                disk.remove_directory(path)
        raise

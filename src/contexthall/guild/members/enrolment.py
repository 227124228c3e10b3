"""New members: a manifest is written atomically, and none is ever replaced."""

import os
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress

from contexthall.core.errors import DiskError, UsageError
from contexthall.guild.members.discovery import discover_guild_members, is_looked_into
from contexthall.guild.members.manifest import (
    FILE_NAMES,
    FIRST_VERSION,
    NOTHING,
    Launch,
    ManifestError,
    MemberManifest,
    parse_manifest,
    write_manifest,
)
from contexthall.guild.members.roster import Member
from contexthall.guild.members.switches import edited
from contexthall.system.disk import Disk
from contexthall.system.safe_write import rewrite

ALREADY_THERE = "the guild has a member of that name already"


def named_guild(guild: str) -> str:
    """Return the directory of a guild, or raise UsageError if none is named."""
    if not guild:
        raise UsageError("no guild is named", hint="name its directory with --guild DIR or CONTEXT_GUILD")
    return guild


def existing_guild(disk: Disk, guild: str) -> str:
    """Return the directory of a guild, or raise UsageError if none is named or it is not there."""
    if disk.kind(named_guild(guild)) != "directory":
        raise UsageError(
            f"the guild is not a directory: {guild}",
            hint="name one with --guild DIR; `context guild add NAME --guild DIR -- COMMAND` makes it",
        )
    return guild


def launch_of(
    command: Sequence[str], *, env: Mapping[str, str] = NOTHING, url: str = "", headers: Mapping[str, str] = NOTHING
) -> Launch:
    """Return the launch of a server that is reached at a url, or else started by a command."""
    if url:
        return Launch(transport="http", url=url, headers=headers)
    return Launch(command="".join(command[:1]), args=tuple(command[1:]), env=env)


def enrol(disk: Disk, guild: str, name: str, launch: Launch, *, version: str = FIRST_VERSION) -> None:
    """Write the manifest of a new member, in a directory of its name."""
    directory = os.path.join(named_guild(guild), name)
    _check_directory(name)
    if member := discover_guild_members(guild, disk).get(name):
        with suppress(DiskError), disk.enter(member.directory) as opened:
            opened.tidy()  # a temporary file is left if an earlier call was killed after its link
        raise _taken(name)
    try:
        manifest = write_manifest(name, launch, version=version)
    except ManifestError as error:
        raise UsageError(str(error)) from None
    _put(disk, directory, manifest, name)


def write_switches(disk: Disk, member: Member, tools: Sequence[str], *, on: bool) -> MemberManifest:
    """Switch tools of a member on or off, or all of them, in its manifest; every other character of it stays."""
    if member.manifest is None:
        raise UsageError(f"{member.name} has no manifest that can be used: {member.error}")
    known = member.tool_names
    if unknown := [each for each in tools if known and each not in known]:
        raise UsageError(
            f"{member.name} has no tool {unknown[0]!r}", hint=f"`context guild tools {member.name}` names those it has"
        )
    with disk.enter(disk.real(member.directory)) as opened:
        name = next(each for each in FILE_NAMES if each in opened.names())
        before = opened.read(name)
        switches = parse_manifest(before).switches
        after = edited(before, switches.turned_on(tools) if on else switches.turned_off(tools))
        manifest = parse_manifest(after)
        if after != before:
            rewrite(opened, name, before, after)
    return manifest


def directory_name(name: str) -> str:
    """Return the name under which a server that others named can have a directory."""
    return re.sub(r"[/\x00-\x1f\x7f-\x9f]+", "-", name).lstrip(". ").strip() or "server"


def objection(name: str, launch: Launch, members: Container[str]) -> str:
    """Return why a server cannot become one of the members; empty if it can."""
    if name in members:
        return ALREADY_THERE
    try:
        _check_directory(name)
        write_manifest(name, launch)
    except (UsageError, ManifestError) as error:
        return str(error)
    return ""


def _check_directory(name: str) -> None:
    """Raise UsageError for a directory name in which no member would be discovered."""
    if not name or "/" in name or "\0" in name or not is_looked_into(name):
        raise UsageError(
            f"{name!r} cannot be the name of a member's directory",
            hint="it may have no `/` and no dot at its beginning",
        )


def _taken(name: str) -> UsageError:
    return UsageError(f"the guild has a member {name} already", hint="give the new one another name")


def _put(disk: Disk, directory: str, manifest: bytes, name: str) -> None:
    with disk.making_directories(directory, mode=0o700), disk.enter(directory) as opened:
        if not opened.put(FILE_NAMES[0], manifest, sync=True):
            raise _taken(name)

"""Discovery of members: every directory with a manifest, and those one level below a directory without one.

Nothing here fails: what cannot be used is a member all the same, with status `error` and the reason. Names are unique,
and the same directory gives the same members in the same order.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.core.paths import absolute, shown
from contexthall.guild.members.manifest import FILE_NAMES, TOO_LARGE, ManifestError, parse_manifest
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk, Entry

logger = logging.getLogger(__name__)

IsKnown: TypeAlias = Callable[[str, str], bool]

_PASSED_OVER = "node_modules"


def discover_guild_members(
    directory: str, disk: Disk | None = None, is_known: IsKnown = lambda _name, _directory: False
) -> dict[str, Member]:
    """Find the members in a guild directory, by name; none if it is not there or cannot be read.

    Where several want one name, it stays with the directory that is known by it.
    """
    disk = disk or Disk()
    try:
        root = absolute(directory, disk.working_directory())
        found = sorted(_search(disk, root), key=lambda member: (member.key, member.directory))
    except DiskError as error:
        if not isinstance(error, PathMissingError):
            logger.error("the guild cannot be read: %s", error)  # noqa: TRY400 - no mistake of ours
        return {}
    _name(found, is_known)
    return {member.name: member for member in sorted(found, key=lambda member: member.name)}


def is_looked_into(name: str) -> bool:
    """Return whether a directory of this name may be a member's: neither hidden nor of dependencies."""
    return not name.startswith(".") and name != _PASSED_OVER


def _search(disk: Disk, root: str, collection: str = "") -> Iterator[Member]:
    """Find members, each by the name in its manifest, or an empty one; directories without one are collections."""
    directory = os.path.join(root, collection) if collection else root
    try:
        names = _directories(disk, directory)
    except DiskError as error:
        if not collection:
            raise
        if not isinstance(error, PathMissingError):  # it may be gone since it was listed
            yield _unusable(shown(collection), directory, _unreadable("its directory", error))
        return
    for name in names:
        found = _look_at(disk, root, os.path.join(collection, name))
        if found is not None:
            yield found
        elif not collection:
            yield from _search(disk, root, name)


def _directories(disk: Disk, path: str) -> list[str]:
    """Return the names of directories that may be members', and of symlinks to such."""
    return [entry.name for entry in disk.list(path) if is_looked_into(entry.name) and _is_directory(disk, path, entry)]


def _is_directory(disk: Disk, path: str, entry: Entry) -> bool:
    if entry.kind != "symlink":
        return entry.kind == "directory"
    try:
        return disk.kind(os.path.join(path, entry.name)) == "directory"
    except DiskError:  # somebody linked it in, and shall learn why it does not work
        return True


def _look_at(disk: Disk, root: str, relative: str) -> Member | None:
    """Return the member in a directory; None if that has no manifest."""
    key, directory = shown(relative), os.path.join(root, relative)
    for name in FILE_NAMES:
        try:
            if (data := _read(disk, os.path.join(directory, name), name)) is not None:
                manifest = parse_manifest(data)
                return Member(name=manifest.name, key=key, directory=directory, manifest=manifest)
        except DiskError as error:
            return _unusable(key, directory, _unreadable(f"`{name}`", error))
        except ManifestError as error:
            return _unusable(key, directory, str(error))
    return None


def _read(disk: Disk, path: str, name: str) -> bytes | None:
    """Return the bytes of a manifest, following a symlink; None if nothing has that name."""
    try:
        return disk.read_small(path, limits.MANIFEST_BYTES)[1]
    except DiskError:  # not an ordinary file: what is it?
        if disk.kind(path, follow=False) is None:
            return None
    kind, size, _ = disk.look(path)
    if kind != "file":
        raise ManifestError(f"`{name}` is not a regular file")
    if size > limits.MANIFEST_BYTES:
        raise ManifestError(TOO_LARGE)
    return disk.read(path, follow=True)


def _unusable(key: str, directory: str, reason: str) -> Member:
    return Member(name="", key=key, directory=directory, status="error", error=reason)


def _unreadable(what: str, error: DiskError) -> str:
    """Return a sentence that something cannot be read, and why, without the path that the error names."""
    return f"{what} cannot be read: {error.cause}" if error.cause else f"{what} cannot be read"


def _name(found: Sequence[Member], is_known: IsKnown) -> None:
    """Give members their names: valid manifests have the first choice, the rest go by their keys.

    A name stays with the one that was listed under it. Else nobody takes the name of one whose directory is called so,
    or a member could pass for another, even if that other one cannot be used just now.
    """
    homes = {os.path.basename(each.key): each.key for each in reversed(found)} | {each.key: each.key for each in found}
    known_owners = _known_owners(found, homes, is_known)
    owners: dict[str, str] = {}
    nameless = []
    for member in sorted(found, key=_claim):
        key, name = member.key, member.name
        owner = known_owners.get(name) or owners.get(name) or (homes.get(name, key) if _claim(member) else key)
        if name and owner == key:
            owners[name] = key
            continue
        nameless.append(member)
        if name:
            member.status, member.error = "error", f'its name "{name}" is taken by the member in {owner}'
            member.manifest = None
    for member in nameless:
        member.name = _free_name(member.key, owners)
        owners[member.name] = member.key


def _known_owners(found: Sequence[Member], homes: Mapping[str, str], is_known: IsKnown) -> dict[str, str]:
    """Return the keys of members that are known by a name which others want too, be their manifests broken now."""
    wanted = Counter(each.name for each in found)
    contested = {
        each.name
        for each in found
        if each.name and (wanted[each.name] > 1 or wanted[""] or homes.get(each.name, each.key) != each.key)
    }
    owners: dict[str, str] = {}
    for each in sorted(found, key=_claim):
        for name in contested & {each.name} if each.name else contested:
            if name not in owners and is_known(name, each.directory):
                owners[name] = each.key
    return owners


def _claim(member: Member) -> int:
    """Return the rank of a claim to a name: 0 by its directory, 1 by the last part of that, 2 by neither."""
    names = (member.key, os.path.basename(member.key))
    return names.index(member.name) if member.name in names else len(names)


def _free_name(key: str, taken: Container[str]) -> str:
    name, number = key, 1
    while name in taken:
        number += 1
        name = f"{key}~{number}"
    return name

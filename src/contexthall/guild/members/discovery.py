"""Discovery of members: every directory with a manifest, and those one level below a directory without one.

Nothing here fails: what cannot be used is a member all the same, with status `error` and the reason. Names are unique,
and the same directory gives the same members in the same order.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from contexthall.core.errors import DiskError, PathMissingError
from contexthall.core.paths import absolute, shown
from contexthall.guild.members.manifest import (
    FILE_NAMES,
    LARGEST_BYTES,
    TOO_LARGE,
    ManifestError,
    MemberManifest,
    parse_manifest,
)
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk, Entry

logger = logging.getLogger(__name__)

IsKnown: TypeAlias = Callable[[str, str], bool]

_PASSED_OVER = "node_modules"


class DiscoveredDirectory(NamedTuple):
    """A directory that is a member's, with its manifest or the reason why there is none."""

    key: str
    directory: str
    manifest: MemberManifest | None = None
    reason: str = ""


def discover_guild_members(
    directory: str, disk: Disk | None = None, is_known: IsKnown = lambda _name, _directory: False
) -> dict[str, Member]:
    """Find the members in a guild directory, by name; none if it is not there or cannot be read.

    Where several want one name, it stays with the directory that is known by it.
    """
    disk = disk or Disk()
    try:
        root = absolute(directory, disk.working_directory())
        found = sorted(_search(disk, root))
    except DiskError as error:
        if not isinstance(error, PathMissingError):
            logger.error("the guild cannot be read: %s", error)  # noqa: TRY400 - no mistake of ours
        return {}
    members = _named(found, is_known)
    return {member.name: member for member in sorted(members, key=lambda member: member.name)}


def is_looked_into(name: str) -> bool:
    """Return whether a directory of this name may be a member's: neither hidden nor of dependencies."""
    return not name.startswith(".") and name != _PASSED_OVER


def _search(disk: Disk, root: str) -> Iterator[DiscoveredDirectory]:
    for name in _directories(disk, root):
        found = _look_at(disk, root, name)
        if found is None:
            yield from _search_collection(disk, root, name)
        else:
            yield found


def _search_collection(disk: Disk, root: str, collection: str) -> Iterator[DiscoveredDirectory]:
    directory = os.path.join(root, collection)
    try:
        names = _directories(disk, directory)
    except PathMissingError:  # since it was listed
        return
    except DiskError as error:
        yield DiscoveredDirectory(shown(collection), directory, reason=_unreadable("its directory", error))
        return
    for name in names:
        found = _look_at(disk, root, os.path.join(collection, name))
        if found is not None:
            yield found


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


def _look_at(disk: Disk, root: str, relative: str) -> DiscoveredDirectory | None:
    """Return what the manifest of a directory says; None if it has none."""
    key, directory = shown(relative), os.path.join(root, relative)
    try:
        data = _read_manifest(disk, directory)
        return None if data is None else DiscoveredDirectory(key, directory, parse_manifest(data))
    except ManifestError as error:
        return DiscoveredDirectory(key, directory, reason=str(error))


def _read_manifest(disk: Disk, directory: str) -> bytes | None:
    for name in FILE_NAMES:
        try:
            data = _read(disk, os.path.join(directory, name), name)
        except DiskError as error:
            raise ManifestError(_unreadable(f"`{name}`", error)) from None
        if data is not None:
            return data
    return None


def _read(disk: Disk, path: str, name: str) -> bytes | None:
    """Return the bytes of a manifest, following a symlink; None if nothing has that name."""
    try:
        _, data = disk.read_small(path, LARGEST_BYTES)
    except DiskError:  # not an ordinary file: what is it?
        return _read_behind(disk, path, name)
    return data


def _read_behind(disk: Disk, path: str, name: str) -> bytes | None:
    if disk.kind(path, follow=False) is None:
        return None
    kind, size, _ = disk.look(path)
    if kind != "file":
        raise ManifestError(f"`{name}` is not a regular file")
    if size > LARGEST_BYTES:
        raise ManifestError(TOO_LARGE)
    return disk.read(path, follow=True)


def _unreadable(what: str, error: DiskError) -> str:
    """Return a sentence that something cannot be read, and why, without the path that the error names."""
    return f"{what} cannot be read: {error.cause}" if error.cause else f"{what} cannot be read"


def _named(found: Iterable[DiscoveredDirectory], is_known: IsKnown) -> Iterator[Member]:
    """Yield members with their names: valid manifests have the first choice, the rest go by their keys.

    A name stays with the one that was listed under it. Else nobody takes the name of one whose directory is called so,
    or a member could pass for another, even if that other one cannot be used just now.
    """
    found = list(found)
    homes = {os.path.basename(each.key): each.key for each in reversed(found)} | {each.key: each.key for each in found}
    known_owners = _known_owners(found, homes, is_known)
    owners: dict[str, str] = {}
    nameless: list[tuple[DiscoveredDirectory, str]] = []
    for each in sorted(found, key=_claim):
        key, directory, manifest, reason = each
        if manifest is None:
            nameless.append((each, reason))
            continue
        name = manifest.name
        owner = known_owners.get(name) or owners.get(name) or (homes.get(name, key) if _claim(each) else key)
        if owner != key:
            nameless.append((each, f'its name "{name}" is taken by the member in {owner}'))
        else:
            owners[name] = key
            yield Member(name=name, key=key, directory=directory, manifest=manifest)
    for each, reason in nameless:
        name = _free_name(each.key, owners.keys())
        owners[name] = each.key
        yield Member(name=name, key=each.key, directory=each.directory, status="error", error=reason)


def _known_owners(found: Sequence[DiscoveredDirectory], homes: Mapping[str, str], is_known: IsKnown) -> dict[str, str]:
    """Return the keys of members that are known by a name which others want too, be their manifests broken now."""
    wanted = Counter(map(_name_of, found))
    contested = {
        _name_of(each)
        for each in found
        if each.manifest is not None
        and (wanted[_name_of(each)] > 1 or wanted[""] or homes.get(_name_of(each), each.key) != each.key)
    }
    owners: dict[str, str] = {}
    for each in sorted(found, key=_claim):
        for name in contested if each.manifest is None else contested & {_name_of(each)}:
            if name not in owners and is_known(name, each.directory):
                owners[name] = each.key
    return owners


def _name_of(found: DiscoveredDirectory) -> str:
    return found.manifest.name if found.manifest is not None else ""


def _claim(found: DiscoveredDirectory) -> int:
    """Return the rank of a claim to a name: 0 by its directory, 1 by the last part of that, 2 by neither."""
    names = (found.key, os.path.basename(found.key))
    return names.index(_name_of(found)) if _name_of(found) in names else len(names)


def _free_name(key: str, taken: Iterable[str]) -> str:
    name, number = key, 1
    while name in taken:
        number += 1
        name = f"{key}~{number}"
    return name

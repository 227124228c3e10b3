"""The fingerprint of a member's launch spec and files.

Content decides, so that a copy of a member has the same ones. What a member or its tools write while it runs does not
count: caches, logs, dependencies and whatever is hidden.
"""

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate

from contexthall.core import limits, wire
from contexthall.core.errors import DiskError
from contexthall.guild.lists import tools_cache
from contexthall.guild.members import manifest
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk, Seen

_DIGITS = 16
_DEPENDENCIES = {"node_modules", "__pycache__", "venv", "env", "site-packages", "target", "vendor"}
_UNCOUNTED_ENDINGS = (".log", ".pyc")
_UNREADABLE = "unreadable"


def fingerprint(disk: Disk, member: Member) -> str:
    """Return 16 hex digits of the launch spec's digest, a dash, and 16 of the files'."""
    launch = wire.compact(member.manifest.launch.spec() if member.manifest is not None else None)
    places = sorted((os.fsencode(place), digest) for place, digest in _digests(disk, member.directory).items())
    files = b"".join(place + b"\0" + digest.encode("ascii") + b"\n" for place, digest in places)
    return "-".join(sha256(data).hexdigest()[:_DIGITS] for data in (launch.encode("utf-8"), files))


def _digests(disk: Disk, directory: str) -> dict[str, str]:
    """Return the digests of the first files of a directory by path, breadth first."""
    digests: dict[str, str] = {}
    folders, rest = [""], limits.FINGERPRINT_BYTES  # relative to the member's own
    for folder in folders:  # which grows on the way
        path = os.path.join(directory, folder)
        try:
            seen = sorted(disk.survey(path, follow=not folder).seen, key=lambda each: os.fsencode(each.name))
            files = [each for each in seen if _is_counted(each, folder)][: limits.FINGERPRINT_FILES - len(digests)]
            totals = accumulate(each.size for each in files)
            read = [each for each, total in zip(files, totals, strict=True) if total <= rest]
            found, _, refused = disk.digests(path, read)
            found |= dict.fromkeys(refused, _UNREADABLE)
            # Beyond so many bytes, files count by size and time only.
            found |= {each.name: f"{each.size}-{each.stamp[1]}" for each in files[len(read) :]}
            rest -= sum(each.size for each in read)
        except DiskError:
            digests[folder] = _UNREADABLE
            continue
        digests |= {os.path.join(folder, name): each for name, each in found.items()}
        folders += _entered(seen, folder)[: limits.FINGERPRINT_FILES - len(folders)]
    return digests


def _is_counted(seen: Seen, folder: str) -> bool:
    if seen.kind != "file" or seen.name.startswith(".") or seen.name.endswith(_UNCOUNTED_ENDINGS):
        return False
    # The manifest counts through its launch spec and its version.
    return seen.name != tools_cache.FILE_NAME and (bool(folder) or seen.name not in manifest.FILE_NAMES)


def _entered(seen: Iterable[Seen], folder: str) -> Sequence[str]:
    """Return the directories that are searched."""
    if os.path.join(folder, "").count(os.sep) + 1 == limits.FINGERPRINT_LEVELS:
        return []
    names = [each.name for each in seen if each.kind == "directory" and each.name not in _DEPENDENCIES]
    return [os.path.join(folder, name) for name in names if not name.startswith(".")]

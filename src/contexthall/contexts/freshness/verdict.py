"""Judging freshness: a context's fingerprint is compared with that of its directory's files now.

The disk and the ledger are arguments.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from contexthall.contexts.freshness.fingerprint import content_fingerprint, stat_fingerprint
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.freshness.states import FRESH, STALE
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

_UNREADABLE = "unreadable"


class Contents(NamedTuple):
    """The digest of each file of a directory, and the first one that could not be read."""

    digests: dict[str, str]
    are_as_seen: bool
    """Whether the files have not changed between the scan and the reading."""
    error: str = ""
    cause: str = ""
    """The error of the operating system, for people."""

    @property
    def fingerprint(self) -> str:
        return content_fingerprint(self.digests)


class Verdict(NamedTuple):
    """Whether a context is fresh, and the fingerprint of the files."""

    state: str
    computed: str
    error: str = ""


def judge(disk: Disk, ledger: Ledger, directory: ScannedDirectory, stored: str, seen_at: int) -> Verdict:
    """Compare `stored` with a directory that was scanned no earlier than `seen_at`."""
    computed, error = ledger.fingerprint(directory.scope, directory.files), ""
    if computed != stored and stat_fingerprint(directory.every_file) == stored:
        return Verdict(FRESH, stored, directory.error)
    if computed is None:
        computed, error = compute_fingerprint(disk, ledger, directory, seen_at)
    if computed != stored and _counts_more(disk, ledger, directory, stored, seen_at):
        return Verdict(FRESH, stored, error or directory.error)
    return Verdict(FRESH if computed == stored else STALE, computed, error or directory.error)


def _counts_more(disk: Disk, ledger: Ledger, directory: ScannedDirectory, stored: str, seen_at: int) -> bool:
    """Return whether a fingerprint is that of the current files with some that no longer count."""
    more = [file.name for file in directory.uncounted]
    if not more:
        return False
    # Recorded for this process only, under a name that no directory has.
    key, files = f"{directory.scope}\0{stored}", sorted([*directory.files, *directory.uncounted])
    known = ledger.fingerprint(key, files)
    if known is None:
        contents = read_contents(disk, directory._replace(files=files))
        chosen = (names for number in range(len(more)) for names in combinations(more, number))
        without = ({name: each for name, each in contents.digests.items() if name not in names} for names in chosen)
        known = stored if any(content_fingerprint(each) == stored for each in without) else ""
        if contents.are_as_seen:
            ledger.learn_fingerprint(key, files, known, seen_at)
    return known == stored


def compute_fingerprint(disk: Disk, ledger: Ledger, directory: ScannedDirectory, seen_at: int) -> tuple[str, str]:
    """Read the files of a directory and record their fingerprint; return it, and what could not be read."""
    contents = read_contents(disk, directory)
    fingerprint = contents.fingerprint
    if contents.are_as_seen:
        ledger.learn_fingerprint(directory.scope, directory.files, fingerprint, seen_at)
    return fingerprint, contents.error


def read_contents(disk: Disk, directory: ScannedDirectory) -> Contents:
    """Read the files of a directory; one that is gone is left out, one that cannot be read matches nothing."""
    found, are_as_seen, refused = disk.digests(directory.path, directory.files)
    digests = found | dict.fromkeys(refused, _UNREADABLE)
    if not refused:
        return Contents(digests, are_as_seen)
    first = min(refused, key=shown)
    return Contents(digests, are_as_seen, f'Cannot read "{shown(first)}"', refused[first])


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of the files that were added, removed and modified."""
    found = {
        "added": after.keys() - before.keys(),
        "removed": before.keys() - after.keys(),
        "modified": {name for name in after.keys() & before.keys() if after[name] != before[name]},
    }
    return {kind: sorted(map(shown, names)) for kind, names in found.items()}

"""Evidence as it is now: the digest of a file of the project, or of a definition in it."""

import os
from collections.abc import Callable

from contexthall.contexts.files.claims import text_digest
from contexthall.core import limits
from contexthall.core.paths import native
from contexthall.system.disk import Disk

FindDefinition = Callable[[str, bytes, str], str | None]


def read_cited(disk: Disk, base: str, path: str) -> tuple[str, bytes] | None:
    """Return the path from the root of a file of the project, and its content; None for what cannot be evidence.

    DiskError if it cannot be read. No symlink is followed.
    """
    place = os.path.normpath(native(path))
    if os.path.isabs(place) or place.split("/")[0] == ".." or "\0" in place:
        return None
    _, data = disk.read_small(os.path.join(base, place), limits.DRAFTED_FILE_BYTES)
    return None if len(data) > limits.DRAFTED_FILE_BYTES else (place, data)


def digest_of(place: str, data: bytes, symbol: str, find: FindDefinition) -> str | None:
    """Return the digest of a file or of a definition in it; None if there is no such definition."""
    found = find(place, data, symbol) if symbol else data.decode("utf-8", "replace")
    return None if found is None else text_digest(found)

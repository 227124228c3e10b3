"""Which eight digits stand for the files of a directory? Two rules, of which the first one is written.

Pure: names, digests, sizes and times are arguments.
"""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from math import floor

from contexthall.core.paths import shown
from contexthall.disk import Seen

_DIGITS = 8
_NANOSECONDS = 1_000_000_000


def content_fingerprint(digests: Mapping[str, str]) -> str:
    """Fingerprint a directory by what is in its files; `digests` has the hex SHA-256 of each."""
    names = sorted(digests, key=os.fsencode)
    return _digits(b"\n".join(os.fsencode(name) + b":" + digests[name].encode() for name in names))


def stat_fingerprint(files: Iterable[Seen]) -> str:
    """Fingerprint a directory by the sizes and times of its files, as another tool does."""
    lines = [f"{shown(file.name)}:{_milliseconds(file.stamp[1])}:{file.size}" for file in files]
    lines.sort(key=lambda line: line.encode("utf-16-be", "surrogatepass"))
    return _digits("\n".join(lines).encode("utf-8", "surrogatepass"))


def _milliseconds(modified: int) -> int:
    """Convert nanoseconds the way that tool does, in doubles, rounding errors included."""
    seconds, nanoseconds = divmod(modified, _NANOSECONDS)
    return floor(seconds * 1000.0 + nanoseconds / 1e6)


def _digits(data: bytes) -> str:
    return sha256(data).hexdigest()[:_DIGITS]

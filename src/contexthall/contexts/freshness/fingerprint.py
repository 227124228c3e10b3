"""Fingerprints: eight digits for the files of a directory, by two rules; only those of the first are written.

Pure: names, digests, sizes and times are arguments.
"""

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import floor

from contexthall.core.paths import shown
from contexthall.system.disk import Seen

_DIGITS = 8
_NANOSECONDS = 1_000_000_000


def content_fingerprint(digests: Mapping[str, str]) -> str:
    """Return the fingerprint of a directory by the content of its files; `digests` has the hex SHA-256 of each."""
    try:
        # The order of UTF-8 bytes is that of code points.
        return _digits("\n".join(f"{name}:{digests[name]}" for name in sorted(digests)).encode())
    except UnicodeEncodeError:  # a name that is not UTF-8
        names = sorted(digests, key=os.fsencode)
        return _digits(b"\n".join(os.fsencode(name) + b":" + digests[name].encode() for name in names))


def stat_fingerprint(files: Sequence[Seen]) -> str:
    """Return the fingerprint of a directory by the sizes and times of its files, as another tool does."""
    text = "\n".join(sorted(f"{file.name}:{_milliseconds(file.stamp[1])}:{file.size}" for file in files))
    if text.isascii():
        return _digits(text.encode())
    lines = [f"{shown(file.name)}:{_milliseconds(file.stamp[1])}:{file.size}" for file in files]
    lines.sort(key=lambda line: line.encode("utf-16-be"))
    return _digits("\n".join(lines).encode())


def _milliseconds(modified: int) -> int:
    """Convert nanoseconds the way that tool does, in doubles, rounding errors included."""
    seconds, nanoseconds = divmod(modified, _NANOSECONDS)
    return floor(seconds * 1000.0 + nanoseconds / 1e6)


def _digits(data: bytes) -> str:
    return sha256(data).hexdigest()[:_DIGITS]

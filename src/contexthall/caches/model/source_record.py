"""`sources.json`: where a cache came from, so that it can be judged and built again. Pure.

It is derived: it never counts in the cache's version, and never leaves the machine. It is untrusted: whoever reads a
folder because of it asks first whether it may be read.
"""

import json
import os.path
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from contexthall.core import wire

_FORMAT = 1


class RecordedFile(NamedTuple):
    """A file of the sources as it was when its page was made."""

    source: str
    """Its path relative to its folder, after the folder's name if it has one."""
    converter: str
    """Name and version of what made text of it."""
    size: int
    stamp: tuple[int, ...]
    """Inode, modification and change time; empty if these were too recent to tell this file from a later one."""
    sha256: str
    failure: str = ""
    """Why it has no page, if so."""


class RecordedPackages(NamedTuple):
    """The installed packages that pages were made of."""

    project: str
    """Path of the project that asks for them, as those of folders."""
    python: str
    """Path of the Python environment; "" for none."""
    everything: bool
    stamps: tuple[tuple[str, str], ...]
    """Name and version of each, and what changes with its content."""

    @classmethod
    def read(cls, project: object, python: object, everything: object, stamps: Sequence[Sequence[object]]) -> Self:
        pairs = tuple((_text(key), _text(stamp)) for key, stamp in stamps)
        return cls(_text(project), _text(python), everything is True, pairs)


class SourceRecord(NamedTuple):
    """The folders of a cache by name, what was chosen, and every file."""

    folders: tuple[tuple[str, str], ...]
    """Name and path; relative to the cache where that makes sense."""
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    everything: bool
    strict: bool
    split: str
    """Which rule cut pages into sections."""
    files: tuple[RecordedFile, ...]
    packages: RecordedPackages | None = None

    def to_bytes(self) -> bytes:
        """Return the file, in ASCII: a path that is not UTF-8 has lone surrogates in it."""
        fields = {"format": _FORMAT, **self._asdict()}
        return (json.dumps(fields, separators=(",", ":")) + "\n").encode("ascii")

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; ValueError if it is anything else."""
        fields: Any = wire.parse(data, lone_surrogates=True)
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise ValueError("written by another version")
        try:
            files = tuple(_file(*row) for row in fields["files"])
            folders = tuple((_text(name), _text(path)) for name, path in fields["folders"])
            return cls(
                folders=folders,
                include=tuple(map(_text, fields["include"])),
                exclude=tuple(map(_text, fields["exclude"])),
                everything=fields["everything"] is True,
                strict=fields["strict"] is True,
                split=_text(fields["split"]),
                files=files,
                packages=RecordedPackages.read(*fields["packages"]) if fields.get("packages") else None,
            )
        except (KeyError, TypeError) as error:
            raise ValueError("not what a build writes") from error


def _file(
    source: object, converter: object, size: int, stamp: Sequence[int], sha256: object, failure: object
) -> RecordedFile:
    return RecordedFile(
        _text(source), _text(converter), int(size), tuple(map(int, stamp)), _text(sha256), _text(failure)
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def recorded_path(folder: str, cache: str) -> str:
    """Return a folder's path as a cache records it: relative if both may move together, that is, share a directory."""
    return os.path.relpath(folder, cache) if os.path.commonpath([folder, cache]) != "/" else folder

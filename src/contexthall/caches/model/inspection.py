"""Inspection of a cache: its version and size, by its manifest and its file sizes alone."""

from collections.abc import Iterable
from typing import NamedTuple

from contexthall.caches.model.format import MANIFEST, ManifestHead, read_head
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.system.disk import Directory


class Inspection(NamedTuple):
    """What a cache says of itself, and whether that can be believed."""

    cache_version: str
    document_count: int
    total_bytes: int
    valid: bool


def inspect(cache: Directory) -> Inspection:
    """Return what a cache holds; raise DiskError only if it cannot be listed."""
    total_bytes = _total_bytes(cache, cache.names())
    try:
        head = read_head(cache.read(MANIFEST)) if _has_manifest(cache) else ManifestHead()
    except DiskError:
        return Inspection("", 0, 0, valid=False)
    valid = head.complete and total_bytes is not None
    return Inspection(head.cache_version, head.document_count, total_bytes or 0, valid)


def _has_manifest(cache: Directory) -> bool:
    try:
        return cache.look(MANIFEST).kind == "file"
    except PathMissingError:
        return False


def _total_bytes(cache: Directory, names: Iterable[str]) -> int | None:
    """Add up the sizes of the files; None if one of them cannot be told."""
    try:
        found = [cache.look(name) for name in names]
    except DiskError:
        return None
    return sum(each.size for each in found if each.kind == "file")

"""How does a cache look on disk? The names in its directory and the shape of its manifest."""

from typing import NamedTuple

from contexthall.core import wire

MANIFEST = "manifest.json"
TEMPORARY_PREFIX = ".contexthall-"

_LARGEST_COUNT = 2**63 - 1


class ManifestHead(NamedTuple):
    """What a manifest says of its cache as a whole; `complete` if it says both, each in the right type."""

    cache_version: str = ""
    document_count: int = 0
    complete: bool = False


def read_head(manifest: bytes) -> ManifestHead:
    """Take from a manifest what can be taken; a broken one gives empty values, never an error."""
    try:
        fields = wire.parse(manifest)
    except ValueError:
        return ManifestHead()
    if not isinstance(fields, dict):
        return ManifestHead()
    version, count = fields.get("cache_version"), fields.get("document_count")
    if not isinstance(version, str):
        version = None
    if type(count) is not int or not 0 <= count <= _LARGEST_COUNT:  # a bool is an int, but not a count
        count = None
    return ManifestHead(version or "", count or 0, complete=version is not None and count is not None)

"""How does a cache look on disk? The names in its directory, the shape of its manifest, its version. Pure."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, TypeAlias

from contexthall.core import wire
from contexthall.core.errors import CacheInvalidError

MANIFEST = "manifest.json"
INDEX = "index.json"
POSTINGS = "postings.bin"
DOCUMENTS = "documents"
TEMPORARY_PREFIX = ".contexthall-"
BUILD_CONFIG = {"version": "1", "hash_algorithm": "sha256"}

_LARGEST_COUNT = 2**63 - 1


class ManifestHead(NamedTuple):
    """What a manifest says of its cache as a whole; `complete` if it says both, each in the right type."""

    cache_version: str = ""
    document_count: int = 0
    complete: bool = False


class Listed(NamedTuple):
    """A document as the manifest lists it."""

    id: str
    version: str
    file: str


Lookup: TypeAlias = Callable[[int], Listed]
"""Says of a document, by its number, what the manifest says."""


class Manifest(NamedTuple):
    """A manifest that keeps its promises, documents by ascending id."""

    cache_version: str
    documents: tuple[Listed, ...]


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
    if not _is_count(count):
        count = None
    return ManifestHead(version or "", count or 0, complete=version is not None and count is not None)


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest whole; a CacheInvalidError says what is wrong with it."""
    try:
        fields = wire.parse(data)
    except ValueError as error:
        raise CacheInvalidError(f"the manifest is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise CacheInvalidError("the manifest is not an object")
    _check_config(fields.get("build_config"))
    documents = fields.get("documents")
    if not isinstance(documents, list):
        raise CacheInvalidError("the manifest has no list of documents")
    listed = sorted(_listed(entry) for entry in documents)
    if len({entry.id for entry in listed}) != len(listed):
        raise CacheInvalidError("the manifest lists a document twice")
    count = fields.get("document_count")
    if not _is_count(count) or count != len(listed):
        raise CacheInvalidError("the manifest's document_count is not the number of its documents")
    version = fields.get("cache_version")
    if version != cache_version(listed):
        raise CacheInvalidError("the manifest's cache_version does not follow from its documents")
    return Manifest(version, tuple(listed))


def cache_version(documents: Iterable[Listed]) -> str:
    """Compute what identifies a cache: its configuration and its documents, by ascending id; no dates, no metadata."""
    digest = hashlib.sha256(wire.compact(BUILD_CONFIG).encode())
    for document in documents:
        digest.update(f"{document.id}:{document.version}".encode())
    return f"sha256:{digest.hexdigest()}"


def spell_manifest(documents: Sequence[Listed], *, created_at: str) -> bytes:
    """Spell a manifest, as pretty JSON; by hand, because a hundred thousand documents take json a second."""
    config = wire.pretty(BUILD_CONFIG).replace("\n", "\n  ")
    entry = '    {{\n      "id": {},\n      "version": "{}",\n      "file": {}\n    }}'
    entries = ",\n".join(entry.format(quoted(each.id), each.version, quoted(each.file)) for each in documents)
    listed = f"[\n{entries}\n  ]" if documents else "[]"
    return (
        f'{{\n  "cache_version": "{cache_version(documents)}",\n  "build_config": {config},\n'
        f'  "created_at": "{created_at}",\n  "document_count": {len(documents)},\n  "documents": {listed}\n}}'
    ).encode()


def spell_index(documents: Iterable[Listed]) -> bytes:
    """Spell index.json: document id to file, keys sorted."""
    return wire.pretty({each.id: each.file for each in documents}).encode()


def _listed(entry: object) -> Listed:
    if not isinstance(entry, dict):
        raise CacheInvalidError("the manifest lists something that is no document")
    values = [entry.get(name) for name in Listed._fields]
    if not all(isinstance(value, str) for value in values):
        raise CacheInvalidError("the manifest lists a document without id, version or file")
    listed = Listed(*map(str, values))
    if not stays_inside(listed.file):
        raise CacheInvalidError(f"the file of {listed.id} is outside the cache")
    return listed


def stays_inside(file: str) -> bool:
    """Say whether `file`, a path relative to the cache, names something inside it, as far as its text tells."""
    return all(name not in {"", ".", ".."} and "\0" not in name for name in file.split("/"))


def _check_config(config: object) -> None:
    if not isinstance(config, dict) or config.get("version") != BUILD_CONFIG["version"]:
        raise CacheInvalidError("the cache was built in a version of the format that is not known here")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_COUNT  # a bool is an int, but not a count

"""The format of a cache on disk: the names in its directory, the shape of its manifest, its version. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from json.encoder import encode_basestring as quoted
from typing import NamedTuple, TypeAlias

from contexthall.caches.query.scorers import SCORERS, CacheFormat, scorer_for
from contexthall.core import wire
from contexthall.core.errors import CacheInvalidError

MANIFEST = "manifest.json"
INDEX = "index.json"
POSTINGS = "postings.bin"
SEGMENTS = "segments.bin"
VECTORS = "vectors.bin"
DOCUMENTS = "documents"
SOURCES = "sources.json"
_NAME = r"(manifest|index|sources)\.json|(postings|segments|vectors|segment-[0-9a-f]{12})\.bin|documents|shard-[0-9]{3}"

HEAD_BYTES = 1024
"""What says of a manifest which kind it is; after that a list may be long."""
_LARGEST_COUNT = 2**63 - 1
_HEAD_CONFIG = re.compile(rb'"build_config"\s*:\s*(\{[^{}]*\})')
_HEAD_VERSION = re.compile(rb'"cache_version"\s*:\s*"([^"]*)"')
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|\+00:00)"


class ManifestHead(NamedTuple):
    """What a manifest says of its cache as a whole; `complete` if it says both, each in the right type."""

    cache_version: str = ""
    document_count: int = 0
    complete: bool = False
    created_at: str = ""


class ListedDocument(NamedTuple):
    """A document as the manifest lists it."""

    id: str
    version: str
    file: str


Lookup: TypeAlias = Callable[[int], ListedDocument]
"""Returns what the manifest says of a document, by its number."""


class CacheManifest(NamedTuple):
    """What a manifest lists, by ascending id, and the promises that it breaks."""

    documents: tuple[ListedDocument, ...] | None
    """None if it lists nothing that could be read."""
    faults: tuple[str, ...]
    """Why it cannot be believed."""
    lapses: tuple[str, ...] = ()
    """What is wrong besides, although no answer depends on it."""
    scorer: CacheFormat | None = None
    """The scorer that it names; None if that is not known here."""


class Listing(NamedTuple):
    """What a manifest says that keeps its promises: the scorer, and the documents by ascending id."""

    scorer: CacheFormat
    documents: tuple[ListedDocument, ...]


def is_cache_name(name: str) -> bool:
    """Return whether a cache may have a file or directory of this name."""
    return bool(re.fullmatch(_NAME, name))


def read_head(manifest: bytes) -> ManifestHead:
    """Return what a manifest says of its cache; a broken one gives empty values, never an error."""
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
    created_at = fields.get("created_at")
    return ManifestHead(
        version or "",
        count or 0,
        complete=version is not None and count is not None,
        created_at=created_at if isinstance(created_at, str) else "",
    )


def read_manifest(data: bytes) -> Listing:
    """Return what a manifest lists; a CacheInvalidError says why it cannot be believed."""
    return believed(examine_manifest(data))


def believed(manifest: CacheManifest) -> Listing:
    """Return what was read of a manifest; a CacheInvalidError says why it cannot be believed."""
    if manifest.documents is None or manifest.faults or manifest.scorer is None:
        raise CacheInvalidError(manifest.faults[0])
    return Listing(manifest.scorer, manifest.documents)


def scorer_in(manifest: bytes) -> CacheFormat | None:
    """Return the scorer that a manifest names in its first kilobyte: to parse all of a large one takes a second."""
    found = _HEAD_CONFIG.search(manifest, 0, HEAD_BYTES)
    try:
        return scorer_for(wire.parse(found[1])) if found else None
    except ValueError:
        return None


def version_in(manifest: bytes) -> str:
    """Return the version that a manifest claims in its first kilobyte; empty if it does not."""
    found = _HEAD_VERSION.search(manifest, 0, HEAD_BYTES)
    return found[1].decode(errors="replace") if found else ""


def examine_manifest(data: bytes) -> CacheManifest:
    """Return what can be read of a manifest, and every promise that it breaks."""
    try:
        fields = wire.parse(data)
    except ValueError as error:
        return CacheManifest(None, (f"the manifest is not JSON: {error}",))
    if not isinstance(fields, dict):
        return CacheManifest(None, ("the manifest is not an object",))
    scorer = scorer_for(fields.get("build_config"))
    unknown = () if scorer else ("the cache was built in a version of the format that is not known here",)
    entries = fields.get("documents")
    if not isinstance(entries, list):
        return CacheManifest(None, (*unknown, "the manifest has no list of documents"))
    listed, faults = _read_entries(entries)
    documents = tuple(sorted(listed))
    sums = sum_faults(fields, len(entries), documents, scorer or SCORERS[0])
    faults += [*unknown, *repetitions(documents), *sums]
    return CacheManifest(documents, tuple(faults), tuple(_lapses(fields, listed, documents)), scorer)


def cache_version(documents: Iterable[ListedDocument], scorer: CacheFormat) -> str:
    """Return what identifies a cache: its configuration and its documents, by ascending id; no dates, no metadata."""
    digest = hashlib.sha256(wire.compact(scorer.build_config).encode())
    for document in documents:
        digest.update(f"{document.id}:{document.version}".encode())
    return f"sha256:{digest.hexdigest()}"


def manifest_json(documents: Sequence[ListedDocument], scorer: CacheFormat, *, created_at: str) -> bytes:
    """Return a manifest as pretty JSON; formatted here, because a hundred thousand documents take json a second."""
    config = wire.pretty(scorer.build_config).replace("\n", "\n  ")
    entry = '    {{\n      "id": {},\n      "version": "{}",\n      "file": {}\n    }}'
    entries = ",\n".join(entry.format(quoted(each.id), each.version, quoted(each.file)) for each in documents)
    listed = f"[\n{entries}\n  ]" if documents else "[]"
    return (
        f'{{\n  "cache_version": "{cache_version(documents, scorer)}",\n  "build_config": {config},\n'
        f'  "created_at": "{created_at}",\n  "document_count": {len(documents)},\n  "documents": {listed}\n}}'
    ).encode()


def index_json(documents: Iterable[ListedDocument]) -> bytes:
    """Return index.json: document id to file, keys sorted."""
    return wire.pretty({each.id: each.file for each in documents}).encode()


def _read_entries(entries: Iterable[object]) -> tuple[list[ListedDocument], list[str]]:
    """Return the entries of a manifest that can be read, and why the others cannot."""
    listed, faults = [], []
    for number, entry in enumerate(entries, 1):
        try:
            listed.append(_listed(number, entry))
        except CacheInvalidError as error:
            faults.append(error.detail)
    return listed, faults


def _listed(number: int, entry: object) -> ListedDocument:
    if not isinstance(entry, dict):
        raise CacheInvalidError(f"number {number} in the manifest is no document")
    values = [entry.get(name) for name in ListedDocument._fields]
    if not all(isinstance(value, str) for value in values):
        raise CacheInvalidError(f"number {number} in the manifest has no id, version or file")
    listed = ListedDocument(*map(str, values))
    if not stays_inside(listed.file):
        raise CacheInvalidError(f"the file of {listed.id} is outside the cache")
    return listed


def stays_inside(file: str) -> bool:
    """Return whether `file`, a path relative to the cache, names something inside it, as far as its text tells."""
    return all(name not in {"", ".", ".."} and "\0" not in name for name in file.split("/"))


def repetitions(documents: Iterable[ListedDocument]) -> Iterator[str]:
    """Yield which ids are listed twice, by documents in the order of their ids."""
    for before, after in pairwise(documents):
        if before.id == after.id:
            yield f"the manifest lists {after.id} twice"


def sum_faults(
    fields: Mapping[str, object], entries: int, documents: Sequence[ListedDocument], scorer: CacheFormat
) -> Iterator[str]:
    """Yield where a manifest's count or version does not follow from what it lists: so many entries."""
    count = fields.get("document_count")
    if not _is_count(count) or count != entries:
        yield "the manifest's document_count is not the number of its documents"
    # Of documents that cannot all be read no version can be computed.
    if len(documents) == entries and fields.get("cache_version") != cache_version(documents, scorer):
        yield "the manifest's cache_version does not follow from its documents"


def time_faults(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong with the time of a manifest."""
    created_at = fields.get("created_at")
    if not isinstance(created_at, str) or not re.fullmatch(_MOMENT, created_at):
        yield "the manifest's created_at is not a time in UTC, as RFC 3339 spells it"


def _lapses(
    fields: Mapping[str, object], listed: Sequence[ListedDocument], documents: Sequence[ListedDocument]
) -> Iterator[str]:
    yield from time_faults(fields)
    if tuple(listed) != documents:
        yield "the manifest's documents are not sorted by id"


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_COUNT  # a bool is an int, but not a count

"""The root of a cache in a store: a small object, put there last, that names everything else. Pure.

`root.json` has version, sums, and for each part of the cache its pack and the digest of its head. `packs/DIGEST` has
all bytes of a cache, or of one of its shards: it is never changed, and named by what it holds.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from contexthall.caches.model.format import INDEX, MANIFEST, SEGMENTS, VECTORS
from contexthall.caches.query.scorers import SectionFormat, scorer_for
from contexthall.core import limits, wire
from contexthall.core.errors import CacheInvalidError

ROOT = "root.json"
PACKS = "packs"
_FORMAT = "contexthall-store-1"
_KEPT_FILES = (MANIFEST, INDEX, SEGMENTS, VECTORS)
Value = TypeVar("Value")


class PackedFile(NamedTuple):
    """A file of a cache: its name, and where it is in the pack."""

    name: str
    at: int
    length: int


class PackedHead(NamedTuple):
    """The head of an index: where it is in the pack, compressed, and its size and digest when it is not."""

    at: int
    length: int
    size: int
    digest: str


class StoredPart(NamedTuple):
    """A cache, or a shard of one, in a pack."""

    path: str
    pack: str
    """The SHA-256 of the pack."""
    size: int
    key: str
    """The SHA-256 of the manifest, to which the checksums of the blocks are tied."""
    head: PackedHead
    files: tuple[PackedFile, ...]

    @property
    def object(self) -> str:
        return pack_object(self.pack)

    def file(self, name: str) -> PackedFile | None:
        return next((each for each in self.files if each.name == name), None)


class Root(NamedTuple):
    """What the root says."""

    cache_version: str
    build_config: Mapping[str, Any]
    document_count: int
    sums: Mapping[str, int]
    manifest: str
    """The manifest of a cache that has shards; empty if the only part has it."""
    parts: tuple[StoredPart, ...]

    @property
    def scorer(self) -> SectionFormat:
        scorer = scorer_for(self.build_config)
        if not isinstance(scorer, SectionFormat):
            raise CacheInvalidError("the cache is in a format that is not known here, or not known in stores")
        return scorer

    def to_bytes(self) -> bytes:
        fields = {"format": _FORMAT, **self._asdict()}
        fields["parts"] = [
            {**part._asdict(), "head": part.head._asdict(), "files": [file._asdict() for file in part.files]}
            for part in self.parts
        ]
        return wire.pretty({**fields, "digest": _digest(fields)}).encode()

    @classmethod
    def read(cls, data: bytes) -> "Root":
        """Read what `to_bytes` wrote; CacheInvalidError if it is not that."""
        try:
            fields = wire.parse(data)
            if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
                raise CacheInvalidError(f"{ROOT} is not that of a cache, or of a newer version")
            if fields.pop("digest", None) != _digest(fields):
                raise CacheInvalidError(f"{ROOT} was changed, or is not whole")
            root = cls(**{name: fields[name] for name in cls._fields if name != "parts"}, parts=_parts(fields["parts"]))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise CacheInvalidError(f"{ROOT} is not that of a cache") from None
        root.check()
        return root

    def check(self) -> None:
        """Refuse what nobody writes: whoever can write the root can give it any digest."""
        scalars = _typed(self.cache_version, str), _typed(self.document_count, int), _typed(self.manifest, str)
        if not all(scalars) or not isinstance(self.sums, dict) or not 0 < len(self.parts) <= limits.SHARDS:
            raise CacheInvalidError(f"{ROOT} is not that of a cache")
        for part in self.parts:
            names = [file.name for file in part.files]
            ranges = [(part.head.at, part.head.length), *((file.at, file.length) for file in part.files)]
            fits = all(at >= 0 and length >= 0 and at + length <= part.size for at, length in ranges)
            if not fits or not _is_digest(part.pack) or not _is_digest(part.key) or not _are_files(names):
                raise CacheInvalidError(f"{ROOT} names what cannot be in a cache")
            if part.head.size > limits.FILE_BYTES or part.path != _path(self, part):
                raise CacheInvalidError(f"{ROOT} names what cannot be in a cache")


def pack_object(digest: str) -> str:
    return f"{PACKS}/{digest}"


def _path(root: Root, part: StoredPart) -> str:
    return f"shard-{root.parts.index(part):03}" if root.manifest else ""


def _parts(entries: Any) -> tuple[StoredPart, ...]:  # noqa: ANN401 - as it was parsed
    return tuple(
        StoredPart(
            _checked(each["path"], str),
            _checked(each["pack"], str),
            _checked(each["size"], int),
            _checked(each["key"], str),
            PackedHead(*(_checked(each["head"][name], kind) for name, kind in _kinds(PackedHead))),
            tuple(
                PackedFile(*(_checked(file[name], kind) for name, kind in _kinds(PackedFile))) for file in each["files"]
            ),
        )
        for each in entries
    )


def _kinds(record: type[tuple[Any, ...]]) -> list[tuple[str, type]]:
    return [*record.__annotations__.items()]


def _checked(value: Value, kind: type) -> Value:
    if not _typed(value, kind):
        raise TypeError
    return value


def _typed(value: object, kind: type) -> bool:
    return type(value) is kind  # a bool is an int, but not a size


def _is_digest(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2 and set(text) <= set("0123456789abcdef")


def _are_files(names: list[str]) -> bool:
    """Return whether these are the names of the files of a cache, besides its documents, none of them twice."""
    others = (name for name in names if name not in _KEPT_FILES)
    segments = all(name.startswith("segment-") and name.endswith(".bin") and "/" not in name for name in others)
    return segments and len(set(names)) == len(names) and {MANIFEST, INDEX, SEGMENTS} <= set(names)


def _digest(fields: Mapping[str, object]) -> str:
    return f"sha256:{hashlib.sha256(wire.compact(fields).encode()).hexdigest()}"

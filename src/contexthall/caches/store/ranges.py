"""What is read from a store: its root, and ranges of packs, from memory, from this machine's disk, or from there."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.kept import Kept
from contexthall.caches.store.local_store import LocalStore
from contexthall.caches.store.root import ROOT, Root
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, CacheMissingError, PathMissingError
from contexthall.system.objects import ObjectRange, Objects


class Ranges:
    """Parts of the objects of one store."""

    def __init__(self, objects: Objects, local: LocalStore) -> None:
        self._objects = objects
        self._local = local
        self._fetched = Kept[ObjectRange, bytes](limits.FETCHED_BYTES)

    def read(self, wanted: ObjectRange) -> bytes:
        """Return one range."""
        return self.fetch([wanted])[0]

    def fetch(self, wanted: Sequence[ObjectRange]) -> list[bytes]:
        """Return ranges; those that are not on this machine come in one round of requests, and stay."""
        found = {each: data for each in wanted if (data := self._known(each)) is not None}
        missing = sorted({*wanted} - {*found})
        for data, parts in zip(self._get(joined := _joined(missing)), joined, strict=True):
            for part in parts:
                found[part] = piece = data[part.at - parts[0].at : part.end - parts[0].at]
                self._fetched.keep(part, piece, len(piece))
                self._local.keep(part, piece)
        return [found[each] for each in wanted]

    def read_large(self, wanted: ObjectRange) -> bytes:
        """Return a long range, in pieces that come side by side."""
        size = limits.STORE_PIECE_BYTES
        pieces = [ObjectRange(wanted.name, at, min(size, wanted.end - at)) for at in range(wanted.at, wanted.end, size)]
        return b"".join(self.fetch(pieces))

    def forget(self, name: str) -> None:
        """Let go of everything that came from an object."""
        self._fetched = Kept[ObjectRange, bytes](limits.FETCHED_BYTES)
        self._local.forget(name)

    def _known(self, wanted: ObjectRange) -> bytes | None:
        if kept := self._fetched.get(wanted):
            return kept[0]
        data = self._local.get(wanted)
        if data is not None:
            self._fetched.keep(wanted, data, len(data))
        return data

    def _get(self, joined: Sequence[Sequence[ObjectRange]]) -> list[bytes]:
        try:
            return self._objects.get_ranges(
                [ObjectRange(parts[0].name, parts[0].at, parts[-1].end - parts[0].at) for parts in joined]
            )
        except PathMissingError as error:  # a root names only what was there before it
            raise IndexDamagedError(error.detail) from None


class PackFile(NamedTuple):
    """One pack, read like a file."""

    ranges: Ranges
    name: str

    def read_at(self, offset: int, length: int) -> bytes:
        return self.ranges.read(self.range(offset, length))

    @property
    def fetch(self) -> Callable[[list[ObjectRange]], object]:
        return self.ranges.fetch

    def range(self, at: int, length: int) -> ObjectRange:
        return ObjectRange(self.name, at, length)


def read_root(objects: Objects) -> Root:
    """Return the root of the cache in a store."""
    try:
        data = objects.get(ROOT)
    except PathMissingError:
        raise CacheMissingError(objects.url, hint="`context push` puts a cache there") from None
    if len(data) > limits.STORE_ROOT_BYTES:
        raise CacheInvalidError(f"{ROOT} is larger than that of any cache")
    return Root.read(data)


def _joined(wanted: Iterable[ObjectRange]) -> list[list[ObjectRange]]:
    """Return ranges, which are sorted, with those together that are so near that one request is cheaper than two."""
    joined: list[list[ObjectRange]] = []
    for each in wanted:
        last = joined[-1][-1] if joined else None
        if last is not None and last.name == each.name and 0 <= each.at - last.end <= limits.STORE_GAP_BYTES:
            joined[-1].append(each)
        else:
            joined.append([each])
    return joined

"""A flat file of checksummed blocks, and numbers in few bytes. Pure but for the file.

A checksum is keyed with what the file belongs to and with the block's own name, so a block that is damaged, misplaced
or of another file is not believed. Whoever may write the file can give every lie the right checksum: what a block says
is held against its bounds as well.
"""

import hashlib
import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

from contexthall.caches.index.match_table import numbers, packed
from contexthall.core.errors import DiskError

MALFORMED = (LookupError, ValueError, TypeError, OverflowError, struct.error)
"""What reading bytes raises that are not what they should be."""

_DIGEST_BYTES = 8
_WIDTHS = "BHIQ"
_PATCHED = 0x10
_FEW = 32


class IndexDamagedError(Exception):
    """An index cannot be believed, now or later."""


class IndexUnreadError(Exception):
    """The system refused to read an index, which may pass."""


class Readable(Protocol):
    """A file that can be read at any place."""

    def read_at(self, offset: int, length: int) -> bytes: ...


class BlockPlace(NamedTuple):
    """Where a block is."""

    at: int
    length: int


class BlockWriter:
    """Collects the blocks of a file, which begins with a header that is known last."""

    def __init__(self, key: bytes, header: struct.Struct) -> None:
        self._key = key
        self._header = header
        self._blocks: list[bytes] = []
        self._position = header.size + _DIGEST_BYTES

    def add(self, payload: bytes, name: str) -> BlockPlace:
        place = BlockPlace(self._position, len(payload))
        self._blocks += (payload, _digest(payload, name, self._key))
        self._position += len(payload) + _DIGEST_BYTES
        return place

    def add_table(self, blocks: Sequence[bytes], name: str) -> BlockPlace:
        """Add blocks that are found by their number."""
        places = [self.add(block, f"{name} {number}").at for number, block in enumerate(blocks)]
        return self.add(pack_numbers([*places, self._position]), name)

    def finish(self, *fields: object) -> bytes:
        """Return the whole file."""
        header = self._header.pack(*fields)
        return b"".join((header, _digest(header, "header", self._key), *self._blocks))


class BlockReader:
    """Reads the blocks of a file, each of which must be the one that is asked for."""

    def __init__(self, file: Readable, size: int, key: bytes) -> None:
        self._file = file
        self._size = size
        self._key = key

    def header(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.read(BlockPlace(0, form.size), "header"))

    def read(self, place: BlockPlace, name: str) -> bytes:
        if place.at < 0 or place.length < 0 or place.at + place.length + _DIGEST_BYTES > self._size:
            raise IndexDamagedError(f"{name} lies outside the file")
        try:
            data = self._file.read_at(place.at, place.length + _DIGEST_BYTES)
        except DiskError as error:
            raise IndexUnreadError(error.detail) from error
        payload = data[: place.length]
        if data[place.length :] != _digest(payload, name, self._key):
            raise IndexDamagedError(f"{name} is damaged")
        return payload


class BlockTable:
    """Blocks that are found by their number."""

    def __init__(self, reader: BlockReader, place: BlockPlace, name: str, count: int) -> None:
        self._reader = reader
        self._name = name
        self._places = Cursor(reader.read(place, name)).numbers(count + 1)

    def __getitem__(self, number: int) -> bytes:
        at, after = self._places[number], self._places[number + 1]
        return self._reader.read(BlockPlace(at, after - at - _DIGEST_BYTES), f"{self._name} {number}")


class Cursor:
    """Reads numbers and bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self._data) - self._at:
            raise IndexDamagedError("a block ends early")
        self._at += length
        return self._data[self._at - length : self._at]

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def numbers(self, count: int) -> "array[int]":
        """Read what `pack_numbers` wrote."""
        code = _WIDTHS[self.take(1)[0]]
        return numbers(code, self.take(count * array(code).itemsize))

    def ascending(self, count: int) -> "array[int]":
        """Read what `pack_ascending` wrote."""
        if self._data[self._at : self._at + 1] != bytes((_PATCHED,)):
            return array("I", accumulate(self.numbers(count)))
        self.take(1)
        gaps = array("I", [*self.take(count)])
        (patches,) = self.numbers(1)
        for at, high in zip(accumulate(self.numbers(patches)), self.numbers(patches), strict=True):
            gaps[at] += high << 8
        return array("I", accumulate(gaps))


def pack_numbers(values: Sequence[int]) -> bytes:
    """Return numbers in the narrowest of 1, 2, 4 and 8 bytes that holds them all, after which of these it is."""
    largest = max(values, default=0)
    width = 0 if largest < 1 << 8 else 1 if largest < 1 << 16 else 2 if largest < 1 << 32 else 3
    return bytes((width,)) + packed(array(_WIDTHS[width], values))


def pack_ascending(values: Sequence[int]) -> bytes:
    """Return ascending numbers by their differences: a byte each where most are small, with patches for the others."""
    gaps = _gaps(values)
    plain = pack_numbers(gaps)
    if len(gaps) < _FEW or not plain[0]:
        return plain
    large = [at for at, gap in enumerate(gaps) if gap >> 8]
    patched = b"".join(
        (
            bytes((_PATCHED,)),
            bytes([gap & 0xFF for gap in gaps]),
            pack_numbers((len(large),)),
            pack_numbers(_gaps(large)),
            pack_numbers([gaps[at] >> 8 for at in large]),
        )
    )
    return min(plain, patched, key=len)


def _gaps(values: Sequence[int]) -> list[int]:
    return [values[0], *(after - before for before, after in pairwise(values))]


@contextmanager
def well_formed() -> Iterator[None]:
    """Turn the errors of malformed bytes into IndexDamagedError."""
    try:
        yield
    except MALFORMED as error:
        raise IndexDamagedError(f"malformed: {error}") from error


def _digest(payload: bytes, name: str, key: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES, key=key, person=name.encode()).digest()

"""A flat file of checksummed blocks, and numbers in few bytes. Pure but for the file.

A checksum is keyed with what the file belongs to and with the block's own name, so a block that is damaged, misplaced
or of another file is not believed. Whoever may write the file can give every lie the right checksum: what a block says
is held against its bounds as well.
"""

import hashlib
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import Any, NamedTuple, Protocol

from contexthall.caches.index.match_table import numbers, packed
from contexthall.core.errors import DiskError

MALFORMED = (LookupError, ValueError, TypeError, OverflowError, struct.error)
"""What reading bytes raises that are not what they should be."""

_DIGEST_BYTES = 8
WIDTHS = "BHIQ"
_PLANES, _MOSTLY_ONE, _ALL_ONE = b"\x10", b"\x11", b"\x12"
_FEW = 32
_BYTES_PER_OTHER = 3
_BYTES = [bytes((value,)) for value in range(256)]


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
        self._blocks += (payload, checksum(payload, name, self._key))
        self._position += len(payload) + _DIGEST_BYTES
        return place

    def add_table(self, blocks: Iterable[bytes], name: str) -> BlockPlace:
        """Add blocks that are found by their number."""
        places = [self.add(block, f"{name} {number}").at for number, block in enumerate(blocks)]
        return self.add(pack_numbers([*places, self._position]), name)

    def finish(self, *fields: object) -> bytes:
        """Return the whole file."""
        header = self._header.pack(*fields)
        return b"".join((header, checksum(header, "header", self._key), *self._blocks))


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
        if data[place.length :] != checksum(payload, name, self._key):
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

    def strings(self, lengths: Sequence[int]) -> list[bytes]:
        """Read strings of these lengths, after which nothing is left."""
        data, edges = self.rest(), [0, *accumulate(lengths)]
        if edges[-1] != len(data):
            raise IndexDamagedError("a block of another length")
        return [data[start:end] for start, end in pairwise(edges)]

    def numbers(self, count: int) -> "array[int]":
        """Read what `pack_numbers` wrote."""
        code = WIDTHS[self.take(1)[0]]
        return numbers(code, self.take(count * array(code).itemsize))

    def ascending(self, count: int) -> "array[int]":
        """Read what `pack_ascending` wrote."""
        if self._data[self._at : self._at + 1] != _PLANES:
            return array("I", accumulate(self.numbers(count)))
        self.take(1)
        (blocks,) = self.numbers(1)
        sizes, lows = self.numbers(blocks), self.take(count)
        if sum(sizes) != count:
            raise IndexDamagedError("blocks of another number of values")
        planes = bytearray(4 * count)
        planes[0::4] = lows
        if blocks <= len(_BYTES):
            planes[1::4] = b"".join(map(mul, _BYTES, sizes))
            return numbers("I", planes)
        highs = b"".join(block.to_bytes(3, "little") * size for block, size in enumerate(sizes))
        for place in range(3):
            planes[place + 1 :: 4] = highs[place::3]
        return numbers("I", planes)

    def counts(self, count: int) -> "array[int]":
        """Read what `pack_counts` wrote."""
        kind = self._data[self._at : self._at + 1]
        if kind not in {_MOSTLY_ONE, _ALL_ONE}:
            return self.numbers(count)
        if kind == _ALL_ONE:
            self.take(1)
            return array("B", b"\1" * count)
        self.take(1)
        (others,) = self.numbers(1)
        places, values = self.ascending(others), self.numbers(others)
        found = array(values.typecode, [1]) * count
        for place, value in zip(places, values, strict=True):
            found[place] = value
        return found


def pack_numbers(values: Sequence[int]) -> bytes:
    """Return numbers in the narrowest of 1, 2, 4 and 8 bytes that holds them all, after which of these it is."""
    largest = max(values, default=0)
    if largest < 1 << 8:
        return b"\0" + bytes([*values])
    width = 1 if largest < 1 << 16 else 2 if largest < 1 << 32 else 3
    return bytes((width,)) + packed(array(WIDTHS[width], values))


def pack_ascending(values: "array[int]") -> bytes:
    """Return ascending numbers: few by their differences, many in blocks of 256, by their lowest byte."""
    blocks = (values[-1] >> 8) + 1
    if len(values) < max(_FEW, blocks):
        return pack_numbers([values[0], *map(sub, values[1:], values)])
    planes = packed(values)
    sizes = Counter(planes[1::4] if blocks <= 1 << 8 else [value >> 8 for value in values])
    head = _PLANES, pack_numbers((blocks,)), pack_numbers([sizes[block] for block in range(blocks)])
    return b"".join((*head, planes[0::4]))


def pack_counts(values: "array[int]") -> bytes:
    """Return numbers most of which are 1: where they are many, only the others."""
    others = array("I", [place for place, value in enumerate(values) if value != 1])
    if not others:
        return _ALL_ONE
    if len(values) < _FEW or _BYTES_PER_OTHER * len(others) >= len(values):
        return pack_numbers(values)
    found = [values[place] for place in others]
    return b"".join((_MOSTLY_ONE, pack_numbers((len(others),)), pack_ascending(others), pack_numbers(found)))


@contextmanager
def well_formed() -> Iterator[None]:
    """Turn the errors of malformed bytes into IndexDamagedError."""
    try:
        yield
    except MALFORMED as error:
        raise IndexDamagedError(f"malformed: {error}") from error


def checksum(payload: bytes, name: str, key: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES, key=key, person=name.encode()).digest()

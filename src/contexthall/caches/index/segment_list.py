"""Which segments a cache has: a small file of checksummed blocks beside the manifest, to which it belongs. Pure."""

import re
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from contexthall.caches.index.blocks import (
    BlockPlace,
    BlockReader,
    BlockTable,
    BlockWriter,
    IndexDamagedError,
    Readable,
    well_formed,
)
from contexthall.caches.model.format import DOCUMENTS, stays_inside
from contexthall.core import wire
from contexthall.core.text import UNICODE

_MAGIC = b"CHSEGS03"
_FILES = re.compile(rf"(?:{DOCUMENTS}/[0-9a-f-]+\.json\n)*")
_HEADER = struct.Struct("<8s16s32sI2Q")


class ListedSegment(NamedTuple):
    """A segment: its file, its key, its bytes, and the files of its pages."""

    file: str
    key: bytes
    size: int
    pages: tuple[str, ...]
    gone: tuple[int, ...] = ()
    """The numbers of pages that no longer count, and have no file."""


def segment_file(key: bytes) -> str:
    """Return the name of the file of a segment."""
    return f"segment-{key.hex()[:12]}.bin"


def to_bytes(segments: Sequence[ListedSegment], manifest_hash: bytes) -> bytes:
    """Return the list of the segments that belong to a manifest."""
    writer = BlockWriter(manifest_hash, _HEADER)
    place = writer.add_table([_block(each) for each in segments], "segment")
    return writer.finish(_MAGIC, UNICODE.encode(), manifest_hash, len(segments), *place)


def read(file: Readable, size: int, manifest_hash: bytes) -> list[ListedSegment]:
    """Return the segments of a list that belongs to a manifest; IndexDamagedError if it does not, or is damaged."""
    with well_formed():
        reader = BlockReader(file, size, manifest_hash)
        magic, unicode_version, key, count, *place = reader.header(_HEADER)
        if magic != _MAGIC or key != manifest_hash or unicode_version.rstrip(b"\0") != UNICODE.encode():
            raise IndexDamagedError("made for another cache or by another version")
        table = BlockTable(reader, BlockPlace(*place), "segment", count)
        return [_listed(table[number]) for number in range(count)]


def _block(listed: ListedSegment) -> bytes:
    gone = ",".join(map(str, listed.gone))
    # Tens of thousands of names are one string, which is read and checked at once.
    pages = "".join(f"{page}\n" for page in listed.pages)
    return wire.compact([listed.file, listed.key.hex(), str(listed.size), gone, pages]).encode()


def _listed(block: bytes) -> ListedSegment:
    strings: Any = wire.parse(block)
    file, key, size, gone, pages = strings
    if not all(isinstance(string, str) for string in strings):
        raise IndexDamagedError("no segment")
    if "/" in file or not stays_inside(file) or not _FILES.fullmatch(pages):
        raise IndexDamagedError("a file outside the cache")
    missing = tuple(map(int, gone.split(","))) if gone else ()
    return ListedSegment(file, bytes.fromhex(key), int(size), tuple(pages.split("\n")[:-1]), missing)

"""How does somebody lie who may write into a cache? An index whose every checksum is right and whose content is not."""

import hashlib
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

HEADER = struct.Struct("<8s16s32sII7Q")
ENTRY = struct.Struct("<IIIB")
BUCKET = struct.Struct("<QQ")
DIGEST_BYTES = 8
PER_RECORD = 64
NUMBERS = (0, 1, 2, 63, 64, 70, 255, 256, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)
TEXTS = (
    b"",
    b"\0",
    b"[]",
    b"[[]]",
    b"{}",
    b"[1]",
    b"null",
    b'"x"',
    b"[" * 5000,
    b'[["a","b","../c"]]',
    b'[["a","b","/c"]]',
)


class Block(NamedTuple):
    """A stretch of an index that has a checksum, and the name that the checksum is keyed with."""

    label: str
    at: int
    length: int


def blocks(index: bytes) -> Iterator[Block]:
    """Name the blocks of a sound index."""
    *_, buckets, columns, columns_bytes, files, files_bytes, records, records_bytes, directory = HEADER.unpack_from(
        index
    )
    yield Block("columns", columns, columns_bytes)
    yield Block("files", files, files_bytes)
    yield Block("records", records, records_bytes)
    places = struct.unpack_from(f"<{records_bytes // 8}Q", index, records)
    for number, (at, end) in enumerate(pairwise(places)):
        yield Block(f"record {number * PER_RECORD}", at, end - at - DIGEST_BYTES)
    for number in range(buckets):
        at, length = BUCKET.unpack_from(index, directory + BUCKET.size * number)
        yield Block(f"bucket {number}", at, length)


class Choices:
    """What to do next, read from the fuzzer's bytes; zero when they run out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def below(self, most: int) -> int:
        """Give a number from 0 up to but not including `most`."""
        taken = self._data[self._at : self._at + 2]
        self._at += 2
        return int.from_bytes(taken, "little") % most if most else 0

    def some(self) -> bytes:
        length = self.below(64)
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken


def forge(index: bytes, manifest: bytes, data: bytes) -> bytes:
    """Change an index as `data` says, and make every checksum right again."""
    choices, forged = Choices(data), bytearray(index)
    while choices:
        (_change_header, _change_block, _move_block, _change_directory)[choices.below(4)](forged, choices, index)
    key = hashlib.sha256(manifest).digest()
    for block in blocks(index):
        _seal(forged, block, key)
    fields = list(HEADER.unpack_from(forged))
    for place, label in ((5, "columns"), (7, "files"), (9, "records")):
        _seal(forged, Block(label, fields[place], fields[place + 1]), key)
    _seal(forged, Block("header", 0, HEADER.size), key)
    return bytes(forged)


def _change_header(forged: bytearray, choices: Choices, _index: bytes) -> None:
    fields = list(HEADER.unpack_from(forged))
    place = 3 + choices.below(len(fields) - 3)
    fields[place] = NUMBERS[choices.below(len(NUMBERS))] % (2**32 if place < 5 else 2**64)
    HEADER.pack_into(forged, 0, *fields)


def _change_block(forged: bytearray, choices: Choices, index: bytes) -> None:
    every = [block for block in blocks(index) if block.length]
    block = every[choices.below(len(every))]
    at = block.at + choices.below(block.length)
    if choices.below(2):
        new = NUMBERS[choices.below(len(NUMBERS))].to_bytes(8, "little")[: 1 << choices.below(4)]
    else:
        new = choices.some()
    new = new[: block.at + block.length - at]
    forged[at : at + len(new)] = new


def _move_block(forged: bytearray, choices: Choices, index: bytes) -> None:
    """Put a block of any length at the end of the file, and let the header name it."""
    fields = list(HEADER.unpack_from(forged))
    place = (5, 7, 9)[choices.below(3)]
    old = index[fields[place] : fields[place] + fields[place + 1]]
    payload = (old[: choices.below(len(old) + 1)], old + choices.some(), TEXTS[choices.below(len(TEXTS))])[
        choices.below(3)
    ]
    fields[place], fields[place + 1] = len(forged), len(payload)
    forged += payload + bytes(DIGEST_BYTES)
    HEADER.pack_into(forged, 0, *fields)


def _change_directory(forged: bytearray, choices: Choices, index: bytes) -> None:
    """Let one bucket be what another one is, or anything else, at a length of its own."""
    *_, buckets = HEADER.unpack_from(index)[:5]
    directory = HEADER.unpack_from(index)[-1]
    number = choices.below(buckets)
    payload = (
        choices.some(),
        ENTRY.pack(*(choices.below(2**16) * choices.below(2**16) for _ in range(3)), choices.below(4)),
    )[choices.below(2)]
    BUCKET.pack_into(forged, directory + BUCKET.size * number, len(forged), len(payload))
    forged += payload + bytes(DIGEST_BYTES)


def _seal(forged: bytearray, block: Block, key: bytes) -> None:
    end = block.at + block.length
    if end + DIGEST_BYTES <= len(forged):
        payload = bytes(forged[block.at : end])
        digest = hashlib.blake2b(payload, digest_size=DIGEST_BYTES, key=key, person=block.label.encode()).digest()
        forged[end : end + DIGEST_BYTES] = digest

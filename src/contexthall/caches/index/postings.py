"""The term index of a cache: one flat file of checksummed blocks beside the manifest.

    header      what the other blocks are, which manifest and which Unicode version they belong to
    columns     tokens and words of every document, by ascending id; the documents by ascending tokens
    files       the name of every document's file
    records     id, version and file of the documents, 64 to a block
    postings    of a common term: a block of its own
    buckets     all terms with the same hash; rare terms carry their postings with them
    directory   where each bucket begins

Every block ends in a checksum that is keyed with the manifest's hash and the block's own place, so a block that is
damaged, misplaced or of another cache is not believed. A term is absent only if the bucket that would hold it says so.
Whoever may write into the cache can forge checksums, so what a block says is held against its bounds as well: a lie may
put documents in another order, and do nothing else.
"""

import hashlib
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

from contexthall.caches.index.match_table import LANE_LIMIT, Columns, MatchTable, numbers, packed, sum_lanes
from contexthall.caches.model.format import DOCUMENTS, ListedDocument, stays_inside
from contexthall.caches.query.scorers import Scorer
from contexthall.core import limits, wire
from contexthall.core.errors import DiskError
from contexthall.core.text import UNICODE
from contexthall.system.disk import File

PARTS = 64
"""A part is so many whole buckets, one after the other."""

_MAGIC = b"CHPOST01"
_HEADER = struct.Struct("<8s16s32sII7Q")
_ENTRY = struct.Struct("<IIIB")
_PLACE = struct.Struct("<QI")
_BUCKET = struct.Struct("<QQ")
_DIGEST_BYTES = 8
_DOCUMENTS_PER_RECORD = 64
_TERMS_PER_BUCKET = 8
_LONGEST_INLINE = 64
_DENSE_SHARE = 4
_ENTRY_BYTES = 256
_WIDTHS = "BHI"
_INLINE, _SPARSE, _DENSE = range(3)
MALFORMED = (LookupError, ValueError, TypeError, OverflowError, struct.error)
"""What reading bytes raises that are not what they should be."""


class PostingsError(Exception):
    """The index gives no answer."""


class DamagedPostingsError(PostingsError):
    """The index cannot be believed, now or later."""


class UnreadPostingsError(PostingsError):
    """The system refused to read the index, which may pass."""


class Term(NamedTuple):
    """Where a term is found: how often at most, and either a lane per document or the documents and their counts."""

    peak: int
    lanes: bytes
    documents: Sequence[int]
    counts: Sequence[int]

    def postings(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the documents that have the term, and how often each has it."""
        if not self.lanes:
            return self.documents, self.counts
        counts = numbers("H", self.lanes)
        return range(len(counts)), counts


class Postings(NamedTuple):
    """The documents that have a term, ascending, and how often each has it; 32 bits each."""

    documents: "array[int]"
    counts: "array[int]"


def bucket_of(term: bytes, buckets: int) -> int:
    """Return in which of so many buckets, or parts, a term stands."""
    return zlib.crc32(term) * buckets >> 32


def bucket_count(terms: int) -> int:
    return PARTS * (1 + terms // (PARTS * _TERMS_PER_BUCKET))


class PostingsWriter:
    """Writes an index block by block; what does not fit into memory at once need not be there at once."""

    def __init__(self, file: File, manifest: bytes, *, documents: int, buckets: int) -> None:
        self._file = file
        self._key = hashlib.sha256(manifest).digest()
        self._documents = documents
        self._buckets = buckets
        self._position = _HEADER.size + _DIGEST_BYTES
        self._directory = array("Q")
        self._waiting: list[bytes] = []
        self._file.write_all(bytes(self._position))

    def add_documents(self, listed: Sequence[ListedDocument], columns: Columns) -> None:
        """Write what is known of the documents; before any bucket."""
        together = columns.tokens + columns.words + columns.cheapest
        self._columns = self._block(packed(together), "columns")
        names = (each.file.removeprefix(f"{DOCUMENTS}/") for each in listed)
        self._files = self._block("\0".join(names).encode(), "files")
        places = array("Q")
        for start in range(0, len(listed), _DOCUMENTS_PER_RECORD):
            record = wire.compact(listed[start : start + _DOCUMENTS_PER_RECORD]).encode()
            places.append(self._block(record, f"record {start}")[0])
        places.append(self._position)
        self._records = self._block(packed(places), "records")

    def add_part(self, part: int, terms: dict[bytes, Postings]) -> None:
        """Write the buckets of the next part, with every term in it."""
        per_part = self._buckets // PARTS
        filled: list[list[bytes]] = [[] for _ in range(per_part)]
        for term in sorted(terms):
            filled[bucket_of(term, self._buckets) - part * per_part].append(term)
        for bucket in filled:
            self._add_bucket((term, terms[term]) for term in bucket)
        self._flush()

    def finish(self) -> None:
        """Write the directory, and the header at the beginning of the file."""
        directory = self._position
        self._waiting.append(packed(self._directory))
        self._flush()
        places = (*self._columns, *self._files, *self._records, directory)
        header = _HEADER.pack(_MAGIC, UNICODE.encode(), self._key, self._documents, self._buckets, *places)
        self._file.write_at(0, header + _digest(header, "header", self._key))

    def _add_bucket(self, terms: Iterable[tuple[bytes, Postings]]) -> None:
        entries = []
        for term, postings in terms:
            peak, kind, payload = self._encode(postings)
            entries.append(_ENTRY.pack(len(term), len(postings.documents), peak, kind) + term)
            if kind == _INLINE:
                entries.append(payload)
            else:
                entries.append(_PLACE.pack(*self._block(payload, f"term {zlib.crc32(term)}")))
        number = len(self._directory) // 2
        self._directory.extend(self._block(b"".join(entries), f"bucket {number}"))

    def _encode(self, postings: Postings) -> tuple[int, int, bytes]:
        """Return the postings of a term: the largest count, the encoding, and the bytes."""
        documents, counts = postings
        width, narrow = _narrowed(packed(counts))
        peak = max(narrow) if width == 0 else max(counts)
        is_common = len(documents) * _DENSE_SHARE >= self._documents > _LONGEST_INLINE
        if is_common and peak < LANE_LIMIT:
            lanes = array("H", bytes(2 * self._documents))
            for document, count in zip(documents, counts, strict=True):
                lanes[document] = count
            return peak, _DENSE, packed(lanes)
        gap_width, gaps = _narrowed(_gaps(packed(documents)))
        payload = bytes((gap_width, width)) + gaps + narrow
        return peak, (_INLINE if len(payload) <= _LONGEST_INLINE else _SPARSE), payload

    def _block(self, payload: bytes, label: str) -> tuple[int, int]:
        place = self._position, len(payload)
        self._waiting += (payload, _digest(payload, label, self._key))
        self._position += len(payload) + _DIGEST_BYTES
        return place

    def _flush(self) -> None:
        self._file.write_all(b"".join(self._waiting))
        self._waiting.clear()


class PostingsReader:
    """Looks up terms and documents in an index, reading only what is asked for."""

    def __init__(self, file: File, manifest_hash: bytes, scorer: Scorer) -> None:
        """Believe the index in `file` if it belongs to the manifest with this SHA-256, which names this scorer."""
        self.scorer = scorer
        self._file = file
        kind, self._size, _ = file.status()
        if kind != "file":
            raise DamagedPostingsError("not a regular file")
        self._key = manifest_hash
        header = self._read("header", 0, _HEADER.size)
        magic, unicode_version, key, documents, self._buckets, *places = _HEADER.unpack(header)
        known = unicode_version.rstrip(b"\0").decode("ascii", "replace") == UNICODE
        if magic != _MAGIC or key != manifest_hash or not known:
            raise DamagedPostingsError("made for another cache or by another version")
        self.documents: int = documents
        self._files, self._directory = places[2:4], places[6]
        with _well_formed():
            self.columns = _columns(numbers("I", self._read("columns", *places[:2])), documents)
            self._records = numbers("Q", self._read("records", *places[4:6]))
        self._remembered: dict[str, Term | None] = {}
        self._remembered_bytes = 0
        self._listed: dict[int, ListedDocument] = {}

    def files(self) -> list[str]:
        """Return the names of the files of all documents, which are in one directory."""
        with _well_formed():
            names = self._read("files", *self._files).decode()
        return names.split("\0") if self.documents else []

    def listed(self, document: int) -> ListedDocument:
        """Return what the manifest says of a document."""
        if (known := self._listed.get(document)) is not None:
            return known
        number, place = divmod(document, _DOCUMENTS_PER_RECORD)
        with _well_formed():
            listed = ListedDocument(*self._record(number)[place])
        if not all(isinstance(part, str) for part in listed) or not stays_inside(listed.file):
            raise DamagedPostingsError("no document, or one outside the cache")
        if len(self._listed) >= limits.KEPT_LISTED_DOCUMENTS:
            self._listed = {}
        self._listed[document] = listed
        return listed

    def all_listed(self) -> list[ListedDocument]:
        """Return what the manifest says of every document."""
        return [ListedDocument(*each) for number in range(len(self._records) - 1) for each in self._record(number)]

    def match_table(self, terms: Iterable[str]) -> MatchTable:
        """Return the documents as a query with these terms sees them."""
        with _well_formed():
            found = [term for term in map(self._term, sorted(set(terms))) if term is not None]
            dense = [term.lanes for term in found if term.lanes]
            matches = self._matches(found, dense)
        touched = None if dense else sorted({document for term in found for document in term.documents})
        return MatchTable(self.columns, matches, touched)

    def _matches(self, found: Sequence[Term], dense: Sequence[bytes]) -> "array[int]":
        """Return how often each document has any of these terms."""
        fits_lanes = sum(term.peak for term in found) < LANE_LIMIT
        matches = sum_lanes(dense, self.documents) if fits_lanes else _sum_widely(dense, self.documents)
        for term in found:
            for document, count in zip(term.documents, term.counts, strict=True):
                matches[document] += count
        return matches

    def terms(self) -> Iterator[tuple[str, Term]]:
        """Yield every term that can be looked up, and where it is found."""
        for bucket in range(self._buckets):
            entries = {entry.name: entry for entry in reversed([*self._bucket(bucket)])}
            for name, entry in entries.items():
                if bucket_of(name, self._buckets) == bucket:
                    yield name.decode(), self._postings(entry)

    def _term(self, word: str) -> Term | None:
        try:
            return self._remembered[word]
        except KeyError:
            term = word.encode()
        entries = self._bucket(bucket_of(term, self._buckets))
        found = next((self._postings(entry) for entry in entries if entry.name == term), None)
        self._remember(word, found)
        return found

    def _remember(self, word: str, term: Term | None) -> None:
        """Keep a term for the next query, within a limit that counts words which are nowhere found as well."""
        size = sum(map(sys.getsizeof, (word, *(term or ()))), _ENTRY_BYTES)
        if size > limits.KEPT_TERMS_BYTES:
            return
        if self._remembered_bytes + size > limits.KEPT_TERMS_BYTES:
            self._remembered.clear()
            self._remembered_bytes = 0
        self._remembered[word] = term
        self._remembered_bytes += size

    def _bucket(self, bucket: int) -> Iterator["_TermEntry"]:
        place = self._read_at(self._directory + _BUCKET.size * bucket, _BUCKET.size)
        if len(place) != _BUCKET.size:
            raise DamagedPostingsError("the directory ends early")
        return _entries(self._read(f"bucket {bucket}", *_BUCKET.unpack(place)))

    def _postings(self, entry: "_TermEntry") -> Term:
        if entry.kind != _INLINE:
            label = f"term {zlib.crc32(entry.name)}"
            entry = entry._replace(found=self._read(label, *_PLACE.unpack(entry.found)))
        return _decode(entry, self.documents)

    def _record(self, number: int) -> list[list[str]]:
        """Read id, version and file of the documents of a record."""
        at, end = self._records[number], self._records[number + 1]
        label = f"record {number * _DOCUMENTS_PER_RECORD}"
        record: Any = wire.parse(self._read(label, at, end - at - _DIGEST_BYTES))
        return list(record)

    def _read(self, label: str, at: int, length: int) -> bytes:
        """Read a block that must be this one."""
        if length < 0 or at + length + _DIGEST_BYTES > self._size:
            raise DamagedPostingsError(f"{label} lies outside the file")
        data = self._read_at(at, length + _DIGEST_BYTES)
        payload = data[:length]
        if data[length:] != _digest(payload, label, self._key):
            raise DamagedPostingsError(f"{label} is damaged")
        return payload

    def _read_at(self, at: int, length: int) -> bytes:
        try:
            return self._file.read_at(at, length)
        except DiskError as error:
            raise UnreadPostingsError(error.detail) from error


class _TermEntry(NamedTuple):
    """What a bucket says of a term: in how many documents it is, and its postings or their place."""

    name: bytes
    documents: int
    peak: int
    kind: int
    found: bytes


def _entries(bucket: bytes) -> Iterator[_TermEntry]:
    at = 0
    while at < len(bucket):
        term_bytes, documents, peak, kind = _ENTRY.unpack_from(bucket, at)
        start = at + _ENTRY.size + term_bytes
        end = start + _PLACE.size
        if kind == _INLINE:
            widths = bucket[start : start + 2]
            end = start + 2 + documents * sum(array(_WIDTHS[width]).itemsize for width in widths)
        yield _TermEntry(bucket[at + _ENTRY.size : start], documents, peak, kind, bucket[start:end])
        at = end


@contextmanager
def _well_formed() -> Iterator[None]:
    """Turn the errors of malformed bytes into DamagedPostingsError."""
    try:
        yield
    except MALFORMED as error:
        raise DamagedPostingsError(f"malformed: {error}") from error


def _columns(together: "array[int]", documents: int) -> Columns:
    tokens, words, cheapest = (together[start * documents : (start + 1) * documents] for start in range(3))
    if len(together) != 3 * documents:
        raise DamagedPostingsError("columns of another number of documents")
    return Columns(tokens, words, cheapest)


def _decode(entry: _TermEntry, documents: int) -> Term:
    """Read the postings of a term, in as many documents as there are."""
    payload = entry.found
    if entry.kind == _DENSE:
        if len(payload) != 2 * documents:
            raise DamagedPostingsError("a term of another number of documents")
        return Term(entry.peak, payload, (), ())
    gaps, counts = (_WIDTHS[width] for width in payload[:2])
    cut = 2 + entry.documents * array(gaps).itemsize
    found = array("I", accumulate(numbers(gaps, payload[2:cut])))
    times = numbers(counts, payload[cut:])
    if len(found) != entry.documents or len(times) != entry.documents or (found and found[-1] >= documents):
        raise DamagedPostingsError("a term of other documents")
    return Term(entry.peak, b"", found, times)


def _sum_widely(columns: Sequence[bytes], documents: int) -> "array[int]":
    total = array("Q", bytes(8 * documents))
    for column in columns:
        total = array("Q", map(add, total, numbers("H", column)))
    return total


def _gaps(documents: bytes) -> bytes:
    """Return the differences of ascending numbers (delta encoding), all 32-bit lanes at once."""
    before = int.from_bytes(documents[:-4], "little") << 32
    return (int.from_bytes(documents, "little") - before).to_bytes(len(documents), "little")


def _narrowed(values: bytes) -> tuple[int, bytes]:
    """Return 32-bit numbers in the narrowest of 8, 16 and 32 bits that holds them all, and which that is."""
    if values[2::4].strip(b"\0") or values[3::4].strip(b"\0"):
        return 2, values
    if not values[1::4].strip(b"\0"):
        return 0, values[0::4]
    narrow = bytearray(len(values) // 2)
    narrow[0::2], narrow[1::2] = values[0::4], values[1::4]
    return 1, bytes(narrow)


def _digest(payload: bytes, label: str, key: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_BYTES, key=key, person=label.encode()).digest()

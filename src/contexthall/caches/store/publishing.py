"""Puts caches into a store, and gets them back whole.

Packs go first, each named by its digest, and the root last: a reader sees a whole cache or none. What is replaced stays
readable for whoever has opened it.
"""

import hashlib
import os.path
from collections.abc import Callable, Iterator
from typing import NamedTuple

from contexthall.caches.build.staging import NEW, RUN_PREFIX, StagingDirectory, replaceable
from contexthall.caches.index.blocks import BlockPlace, BlockReader, IndexDamagedError, well_formed
from contexthall.caches.model.format import (
    DOCUMENTS,
    MANIFEST,
    Listing,
    read_head,
    scorer_in,
)
from contexthall.caches.model.shards import shards_in
from contexthall.caches.model.verification import violations
from contexthall.caches.query.cache_files import parts_of, read_listing, read_part
from contexthall.caches.query.scorers import SectionFormat
from contexthall.caches.query.section_reader import open_segment_list
from contexthall.caches.store.local_store import working_directory
from contexthall.caches.store.packing import Packer
from contexthall.caches.store.ranges import read_root
from contexthall.caches.store.root import PACKS, ROOT, PackedFile, Root, StoredPart
from contexthall.caches.store.stored_index import CHECKSUM_BYTES, IndexHead, document_in, expanded
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, CacheMissingError, DiskError, PathMissingError, UsageError
from contexthall.system.disk import Directory, Disk, File
from contexthall.system.objects import ObjectRange, Objects

Progress = Callable[[int, int], None]


class Published(NamedTuple):
    """What was put into a store, or taken out of it."""

    cache_version: str
    document_count: int
    bytes: int
    """So many were sent or received: what a store has already is not sent again, unless to mend it."""


class _PackedPart(NamedTuple):
    """A part of a cache in a pack on this machine, and the sums of its sections."""

    part: StoredPart
    file: File
    sums: dict[str, int]


def push(disk: Disk, cache: Directory, objects: Objects, work: str, *, force: bool, progress: Progress) -> Published:
    """Put a cache into a store; one that is there is replaced only by `force`."""
    manifest = read_part(cache, MANIFEST)
    listing = _listing(cache, manifest)
    check_free(objects, force=force)
    done, mends = 0, force and _is_there(objects, cache, manifest)

    def on_page() -> None:
        nonlocal done
        done += 1
        progress(done, len(listing.documents))

    sent, parts, sums = 0, list[StoredPart](), list[dict[str, int]]()
    with working_directory(disk, work) as folder:
        for each in packed(folder, cache, manifest, on_page):
            sent += _send(objects, each, mends=mends)
            parts.append(each.part)
            sums.append(each.sums)
    root = _root(manifest, listing, parts, sums)
    if force:
        objects.put(ROOT, root.to_bytes())
    elif not objects.create(ROOT, root.to_bytes()):
        raise UsageError(f"somebody put a cache there meanwhile: {objects.url}", hint="replace it with --force")
    return Published(root.cache_version, root.document_count, sent + len(root.to_bytes()))


def check_free(objects: Objects, *, force: bool) -> None:
    """Refuse a place where a cache is, unless it is to be replaced."""
    if not force and objects.size(ROOT) is not None:
        raise UsageError(f"a cache is there already: {objects.url}", hint="replace it with --force")


def _is_there(objects: Objects, cache: Directory, manifest: bytes) -> bool:
    """Return whether this very cache is there, or one that cannot be read: who puts it there again wants it mended."""
    try:
        there = [part.key for part in read_root(objects).parts]
    except CacheMissingError:
        return False
    except CacheInvalidError:
        return True
    return there == [hashlib.sha256(part.manifest).hexdigest() for part in parts_of(cache, manifest)]


def check_folder(disk: Disk, path: str) -> None:
    """Refuse a folder of this machine that holds something else than a store does; a push may have been cut short."""
    try:
        names = [entry.name for entry in disk.list(disk.real(path))]
    except PathMissingError:
        return
    if ROOT not in names and not all(name.startswith((ROOT, PACKS)) for name in names):
        raise UsageError(f"not the folder of a store, so nothing is put there: {path}", hint="name a new folder")


def pull(disk: Disk, objects: Objects, target: str, *, force: bool, progress: Progress) -> Published:
    """Get a cache from a store, whole, and put it in place as a build does."""
    root = read_root(objects)
    with StagingDirectory(disk, target) as staging:
        replaced = replaceable(disk, target, force=force)
        fetched = unpack(disk, staging.directory, root, objects, progress)
        staging.put_in_place(replaced)
    return Published(root.cache_version, root.document_count, fetched)


def verify(disk: Disk, objects: Objects, work: str, on_document: Callable[[], None]) -> Iterator[str]:
    """Yield everything that is wrong with a cache in a store: its files, and what questions read instead of them."""
    root = read_root(objects)
    with working_directory(disk, work) as folder:
        try:
            unpack(disk, folder, root, objects, lambda _done, _total: None)
        except CacheInvalidError as error:
            yield error.detail
            return
        with folder.enter(NEW) as cache:
            found = [*violations(cache, on_document)]
            yield from found
            if not found:
                yield from _index_violations(folder, cache, root)


def _index_violations(folder: Directory, cache: Directory, root: Root) -> Iterator[str]:
    """Yield where the index in a pack is not what the files in it give."""
    manifest = read_part(cache, MANIFEST)
    if read_head(manifest).cache_version != root.cache_version:
        yield f"{ROOT} and the manifest do not have the same version"
        return
    sums = []
    for stored, made in zip(root.parts, packed(folder, cache, manifest, lambda: None), strict=False):
        sums.append(made.sums)
        with _fetched(folder, stored) as fetched:
            if not _is_same_index(stored, fetched, made):
                yield f"{stored.object}: its index says what its pages do not"
    if _root(manifest, _listing(cache, manifest), list(root.parts), sums) != root:
        yield f"{ROOT} does not say what its packs do"


def _is_same_index(stored: StoredPart, fetched: File, made: _PackedPart) -> bool:
    """Return whether a pack has the index that was made again; heads may be compressed in another way."""
    one, other = stored.head, made.part.head
    if (one.at, one.size, one.digest) != (other.at, other.size, other.digest):
        return False
    size = limits.STORE_PIECE_BYTES
    pieces = ((at, min(size, one.at - at)) for at in range(0, one.at, size))
    return all(fetched.read_at(*piece) == made.file.read_at(*piece) for piece in pieces)


def packed(folder: Directory, cache: Directory, manifest: bytes, on_page: Callable[[], None]) -> Iterator[_PackedPart]:
    """Yield each part of a cache, in a pack that is removed when the folder is."""
    for part in parts_of(cache, manifest):
        name = f"{RUN_PREFIX}packed-{part.prefix.rstrip('/')}"
        with _create(folder, name) as file:
            packer = Packer(part, file.write_all, on_page)
            stored = packer.pack()
        with folder.open(name) as file:
            yield _PackedPart(stored, file, packer.segments.sums)


def unpack(disk: Disk, folder: Directory, root: Root, objects: Objects, progress: Progress) -> int:
    """Write the cache of a root into a new folder, `new`; return how many bytes were fetched."""
    new = os.path.join(folder.path, NEW)
    disk.make_directory(new)
    done, fetched = 0, 0

    def on_page() -> None:
        nonlocal done
        done += 1
        progress(done, root.document_count)

    with folder.enter(NEW) as cache:
        if root.manifest:
            cache.write(MANIFEST, root.manifest.encode())
        for part in root.parts:
            place = os.path.join(new, part.path)
            if part.path:
                disk.make_directory(place)
            disk.make_directory(os.path.join(place, DOCUMENTS))
            fetched += _fetch(objects, part, folder)
            with disk.enter(place) as directory, _fetched(folder, part) as pack:
                _unpack_part(directory, part, pack, on_page)
    return fetched


def _unpack_part(directory: Directory, part: StoredPart, pack: File, on_page: Callable[[], None]) -> None:
    for file in part.files:
        directory.write(file.name, pack.read_at(file.at, file.length))
    manifest = _bytes_of(pack, part.file(MANIFEST))
    try:
        head = IndexHead.read(expanded(pack.read_at(*part.head[:2]), part.head.size, part.head.digest))
        listed = open_segment_list(directory, manifest)
        names = [name.removeprefix(f"{DOCUMENTS}/") for each in listed for name in each.pages]
        reader = BlockReader(pack, part.size, bytes.fromhex(part.key))
        with directory.enter(DOCUMENTS) as folder, well_formed():
            for page, name in enumerate(names):
                at, end = head.page_places[page : page + 2]
                block = reader.read(BlockPlace(at, end - at - CHECKSUM_BYTES), f"page {page}")
                folder.write(name, document_in(block))
                on_page()
    except IndexDamagedError as error:
        raise CacheInvalidError(f"{part.object}: {error}") from None


def _bytes_of(pack: File, file: PackedFile | None) -> bytes:
    return pack.read_at(file.at, file.length) if file else b""


def _fetch(objects: Objects, part: StoredPart, folder: Directory) -> int:
    """Get a pack, which must be the one that has this name."""
    digest, size = hashlib.sha256(), limits.STORE_PIECE_BYTES
    with _create(folder, _pack_file(part)) as file:
        for start in range(0, part.size, size * limits.STORE_REQUESTS):
            ends = range(start, min(part.size, start + size * limits.STORE_REQUESTS), size)
            pieces = [ObjectRange(part.object, at, min(size, part.size - at)) for at in ends]
            try:
                found = objects.get_ranges(pieces)
            except PathMissingError:
                raise CacheInvalidError(f"{part.object} is not there") from None
            for data in found:
                digest.update(data)
                file.write_all(data)
    if digest.hexdigest() != part.pack:
        raise CacheInvalidError(f"{part.object}: the store has other bytes than were put there")
    return part.size


def _send(objects: Objects, each: _PackedPart, *, mends: bool) -> int:
    """Put a pack into a store that does not have it, or may have it damaged; return how many bytes that took."""
    part, file = each.part, each.file
    if not mends and objects.size(part.object) == part.size:
        return 0
    size = limits.STORE_PIECE_BYTES
    objects.put(part.object, (file.read_at(at, size) for at in range(0, part.size, size)))
    return part.size


def _root(manifest: bytes, listing: Listing, parts: list[StoredPart], sums: list[dict[str, int]]) -> Root:
    assert isinstance(listing.scorer, SectionFormat)
    together = {name: sum(each[name] for each in sums) for name in sums[0]}
    version = read_head(manifest).cache_version
    top = manifest.decode() if shards_in(manifest) else ""
    return Root(version, listing.scorer.build_config, len(listing.documents), together, top, tuple(parts))


def _listing(cache: Directory, manifest: bytes) -> Listing:
    """Return what a cache lists, which must be one that can be put into a store."""
    if not isinstance(scorer_in(manifest), SectionFormat):
        hint = "build it without --format 1"
        raise UsageError("only caches of format 2 can be put into a store", hint=hint)
    return read_listing(cache, manifest)


def _create(folder: Directory, name: str) -> File:
    file = folder.create(name)
    if file is None:
        raise DiskError(f"already there: {os.path.join(folder.path, name)}")
    return file


def _fetched(folder: Directory, part: StoredPart) -> File:
    return folder.open(_pack_file(part))


def _pack_file(part: StoredPart) -> str:
    return f"{RUN_PREFIX}fetched-{part.pack}-{part.path}"

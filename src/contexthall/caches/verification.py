"""Is a cache what it says it is? Every promise of the format, checked against every file."""

from collections.abc import Iterator

from contexthall.caches.format import DOCUMENTS, INDEX, MANIFEST, Listed, read_manifest
from contexthall.caches.reader import DocumentFiles, read_part
from contexthall.core import wire
from contexthall.core.errors import CacheInvalidError, DiskError, PathMissingError
from contexthall.disk import Directory


def violations(cache: Directory) -> Iterator[str]:
    """Name every promise that the cache breaks."""
    try:
        listed = read_manifest(read_part(cache, MANIFEST)).documents
    except CacheInvalidError as error:
        yield error.detail
        return
    yield from _document_violations(cache, listed)
    yield from _orphans(cache, listed)
    yield from _index_violations(cache, listed)


def _document_violations(cache: Directory, listed: tuple[Listed, ...]) -> Iterator[str]:
    files = DocumentFiles(cache)
    for each in listed:
        try:
            files.read(each)
        except (CacheInvalidError, DiskError) as error:
            yield error.detail


def _orphans(cache: Directory, listed: tuple[Listed, ...]) -> Iterator[str]:
    try:
        present = cache.enter(DOCUMENTS).names()
    except PathMissingError:
        yield f"there is no {DOCUMENTS} directory"
        return
    expected = {"/".join(each.file.split("/")[:2]) for each in listed}  # others may have put a file deeper
    for name in sorted({f"{DOCUMENTS}/{name}" for name in present} - expected):
        yield f"no document has the file {name}"


def _index_violations(cache: Directory, listed: tuple[Listed, ...]) -> Iterator[str]:
    try:
        index = wire.parse(read_part(cache, INDEX))
    except (CacheInvalidError, ValueError) as error:
        yield f"{INDEX}: {error}"
        return
    if index != {each.id: each.file for each in listed}:
        yield f"{INDEX} and {MANIFEST} do not agree"

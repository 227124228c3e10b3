import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache, compile_folder, disturbed, write_sources

from contexthall.caches.library import CacheEntry, CacheRef, Library
from contexthall.caches.model.inspection import Inspection
from contexthall.core.errors import CacheMissingError, DiskError
from contexthall.system.disk import Disk

GOOD = '{"cache_version":"sha256:ab","document_count":3}'
READINGS: tuple[Callable[[Library, CacheRef], object], ...] = (
    lambda library, directory: library.inspect(directory),
    lambda library, directory: library.resolve(directory, "a", 9).text,
    lambda library, directory: library.places(directory, "a", 9, 0, 9),
    lambda library, directory: library.explain(directory, "a", 9, "a.md"),
    lambda library, directory: library.document(directory, "a.md"),
    lambda library, directory: library.verify(directory),
)


def library(root: Path, *, named: bool = True, disk: Disk | None = None) -> Library:
    return Library(disk or Disk(), root=str(root), root_is_named=named, working_directory=str(root.parent))


def cache(path: Path, manifest: str = GOOD) -> Path:
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(manifest)
    return path


def refusing(name: str, call: Callable[..., Any]) -> Disk:
    """A disk that refuses one kind of call on what ends in `name`."""

    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if each is call and str(arguments[0]).endswith(name):
            raise PermissionError(errno.EACCES, "Permission denied")
        return each(*arguments, **options)

    return Disk(perform)


def test_a_cache_that_is_replaced_while_it_is_inspected_is_not_mixed_with_the_new_one(tmp_path: Path) -> None:
    here = build_cache(tmp_path, {"a.md": "one"})
    others = write_sources(tmp_path / "others", {"b.md": "two", "c.md": "three"})
    disk = disturbed(os.open, "manifest.json", lambda: compile_folder(others, here, force=True))
    found = library(tmp_path, disk=disk).inspect(CacheRef(str(here)))
    assert found == library(tmp_path).inspect(CacheRef(str(here)))
    assert (found.document_count, found.valid) == (2, True)


def test_a_cache_that_is_replaced_while_it_is_listed_has_a_manifest_all_the_time(tmp_path: Path) -> None:
    root = tmp_path / "caches"
    root.mkdir()
    here = build_cache(tmp_path, {"a.md": "one"}).rename(root / "here")
    others = write_sources(tmp_path / "others", {"b.md": "two"})
    disk = disturbed(os.stat, "manifest.json", lambda: compile_folder(others, here, force=True))
    assert library(root, disk=disk).list_caches() == (CacheEntry("here", True),)


def test_own_caches_are_listed_by_name_and_others_by_absolute_path(tmp_path: Path) -> None:
    root = tmp_path / "caches"
    cache(root / "b")
    (root / "a").mkdir()
    assert library(root).list_caches() == (CacheEntry("a", False), CacheEntry("b", True))
    by_path = (CacheEntry(f"{root}/a", False), CacheEntry(f"{root}/b", True))
    for spelling in (str(root), f"{root}/", "caches", "./caches/", f"{root}/b/../", f"/{root}"):
        assert library(root).list_caches(spelling) == by_path


def test_only_directories_count_hidden_ones_too_but_not_our_own_temporaries(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    cache(tmp_path / ".hidden" / "nested")
    cache(tmp_path / ".contexthall-build-1")
    (tmp_path / "link").symlink_to(tmp_path / ".hidden")
    assert library(tmp_path).list_caches() == (CacheEntry(".hidden", False),)


def test_a_manifest_counts_only_as_a_regular_file_and_is_not_parsed(tmp_path: Path) -> None:
    cache(tmp_path / "corrupt", "{")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "manifest.json").symlink_to(tmp_path / "corrupt" / "manifest.json")
    (tmp_path / "folder" / "manifest.json").mkdir(parents=True)
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "manifest.json")
    assert [entry.path for entry in library(tmp_path).list_caches() if entry.has_manifest] == ["corrupt"]


def test_names_are_sorted_by_their_bytes_and_shown_in_unicode(tmp_path: Path) -> None:
    for name in (b"b", b"B", b"a b", b"\xc3\xa9", b"\xff", b"\xf0\x9f\x98\x80", b"\xef\xbf\xbc"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    listed = [entry.path for entry in library(tmp_path).list_caches()]
    assert listed == ["B", "a b", "b", "é", "\ufffc", "\ufffd", "😀"]


def test_a_symlinked_root_is_followed_and_not_resolved(tmp_path: Path) -> None:
    cache(tmp_path / "real" / "a")
    (tmp_path / "link").symlink_to("real")
    assert library(tmp_path / "own").list_caches(str(tmp_path / "link")) == (CacheEntry(f"{tmp_path}/link/a", True),)
    assert library(tmp_path / "link").list_caches() == (CacheEntry("a", True),)


@pytest.mark.parametrize("root", ["", "missing", "file", "file/below", "nul\0", "\ud800", "x" * 9999])
def test_a_root_that_is_no_directory_is_missing(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CacheMissingError):
        library(tmp_path / "caches").list_caches(root)


def test_a_root_that_the_caller_may_not_read_is_missing(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for root in (tmp_path / "other", tmp_path / "nowhere"):
        with pytest.raises(CacheMissingError):
            library(tmp_path).list_caches(str(root), may_read=lambda _path, _home: False)


def test_the_own_root_may_be_absent_by_default_but_not_when_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert library(tmp_path / "absent", named=False).list_caches() == ()
    assert library(tmp_path / "file" / "absent", named=False).list_caches() == ()
    for absent in (library(tmp_path / "absent"), library(tmp_path / "file"), library(tmp_path / "file", named=False)):
        with pytest.raises(DiskError):
            absent.list_caches()


@pytest.mark.usefixtures("bound_by_permissions")
def test_what_may_not_be_looked_into(tmp_path: Path) -> None:
    closed = cache(tmp_path / "closed")
    closed.chmod(0)
    try:
        assert library(tmp_path).list_caches() == (CacheEntry("closed", False),)
        with pytest.raises(DiskError, match="Permission denied"):
            library(tmp_path).list_caches(str(closed))
        with pytest.raises(DiskError, match="Permission denied"):
            library(tmp_path).inspect(CacheRef(str(closed)))
        with pytest.raises(DiskError, match="Permission denied"):
            library(closed).list_caches()
    finally:
        closed.chmod(0o755)
    (closed / "manifest.json").chmod(0)
    assert library(tmp_path).inspect(CacheRef(str(closed))) == Inspection("", 0, 0, False)


def test_an_inspection_adds_up_the_regular_files_directly_inside(tmp_path: Path) -> None:
    here = cache(tmp_path / "here")
    (here / "index.json").write_text("12345")
    (here / ".hidden").write_text("123")
    (here / "link").symlink_to("index.json")
    (here / "documents").mkdir()
    (here / "documents" / "a.json").write_text("not counted")
    assert library(tmp_path).inspect(CacheRef(str(here))) == Inspection("sha256:ab", 3, len(GOOD) + 8, True)


@pytest.mark.parametrize(
    ("manifest", "version", "count"),
    [
        ("{", "", 0),
        ('{"cache_version":"v"}', "v", 0),
        ('{"cache_version":"v","document_count":true}', "v", 0),
        ('{"document_count":3}', "", 3),
    ],
)
def test_a_bad_manifest_is_told_as_far_as_it_goes(tmp_path: Path, manifest: str, version: str, count: int) -> None:
    here = cache(tmp_path / "here", manifest)
    assert library(tmp_path).inspect(CacheRef(str(here))) == Inspection(version, count, len(manifest), False)


def test_without_a_regular_manifest_a_cache_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(GOOD)
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "manifest.json").symlink_to(tmp_path / "file")
    (tmp_path / "linked" / "more").write_text("1234")
    assert library(tmp_path).inspect(CacheRef(str(tmp_path / "empty"))) == Inspection("", 0, 0, False)
    assert library(tmp_path).inspect(CacheRef(str(tmp_path / "linked"))) == Inspection("", 0, 4, False)


def test_a_size_or_a_manifest_that_cannot_be_read_costs_the_sum(tmp_path: Path) -> None:
    here = cache(tmp_path / "here")
    (here / "more").write_text("1234")
    no_size = library(tmp_path, disk=refusing("more", os.stat))
    assert no_size.inspect(CacheRef(str(here))) == Inspection("sha256:ab", 3, 0, False)
    no_manifest = library(tmp_path, disk=refusing("manifest.json", os.open))
    assert no_manifest.inspect(CacheRef(str(here))) == Inspection("", 0, 0, False)


@pytest.mark.parametrize("path", ["missing", "file"])
def test_what_is_no_directory_is_no_cache(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CacheMissingError):
        library(tmp_path).inspect(CacheRef(str(tmp_path / path)))


def test_a_name_is_looked_up_below_the_root(tmp_path: Path) -> None:
    root = tmp_path / "caches"
    cache(root / "a" / "nested")
    (root / "inside").symlink_to("a")
    lib = library(root)
    assert lib.locate("a").path == f"{root}/a"
    assert lib.locate("./a//nested/").path == f"{root}/a/nested"
    assert lib.locate("inside").path == f"{root}/inside"
    assert lib.locate("not there").path == f"{root}/not there"


@pytest.mark.parametrize("name", ["", ".", "./", "..", "../caches/a", "a/../../x", "nul\0", "out", "out/x", "\ud800"])
def test_a_name_that_leads_out_is_missing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "caches"
    cache(root / "a")
    cache(tmp_path / "outside" / "x")
    (root / "out").symlink_to(tmp_path / "outside")
    for read in READINGS:
        with pytest.raises(CacheMissingError):
            read(library(root), library(root).locate(name))


def test_an_absolute_path_is_taken_as_it_is_where_the_caller_may_read_it(tmp_path: Path) -> None:
    path = str(build_cache(tmp_path, {"a.md": "one"}) / ".." / "cache")
    here = library(tmp_path / "caches")
    assert here.locate(path).path == path
    for read in READINGS:
        read(here, here.locate(path))
        for nowhere in (path, f"{path}/not there", "/x" * 500_000):
            with pytest.raises(CacheMissingError):
                read(here, here.locate(nowhere, may_read=lambda _path, _home: False))


def test_a_place_is_judged_when_it_is_opened_and_not_before(tmp_path: Path) -> None:
    def refuse(call: Callable[..., Any], *_: object, **__: object) -> Any:
        raise AssertionError(call)

    untouched = library(tmp_path, disk=Disk(refuse))
    for name in ("a", "a/b", "nul\0", f"{tmp_path}/a"):
        assert untouched.locate(name, may_read=lambda _path, _home: False)


def test_a_person_means_the_working_directory_first_and_the_root_second(tmp_path: Path) -> None:
    root = tmp_path / "caches"
    cache(root / "both")
    cache(root / "only-below")
    cache(tmp_path / "both")
    assert library(root).find("both").path == f"{tmp_path}/both"
    assert library(root).find("only-below").path == f"{root}/only-below"
    assert library(root).find(str(root / "both")).path == f"{root}/both"
    with pytest.raises(CacheMissingError):
        library(root).find("")
    for missing in ("nowhere", "../nowhere", "/nowhere"):
        with pytest.raises(CacheMissingError, match=missing):
            library(root).find(missing)


def test_a_manifest_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    here = cache(tmp_path / "here")
    os.truncate(here / "manifest.json", 3 << 30)
    assert library(tmp_path).inspect(CacheRef(str(here))) == Inspection("", 0, 0, False)


def test_what_the_caller_may_not_read_is_missing_whatever_the_system_says_of_it(tmp_path: Path) -> None:
    here = library(tmp_path, disk=refusing("closed/x", os.stat))
    for read in READINGS:
        with pytest.raises(CacheMissingError):
            read(here, here.locate(f"{tmp_path}/closed/x", may_read=lambda _path, _home: False))

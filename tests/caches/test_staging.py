"""Workshops: what a build may clear, replace and leave behind."""

import errno
import fcntl
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import CREATED_AT, build_cache, compile_folder, disturbed, library_of, write_sources
from tests.contract import oracle

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.library import CacheRef
from contexthall.core.errors import DiskError, UsageError
from contexthall.system import kernel
from contexthall.system.disk import Directory, Disk

OLD, NEW = {"old.md": "the old one"}, {"new.md": "the new one"}
STAGING = ".contexthall-cache"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return write_sources(tmp_path / "sources", NEW)


@pytest.fixture
def little_stack() -> Iterator[None]:
    """Let Python recurse no deeper than what does not recurse needs."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    yield
    sys.setrecursionlimit(limit)


def refusing(call: Callable[..., Any], number: int, *times: int) -> Disk:
    """A disk on which a call fails with this number: every time, or only the first, second, …"""
    calls = iter(range(1, 10**6))

    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if each is call and (next(calls) in times or not times):
            raise OSError(number, os.strerror(number))
        return each(*arguments, **options)

    return Disk(perform)


def answer(cache: Path) -> str:
    return library_of(cache.parent).resolve(CacheRef(str(cache)), "one", 99).text


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize("kind", ["symlink", "dangling symlink", "file", "directory"])
def test_what_is_not_a_staging_directory_but_has_its_name_is_left_alone(
    tmp_path: Path, sources: Path, kind: str
) -> None:
    precious, staging = tmp_path / "precious", tmp_path / STAGING
    write_sources(precious, {"notes": "years of work"})
    if kind == "symlink":
        staging.symlink_to("precious")
    elif kind == "dangling symlink":
        staging.symlink_to("nowhere")
    elif kind == "file":
        staging.write_text("mine")
    else:
        write_sources(staging, {"new/notes": "", "notes": ""})
    before = names(tmp_path)
    with pytest.raises(UsageError, match=f"something else is at .*{STAGING}"):
        compile_folder(sources, tmp_path / "cache")
    assert names(tmp_path) == before
    assert (precious / "notes").read_text() == "years of work"
    assert kind != "directory" or names(staging) == {"new", "notes"}


@pytest.mark.parametrize(
    "files",
    [
        {"manifest.json": '{"manifest_version":3}', "src/main.js": "code"},
        {"manifest.json": '{"manifest_version":3}'},
        {"manifest.json": '{"cache_version":"v","document_count":0}', "thesis.tex": "years of work"},
        {"manifest.json/cache_version": "a directory"},
        {"index.json": "{}"},
    ],
)
def test_a_directory_with_a_manifest_of_its_own_is_not_replaced(
    tmp_path: Path, sources: Path, files: dict[str, str]
) -> None:
    target = write_sources(tmp_path / "target", files)
    with pytest.raises(UsageError, match="not a cache"):
        compile_folder(sources, target, force=True)
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} == set(files)


@pytest.mark.parametrize("force", [True, False])
def test_what_comes_to_be_at_the_target_during_the_build_stays(tmp_path: Path, sources: Path, force: bool) -> None:
    target = tmp_path / "cache"
    if force:
        build_cache(tmp_path, OLD)

    def meanwhile(_done: int, _total: int) -> None:
        if target.exists() and not (tmp_path / "aside").exists():
            target.rename(tmp_path / "aside")
        if not target.exists():
            build_cache(tmp_path, {"other.md": "the one of somebody else"}, name="other")
            (tmp_path / "other").rename(target)

    with pytest.raises(UsageError, match="during the build"):
        CacheBuilder(Disk(), CREATED_AT).build(str(sources), str(target), force=force, progress=meanwhile)
    assert "somebody else" in answer(target)
    assert STAGING not in names(tmp_path)


def test_what_is_put_into_the_old_cache_during_the_build_stays(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    with pytest.raises(UsageError, match="not a cache"):
        CacheBuilder(Disk(), CREATED_AT).build(
            str(sources), str(cache), force=True, progress=lambda _done, _total: (cache / "notes").touch()
        )
    assert "notes" in names(cache)


def test_a_cache_that_is_removed_during_a_build_by_force_is_built_all_the_same(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)

    def meanwhile(_done: int, _total: int) -> None:
        if not (tmp_path / "aside").exists():
            cache.rename(tmp_path / "aside")

    CacheBuilder(Disk(), CREATED_AT).build(str(sources), str(cache), force=True, progress=meanwhile)
    assert answer(cache) == oracle.resolve(NEW, "one", 99)


@pytest.mark.parametrize("where", [".contexthall-docs", ".contexthall-docs/below"])
def test_sources_do_not_lie_in_the_staging_directory(tmp_path: Path, where: str) -> None:
    (tmp_path / ".contexthall-docs").mkdir()
    folder = write_sources(tmp_path / where, {"a.md": "hi"})
    with pytest.raises(UsageError, match="--sources and --cache overlap"):
        compile_folder(folder, tmp_path / "docs")
    assert (folder / "a.md").read_text() == "hi"


def test_a_cache_may_not_have_the_name_of_a_workshop(tmp_path: Path, sources: Path) -> None:
    with pytest.raises(UsageError, match="half built"):
        compile_folder(sources, tmp_path / ".contexthall-x")
    (tmp_path / "link").symlink_to(".contexthall-x")
    with pytest.raises(UsageError, match="half built"):
        compile_folder(sources, tmp_path / "link")


def test_a_staging_directory_that_comes_and_goes_is_not_waited_for_without_end(tmp_path: Path, sources: Path) -> None:
    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is os.open and str(arguments[0]).endswith(STAGING):
            os.rmdir(arguments[0])
        return call(*arguments, **options)

    with pytest.raises(UsageError, match="all the time"):
        compile_folder(sources, tmp_path / "cache", disk=Disk(perform))


def test_the_staging_directory_of_whoever_was_quicker_is_left_alone(tmp_path: Path, sources: Path) -> None:
    quicker = list[Directory]()

    def be_quicker() -> None:
        quicker.append(Disk().enter(str(tmp_path / STAGING)))
        quicker[0].lock()

    with pytest.raises(UsageError, match="under way"):
        compile_folder(sources, tmp_path / "cache", disk=disturbed(os.open, STAGING, be_quicker))
    assert STAGING in names(tmp_path)


def test_a_staging_directory_that_was_removed_before_it_could_be_locked_is_made_again(
    tmp_path: Path, sources: Path
) -> None:
    removed: list[bool] = []

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is fcntl.flock and not removed:
            removed.append(True)
            (tmp_path / STAGING).rmdir()  # as whoever had the lock does at the end of its build
        return call(*arguments, **options)

    compile_folder(sources, tmp_path / "cache", disk=Disk(perform))
    assert removed
    assert answer(tmp_path / "cache") == oracle.resolve(NEW, "one", 99)
    assert STAGING not in names(tmp_path)


def test_a_staging_directory_that_another_build_has_taken_meanwhile_is_left_alone(
    tmp_path: Path, sources: Path
) -> None:
    others = list[Directory]()

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is fcntl.flock and not others:
            (tmp_path / STAGING).rmdir()
            (tmp_path / STAGING).mkdir()
            others.append(Disk().enter(str(tmp_path / STAGING)))
            others[0].lock()
            write_sources(tmp_path / STAGING / "new", {"manifest.json": "half"})
        return call(*arguments, **options)

    with pytest.raises(UsageError, match="under way"):
        compile_folder(sources, tmp_path / "cache", disk=Disk(perform))
    assert (tmp_path / STAGING / "new" / "manifest.json").read_text() == "half"


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_write_protected_old_cache_is_replaced_and_removed(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    (cache / "documents").chmod(0)
    built = compile_folder(write_sources(tmp_path / "sources", NEW), cache, force=True)
    assert built.left_behind == ""
    assert names(tmp_path) == {"sources", "cache sources", "cache"}


@pytest.mark.usefixtures("little_stack")
def test_an_old_cache_is_removed_however_deep_it_is(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    (cache / "documents" / "/".join("d" * 150)).mkdir(parents=True)
    assert compile_folder(sources, cache, force=True).left_behind == ""
    assert STAGING not in names(tmp_path)


def test_what_cannot_be_removed_is_told_and_the_next_build_removes_it(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    built = compile_folder(sources, cache, force=True, disk=refusing(os.unlink, errno.EACCES))
    assert "Permission denied" in built.left_behind
    assert answer(cache) == oracle.resolve(NEW, "one", 99)
    assert compile_folder(sources, cache, force=True).left_behind == ""
    assert STAGING not in names(tmp_path)


def test_a_failed_clean_up_does_not_hide_why_the_build_failed(tmp_path: Path, sources: Path) -> None:
    (sources / "z.md").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"z\.md"):
        compile_folder(sources, tmp_path / "cache", disk=refusing(os.unlink, errno.EACCES))


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_where_names_cannot_be_exchanged_two_renames_do(tmp_path: Path, sources: Path, number: int) -> None:
    cache = build_cache(tmp_path, OLD)
    compile_folder(sources, cache, force=True, disk=refusing(kernel.exchange, number))
    assert answer(cache) == oracle.resolve(NEW, "one", 99)
    assert STAGING not in names(tmp_path)


def test_a_real_failure_of_the_exchange_is_an_io_error(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    with pytest.raises(DiskError):
        compile_folder(sources, cache, force=True, disk=refusing(kernel.exchange, errno.EIO))
    assert answer(cache) == oracle.resolve(OLD, "one", 99)


def test_if_the_second_rename_fails_the_old_cache_gets_its_name_back(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is kernel.exchange or (call is os.rename and str(arguments[0]).endswith("/new")):
            raise OSError(errno.EINVAL, "Invalid argument")
        return call(*arguments, **options)

    with pytest.raises(DiskError):
        compile_folder(sources, cache, force=True, disk=Disk(perform))
    assert answer(cache) == oracle.resolve(OLD, "one", 99)
    assert STAGING not in names(tmp_path)


def test_a_cache_that_a_killed_build_had_moved_aside_gets_its_name_back(tmp_path: Path, sources: Path) -> None:
    cache = build_cache(tmp_path, OLD)
    (tmp_path / STAGING).mkdir()
    cache.rename(tmp_path / STAGING / "old")
    with pytest.raises(UsageError, match="already"):
        compile_folder(sources, cache)
    assert answer(cache) == oracle.resolve(OLD, "one", 99)
    assert STAGING not in names(tmp_path)


def test_a_failed_build_leaves_none_of_the_parents_that_it_made(tmp_path: Path, sources: Path) -> None:
    (sources / "bad.md").write_bytes(b"\xff")
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError):
        compile_folder(sources, tmp_path / "there" / "new" / "deep" / "cache")
    assert names(tmp_path / "there") == set()
    with pytest.raises(DiskError):
        compile_folder(sources, tmp_path / "there" / "new" / ("x" * 300) / "cache")
    assert names(tmp_path / "there") == set()


@pytest.mark.usefixtures("little_stack")
def test_a_target_may_lie_deeper_than_python_recurses(tmp_path: Path, sources: Path) -> None:
    cache = tmp_path / "/".join("d" * 250)
    compile_folder(sources, cache)
    assert answer(cache) == oracle.resolve(NEW, "one", 99)

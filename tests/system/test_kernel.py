"""What is opened straight is reached by no symlink, however the kernel is asked."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from contexthall.system import kernel
from contexthall.system.kernel import open_in_steps, open_straight

Open = Callable[[str, int], int]


def by_a_kernel_that_cannot(monkeypatch: pytest.MonkeyPatch) -> Open:
    """An old kernel, or a container that forbids what it does not know."""
    monkeypatch.setattr(kernel, "_last_error", lambda path: OSError(errno.ENOSYS, "no such call", path))
    monkeypatch.setattr(kernel, "_OPENAT2", -1)
    return kernel._open_at_once


@pytest.fixture(params=["straight", "at once", "in steps", "by a kernel that cannot"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Open:
    ways = {"straight": open_straight, "at once": kernel._open_at_once, "in steps": open_in_steps}
    return ways.get(request.param) or by_a_kernel_that_cannot(monkeypatch)


def test_a_path_without_symlinks_is_opened(opening: Open, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("hello")
    descriptor = opening(str(tmp_path / "a" / "b" / "file"), os.O_RDONLY | os.O_CLOEXEC)
    assert os.read(descriptor, 9) == b"hello"
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    os.close(opening("/", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY))


def test_a_symlink_anywhere_in_it_is_not_followed(opening: Open, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("hello")
    (tmp_path / "first").symlink_to("a")
    (tmp_path / "a" / "second").symlink_to("b")
    (tmp_path / "a" / "b" / "last").symlink_to("file")
    for path in ("first/b/file", "a/second/file", "a/b/last", "first", "a/second"):
        with pytest.raises(OSError, match=r".") as refused:
            opening(str(tmp_path / path), os.O_RDONLY | os.O_CLOEXEC)
        assert refused.value.errno in {errno.ELOOP, errno.ENOTDIR}


def test_what_is_not_there_or_no_name_is_refused(opening: Open, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opening(str(tmp_path / "nothing"), os.O_RDONLY | os.O_CLOEXEC)
    (tmp_path / "a").write_text("hello")
    with pytest.raises(ValueError, match="null"):
        opening(f"{tmp_path}/a\0b", os.O_RDONLY | os.O_CLOEXEC)


def test_no_descriptor_stays_open(opening: Open, tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for path in (tmp_path / "nothing", tmp_path / "nothing" / "below", tmp_path):
        with suppress(FileNotFoundError):
            os.close(opening(str(path), os.O_RDONLY | os.O_CLOEXEC))
    assert set(os.listdir("/proc/self/fd")) == before


class Library:
    """The C library, as far as it syncs: it takes down which descriptor, and answers with what it was told to."""

    def __init__(self, answer: int = 0) -> None:
        self.synced: list[int] = []
        self._answer = answer

    def syncfs(self, descriptor: int) -> int:
        self.synced.append(descriptor)
        return self._answer


def test_the_file_system_of_a_descriptor_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(kernel, "_library", lambda: library)
    kernel.sync_file_system(7)
    assert library.synced == [7]


def test_a_file_system_that_cannot_be_synced_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_library", lambda: Library(answer=-1))
    monkeypatch.setattr(kernel, "_last_error", lambda _path: OSError(errno.EIO, "Input/output error"))
    with pytest.raises(OSError, match="Input/output error"):
        kernel.sync_file_system(7)


def test_where_one_file_system_cannot_be_synced_alone_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(kernel, "_library", lambda: None)
    monkeypatch.setattr(os, "sync", lambda: synced.append("all"))
    kernel.sync_file_system(7)
    assert synced == ["all"]

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contexthall.core.errors import DiskError, PathMissingError
from contexthall.system.disk import Disk, Entry, Seen, Survey, is_settled, temporary_name
from contexthall.system.disk.queries import TOO_RECENT


def failing_at(number: int, error: OSError) -> Callable[..., Any]:
    """Perform every call but the one with this number."""
    calls = iter(range(1, 1000))

    def perform(call: Callable[..., Any], *arguments: object) -> Any:
        if next(calls) == number:
            raise error
        return call(*arguments)

    return perform


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(3_000_000)
    (tmp_path / "file").write_bytes(data)
    assert Disk().read(str(tmp_path / "file")) == data


def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("fifo", "link", "."):
        with pytest.raises(DiskError):
            Disk().read(str(tmp_path / name))


def test_a_listing_is_sorted_however_the_system_gives_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("b")
    (tmp_path / os.fsdecode(b"\xff")).write_text("x")

    def shuffling(call: Callable[..., Any], *arguments: object) -> Any:
        found = call(*arguments)
        random.Random(7).shuffle(found)
        return found

    expected = (
        Entry("a", "file"),
        Entry("b", "directory"),
        Entry("fifo", "other"),
        Entry("link", "symlink"),
        Entry("\udcff", "file"),
    )
    assert Disk().list(str(tmp_path)) == expected
    assert Disk(shuffling).list(str(tmp_path)) == expected


@pytest.mark.parametrize("path", ["missing", "file/below", "x" * 5000, "nul\0", "loop", "half\ud800"])
def test_where_nothing_is_or_can_be_the_path_is_missing(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for operation in (Disk().look, Disk().list, Disk().read):
        with pytest.raises(PathMissingError):
            operation(f"{tmp_path}/{path}")


def test_a_look_follows_symlinks_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("four")
    (tmp_path / "link").symlink_to("file")
    disk = Disk()
    assert disk.look(str(tmp_path / "link"))[:2] == ("file", 4)
    assert disk.look(str(tmp_path / "link"), follow=False).kind == "symlink"
    assert disk.look(str(tmp_path)).kind == "directory"
    assert disk.look("/dev/null").kind == "other"


def test_every_call_of_a_read_can_fail_and_the_error_names_file_and_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for number in range(1, 4):
        disk = Disk(failing_at(number, OSError(errno.EIO, "Input/output error")))
        with pytest.raises(DiskError, match=r"file: Input/output error"):
            disk.read(str(tmp_path / "file"))
    after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert after == before
    assert Disk(failing_at(5, OSError(errno.EIO, ""))).read(str(tmp_path / "file")) == b"x"


def test_containment_is_judged_after_symlinks(tmp_path: Path) -> None:
    inside, outside = tmp_path / "root" / "inside", tmp_path / "outside"
    inside.mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "root" / "out").symlink_to(outside)
    (tmp_path / "in").symlink_to(inside)
    (tmp_path / "root-like").mkdir()
    root, disk = str(tmp_path / "root"), Disk()
    assert disk.is_within(root, root)
    assert disk.is_within(str(inside), root)
    assert disk.is_within(str(tmp_path / "in"), root)
    assert disk.is_within(f"{root}/not there yet", root)
    assert disk.is_within("/anything", "/")
    assert not disk.is_within(f"{root}/out", root)
    assert not disk.is_within(f"{root}/../outside", root)
    assert not disk.is_within(str(tmp_path / "root-like"), root)


def test_a_path_that_is_longer_than_any_is_missing_and_not_followed(tmp_path: Path) -> None:
    for path in ("/a" * 500_000, f"{tmp_path}/" + "a/" * 500_000):
        with pytest.raises(PathMissingError):
            Disk().real(path)


def test_a_symlink_that_is_replaced_before_it_is_read_counts_as_what_is_there_now(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    failures = [OSError(errno.EINVAL, "Invalid argument")]

    def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        if call is os.readlink and failures:
            raise failures.pop()
        return call(*arguments, **options)

    disk, root = Disk(perform), os.path.realpath(tmp_path)
    assert disk.real(f"{root}/link") == f"{root}/link"
    assert disk.real(f"{root}/link") == f"{root}/real"


def test_a_symlink_to_a_directory_is_entered_only_if_it_may_be_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    disk, link = Disk(), str(tmp_path / "link")
    with disk.enter(link) as entered:
        assert entered.status().identity == disk.look(str(tmp_path / "real")).identity
    with pytest.raises(PathMissingError):
        disk.enter(link, follow=False)
    assert [disk.kind(link), disk.kind(link, follow=False), disk.kind("/nowhere")] == ["directory", "symlink", None]


@pytest.mark.usefixtures("bound_by_permissions")
def test_clearing_removes_what_is_write_protected_and_follows_no_symlink(tmp_path: Path) -> None:
    (tmp_path / "kept" / "deep").mkdir(parents=True)
    (tmp_path / "cleared" / "a" / "b").mkdir(parents=True)
    (tmp_path / "cleared" / "a" / "b" / "file").touch()
    (tmp_path / "cleared" / "a" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "cleared" / "a" / "b").chmod(0)
    (tmp_path / "cleared" / "a").chmod(0o555)
    Disk().clear(str(tmp_path / "cleared"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["cleared", "deep", "kept"]


def test_what_is_appended_stands_after_what_others_appended_meanwhile(tmp_path: Path) -> None:
    disk = Disk()
    with disk.enter(str(tmp_path)) as directory, directory.append("log") as mine, directory.append("log") as theirs:
        mine.write_all(b"one ")
        theirs.write_all(b"two ")
        mine.write_all(b"three")
    assert (tmp_path / "log").read_bytes() == b"one two three"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_what_is_written_like_a_private_file_is_private_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "model").touch(0o600)
    modes: dict[str, int] = {}

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        answer = call(*arguments, **options)
        modes.update({path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()})
        assert set(modes.values()) == {0o600}
        return answer

    with Disk(perform).enter(str(tmp_path)) as directory:
        directory.replace_like("model", "copy", b"secret")
    assert "copy" in modes


def test_nothing_is_appended_to_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "read")
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    reader = os.open(tmp_path / "read", os.O_RDONLY | os.O_NONBLOCK)
    with Disk().enter(str(tmp_path)) as directory:
        for name in ("fifo", "read", "directory", "link"):
            with pytest.raises(DiskError):
                directory.append(name)
    os.close(reader)


def test_a_directory_that_takes_nothing_is_told_and_not_tried_for_ever() -> None:
    with pytest.raises(PathMissingError, match="/proc/nope/x"):
        Disk().make_directories("/proc/nope/x")


def test_what_cannot_be_written_is_told_by_the_name_it_should_have_got(tmp_path: Path) -> None:
    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is os.write:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments, **options)

    with Disk(perform).enter(str(tmp_path)) as opened, pytest.raises(DiskError) as told:
        opened.replace("wanted", b"x")
    assert told.value.detail == f"{tmp_path}/wanted: No space left on device"
    assert os.listdir(tmp_path) == []


SEEN_AT = 10_000_000_000
LONG_AGO, JUST_NOW = SEEN_AT - TOO_RECENT - 1, SEEN_AT - TOO_RECENT


@pytest.mark.parametrize(
    ("modified", "changed", "verdict"),
    [
        (LONG_AGO, LONG_AGO, True),
        (JUST_NOW, LONG_AGO, False),
        (LONG_AGO, JUST_NOW, False),  # whose time of modification was set back
        (JUST_NOW, JUST_NOW, False),
    ],
)
def test_a_file_is_settled_if_neither_of_its_times_is_recent(modified: int, changed: int, verdict: bool) -> None:
    assert is_settled((1, modified, changed), SEEN_AT) is verdict
    assert Seen("a", "file", 1, (1, modified, changed)).is_settled(SEEN_AT) is verdict
    assert Survey((1, modified, changed), ()).is_settled(SEEN_AT) is verdict


def test_nobody_tidies_up_where_somebody_writes(tmp_path: Path) -> None:
    """Whether it is the first to write there, which tidies up itself, or a later one; and several may write at once."""
    disk, other = Disk(), Disk()
    with disk.enter(str(tmp_path)) as first, disk.enter(str(tmp_path)) as later, other.enter(str(tmp_path)) as tidying:
        halves = {temporary_name(), temporary_name()}
        for writing, name in zip((first, later), halves, strict=True):
            writing.replace_like(".", name, b"half")
            assert not tidying.tidy()
        first.close()
        assert not tidying.tidy()
        assert {path.name for path in tmp_path.iterdir()} == halves
        later.close()
        assert tidying.tidy()
    assert [*tmp_path.iterdir()] == []

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.guild.log import BoundedLog
from contexthall.system.disk import Disk


def sizes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in directory.iterdir()}


def test_a_silent_member_leaves_no_file(tmp_path: Path) -> None:
    log = BoundedLog(Disk(), str(tmp_path / "logs"), "echo")
    log.write(b"")
    log.close()
    assert log.tail() == ""
    assert log.last_line() == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_said_is_kept_for_the_user_alone(tmp_path: Path) -> None:
    directory = tmp_path / "guild" / "logs"
    log = BoundedLog(Disk(), str(directory), "echo")
    log.write(b"one\ntw")
    log.write(b"o\n")
    log.close()
    assert (directory / "echo.log").read_bytes() == b"one\ntwo\n"
    modes = [path.stat().st_mode & 0o777 for path in (directory.parent, directory, directory / "echo.log")]
    assert modes == [0o700, 0o700, 0o600]


def test_the_next_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    for words in (b"first\n", b"second\n"):
        log = BoundedLog(Disk(), str(tmp_path), "echo")
        log.write(words)
        log.close()
    assert BoundedLog(Disk(), str(tmp_path), "echo").tail() == "first\nsecond\n"
    assert BoundedLog(Disk(), str(tmp_path), "echo").last_line() == ""


def test_a_full_log_becomes_the_older_one_and_a_new_one_begins(tmp_path: Path) -> None:
    log = BoundedLog(Disk(), str(tmp_path), "echo", most_bytes=10)
    for words in (b"0000\n", b"1111\n", b"2222\n"):
        log.write(words)
    assert (tmp_path / "echo.log.1").read_bytes() == b"0000\n1111\n"
    assert (tmp_path / "echo.log").read_bytes() == b"2222\n"
    log.write(b"333333\n")
    assert (tmp_path / "echo.log.1").read_bytes() == b"2222\n"
    assert (tmp_path / "echo.log").read_bytes() == b"333333\n"


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_however_much_is_said_the_newest_is_kept_without_a_gap_and_within_bounds(
    tmp_path_factory: pytest.TempPathFactory, said: list[bytes]
) -> None:
    directory = tmp_path_factory.mktemp("logs")
    log = BoundedLog(Disk(), str(directory), "echo", most_bytes=16)
    for number, words in enumerate(said, 1):
        log.write(words)
        found = sizes(directory)
        assert found.keys() <= {"echo.log", "echo.log.1"}
        assert all(size <= 16 for size in found.values())
        kept = b"".join((directory / name).read_bytes() for name in ("echo.log.1", "echo.log") if name in found)
        everything = b"".join(said[:number])
        assert everything.endswith(kept)
        assert len(kept) >= min(len(everything), 1)
    log.close()


def test_two_halls_may_write_one_log(tmp_path: Path) -> None:
    one, other = (BoundedLog(Disk(), str(tmp_path), "echo", most_bytes=12) for _ in range(2))
    one.write(b"1111\n")
    other.write(b"2222\n")
    assert one.tail() == "1111\n2222\n"
    other.write(b"3333\n")  # which begins a new file under the feet of the other
    one.write(b"4444\n")
    assert (tmp_path / "echo.log.1").read_bytes() == b"1111\n2222\n"
    assert (tmp_path / "echo.log").read_bytes() == b"3333\n4444\n"
    one.close()
    other.close()


def test_a_log_that_somebody_removes_begins_anew(tmp_path: Path) -> None:
    log = BoundedLog(Disk(), str(tmp_path), "echo")
    log.write(b"old\n")
    (tmp_path / "echo.log").unlink()
    log.write(b"new\n")
    log.close()
    assert (tmp_path / "echo.log").read_bytes() == b"new\n"


def test_the_tail_reaches_back_into_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "echo.log.1").write_bytes(b"one\ntwo\nthr")
    (tmp_path / "echo.log").write_bytes(b"ee\nfour \xff")
    log = BoundedLog(Disk(), str(tmp_path), "echo")
    assert log.tail() == "one\ntwo\nthree\nfour \ufffd"
    assert log.tail(3) == "two\nthree\nfour \ufffd"
    assert log.tail(1) == "four \ufffd"
    assert log.tail(0) == ""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([b"one\n", b"two\n"], "two"),
        ([b"one\ntw", b"o"], "two"),
        ([b"one\n", b"\n  \r\n", b"\t"], "one"),
        ([b"one\ntwo\n\n\n"], "two"),
        ([b"10 %\r20 %\r"], "20 %"),
        ([b"\x1b[31mError:\x1b[0m no \x07such \xff file\n"], "Error: no such \ufffd file"),
        ([b"first " + b"x" * 5000, b"x" * 5000], "first " + "x" * 494),
        ([b"first " + b"x" * 5000, b"x" * 5000 + b"\n\n"], "first " + "x" * 494),
        ([b"old\n" + b"y" * 100_000, b"\nlast"], "last"),
        (["é".encode() * 1000], "é" * 500),
        ([b"", b"\n"], ""),
    ],
)
@pytest.mark.parametrize("is_kept", [True, False])
def test_the_last_line_is_the_last_one_with_something_on_it(
    tmp_path: Path, said: list[bytes], line: str, is_kept: bool
) -> None:
    log = BoundedLog(Disk(), str(tmp_path) if is_kept else "", "echo")
    for words in said:
        log.write(words)
    assert log.last_line() == line
    log.close()


def test_nowhere_only_the_last_line_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = BoundedLog(Disk(), "", "echo")
    log.write(b"one\n")
    assert log.tail() == ""
    assert log.last_line() == "one"
    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_said_once_and_what_works_again_is_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    is_full = True

    def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        if is_full and call is os.write:
            raise OSError(errno.ENOSPC, "No space left on device")
        return call(*arguments, **options)

    log = BoundedLog(Disk(perform), str(tmp_path), "echo")
    log.write(b"one\n")
    log.write(b"two\n")
    assert log.last_line() == "two"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    is_full = False
    log.write(b"three\n")
    log.close()
    assert log.tail() == "three\n"
    assert len(caplog.records) == 1


def test_whichever_call_fails_nothing_is_raised(tmp_path: Path) -> None:
    for number in range(1, 40):
        calls = iter(range(1, 1000))

        def perform(
            call: Callable[..., Any], *arguments: object, calls: Any = calls, number: int = number, **options: object
        ) -> Any:
            if next(calls) == number:
                raise OSError(errno.EIO, "Input/output error")
            return call(*arguments, **options)

        log = BoundedLog(Disk(perform), str(tmp_path / str(number)), "echo", most_bytes=8)
        for words in (b"one\n", b"two\n", b"three\n", b"four\n"):
            log.write(words)
        log.tail()
        log.close()
        assert log.last_line() == "four"
    assert (tmp_path / "39" / "echo.log").read_bytes() == b"four\n"


def test_a_directory_that_is_removed_is_made_again(tmp_path: Path) -> None:
    log = BoundedLog(Disk(), str(tmp_path / "logs"), "echo")
    log.write(b"one\n")
    (tmp_path / "logs" / "echo.log").unlink()
    (tmp_path / "logs").rmdir()
    log.write(b"two\n")
    log.write(b"three\n")
    log.close()
    assert log.tail().endswith("three\n")


def test_a_log_is_never_written_through_a_symlink(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "target").write_bytes(b"mine\n")
    (tmp_path / "echo.log").symlink_to("target")
    log = BoundedLog(Disk(), str(tmp_path), "echo")
    log.write(b"theirs\n")
    assert (tmp_path / "target").read_bytes() == b"mine\n"
    assert len(caplog.records) == 1

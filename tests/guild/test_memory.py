import json
import logging
import os
import re
from pathlib import Path

import pytest

from contexthall.guild.lists.memory import MemberRecord, Memory
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk

ECHO = {"name": "echo", "description": "Say it agaín.", "inputSchema": {"type": "object"}}
KNOWN = MemberRecord(
    version="1.0",
    fingerprint="aa-bb",
    cache_digest="cc",
    cached_at="2026-01-01T00:00:00Z",
    approved=(ECHO,),
    baseline=({**ECHO, "description": "Say it again."},),
    current=({**ECHO, "description": "Say it twice."}, {**ECHO, "name": "more"}),
    left_out=('tool "x" is left out: its title is not a string',),
)


def member_in(directory: Path, name: str = "echo") -> Member:
    directory.mkdir(parents=True, exist_ok=True)
    return Member(name=name, key=directory.name, directory=str(directory))


def test_what_is_remembered_is_recalled_by_the_next_hall(tmp_path: Path) -> None:
    member = member_in(tmp_path / "echo")
    Memory(Disk(), str(tmp_path / "state")).remember(member, KNOWN)
    assert Memory(Disk(), str(tmp_path / "state")).recall(member) == KNOWN


def test_the_newest_memory_counts_and_leaves_one_file(tmp_path: Path) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, MemberRecord(version="0.9", cached_at="2025-01-01T00:00:00Z", approved=()))
    memory.remember(member, KNOWN)
    assert memory.recall(member) == KNOWN
    assert os.listdir(tmp_path / "state") == [f"{memory.name_of(member)}.json"]


def test_definitions_that_are_all_approved_are_kept_once(tmp_path: Path) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN._replace(current=(dict(ECHO),)))
    recalled = memory.recall(member)
    assert recalled == KNOWN._replace(current=(ECHO,))
    assert recalled is not None
    assert recalled.current is recalled.approved


def test_one_is_not_taken_for_true(tmp_path: Path) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN._replace(approved=({**ECHO, "y": 1},), current=({**ECHO, "y": True},)))
    recalled = memory.recall(member)
    assert recalled is not None
    assert recalled.approved is not None
    assert recalled.current[0]["y"] is True
    assert recalled.approved[0]["y"] is not True


def test_of_a_member_never_met_nothing_is_recalled_and_nothing_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert Memory(Disk(), str(tmp_path / "state")).recall(member_in(tmp_path / "echo")) is None
    assert caplog.records == []


def test_the_directories_are_for_the_user_alone(tmp_path: Path) -> None:
    Memory(Disk(), str(tmp_path / "state" / "contexthall" / "guild")).remember(member_in(tmp_path / "echo"), KNOWN)
    made = [tmp_path / "state" / "contexthall", tmp_path / "state" / "contexthall" / "guild"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700]


def test_nowhere_nothing_is_remembered_and_nothing_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), "")
    memory.remember(member, KNOWN)
    assert memory.recall(member) is None
    assert memory.stamp() is None
    assert os.listdir(tmp_path) == ["echo"]
    assert caplog.records == []


def test_two_members_of_one_name_are_not_confused(tmp_path: Path) -> None:
    one, other = member_in(tmp_path / "a" / "echo"), member_in(tmp_path / "b" / "echo")
    memory = Memory(Disk(), str(tmp_path / "state"))
    memory.remember(one, KNOWN)
    assert memory.recall(other) is None
    assert memory.name_of(one) != memory.name_of(other)


def test_a_member_is_the_same_by_whichever_path_it_is_reached(tmp_path: Path) -> None:
    member = member_in(tmp_path / "echo")
    (tmp_path / "link").symlink_to("echo")
    memory = Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN)
    assert memory.recall(member_in(tmp_path / "link")) == KNOWN


def test_a_member_is_the_same_whatever_it_calls_itself(tmp_path: Path) -> None:
    memory = Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member_in(tmp_path / "echo", "one"), KNOWN)
    assert memory.recall(member_in(tmp_path / "echo", "two")) == KNOWN
    assert memory.knows("one", str(tmp_path / "echo"))
    assert not memory.knows("two", str(tmp_path / "echo"))
    assert not memory.knows("one", str(tmp_path / "other"))


def test_a_symlink_in_the_place_of_a_directory_is_what_the_directory_was(tmp_path: Path) -> None:
    memory, member = Memory(Disk(), str(tmp_path / "state")), member_in(tmp_path / "echo")
    memory.remember(member, KNOWN)
    (tmp_path / "echo").rename(tmp_path / "real")
    (tmp_path / "echo").symlink_to("real")
    assert memory.recall(member) == KNOWN


def test_a_file_that_an_older_release_named_after_the_member_is_found(tmp_path: Path) -> None:
    memory, member = Memory(Disk(), str(tmp_path / "state")), member_in(tmp_path / "folder", "echo")
    memory.remember(member, KNOWN)
    (name,) = os.listdir(tmp_path / "state")
    kept = json.loads((tmp_path / "state" / name).read_bytes())
    older = {key: value for key, value in kept.items() if key not in {"name", "baseline", "failure"}}
    (tmp_path / "state" / name).unlink()
    (tmp_path / "state" / name.replace("folder", "echo")).write_text(json.dumps(older))
    assert memory.recall(member) == KNOWN._replace(baseline=(ECHO,))
    assert memory.knows("echo", member.directory)


def test_a_memory_of_another_directory_is_not_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, other = member_in(tmp_path / "a"), member_in(tmp_path / "b")
    memory = Memory(Disk(), str(tmp_path / "state"))
    memory.remember(one, KNOWN)
    (tmp_path / "state" / f"{memory.name_of(one)}.json").rename(tmp_path / "state" / f"{memory.name_of(other)}.json")
    assert memory.recall(other) is None
    assert caplog.records == []


def test_a_directory_whose_name_is_not_utf8_is_remembered_too(tmp_path: Path) -> None:
    member = member_in(tmp_path / os.fsdecode(b"\xff"))
    memory = Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN)
    assert memory.recall(member) == KNOWN


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"version": 1},
        {"fingerprint": None},
        {"cache_digest": []},
        {"approved": {}},
        {"approved": [{}]},
        {"current": ["echo"]},
        {"current": "echo"},
        {"left_out": None},
        {"left_out": [1]},
        {"directory": 1},
        {"failure": 1},
        {"cached_at": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_memory_that_is_not_understood_is_ignored_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, object]
) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN)
    path = tmp_path / "state" / f"{memory.name_of(member)}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert memory.recall(member) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "what was remembered of echo is ignored" in caplog.text


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000], ids=["no", "half", "list", "raw", "deep"])
def test_a_damaged_memory_is_ignored_with_a_warning_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(member, KNOWN)
    (tmp_path / "state" / f"{memory.name_of(member)}.json").write_bytes(data)
    assert memory.recall(member) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    memory.remember(member, KNOWN)
    assert memory.recall(member) == KNOWN


@pytest.mark.usefixtures("bound_by_permissions")
def test_where_nothing_can_be_written_or_read_that_is_logged_and_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    member, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o500)
    memory.remember(member, KNOWN)
    (tmp_path / "state").chmod(0)
    assert memory.recall(member) is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]
    (tmp_path / "state").chmod(0o700)


def test_the_stamp_changes_when_any_member_is_remembered(tmp_path: Path) -> None:
    one, other = member_in(tmp_path / "a"), member_in(tmp_path / "b")
    memory = Memory(Disk(), str(tmp_path / "state"))
    assert memory.stamp() is None
    stamps: list[object] = []
    for member in (one, other, one):
        memory.remember(member, KNOWN)
        os.utime(tmp_path / "state", ns=(0, len(stamps)))  # the clock of the file system may be slower than this test
        stamps.append(memory.stamp())
        memory.recall(member)
        assert memory.stamp() == stamps[-1]
        memory.remember(member, KNOWN)
        stamps.append(memory.stamp())
    assert len(set(stamps)) == len(stamps)


def test_the_log_of_a_member_stands_below_and_forgets_the_last_words_of_another_run(tmp_path: Path) -> None:
    one, other = member_in(tmp_path / "a"), member_in(tmp_path / "b")
    memory = Memory(Disk(), str(tmp_path / "state"))
    log = memory.log_of(one)
    log.write(b"said\n")
    assert (memory.log_of(one).tail(), memory.log_of(one).last_line()) == ("said\n", "")
    assert memory.log_of(other).tail() == ""
    assert (tmp_path / "state" / "logs" / f"{memory.name_of(one)}.log").read_bytes() == b"said\n"
    log.close()


def test_nowhere_a_log_knows_its_last_line_only(tmp_path: Path) -> None:
    log = Memory(Disk(), "").log_of(member_in(tmp_path / "echo"))
    log.write(b"said\n")
    assert (log.last_line(), log.tail()) == ("said", "")


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("echo", "echo"),
        ("My Tools (v2)", "My-Tools-v2"),
        ("--", "member"),
        ("日本", "member"),
        ("x" * 100, "x" * 40),
    ],
)
def test_files_are_named_for_people_and_safely(tmp_path: Path, name: str, readable: str) -> None:
    stem = Memory(Disk(), "").name_of(member_in(tmp_path / name, "../../etc/passwd"))
    assert re.fullmatch(re.escape(readable) + "-[0-9a-f]{12}", stem)


def test_a_failure_is_part_of_the_record_until_the_tools_are_listed_again(tmp_path: Path) -> None:
    echo, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(echo, KNOWN)
    memory.note_failure(echo, "failed at 2026-01-02T03:04:05Z: its command was not found")
    recalled = Memory(Disk(), str(tmp_path / "state")).recall(echo)
    assert recalled == KNOWN._replace(failure="failed at 2026-01-02T03:04:05Z: its command was not found")
    assert os.listdir(tmp_path / "state") == [f"{memory.name_of(echo)}.json"]
    memory.remember(echo, KNOWN)
    assert memory.recall(echo) == KNOWN


def test_a_member_that_only_ever_failed_is_not_known_by_its_name(tmp_path: Path) -> None:
    echo, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.note_failure(echo, "half: \ud800")
    assert memory.recall(echo) == MemberRecord(failure="half: ?")
    assert not memory.knows("echo", echo.directory)


def test_a_failure_is_not_written_over_a_record_that_cannot_be_parsed(tmp_path: Path) -> None:
    echo, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(echo, KNOWN)
    file = tmp_path / "state" / f"{memory.name_of(echo)}.json"
    file.write_bytes(b"{")
    memory.note_failure(echo, "it broke")
    assert file.read_bytes() == b"{"


def test_the_failure_file_of_an_older_release_lapses(tmp_path: Path) -> None:
    echo, memory = member_in(tmp_path / "echo"), Memory(Disk(), str(tmp_path / "state"))
    memory.remember(echo, KNOWN)
    (tmp_path / "state" / f"{memory.name_of(echo)}.failure.json").write_text('{"at":"2026","sentence":"it broke"}')
    assert memory.recall(echo) == KNOWN

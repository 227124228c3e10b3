import errno
import json
import logging
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from contexthall.core import limits
from contexthall.guild.lists.memory import MemberRecord
from contexthall.guild.lists.tools_cache import CachedTools, ToolsCaches, parse, render
from contexthall.guild.members.manifest import Launch, MemberManifest
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk, is_temporary

ECHO = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}
NOW = "2026-02-14T10:00:00Z"


def member_in(directory: Path, *, key: str = "echo", version: str = "1.0") -> Member:
    manifest = MemberManifest(name="echo", version=version, launch=Launch(command="true"))
    return Member(name="echo", key=key, directory=str(directory / key), manifest=manifest)


def member_made_in(directory: Path) -> Member:
    (directory / "echo").mkdir()
    return member_in(directory)


def text_of(**changed: object) -> bytes:
    value = {"version": "1.0", "tools": [ECHO], "cachedAt": NOW} | changed
    return json.dumps({key: each for key, each in value.items() if each != "absent"}).encode()


def failing_at(number: int) -> Callable[..., Any]:
    """Make every call but the one with this number, for which there is no space."""
    calls = iter(range(1, 1000))

    def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        if next(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return call(*arguments, **options)

    return perform


def test_the_cache_stands_in_the_members_own_directory(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-1: guild-members/[plugin-name]/tools-cache.json."""
    member = member_made_in(tmp_path)
    assert ToolsCaches(Disk()).write(member, [ECHO], NOW) is not None
    assert [path.name for path in (tmp_path / "echo").iterdir()] == ["tools-cache.json"]


def test_below_another_directory_each_member_has_one_of_its_own(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-1: the same layout, wherever the caches are."""
    member = member_in(tmp_path / "members", key="collection/echo")
    caches = ToolsCaches(Disk(), str(tmp_path / "caches"))
    assert caches.read(member) is None
    assert caches.write(member, [ECHO], NOW) == caches.read(member)
    assert (tmp_path / "caches" / "collection" / "echo" / "tools-cache.json").is_file()


def test_the_file_has_version_tools_and_time_and_nothing_else(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-2: the version is the manifest's."""
    member = member_made_in(tmp_path)
    ToolsCaches(Disk()).write(member, [ECHO], NOW)
    expected = """{
  "version": "1.0",
  "tools": [
    {
      "name": "echo",
      "description": "Say it again.",
      "inputSchema": {
        "type": "object"
      }
    }
  ],
  "cachedAt": "2026-02-14T10:00:00Z"
}
"""
    assert (tmp_path / "echo" / "tools-cache.json").read_text() == expected


def test_what_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-3: name, description, inputSchema, and whatever else the tool has."""
    other = {
        **ECHO,
        "name": "日本",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "x": 1.5,
    }
    member, caches = member_made_in(tmp_path), ToolsCaches(Disk())
    written = caches.write(member, [other, ECHO], NOW)
    digest = sha256((tmp_path / "echo" / "tools-cache.json").read_bytes()).hexdigest()
    assert written == CachedTools(version="1.0", tools=(other, ECHO), cached_at=NOW, digest=digest)
    assert caches.read(member) == written


def test_the_tools_of_the_very_file_that_is_remembered_are_the_remembered_ones(tmp_path: Path) -> None:
    member, caches = member_made_in(tmp_path), ToolsCaches(Disk())
    written = caches.write(member, [ECHO], NOW)
    assert written is not None
    record = MemberRecord(cache_digest=written.digest, current=(ECHO,))
    found = caches.read(member, record)
    assert found == written
    assert found is not None
    assert found.tools[0] is ECHO
    caches.write(member, [], NOW)
    other = caches.read(member, record)
    assert other is not None
    assert other.tools == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not JSON"),
        (b'{"version": "1.0", "tools": [', "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON: nested too deeply"),
        (b"[]", "it is not an object"),
        (text_of(version="absent"), "its version is not a string"),
        (text_of(version=1.0), "its version is not a string"),
        (text_of(cachedAt="absent"), "its cachedAt is not a string"),
        (text_of(cachedAt=1771063200), "its cachedAt is not a string"),
        (text_of(cachedAt="yesterday"), "its cachedAt is not an ISO 8601 time"),
        (text_of(cachedAt="2026-02-30T10:00:00Z"), "its cachedAt is not an ISO 8601 time"),
        (text_of(cachedAt="0001-01-01T00:00:00+10:00"), "its cachedAt is not an ISO 8601 time"),
        (text_of(cachedAt="2026-02-14"), "its cachedAt has no time of day"),
        (text_of(tools="absent"), "its tools are not a list"),
        (text_of(tools={"echo": ECHO}), "its tools are not a list"),
        (text_of(tools=[ECHO, None]), "tool number 2 is left out: it is not an object"),
        (text_of(tools=[{**ECHO, "name": 1}]), "tool number 1 is left out: it has no name"),
        (text_of(tools=[{**ECHO, "inputSchema": "x"}]), 'tool "echo" is left out: its inputSchema is not an object'),
        (text_of(tools=[ECHO, ECHO]), 'tool "echo" is left out: another tool has that name'),
        (text_of(tools=[{"name": "x", "inputSchema": {}}]), 'the tool "x" has no description'),
        (text_of(tools=[{**ECHO, "description": None}]), 'the tool "echo" has no description'),
        (b" " * (limits.TOOLS_CACHE_BYTES + 1), f"it is larger than {limits.TOOLS_CACHE_BYTES} bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_cache_says_what_is_wrong_with_it(data: bytes, reason: str) -> None:
    """REQ-MCP-TOOL-2, REQ-MCP-TOOL-3: one bad entry is enough."""
    with pytest.raises(ValueError, match=rf"\A{re.escape(reason)}"):
        parse(data)


def test_other_keys_and_no_tools_at_all_are_fine() -> None:
    data = text_of(tools=[], generator="other")
    assert parse(data) == CachedTools(version="1.0", tools=(), cached_at=NOW, digest=sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-02-14T10:00:00.123Z", "2026-02-14T10:00:00.123Z"),
        ("2026-02-14T10:00:00+00:00", "2026-02-14T10:00:00+00:00"),
        ("2026-02-14T12:00:00+02:00", "2026-02-14T10:00:00Z"),
        ("2026-02-14 10:00:00", "2026-02-14T10:00:00Z"),
    ],
)
def test_a_time_is_read_as_utc(written: str, read: str) -> None:
    assert parse(text_of(cachedAt=written)).cached_at == read


def test_a_missing_cache_is_no_reason_to_say_anything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-MCP-TOOL-11: ignored without error."""
    assert ToolsCaches(Disk()).read(member_made_in(tmp_path)) is None
    assert ToolsCaches(Disk(), str(tmp_path / "nowhere")).read(member_in(tmp_path)) is None
    assert caplog.records == []


def test_a_corrupted_cache_is_ignored_with_one_warning_that_names_the_member(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-MCP-TOOL-11, REQ-MCP-TOOL-17: malformed JSON."""
    member = member_made_in(tmp_path)
    (tmp_path / "echo" / "tools-cache.json").write_bytes(render("1.0", [ECHO], NOW)[:-10])
    assert ToolsCaches(Disk()).read(member) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "tools cache of echo is ignored: it is not JSON" in record.getMessage()


@pytest.mark.usefixtures("bound_by_permissions")
def test_an_unreadable_cache_is_ignored_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-MCP-TOOL-17: permissions."""
    member = member_made_in(tmp_path)
    (tmp_path / "echo" / "tools-cache.json").write_bytes(render("1.0", [ECHO], NOW))
    (tmp_path / "echo" / "tools-cache.json").chmod(0)
    assert ToolsCaches(Disk()).read(member) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "Permission denied" in record.getMessage()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_file_is_ignored_and_never_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Callable[[Path], None]
) -> None:
    """REQ-MCP-TOOL-17."""
    member = member_made_in(tmp_path)
    make(tmp_path / "echo" / "tools-cache.json")
    assert ToolsCaches(Disk()).read(member) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_the_file_is_written_beside_and_renamed_so_that_it_is_whole_at_every_moment(tmp_path: Path) -> None:
    """REQ-MCP-TOOL-12: temp file, then rename, seen from before every call to the system."""
    member = member_made_in(tmp_path)
    path = tmp_path / "echo" / "tools-cache.json"
    old, new = render("1.0", [], NOW), render("1.0", [ECHO], NOW)
    path.write_bytes(old)
    seen = []

    def watching(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        seen.append((call.__name__, path.read_bytes(), sorted(os.listdir(path.parent))))
        return call(*arguments, **options)

    ToolsCaches(Disk(watching)).write(member, [ECHO], NOW)
    renaming = [name for name, _, _ in seen].index("rename")
    assert {data for _, data, _ in seen[: renaming + 1]} == {old}
    assert is_temporary(seen[renaming][2][0])
    assert path.read_bytes() == new
    assert os.listdir(path.parent) == ["tools-cache.json"]


def test_whichever_call_fails_the_old_cache_stays_whole_and_the_error_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-MCP-TOOL-12, REQ-MCP-TOOL-18: the disk is full at the n-th call, for every n."""
    member = member_made_in(tmp_path)
    path = tmp_path / "echo" / "tools-cache.json"
    old, new = render("1.0", [], NOW), render("1.0", [ECHO], NOW)
    failures = 0
    for number in range(1, 20):
        path.write_bytes(old)
        caplog.clear()
        written = ToolsCaches(Disk(failing_at(number))).write(member, [ECHO], NOW)
        assert path.read_bytes() == (old if written is None else new)
        if written is not None:  # tidying up before is no condition
            continue
        failures += 1
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "the tools cache of echo cannot be written" in caplog.text
        assert "No space left on device" in caplog.text
    assert failures >= 5
    assert path.read_bytes() == new
    assert caplog.records == []
    assert os.listdir(path.parent) == ["tools-cache.json"]


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_read_only_directory_is_logged_and_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-MCP-TOOL-18: log error, and go on."""
    member = member_made_in(tmp_path)
    (tmp_path / "echo").chmod(0o555)
    assert ToolsCaches(Disk()).write(member, [ECHO], NOW) is None
    (tmp_path / "caches").mkdir(mode=0o555)
    assert ToolsCaches(Disk(), str(tmp_path / "caches")).write(member, [ECHO], NOW) is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]
    (tmp_path / "echo").chmod(0o755)


def test_a_member_directory_that_is_gone_is_not_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-MCP-TOOL-18."""
    assert ToolsCaches(Disk()).write(member_in(tmp_path), [ECHO], NOW) is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert list(tmp_path.iterdir()) == []


def deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"items": value}
    return value


@pytest.mark.parametrize("odd", [{"name": "x"}, {**ECHO, "x": float("inf")}, {**ECHO, "title": "\ud800"}, deep()])
def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, odd: dict[str, Any]
) -> None:
    """REQ-MCP-TOOL-18."""
    assert ToolsCaches(Disk()).write(member_made_in(tmp_path), [ECHO, odd], NOW) is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert list((tmp_path / "echo").iterdir()) == []


def test_a_symlink_in_the_place_of_the_cache_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    member, target = member_made_in(tmp_path), tmp_path / "target"
    target.write_bytes(render("1.0", [ECHO], NOW))
    (tmp_path / "echo" / "tools-cache.json").symlink_to(target)
    assert ToolsCaches(Disk()).read(member) is None
    assert ToolsCaches(Disk()).write(member, [], NOW) is not None
    assert target.read_bytes() == render("1.0", [ECHO], NOW)

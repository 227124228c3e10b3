"""Every directory with a manifest is a member; what is wrong with one is its own affair."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contexthall.guild.manager import Member, discover_guild_members
from contexthall.system.disk import Disk


def add(directory: Path, name: str, *, file: str = "plugin.json", version: str = "1") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    manifest = {"name": name, "version": version, "mcp": {"command": "python3"}}
    (directory / file).write_text(json.dumps(manifest))
    return directory


def add_text(directory: Path, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "plugin.json").write_text(text)


def discover(guild: Path, disk: Disk | None = None) -> dict[str, Member]:
    return discover_guild_members(str(guild), disk)


def keys(members: dict[str, Member]) -> dict[str, str]:
    return {name: member.key for name, member in members.items()}


def errors(members: dict[str, Member]) -> dict[str, str]:
    return {name: member.error for name, member in members.items() if member.status == "error"}


def refusing(path: Path, *calls: str) -> Disk:
    """A disk that refuses calls about one path, as it would for a user without the permission."""

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if arguments and arguments[0] == str(path) and call.__name__ in calls:
            raise PermissionError(errno.EACCES, "Permission denied")
        return call(*arguments, **options)

    return Disk(perform)


def test_a_directory_with_a_manifest_is_a_member(tmp_path: Path) -> None:
    directory = add(tmp_path / "echo", "Echo", version="0.1.0")
    (member,) = discover(tmp_path).values()
    assert (member.name, member.key, member.directory) == ("Echo", "echo", str(directory))
    assert (member.status, member.error, member.version) == ("disconnected", "", "0.1.0")
    assert member.manifest is not None
    assert member.manifest.launch.command == "python3"


def test_collections_go_one_level_down_and_no_further(tmp_path: Path) -> None:
    add(tmp_path / "tools" / "echo", "echo")
    add(tmp_path / "tools" / "deep" / "er", "deeper")
    add(tmp_path / "one" / "inside", "inside")
    add(tmp_path / "one", "one")
    assert keys(discover(tmp_path)) == {"echo": "tools/echo", "one": "one"}


def test_the_second_file_name_counts_where_the_first_is_missing(tmp_path: Path) -> None:
    add(tmp_path / "a", "old", file="guild-member.json")
    add(tmp_path / "b", "no", file="guild-member.json")
    add(tmp_path / "b", "new")
    assert keys(discover(tmp_path)) == {"old": "a", "new": "b"}


def test_a_broken_first_file_is_not_papered_over_by_the_second(tmp_path: Path) -> None:
    add(tmp_path / "a", "good", file="guild-member.json")
    add_text(tmp_path / "a", "[]")
    assert errors(discover(tmp_path)) == {"a": "the manifest must be a JSON object"}


def test_members_are_sorted_by_name_whatever_the_disk_says_first(tmp_path: Path) -> None:
    for number, name in enumerate(["b", "Z", "é", "a"]):
        add(tmp_path / str(number), name)
    backwards = Disk(lambda call, *given, **options: turned(call(*given, **options)))
    assert list(discover(tmp_path)) == list(discover(tmp_path, backwards)) == ["Z", "a", "b", "é"]


def turned(result: object) -> object:
    return result[::-1] if isinstance(result, list) else result


def test_files_hidden_directories_and_node_modules_are_passed_over(tmp_path: Path) -> None:
    for name in (".git", "node_modules", "tools/.venv", "tools/node_modules"):
        add(tmp_path / name, name)
    (tmp_path / "plugin.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    assert discover(tmp_path) == {}


def test_a_linked_member_is_one_and_a_link_that_leads_nowhere_is_not(tmp_path: Path) -> None:
    guild = tmp_path / "guild"
    (guild / "tools").mkdir(parents=True)
    add(tmp_path / "elsewhere", "linked")
    (guild / "here").symlink_to(tmp_path / "elsewhere")
    (guild / "gone").symlink_to(tmp_path / "nowhere")
    (guild / "loop").symlink_to("loop")
    (guild / "file").symlink_to(tmp_path / "elsewhere" / "plugin.json")
    (member,) = discover(guild).values()
    assert (member.key, member.directory, member.status) == ("here", str(guild / "here"), "disconnected")


def test_a_guild_that_is_linked_into_itself_comes_to_an_end(tmp_path: Path) -> None:
    add(tmp_path / "echo", "echo")
    (tmp_path / "again").symlink_to(tmp_path)
    members = discover(tmp_path)
    assert keys(members) == {"echo": "echo", "again/echo": "again/echo"}
    assert errors(members) == {"again/echo": 'its name "echo" is taken by the member in echo'}


def test_a_linked_manifest_is_read_and_one_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    guild = tmp_path / "guild"
    for name in ("good", "bad"):
        (guild / name).mkdir(parents=True)
    (guild / "good" / "plugin.json").symlink_to(add(tmp_path / "elsewhere", "linked") / "plugin.json")
    (guild / "bad" / "plugin.json").symlink_to("nowhere.json")
    members = discover(guild)
    assert keys(members) == {"bad": "bad", "linked": "good"}
    assert errors(members) == {"bad": "`plugin.json` cannot be read: No such file or directory"}


def test_a_manifest_that_is_no_regular_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder" / "plugin.json").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "plugin.json")
    reason = "`plugin.json` is not a regular file"
    assert errors(discover(tmp_path)) == {"folder": reason, "pipe": reason}


def test_a_manifest_too_large_is_an_error_and_never_read(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    with (tmp_path / "large" / "plugin.json").open("wb") as file:
        file.truncate((1 << 20) + 1)
    assert errors(discover(tmp_path, refusing(tmp_path / "large" / "plugin.json", "open"))) == {
        "large": "the manifest is larger than 1048576 bytes"
    }


@pytest.mark.parametrize("missing", ["nowhere", "file", "file/below", "nul\0"])
def test_no_guild_directory_means_no_members(tmp_path: Path, missing: str) -> None:
    (tmp_path / "file").write_text("")
    assert discover(tmp_path / missing) == {}


def test_a_guild_directory_that_cannot_be_read_has_no_members(tmp_path: Path) -> None:
    add(tmp_path / "echo", "echo")
    assert discover(tmp_path, refusing(tmp_path, "scan")) == {}


def test_an_invalid_manifest_is_a_member_with_a_reason_and_the_others_are_untouched(tmp_path: Path) -> None:
    add(tmp_path / "good", "good")
    add_text(tmp_path / "bad", '{"name": "bad", "version": 1}')
    add_text(tmp_path / "tools" / "worse", "{")
    members = discover(tmp_path)
    assert list(members) == ["bad", "good", "tools/worse"]
    assert members["good"].status == "disconnected"
    assert members["bad"] == Member(
        name="bad", key="bad", directory=str(tmp_path / "bad"), status="error", error="`mcp` is missing"
    )
    assert members["tools/worse"].error.startswith("the manifest is not JSON: ")


def test_what_cannot_be_read_is_a_member_with_a_reason_that_names_no_path(tmp_path: Path) -> None:
    add(tmp_path / "echo", "echo")
    (tmp_path / "tools").mkdir()
    manifest = tmp_path / "echo" / "plugin.json"
    assert errors(discover(tmp_path, refusing(manifest, "read_small", "open"))) == {
        "echo": "`plugin.json` cannot be read: Permission denied"
    }
    assert errors(discover(tmp_path, refusing(manifest, "read_small", "lstat"))) == {
        "echo": "`plugin.json` cannot be read: Permission denied"
    }
    closed = discover(tmp_path, refusing(tmp_path / "tools", "scan"))
    assert errors(closed) == {"tools": "its directory cannot be read: Permission denied"}
    assert closed["echo"].status == "disconnected"


def test_a_link_into_a_place_that_is_closed_is_a_member_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to("wherever")

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call.__name__ in {"stat", "lstat"} and str(arguments[0]).startswith(str(tmp_path / "linked")):
            raise PermissionError(errno.EACCES, "Permission denied")
        return call(*arguments, **options)

    assert list(errors(discover(tmp_path, Disk(perform)))) == ["linked"]


def test_a_collection_that_goes_away_meanwhile_is_passed_over(tmp_path: Path) -> None:
    add(tmp_path / "echo", "echo")
    (tmp_path / "tools").mkdir()

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if arguments and arguments[0] == str(tmp_path / "tools"):
            (tmp_path / "tools").rmdir()
        return call(*arguments, **options)

    assert list(discover(tmp_path, Disk(perform))) == ["echo"]


def test_the_first_key_has_a_name_and_the_others_say_who_took_it(tmp_path: Path) -> None:
    add(tmp_path / "tools" / "echo", "echo")
    add(tmp_path / "tools-b", "other")
    add(tmp_path / "zebra", "echo")
    members = discover(tmp_path)
    assert keys(members) == {"echo": "tools/echo", "other": "tools-b", "zebra": "zebra"}
    assert errors(members) == {"zebra": 'its name "echo" is taken by the member in tools/echo'}
    assert members["zebra"].manifest is None


def test_keys_are_compared_by_their_bytes_not_level_by_level(tmp_path: Path) -> None:
    add(tmp_path / "tools" / "a", "echo")
    add(tmp_path / "tools-b", "echo")
    assert errors(discover(tmp_path)) == {"tools/a": 'its name "echo" is taken by the member in tools-b'}


def test_a_member_in_error_takes_a_name_from_a_valid_one_only_if_its_directory_has_it(tmp_path: Path) -> None:
    add_text(tmp_path / "a", "[]")
    add(tmp_path / "b", "a")
    add(tmp_path / "c", "b~2")
    members = discover(tmp_path)
    assert keys(members) == {"a": "a", "b": "b", "b~2": "c"}
    assert errors(members) == {
        "a": "the manifest must be a JSON object",
        "b": 'its name "a" is taken by the member in a',
    }


def test_nobody_takes_the_name_of_a_directory_whose_manifest_is_broken(tmp_path: Path) -> None:
    add_text(tmp_path / "echo", "[]")
    add(tmp_path / "evil", "echo")
    members = discover(tmp_path)
    assert keys(members) == {"echo": "echo", "evil": "evil"}
    assert errors(members) == {
        "echo": "the manifest must be a JSON object",
        "evil": 'its name "echo" is taken by the member in echo',
    }


@pytest.mark.parametrize(
    ("named_so", "owner"),
    [
        (("aaa", "work/git"), "work/git"),
        (("a/git", "b/git"), "a/git"),
        (("git", "work/git"), "git"),
        (("a/git", "git"), "git"),
    ],
)
def test_of_those_with_one_name_it_is_theirs_whose_directory_is_called_so(
    tmp_path: Path, named_so: tuple[str, str], owner: str
) -> None:
    for directory in named_so:
        add(tmp_path / directory, "git")
    members = discover(tmp_path)
    (other,) = {*named_so} - {owner}
    assert keys(members) == {"git": owner, other: other}
    assert errors(members) == {other: f'its name "git" is taken by the member in {owner}'}


@pytest.mark.parametrize(("newcomer", "shown"), [("aaa", "aaa"), ("git", "git~2"), ("work/git", "work/git")])
def test_a_name_stays_with_the_one_that_is_known_by_it(tmp_path: Path, newcomer: str, shown: str) -> None:
    known = add(tmp_path / "old", "git")
    add(tmp_path / newcomer, "git")
    members = discover_guild_members(str(tmp_path), None, lambda name, at: (name, at) == ("git", str(known)))
    assert keys(members) == {"git": "old", shown: newcomer}
    assert errors(members) == {shown: 'its name "git" is taken by the member in old'}


def test_a_name_stays_with_the_one_that_is_known_by_it_whatever_becomes_of_others(tmp_path: Path) -> None:
    add(tmp_path / "old", "git")
    add_text(tmp_path / "git", "[]")
    members = discover_guild_members(str(tmp_path), None, lambda _name, at: at.endswith("/old"))
    assert keys(members) == {"git": "old", "git~2": "git"}


def test_a_name_stays_with_the_one_that_is_known_by_it_while_its_manifest_is_broken(tmp_path: Path) -> None:
    add_text(tmp_path / "old", "[]")
    add(tmp_path / "aaa", "git")
    members = discover_guild_members(str(tmp_path), None, lambda _name, at: at.endswith("/old"))
    assert keys(members) == {"old": "old", "aaa": "aaa"}
    assert errors(members)["aaa"] == 'its name "git" is taken by the member in old'


def test_of_two_that_are_known_by_one_name_the_first_by_key_has_it(tmp_path: Path) -> None:
    add(tmp_path / "zz", "git")
    add(tmp_path / "aa", "git")
    assert keys(discover_guild_members(str(tmp_path), None, lambda _name, _at: True)) == {"git": "aa", "zz": "zz"}


def test_of_two_that_are_known_by_one_name_it_is_theirs_whose_directory_is_called_so(tmp_path: Path) -> None:
    add(tmp_path / "aaa", "git")
    add(tmp_path / "git", "git")
    assert keys(discover_guild_members(str(tmp_path), None, lambda _name, _at: True)) == {"git": "git", "aaa": "aaa"}


def test_names_that_are_not_utf_8_are_shown_readably_and_kept_for_the_disk(tmp_path: Path) -> None:
    directories = [os.path.join(os.fsencode(tmp_path), name) for name in (b"b\xfe", b"b\xff")]
    for directory in directories:
        add_text(Path(os.fsdecode(directory)), "[]")
    members = discover(tmp_path)
    assert keys(members) == {"b\ufffd": "b\ufffd", "b\ufffd~2": "b\ufffd"}
    assert [os.fsencode(member.directory) for member in members.values()] == directories


def test_a_relative_guild_starts_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path / "guild" / "echo", "echo")
    monkeypatch.chdir(tmp_path)
    assert discover_guild_members("./guild/")["echo"].directory == str(tmp_path / "guild" / "echo")

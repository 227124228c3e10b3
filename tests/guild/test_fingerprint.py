import os
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from contexthall.guild.members.fingerprint import fingerprint
from contexthall.guild.members.manifest import Launch, MemberManifest
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk

LAUNCH = Launch(command="python3", args=("server.py",), env={"MODE": "fast"})


def member_in(directory: Path, launch: Launch = LAUNCH, *, version: str = "1.0") -> Member:
    manifest = MemberManifest(name="echo", version=version, launch=launch)
    return Member(name="echo", key="echo", directory=str(directory), manifest=manifest)


@pytest.fixture
def server(tmp_path: Path) -> Path:
    directory = tmp_path / "echo"
    (directory / "lib").mkdir(parents=True)
    (directory / "server.py").write_text("serve()")
    (directory / "lib" / "words.py").write_text("WORDS = []")
    (directory / "plugin.json").write_text("{}")
    return directory


def parts_of(directory: Path, launch: Launch = LAUNCH) -> tuple[str, str]:
    launched, files = fingerprint(Disk(), member_in(directory, launch)).split("-")
    return launched, files


def test_sixteen_digits_stand_for_the_launch_spec_and_sixteen_for_the_files(server: Path) -> None:
    assert re.fullmatch("[0-9a-f]{16}-[0-9a-f]{16}", fingerprint(Disk(), member_in(server)))


def test_the_digits_can_be_worked_out_by_hand(server: Path) -> None:
    launch = (
        b'{"transport":"stdio","command":"python3","args":["server.py"],"env":{"MODE":"fast"},"url":"","headers":{}}'
    )
    words, main = sha256(b"WORDS = []").hexdigest(), sha256(b"serve()").hexdigest()
    files = f"lib/words.py\0{words}\nserver.py\0{main}\n".encode()
    assert parts_of(server) == (sha256(launch).hexdigest()[:16], sha256(files).hexdigest()[:16])


def test_a_copy_has_the_same_fingerprint_whatever_its_place_and_times(server: Path, tmp_path: Path) -> None:
    before = parts_of(server)
    shutil.copytree(server, tmp_path / "copy", copy_function=shutil.copyfile)
    os.utime(server / "server.py", (1, 1))
    assert parts_of(server) == parts_of(tmp_path / "copy") == before


def test_a_member_that_is_linked_in_has_the_same_fingerprint(server: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(server)
    assert parts_of(tmp_path / "link") == parts_of(server)


@pytest.mark.parametrize(
    "launch",
    [
        Launch(command="python3.13", args=("server.py",), env={"MODE": "fast"}),
        Launch(command="python3", args=("server.py", "-v"), env={"MODE": "fast"}),
        Launch(command="python3", args=("server.py",), env={"MODE": "slow"}),
        Launch(transport="http", url="http://127.0.0.1:1/mcp"),
    ],
)
def test_another_launch_spec_changes_the_first_part_alone(server: Path, launch: Launch) -> None:
    before, after = parts_of(server), parts_of(server, launch)
    assert (before[0] != after[0], before[1]) == (True, after[1])


def test_the_version_does_not_count_since_it_is_compared_itself(server: Path) -> None:
    assert fingerprint(Disk(), member_in(server)) == fingerprint(Disk(), member_in(server, version="2.0"))


@pytest.mark.parametrize(
    "change",
    [
        lambda server: (server / "server.py").write_text("Serve()"),
        lambda server: (server / "lib" / "words.py").unlink(),
        lambda server: (server / "lib" / "words.py").rename(server / "words.py"),
        lambda server: (server / "lib" / "plugin.json").write_text("{}"),
        lambda server: (server / "new").write_text(""),
        lambda server: (server / os.fsdecode(b"\xff")).write_text(""),
        lambda server: (server / "vendor").write_text("a file of that name"),
    ],
    ids=["written", "removed", "moved", "nested manifest", "empty", "not UTF-8", "named like a folder"],
)
def test_another_file_changes_the_second_part_alone(server: Path, change: Callable[[Path], object]) -> None:
    before = parts_of(server)
    change(server)
    after = parts_of(server)
    assert (before[0], before[1] != after[1]) == (after[0], True)


@pytest.mark.parametrize(
    "name",
    [
        "tools-cache.json",
        ".contexthall-12-0123abcd",
        "plugin.json",
        "guild-member.json",
        "errors.log",
        "lib/errors.log",
        "lib/tools-cache.json",
        "words.pyc",
        ".env",
        ".git/HEAD",
        ".venv/bin/python",
        "node_modules/x/index.js",
        "lib/node_modules/x/index.js",
        "__pycache__/x",
        "venv/x",
        "env/x",
        "lib/site-packages/x",
        "target/x",
        "vendor/x",
    ],
)
def test_what_is_written_while_a_member_is_installed_or_runs_does_not_count(server: Path, name: str) -> None:
    before = parts_of(server)
    (server / name).parent.mkdir(parents=True, exist_ok=True)
    (server / name).write_text("new")
    assert parts_of(server) == before


def test_symlinks_and_what_is_no_file_do_not_count_and_are_never_waited_for(server: Path, tmp_path: Path) -> None:
    before = parts_of(server)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    (server / "link").symlink_to(tmp_path / "outside")
    (server / "loop").symlink_to(".")
    (server / "file").symlink_to(tmp_path / "outside" / "file")
    os.mkfifo(server / "fifo")
    assert parts_of(server) == before


@pytest.mark.usefixtures("bound_by_permissions")
def test_what_cannot_be_read_counts_as_that_and_never_raises(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    before = parts_of(tmp_path)
    (tmp_path / "file").chmod(0)
    without_file = parts_of(tmp_path)
    (tmp_path / "folder").chmod(0)
    without_folder = parts_of(tmp_path)
    (tmp_path / "folder").chmod(0o700)
    assert len({before, without_file, without_folder}) == 3
    assert parts_of(tmp_path) == without_file


def test_a_member_without_directory_or_manifest_has_one_all_the_same(server: Path, tmp_path: Path) -> None:
    lost = fingerprint(Disk(), member_in(tmp_path / "nowhere"))
    bare = fingerprint(Disk(), Member(name="echo", key="echo", directory=str(server)))
    assert lost.split("-")[0] == parts_of(server)[0]
    assert lost.split("-")[1] != parts_of(server)[1]
    assert bare.split("-")[1] == parts_of(server)[1]


def test_of_too_many_files_those_next_to_the_top_count(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.core.limits.FINGERPRINT_FILES", 3)
    (server / "a").mkdir()
    for name in ("a/1", "a/2", "lib/0"):
        (server / name).write_text("x")
    before = parts_of(server)
    (server / "lib" / "0").write_text("changed")
    assert parts_of(server) == before
    (server / "a" / "2").write_text("changed")
    assert parts_of(server) != before


def test_what_lies_deeper_than_sixteen_levels_does_not_count(server: Path) -> None:
    deepest = server.joinpath(*["x"] * 15)
    (deepest / "x").mkdir(parents=True)
    before = parts_of(server)
    (deepest / "x" / "file").write_text("x")
    assert parts_of(server) == before
    (deepest / "file").write_text("x")
    assert parts_of(server) != before

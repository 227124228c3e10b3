"""A tool that is switched off is neither listed nor called, and a switch changes nothing else in a manifest."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import FakeFactory, make_member, manager_of, tool, write_cache

from contexthall.core.catalog import Caller, Catalog
from contexthall.core.errors import DiskError, MemberError, UsageError
from contexthall.guild.capability import guild_capability
from contexthall.guild.manager import discover_guild_members
from contexthall.guild.members.fingerprint import fingerprint
from contexthall.guild.members.switches import Switches, edited
from contexthall.system.disk import Disk


@pytest.mark.parametrize(
    ("switches", "on"),
    [
        (Switches(), ["read", "remove", "write"]),
        (Switches(deny=("re*",)), ["write"]),
        (Switches(allow=("re*",)), ["read", "remove"]),
        (Switches(allow=("re*",), deny=("remove",)), ["read"]),
        (Switches(allow=()), []),
        (Switches(deny=("*",)), []),
        (Switches(allow=("nobody",), deny=("no-such-*",)), []),
        (Switches(deny=("R*", "[rw]", "", "[")), ["read", "remove", "write"]),
    ],
)
def test_patterns_say_which_tools_are_on(switches: Switches, on: list[str]) -> None:
    assert [name for name in ("read", "remove", "write") if switches.is_on(name)] == on


def test_what_was_turned_off_can_be_turned_on() -> None:
    off = Switches().turned_off(["a", "b[1]", "a"])
    assert off == Switches(deny=("a", "b[[]1]"))
    assert off.turned_off(["a"]) == off
    assert not off.is_on("b[1]")
    assert off.turned_on(["b[1]"]) == Switches(deny=("a",))
    assert off.turned_on([]) == off
    assert Switches().turned_off([]).turned_on([]) == Switches()


def test_of_a_member_that_is_off_single_tools_can_be_turned_on() -> None:
    one = Switches().turned_off([]).turned_on(["a"])
    assert (one.is_on("a"), one.is_on("b")) == (True, False)
    assert Switches(allow=("a",)).turned_on(["b"]) == Switches(allow=("a", "b"))


def test_a_pattern_is_not_dropped_for_one_of_its_tools() -> None:
    with pytest.raises(UsageError, match=r"switched off by the pattern re\*"):
        Switches(deny=("re*",)).turned_on(["read"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"name": "a"}', '{"name": "a", "tools": {"deny": ["x"]}}'),
        (
            '{\n    "name": "é",\n    "n": 1.50\n}\n',
            '{\n    "name": "é",\n    "n": 1.50,\n    "tools": {"deny": ["x"]}\n}\n',
        ),
        ('{"tools": {"deny": []} , "z":[1, 2 ]}', '{"tools": {"deny": ["x"]} , "z":[1, 2 ]}'),
        ('\ufeff{"name":"a"}', '\ufeff{"name":"a", "tools": {"deny": ["x"]}}'),
    ],
)
def test_a_switch_changes_nothing_else_in_a_manifest(before: str, after: str) -> None:
    assert edited(before.encode(), Switches(deny=("x",))).decode() == after


def guild_of(guild: Path, **switches: Any) -> tuple[Any, Catalog]:
    directory = make_member(guild, "echo")
    write_cache(directory, tool("say"), tool("shout"))
    if switches:
        manifest = json.loads((directory / "plugin.json").read_text())
        (directory / "plugin.json").write_text(json.dumps(manifest | {"tools": switches}))
    manager, _ = manager_of(guild, FakeFactory())
    manager.load_roster()
    return manager, Catalog([guild_capability(manager)])


def names_of(catalog: Catalog) -> list[str]:
    return [each.name for each in catalog.tools]


def test_a_tool_that_is_off_is_not_listed_and_refused_by_name(guild: Path) -> None:
    async def work() -> None:
        manager, catalog = guild_of(guild, deny=["sh*"])
        assert names_of(catalog) == ["echo__say"]
        assert manager.view("echo").switched_off == ("shout",)
        with pytest.raises(MemberError, match="'shout' is switched off"):
            await manager.invoke_tool("echo", "shout", {})
        refused = await catalog.call("echo__shout", {}, Caller(may_read=lambda _path, _root: True))
        assert (refused.is_error, refused.content[0]["text"]) == (True, "echo: the tool 'shout' is switched off")
        await manager.shutdown()

    asyncio.run(work())


def test_a_manifest_may_switch_everything_off(guild: Path) -> None:
    manager, catalog = guild_of(guild, deny=["*", "no-such-tool"])
    assert catalog.tools == ()
    assert manager.view("echo").status == "disconnected"


@pytest.mark.parametrize("switches", [[], {"allow": "a"}, {"deny": [1]}, {"deny": None}])
def test_switches_of_another_shape_are_an_error_of_the_member(guild: Path, switches: Any) -> None:
    path = make_member(guild, "echo") / "plugin.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tools": switches}))
    member = discover_guild_members(str(guild))["echo"]
    assert member.status == "error"
    assert "`tools" in member.error


def test_switches_count_in_no_fingerprint(guild: Path) -> None:
    guild_of(guild)
    before = fingerprint(Disk(), discover_guild_members(str(guild))["echo"])
    guild_of(guild, deny=["say"])
    assert fingerprint(Disk(), discover_guild_members(str(guild))["echo"]) == before


def test_a_switch_is_written_and_holds_at_once(guild: Path) -> None:
    manager, catalog = guild_of(guild)
    assert manager.switch("echo", ["say"], on=False).switched_off == ("say",)
    assert names_of(catalog) == ["echo__shout"]
    assert json.loads((guild / "echo" / "plugin.json").read_text())["tools"] == {"deny": ["say"]}
    manager.switch("echo", [], on=False)
    assert names_of(catalog) == []
    manager.switch("echo", ["say", "shout"], on=True)
    assert names_of(catalog) == ["echo__say", "echo__shout"]


def test_what_cannot_be_switched_is_said_and_nothing_written(guild: Path, tmp_path: Path) -> None:
    manager, _ = guild_of(guild)
    path = guild / "echo" / "plugin.json"
    before = path.read_bytes()
    with pytest.raises(UsageError, match="echo has no tool 'whisper'"):
        manager.switch("echo", ["whisper"], on=False)
    assert path.read_bytes() == before
    path.rename(tmp_path / "plugin.json")
    path.symlink_to(tmp_path / "plugin.json")
    with pytest.raises(DiskError):
        manager.switch("echo", ["say"], on=False)
    assert (tmp_path / "plugin.json").read_bytes() == before

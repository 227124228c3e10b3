"""What an agent sees of the guild, through the catalog and through `context serve` as a real process."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import FakeFactory, make_member, manager_of, tool, write_cache
from tests.processes import MODERN_META, RawServer, run_context

from contexthall.core.catalog import Caller, Catalog, ToolResult
from contexthall.core.errors import MemberError
from contexthall.guild.capability import guild_capability
from contexthall.guild.manager import MCPManager

CALLER = Caller(may_read=lambda _path, _home: True)


def loaded(guild: Path, factory: FakeFactory | None = None) -> MCPManager:
    manager, _ = manager_of(guild, factory or FakeFactory())
    manager.load_roster()
    return manager


def catalog_of(manager: MCPManager, **offer: Any) -> Catalog:
    return Catalog([guild_capability(manager, **offer)])


def call(manager: MCPManager, catalog: Catalog, name: str, arguments: dict[str, Any]) -> ToolResult:
    async def work() -> ToolResult:
        try:
            return await catalog.call(name, arguments, CALLER)
        finally:
            await manager.shutdown()

    return asyncio.run(work())


def names(catalog: Catalog) -> list[str]:
    return [each.name for each in catalog.tools]


def test_every_cached_tool_is_one_of_the_halls_own_with_its_whole_definition(guild: Path) -> None:
    odd = tool("do it", "Does it", title="Do", annotations={"readOnlyHint": True}, futureField={"x": [1, 2.5, None]})
    write_cache(make_member(guild, "b"), tool("two"), tool("one"))
    write_cache(make_member(guild, "a"), odd)
    catalog = catalog_of(loaded(guild))
    listed = names(catalog)
    assert listed[1:] == ["b__two", "b__one"]
    assert listed[0].startswith("a__do_it_")
    assert catalog.tools[0].definition() == {**odd, "name": listed[0]}


def test_two_members_with_a_tool_of_one_name_are_both_shown(guild: Path) -> None:
    write_cache(make_member(guild, "a__b"), tool("c", "Mine"))
    write_cache(make_member(guild, "a"), tool("b__c", "Also mine"), tool("search"))
    write_cache(make_member(guild, "b"), tool("search"))
    catalog = catalog_of(loaded(guild))
    assert len(set(names(catalog))) == 4
    assert {"a__search", "b__search", "a__b__c"} <= set(names(catalog))
    descriptions = {each.name: each.description for each in catalog.tools}
    assert descriptions["a__b__c"] == "Also mine"


def test_arguments_are_for_the_member_to_judge(guild: Path) -> None:
    strict = {"type": "object", "required": ["x"], "additionalProperties": False}
    write_cache(make_member(guild, "echo"), tool("a") | {"inputSchema": strict})
    manager = loaded(guild)
    result = call(manager, catalog_of(manager), "echo__a", {"y": 1})
    assert result.whole == {"called": "a", "with": {"y": 1}}


def test_a_member_that_fails_is_told_in_a_sentence_that_names_it(guild: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("a"))
    factory = FakeFactory()
    factory.failure = MemberError("its command was not found", more="/secret/place/server")
    manager = loaded(guild, factory)
    result = call(manager, catalog_of(manager), "echo__a", {})
    assert result.is_error
    assert result.text == "echo: its command was not found"


def test_the_catalog_tells_of_a_change_and_only_of_a_change(guild: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("a"))
    factory = FakeFactory(tool("a"))
    manager = loaded(guild, factory)
    catalog = catalog_of(manager)
    changes: list[list[str]] = []
    catalog.changed.subscribe(lambda: changes.append(names(catalog)))

    async def work() -> None:
        await manager.refresh_tool_caches()
        assert changes == []
        factory.tools = [tool("a"), tool("b")]
        await manager.refresh_tool_caches()
        await manager.shutdown()

    asyncio.run(work())
    assert changes == [["echo__a", "echo__b"]]


def test_the_names_that_were_called_belong_to_one_member_each(guild: Path) -> None:
    write_cache(make_member(guild, "mail"), tool("send"), tool("x" * 70))
    write_cache(make_member(guild, "mailing"), tool("send"))
    manager = loaded(guild)
    long = manager.listed_names()["mail", "x" * 70]
    called = {"mail__send", "mail__gone", long, "mailing__send", "mail", "", "context.resolve"}
    assert manager.names_called("mail", called) == {"mail__send", "mail__gone", long}
    assert manager.names_called("mailing", called) == {"mailing__send"}


def test_tools_that_stay_are_the_same_while_another_member_changes(guild: Path) -> None:
    write_cache(make_member(guild, "mail"), tool("send"))
    write_cache(make_member(guild, "files"), tool("delete"))
    manager = loaded(guild)
    catalog = catalog_of(manager)
    before = {each.name: each for each in catalog.tools}
    manager.switch("files", ["delete"], on=False)
    assert {each.name: each for each in catalog.tools} == {"mail__send": before["mail__send"]}
    manager.switch("files", ["delete"], on=True)
    assert names(catalog) == ["files__delete", "mail__send"]


def test_a_guild_within_its_budget_is_listed_whole(guild: Path) -> None:
    write_cache(make_member(guild, "echo"), tool("a"), tool("b"))
    assert names(catalog_of(loaded(guild), budget=1000)) == ["echo__a", "echo__b"]


def test_a_guild_beyond_its_budget_is_found_described_and_called(guild: Path) -> None:
    write_cache(make_member(guild, "mail"), tool("send", "Send a letter to somebody"), tool("read", "Read letters"))
    write_cache(make_member(guild, "files"), tool("delete", "Remove a file for ever. There is no way back."))
    manager = loaded(guild)
    catalog = catalog_of(manager, budget=10)
    assert names(catalog) == ["guild_find_tools", "guild_describe_tool", "guild_call_tool"]
    found = json.loads(call(manager, catalog, "guild_find_tools", {"query": "remove files"}).text)
    assert found["tools"][0] == {"name": "files__delete", "description": "Remove a file for ever."}
    assert found["of"] == 3
    described = json.loads(call(manager, catalog, "guild_describe_tool", {"name": "files__delete"}).text)
    assert described["inputSchema"] == {"type": "object"}


def test_a_tool_beyond_the_budget_answers_as_it_would_if_it_were_listed(guild: Path) -> None:
    write_cache(make_member(guild, "mail"), tool("send"))
    manager = loaded(guild)
    arguments = {"name": "mail__send", "arguments": {"to": "you"}}
    result = call(manager, catalog_of(manager, budget=0), "guild_call_tool", arguments)
    assert result.whole == {"called": "send", "with": {"to": "you"}}


@pytest.mark.parametrize("name", ["guild_describe_tool", "guild_call_tool"])
def test_a_name_that_nobody_has_is_told(guild: Path, name: str) -> None:
    write_cache(make_member(guild, "mail"), tool("send"))
    manager = loaded(guild)
    result = call(manager, catalog_of(manager, budget=0), name, {"name": "mail__sent"})
    assert result.is_error
    assert "'mail__sent'" in result.text
    assert "guild_find_tools" in result.text


def test_a_pinned_member_stays_listed(guild: Path) -> None:
    write_cache(make_member(guild, "mail"), tool("send"))
    write_cache(make_member(guild, "files"), tool("delete"))
    listed = names(catalog_of(loaded(guild), budget=0, pinned=("mail",)))
    assert listed == ["guild_find_tools", "guild_describe_tool", "guild_call_tool", "mail__send"]


def test_no_guild_is_loaded_because_it_is_there(tmp_path: Path, guild: Path) -> None:
    write_cache(make_member(guild, "echo", "--record", str(tmp_path / "record")), tool("a"))
    (tmp_path / "contexthall.toml").write_text('guild = "guild-members"\n')
    refused = run_context("tools", cwd=tmp_path)
    assert refused.returncode == 1
    assert b"`guild` may not be set by a project" in refused.stderr
    (tmp_path / "contexthall.toml").unlink()
    assert b"echo__a" not in run_context("tools", cwd=tmp_path).stdout
    assert b"echo__a" in run_context("tools", "--guild", "guild-members", cwd=tmp_path).stdout
    assert b"echo__a" in run_context("tools", cwd=tmp_path, env={"CONTEXT_GUILD": str(guild)}).stdout
    settings = tmp_path / "config" / "contexthall" / "contexthall.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'guild = "{guild}"\n')
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert b"echo__a" in run_context("tools", cwd=tmp_path, env=own).stdout
    assert b"echo__a" not in run_context("tools", "--toolsets", "caches", cwd=tmp_path, env=own).stdout
    assert not (tmp_path / "record").exists()


def test_a_guild_that_is_not_there_is_told(tmp_path: Path) -> None:
    refused = run_context("serve", "--guild", "nowhere", cwd=tmp_path)
    assert refused.returncode == 1
    assert b"the guild is not a directory" in refused.stderr


def listed_names(answer: dict[str, Any]) -> list[str]:
    return [each["name"] for each in answer["result"]["tools"] if "__" in each["name"]]


def test_the_first_list_is_complete_and_nothing_has_been_started_for_it(tmp_path: Path, guild: Path) -> None:
    record = tmp_path / "record"
    for number in range(5):
        write_cache(make_member(guild, f"m{number}", "--record", str(record)), tool("echo"))
    with RawServer("--guild", str(guild), cwd=tmp_path) as server:
        server.initialize()
        assert listed_names(server.request(1, "tools/list")) == [f"m{number}__echo" for number in range(5)]
        assert not record.exists()
        server.close_input()
        assert server.wait() == 0


def test_a_client_hears_when_the_first_refresh_finds_tools(tmp_path: Path, guild: Path) -> None:
    make_member(guild, "echo", "--tools", "2")
    with RawServer("--guild", str(guild), cwd=tmp_path) as server:
        server.initialize()
        assert listed_names(server.request(1, "tools/list")) == []
        assert server.receive()["method"] == "notifications/tools/list_changed"
        assert listed_names(server.request(2, "tools/list")) == ["echo__tool_0", "echo__tool_1", "echo__echo"]


@pytest.mark.parametrize("era", [(), ("--modern",)], ids=["handshake", "current"])
def test_a_client_hears_when_a_running_member_changes_its_tools(
    tmp_path: Path, guild: Path, era: tuple[str, ...]
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([tool("echo")]))
    flags = (*era, "--tools-file", str(tools), "--list-changed-on", str(tools))
    write_cache(make_member(guild, "echo", *flags), tool("echo"))
    with RawServer("--guild", str(guild), "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        server.request(1, "tools/list")
        server.request(2, "tools/call", {"name": "echo__echo", "arguments": {}})
        other = tmp_path / "other.json"
        other.write_text(json.dumps([tool("echo"), tool("more")]))
        os.replace(other, tools)
        assert server.receive()["method"] == "notifications/tools/list_changed"
        assert listed_names(server.request(3, "tools/list")) == ["echo__echo", "echo__more"]


def test_the_modern_era_has_its_envelope_around_a_members_result(tmp_path: Path, guild: Path) -> None:
    result = tmp_path / "result.json"
    given = {"content": [{"type": "text", "text": "x", "odd": 1}], "_meta": {"own": True}, "futureField": [1.5, None]}
    result.write_text(json.dumps(given))
    write_cache(make_member(guild, "echo", "--result-file", str(result)), tool("echo"))
    with RawServer("--guild", str(guild), "--guild-refresh", "never", cwd=tmp_path) as server:
        params = {"_meta": MODERN_META, "name": "echo__echo", "arguments": {}}
        answer = server.request(1, "tools/call", params)["result"]
    assert answer.pop("resultType") == "complete"
    assert answer["_meta"].pop("own") is True
    assert list(answer["_meta"]) == ["io.modelcontextprotocol/serverInfo"]
    assert {**answer, "_meta": {"own": True}} == given

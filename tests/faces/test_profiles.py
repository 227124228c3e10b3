"""What an agent sees through a profile, and what is said of profiles that cannot be used."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.faces.web.serving import HttpHall, RawSession
from tests.guild.making import FakeFactory, make_member, manager_of, tool, write_cache
from tests.processes import RawServer

from contexthall import open_hall
from contexthall.core.catalog import Caller, Catalog, ToolResult
from contexthall.core.errors import UsageError
from contexthall.core.profile import Profile
from contexthall.faces.cli.table import run
from contexthall.guild.capability import guild_capability
from contexthall.hall import Hall

SETTINGS = """
[profiles.review]
toolsets = ["caches", "guild"]
members = ["git*"]
tools = { allow = ["context.*", "*__get_*"], deny = ["context.inspect_cache"] }

[profiles.docs]
toolsets = ["caches"]

[profiles.nobody]
members = ["gitub"]

[profiles.nothing]
toolsets = ["contexts"]
tools = ["context.resolve"]
"""
DOCUMENTS = ["context.resolve", "context.read", "context.outline", "context.list_caches"]
CALLER = Caller(may_read=lambda _path, _home: True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with profiles, and a project that is the home as well."""
    write_cache(make_member(tmp_path / "guild", "github"), tool("get_issue", "An issue"), tool("delete_issue"))
    write_cache(make_member(tmp_path / "guild", "zoo"), tool("get_animal"))
    config = tmp_path / ".config" / "contexthall"
    config.mkdir(parents=True)
    (config / "contexthall.toml").write_text(SETTINGS)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CONTEXT_GUILD"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hall() -> Hall:
    return open_hall(guild="guild")


def names(catalog: Catalog) -> list[str]:
    return [each.name for each in catalog.tools]


def call(catalog: Catalog, name: str, /, **arguments: Any) -> ToolResult:
    return asyncio.run(catalog.call(name, arguments, CALLER))


def test_a_profile_shows_its_toolsets_members_and_tools_and_no_others(hall: Hall) -> None:
    assert names(hall.catalog_of("review")) == [*DOCUMENTS, "github__get_issue"]
    assert names(hall.catalog_of("docs")) == [*DOCUMENTS, "context.inspect_cache"]
    assert {"zoo__get_animal", "github__delete_issue", "context.brief"} <= set(names(hall.catalog_of(None)))


@pytest.mark.parametrize("name", ["context.inspect_cache", "list_contexts", "github__delete_issue", "zoo__get_animal"])
def test_a_call_of_a_tool_outside_is_refused_by_name(name: str, hall: Hall) -> None:
    result = call(hall.catalog_of("review"), name)
    assert (result.is_error, result.text) == (True, f"the tool '{name}' is not in the profile 'review'")


def test_what_an_agent_is_told_names_no_tool_outside(hall: Hall) -> None:
    assert "Code:" in hall.catalog.instructions
    assert "Code:" not in hall.catalog_of("review").instructions
    assert "Guild:" not in hall.catalog_of("docs").instructions
    assert "Documents:" in hall.catalog_of("docs").instructions


def test_a_room_of_which_a_part_is_outside_gives_no_guidance_to_call_it(hall: Hall) -> None:
    room = next(each for each in hall._capabilities(Profile("all")) if each.name == "caches")
    assert room.within(Profile("some", tools=("context.resolve",))).guidance == ""
    assert room.within(Profile("most", denied_tools=("context.inspect_cache",))).guidance == room.guidance


def test_calls_through_a_profile_are_in_the_journal(hall: Hall) -> None:
    before = hall.catalog_of("review")
    with hall.journalling("brief"):
        call(before, "context.list_caches")
        call(hall.catalog_of("docs"), "context.inspect_cache", cache="x")
        call(before, "zoo__get_animal")
    recorded, _ = hall.activity(10)
    assert sorted(each.tool for each in recorded) == ["context.inspect_cache", "context.list_caches", "zoo__get_animal"]


def test_tools_that_are_found_are_those_of_the_profile(home: Path) -> None:
    manager, _ = manager_of(home / "guild", FakeFactory())
    manager.load_roster()
    catalog = Catalog([guild_capability(manager, 0, (), Profile("review", tools=("*__get_*",), members=("git*",)))])
    assert names(catalog) == ["guild_find_tools", "guild_describe_tool", "guild_call_tool"]
    found = json.loads(call(catalog, "guild_find_tools", query="").text)
    assert (found["of"], [each["name"] for each in found["tools"]]) == (1, ["github__get_issue"])
    for name in ("guild_describe_tool", "guild_call_tool"):
        result = call(catalog, name, name="zoo__get_animal")
        assert (result.is_error, "not in the profile 'review'" in result.text) == (True, True)


def test_a_member_outside_is_not_started_to_look_for_a_tool(home: Path) -> None:
    make_member(home / "guild", "unlisted")
    factory = FakeFactory()
    manager, _ = manager_of(home / "guild", factory)
    manager.load_roster()
    catalog = Catalog([guild_capability(manager, profile=Profile("review", members=("github",)))])
    result = call(catalog, "unlisted__echo")
    assert (result.text, factory.started) == ("the tool 'unlisted__echo' is not in the profile 'review'", [])


# Typed:


def test_tools_shows_what_a_profile_sees_and_costs(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "--profile", "review", "--guild", "guild"]) == 0
    rows = [line.split() for line in capfd.readouterr().out.splitlines()[1:]]
    assert [row[1] for row in rows[:-3]] == [*DOCUMENTS, "github__get_issue"]
    assert [row[1:] for row in rows[-1:]] == [["(member", "github)", "1", "tool"]]
    assert int(rows[-2][0]) == sum(int(row[0]) for row in rows[:-2])


def test_call_refuses_what_is_outside(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "list_contexts", "--profile", "docs"]) == 9
    assert capfd.readouterr().err == "the tool 'list_contexts' is not in the profile 'docs'\n"


def test_connect_writes_a_profile(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["connect", "cursor", "--profile", "review"]) == 0
    entry = json.loads(capfd.readouterr().out)["mcpServers"]["context-hall"]
    assert entry["args"][-2:] == ["--profile", "review"]
    assert run(["connect", "cursor", "--profile", "review", "--http", "--write"]) == 0
    assert "--profile" not in capfd.readouterr().err
    written = json.loads(Path(".cursor/mcp.json").read_text())["mcpServers"]["context-hall"]
    assert written["url"] == "http://127.0.0.1:8321/mcp/review"
    assert run(["connect", "--list"]) == 0
    cursor = next(line for line in capfd.readouterr().out.splitlines() if line.startswith("cursor"))
    assert "knows this hall" in cursor


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("reviw", ["there is no profile 'reviw'", "did you mean `review`?", "yours are review, docs, nobody, nothing"]),
        ("", ["there is no profile ''"]),
        ("../x", ["there is no profile '../x'"]),
        ("nobody", ["'nobody' names no member of the guild: gitub", "did you mean `github`?"]),
        ("nothing", ["no tool is in the profile 'nothing'"]),
    ],
)
@pytest.mark.parametrize("command", [["tools"], ["serve"], ["serve", "--http", "0"], ["call", "list_contexts"]])
def test_a_profile_that_cannot_be_used_is_named(
    command: list[str], profile: str, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--profile", profile, "--guild", "guild"]) == 1
    said = capfd.readouterr().err
    assert all(word in said for word in words), said


def test_connect_refuses_a_profile_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["connect", "cursor", "--profile", "reviw"]) == 1
    assert "did you mean `review`?" in capfd.readouterr().err


def test_a_user_without_profiles_is_told_what_one_is(home: Path) -> None:
    (home / ".config" / "contexthall" / "contexthall.toml").unlink()
    with pytest.raises(UsageError) as caught:
        open_hall().catalog_of("review")
    assert "[profiles.NAME]" in caught.value.hint


# Served:


def test_each_profile_is_served_at_an_address_of_its_own(home: Path) -> None:
    with HttpHall("--guild", "guild", "--guild-refresh", "never", "--profile", "docs", cwd=home) as hall:
        listed = {}
        for path in ("/mcp", "/mcp/review"):
            session = RawSession(hall, path)
            assert session.initialize().status_code == 200
            listed[path] = [each["name"] for each in session.request("tools/list")["tools"]]
            outside = session.request("tools/call", {"name": "zoo__get_animal", "arguments": {}})
            assert "zoo__get_animal" in outside["content"][0]["text"]
            assert outside["isError"] is True
        assert listed["/mcp"] == [*DOCUMENTS, "context.inspect_cache"]
        assert listed["/mcp/review"] == [*DOCUMENTS, "github__get_issue"]
        for name, words in {"reviw": "no profile 'reviw'", "nobody": "names no member", "a%0Ab": "no profile"}.items():
            answer = RawSession(hall, f"/mcp/{name}").initialize()
            assert answer.status_code == 404
            assert words in answer.json()["error"]["message"]
        assert hall.http.post("/mcp/review/more").status_code == 404
        # The page is for people, who see all.
        assert {each["name"] for each in hall.get("/api/guild")["members"]} == {"github", "zoo"}


def test_an_agent_over_pipes_gets_its_profile(home: Path) -> None:
    with RawServer("--guild", "guild", "--guild-refresh", "never", "--profile", "review", cwd=home) as server:
        server.initialize()
        listed = server.request(1, "tools/list")["result"]["tools"]
    assert [each["name"] for each in listed] == [*DOCUMENTS, "github__get_issue"]

"""What the page asks and is told, by a real hall; and whatever a person may send is judged."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache
from tests.contexts.making import write_context
from tests.faces.web.serving import HttpHall, failure
from tests.guild.making import make_member, tool, write_cache
from tests.processes import PATIENCE_SECONDS, run_context

from contexthall import __version__, open_hall
from contexthall.core import limits
from contexthall.core.errors import CODES
from contexthall.faces.web.app import Access, Site
from contexthall.faces.web.guard import STATUSES, HostNames

DOCUMENTS = {
    "keys.md": "rotate keys every month",
    "friday.md": "nobody deploys on friday and nobody rotates either",
    "Ü/größe.md": "größe zählt",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hall that has everything, and a member that fails."""
    home = tmp_path_factory.mktemp("home") / "shop"
    home.mkdir()
    caches = home / ".context" / "caches"
    caches.mkdir(parents=True)
    build_cache(caches, DOCUMENTS, name="handbook")
    (caches / "empty").mkdir()
    (caches / "broken").mkdir()
    (caches / "broken" / "manifest.json").write_text("{")
    (home / "outside").mkdir()
    build_cache(home / "outside", {"secret.md": "secret"})
    (caches / "link").symlink_to(home / "outside" / "cache")
    write_cache(make_member(home / "guild", "zoo"), tool("echo", "Gives it back. Whatever it is.", title="Echo"))
    make_member(home / "guild", "dies", "--die-in-call")
    make_member(home / "guild", "absent", command="no-such-command")
    (home / "fault.json").write_text('{"code": -32001, "message": "no", "data": {"why": "so"}}')
    make_member(home / "guild", "faulty", "--error-file", str(home / "fault.json"))
    return home


@pytest.fixture(scope="module")
def hall(home: Path) -> Iterator[HttpHall]:
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=home) as hall:
        yield hall


async def nothing(*_: object) -> None:
    """Stand where MCP is served."""


def member(hall: HttpHall, name: str) -> Any:
    return next(each for each in hall.get("/api/guild")["members"] if each["name"] == name)


def test_the_hall_says_what_it_is(hall: HttpHall) -> None:
    told = hall.get("/api/hall")
    assert len(told.pop("writeToken")) > 40
    toolsets = ["caches", "contexts", "guild"]
    named = {"version": __version__, "project": "shop", "guild": True, "trust": "warn"}
    assert told == {**named, "toolsets": toolsets, "reply": "json"}
    assert hall.get("/healthz") == {"status": "ok", "version": __version__}


# The hall's own tools:


def test_the_halls_own_tools_are_listed_without_those_of_members(hall: HttpHall) -> None:
    told = hall.get("/api/tools")["tools"]
    names = [each["name"] for each in told]
    assert {"context.resolve", "query_context"} <= set(names)
    assert not any("echo" in name for name in names)
    resolve = told[names.index("context.resolve")]
    assert (resolve["listedAs"], bool(resolve["title"]), bool(resolve["line"])) == ("context.resolve", True, True)
    definition = hall.get("/api/tools/show", tool="context.resolve")["definition"]
    assert "budget" in definition["inputSchema"]["properties"]


def test_a_tool_of_the_hall_answers_as_it_answers_an_agent(hall: HttpHall, home: Path) -> None:
    asked = {"cache": "handbook", "query": "friday", "budget": 99}
    result = hall.post("/api/tools/call", {"tool": "context.resolve", "arguments": asked}).json()["result"]
    flags = [f"--arg={name}={value}" for name, value in asked.items()]
    typed = run_context("call", "context.resolve", *flags, cwd=home).stdout.decode()
    assert (result["isError"], result["content"][0]["text"]) == (False, typed)
    refused = hall.post("/api/tools/call", {"tool": "context.resolve", "arguments": {**asked, "cache": "gone"}}).json()
    assert refused["result"]["isError"] is True
    assert "cache_missing" in refused["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "order",
    [{}, {"tool": 1}, {"tool": "gone"}, {"tool": "zoo__echo"}, {"tool": "context.resolve", "arguments": []}],
)
def test_what_is_no_tool_of_the_hall_is_refused(hall: HttpHall, order: dict[str, Any]) -> None:
    status, code, _ = failure(hall.post("/api/tools/call", order))
    assert (status, code) == (400, "usage")


# Caches:


def test_caches_are_listed_with_what_they_hold(hall: HttpHall) -> None:
    caches = {cache["name"]: cache for cache in hall.get("/api/caches")["caches"]}
    assert list(caches) == sorted(caches)
    assert set(caches) == {"broken", "empty", "handbook", "handbook sources"}
    assert caches["handbook"]["cache_version"].startswith("sha256:")
    assert (caches["handbook"]["document_count"], caches["handbook"]["valid"]) == (3, True)
    assert (caches["broken"]["has_manifest"], caches["broken"]["valid"]) == (True, False)
    assert (caches["empty"]["has_manifest"], caches["empty"]["valid"]) == (False, False)


def test_a_ranking_tells_the_places_of_a_query_and_what_fits(hall: HttpHall) -> None:
    told = hall.get("/api/caches/ranking", cache="handbook", query="rotate Keys", budget=10)
    places = told.pop("places")
    assert told == {
        "query": "rotate Keys",
        "budget": 10,
        "terms": ["rotate", "keys"],
        "tokens_used": 6 + 4,
        "considered": 3,
        "selected": 2,
        "total_tokens": 6 + 13 + 4,
        "format": 1,
    }
    assert places[0] == {
        "rank": 1,
        "id": "keys.md",
        "score": 0.5,
        "tokens": 6,
        "term_matches": 2,
        "total_words": 4,
        "fits": True,
        "left_before": 10,
    }
    assert [(place["id"], place["fits"]) for place in places[1:]] == [("friday.md", False), ("ü/größe.md", True)]


def test_a_ranking_agrees_with_the_tool(hall: HttpHall, home: Path) -> None:
    told = hall.get("/api/caches/ranking", cache="handbook", query="nobody", budget=14)
    typed = run_context("resolve", "--cache", "handbook", "--query", "nobody", "--budget", "14", cwd=home)
    resolved = json.loads(typed.stdout)
    assert [place["id"] for place in told["places"] if place["fits"]] == [each["id"] for each in resolved["documents"]]
    assert told["tokens_used"] == resolved["selection"]["tokens_used"]


def test_a_ranking_can_be_seen_page_by_page(hall: HttpHall) -> None:
    whole = hall.get("/api/caches/ranking", cache="handbook", query="", budget=100)["places"]
    pages = [
        hall.get("/api/caches/ranking", cache="handbook", query="", budget=100, offset=offset, limit=2)["places"]
        for offset in (0, 2, 4)
    ]
    assert [len(page) for page in pages] == [2, 1, 0]
    assert [place for page in pages for place in page] == whole


def test_a_document_is_told_whole(hall: HttpHall) -> None:
    told = hall.get("/api/caches/document", cache="handbook", id="ü/größe.md")
    assert told.pop("version").startswith("sha256:")
    assert told.pop("rendered") == [{"tag": "p", "children": ["größe zählt"]}]
    assert told == {"id": "ü/größe.md", "source": "Ü/größe.md", "content": "größe zählt", "tokens": 4}


def test_why_a_document_stands_where_it_stands_is_said_in_sentences(hall: HttpHall, home: Path) -> None:
    question = ("--cache", "handbook", "--query", "friday", "--budget", "9")
    for identifier in ("friday.md", "keys.md"):
        told = hall.get("/api/caches/why", cache="handbook", query="friday", budget=9, id=identifier)
        typed = run_context("resolve", *question, "--why-not", identifier, cwd=home)
        assert told["sentences"] == typed.stdout.decode().splitlines()
    told = hall.get("/api/caches/why", cache="handbook", query="friday x", budget=9, id="friday.md")
    assert (told["place"]["rank"], told["considered"], told["matched"]) == (1, 3, ["friday"])


@pytest.mark.parametrize(
    ("path", "asked", "told"),
    [
        ("ranking", {"query": "a", "budget": "1"}, (400, "usage", "`cache` is missing")),
        ("ranking", {"cache": "handbook", "budget": "1"}, (400, "invalid_query", "`query` is missing")),
        ("ranking", {"cache": "handbook", "query": "a"}, (400, "invalid_budget", "not a whole number")),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "many"}, (400, "invalid_budget", "'many'")),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "-1"}, (400, "invalid_budget", "'-1'")),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "1.5"}, (400, "invalid_budget", "'1.5'")),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "٣"}, (400, "invalid_budget", "'٣'")),
        (
            "ranking",
            {"cache": "handbook", "query": "a", "budget": str(2**63)},
            (400, "invalid_budget", "is not between"),
        ),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "9" * 5000}, (400, "invalid_budget", "not a whole")),
        (
            "ranking",
            {"cache": "handbook", "query": "a", "budget": "1", "limit": "201"},
            (400, "usage", "from 0 to 200"),
        ),
        ("ranking", {"cache": "handbook", "query": "a", "budget": "1", "offset": "x"}, (400, "usage", "`offset`")),
        ("ranking", {"cache": "nope", "query": "a", "budget": "1"}, (404, "cache_missing", "nope")),
        ("ranking", {"cache": "broken", "query": "a", "budget": "1"}, (409, "cache_invalid", "not JSON")),
        ("ranking", {"cache": "empty", "query": "a", "budget": "1"}, (409, "cache_invalid", "manifest")),
        ("document", {"cache": "handbook", "id": "nope.md"}, (400, "usage", "nope.md")),
        ("document", {"cache": "handbook"}, (400, "usage", "`id` is missing")),
        ("why", {"cache": "handbook", "query": "a", "budget": "1", "id": "nope.md"}, (400, "usage", "nope.md")),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_why(
    hall: HttpHall, path: str, asked: dict[str, str], told: tuple[int, str, str]
) -> None:
    status, code, detail = hall.fails(f"/api/caches/{path}", **asked)
    assert (status, code) == told[:2]
    assert told[2] in detail


def test_the_name_of_a_cache_leads_nowhere_else(hall: HttpHall, home: Path) -> None:
    outside = home / "outside" / "cache"
    for cache in (str(outside), "../../outside/cache", "link", "", ".", "..", "nul\0", "handbook/.."):
        for path in ("document", "ranking", "why", "section", "outline"):
            asked = {"cache": cache, "id": "secret.md", "page": "secret.md", "query": "secret", "budget": 9}
            status, code, detail = hall.fails(f"/api/caches/{path}", **asked)
            assert (status, code) == (404, "cache_missing")
            assert cache.startswith("/") or str(home) not in detail


# Contexts:


def test_contexts_are_told_as_the_tools_tell_them(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n" * 500)
    write_context(tmp_path / "src", "src")
    (tmp_path / "src" / "b.py").write_text("y = 1\n")
    with HttpHall(cwd=tmp_path) as hall:
        listed = run_context("call", "list_contexts", cwd=tmp_path)
        assert hall.http.get("/api/contexts").content == listed.stdout.rstrip(b"\n")
        states = {entry["scope"]: entry["state"] for entry in hall.get("/api/contexts")["entries"]}
        assert states["src"] == "stale"
        arguments = '{"scope": "src", "freshness": true}'
        shown = run_context("call", "query_context", "--json", arguments, cwd=tmp_path)
        assert hall.http.get("/api/contexts/show?scope=src").content == shown.stdout.rstrip(b"\n")
        missing = hall.get("/api/contexts/show", scope="../elsewhere")
        assert (missing["found"], "path traversal" in missing["error"]) == (False, True)
        assert hall.fails("/api/contexts/show")[:2] == (400, "usage")


# The guild:


def test_the_roster_is_complete_before_any_member_runs(hall: HttpHall) -> None:
    """REQ-MCP-TOOL-5: cached tools are visible in the roster at once."""
    told = member(hall, "zoo")
    assert told["tools"] == [{"name": "echo", "listedAs": "zoo__echo", "title": "Echo", "line": "Gives it back."}]
    assert (told["status"], told["freshness"], told["cachedAt"]) == (
        "disconnected",
        "fresh",
        "2026-01-02T03:04:05.678Z",
    )
    assert told["tokens"] > 0
    assert set(told) == {
        *("name", "key", "displayName", "description", "version", "transport", "status", "error", "cachedAt"),
        *("freshness", "reason", "tokens", "notes", "changes", "held", "tools", "switchedOff", "progress"),
    }


def test_a_tool_is_told_whole(hall: HttpHall) -> None:
    told = hall.get("/api/guild/tool", member="zoo", tool="echo")
    definition = tool("echo", "Gives it back. Whatever it is.", title="Echo")
    assert told == {"listedAs": "zoo__echo", "definition": definition}
    assert hall.fails("/api/guild/tool", member="zoo", tool="nope") == (400, "usage", "Unknown tool: zoo has no 'nope'")


@pytest.mark.parametrize("path", ["tool", "difference", "log"])
def test_a_member_that_nobody_knows_is_said_to_be_unknown(hall: HttpHall, path: str) -> None:
    told = hall.fails(f"/api/guild/{path}", member="nobody", tool="x")
    assert told == (400, "usage", "Unknown member: 'nobody'")
    assert hall.fails(f"/api/guild/{path}")[:2] == (400, "usage")


def test_the_calls_of_a_member_are_told_apart(tmp_path: Path) -> None:
    for name in ("zoo", "park"):
        write_cache(make_member(tmp_path / "guild", name), tool("echo"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        for name in ("zoo", "zoo", "park"):
            hall.post("/api/guild/call", {"member": name, "tool": "echo", "arguments": {}})
        told = hall.get("/api/activity", member="zoo")
        assert [each["tool"] for each in told["calls"]] == ["zoo__echo"] * 2
        assert [(each["tool"], each["calls"], each["errors"]) for each in told["tools"]] == [("zoo__echo", 2, 0)]
        assert len(hall.get("/api/activity")["calls"]) == 3
        assert hall.fails("/api/activity", member="nobody") == (400, "usage", "Unknown member: 'nobody'")


def test_a_tool_is_called_and_its_server_stopped(tmp_path: Path) -> None:
    write_cache(make_member(tmp_path / "guild", "zoo", "--say", "hello from the zoo"), tool("echo"))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        order = {"member": "zoo", "tool": "echo", "arguments": {"text": "ü"}}
        result = hall.post("/api/guild/call", order).json()["result"]
        assert result == {"content": [{"type": "text", "text": '{"text": "\\u00fc"}'}]}
        assert member(hall, "zoo")["status"] == "connected"
        assert hall.post("/api/guild/stop", {"member": "zoo"}).json()["member"]["status"] == "disconnected"
        assert member(hall, "zoo")["status"] == "disconnected"
        assert "hello from the zoo" in hall.get("/api/guild/log", member="zoo", lines=5)["log"]
        assert hall.post("/api/guild/stop", {"member": "zoo"}).status_code == 200
        assert hall.post("/api/guild/call", order).status_code == 200


def test_a_call_that_goes_wrong_is_told_as_a_sentence(hall: HttpHall) -> None:
    answer = hall.post("/api/guild/call", {"member": "dies", "tool": "echo"})
    status, code, detail = failure(answer)
    assert (status, code) == (502, "tool_failed")
    assert detail.startswith("dies: ")
    status, code, detail = failure(hall.post("/api/guild/call", {"member": "absent", "tool": "echo"}))
    assert (status, code) == (502, "tool_failed")
    assert "not found" in detail
    fault = hall.post("/api/guild/call", {"member": "faulty", "tool": "echo", "arguments": {}})
    assert (fault.status_code, fault.json()) == (
        200,
        {"fault": {"code": -32001, "message": "no", "data": {"why": "so"}}},
    )


def test_a_call_of_a_listed_tool_goes_wrong_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "fault.json").write_text('{"code": -32001, "message": "no"}')
    for name, flags in {"dies": ["--die-in-call"], "faulty": ["--error-file", str(tmp_path / "fault.json")]}.items():
        write_cache(make_member(tmp_path / "listed", name, *flags), tool("echo"))
        make_member(tmp_path / "unlisted", name, *flags)
    told = []
    for guild in ("listed", "unlisted"):
        with HttpHall("--guild", guild, "--guild-refresh", "never", cwd=tmp_path) as hall:
            orders = [{"member": name, "tool": "echo"} for name in ("dies", "faulty")]
            answers = [hall.post("/api/guild/call", order) for order in orders]
            told.append([(answer.status_code, answer.json()) for answer in answers])
    assert told[0] == told[1]
    assert [status for status, _ in told[0]] == [502, 200]


def test_members_are_asked_again(tmp_path: Path) -> None:
    make_member(tmp_path / "guild", "one")
    make_member(tmp_path / "guild", "two", "--list-error")
    with HttpHall("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as hall:
        (one,) = hall.post("/api/guild/refresh", {"member": "one"}).json()["members"]
        assert [each["name"] for each in one["tools"]] == ["tool_0", "echo"]
        assert one["freshness"] == "fresh"
        both = hall.post("/api/guild/refresh", {"member": None}).json()["members"]
        assert [(each["name"], each["status"] == "error") for each in both] == [("one", False), ("two", True)]
        assert "the list is lost" in both[1]["error"]


def test_a_changed_definition_is_shown_and_approved(tmp_path: Path) -> None:
    offered = tmp_path / "tools.json"
    offered.write_text(json.dumps([tool("echo", "Old.")]))
    make_member(tmp_path / "guild", "zoo", "--tools-file", str(offered))
    with HttpHall("--guild", "guild", "--guild-refresh", "never", "--guild-trust", "hold", cwd=tmp_path) as hall:
        assert hall.get("/api/hall")["trust"] == "hold"
        hall.post("/api/guild/refresh", {"member": "zoo"})
        offered.write_text(json.dumps([tool("echo", "New.")]))
        (held,) = hall.post("/api/guild/refresh", {}).json()["members"]
        changes = [{"tool": "echo", "kind": "changed", "fields": ["description"]}]
        assert (held["held"], held["changes"], held["tools"][0]["line"]) == (True, changes, "Old.")
        difference = hall.get("/api/guild/difference", member="zoo")["difference"]
        assert '-  "description": "Old."' in difference
        assert '+  "description": "New."' in difference
        stale = hall.post("/api/guild/approve", {"member": "zoo", "difference": "another one"})
        assert (stale.status_code, stale.json()["error"]["code"]) == (409, "check_failed")
        answer = hall.post("/api/guild/approve", {"member": "zoo", "difference": difference}).json()
        assert answer["approved"] == changes
        assert (answer["member"]["held"], answer["member"]["tools"][0]["line"]) == (False, "New.")
        assert hall.get("/api/guild/difference", member="zoo")["difference"] == ""


# What may be sent:


@pytest.mark.parametrize("path", ["call", "refresh", "stop", "approve"])
def test_nothing_is_done_without_the_write_token(hall: HttpHall, path: str) -> None:
    guesses: list[dict[bytes, bytes]] = [{}, {b"X-Hall-Write": b"guessed"}, {b"X-Hall-Write": "ü".encode()}]
    for headers in guesses:
        answer = hall.http.post(f"/api/guild/{path}", json={"member": "zoo", "tool": "echo"}, headers=headers)
        assert failure(answer)[:2] == (403, "forbidden")
    assert member(hall, "zoo")["status"] == "disconnected"


def test_a_form_of_another_page_cannot_do_anything(hall: HttpHall) -> None:
    """A form needs no permission of the hall to be sent; it can be no JSON, and not know the token."""
    forms = {"Content-Type": "text/plain"}
    answer = hall.http.post("/api/guild/call", content=b"{}", headers={**hall.write_headers(), **forms})
    assert failure(answer) == (400, "usage", "Cannot do that: the body must be of the type application/json")
    own = {"Origin": "http://evil.example", **hall.write_headers()}
    assert hall.http.post("/api/guild/call", json={}, headers=own).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("call", b"", "the body is not JSON"),
        ("call", b"{", "the body is not JSON"),
        ("call", b"\xff", "the body is not JSON"),
        ("call", b"[" * 100_000, "the body is not JSON"),
        ("call", b'{"member": NaN}', "the body is not JSON"),
        ("call", b"[]", "the body must be an object"),
        ("call", b"{}", "`member` must be a string"),
        ("call", b'{"member": 5}', "`member` must be a string"),
        ("call", b'{"member": "zoo"}', "`tool` must be a string"),
        ("call", b'{"member": "zoo", "tool": "echo", "arguments": []}', "`arguments` must be an object"),
        ("call", b'{"member": "nobody", "tool": "echo"}', "Unknown member: 'nobody'"),
        ("refresh", b'{"member": 5}', "`member` must be a string"),
        ("refresh", b'{"member": "nobody"}', "Unknown member: 'nobody'"),
        ("stop", b"{}", "`member` must be a string"),
        ("stop", b'{"member": "nobody"}', "Unknown member: 'nobody'"),
        ("approve", b'{"member": null}', "`member` must be a string"),
        ("approve", b'{"member": "nobody"}', "Unknown member: 'nobody'"),
    ],
)
def test_an_order_that_cannot_be_followed_is_told_why(hall: HttpHall, path: str, body: bytes, sentence: str) -> None:
    headers = {**hall.write_headers(), "Content-Type": "application/json"}
    status, code, detail = failure(hall.http.post(f"/api/guild/{path}", content=body, headers=headers))
    assert (status, code) == (400, "usage")
    assert sentence in detail


def test_a_body_of_too_many_values_is_refused_though_it_is_small(hall: HttpHall) -> None:
    for count, sentence in (
        (limits.JSON_VALUES, "Unknown member: 'nobody'"),
        (limits.JSON_VALUES + 1, f"more than {limits.JSON_VALUES}"),
    ):
        body = b'{"member":"nobody","tool":"echo","x":[' + b",".join([b"1"] * (count - 3)) + b"]}"
        headers = {**hall.write_headers(), "Content-Type": "application/json"}
        status, code, detail = failure(hall.http.post("/api/guild/call", content=body, headers=headers))
        assert (status, code) == (400, "usage")
        assert sentence in detail


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(hall: HttpHall) -> None:
    headers = {**hall.write_headers(), "Content-Type": "application/json"}
    piece = b" " * (1 << 20)
    for content in (piece * 5, (piece for _ in range(5))):
        answer = hall.http.post("/api/guild/call", content=content, headers=headers)
        assert failure(answer)[:2] == (413, "too_large")
    assert hall.get("/healthz")["status"] == "ok"


def test_a_body_that_says_it_is_too_large_is_not_waited_for(hall: HttpHall) -> None:
    host, port = hall.url.removeprefix("http://").split(":")
    lines = {"Host": f"{host}:{port}", "Content-Type": "application/json", "Content-Length": "5000000"}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **hall.write_headers()}.items())
    with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as asking:
        asking.sendall(f"POST /api/guild/call HTTP/1.1\r\n{head}\r\n{{".encode())
        assert asking.recv(1 << 12).startswith(b"HTTP/1.1 413")


def test_a_path_answers_by_its_own_method_only(hall: HttpHall) -> None:
    answer = hall.http.post("/api/hall")
    assert failure(answer) == (405, "usage", "This path answers GET, HEAD only.")
    assert answer.headers["allow"] == "GET, HEAD"
    assert failure(hall.http.get("/api/guild/call"))[:2] == (405, "usage")
    assert failure(hall.http.post("/api/events"))[:2] == (405, "usage")
    assert hall.http.head("/api/hall").content == b""


# Halls that have less:


def test_a_hall_without_a_guild_has_an_empty_roster(tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path) as hall:
        assert hall.get("/api/hall")["guild"] is False
        assert hall.get("/api/guild") == {"members": []}
        assert hall.get("/api/caches") == {"caches": []}
        assert hall.fails("/api/guild/log", member="x") == (
            400,
            "usage",
            "Cannot do that: this hall has no guild: start it with --guild DIR",
        )
        with hall.events() as events:
            assert next(events) == ("hello", {"version": __version__})


def test_what_a_hall_does_not_offer_cannot_be_asked(tmp_path: Path) -> None:
    with HttpHall("--toolsets", "caches", cwd=tmp_path) as hall:
        assert hall.get("/api/hall")["toolsets"] == ["caches"]
        assert "offers no contexts" in hall.fails("/api/contexts")[2]
    with HttpHall("--toolsets", "contexts", cwd=tmp_path) as hall:
        assert "offers no caches" in hall.fails("/api/caches")[2]


def test_what_the_system_refuses_is_told_without_its_paths(tmp_path: Path) -> None:
    with HttpHall("--cache-root", "nowhere", cwd=tmp_path) as hall:
        answer = hall.http.get("/api/caches")
        assert failure(answer)[:2] == (500, "io_error")
        assert str(tmp_path) not in answer.text
        assert "nowhere" not in answer.text


def test_a_cache_root_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "project" / ".context").mkdir(parents=True)
    (tmp_path / "project" / ".context" / "caches").symlink_to(tmp_path)
    answer = run_context("serve", "--http", "0", cwd=tmp_path / "project")
    assert (answer.returncode, b"leads out of the project" in answer.stderr) == (1, True)


def test_every_path_is_documented_and_no_other(tmp_path: Path) -> None:
    site = Site(open_hall(str(tmp_path)), nothing, Access(HostNames.of("127.0.0.1", 1)), version="1")
    answered = {path for path in site.paths if not path.startswith("/static/")} - {"/", "/mcp"}
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    assert set(re.findall(r"^\| `(/[a-z/]+)", text, flags=re.MULTILINE)) == answered


@pytest.mark.parametrize("code", [*CODES, "unauthorized", "forbidden", "too_large"])
def test_every_error_has_a_status_which_is_documented(code: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    (row,) = [line for line in text.splitlines() if re.match(rf"\| (`\w+`, )*`{code}`(, `\w+`)* \|", line)]
    assert code not in CODES or f"| {STATUSES[code]}" in row

"""What the page is told of a cache of format 2: places, sections with their matches, outlines, and an agent's reply."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_pages, write_sources
from tests.caches.test_explaining import GUIDE
from tests.faces.web.serving import HttpHall, RawSession
from tests.processes import PATIENCE_SECONDS, run_context
from tests.waiting import wait_until

QUESTION: dict[str, Any] = {"cache": "guides", "query": "How do I rotate the signing keys, Bob?", "budget": 200}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home") / "shop"
    caches = home / ".context" / "caches"
    caches.mkdir(parents=True)
    build_pages(caches, GUIDE, name="guides")
    return home


@pytest.fixture(scope="module")
def hall(home: Path) -> Iterator[HttpHall]:
    with HttpHall(cwd=home) as hall:
        yield hall


def test_a_ranking_tells_sections_their_way_and_what_they_cost(hall: HttpHall) -> None:
    told = hall.get("/api/caches/ranking", **QUESTION)
    places = told.pop("places")
    assert (told["format"], told["query"], told["budget"]) == (2, QUESTION["query"], 200)
    assert (told["unmatched"], told["ignored"]) == (["bob"], ["how", "do", "i", "the"])
    assert (told["considered"], told["selected"]) == (4, 1)
    assert places[0] == {
        "rank": 1,
        "id": "guide/keys.md#rotate",
        "page": "guide/keys.md",
        "crumbs": [["", "Keys", ""], ["", "Rotate", ""]],
        "lines": [5, 7],
        "score": 302826,
        "tokens": 13,
        "cost": 74,
        "matched": ["rotate", "signing", "keys"],
        "fits": True,
        "left_before": 129,
    }
    assert [(place["id"], place["fits"]) for place in places[1:]] == [
        ("faq.md#lost", False),
        ("guide/keys.md#keys", False),
        ("faq.md#questions", False),
    ]
    assert hall.get("/api/caches/ranking", **QUESTION, offset=1, limit=2)["places"] == places[1:3]


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_fits_is_what_the_tool_gives_in_that_form(hall: HttpHall, home: Path, form: str) -> None:
    told = hall.get("/api/caches/ranking", **QUESTION, format=form)
    flags = [f"--{name}={value}" for name, value in {**QUESTION, "format": form}.items()]
    typed = run_context("resolve", *flags, cwd=home).stdout.decode()
    reply = hall.get("/api/caches/reply", **QUESTION, format=form)
    assert reply == {"text": typed, "failed": False}
    given = typed.partition("did not fit: ")[0].partition('"skipped":')[0]
    assert all((place["id"] in given) == place["fits"] for place in told["places"])
    session = RawSession(hall)
    session.initialize()
    params = {"name": "context.resolve", "arguments": {**QUESTION, "format": form}}
    answer = session.request("tools/call", params)
    assert answer["content"] == [{"type": "text", "text": reply["text"]}]


def test_a_refusal_is_told_as_the_agent_is_told(hall: HttpHall) -> None:
    reply = hall.get("/api/caches/reply", **{**QUESTION, "cache": "nope"})
    assert reply["failed"]
    assert json.loads(reply["text"])["error"]["code"] == "cache_missing"


def test_why_is_said_in_the_sentences_of_the_command_line(hall: HttpHall, home: Path) -> None:
    for form, wanted in (("json", "faq.md"), ("text", "guide/keys.md#keys"), ("json", "guide/deploy.md")):
        told = hall.get("/api/caches/why", **QUESTION, format=form, id=wanted)
        flags = [f"--{name}={value}" for name, value in {**QUESTION, "format": form, "why-not": wanted}.items()]
        typed = run_context("resolve", *flags, cwd=home)
        assert told["sentences"] == typed.stdout.decode().splitlines()


def test_a_section_is_told_in_pieces(hall: HttpHall) -> None:
    told = hall.get("/api/caches/section", cache="guides", id="guide/keys.md#rotate", query="rotate")
    assert told.pop("version").startswith("sha256:")
    assert [each["tag"] for each in told.pop("rendered")] == ["h3", "p"]
    assert told == {
        "id": "guide/keys.md#rotate",
        "page": "guide/keys.md",
        "crumbs": [["Keys"], ["", "Rotate", ""]],
        "lines": [5, 7],
        "tokens": 13,
        "content": ["## ", "Rotate", "\n\n", "Rotating", " the signing keys takes an hour.\n"],
    }


def test_an_outline_names_the_sections_of_a_page(hall: HttpHall) -> None:
    told = hall.get("/api/caches/outline", cache="guides", page="guide/keys.md")
    assert (told["page"], told["title"]) == ("guide/keys.md", "Keys")
    assert [(each["id"], each["level"]) for each in told["sections"]] == [
        ("guide/keys.md#keys", 1),
        ("guide/keys.md#rotate", 2),
    ]


def test_the_contents_are_all_pages_in_their_order_and_how_to_go_on(hall: HttpHall) -> None:
    told = hall.get("/api/caches/contents", cache="guides")
    assert [page["page"] for page in told["pages"]] == sorted(page["page"] for page in told["pages"])
    assert told["next"] is None
    assert told["pages"][0]["sections"][0]["id"].startswith(told["pages"][0]["page"])
    later = hall.get("/api/caches/contents", cache="guides", start=told["pages"][1]["page"])
    assert later["pages"] == told["pages"][1:]


@pytest.mark.parametrize(
    ("path", "asked", "told"),
    [
        ("ranking", {**QUESTION, "format": "xml"}, (400, "usage", "`format` must be json or text")),
        ("reply", {**QUESTION, "format": ""}, (400, "usage", "`format` must be json or text")),
        ("reply", {**QUESTION, "budget": "-1"}, (400, "invalid_budget", "'-1'")),
        ("why", {**QUESTION, "id": "faq.md#nope"}, (404, "document_missing", "faq.md#nope")),
        ("section", {"cache": "guides", "id": "faq.md"}, (404, "document_missing", "faq.md")),
        ("section", {"cache": "guides"}, (400, "usage", "`id` is missing")),
        ("outline", {"cache": "guides", "page": "guide"}, (404, "document_missing", "guide")),
        ("outline", {"cache": "guides", "page": ""}, (404, "document_missing", "")),
        ("contents", {"cache": "nope"}, (404, "cache_missing", "nope")),
        ("contents", {"cache": "guides", "start": "nowhere.md"}, (404, "document_missing", "nowhere.md")),
        ("outline", {"cache": "nope", "page": "faq.md"}, (404, "cache_missing", "nope")),
    ],
)
def test_what_cannot_be_answered_is_told_why(
    hall: HttpHall, path: str, asked: dict[str, Any], told: tuple[int, str, str]
) -> None:
    status, code, detail = hall.fails(f"/api/caches/{path}", **asked)
    assert (status, code) == told[:2]
    assert told[2] in detail


def test_the_states_of_caches_are_told_without_a_path(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", {"a.md": "# A\n\nred apple\n"})
    caches = tmp_path / "project" / ".context" / "caches"
    caches.mkdir(parents=True)
    for name, sources in (("docs", "docs"), ("gone", "docs")):
        assert run_context("build", "--sources", sources, "--cache", str(caches / name), cwd=tmp_path).returncode == 0
    record = json.loads((caches / "gone" / "sources.json").read_text())
    (caches / "gone" / "sources.json").write_text(json.dumps(record | {"folders": [["", "/nowhere"]]}))
    (caches / "empty").mkdir()
    # Outside the project, so that nobody refreshes the cache meanwhile.
    with HttpHall("--allow-root", str(tmp_path / "docs"), cwd=tmp_path / "project") as hall:
        listed = {each["name"]: each for each in hall.get("/api/caches")["caches"]}
        docs, empty, gone = hall.get("/api/caches/states")["caches"]
        assert docs.pop("created_at").endswith("Z")
        version = listed["docs"]["cache_version"]
        assert docs == {"name": "docs", "cache_version": version, "state": "fresh", "changed": 0}
        assert (empty["cache_version"], empty["state"], gone["state"]) == ("", "unknown", "unknown")
        (tmp_path / "docs" / "b.md").write_text("new")
        wait_until(lambda: hall.get("/api/caches/states")["caches"][0]["state"] == "stale", PATIENCE_SECONDS)
        answer = hall.http.get("/api/caches/states").text
        assert "nowhere" not in answer
        assert str(tmp_path) not in answer


def test_sources_outside_the_roots_of_a_hall_on_the_network_are_not_looked_at(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", {"a.md": "# A\n\nred apple\n"})
    project = tmp_path / "project"
    cache = project / ".context" / "caches" / "docs"
    cache.parent.mkdir(parents=True)
    assert run_context("build", "--sources", "docs", "--cache", str(cache), cwd=tmp_path).returncode == 0
    for options, state in (((), "unknown"), (("--allow-root", str(tmp_path / "docs")), "fresh")):
        with HttpHall(*options, cwd=project) as hall:
            assert hall.get("/api/caches/states")["caches"][0]["state"] == state

"""What agents are told by the tools of the caches."""

import asyncio
from pathlib import Path

import pytest
from tests.caches.making import build_cache, build_pages, library_of

from contexthall.caches.capability import caches_capability
from contexthall.core import limits
from contexthall.core.catalog import Caller, Catalog, JsonObject
from contexthall.core.nearest import nearest

MISSING = '{"error":{"code":"cache_missing","message":"Cache does not exist"}}\n'
CALLS: dict[str, JsonObject] = {
    "context.resolve": {"query": "keys"},
    "context.read": {"id": "keys.md"},
    "context.outline": {},
}


def answer(root: Path, tool: str, arguments: JsonObject) -> str:
    catalog = Catalog([caches_capability(library_of(root))])
    result = asyncio.run(catalog.call(tool, arguments, Caller(may_read=lambda *_: False)))
    assert result.is_error
    return result.text


@pytest.mark.parametrize("tool", CALLS)
def test_in_text_form_an_unknown_cache_is_answered_with_those_that_are_there(tool: str, tmp_path: Path) -> None:
    for name in ("notes", "handbook"):
        build_cache(tmp_path, {"a.md": "a"}, name=name)
    (tmp_path / "empty").mkdir()
    asked = {"cache": "handbok", **CALLS[tool]}
    assert answer(tmp_path, tool, {**asked, "format": "text"}) == f"{MISSING}caches: handbook, notes\n"
    assert answer(tmp_path, tool, asked) == MISSING


@pytest.mark.parametrize("tool", CALLS)
def test_in_text_form_a_call_without_a_cache_is_answered_with_those_that_are_there(tool: str, tmp_path: Path) -> None:
    build_cache(tmp_path, {"a.md": "a"}, name="notes")
    assert answer(tmp_path, tool, {**CALLS[tool], "format": "text"}) == "Missing argument 'cache'\ncaches: notes\n"
    assert answer(tmp_path, tool, CALLS[tool]) == "Missing argument 'cache'"
    wrong = answer(tmp_path, tool, {**CALLS[tool], "cache": 5, "format": "text"})
    assert wrong == "Invalid argument 'cache': 5 is not of type 'string'"


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("docs/Guide/Keys.md", "near: guide/keys.md\n"),
        ("guide/keys.md#fine-tunning", "near: guide/keys.md#fine-tuning-a-key"),
        ("\n", ""),
    ],
)
def test_in_text_form_an_unknown_id_is_answered_with_those_that_are_near(
    wanted: str, near: str, tmp_path: Path
) -> None:
    build_pages(tmp_path, {"guide/keys.md": "# Keys\n\n## Fine-tuning a key\n", "a.md": "a"}, name="docs")
    missing = '{"error":{"code":"document_missing","message":"Document does not exist"}}\n'
    asked: JsonObject = {"cache": "docs", "id": wanted}
    assert answer(tmp_path, "context.read", {**asked, "format": "text"}).startswith(missing + near)
    assert answer(tmp_path, "context.read", asked) == missing


def test_of_thousands_of_pages_those_of_that_name_are_near() -> None:
    pages = [f"{number}/page-{number}.md" for number in range(limits.NAMES_COMPARED + 1)]
    assert nearest("docs/7/page-7.md", pages)[0] == "7/page-7.md"


def test_where_there_is_no_cache_none_is_named(tmp_path: Path) -> None:
    asked = {"cache": "handbook", "query": "keys", "format": "text"}
    assert answer(tmp_path, "context.resolve", asked) == MISSING
    assert answer(tmp_path / "nowhere", "context.resolve", asked) == MISSING


def test_of_many_caches_the_first_are_named_each_on_one_line(tmp_path: Path) -> None:
    for number in range(limits.CACHES_NAMED + 1):
        (tmp_path / f"{number:03}\n").mkdir()
        (tmp_path / f"{number:03}\n" / "manifest.json").write_text("{}")
    told = answer(tmp_path, "context.read", {"cache": "x", "id": "x", "format": "text"})
    assert told.startswith(f"{MISSING}caches: 000 , 001 , ")
    assert told.endswith("049 , …\n")

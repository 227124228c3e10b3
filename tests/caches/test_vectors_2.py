"""The golden vectors of format 2: what the rules give, to the letter, whoever implements them."""

import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.caches.embedding import build_embedded, install
from tests.caches.making import build_pages, counted, library_of, section_cache
from tests.contract import write_vectors_2 as writer

from contexthall.caches.embedding.embedders import quantised
from contexthall.caches.index.segment import Segment
from contexthall.caches.index.segment_builder import SegmentBuilder
from contexthall.caches.index.segments import Segments
from contexthall.caches.index.terms import terms
from contexthall.caches.library import CacheRef
from contexthall.caches.model.document import identify, version_of
from contexthall.caches.model.format import ListedDocument, cache_version
from contexthall.caches.model.page import Page, Section
from contexthall.caches.model.sections import split
from contexthall.caches.query import bm25f
from contexthall.caches.query.question import Question
from contexthall.caches.query.scorers import SECTIONS
from contexthall.caches.query.section_ranking import SectionScorer
from contexthall.caches.query.section_reader import MemoryFile
from contexthall.caches.query.section_reading import Outline, Reading
from contexthall.core import bm25, wire
from contexthall.core.errors import HallError
from contexthall.core.marks import mark_for

FILES = sorted(path.name for path in writer.VECTORS.glob("*.json"))


def load(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((writer.VECTORS / name).read_text(encoding="ascii"))
    return cases


def vectors(name: str) -> list[Any]:
    return [pytest.param(case, id=f"{number} {case.get('name', '')}") for number, case in enumerate(load(name))]


def test_the_oracle_gives_every_vector() -> None:
    expected = writer.files()
    assert sorted(expected) == FILES
    for name in FILES:
        assert (writer.VECTORS / name).read_text(encoding="ascii") == writer.to_json(expected[name]), name


@pytest.mark.parametrize("name", FILES)
def test_names_are_unique_and_files_stay_small(name: str) -> None:
    names = [case["name"] for case in load(name) if "name" in case]
    assert len(set(names)) == len(names)
    assert (writer.VECTORS / name).stat().st_size < 50_000
    assert f"`{name}`" in (writer.VECTORS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", vectors("log2_16.json"))
def test_logarithms(case: dict[str, Any]) -> None:
    assert bm25.log2_16(case["number"]) == case["log2_16"]


@pytest.mark.parametrize("case", vectors("terms.json"))
def test_terms(case: dict[str, Any]) -> None:
    assert terms(case["text"]) == case["terms"]


def decayed(score: int, taken: int) -> int:
    for _ in range(min(taken, bm25f.MOST_DECAYS)):
        score = bm25f.decayed(score)
    return score


@pytest.mark.parametrize("case", vectors("formulas.json"))
def test_formulas(case: dict[str, Any]) -> None:
    rules: dict[str, Callable[..., int]] = {
        "idf": bm25.idf,
        "W": bm25f.weight,
        "S": bm25.saturated,
        "decay": decayed,
    }
    assert rules[case["rule"]](*case["input"]) == case["output"]


@pytest.mark.parametrize("case", vectors("sections.json"))
def test_sections(case: dict[str, Any]) -> None:
    text = writer.spelt(case["text"])
    page = split(text, case["source"])
    record = counted({case["source"]: text}).record(0)
    assert page.title == (case["title"] if case["sections"] else page.stem)
    found, at = [], 0
    for section, lines in zip(page.sections, record.lines, strict=True):
        size = len(page.content(section).encode())
        row: dict[str, Any] = {"slug": section.slug, "heading": section.heading, "level": section.level}
        row |= {"crumbs": list(section.crumbs), "bytes": [at, at + size]}
        row |= {"lines": [lines.first, lines.last], "body_line": lines.body}
        found.append(row | ({"body": page.body(section).lstrip("\ufeff")} if isinstance(case["text"], str) else {}))
        at += size
    bodies = [{"body": row["body"].lstrip("\ufeff")} if "body" in row else {} for row in case["sections"]]
    assert found == [row | body for row, body in zip(case["sections"], bodies, strict=True)]


@pytest.mark.parametrize("case", vectors("known.json"))
def test_the_known_answers_of_the_contract(case: dict[str, Any]) -> None:
    builder = SegmentBuilder()
    for path in ("a.md", "b.md"):
        given = [each for each in case["sections"] if each["id"].startswith(path)]
        sections, at = [], 0
        for each in given:
            end = at + len(each["body"])
            sections.append(Section(at, end, at, at, each["heading"], 1, each["id"].partition("#")[2].lower(), ()))
            at = end
        text = "".join(each["body"] for each in given)
        page = Page(text, given[0]["title"], path.removesuffix(".md"), tuple(sections))
        builder.add(path, version_of(text.encode()), page)
    data = builder.to_bytes()
    segments = Segments([Segment(MemoryFile(data), len(data), builder.key)])
    found = [[segments.id(each.section), each.score] for each in SectionScorer(segments).rank(case["query"]).order]
    assert found == [[section_id.lower(), score] for section_id, score in case["order"]]


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("case", vectors("ranking.json"))
def test_ranking(case: dict[str, Any], parts: int) -> None:
    segments = counted(case["pages"], parts)
    order = SectionScorer(segments).rank(case["query"]).order
    assert [[segments.id(each.section), each.score] for each in order] == case["order"]


@pytest.mark.parametrize("case", vectors("int8.json"))
def test_quantised_vectors(case: dict[str, Any]) -> None:
    assert list(array("b", quantised(case["vector"]))) == case["int8"]


@pytest.mark.parametrize("case", vectors("meaning.json"))
def test_ranking_by_words_and_meaning(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "installed", monkeypatch)
    cache = CacheRef(str(build_embedded(tmp_path, case["pages"])))
    places = library_of(tmp_path).places(cache, case["query"], 4000, 0, 500).places
    assert [[each.id, each.score] for each in places] == case["order"]


@pytest.mark.parametrize("case", vectors("resolve_meaning.json"))
def test_resolving_by_words_and_meaning(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "installed", monkeypatch)
    cache = build_embedded(tmp_path, case["pages"], name=case["cache"])
    (cache / "sources.json").unlink()  # without which its freshness is unknown
    library, ref = library_of(tmp_path), CacheRef(str(cache))
    for _ in range(2):
        assert library.resolve(ref, case["query"], case["budget"]).text == case["json"]
        assert library.resolve(ref, case["query"], case["budget"], "text").text == case["text"]
        (cache / "segments.bin").unlink(missing_ok=True)
    assert library.verify(ref) == ()


@pytest.mark.parametrize("case", vectors("versions.json"))
def test_versions(case: dict[str, Any]) -> None:
    listed = [
        ListedDocument(identify(path), version_of(content.encode()), "") for path, content in case["pages"].items()
    ]
    assert cache_version(sorted(listed), SECTIONS) == case["cache_version"]


@pytest.mark.parametrize("case", vectors("marks.json"))
def test_marks(case: dict[str, Any]) -> None:
    assert mark_for(case["contents"]) == case["mark"]


@pytest.mark.parametrize("case", vectors("resolve.json"))
def test_resolving_with_the_index_and_without(case: dict[str, Any], tmp_path: Path) -> None:
    cache = build_pages(tmp_path, case["pages"], name=case["cache"])
    library, ref = library_of(tmp_path), CacheRef(str(cache))
    for _ in range(2):
        assert library.resolve(ref, case["query"], case["budget"]).text == case["json"]
        assert library.resolve(ref, case["query"], case["budget"], "text").text == case["text"]
        (cache / "segments.bin").unlink(missing_ok=True)
    assert library.verify(ref) == ()


def reply_of(ask: Callable[[], Reading | Outline]) -> str:
    try:
        return ask().text
    except HallError as error:
        return wire.compact({"error": {"code": error.code, "message": error.message}}) + "\n"


@pytest.mark.parametrize("case", vectors("read.json"))
def test_reading(case: dict[str, Any]) -> None:
    cache, question = section_cache(case["pages"]), Question(case["id"], case["budget"])
    assert reply_of(lambda: cache.read(question, case["neighbours"], case["from"])) == case["output"]


@pytest.mark.parametrize("case", vectors("outline.json"))
def test_outlines(case: dict[str, Any]) -> None:
    cache, question = section_cache(case["pages"]), Question(case["under"] or "", case["budget"])
    assert reply_of(lambda: cache.outline(question, case["under"], case["depth"], case["from"])) == case["output"]

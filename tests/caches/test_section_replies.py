"""Replies, pages that are read and outlines are the oracle's, byte for byte, and within their budget."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.caches.making import build_pages, library_of, section_cache, write_sources
from tests.caches.test_section_ranking import WORDS, names, queries
from tests.contract import oracle_2 as oracle
from tests.faults.scale import scaled

from contexthall.caches.library import CacheRef
from contexthall.caches.query.opening import open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_reader import OpenSections
from contexthall.caches.query.section_reading import Outline, Reading
from contexthall.caches.query.section_reply import SectionReply
from contexthall.core.errors import HallError, SourcesError
from contexthall.core.marks import mark_for
from contexthall.system.disk import Disk

UNKNOWN = ("unknown", 0)
ODD = ['"quoted"', "back\\slash", "tab\tx", "\x01", "é", "=== 12345678", "\x7f", "\x85", "line\rend"]
lines = st.lists(st.sampled_from([*WORDS, *ODD]), max_size=12).map(" ".join)
headings = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 3), lines)
texts = st.lists(lines | headings, max_size=6).map("\n".join)
sources = st.sampled_from(["a.md", "B.md", "x y.rst", 'q"u.txt', "a#b.md", "d/a.md", "d/e/c.md", "d/e/é.adoc"]) | names
budgets = st.sampled_from([0, 10, 50, 70, 80, 90, 100, 130, 200, 300, 1000, 4000]) | st.integers(40, 400)


@st.composite
def corpora(draw: st.DrawFn) -> dict[str, str]:
    found = draw(st.dictionaries(sources, texts, max_size=6))
    assume(len({source.lower() for source in found}) == len(found))
    return found


def text_or_error(answer: Callable[[], SectionReply | Reading | Outline]) -> str:
    try:
        return answer().text
    except HallError as error:
        return oracle.error(error.code)


@settings(max_examples=scaled(40, 100, 20_000))
@given(corpora(), queries, budgets, st.integers(1, 3))
def test_replies_are_those_of_the_oracle(pages: dict[str, str], query: str, budget: int, parts: int) -> None:
    cache, version = section_cache(pages, parts), oracle.cache_version(pages)
    as_json = cache.resolve(Question(query, budget)).text
    assert as_json == oracle.resolve_json(pages, query, budget, UNKNOWN)
    as_text = cache.resolve(Question(query, budget, "text", "na\tme", version)).text
    assert as_text == oracle.resolve_text(pages, "na\tme", version, query, budget, UNKNOWN)
    for reply in (as_json, as_text):
        is_empty = '{"documents":[]' in reply or "=== " not in reply
        assert is_empty or len(reply.encode()) <= 4 * budget


@settings(max_examples=scaled(40, 100, 20_000))
@given(st.data(), corpora(), budgets, st.integers(1, 3))
def test_pages_are_read_as_the_oracle_reads_them(
    data: st.DataObject, pages: dict[str, str], budget: int, parts: int
) -> None:
    cache = section_cache(pages, parts)
    ids = [section.id for section in oracle.all_sections(pages)]
    wanted = data.draw(st.sampled_from([*ids, *oracle.by_path(pages), "nope", "a#b.md#", ""]))
    start = data.draw(st.sampled_from([None, None, *ids]))
    neighbours = data.draw(st.integers(0, 6))
    found = text_or_error(lambda: cache.read(Question(wanted, budget), neighbours, start))
    assert found == oracle.read_json(pages, wanted, neighbours, start, budget)
    text = text_or_error(lambda: cache.read(Question(wanted, budget, "text", "n", "sha256:0"), neighbours, start))
    assert '"error"' in text or len(text.encode()) <= 4 * budget


@settings(max_examples=scaled(40, 100, 20_000))
@given(st.data(), corpora(), budgets, st.integers(1, 3))
def test_outlines_are_those_of_the_oracle(data: st.DataObject, pages: dict[str, str], budget: int, parts: int) -> None:
    cache, paths = section_cache(pages, parts), list(oracle.by_path(pages))
    under = data.draw(st.sampled_from([None, None, "", "d", "d/", "d/e", *paths, "zz"]))
    start = data.draw(st.sampled_from([None, None, *paths, "zz"]))
    depth = data.draw(st.sampled_from([None, None, 0, 1, 2]))
    found = text_or_error(lambda: cache.outline(Question(under or "", budget), under, depth, start))
    assert found == oracle.outline_json(pages, under, depth, start, budget)
    asked = Question(under or "", budget, "text", "n", "sha256:0")
    text = text_or_error(lambda: cache.outline(asked, under, depth, start))
    assert '"error"' in text or len(text.encode()) <= 4 * budget


def opened(cache: Path) -> OpenSections:
    found = open_cache(Disk(), str(cache))
    assert isinstance(found, OpenSections)
    return found


HANDBOOK = {
    "keys.md": "# Keys\nRotate the keys.\n\n## Rotate\nEvery month.\n\n## Revoke\nAt once, if lost.\n",
    "guides/Deploy.rst": "Deploy\n======\n\nOn Friday.\n\nNever\n-----\n\nRotate on Friday.\n",
    "guides/notes.txt": "just notes about keys",
    "blank.md": "\n\n",
}


def test_files_are_read_and_outlined_with_the_index_and_without(tmp_path: Path) -> None:
    cache = build_pages(tmp_path, HANDBOOK)
    asked: list[tuple[Callable[[SectionCache], Reading | Outline], str]] = [
        (lambda found: found.read(Question("keys.md", 400)), oracle.read_json(HANDBOOK, "keys.md", budget=400)),
        (
            lambda found: found.read(Question("keys.md#rotate", 400), 1),
            oracle.read_json(HANDBOOK, "keys.md#rotate", 1, budget=400),
        ),
        (
            lambda found: found.outline(Question("guides", 400), "guides"),
            oracle.outline_json(HANDBOOK, "guides", budget=400),
        ),
        (lambda found: found.outline(Question("", 900)), oracle.outline_json(HANDBOOK, budget=900)),
    ]
    with_index = [opened(cache).ask(ask).text for ask, _ in asked]
    (cache / "segments.bin").unlink()
    without = [opened(cache).ask(ask).text for ask, _ in asked]
    assert with_index == without == [expected for _, expected in asked]


# Bad input


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("query", ["", "?!", "the of and", "how do I"])
def test_a_query_of_stop_words_or_punctuation_is_answered_with_no_documents(
    tmp_path: Path, form: str, query: str
) -> None:
    cache = build_pages(tmp_path, HANDBOOK)
    reply = library_of(tmp_path).resolve(CacheRef(str(cache)), query, 4000, "text" if form == "text" else "json")
    assert (reply.documents, reply.documents_considered) == ((), 0)
    assert "no section has" not in reply.text
    assert form == "text" or json.loads(reply.text)["selection"]["unmatched_terms"] == []


@pytest.mark.parametrize("form", ["json", "text"])
def test_every_budget_up_to_what_everything_costs_is_kept(form: str) -> None:
    cache, version = section_cache(HANDBOOK), oracle.cache_version(HANDBOOK)
    for budget in range(400):
        asked = Question("rotate keys friday", budget, "text" if form == "text" else "json", "n", version)
        reply = cache.resolve(asked)
        expected = (
            oracle.resolve_text(HANDBOOK, "n", version, asked.query, budget, UNKNOWN)
            if form == "text"
            else oracle.resolve_json(HANDBOOK, asked.query, budget, UNKNOWN)
        )
        assert reply.text == expected
        assert not reply.sections or (len(reply.text.encode()) <= 4 * budget and reply.tokens_used <= budget)


def test_one_token_too_few_leaves_the_best_section_out() -> None:
    pages = {"a.md": "# Keys\n" + "rotate " * 50}
    cache = section_cache(pages)
    enough = next(budget for budget in range(1000) if cache.resolve(Question("rotate", budget)).sections)
    less = cache.resolve(Question("rotate", enough - 1))
    assert (less.sections, [each.id for each in less.skipped]) == ((), ["a.md#keys"])
    assert cache.read(Question("a.md", 1000)).items
    with pytest.raises(HallError, match="not even the first one fits"):
        cache.read(Question("a.md", 20))


def test_a_body_that_imitates_borders_gets_another_mark() -> None:
    body = "# Keys\nrotate\n"
    contents = [body]
    for _ in range(3):  # each body imitates the mark that the one before would get
        contents.append(f"{contents[-1]}=== {mark_for([contents[-1]])} 1 other.md#x lines 1-1 sha256:0\n")
    for content in contents:
        reply = section_cache({"a.md": content}).resolve(Question("rotate", 4000, "text", "n", "sha256:0"))
        assert reply.text == oracle.resolve_text({"a.md": content}, "n", "sha256:0", "rotate", 4000, UNKNOWN)
        mark = mark_for([content])
        assert not any(line.startswith(f"=== {mark}") for line in content.splitlines())
        assert reply.text.count(f"=== {mark} ") == 1


def test_two_pages_with_equal_paths_in_lower_case_fail_the_build(tmp_path: Path) -> None:
    write_sources(tmp_path / "cache sources", {"a/B.md": "one", "A/b.md": "two"})
    with pytest.raises(SourcesError, match="the same id"):
        build_pages(tmp_path, {})
    assert not (tmp_path / "cache").exists()


def test_ten_thousand_headings_are_answered_read_and_outlined_in_linear_time() -> None:
    pages = {"a.md": "# Same\ntext here\n" * 10_000, "b.md": "# Other\nthing\n"}
    cache = section_cache(pages)
    reply = cache.resolve(Question("same text", 8000))
    assert len(reply.sections) > 100
    assert len(cache.read(Question("a.md", 10**6)).items) == 10_000
    assert len(cache.outline(Question("", 10**6)).pages[0].sections) == 10_000

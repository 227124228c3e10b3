"""Another scorer is a module and an entry in the table: everything else follows from `build_config`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.caches.making import CREATED_AT, build_cache, library_of, write_sources

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.library import CacheRef
from contexthall.caches.model.format import POSTINGS
from contexthall.caches.query import scorers
from contexthall.core.errors import CacheInvalidError
from contexthall.system.disk import Disk

DOCUMENTS = {"few.md": "key-ring", "many.md": "key key, and Key: " + "filler " * 50, "none.md": "door"}


class CountingScorer:
    """Terms are runs of letters in upper case; a score is how many of them match."""

    build_config: ClassVar[Mapping[str, str]] = {"version": "1", "hash_algorithm": "sha256", "scorer": "toy"}

    def terms(self, text: str) -> list[str]:
        return "".join(letter if letter.isalpha() else " " for letter in text.upper()).split()

    def scores(self, table: MatchTable, documents: Sequence[int]) -> Sequence[float]:
        return [float(table.matches[document]) for document in documents]

    def scoring_at_least(self, table: MatchTable, floor: float) -> Sequence[int]:
        return [document for document, matches in enumerate(table.matches) if matches >= floor]

    def explanation(self, matched_terms: Sequence[str], term_matches: int, total_words: int) -> str:
        return f"{term_matches} times {' and '.join(matched_terms)} in {total_words}."


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy = CountingScorer()
    monkeypatch.setattr(scorers, "SCORERS", (*scorers.SCORERS, toy))
    builder = CacheBuilder(Disk(), CREATED_AT, str(tmp_path), toy)
    write_sources(tmp_path / "sources", DOCUMENTS)
    builder.build("sources", "cache")
    return tmp_path / "cache"


@pytest.mark.parametrize("index", [True, False])
def test_a_cache_is_searched_by_the_scorer_that_it_names(cache: Path, index: bool) -> None:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    assert library.verify(ref) == ()
    assert library.doubts(ref) == ""
    if not index:
        (cache / POSTINGS).unlink()
    answer = library.resolve(ref, "key?", 1000)
    assert [(each.id, each.score) for each in answer.documents] == [("many.md", 3.0), ("few.md", 1.0), ("none.md", 0.0)]
    assert [each["score"] for each in json.loads(answer.text)["documents"]] == [3.0, 1.0, 0.0]
    assert json.loads(answer.text)["documents"][0]["why"]["query_terms"] == ["KEY"]
    assert library.explain(ref, "key?", 1000, "many.md").sentences(1000)[1] == "3 times KEY in 54."


def test_caches_of_two_scorers_stand_beside_each_other(cache: Path) -> None:
    frozen = build_cache(cache.parent, DOCUMENTS, name="frozen")
    library = library_of(cache.parent)
    assert library.resolve(CacheRef(str(cache)), "key", 1000).documents[0].score == 3
    assert library.resolve(CacheRef(str(frozen)), "key", 1000).documents[0].score < 1
    versions = {library.inspect(CacheRef(str(each))).cache_version for each in (cache, frozen)}
    assert len(versions) == 2


def test_a_scorer_that_is_not_known_makes_the_cache_invalid(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorers, "SCORERS", scorers.SCORERS[:1])
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    with pytest.raises(CacheInvalidError, match="a version of the format that is not known here"):
        library.resolve(ref, "key", 9)
    assert "a version of the format that is not known here" in library.verify(ref)[0]
    assert "names no scorer" in library.doubts(ref)

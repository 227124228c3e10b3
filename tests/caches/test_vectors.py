"""The golden vectors: what the rules give, to the letter, whoever implements them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache, library_of

from contexthall.caches.index.match_table import divisors
from contexthall.caches.library import CacheRef
from contexthall.caches.model.document import identify, version_of
from contexthall.caches.model.format import ListedDocument, cache_version
from contexthall.caches.query import frozen
from contexthall.caches.query.scorers import SCORERS
from contexthall.core.tokens import tokens

VECTORS = Path(__file__).parents[2] / "vectors" / "caches"


def vectors(name: str) -> list[Any]:
    cases = json.loads((VECTORS / name).read_text())
    return [pytest.param(case, id=f"{number} {case.get('name', '')}") for number, case in enumerate(cases)]


@pytest.mark.parametrize("case", vectors("words.json"))
def test_words(case: dict[str, Any]) -> None:
    assert frozen.words(case["text"]) == case["words"]


@pytest.mark.parametrize("case", vectors("scores.json"))
def test_scores(case: dict[str, Any]) -> None:
    (score,) = frozen.scores([case["term_matches"]], divisors([case["total_words"]]))
    assert frozen.score_text(score) == case["score"]


@pytest.mark.parametrize("case", vectors("tokens.json"))
def test_tokens(case: dict[str, Any]) -> None:
    assert tokens(case["content"].encode()) == case["tokens"]


@pytest.mark.parametrize("case", vectors("versions.json"))
def test_versions(case: dict[str, Any]) -> None:
    listed = [
        ListedDocument(identify(path), version_of(content.encode()), "") for path, content in case["documents"].items()
    ]
    assert cache_version(sorted(listed), SCORERS[0]) == case["cache_version"]


@pytest.mark.parametrize("case", vectors("resolve.json"))
def test_resolving_with_the_index_and_without(case: dict[str, Any], tmp_path: Path) -> None:
    cache = build_cache(tmp_path, case["documents"])
    library = library_of(tmp_path)
    assert library.resolve(CacheRef(str(cache)), case["query"], case["budget"]).text == case["output"]
    (cache / "postings.bin").unlink()
    assert library.resolve(CacheRef(str(cache)), case["query"], case["budget"]).text == case["output"]
    assert library.verify(CacheRef(str(cache))) == ()

"""The oracle and the vectors say the same, so neither can drift; the contract's own examples hold for both."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract import oracle

VECTORS = Path(__file__).parents[2] / "vectors" / "caches"


def cases(file: str) -> list[Any]:
    """Give the cases of a file of vectors, each with its name for an id."""
    found = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    assert found
    return [pytest.param(case, id=_name(case)) for case in found]


def _name(case: dict[str, Any]) -> str:
    return str(case.get("name") or f"{case['term_matches']}/{case['total_words']}")


@pytest.mark.parametrize("case", cases("words.json"))
def test_a_text_has_the_words_of_its_vector(case: dict[str, Any]) -> None:
    assert oracle.words(case["text"]) == case["words"]


@pytest.mark.parametrize("case", cases("scores.json"))
def test_a_score_is_printed_as_in_its_vector(case: dict[str, Any]) -> None:
    assert oracle.score_text(case["term_matches"], case["total_words"]) == case["score"]


@pytest.mark.parametrize("case", cases("tokens.json"))
def test_a_content_has_the_tokens_of_its_vector(case: dict[str, Any]) -> None:
    assert oracle.tokens(case["content"]) == case["tokens"]


@pytest.mark.parametrize("case", cases("versions.json"))
def test_a_cache_has_the_version_of_its_vector(case: dict[str, Any]) -> None:
    assert oracle.cache_version(case["documents"]) == case["cache_version"]


@pytest.mark.parametrize("case", cases("resolve.json"))
def test_a_query_is_answered_with_the_bytes_of_its_vector(case: dict[str, Any]) -> None:
    answer = oracle.resolve(case["documents"], case["query"], case["budget"])
    assert answer.encode("utf-8") == case["output"].encode("utf-8")


@pytest.mark.parametrize("file", ["words.json", "scores.json", "tokens.json", "versions.json", "resolve.json"])
def test_no_two_cases_of_a_file_share_a_name(file: str) -> None:
    names = [_name(case) for case in json.loads((VECTORS / file).read_text(encoding="utf-8"))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("documents", "version"),
    [
        (
            {"hello.md": "Hello world", "goodbye.md": "Goodbye world"},
            "sha256:3deedf930f16b9c9e63e1e5b176d0a37457d6452c52277bae53aa25870bf1d71",
        ),
        (
            {
                "deployment.md": "Deployment deployment deployment guide.",
                "empty.md": "",
                "security.md": "Security hardening guide.",
            },
            "sha256:f9fa9741f02dcd0ed510214260b6c92f669786ae41a22313bcbe32d33891ab23",
        ),
    ],
    ids=["hello and goodbye", "deployment, empty and security"],
)
def test_the_versions_printed_in_the_contract_hold(documents: dict[str, str], version: str) -> None:
    assert oracle.cache_version(documents) == version


@pytest.mark.parametrize(
    ("matches", "total", "text"),
    [
        (0, 5, "0.0"),
        (7, 7, "1.0"),
        (3, 4, "0.75"),
        (1, 3, "0.33333334"),
        (1, 100_000, "0.00001"),
        (999_997, 10**12, "9.99997e-7"),
        (1, 1_600_000, "6.25e-7"),
    ],
)
def test_the_scores_printed_in_the_contract_hold(matches: int, total: int, text: str) -> None:
    assert oracle.score_text(matches, total) == text


def test_the_shortest_decimal_need_not_be_the_nearest_of_its_length() -> None:
    # The nearest of eight digits, 1.2621774e-29, reads back as the float below. No document is long enough to get here.
    assert oracle.score_text(1, 2**96) == "1.2621775e-29"


def test_the_contract_lists_twenty_five_characters_of_white_space() -> None:
    assert len(oracle.WHITE_SPACE) == 25


def test_paths_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(ValueError, match="duplicate ids"):
        oracle.cache_version({"A.md": "", "a.md": ""})

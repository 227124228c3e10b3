"""The search among tools gives what its vectors say, and what a second reading of its rules says of any tools."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract import tool_search_oracle as oracle

from contexthall.core.text import known
from contexthall.core.tool_search import ToolIndex, ToolText, stems


def cases(name: str) -> list[Any]:
    return list(json.loads((oracle.VECTORS / name).read_text(encoding="ascii")))


def indexed(tools: list[dict[str, str]]) -> ToolIndex:
    return ToolIndex([ToolText(**tool) for tool in tools])


def test_the_oracle_gives_every_vector() -> None:
    for name, expected in oracle.files().items():
        assert (oracle.VECTORS / name).read_text(encoding="ascii") == oracle.to_json(expected), name


@pytest.mark.parametrize("case", cases("stems.json"), ids=lambda case: case["text"][:20])
def test_stems(case: dict[str, Any]) -> None:
    assert stems(case["text"]) == case["stems"]


@pytest.mark.parametrize("case", cases("ranking.json"), ids=lambda case: case["query"])
def test_ranking(case: dict[str, Any]) -> None:
    found = indexed(case["tools"]).find(case["query"], 100)
    assert [list(each) for each in found.best] == case["order"]
    assert found.unmatched == case["unmatched"]


WORDS = "read reads write file files fileList list my a repo repository status URLs"
TEXTS = st.lists(st.sampled_from(WORDS.split())).map(" ".join)


@given(st.lists(st.builds(oracle.tool, TEXTS, TEXTS, TEXTS, TEXTS), max_size=6), TEXTS)
def test_any_tools_are_ranked_as_the_oracle_ranks_them(tools: list[dict[str, str]], query: str) -> None:
    found = indexed(tools).find(query, 100)
    assert ([list(each) for each in found.best], found.unmatched) == oracle.search(tools, query)


@given(st.text(max_size=12))
def test_any_text_has_the_stems_of_the_oracle(text: str) -> None:
    text = known(text)  # a newer Python knows more letters
    assert stems(text) == oracle.stems(text)

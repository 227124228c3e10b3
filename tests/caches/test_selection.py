from array import array
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import oracle

from contexthall.caches import selection
from contexthall.caches.selection import Ranked, rank, score, score_text, words

corpora = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=40)


def plainly(scores: list[float], costs: list[int], budget: int) -> list[Ranked]:
    """The rule as the contract words it: order everything, walk, take what fits."""
    order = sorted(range(len(scores)), key=lambda document: (-scores[document], document))
    walked, left = [], budget
    for document in order:
        fits = budget > 0 and costs[document] <= left
        left -= costs[document] if fits else 0
        walked.append(Ranked(document, fits))
    return walked


@given(corpora, st.integers(0, 60))
def test_the_walk_is_that_of_the_rule(corpus: list[tuple[int, int]], budget: int) -> None:
    scores, costs = array("f", [each / 6 for each, _ in corpus]), array("I", [cost for _, cost in corpus])
    expected = plainly(list(scores), list(costs), budget)
    assert list(rank(scores, costs, budget, every=True)) == expected
    assert list(rank(scores, costs, budget)) == [place for place in expected if place.fits]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(0, 60_000), st.integers(0))
def test_the_walk_is_that_of_the_rule_where_not_everything_is_put_in_order(spread: int, budget: int, seed: int) -> None:
    dice = Random(seed)
    scores = array("f", [dice.randint(0, 10**spread) / 10**spread for _ in range(3000)])
    costs = array("I", [dice.randint(0, 50) for _ in range(3000)])
    expected = [place for place in plainly(list(scores), list(costs), budget) if place.fits]
    assert list(rank(scores, costs, budget)) == expected


def test_documents_that_do_not_fit_are_skipped_not_truncated() -> None:
    assert list(rank([0.9, 0.5], [9, 1], 5)) == [Ranked(1, fits=True)]
    assert list(rank([0.9, 0.5], [9, 1], 5, every=True)) == [Ranked(0, fits=False), Ranked(1, fits=True)]


def test_a_budget_of_nothing_takes_nothing_not_even_what_costs_nothing() -> None:
    assert list(rank([0.0], [0], 0)) == []
    assert list(rank([0.0], [0], 1)) == [Ranked(0, fits=True)]


@given(st.text())
def test_words_are_those_of_the_oracle(text: str) -> None:
    assert words(text) == oracle.words(text)


@given(st.text(alphabet="aA \x1c\x1d\x1e\x1f\t\x85\u2028\ufeffΣσ."))
def test_words_are_those_of_the_oracle_where_it_is_tricky(text: str) -> None:
    assert words(text) == oracle.words(text)


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_scores_are_those_of_the_oracle(matches: int, total: int) -> None:
    matches = min(matches, total)
    assert score_text(score(matches, total)) == oracle.score_text(matches, total)


@given(st.integers(0, 300), st.integers(0, 5000))
def test_everyday_scores_are_those_of_the_oracle(matches: int, total: int) -> None:
    matches = min(matches, total)
    assert score_text(score(matches, total)) == oracle.score_text(matches, total)


@pytest.mark.parametrize(("size", "cost"), [(0, 0), (1, 1), (4, 1), (5, 2)])
def test_a_token_is_four_bytes(size: int, cost: int) -> None:
    assert selection.tokens(b"x" * size) == cost

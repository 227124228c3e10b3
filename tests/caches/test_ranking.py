from array import array
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import oracle

from contexthall.caches.index.match_table import Columns, MatchTable, divisors
from contexthall.caches.query.frozen import score_text, scores, words
from contexthall.caches.query.ranking import Ranked, rank
from contexthall.caches.query.scorers import SCORERS
from contexthall.core.tokens import tokens

SCORER = SCORERS[0]

corpora = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=40)


def field(matches: list[int], words: list[int], costs: list[int], *, narrow: bool = True) -> MatchTable:
    columns = Columns.of(array("I", costs), array("I", words))
    return MatchTable(columns, array("H" if narrow else "Q", matches))


def plainly(scores: list[float], costs: list[int], budget: int) -> list[Ranked]:
    """The rule as the contract words it: order everything, walk, take what fits."""
    order = sorted(range(len(scores)), key=lambda document: (-scores[document], document))
    walked, left = [], budget
    for document in order:
        fits = budget > 0 and costs[document] <= left
        left -= costs[document] if fits else 0
        walked.append(Ranked(document, fits))
    return walked


def check_walk(seen: MatchTable, budget: int) -> None:
    expected = plainly(list(SCORER.scores(seen, range(len(seen.matches)))), list(seen.columns.tokens), budget)
    assert list(rank(SCORER, seen, budget, every=True)) == expected
    assert list(rank(SCORER, seen, budget)) == [place for place in expected if place.fits]


@given(corpora, st.integers(0, 60), st.booleans())
def test_the_walk_is_that_of_the_rule(corpus: list[tuple[int, int]], budget: int, narrow: bool) -> None:
    matches, costs = [matched for matched, _ in corpus], [cost for _, cost in corpus]
    check_walk(field(matches, [6] * len(corpus), costs, narrow=narrow), budget)


@settings(max_examples=40)
@given(st.sampled_from([3, 50, 900, 70_000]), st.integers(0, 60_000), st.integers(0), st.booleans())
def test_the_walk_is_that_of_the_rule_where_not_everything_is_put_in_order(
    longest: int, budget: int, seed: int, narrow: bool
) -> None:
    dice = Random(seed)
    words = [dice.randint(0, longest) for _ in range(3000)]
    matches = [min(65_000, dice.randint(0, count) * dice.randint(0, 1)) for count in words]
    check_walk(field(matches, words, [dice.randint(0, 50) for _ in words], narrow=narrow), budget)


@given(st.lists(st.integers(0, 2999), max_size=30, unique=True), st.integers(0, 9000), st.integers(0))
def test_the_walk_is_that_of_the_rule_where_few_match(touched: list[int], budget: int, seed: int) -> None:
    dice = Random(seed)
    matches = array("H", bytes(6000))
    for document in touched:
        matches[document] = dice.randint(1, 5)
    columns = Columns.of(array("I", [dice.randint(0, 90) for _ in matches]), array("I", [5] * 3000))
    check_walk(MatchTable(columns, matches, sorted(touched)), budget)


def rounded_up_to_a_lane() -> tuple[int, int]:
    """Find matches and words whose quotient lies below a multiple of 1/4096 but is rounded to it."""
    for total in range(65_535, 60_000, -1):
        for step in (3001, 3333, 4095):
            matches = step * total // 4096
            if matches * 4096 < step * total and scores([matches], divisors([total]))[0] == step / 4096:
                return matches, total
    raise AssertionError("there is none")


@pytest.mark.parametrize("narrow", [True, False])
def test_a_score_that_was_rounded_up_reaches_what_it_was_rounded_to(narrow: bool) -> None:
    matches, total = rounded_up_to_a_lane()
    seen = field([matches, 1, 0], [total, 9, 9], [1, 1, 1], narrow=narrow)
    assert 0 in SCORER.scoring_at_least(seen, SCORER.scores(seen, [0])[0])


def test_documents_that_do_not_fit_are_skipped_not_truncated() -> None:
    seen = field([9, 5], [10, 10], [9, 1])
    assert list(rank(SCORER, seen, 5)) == [Ranked(1, fits=True)]
    assert list(rank(SCORER, seen, 5, every=True)) == [Ranked(0, fits=False), Ranked(1, fits=True)]


def test_a_budget_of_nothing_takes_nothing_not_even_what_costs_nothing() -> None:
    assert list(rank(SCORER, field([0], [0], [0]), 0)) == []
    assert list(rank(SCORER, field([0], [0], [0]), 1)) == [Ranked(0, fits=True)]


@given(st.text())
def test_words_are_those_of_the_oracle(text: str) -> None:
    assert words(text) == oracle.words(text)


@given(st.text(alphabet="aA \x1c\x1d\x1e\x1f\t\x85\u2028\ufeffΣσ."))
def test_words_are_those_of_the_oracle_where_it_is_tricky(text: str) -> None:
    assert words(text) == oracle.words(text)


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_scores_are_those_of_the_oracle(matches: int, total: int) -> None:
    matches = min(matches, total)
    assert score_text(scores([matches], divisors([total]))[0]) == oracle.score_text(matches, total)


@given(st.integers(0, 300), st.integers(0, 5000))
def test_everyday_scores_are_those_of_the_oracle(matches: int, total: int) -> None:
    matches = min(matches, total)
    assert score_text(scores([matches], divisors([total]))[0]) == oracle.score_text(matches, total)


@pytest.mark.parametrize(("size", "cost"), [(0, 0), (1, 1), (4, 1), (5, 2)])
def test_a_token_is_four_bytes(size: int, cost: int) -> None:
    assert tokens(b"x" * size) == cost

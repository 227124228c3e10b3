"""Why a section stands where it stands: the numbers in the sentences add up to the score that is served."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.caches.making import counted, section_cache
from tests.caches.test_section_ranking import WORDS, corpora, many, queries
from tests.contract import oracle_2 as oracle
from tests.faults.scale import scaled

from contexthall.caches.index.terms import terms, terms_of, words
from contexthall.caches.query.highlights import pieces
from contexthall.caches.query.question import Question, ReplyFormat
from contexthall.caches.query.section_explanation import explain
from contexthall.caches.query.section_places import places_of, show
from contexthall.caches.query.section_ranking import SectionScorer
from contexthall.core.errors import DocumentMissingError

forms = st.sampled_from(["json", "text"])
budgets = st.sampled_from([0, 60, 100, 150, 300, 4000])

GUIDE = {
    "guide/keys.md": "# Keys\n\nKeep them safe.\n\n## Rotate\n\nRotating the signing keys takes an hour.\n",
    "guide/deploy.md": "# Deploying\n\nNobody deploys on a Friday.\n",
    "faq.md": "# Questions\n\nWho may rotate?\n\n## Lost\n\nLost signing keys are rotated at once.\n",
}


def sentences(
    pages: dict[str, str], query: str, wanted: str, budget: int = 4000, form: ReplyFormat = "json"
) -> list[str]:
    return list(explain(section_cache(pages), Question(query, budget, form), wanted).sentences(budget))


def points(told: Sequence[str]) -> tuple[int, list[int], list[int]]:
    """Read the score, what is added up, and what it comes to, out of sentences."""
    found = [[int(number.replace(",", "")) for number in re.findall(r"([\d,]+) points", each)] for each in told]
    score = next(numbers[0] for each, numbers in zip(told, found, strict=True) if "Its score is" in each)
    (sums,) = [numbers for each, numbers in zip(told, found, strict=True) if each.startswith("Together")]
    others = ("Its score is", "Together")
    added = [
        number
        for each, numbers in zip(told, found, strict=True)
        if not any(other in each for other in others)
        for number in numbers
    ]
    return score, added, sums


@settings(max_examples=scaled(40, 120, 20_000))
@given(corpora, queries, st.integers(1, 3))
def test_the_points_of_the_sentences_add_up_to_the_score_that_is_served(
    pages: dict[str, str], query: str, parts: int
) -> None:
    cache, served = section_cache(pages, parts), dict(oracle.rank(pages, query))
    for ranked in SectionScorer(counted(pages, parts)).rank(query).order:
        section_id = cache.segments.id(ranked.section)
        why = explain(cache, Question(query, 4000), section_id)
        score, added, sums = points(why.sentences(4000))
        assert score == sums[-1] == why.parts.score == ranked.score == served[section_id]
        assert sum(added) == sums[0] == ranked.before + ranked.pairs


@settings(max_examples=scaled(40, 120, 20_000))
@given(corpora, queries, budgets, forms)
def test_places_and_explanations_agree_with_the_reply(
    pages: dict[str, str], query: str, budget: int, form: ReplyFormat
) -> None:
    cache, question = section_cache(pages), Question(query, budget, form, "cache", "sha256:0")
    told, reply = places_of(cache, question, slice(0, 400)), cache.resolve(question)
    assert [place.id for place in told.places if place.fits] == [each.item.id for each in reply.sections]
    assert (told.tokens_used, told.considered, told.selected) == (
        reply.tokens_used,
        reply.considered,
        len(reply.sections),
    )
    assert told.unmatched == reply.unmatched
    for place in told.places:
        assert (place.cost <= place.left_before) == place.fits
        why = explain(cache, question, place.id)
        assert why.place == place
        enough = why.standing.enough_tokens
        taken = [each.item.id for each in cache.resolve(question._replace(budget=enough)).sections]
        assert taken[: place.rank] == [each.id for each in told.places[: place.rank]]
        assert (f"A budget of {enough:,} holds it" in why.sentences(budget)[-1]) == (not place.fits)


MEASURE = (
    "A rare word brings more points than a common one, title and heading more than text, and in a long text each "
    "mention brings less: the length of this one is {}, the average 3 words that count."
)


def test_the_sentences_say_what_a_person_needs() -> None:
    assert sentences(GUIDE, "How do I rotate the signing keys, Bob?", "guide/keys.md#rotate", budget=100) == [
        "guide/keys.md#rotate is number 1 of 4 matching sections. Its score is 302,826 points.",
        (
            '"rotate" stands once in its heading and once in its text (as "rotate" or "rotating"): 44,416 points. '
            "It is in 3 of 5 sections: rarity 50,962."
        ),
        '"signing" stands once in its text: 33,905 points. It is in 2 of 5 sections: rarity 82,775.',
        (
            '"keys" stands twice in the page\'s title or file name and once in its text: 76,728 points. '
            "It is in 3 of 5 sections: rarity 50,962."
        ),
        MEASURE.format(5),
        'No section has "bob".',
        'Too common to count in any query: "how", "do", "i", "the".',
        (
            "What the whole page has of the query gives each of its 2 sections 45,853 points: "
            '"rotate" 17,027, "signing" 9,257 and "keys" 19,569.'
        ),
        '"rotate" stands directly before "signing", as in the query: 50,962 points.',
        '"signing" stands directly before "keys", as in the query: 50,962 points.',
        "Together 302,826 points.",
        (
            "It did not fit: it costs 74 tokens as JSON (its content alone 13), and 29 of 100 were left. "
            "A budget of 145 holds it and everything before it."
        ),
    ]


def test_one_section_that_matches_is_one() -> None:
    assert sentences({"a.md": "keys"}, "key", "a.md")[0].startswith("a.md#top is number 1 of 1 matching section. ")


def test_a_section_is_told_what_it_lacks_and_who_of_its_page_was_before_it() -> None:
    assert sentences(GUIDE, "rotate signing keys", "faq.md#questions", form="text") == [
        "faq.md#questions is number 4 of 4 matching sections. Its score is 51,716 points; number 1 has 302,826.",
        '"rotate" stands once in its text: 26,313 points. It is in 3 of 5 sections: rarity 50,962.',
        MEASURE.format(2),
        'It lacks "signing" and "keys", which are in 2 and 3 of 5 sections.',
        (
            "What the whole page has of the query gives each of its 2 sections 32,792 points: "
            '"rotate" 13,468, "signing" 9,662 and "keys" 9,662.'
        ),
        (
            "Together 59,105 points. 1 section of its page ranks before it, so an eighth is taken off once, "
            "for the sake of other pages: 51,716 points are left."
        ),
        "It was taken: it costs 26 tokens as text (its content alone 8), and 3,885 of 4,000 were left.",
    ]


def test_of_a_page_the_best_section_is_explained() -> None:
    told = sentences(GUIDE, "rotate signing keys", "guide/keys.md")
    assert told[0] == "Of the 2 sections of guide/keys.md, guide/keys.md#rotate is the best."
    assert told[1:] == sentences(GUIDE, "rotate signing keys", "guide/keys.md#rotate")


def test_with_a_budget_for_no_reply_at_all_nothing_is_taken_and_it_says_so() -> None:
    last = sentences(GUIDE, "rotate", "faq.md#lost", budget=9)[-1]
    assert last.startswith("Nothing was taken: a reply costs ")
    assert "tokens before anything is in it. A budget of " in last


@pytest.mark.parametrize("wanted", ["guide/deploy.md#deploying", "guide/deploy.md"])
def test_a_section_without_any_word_of_the_query_is_not_in_the_order(wanted: str) -> None:
    assert sentences(GUIDE, "the signing keys", wanted) == [
        f"{wanted} is not in the order: it has no word of the query.",
        'It lacks "signing" and "keys", which are in 2 and 3 of 5 sections.',
        'Too common to count in any query: "the".',
    ]


def test_a_query_without_words_that_count_has_no_order() -> None:
    assert sentences(GUIDE, "how do I?", "faq.md") == [
        "faq.md is not in the order, and nothing is: the query has no word that counts.",
        'Too common to count in any query: "how", "do", "i".',
    ]


def test_beyond_the_four_hundred_best_it_says_what_was_missing() -> None:
    pages = many(450)
    cache = section_cache(pages)
    order = SectionScorer(cache.segments).rank("key rotate word part").order
    ranked = {cache.segments.id(each.section) for each in order}
    left_out = next(each.id for each in oracle.all_sections(pages) if each.id not in ranked)
    first, *_, total, last = sentences(pages, "key rotate word part", left_out)
    assert first.startswith(f"{left_out} is not in the order, although it has ")
    assert re.fullmatch(r"Together [\d,]+ points\.", total)
    lowest = min(each.before for each in order)
    assert last == f"That is too little: the 400 best have {lowest:,} or more before pairs count."
    assert int(re.sub(r"\D", "", total)) <= lowest


def test_beyond_the_hundred_best_it_says_that_no_pair_counts() -> None:
    pages = many(450)
    cache = section_cache(pages)
    told = [
        explain(cache, Question("key rotate", 4000), cache.segments.id(each.section)).sentences(4000)
        for each in SectionScorer(cache.segments).rank("key rotate").order[::40]
    ]
    unpaired = "Words side by side, as in the query, are looked for only in the 100 best sections."
    assert {unpaired in each for each in told} == {True, False}
    assert any("an eighth is taken off 8 times" in sentence for each in told for sentence in each)
    assert all(each[0].split(". ")[0].endswith("of the 400 best sections") for each in told)


def test_a_word_that_every_section_has_may_bring_nothing_in_a_long_one() -> None:
    pages = {f"{number}.md": "same" for number in range(390)} | {"long.md": f"{'x ' * 2990}same"}
    first, word, *_, last = sentences(pages, "same", "long.md")
    assert first == 'long.md#top is not in the order, although it has "same".'
    assert word.startswith('"same" stands once in its text: 0 points. It is in 391 of 391 sections: rarity ')
    assert last == "None of these points are its own, so it is not in the order: words that are everywhere bring none."


@pytest.mark.parametrize("wanted", ["nowhere.md", "faq.md#nowhere", "blank.md", ""])
def test_what_has_no_section_is_a_missing_document(wanted: str) -> None:
    with pytest.raises(DocumentMissingError):
        sentences({**GUIDE, "blank.md": " \n"}, "rotate", wanted)
    with pytest.raises(DocumentMissingError):
        show(section_cache({**GUIDE, "blank.md": " \n"}), "rotate", wanted)


# What matches is marked:


@pytest.mark.parametrize(
    ("text", "query", "cut"),
    [
        (
            "Rotating keys; rotated, KEY.",
            "rotate keys",
            ("", "Rotating", " ", "keys", "; ", "rotated", ", ", "KEY", "."),
        ),
        ("The SECRET_KEY is secret", "key", ("The ", "SECRET_KEY", " is secret")),
        ("tokenBudget", "budgets", ("", "tokenBudget", "")),
        ("これは日本語です", "日本語", ("これは", "日本語", "です")),
        ("日本x本語y", "本語", ("日本x", "本語", "y")),
        ("how to", "how to", ("how to",)),
        ("", "x", ("",)),
        ("keys\u202ekeys", "key", ("", "keys", "\u202e", "keys", "")),
        ("\U0001fae8key key", "key", ("\U0001fae8", "key", " ", "key", "")),
    ],
)
def test_words_with_a_term_of_the_query_are_marked(text: str, query: str, cut: tuple[str, ...]) -> None:
    assert pieces(text, set(terms(query))) == cut


@given(st.lists(st.sampled_from([*WORDS, ".", "\n", " ", "日", "Keys_x", "\U0001fae8"])).map("".join), queries)
def test_pieces_are_the_text_and_every_match_is_marked(text: str, query: str) -> None:
    wanted = set(terms(query))
    cut = pieces(text, wanted)
    assert "".join(cut) == text
    assert all(wanted.intersection(terms(match)) for match in cut[1::2])
    if text.isascii():
        assert not any(wanted.intersection(terms_of(word)) for rest in cut[::2] for word in words(rest))


def test_a_section_is_shown_with_its_way_its_lines_and_its_matches() -> None:
    section = show(section_cache(GUIDE), "rotate keys", "guide/keys.md#rotate")
    assert section.crumbs == (("", "Keys", ""), ("", "Rotate", ""))
    assert (section.page, section.lines, section.tokens) == ("guide/keys.md", (5, 7), 13)
    assert section.content[:5] == ("## ", "Rotate", "\n\n", "Rotating", " the signing ")

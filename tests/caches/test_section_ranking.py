"""Order and scores of sections are those of the oracle, in one segment or several, with the index or without."""

import random
import shutil
from array import array
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.caches.making import build_pages, counted, library_of
from tests.contract import oracle_2 as oracle
from tests.faults.scale import scaled

from contexthall.caches.index import fast_occurrences, occurrences
from contexthall.caches.index.segment_builder import code_of, codes_of
from contexthall.caches.index.segments import Segments
from contexthall.caches.library import CacheRef
from contexthall.caches.query import fast_weights
from contexthall.caches.query.section_ranking import SectionRanking, SectionScorer
from contexthall.core import bm25, limits

WORDS = [
    *("install", "upgrade", "token", "budget", "tokenBudget", "the", "how", "key", "rotate", "keys", "run", "pip"),
    *("cache", "caches", "日本語", "snake_case", "x", "İ", "a1b2", "42"),
]
words = st.sampled_from(WORDS)
headings = st.builds(
    lambda level, found: "#" * level + " " + " ".join(found), st.integers(1, 3), st.lists(words, max_size=3)
)
texts = st.lists(headings | st.lists(words, max_size=12).map(" ".join), max_size=6).map("\n".join)
names = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "d/"]),
        words,
        st.sampled_from(["", "-x", "B", "#y"]),
        st.sampled_from([".md", ".rst", ".txt"]),
    ),
)
corpora = st.dictionaries(names, texts, max_size=7).map(
    lambda pages: {
        source: pages[source] for source in {oracle.by_path({each: ""}).popitem()[0]: each for each in pages}.values()
    }
)
queries = st.lists(st.sampled_from([*WORDS, "zzz", "?"]), max_size=6).map(" ".join)


def ranked(pages: dict[str, str], query: str, parts: int = 1) -> list[tuple[str, int]]:
    segments = counted(pages, parts)
    return [(segments.id(each.section), each.score) for each in SectionScorer(segments).rank(query).order]


@settings(max_examples=scaled(40, 120, 20_000))
@given(corpora, queries, st.integers(1, 3))
def test_the_order_is_that_of_the_oracle_in_any_number_of_segments(
    pages: dict[str, str], query: str, parts: int
) -> None:
    segments = counted(pages, parts)
    scorer = SectionScorer(segments)
    every = {section.id: section for section in oracle.all_sections(pages)}
    first, ranking = scorer.rank(query), scorer.rank(query)  # the second time with what was kept of the first
    assert first.order == ranking.order
    assert hurried(segments, query) == first
    assert [(segments.id(each.section), each.score) for each in ranking.order] == oracle.rank(pages, query)
    assert ranking.unmatched == oracle.unmatched_terms(list(every.values()), query)
    for each in ranking.order:
        assert ranking.matched(each.section) == oracle.matched(every[segments.id(each.section)], query)


def hurried(segments: Segments, query: str) -> SectionRanking:
    """Rank with numpy, however few the occurrences are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast_weights, "WORTH_NUMPY", 0)
        return SectionScorer(segments, plain_queries=0).rank(query)


@pytest.mark.parametrize("parts", [1, 3])
def test_numpy_and_the_standard_library_give_the_same_numbers(parts: int) -> None:
    segments = counted(many(450, pages=9) | {"key.md": "# Key\n## Rotate key\n### Word\nkey\n" * 40}, parts)
    for query in ("key", "rotate word part", "nothing", ""):
        assert hurried(segments, query) == SectionScorer(segments).rank(query)


def test_of_thousands_of_sections_numpy_finds_the_best_of_common_and_rare_words_together() -> None:
    dice = random.Random(22)
    pages = {
        f"{page}.md": "".join(
            f"# Part {part}\nkey {'rotate ' * dice.randint(0, 3)}{dice.choice(WORDS)} w{dice.randint(0, 900)}\n"
            for part in range(dice.randint(1, 9))
        )
        for page in range(600)
    }
    segments = counted(pages, 2)
    assert segments.sections > 2000
    rare = " ".join(f"w{number}" for number in range(300))  # more terms than 32 bits hold for sure
    for query in ("key rotate part", "rotate key pip w7", "w1 w2", f"key {rare}"):
        assert hurried(segments, query) == SectionScorer(segments).rank(query)


def test_numbers_beyond_64_bits_are_left_to_the_standard_library() -> None:
    segments = counted({"a.md": f"# {'key ' * 70_000}\nkey\n", "b.md": "key"}, 2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast_weights, "_LARGEST", 1 << 20)
        assert hurried(segments, "key") == SectionScorer(segments).rank("key")


@settings(max_examples=scaled(30, 80, 5000))
@given(st.lists(st.lists(st.integers(0, 9))), st.integers(1, 20))
def test_numpy_counts_as_the_standard_library_does(units: list[list[int]], at_once: int) -> None:
    found, lengths = array("I", [term for unit in units for term in unit]), array("I", map(len, units))
    expected = occurrences.counted(found, lengths, 10)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast_occurrences, "_AT_ONCE", at_once)
        assert fast_occurrences.counted(found, lengths, 10) == expected
        assert fast_occurrences.ranked([found, found[1:]], 10) == occurrences.ranked([found, found[1:]], 10)
    for term in range(10):
        counts = [(unit, terms.count(term)) for unit, terms in enumerate(units) if term in terms]
        assert list(zip(*expected.of(term), strict=True)) == counts


@pytest.mark.parametrize("number", [0, 127, 128, 0x7FF, 0xD800, 0xFFFF, 0x10FFFF, 0x110000, 2**26, 2**31 - 1])
def test_codes_are_those_of_utf_8_and_go_on_where_characters_end(number: int) -> None:
    assert codes_of(array("I", [1, number, 2])) == b"\1" + code_of(number) + b"\2"
    if number < 0x110000:
        assert code_of(number).decode("utf-8", "surrogatepass") == chr(number)


@settings(max_examples=scaled(60, 120, 20_000))
@given(st.integers(1, 2**40))
def test_the_logarithm_is_that_of_the_oracle(number: int) -> None:
    assert bm25.log2_16(number) == oracle.log2_16(number)


def many(sections: int, *, pages: int = 3) -> dict[str, str]:
    """Pages whose sections differ in length and in how often they have a word."""
    each = sections // pages
    return {
        f"p{page}.md": "".join(
            f"## Part {n} {'key ' * (n % 3)}\n{'key ' * (n % 5)}{'rotate ' * (n % 2)}{'word ' * (n % 7)}\n"
            for n in range(each)
        )
        for page in range(pages)
    }


@pytest.mark.parametrize("query", ["key", "rotate key", "key rotate word part"])
@pytest.mark.parametrize("parts", [1, 2])
def test_beyond_four_hundred_nothing_is_taken_and_beyond_a_hundred_no_pair_counts(query: str, parts: int) -> None:
    pages = many(450)
    expected = oracle.rank(pages, query)
    assert len(expected) == 400
    assert ranked(pages, query, parts) == expected


@pytest.mark.parametrize("query", ["", "?", "... !!! ---", "the of and", "how do I", "\u0000", " \t\n"])
def test_a_query_of_stop_words_or_punctuation_ranks_nothing(query: str) -> None:
    assert ranked({"a.md": "# How do I\nthe of and ? ... word"}, query) == []


def test_a_word_that_every_section_has_ranks_as_the_oracle_says() -> None:
    for count in (1, 2, 40):
        pages = {f"{number}.md": "# A\nsame" for number in range(count)}
        assert ranked(pages, "same") == oracle.rank(pages, "same")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scaled(6, 40, 1000))
@given(corpora, queries, st.integers(1, 3))
def test_files_with_the_index_and_without_answer_alike(
    tmp_path: Path, pages: dict[str, str], query: str, most: int
) -> None:
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    with pytest.MonkeyPatch.context() as small:
        small.setattr(limits, "SEGMENT_PAGES", most)
        cache = build_pages(tmp_path, pages)
    expected = oracle.resolve_json(pages, query, 4000, ("unknown", 0))
    text = oracle.resolve_text(pages, "cache", oracle.cache_version(pages), query, 4000, ("unknown", 0))
    assert len(list(cache.glob("segment-*.bin"))) == -(-len(pages) // most)
    library, ref = library_of(tmp_path), CacheRef(str(cache))
    assert library.resolve(ref, query, 4000).text == expected
    assert library.resolve(ref, query, 4000, "text").text == text
    assert library.verify(ref) == ()
    (cache / "segments.bin").unlink()
    assert library.resolve(ref, query, 4000).text == expected
    assert library.resolve(ref, query, 4000, "text").text == text
    assert library.verify(ref) == ()


def files_of(cache: Path) -> dict[str, bytes]:
    return {str(path.relative_to(cache)): path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_a_build_in_two_processes_is_the_same_twice_and_answers_as_a_scan_does(tmp_path: Path) -> None:
    pages = {
        f"{'abc'[n % 3]}/{n}.md": f"# Page {n}\nrotate {'key ' * (n % 4)}\n## More {n % 9}\n{'word ' * (n % 11)}token\n"
        for n in range(510)
    }
    first, second = build_pages(tmp_path, pages), build_pages(tmp_path, pages, name="again")
    assert files_of(first) == files_of(second)
    assert len(list(first.glob("segment-*.bin"))) == 2
    library = library_of(tmp_path)
    (second / "segments.bin").unlink()
    for query in ("rotate key", "More token 7", "page 41", "word", "nothing here"):
        answers = {library.resolve(CacheRef(str(each)), query, 4000).text for each in (first, second)}
        assert len(answers) == 1
    found = library.resolve(CacheRef(str(first)), "more token 7", 4000).text
    assert found == oracle.resolve_json(pages, "more token 7", 4000, ("unknown", 0))
    assert library.verify(CacheRef(str(first))) == ()


def test_more_segments_in_each_process_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = many(60, pages=20)
    monkeypatch.setattr(limits, "SEGMENT_TEXT_BYTES", 200)
    cache = build_pages(tmp_path, pages)
    assert len(list(cache.glob("segment-*.bin"))) > 3
    found = library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate key", 900).text
    assert found == oracle.resolve_json(pages, "rotate key", 900, ("unknown", 0))


@pytest.mark.parametrize(
    ("pages", "has_ranks"),
    [(("a.md", "b.md"), True), (("c#/a.md", "c/a.md"), True), (("a", "a#b"), False), (("a", "a b", "a#b", "b"), False)],
)
def test_ties_are_broken_by_id_whichever_signs_paths_have(pages: tuple[str, ...], has_ranks: bool) -> None:
    segments = counted(dict.fromkeys(pages, "# Same\n\n## Part\nword\n\n## Other\nword\n"), 2)
    assert bool(segments.page_ranks) is has_ranks
    assert sorted(range(segments.sections), key=segments.id_order) == sorted(range(segments.sections), key=segments.id)

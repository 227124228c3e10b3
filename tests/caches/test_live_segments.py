"""Segments some of whose pages are gone, and segments that are copied: the same as counted anew."""

from array import array
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import oracle_2 as oracle
from tests.faults.scale import scaled

from contexthall.caches.index.blocks import IndexDamagedError
from contexthall.caches.index.live_segment import LiveSegment
from contexthall.caches.index.segment import Segment
from contexthall.caches.index.segment_builder import SegmentBuilder, code_of, codes_of, copied, is_same, numbers_of
from contexthall.caches.index.segments import Segments
from contexthall.caches.model.document import version_of
from contexthall.caches.model.sections import split
from contexthall.caches.query.section_ranking import SectionScorer
from contexthall.caches.query.section_reader import MemoryFile

WORDS = st.sampled_from(
    ["red", "green", "tokenBudget", "the", "Apple", "字字", "x_1", "#", "\n\n# red\n", "\n## green apple\n"]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
PAGES = st.dictionaries(st.sampled_from("abcdefgh").map("{}.md".format), TEXTS, min_size=1, max_size=8)


def segment_of(pages: Mapping[str, str]) -> Segment:
    builder = SegmentBuilder()
    for name, text in sorted(pages.items()):
        builder.add(name, version_of(text.encode()), split(text, name))
    data = builder.to_bytes()
    return Segment(MemoryFile(data), len(data), builder.key)


@settings(max_examples=scaled(40, 80, 2000), deadline=None)
@given(PAGES, st.data())
def test_what_is_left_is_as_if_the_rest_had_never_been_there(pages: dict[str, str], data: st.DataObject) -> None:
    whole = segment_of(pages)
    gone = data.draw(st.sets(st.integers(0, whole.pages - 1)))
    left = {name: text for number, (name, text) in enumerate(sorted(pages.items())) if number not in gone}
    live, fresh = LiveSegment(whole, gone), segment_of(left)
    assert is_same(live, fresh)
    assert (live.sums, live.columns, live.page_columns, live.ids()) == (
        fresh.sums,
        fresh.columns,
        fresh.page_columns,
        fresh.ids(),
    )
    more = {"z.md": "# Red\n\ngreen apple\n"}
    segments = Segments([segment_of(more), live])
    query = data.draw(TEXTS)
    order = [(segments.id(each.section), each.score) for each in SectionScorer(segments).rank(query).order]
    assert order == oracle.rank(left | more, query)


@settings(max_examples=scaled(30, 50, 1000), deadline=None)
@given(PAGES, st.data())
def test_a_copy_of_segments_is_the_segment_of_their_pages_byte_for_byte(
    pages: dict[str, str], data: st.DataObject
) -> None:
    first = data.draw(st.sets(st.sampled_from(sorted(pages))))
    parts = [{name: text for name, text in pages.items() if (name in first) == wanted} for wanted in (True, False)]
    builder = SegmentBuilder()
    for name, text in sorted(pages.items()):
        builder.add(name, version_of(text.encode()), split(text, name))
    assert copied(map(segment_of, parts)).to_bytes() == builder.to_bytes()


def test_segments_that_differ_in_one_word_are_not_the_same() -> None:
    one, two = segment_of({"a.md": "# A\n\nred apple"}), segment_of({"a.md": "# A\n\nred apples fall"})
    assert is_same(one, one)
    assert not is_same(one, two)


def test_a_page_that_never_was_cannot_be_gone() -> None:
    with pytest.raises(IndexDamagedError):
        LiveSegment(segment_of({"a.md": "a"}), {1})


@pytest.mark.parametrize(
    "numbers", [[0, 1, 127, 128, 2047, 2048, 0xD800, 0xFFFF, 0x10FFFF], [5, 0x110000, 0x1FFFFF, 1 << 25, 3]]
)
def test_codes_are_read_as_they_are_written(numbers: list[int]) -> None:
    assert [*numbers_of(codes_of(array("I", numbers)) + b"\xff")] == numbers
    assert [*numbers_of(b"".join(map(code_of, numbers)))] == numbers

"""A stream is cut into the same lines, however it comes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contexthall.core.lines import Ends, LineSplitter


def split(data: bytes, cuts: list[int], maximum_bytes: int = 1000, ends: int = 0) -> list[bytes | None]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    splitter = LineSplitter(maximum_bytes, ends=ends)
    lines = [line for start, end in pairwise(edges) for line in splitter.feed(data[start:end])]
    return [*lines, *splitter.finish()]


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.lists(st.integers(0)), st.booleans())
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    assert split(data, cuts) == [line.strip() for line in lines if line.strip()]


@given(st.lists(st.integers(0)))
def test_a_line_that_is_too_long_is_told_once_and_skipped_to_its_end(cuts: list[int]) -> None:
    assert split(b"before\n" + b"x" * 50 + b"\nafter", cuts, maximum_bytes=10) == [b"before", None, b"after"]


@given(st.lists(st.integers(0)))
def test_of_a_line_that_is_too_long_the_two_ends_can_be_had(cuts: list[int]) -> None:
    lines = split(b"before\nthe head" + b"x" * 50 + b"the tail\nafter", cuts, maximum_bytes=10, ends=8)
    assert lines == [b"before", b"the headthe tail", b"after"]
    assert [isinstance(line, Ends) for line in lines] == [False, True, False]


def test_a_line_of_just_the_maximum_passes() -> None:
    assert split(b"x" * 10 + b"\n", [], maximum_bytes=10) == [b"x" * 10]
    assert split(b"x" * 11, [], maximum_bytes=10) == [None]

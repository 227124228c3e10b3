"""Sections and terms are those of the oracle, whatever a page looks like, and splitting takes a time that is linear."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.caches.making import section_cache
from tests.contract import oracle_2 as oracle
from tests.faults.scale import scaled

from contexthall.caches.index.page_record import PageRecord
from contexthall.caches.index.segment_builder import SegmentBuilder
from contexthall.caches.index.terms import terms
from contexthall.caches.model.document import version_of
from contexthall.caches.model.page import Page
from contexthall.caches.model.sections import split
from contexthall.core.errors import CacheInvalidError

SOURCES = ["A/x.md", "x.mdx", "x.markdown", "x.rst", "x.txt", "x.adoc", "x.py", "y.MD", ".md", "a.b.rst"]
MARKS = [
    "---",
    "+++",
    "...",
    "=====",
    "-----",
    "****",
    "~~~~",
    '"""',
    "====",
    "----",
    "```",
    "~~~",
    "  ```",
    "|===",
    "=",
]
HEADINGS = [
    *(
        "# A",
        "## B",
        "### [C](d) {#x}",
        "# A # {#z}",
        "# B { #b } #",
        "#",
        "####### n",
        "   ## ind",
        "== AD",
        "= AD =",
        "#\tA",
        "## C#",
    ),
    *("Title", "Title", " indented", "a  b", "<Foo bar={1} />", "</div>", "<div>", "# {: .b}", "# [a [b](c) d](e(f))"),
]
FRONT = ["title: Hallo", "title: 12", "title: yes", 'title: " a\\tb "', 'title = "T"', "title: ~", "title: [a]"]
TEXT = [
    *(
        "",
        "",
        "",
        " ",
        "\t",
        "\f",
        "\ufeff",
        "\x00",
        "\u2028z",
        "\u00a0",
        "text here",
        "    code",
        "- item",
        "  - sub",
        "> q",
    ),
    *("1. x", ".. note", ".. _x:", '[a]: b "c', "x" * 700, "x" * 3100, "é" * 900, "日本" * 400, "  " + "y" * 650),
]
LINE_ENDS = ["\n"] * 12 + ["\r\n", "\r", ""]
lines = st.builds(str.__add__, st.sampled_from([*HEADINGS, *MARKS, *FRONT, *TEXT]), st.sampled_from(LINE_ENDS))
pages = st.lists(lines, max_size=30).map("".join)
front_matters = st.builds(
    lambda fence, inside, end: f"{fence}\n{inside}\n{end}\n# H\n",
    st.sampled_from(["---", "+++", "\ufeff---", "--- "]),
    st.lists(
        st.sampled_from([*FRONT, "title: a", "title: !!str 12", "title: !!int '3'", "b: 1", "? title", ": x", "title"]),
        max_size=3,
    ).map("\n".join),
    st.sampled_from(["---", "...", "+++", "--- "]),
)


def as_split(page: Page) -> list[tuple[Any, ...]]:
    """The sections of a page as the package splits it; a byte order mark is no part of what a body says."""
    return [
        (each.slug, page.content(each), page.body(each).lstrip("\ufeff"), each.heading, each.level, each.crumbs)
        for each in page.sections
    ]


def as_the_oracle_splits(source: str, text: str) -> list[tuple[Any, ...]]:
    return [
        (each.id[2:], each.content, each.body.lstrip("\ufeff"), each.heading, each.level, each.crumbs)
        for each in oracle.sections("p", source, text)
    ]


def lines_of(text: str, source: str) -> list[tuple[int, ...]]:
    """The lines of a page's sections, as a segment records them."""
    cache = section_cache({source: text})
    return [tuple(each) for each in cache.segments.record(0).lines]


@settings(max_examples=scaled(60, 120, 20_000))
@given(st.sampled_from(SOURCES), st.one_of(pages, pages, front_matters))
@example("x.md", "---\ntitle: !!str 12\n---\n# H\n")
@example("x.md", "---\ntitle: a\ntitle: b\n---\n# H\n")
@example("x.md", "# A\n" + (" " * 99 + "\n") * 70 + "end\n")
@example("x.md", "---\na: " + "x" * 7000 + "\n---\n# A\n" + (" " * 99 + "\n") * 90)
@example("x.md", "\ufeff" + (" " * 99 + "\n") * 70 + "# A\nx\n")
def test_a_page_has_the_sections_of_the_oracle(source: str, text: str) -> None:
    page = split(text, source)
    assert as_split(page) == as_the_oracle_splits(source, text)
    assert "".join(page.content(each) for each in page.sections) == (text if page.sections else "")
    expected = oracle.sections("p", source, text)
    if expected:
        assert (page.title, page.stem) == (expected[0].title, expected[0].stem)
    assert lines_of(text, source) == [(each.first, each.last, each.body_line) for each in expected]


@settings(max_examples=scaled(40, 120, 20_000))
@given(st.sampled_from(SOURCES), pages)
def test_a_record_gives_back_what_was_split(source: str, text: str) -> None:
    page = split(text, source)
    builder = SegmentBuilder()
    builder.add("p", version_of(text.encode()), page)
    record = section_cache({source: text}).segments.record(0)
    assert record.page == page._replace(text="")
    assert PageRecord.read(record.to_bytes(), len(page.sections)) == record


alphabet = st.sampled_from([*"aAbBzZ09_-. éßσςΣ日本語ひか한국xı١²\u0130\u1e9e\U00020000", "ing", "ed", "The", "HTTP"])


@settings(max_examples=scaled(120, 300, 50_000))
@given(st.lists(alphabet, max_size=30).map("".join) | st.text(max_size=30))
def test_a_text_has_the_terms_of_the_oracle(text: str) -> None:
    assert terms(text) == oracle.tokens(text)


# Bad input


def check_counted(text: str, source: str = "x.md") -> None:
    """Split and count a page, which would outlast the suite's time-out if it took quadratic time."""
    page = split(text, source)
    builder = SegmentBuilder()
    builder.add("x.md", version_of(text.encode()), page)
    builder.to_bytes()
    is_whole = "".join(map(page.content, page.sections)) == text
    assert is_whole
    assert all(len(page.content(each).encode()) <= 6000 for each in page.sections)


MEGABYTES = scaled(0.2, 0.5, 5)
HEADINGS_COUNT = scaled(2000, 10_000, 10_000)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        *((source, "word ") for source in ("x.md", "x.mdx", "x.rst", "x.txt", "x.adoc", "x.log")),
        *(("x.md", line) for line in ("x", "é", "字", "A", "=", "`", "> ", "[a](", "a_B1")),
        *(("x.mdx", line) for line in ("<", "<a {", "> ")),
        *((source, "=") for source in ("x.rst", "x.adoc")),
    ],
)
@pytest.mark.parametrize("start", ["", "---\n", "```", "<"])
def test_a_line_of_megabytes_is_split_in_linear_time(source: str, line: str, start: str) -> None:
    text = start + line * (int(MEGABYTES * 1_000_000) // len(line.encode()))
    check_counted(text, source)


def test_blank_lines_of_megabytes_are_split_in_linear_time() -> None:
    blank = "\n" * int(MEGABYTES * 1_000_000)
    check_split(f"---\na: {'b' * 10_000}\n---\n# A\n{blank}", "x.md")
    check_split(f"# A\n{blank}x{blank}y", "x.md")


def test_a_long_heading_is_cut_too() -> None:
    check_counted("# " + "word " * 20_000)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("x.md", "# Same\n" * HEADINGS_COUNT, id="the same"),
        pytest.param("x.md", "# Same\ntext\n\n" * HEADINGS_COUNT, id="the same, with text"),
        pytest.param("x.md", "#\n" * HEADINGS_COUNT, id="empty"),
        pytest.param(
            "x.md", "".join(f"{'#' * (n % 6 + 1)} Number {n}\n" for n in range(HEADINGS_COUNT)), id="six levels"
        ),
        pytest.param("x.rst", "Same\n====\n\n" * HEADINGS_COUNT, id="underlined"),
        pytest.param("x.adoc", "== Same\n" * HEADINGS_COUNT, id="AsciiDoc"),
        pytest.param("x.md", "Same\n====\n\n" * HEADINGS_COUNT, id="Setext"),
    ],
)
def test_thousands_of_headings_are_split_in_linear_time(source: str, text: str) -> None:
    check_counted(text, source)
    assert len({each.slug for each in split(text, source).sections}) == HEADINGS_COUNT


@pytest.mark.parametrize("blank", [" ", "\t"])
@pytest.mark.parametrize("text", ["# a{}b", "# a{}# b", "# a{}{{b", "Title{}b\n===", "# {}", "== a{}b"])
def test_a_heading_of_blanks_is_read_in_linear_time(text: str, blank: str) -> None:
    for source in ("x.md", "x.adoc", "x.rst"):
        check_split(text.format(blank * 100_000), source)


@pytest.mark.parametrize("text", ["# " + "[" * 20_000, "# " + "[a](" * 5000, "# " + "[" * 300 + "a](b)" * 300])
def test_a_heading_of_brackets_is_read_in_linear_time(text: str) -> None:
    check_split(text, "x.md")


@pytest.mark.parametrize("level", ["[", "{a: ", "- ", "? ", "a: ["])
def test_front_matter_that_is_nested_deeply_has_no_title(level: str) -> None:
    text = f"---\ntitle: T\nb:\n  {level * 100_000}\n---\n# A\n"
    check_split(text, "x.md")
    assert split(text, "x.md").title == "A"
    assert split(f"---\ntitle: T\nb: {'[' * 90 + ']' * 90}\n---\n# A\n", "x.md").title == "T"


def check_split(text: str, source: str) -> None:
    page = split(text, source)
    is_whole = not page.sections or "".join(map(page.content, page.sections)) == text
    assert is_whole


@pytest.mark.parametrize("source", ["x.rst", "x.txt"])
def test_ten_levels_are_counted_and_give_crumbs(source: str) -> None:
    text = "".join(f"Level {mark}\n{mark * 8}\n\n" for mark in "=-~^+*#<>:")
    found = split(text, source).sections
    assert [each.level for each in found] == list(range(1, 11))
    assert found[-1].crumbs == tuple(f"Level {mark}" for mark in "-~^+*#<>")
    assert as_split(split(text, source)) == as_the_oracle_splits(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x.md", "# A\r\ntext\r## B\nmore\r\n\r## C"),
        ("x.md", "---\r\ntitle: T\r---\n# A\r\n"),
        ("x.rst", "A\r\n=\r\n\r\nB\r=\r"),
        ("x.md", "# A\n```\n# no\n"),
        ("x.md", "# A\n~~~\n\n" + "x" * 7000 + "\n\n# no\n"),
        ("x.adoc", "= A\n----\n== no\n"),
        ("x.md", "---\ntitle: T\n# A\n"),
        ("x.md", "+++\ntitle = 'T'\n# A\n"),
        ("x.md", "---\n---\n# A\n"),
        ("x.md", "---"),
        ("x.md", "+++\n"),
        ("x.md", "\ufeff"),
        ("x.md", "\ufeff \r\n\f\v\t"),
        ("x.md", "\x00# A\n"),
    ],
)
def test_what_is_mixed_or_never_closed_is_split_as_the_oracle_splits_it(source: str, text: str) -> None:
    assert as_split(split(text, source)) == as_the_oracle_splits(source, text)


@pytest.mark.parametrize(
    "text",
    ["# " + "word " * 1_000_000, "# " + "word " * 2_000 + "\n\n## Part" * 2_000],
    ids=["a heading of megabytes that every part would repeat", "a long title above many sections"],
)
def test_a_page_whose_titles_are_too_long_together_is_named(text: str) -> None:
    with pytest.raises(CacheInvalidError, match=r"the titles of all sections of long\.md are too long together"):
        split(text, "long.md")

"""The contract's known answers hold for the oracle of format 2, and so do the promises that need no second opinion."""

import json
import re
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import oracle_2 as oracle

pytestmark = pytest.mark.long

SOURCES = ["a.md", "a.mdx", "a.markdown", "a.rst", "a.txt", "a.adoc", "a.asciidoc", "a.log", "README"]
LINE_ENDS = ["\n", "\r\n", "\r"]
LINES = [
    "",
    "",
    " ",
    "\f",
    "# One",
    "## Two ##",
    "### Three {#three}",
    "#",
    "Setext",
    "======",
    "---",
    "...",
    "+++",
    "title: Named",
    'title = "Named"',
    "```",
    "~~~",
    "----",
    "====",
    "= Doc",
    "== Chapter",
    "|===",
    "- item",
    "    indented",
    "> quote",
    "<Tabs>",
    "[ref]: /target",
    ".. _label:",
    "word " * 40,
    "wörter ünd 漢字かな",
    "snake_case camelCase HTTPServer2",
    "\u2028",
    "x" * 900,
    "漢" * 2500,
]


def page(*lines: str, end: str = "\n") -> str:
    return "".join(line + end for line in lines)


def split(source: str, text: str) -> list[oracle.Section]:
    return oracle.sections(source.lower(), source, text)


def headings(source: str, text: str) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in split(source, text)]


def ids(source: str, text: str) -> list[str]:
    return [section.id.removeprefix(source + "#") for section in split(source, text)]


def given_section(id_: str, title: str, heading: str, body: str) -> oracle.Section:
    path = id_.partition("#")[0]
    return oracle.Section(
        page=path,
        id=id_,
        title=title,
        stem=oracle.stem_of(path),
        heading=heading,
        level=1,
        crumbs=(),
        content=body,
        body=body,
    )


KNOWN = [
    given_section("a.md#install", "Install", "Install", "Run `pip install hall` to install it.\nThen `context build`."),
    given_section("a.md#upgrade", "Install", "Upgrade", "Upgrading keeps caches. Run pip again."),
    given_section("b.md#tokenBudget", "Budgets", "tokenBudget", "The tokenBudget caps a reply; budgets are in tokens."),
    given_section("b.md#see-also", "Budgets", "See also", "Install, upgrade."),
]


@pytest.mark.parametrize(("x", "expected"), [(1, 0), (3, 103872), (10, 217705), (1000, 653117), (65537, 1048577)])
def test_log2_16_is_that_of_the_contract(x: int, expected: int) -> None:
    assert oracle.log2_16(x) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("upgrade install", [("a.md#upgrade", 129106), ("b.md#see-also", 62840), ("a.md#install", 52513)]),
        ("token budget", [("b.md#tokenBudget", 326675), ("b.md#see-also", 114842)]),
        ("the of and", []),
        ("", []),
    ],
)
def test_the_known_queries_have_their_known_order(query: str, expected: list[tuple[str, int]]) -> None:
    assert [(one.section.id, one.score) for one in oracle.rank_sections(KNOWN, query)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The running tokens", ["run", "token"]),
        ("tokenBudget", ["tokenbudget", "token", "budget"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("snake_case_of", ["snake_case_of", "snake", "case"]),
        ("Install", ["instal"]),
        ("iPhone", ["iphon", "phone"]),
        ("漢字かな", ["漢字", "字か", "かな"]),
        ("abc漢def", ["abc", "漢", "def"]),
        ("x²", ["x²"]),
        ("_", ["_"]),
        ("v2", ["v2", "v", "2"]),
        ("don't", ["don", "t"]),
    ],
)
def test_a_text_has_its_tokens(text: str, expected: list[str]) -> None:
    assert oracle.tokens(text) == expected


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("a.md", "# A #\ntext\n## B {#b}\n", [(1, "A"), (2, "B")]),
        ("a.md", "A\nlong  one\n===\n", [(1, "A long one")]),
        ("a.md", "[r]: /u\nA\n---\n", [(0, ""), (2, "A")]),
        ("a.md", "# A\n```\n# no\n```\n- x\n\n  # no\n\n> # no\n", [(1, "A")]),
        ("a.md", "<div>\n# no\n</div>\n\n# A\n", [(0, ""), (1, "A")]),
        ("a.md", "# A # {: .b} #\n#\n# # #\n", [(1, "A"), (1, ""), (1, "#")]),
        ("a.md", "# [a [b](c) d](e(f)) `x` *y*\n", [(1, "a b d `x` *y*")]),
        ("a.md", "#\tA\tB\n", [(1, "A B")]),
        ("a.md", "- " * 15 + "x\n\n# A\n", [(0, ""), (1, "A")]),
        ("a.md", "a\n\f\n===\n", [(1, "a \f")]),
        ("a.md", "#\u00a0no\n", [(0, "")]),
        ("a.md", "A\u2028# no\r# B\r\n", [(0, ""), (1, "B")]),
        ("a.md", "# A { #a }\n## B{\t#b} #\n## C { #c .d }\n", [(1, "A"), (2, "B"), (2, "C { #c .d }")]),
        ("a.md", "# Use {#each x}\n# C#\n", [(1, "Use {#each x}"), (1, "C#")]),
        ("a.md", "---\na: 1\n---\n# A\n", [(1, "A")]),
        ("a.md", "---\n\na: 1\n---\n# A\n", [(0, ""), (2, "a: 1"), (1, "A")]),
        ("a.md", "---\na: 1\n", [(0, "")]),
        ("a.md", "---\na: 1\n---\n", [(0, "")]),
        ("a.md", "\ufeff# A\n", [(1, "A")]),
        ("a.md", "<Tabs>\n# no\n", [(0, "")]),
        ("a.mdx", "<Tabs>\n# A\n<Tab a={{b: '>'}} />\n## B\n", [(0, ""), (1, "A"), (2, "B")]),
        ("a.md", "\ufeff \n\f\n", []),
        ("a.md", "", []),
        ("a.rst", "A\n=\nB\n-\ntext\n\nC\n=\n", [(1, "A"), (2, "B"), (1, "C")]),
        ("a.rst", "===\n A\n===\n", [(1, "A")]),
        ("a.rst", "===\n AB\n===\n\nB\n=\n\nC\n-\n", [(1, "AB"), (2, "B"), (3, "C")]),
        ("a.rst", "===\n ABC\n===\n\nB\n=\n", [(0, ""), (1, "B")]),
        ("a.rst", "===\n A\n=====\n\n====\nToo long\n====\n", [(0, "")]),
        ("a.rst", ".. _a:\nA long one\n----\ntext\nno\n--\n", [(0, ""), (1, "A long one")]),
        ("a.rst", " A\n===\n\nAB\n=\n", [(0, "")]),
        ("a.rst", "# no\n", [(0, "")]),
        ("a.txt", "AB\n==\n\nABC\n===\n\na  b\n----\n", [(0, ""), (1, "ABC")]),
        ("a.adoc", "= A\n----\n== no\n----\n== B ==\n======= no\n", [(1, "A"), (2, "B")]),
        ("a.log", "# no\n\nno\n==\n", [(0, "")]),
    ],
)
def test_a_page_has_its_headings(source: str, text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(source, text) == expected


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("a.md", "---\ntitle: A  b\n---\n# H\n", "A b"),
        ("a.md", "---\ntitle: yes\n---\n# H\n", "yes"),
        ("a.md", "---\ntitle: 2024-01-01\n---\n# H\n", "2024-01-01"),
        ("a.md", "---\ntitle: 12\n---\n# H\n", "H"),
        ("a.md", "---\ntitle: '12'\n...\n# H\n", "12"),
        ("a.md", "---\ntitle: !!str 12\n---\n# H\n", "12"),
        ("a.md", "---\ntitle:\n---\n# H\n", "H"),
        ("a.md", "---\ntitle: ~\n---\n# H\n", "H"),
        ("a.md", "---\ntitle: ' '\n---\n# H\n", "H"),
        ("a.md", "---\ntitle: [\n---\n# H\n", "H"),
        ("a.md", "---\ntitle: >\n  a\n  b\n---\n# H\n", "a b"),
        ("a.md", '+++\r\ntitle = "T"\r\n+++\r\n# H\r\n', "T"),
        ("a.md", "+++\ntitle = 1\n+++\n# H\n", "H"),
        ("a.md", "#\n## H\n", "H"),
        ("Docs/Read.Me.md", "text", "Read.Me"),
        (".md", "text", ".md"),
        (".a.md", "text", ".a"),
    ],
)
def test_a_page_has_its_title(source: str, text: str, expected: str) -> None:
    assert {section.title for section in split(source, text)} == {expected}


def test_crumbs_are_the_headings_above() -> None:
    text = page("# Title", "### Deep", "## Next", "#### Under", "# Other", "## Next")
    assert [section.crumbs for section in split("a.md", text)] == [(), (), (), ("Next",), (), ("Other",)]
    assert split("a.md", text)[3].full_title == "Title > Next > Under"


def test_ids_are_slugs_with_the_smallest_free_number() -> None:
    text = page("text", "# Top", "# A B!", "# a-b", "# a-b-2", "# ¿?", "# Ünï_1")
    assert ids("a.md", text) == ["top", "top-2", "a-b", "a-b-2", "a-b-2-2", "top-3", "ünï_1"]


def test_blank_lines_and_front_matter_begin_the_first_section() -> None:
    [section] = split("a.md", "\ufeff---\na: 1\n---\n\n# A\nbody\n")
    assert (section.first, section.last, section.body_line, section.body) == (1, 6, 6, "\ufeff---\na: 1\n---\n\nbody\n")


def test_a_long_section_is_cut_before_an_unindented_line() -> None:
    paragraphs = page("x" * 2900, "", "y" * 2900, "", "    code", "    " + "z" * 200)
    parts = split("a.md", "# A\n" + paragraphs)
    assert [part.body_line for part in parts] == [2, 4]
    assert ids("a.md", "# A\n" + paragraphs) == ["a", "a-2"]


def test_a_long_section_is_cut_at_any_blank_line_then_at_a_line_then_at_a_character() -> None:
    indented = page(*["    " + "x" * 1000, ""] * 8)
    assert [part.last for part in split("a.txt", indented)] == [10, 16]
    lines = page(*["x" * 999] * 8)
    assert [len(part.content) for part in split("a.txt", lines)] == [6000, 2000]
    assert [len(part.content) for part in split("a.txt", "漢" * 3000)] == [2000, 1000]


def test_a_heading_is_no_part_alone_and_nor_are_blank_lines() -> None:
    assert [len(part.content) for part in split("a.md", "# A\n\n" + "x" * 6000)] == [6000, 5]
    assert [len(part.content) for part in split("a.txt", "x" * 5999 + "\n" * 9)] == [6008]


def test_a_fence_is_not_cut_at_its_blank_lines() -> None:
    text = page("intro", "", "```", *["x" * 99, ""] * 70, "```")
    assert [part.first for part in split("a.md", text)][:2] == [1, 3]


def test_a_line_end_is_never_cut_in_two() -> None:
    parts = split("a.txt", "x" * 5999 + "\r\n" + "y\r\n")
    assert [part.content for part in parts] == ["x" * 5999, "\r\ny\r\n"]


PAGES = st.builds(
    lambda mark, lines, tail: mark + "".join(line + end for line, end in lines) + tail,
    st.sampled_from(["", "", "\ufeff"]),
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(LINE_ENDS)), max_size=30),
    st.sampled_from(LINES),
)


@settings(max_examples=300, deadline=None)
@given(source=st.sampled_from(SOURCES), text=PAGES)
def test_sections_are_the_page_and_keep_their_promises(source: str, text: str) -> None:
    found = split(source, text)
    if not found:
        assert text.removeprefix("\ufeff").strip(" \t\f\v\r\n") == ""
        return
    assert "".join(section.content for section in found) == text
    assert len({section.id for section in found}) == len(found)
    assert len({section.title for section in found}) == 1
    for section, after in zip(found, [*found[1:], None], strict=True):
        assert section.content
        assert after is None or section.last in {after.first - 1, after.first}
        blank_end = re.search(r"[ \t\f\v\r\n]*$", section.content)
        assert blank_end is not None
        assert len(section.content.encode()) <= oracle.PART_BYTES + len(blank_end[0])
    assert (found[0].first, found[-1].last) == (1, len(oracle.lines_of(text)))


@settings(max_examples=200, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.sampled_from([0, 0, 0, 5, 500, 3000, 7000]), st.booleans()), max_size=25),
    heading_lines=st.integers(0, 3),
    end=st.sampled_from(LINE_ENDS),
)
def test_every_part_has_more_than_a_heading(lengths: list[tuple[int, bool]], heading_lines: int, end: str) -> None:
    pieces = [
        oracle.Piece(
            text="x" * length + end, number=at + 2, in_heading=at < heading_lines and length < 1000, in_fence=f
        )
        for at, (length, f) in enumerate(lengths)
    ]
    parts = oracle.cut(pieces)
    assert "".join(piece.text for part in parts for piece in part) == "".join(piece.text for piece in pieces)
    assert len(parts) < 2 or all(oracle.has_body(part) for part in parts)


CACHES = st.dictionaries(st.sampled_from(["a.md", "Guide/B.md", "guide/c.rst", "d.adoc", "e.txt"]), PAGES, max_size=4)
QUERIES = st.lists(
    st.sampled_from(["one", "Two", "three word", "camelCase", "the", "漢字", "nowhere", '"\n']), max_size=5
).map(" ".join)
BUDGETS = st.integers(0, 6000)


def section_count(pages: dict[str, str]) -> int:
    return len(oracle.all_sections(pages))


@settings(max_examples=100, deadline=None)
@given(pages=CACHES, query=QUERIES, budget=BUDGETS)
def test_a_json_reply_keeps_its_budget(pages: dict[str, str], query: str, budget: int) -> None:
    text = oracle.resolve_json(pages, query, budget, freshness=("unknown", 2147483647))
    reply = json.loads(text)
    selection = reply["selection"]
    assert text == json.dumps(reply, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert selection["documents_considered"] <= section_count(pages)
    assert (
        selection["documents_selected"] + selection["documents_excluded_by_budget"] == selection["documents_considered"]
    )
    if selection["tokens_used"] > budget:
        assert (reply["documents"], selection["skipped"]) == ([], [])
    else:
        assert len(text.encode()) <= 4 * selection["tokens_used"] <= 4 * budget
    scores = [document["score"] for document in reply["documents"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == selection["documents_selected"]


@settings(max_examples=100, deadline=None)
@given(pages=CACHES, query=QUERIES, budget=BUDGETS)
def test_a_text_reply_keeps_its_budget_and_its_items_can_be_told_apart(
    pages: dict[str, str], query: str, budget: int
) -> None:
    version = oracle.cache_version(pages)
    text = oracle.resolve_text(pages, "docs", version, query, budget, freshness=("stale", 2147483647))
    header = re.match(r"context docs@[0-9a-f]{12} \| query: [^\n]*? \| (\d+) of (\d+) sections \| (\d+) of", text)
    assert header
    selected, considered, used = map(int, header.groups())
    assert selected <= considered
    if used > budget:
        assert selected == 0
    else:
        assert len(text.encode()) <= 4 * used <= 4 * budget
    mark = re.search(r"^=== ([0-9a-f]{8}) 1 ", text, re.MULTILINE)
    assert (mark is None) == (selected == 0)
    if mark:
        assert len(re.findall(rf"(?:^|[\r\n])=== {mark[1]}", text)) == selected


@settings(max_examples=60, deadline=None)
@given(pages=CACHES, query=QUERIES)
def test_an_order_without_end_of_budget_holds_every_section_that_has_a_token(pages: dict[str, str], query: str) -> None:
    asked = set(oracle.tokens(query))
    having = {section.id for section in oracle.all_sections(pages) if asked & oracle.section_tokens(section)}
    order = oracle.rank(pages, query)
    assert {id_ for id_, _ in order} <= having
    assert [score for _, score in order] == sorted((score for _, score in order), reverse=True)


def test_a_json_reply_is_these_bytes() -> None:
    pages = {"Guide/Keys.md": "# Keys\n\n## Rotate\nRotate keys.\n", "b.md": "Other\n"}
    first = sha256(b"## Rotate\nRotate keys.\n").hexdigest()
    [(_, score)] = oracle.rank(pages, "Rotate the zebra")
    item = (
        '{"id":"guide/keys.md#rotate","version":"sha256:' + first + '","title":"Keys > Rotate",'
        '"lines":[3,4],"content":"## Rotate\\nRotate keys.\\n",'
        f'"score":{score},"tokens":6,"why":{{"matched":["rotate"]}}}}'
    )
    empty = (
        '{"documents":[],'
        '"selection":{"query":"Rotate the zebra","budget":400,"tokens_used":400,"documents_considered":1,'
        '"documents_selected":1,"documents_excluded_by_budget":1,"unmatched_terms":["zebra"],"skipped":[],'
        '"freshness":{"state":"unknown","changed":2147483647}}}\n'
    )
    assert oracle.resolve_json(pages, "Rotate the zebra", 400) == (
        '{"documents":[' + item + "],"
        f'"selection":{{"query":"Rotate the zebra","budget":400,"tokens_used":{quarters(empty + item + ",")},'
        '"documents_considered":1,'
        '"documents_selected":1,"documents_excluded_by_budget":0,"unmatched_terms":["zebra"],"skipped":[]}}\n'
    )


def quarters(text: str) -> int:
    return (len(text.encode()) + 3) // 4


def test_a_text_reply_is_these_bytes() -> None:
    pages = {"keys.md": "# Keys\n\n## Rotate\nRotate keys.", "b.md": "# B\nrotate " + "x" * 3000}
    content = "## Rotate\nRotate keys."
    digest = sha256(content.encode()).hexdigest()
    header = "context docs@000000000000 | query: rotate zebra | "
    item = f"=== {digest[:8]} 1 keys.md#rotate lines 3-4 sha256:{digest[:12]}\nKeys > Rotate\n\n{content}\n\n"
    last = "no section has: zebra\ndid not fit: b.md#b (753)\n"
    used = quarters(f"{header}2 of 2 sections | 100 of 100 tokens | stale (2147483647 changed)\n\n{item}{last}")
    assert oracle.resolve_text(pages, "docs", "sha256:" + "0" * 64, "rotate\nzebra", 100, ("fresh", 0)) == (
        f"{header}1 of 2 sections | {used} of 100 tokens | fresh\n\n{item}{last}"
    )


def test_the_mark_is_none_that_a_content_has() -> None:
    assert oracle.mark_of(["text"]) == sha256(b"text").hexdigest()[:8]
    assert oracle.mark_of([]) == sha256(b"").hexdigest()[:8]


def test_what_is_beyond_four_hundred_is_not_considered() -> None:
    pages = {f"p{number}.md": "word\n" for number in range(410)}
    assert len(oracle.rank(pages, "word")) == 400


def test_a_page_that_has_been_taken_from_counts_for_less() -> None:
    pool = [
        oracle.Ranked(section=given_section(id_, "", "", ""), score=score)
        for id_, score in [("a#1", 100), ("a#2", 95), ("a#3", 94), ("b#1", 80), ("b#2", 80)]
    ]
    served = [(one.section.id, one.score) for one in oracle.decayed(pool)]
    assert served == [("a#1", 100), ("a#2", 83), ("b#1", 80), ("a#3", 71), ("b#2", 70)]


def test_a_page_counts_for_no_less_than_eight_decays() -> None:
    pool = [oracle.Ranked(section=given_section(f"a#{at}", "", "", ""), score=10**6) for at in range(11)]
    scores = [one.score for one in oracle.decayed(pool)]
    assert scores[7] > scores[8] == scores[9] == scores[10]


def test_a_pair_counts_once_and_only_in_its_order() -> None:
    pages = {"a.md": "# Red apple\nred apple red apple\n", "b.md": "# Apple red\napple red\n", "c.md": "x\n"}
    red, apple = dict(oracle.rank(pages, "red")), dict(oracle.rank(pages, "apple"))
    both = dict(oracle.rank(pages, "red the apple"))
    bonus = oracle.log2_16(2 * 3 + 2) - oracle.log2_16(2 * 2 + 1)
    [a, b] = ["a.md#red-apple", "b.md#apple-red"]
    assert both == {a: red[a] + apple[a] + bonus, b: red[b] + apple[b]}


def test_words_of_the_query_are_named_as_matched_or_unmatched() -> None:
    [section] = split("a.md", "# A\nThe token budget of 漢字\n")
    query = "Tokens the tokenBudget nowhere 漢字文 TOKENS zebraCache"
    assert oracle.matched(section, query) == ["tokens", "tokenbudget", "漢字文"]
    assert oracle.unmatched_terms([section], query) == ["nowhere", "zebracache"]


THREE = {"a.md": "# A\none\n## B\ntwo\n## C\nthree\n", "g/b.md": "text\n", "g/c.md": " \n"}


def test_a_section_is_read_with_its_neighbours() -> None:
    reply = json.loads(oracle.read_json(THREE, "a.md#b", neighbours=1))
    assert [document["id"] for document in reply["documents"]] == ["a.md#a", "a.md#b", "a.md#c"]
    assert reply["selection"]["next"] is None
    reply = json.loads(oracle.read_json(THREE, "a.md#b"))
    assert ([document["content"] for document in reply["documents"]], reply["selection"]["next"]) == (
        ["## B\ntwo\n"],
        "a.md#c",
    )


def test_a_page_is_read_from_where_the_last_reply_ended() -> None:
    budget = 90
    text, following = "", None
    while True:
        reply = json.loads(oracle.read_json(THREE, "a.md", from_=following, budget=budget))
        text += "".join(document["content"] for document in reply["documents"])
        following = reply["selection"]["next"]
        if following is None:
            break
    assert text == THREE["a.md"]


@settings(max_examples=60, deadline=None)
@given(pages=CACHES, budget=BUDGETS)
def test_reading_and_outlining_keep_their_budget(pages: dict[str, str], budget: int) -> None:
    replies = [oracle.outline_json(pages, budget=budget)]
    replies += [oracle.read_json(pages, section.id, 2, budget=budget) for section in oracle.all_sections(pages)[:3]]
    replies += [oracle.read_json(pages, path, budget=budget) for path in oracle.by_path(pages)]
    for text in replies:
        reply = json.loads(text)
        if "error" in reply:
            assert reply["error"]["code"] == "invalid_budget"
        else:
            assert len(text.encode()) <= 4 * reply["selection"]["tokens_used"] <= 4 * budget


def test_an_outline_has_the_pages_under_a_folder() -> None:
    reply = json.loads(oracle.outline_json(THREE, under="g"))
    assert [(one["page"], one["title"], len(one["sections"])) for one in reply["pages"]] == [
        ("g/b.md", "b", 1),
        ("g/c.md", "c", 0),
    ]
    reply = json.loads(oracle.outline_json(THREE, depth=1, budget=100))
    assert [section["id"] for one in reply["pages"] for section in one["sections"]] == ["a.md#a", "g/b.md#top"]


@pytest.mark.parametrize("reply", [oracle.read_json(THREE, "no.md"), oracle.outline_json(THREE, under="no")])
def test_what_is_not_there_is_missing(reply: str) -> None:
    assert reply == '{"error":{"code":"document_missing","message":"Document does not exist"}}\n'

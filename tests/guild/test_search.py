"""The tool somebody means comes first, and what does not fit does not come at all."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.core import limits
from contexthall.guild.lists.search import ListedTool, ToolSearch, one_line


def tool(name: str, description: str = "", member: str = "hub", *parameters: str, **more: Any) -> ListedTool:
    schema = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
    return ListedTool(
        f"{member}__{name}", member, {"name": name, "description": description, "inputSchema": schema, **more}
    )


def found(listed: list[ListedTool], query: str, limit: int = 10) -> list[str]:
    return [each.definition["name"] for each in ToolSearch(listed).find(query, limit).tools]


SHOP = [
    tool("create_issue", "Open a new issue in a repository", "github", "title", "body"),
    tool("list_issues", "List what is open in a repository", "github", "state"),
    tool("read_file", "Read a text file", "files", "path"),
    tool("write_file", "Write a text file; makes an entry in the issue log", "files", "path", "content"),
    tool("take_screenshot", "Capture what the browser shows", "browser", "fullPage"),
]


def test_a_word_in_the_name_counts_more_than_one_in_the_description() -> None:
    assert found(SHOP, "issue") == ["create_issue", "list_issues", "write_file"]


def test_the_member_counts_less_than_the_name_and_more_than_the_description() -> None:
    listed = [tool("a", "about git"), tool("b", member="git"), tool("git"), tool("c", "", "hub", "git")]
    assert found(listed, "git") == ["git", "b", "a", "c"]


def test_a_title_counts_like_a_name() -> None:
    listed = [tool("a", member="git"), tool("b", title="Git"), tool("c", annotations={"title": "Git"})]
    assert found(listed, "git") == ["b", "c", "a"]


def test_a_parameter_leads_to_its_tool() -> None:
    assert found(SHOP, "full page") == ["take_screenshot"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    listed = [tool("file_a"), tool("file_b"), tool("file_c"), tool("zip_d")]
    assert found(listed, "file zip")[0] == "zip_d"


def test_more_words_that_fit_are_better() -> None:
    assert found(SHOP, "write a file")[0] == "write_file"


def test_what_has_no_word_in_common_is_left_out() -> None:
    assert found(SHOP, "weather") == []
    assert found(SHOP, "???") == []


@pytest.mark.parametrize("query", ["read-file", "readFile", "ReadFile", "READ_FILE", "file, read!", "ｒｅａｄ"])
def test_words_are_found_however_they_are_joined(query: str) -> None:
    assert found(SHOP, query)[0] == "read_file"


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("listIssues", "issues list"),
        ("GitHubSearch", "github"),
        ("GitHubSearch", "git"),
        ("parseHTTPBody", "http"),
        ("getURLs", "url"),
    ],
)
def test_camel_case_is_split_and_kept(name: str, query: str) -> None:
    assert found([tool(name), tool("other")], query) == [name]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("issue", "issues"),
        ("queries", "query"),
        ("branch", "branches"),
        ("create", "creating"),
        ("create", "created"),
        ("run", "running"),
        ("add", "adding"),
        ("use", "using"),
        ("copy", "copied"),
        ("listing", "list"),
        ("status", "statuses"),
        ("process", "processes"),
    ],
)
def test_plurals_and_forms_in_ing_and_ed_still_match(name: str, query: str) -> None:
    assert found([tool(name), tool("other")], query) == [name]
    assert found([tool(query), tool("other")], name) == [query]


def test_words_that_only_look_alike_do_not_match() -> None:
    assert found([tool("ring"), tool("class"), tool("bus"), tool("is")], "r clas bu i") == ["class"]
    assert found([tool("st")], "string") == []
    assert found([tool("40")], "400") == []


def test_the_beginning_of_a_word_counts_only_where_nobody_has_the_word_itself() -> None:
    assert found([tool("repository"), tool("a", "the repo")], "repo") == ["a"]
    assert found([tool("repository"), tool("a", "the report")], "repo") == ["repository", "a"]


def test_the_beginning_of_a_word_counts_half() -> None:
    listed = [tool("repository"), tool("issues"), tool("other")]
    assert found(listed, "repo issue") == ["issues", "repository"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("issue", []),
        ("the issue of it", []),
        ("Unicorn issue", ["unicorn"]),
        ("rainbow-unicorn, rainbow!", ["rainbow", "unicorn"]),
        ("openUnicorn", []),
        ("fullUnicornPage", []),
        ("repos", []),
        ("what can you do", []),
        ("ﬁsh", ["fish"]),
    ],
)
def test_words_that_no_tool_has_are_named(query: str, words: list[str]) -> None:
    assert ToolSearch(SHOP).find(query).unmatched == words


def test_of_a_very_long_query_the_first_words_count() -> None:
    query = " ".join(f"word{number}" for number in range(1000)) + " issue"
    found = ToolSearch(SHOP).find(query)
    assert found.tools == []
    assert len(found.unmatched) == limits.TOOL_QUERY_WORDS


def test_scripts_without_spaces_are_found_by_pairs() -> None:
    listed = [tool("a", "搜索本地文件系统"), tool("b", "发送邮件"), tool("c", "ファイルを読む")]
    assert found(listed, "文件") == ["a"]
    assert found(listed, "发邮件") == ["b"]
    assert found(listed, "readファイル") == ["c"]


def test_descriptions_of_parameters_count() -> None:
    described = {"type": "object", "properties": {"p": {"description": "A postcode"}, "q": {"description": 1}, "r": 0}}
    assert found([tool("a", inputSchema=described), tool("b")], "postcode") == ["a"]


def test_a_short_description_counts_more_than_a_long_one() -> None:
    listed = [tool("a", "Draws charts " + "and says so at length " * 20), tool("b", "Draws charts")]
    assert found(listed, "charts") == ["b", "a"]


def test_two_letters_are_no_beginning() -> None:
    assert found([tool("repository")], "re") == []


def test_the_full_name_of_a_tool_finds_it_first() -> None:
    listed = [tool("read_read_me", "hub read", "read"), tool("read"), tool("other", "read", "read")]
    assert found(listed, " hub__read ")[0] == "read"
    assert found(listed, "read_read_me")[0] == "read_read_me"
    assert found([tool("__"), tool("a")], "__") == ["__"]


def test_equally_good_ones_come_by_name() -> None:
    assert found([tool("go_b"), tool("go_c"), tool("go_a")], "go") == ["go_a", "go_b", "go_c"]


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_lists_by_name(query: str) -> None:
    assert found([tool("b"), tool("c"), tool("a")], query, 2) == ["a", "b"]


@pytest.mark.parametrize(("limit", "expected"), [(1, ["go_a"]), (0, []), (-1, [])])
def test_no_more_are_given_than_asked_for(limit: int, expected: list[str]) -> None:
    assert found([tool("go_a"), tool("go_b")], "go", limit) == expected


def test_a_definition_with_nothing_in_it_is_found_by_its_name() -> None:
    odd = ListedTool(
        "m__odd", "m", {"description": None, "inputSchema": {"properties": []}, "annotations": 1, "name": []}
    )
    assert ToolSearch([odd]).find("odd").tools == [odd]


@given(st.text(), st.lists(st.text(max_size=8), max_size=6, unique=True), st.randoms(use_true_random=False))
def test_the_order_of_the_tools_does_not_matter(query: str, names: list[str], shuffler: Random) -> None:
    listed = [tool(name, description=name + " a") for name in names]
    assert ToolSearch(listed).find(query) == ToolSearch(shuffler.sample(listed, len(listed))).find(query)


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        ({"description": "Reads a file. Then closes it."}, "Reads a file."),
        ({"description": "Reads v1.2, e.g. README, i.e. All! Yes."}, "Reads v1.2, e.g. README, i.e. All!"),
        ({"description": "\n  Reads a\tfile\n\nArgs: path"}, "Reads a file"),
        ({"description": "Reads (a file). Then"}, "Reads (a file)."),
        ({"description": "Says \x1b[31mred"}, "Says [31mred"),
        ({"description": " ", "title": "Read\nit"}, "Read it"),
        ({"annotations": {"title": "Read"}}, "Read"),
        ({"description": None}, ""),
    ],
)
def test_one_line_is_the_first_sentence(definition: dict[str, object], line: str) -> None:
    assert one_line(definition) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one two three", "one two…"),
        ("one two", "one two"),
        ("onetwothree", "onetwoth…"),
        ("one two, three", "one two…"),
        ("one, a long one", "one, a…"),
    ],
)
def test_a_long_line_is_cut_at_a_word(text: str, line: str) -> None:
    assert one_line({"description": text}, most=9) == line


@given(st.text(), st.integers(1, 30))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, most: int) -> None:
    line = one_line({"description": text}, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1

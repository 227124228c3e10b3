"""One member of a JSONC text changes, and no byte of another."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clients.making import refusal

from contexthall.clients.change import TextError, with_value, without_value
from contexthall.clients.jsonc import parse, with_member, without_member

SERVERS = ("mcpServers",)
HALL = {"command": "/opt/context", "args": ["serve"]}

VSCODE = """// servers of this workspace
{
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "password": true }, // asked once
\t],
\t"servers": {
\t\t/* issues */
\t\t"tracker": {
\t\t\t"url": "https://tracker.example/mcp",
\t\t\t"headers": { "Authorization": "Bearer ${input:key}" }
\t\t}, // by HTTP
\t\t// "old": { "command": "old" }
\t},
}
"""
CURSOR = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}}}'
CLAUDE_DESKTOP = """{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "memory": {
      "command": "npx",
      "args": ["-y", "memory"]
    }
  },
  "limit": 1.0e3
}"""
GEMINI = """{
    // how it looks
    "theme": "GitHub",
    "mcpServers": {},
    "telemetry": {"enabled": false}
}
""".replace("\n", "\r\n")

HALL_BY_TABS = """
\t\t"hall": {
\t\t\t"command": "/opt/context",
\t\t\t"args": [
\t\t\t\t"serve"
\t\t\t]
\t\t},"""
HALL_BY_TWO = """,
    "hall": {
      "command": "/opt/context",
      "args": [
        "serve"
      ]
    }"""
HALL_BY_FOUR = """{
        "hall": {
            "command": "/opt/context",
            "args": [
                "serve"
            ]
        }
    }""".replace("\n", "\r\n")
HALL_ON_A_LINE = ', "hall": {"command": "/opt/context", "args": ["serve"]}'


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (VSCODE, ("servers",), VSCODE.replace('"old" }\n', '"old" }' + HALL_BY_TABS + "\n")),
        (CURSOR, SERVERS, CURSOR.replace('["-y", "files"]}', '["-y", "files"]}' + HALL_ON_A_LINE)),
        (CLAUDE_DESKTOP, SERVERS, CLAUDE_DESKTOP.replace("]\n    }", "]\n    }" + HALL_BY_TWO)),
        (GEMINI, SERVERS, GEMINI.replace('"mcpServers": {}', '"mcpServers": ' + HALL_BY_FOUR)),
        ("\ufeff" + CURSOR, SERVERS, "\ufeff" + with_member(CURSOR, SERVERS, "hall", HALL)),
    ],
    ids=["vscode", "cursor", "claude-desktop", "gemini-cli", "byte-order-mark"],
)
def test_a_member_is_added_in_the_style_of_the_text_and_taken_out_again(
    text: str, path: tuple[str, ...], expected: str
) -> None:
    assert with_member(text, path, "hall", HALL) == expected
    assert without_member(expected, path, "hall") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "mcpServers": {\n    "hall": {}\n  }\n}\n'),
        ("\ufeff", '\ufeff{\n  "mcpServers": {\n    "hall": {}\n  }\n}\n'),
        (" \r\n", '{\r\n  "mcpServers": {\r\n    "hall": {}\r\n  }\r\n} \r\n'),
        ("// none yet", '// none yet\n{\n  "mcpServers": {\n    "hall": {}\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "hall": {}\n  }\n}'),
        ('{"mcpServers": {}}', '{"mcpServers": {\n  "hall": {}\n}}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"hall": {}\n\t}\n}'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"hall": {}}}'),
        ('{\n  "b": {\n      "c": 1}}', '{\n  "b": {\n      "c": 1},\n  "mcpServers": {\n    "hall": {}\n  }}'),
        ('{"mcpServers": {"a": 1 // one\n}}', '{"mcpServers": {"a": 1, // one\n  "hall": {}\n}}'),
        ('{"mcpServers": {"a": 1,}}', '{"mcpServers": {"a": 1, "hall": {},}}'),
    ],
)
def test_what_is_missing_on_the_way_is_made(text: str, expected: str) -> None:
    assert with_member(text, SERVERS, "hall", {}) == expected


@pytest.mark.parametrize(
    "inside",
    ["", " ", "\n", "\n  ", "\n\n  ", "\r\n", "\r", "// c\n", "/* c */", " /* c */ ", "\n // c \n /* d */\n  "],
)
def test_an_object_that_was_empty_is_empty_in_the_same_way_again(inside: str) -> None:
    text = '{\n  "mcpServers": {' + inside + "}\n}"
    changed = with_member(text, SERVERS, "hall", HALL)
    assert parse(changed) == {"mcpServers": {"hall": HALL}}
    assert without_member(changed, SERVERS, "hall") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"m": {"x": {"old": 1}, "b": 2}}', '{"m": {"x": {"new": [1]}, "b": 2}}'),
        ('{"m": {\n "x" : 1 // mine\n}}', '{"m": {\n "x" : {\n  "new": [\n   1\n  ]\n } // mine\n}}'),
        ('{"m": {\n  "x": {"new": [1]}}}', '{"m": {\n  "x": {"new": [1]}}}'),
        ('{"m": {"\\u0078": {/* gone */}}}', '{"m": {"\\u0078": {"new": [1]}}}'),
    ],
)
def test_a_member_that_is_there_is_replaced_in_its_place_unless_it_says_the_same(text: str, expected: str) -> None:
    assert with_member(text, ("m",), "x", {"new": [1]}) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"x": 1', ""),
        (' "x": 1 ', " "),
        ('\n  "x": 1,\n', ""),
        ('"x": 1, "b": 2', '"b": 2'),
        ('"a": 1, "x": 2, "b": 3', '"a": 1, "b": 3'),
        ('"a": 1, "x": 2', '"a": 1'),
        ('"a": 1, "x": 2,', '"a": 1,'),
        ('"a": 1, /* about x */ "x": 2', '"a": 1 /* about x */'),
        ('"a": 1, "x": 2, // both\n "b": 3', '"a": 1, // both\n "b": 3'),
        ('\n  "a": 1,\n  "x": 2,\n  "b": 3\n', '\n  "a": 1,\n  "b": 3\n'),
        ('\n  "a": 1, // a\n  "x": 2, // x\n  "b": 3\n', '\n  "a": 1, // a\n  "b": 3\n'),
        ('\n  // above\n  "x": 2, /* x */ // x\n  // below\n  "b": 3\n', '\n  // above\n  // below\n  "b": 3\n'),
        ('\n  "x": 2, /* from here\n  to here */ "b": 3\n', ' /* from here\n  to here */ "b": 3\n'),
        ('\n  "a": 1, // a\n  "x": 2}, "c": {', '\n  "a": 1 // a\n  }, "c": {'),
        ('\n  "x": 1, "b": 2\n', '\n  "b": 2\n'),
        ('"a": 1', '"a": 1'),
    ],
)
def test_a_member_goes_with_its_comma_and_the_comment_on_its_line(before: str, after: str) -> None:
    assert without_member('{"m": {' + before + "}}", ("m",), "x") == '{"m": {' + after + "}}"


@pytest.mark.parametrize("text", ["", "// c", "{}", '{"m": {}}', '{"n": {"x": 1}}'])
def test_a_member_that_is_not_there_is_not_missed(text: str) -> None:
    assert without_member(text, ("m",), "x") == text


def test_what_nobody_asked_to_change_is_spelt_as_it_was() -> None:
    text = '{"a": [1.0, 1e400, -0, %s, "\\ud800 \\/ \\u0041"], "a": "again", "m": {}}' % ("9" * 5000)
    changed = with_member(text, ("m",), "x", {"half": "\udc80", "letters": "ä€"})
    assert changed.startswith(text.removesuffix("}}"))
    assert '"\\udc80"' in changed
    assert "ä€" in changed
    assert parse(changed)["m"]["x"] == {"half": "\udc80", "letters": "ä€"}
    assert without_member(changed, ("m",), "x") == text


def test_an_object_that_is_indented_in_its_own_way_stays_so() -> None:
    text = '{\n "mcpServers": {\n     "a": 1\n }\n}'
    expected = '{\n "mcpServers": {\n     "a": 1,\n     "hall": {\n         "b": 2\n     }\n }\n}'
    assert with_member(text, SERVERS, "hall", {"b": 2}) == expected


def test_a_path_may_be_empty_or_long() -> None:
    assert with_member("{}", (), "x", {}) == '{\n  "x": {}\n}'
    text = with_member('{"a": {"b": {}}}', ("a", "b", "c"), "x", {})
    assert parse(text) == {"a": {"b": {"c": {"x": {}}}}}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: expected a comma"),
        ('{\n  "a" 1\n}', "line 2: expected a colon"),
        ("{\n  'a': 1\n}", "line 2: expected a name in double quotes"),
        ('{\n  "a": 1,\n  API_KEY: 1\n}', "line 3: expected a name in double quotes"),
        ("{\"a\":\n'b'}", "line 2: expected a value, text in double quotes"),
        ('{"a":\nNaN}', "line 2: expected a value"),
        ('{"a":\n-Infinity}', "line 2: expected a value"),
        ('{"a": [\n,]}', "line 2: expected a value"),
        ('{"a": [1,\n,]}', "line 2: expected a value"),
        ("{\n,}", "line 2: expected a name"),
        ('{"a": 1}\n{}', "line 2: expected the end of the text"),
        ('{"a": "b\n"}', "line 1: a string with a line break"),
        ('{"a": "b\x00"}', "line 1: a string with a line break or another control"),
        ('{\n"a": "b', "line 2: a string has no end"),
        ('{\n"a": "\\x41"}', "line 2: an escape that JSON does not have"),
        ('{\n"a": "\\u00"}', "line 2: an escape that JSON does not have"),
        ("{}\n/* c", "line 2: a comment has no end"),
        ("{}\n/*/", "line 2: a comment has no end"),
        ("// c\n[]", "line 2: expected an object"),
        ('// c\n"text"', "line 2: expected an object"),
        ("{\ufeff}", "line 1: expected a name"),
        ("{\u00a0}", "line 1: expected a name"),
        ('{"a":\n' + "[" * 128 + "]" * 128 + "}", "line 2: nested too deeply"),
        ("\n" + "[" * 100_000, "line 2: nested too deeply"),
        ('{"a":[' * 100_000, "line 1: nested too deeply"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, complaint: str) -> None:
    assert refusal(lambda: parse(text)).startswith(complaint)
    assert refusal(lambda: with_member(text, SERVERS, "x", {})).startswith(complaint)
    assert refusal(lambda: without_member(text, SERVERS, "x")).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"m": {"x": 1,\n"x": 2}}', "line 2: `x` is there twice"),
        ('{"m": {},\n"\\u006d": {}}', "line 2: `m` is there twice"),
        ('{"m":\n[]}', "line 2: `m` is no object"),
        ('{"m":\nnull}', "line 2: `m` is no object"),
    ],
)
def test_what_readers_would_not_agree_on_is_refused(text: str, complaint: str) -> None:
    assert refusal(lambda: with_member(text, ("m",), "x", {})) == complaint
    assert refusal(lambda: without_member(text, ("m",), "x")) == complaint


def test_a_member_that_would_be_nested_too_deeply_is_not_written() -> None:
    text = '{"a": ' * 127 + "{}" + "}" * 127
    with pytest.raises(TextError, match="line 1: nothing can change here"):
        with_member(text, ("a",) * 127, "x", {})


@pytest.mark.parametrize(
    "text",
    [
        "/* " * 100_000,
        '"\\' * 100_000,
        '{"a": "' + "\\" * 200_000,
        "{" + " ," * 100_000,
        '{"m": {"k": 1' + " " * 200_000 + "}}",
        '{"m": {"k": 1' + "//\n" * 30_000 + "}}",
        '{"m": {' + ",".join(f'"{number}": 1' for number in range(10_000)) + "}}",
    ],
    ids=["comments", "quotes", "backslashes", "commas", "spaces", "lines", "members"],
)
def test_the_time_is_linear_in_the_text(text: str) -> None:
    """With the square of the size, any of these would take longer than a test may."""
    assert refusal(lambda: with_member(text, ("m",), "x", {})).startswith(("line 1: ", "changed"))
    assert refusal(lambda: without_member(text, ("m",), "k")).startswith(("line 1: ", "changed"))


FILLERS = st.sampled_from(
    ["", " ", "\n\t", "\r\n  ", "\r", "/* c */", " /* } \n * / */", "// ] */ \n", "  //\r\n//", "// \t\r"]
).map(lambda filler: filler + "\n" if filler.endswith("//") else filler)
NAMES = st.sampled_from(["a", "b", "m", "x", "y z", "\\u0061b", "\\ud800", "//", "/*", ","])
SCALARS = st.sampled_from(["1", "-0.50", "1E2", "true", "null", '""', '"// }"', '"/*"', '"\\\\"', '"\\"{"', '","'])


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    return "[" + draw(enclosed(draw(st.lists(values, max_size=3)))) + "]"


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    names = draw(st.lists(NAMES, max_size=4, unique_by=lambda name: json.loads(f'"{name}"')))
    return "{" + draw(enclosed([draw(member(name, values)) for name in names])) + "}"


@st.composite
def enclosed(draw: st.DrawFn, items: list[str]) -> str:
    """Put fillers around items, commas between them and perhaps one behind the last."""
    pieces = [draw(FILLERS) + item + draw(FILLERS) for item in items]
    return ",".join(pieces) + (draw(st.sampled_from(["", ","])) if pieces else "") + draw(FILLERS)


@st.composite
def member(draw: st.DrawFn, name: str, values: st.SearchStrategy[str]) -> str:
    return f'"{name}"{draw(FILLERS)}:{draw(FILLERS)}{draw(values)}'


VALUES = st.recursive(SCALARS, lambda inner: arrays(inner) | objects(inner), max_leaves=5)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a text with an object `m`, as odd as JSONC permits."""
    others = [draw(member(name, VALUES)) for name in draw(st.lists(st.sampled_from("np"), max_size=2, unique=True))]
    members = draw(st.permutations([*others, draw(member("m", objects(VALUES)))]))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + draw(FILLERS) + "{" + draw(enclosed(list(members))) + "}" + draw(FILLERS)


@settings(max_examples=60)
@given(texts())
def test_what_is_added_can_be_taken_out_again_byte_for_byte(text: str) -> None:
    before = parse(text)
    changed = with_member(text, ("m",), "hall", HALL)
    assert parse(changed) == with_value(before, ("m",), "hall", HALL)
    assert with_member(changed, ("m",), "hall", HALL) == changed
    assert without_member(changed, ("m",), "hall") == text
    changed = with_member(text, ("q", "r"), "hall", HALL)
    assert parse(changed) == {**before, "q": {"r": {"hall": HALL}}}
    assert without_member(changed, (), "q") == text


@settings(max_examples=60)
@given(texts())
def test_any_member_can_be_replaced_or_taken_out_whatever_is_around_it(text: str) -> None:
    before = parse(text)
    for name in before["m"]:
        assert parse(without_member(text, ("m",), name)) == without_value(before, ("m",), name)
        assert parse(with_member(text, ("m",), name, HALL)) == with_value(before, ("m",), name, HALL)


@settings(max_examples=200)
@given(st.text(alphabet="{}[]\":,/*\n\r\\ 'am1N\ufeff\ud800", max_size=20), st.integers(0, len(VSCODE)))
def test_a_damaged_text_is_refused_with_a_line_or_changed_as_promised(damage: str, index: int) -> None:
    for text in (damage, VSCODE[:index] + damage + VSCODE[index:], VSCODE[: index - 1] + VSCODE[index:]):
        complaint = refusal(partial(judge, text))
        assert complaint.startswith(("line ", "changed"))


def judge(text: str) -> None:
    before = parse(text)
    assert parse(with_member(text, ("servers",), "hall", HALL)) == with_value(before, ("servers",), "hall", HALL)
    without_member(text, ("servers",), "tracker")

"""One table of a TOML text changes, and no byte of another."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clients.making import refusal

from contexthall.clients.change import with_value, without_value
from contexthall.clients.toml_text import parse, with_member, without_member

SERVERS = ("mcp_servers",)
HALL = {"command": "/opt/context", "args": ["serve"], "env": {"KEY": "k"}, "timeout": 20, "enabled": True}
HALL_LINES = """[mcp_servers.hall]
command = "/opt/context"
args = ["serve"]
timeout = 20
enabled = true

[mcp_servers.hall.env]
KEY = "k"
"""
CODEX = '''# how I work
model = "o3"   # for now
profile = 'careful'
notes = """
[mcp_servers.hall]
command = "in a text"
"""

[mcp_servers."the tracker"]
command = "npx"
args = [
  "-y", # yes
  "[mcp_servers.hall]",
]

[mcp_servers."the tracker".env]
"API.KEY" = """it's ""quoted"" \\""""""

# when it matters
[profiles.careful]
approval_policy = "on-request"
rules = \'\'\'
[mcp_servers.hall]\'\'\'

[[hooks]]
at = 2026-01-01T00:00:00Z
odds = [nan, -inf, 1_000.50]
'''


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CODEX, CODEX + "\n" + HALL_LINES),
        (CODEX.rstrip("\n"), CODEX + "\n" + HALL_LINES.rstrip("\n")),
        (CODEX.replace("\n", "\r\n"), (CODEX + "\n" + HALL_LINES).replace("\n", "\r\n")),
        ("\ufeff" + CODEX, "\ufeff" + CODEX + "\n" + HALL_LINES),
        ("", HALL_LINES),
        ("\ufeff", "\ufeff" + HALL_LINES),
        ("\n", "\n\n" + HALL_LINES),
        ("# nothing", "# nothing\n\n" + HALL_LINES.rstrip("\n")),
        ("a = 1\n\n", "a = 1\n\n\n" + HALL_LINES),
        ("[mcp_servers]\nb = {}\n", "[mcp_servers]\nb = {}\n\n" + HALL_LINES),
        ("mcp_servers.b.command = 'b'\n", "mcp_servers.b.command = 'b'\n\n" + HALL_LINES),
    ],
)
def test_a_table_is_added_at_the_end_and_taken_out_again(text: str, expected: str) -> None:
    assert with_member(text, SERVERS, "hall", HALL) == expected
    assert with_member(expected, SERVERS, "hall", HALL) == expected
    assert without_member(expected, SERVERS, "hall") == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[mcp_servers.hall] # mine\ncommand = 1\n# old\nargs = []\n", "NEW\n"),
        ("[mcp_servers.hall]\ncommand = 1\n\n# kept\n[b]\n", "NEW\n\n# kept\n[b]\n"),
        ("[mcp_servers.hall]\n\n[mcp_servers.hall.env]\nA = 1", "NEW"),
        ("[mcp_servers.hall.env]\nA = 1\n[b]\n[mcp_servers.hall]\nc = 1\n", "NEW\n[b]\n"),
        ("[ 'mcp_servers' . \"h\\u0061ll\" ]\nc = 1\n[b]\n", "NEW\n[b]\n"),
        ("[[mcp_servers.hall]]\na = 1\n[[mcp_servers.hall]]\n[b]\n", "NEW\n[b]\n"),
        ('[mcp_servers.hall]\nc = """\n[b]\n"""\n  [b]\n', "NEW\n  [b]\n"),
        ("[mcp_servers.hall]\nc = [\n [1],\n]\n[b]\n", "NEW\n[b]\n"),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_table_that_is_there_is_replaced_in_its_place(before: str, after: str, line_break: str) -> None:
    before = before.replace("\n", line_break)
    after = after.replace("NEW", '[mcp_servers.hall]\ncommand = "new"').replace("\n", line_break)
    assert with_member(before, SERVERS, "hall", {"command": "new"}) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[mcp_servers.hall]\nc = 1\n", ""),
        ("[mcp_servers.hall]\nc = 1\n\n[b]\n", "[b]\n"),
        ("[a]\n\n[mcp_servers.hall]\nc = 1\n\n\n[b]\n", "[a]\n\n[b]\n"),
        ("[a]\n[mcp_servers.hall]\nc = 1\n[b]\n", "[a]\n[b]\n"),
        ("[a]\n\n# mine\n[mcp_servers.hall]\nc = 1 # c\n\n# b\n[b]\n", "[a]\n\n# mine\n\n# b\n[b]\n"),
        ("[a]\n\n[mcp_servers.hall]\nc = 1\n# d = 2\n\n[b]\n", "[a]\n\n# d = 2\n\n[b]\n"),
        ("[mcp_servers.hall]\n\n[mcp_servers.hall.env]\nA = 1\n\n[b]\n[mcp_servers.hall.x]\n", "[b]\n"),
        ("[mcp_servers.hall]\nc = 1\n\n", "\n"),
        ("\ufeff[mcp_servers.hall]\nc = 1\n\n[b]", "\ufeff[b]"),
        ("[mcp_servers.hall-2]\n[mcp_servers]\n", "[mcp_servers.hall-2]\n[mcp_servers]\n"),
        ("[hall]\nmcp_servers.hall = 1\n", "[hall]\nmcp_servers.hall = 1\n"),
        ("", ""),
    ],
)
def test_a_table_goes_with_its_lines_and_the_comments_around_it_stay(before: str, after: str) -> None:
    assert without_member(before, SERVERS, "hall") == after


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = 1\nmcp_servers = { hall = { c = 1 } }\n", "line 2: `mcp_servers` is written inline: change it by hand"),
        ("[mcp_servers]\nhall = {}\n", "line 2: `mcp_servers.hall` is written inline: change it by hand"),
        ("[mcp_servers]\nhall.c = 1\n", "line 2: `mcp_servers.hall` is written inline: change it by hand"),
        ("\nmcp_servers.hall.c = 1\n", "line 2: `mcp_servers.hall` is written inline: change it by hand"),
        (
            "[mcp_servers]\nhall.c = 1\n[mcp_servers.hall.env]\nA = 1\n",
            "line 2: `mcp_servers.hall` is written inline: change it by hand",
        ),
        ("a = 1\n[[mcp_servers]]\nhall = {}\n", "line 2: `mcp_servers` is no table"),
        ("a = 1\nmcp_servers = 1\n", "line 2: `mcp_servers` is no table"),
    ],
)
def test_what_has_no_lines_of_its_own_is_left_to_people(text: str, complaint: str) -> None:
    assert refusal(lambda: with_member(text, SERVERS, "hall", HALL)) == complaint
    assert refusal(lambda: without_member(text, SERVERS, "hall")) == complaint


def test_nothing_is_added_to_a_table_that_is_written_inline() -> None:
    complaint = refusal(lambda: with_member("mcp_servers = {}\n", SERVERS, "hall", HALL))
    assert complaint == "line 1: `mcp_servers` is written inline: change it by hand"
    assert without_member("mcp_servers = {}\n", SERVERS, "hall") == "mcp_servers = {}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb =\n", "line 2: "),
        ("a = 1\na = 2\n", "line 2: "),
        ("[a]\n\n[a]\n", "line 3: "),
        ('a = "x\n', "line 1: "),
        ('\na = """x\n', "line 3: "),
        ("a = 1\nb = [1\n", "line 3: "),
        ("a = 1\rb = 2", "line 1: "),
        ("a = 1\n\x00", "line 2: "),
        ("\n\ufeffa = 1", "line 2: "),
        ("\na = " + "[" * 129 + "]" * 129, "line 2: nested too deeply"),
        ("\na = " + "[" * 100_000, "line 2: nested too deeply"),
        ("\n" + "a." * 100_000 + "a = 1", "line 2: nested too deeply, or too long a key"),
        ("\n['" + "'.'" * 100_000 + "']", "line 2: nested too deeply, or too long a key"),
        ("\na = { " + "b . " * 32 + "b = 1 }", "line 2: nested too deeply, or too long a key"),
        ("\na = " + "1" * 5000, "line 2: nested too deeply, or too long a key or number"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, line: str) -> None:
    assert refusal(lambda: parse(text)).startswith(line)
    assert refusal(lambda: with_member(text, SERVERS, "hall", HALL)).startswith(line)
    assert refusal(lambda: without_member(text, SERVERS, "hall")).startswith(line)


def test_dots_that_are_not_in_a_key_are_not_counted() -> None:
    text = "a = [" + "1.5, " * 100 + f']\nb = "{"x." * 100}"\n# {"x." * 100}\nc = """\n{"x." * 100}"""\n'
    assert len(parse(text)["a"]) == 100
    assert without_member(with_member(text, SERVERS, "hall", HALL), SERVERS, "hall") == text


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        ('"\\\x00\x1f\x7f\t\n\r\b\f', r'"\"\\\u0000\u001f\u007f\t\n\r\b\f"'),
        ("ä€😀\u2028", '"ä€😀\u2028"'),
        ([1, -2, True, 1.5, 1e22, []], "[1, -2, true, 1.5, 1e+22, []]"),
        ([{"a b": 1, "c": {"d": "e"}}], '[{ "a b" = 1, c = { d = "e" } }]'),
    ],
)
def test_values_are_spelt_so_that_they_read_the_same(value: object, spelling: str) -> None:
    changed = with_member("", SERVERS, "a.b", {"": value})
    assert changed == f'[mcp_servers."a.b"]\n"" = {spelling}\n'
    assert parse(changed) == {"mcp_servers": {"a.b": {"": value}}}
    assert without_member(changed, SERVERS, "a.b") == ""


@pytest.mark.parametrize("value", [None, "\ud800", ["\udc80"], object()])
def test_what_toml_cannot_say_is_refused(value: object) -> None:
    assert refusal(lambda: with_member("", SERVERS, "hall", {"a": value})).startswith("TOML ")


def test_a_path_may_be_empty_or_long() -> None:
    assert with_member("", (), "x", {}) == "[x]\n"
    text = with_member("[a.b]\n", ("a", "b", "c"), "x", {})
    assert text == "[a.b]\n\n[a.b.c.x]\n"
    assert without_member(text, ("a", "b", "c"), "x") == "[a.b]\n"


@pytest.mark.parametrize(
    "text",
    [
        'a = """' + '"" ' * 30_000,
        "a = '''" + "'' " * 30_000,
        '"' * 100_000,
        "[mcp_servers.hall.a]\n" + "\n" * 30_000 + "[mcp_servers.hall.b]\n",
        "[[b]]\n[[mcp_servers.hall]]\n" * 1_000,
        "[mcp_servers.hall]\n" + "".join(f"a{number} = 1\n" for number in range(3_000)),
    ],
    ids=["quotes", "literals", "strings", "lines", "tables", "keys"],
)
def test_the_time_is_linear_in_the_text(text: str) -> None:
    """With the square of the size, any of these would take longer than a test may."""
    assert refusal(lambda: with_member(text, SERVERS, "hall", {})).startswith(("line 1: ", "changed"))
    assert refusal(lambda: without_member(text, SERVERS, "hall")).startswith(("line 1: ", "changed"))


VALUES = st.sampled_from(
    ["1", "nan", "'#'", '"\\""', '"""\n[m.x]\n"""', "'''\n[m.x]'''", "[\n 1, # ]\n [2]\n]", "{ m.x = 1 }", "1979-05-27"]
)
ENDS = st.sampled_from(["\n", "\n\n", " # c\n", "\n# c\n", "\n\n# c\n\n", "\n \t\n"])
HEADERS = ("[m.a]", "[m.x]", "[ m . 'x'.y ]", "[[m.x.z]]", '[m."x y"]', "[n]", "[[o]]", "[o.m.x]")


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a text in which `m.x` may be a table, tables below it, or nothing."""
    pieces = [draw(st.sampled_from(["", "\ufeff"])), draw(st.sampled_from(["", "# c\n", "\n", "k = 1\n"]))]
    for header in draw(st.lists(st.sampled_from(HEADERS), unique=True, max_size=5)):
        if header == "[o.m.x]" and not any(piece.startswith("[[o]]") for piece in pieces):
            continue
        pieces.append(header + draw(ENDS))
        pieces += [f"k{number} = {draw(VALUES)}{draw(ENDS)}" for number in range(draw(st.integers(0, 2)))]
    text = "".join(pieces)
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def said(values: object) -> str:
    """Spell values so that those which are no number are equal."""
    return json.dumps(values, default=str, sort_keys=True)


@settings(max_examples=60)
@given(texts())
def test_a_table_is_added_replaced_and_taken_out_whatever_is_around_it(text: str) -> None:
    before = parse(text)
    added = with_member(text, ("m",), "hall", HALL)
    assert said(parse(added)) == said(with_value(before, ("m",), "hall", HALL))
    assert without_member(added, ("m",), "hall") == text
    assert said(parse(with_member(text, ("m",), "x", HALL))) == said(with_value(before, ("m",), "x", HALL))
    without = parse(without_member(text, ("m",), "x"))
    assert said({"m": {}, **without}) == said(without_value({"m": {}, **before}, ("m",), "x"))


@settings(max_examples=100)
@given(st.text(alphabet="[]{}=.,#'\"\n\r\\ am1\ufeff\ud800", max_size=20), st.integers(1, len(CODEX)))
def test_a_damaged_text_is_refused_with_a_line_or_changed_as_promised(damage: str, index: int) -> None:
    for text in (damage, CODEX[:index] + damage + CODEX[index:], CODEX[: index - 1] + CODEX[index:]):
        assert refusal(partial(judge, text)).startswith(("line ", "changed"))


def judge(text: str) -> None:
    before = parse(text)
    changed = with_member(text, SERVERS, "hall", HALL)
    assert said(parse(changed)) == said(with_value(before, SERVERS, "hall", HALL))
    assert without_member(changed, SERVERS, "hall") == text

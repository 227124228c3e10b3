import json
import re
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.core import limits
from contexthall.core.wire import compact, is_deep, parse, pretty

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)


@given(values)
def test_what_is_spelt_reads_back_the_same(value: object) -> None:
    assert parse(compact(value).encode()) == value
    assert parse(pretty(value).encode()) == value


def test_only_quotes_backslashes_and_controls_are_escaped() -> None:
    assert (
        compact({"é": '"\\/\b\f\n\r\t\x00\x1f\x7f\u2028😀'})
        == '{"é":"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028😀"}'
    )


def test_pretty_is_two_spaces_a_level() -> None:
    assert pretty({"a": {"b": [1]}}) == '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a": Infinity}',
        b"[-Infinity]",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b'"\xff"',
        b'{"a": "\\ud800"}',
        b"[" * 200_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each form has its own words
        parse(data)


def test_at_every_depth_json_is_read_or_refused() -> None:
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit() + 1):
        with suppress(ValueError):
            parse(b"[" * depth + b'"\\u0041"' + b"]" * depth)


def test_how_deep_is_too_deep_depends_on_nobody_and_on_no_string() -> None:
    assert parse(b"[" * limits.NESTED_LEVELS + b"]" * limits.NESTED_LEVELS)
    assert parse(b'["' + b"[{" * 999 + b'\\"[[", "\\\\", [' + b"[]," * 999 + b'"]"]]')
    for deep in (
        b"[" * (limits.NESTED_LEVELS + 1) + b"]" * (limits.NESTED_LEVELS + 1),
        b'{"a":' * 999 + b"1" + b"}" * 999,
    ):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse(deep)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[" * limits.NESTED_LEVELS + b"]" * limits.NESTED_LEVELS, False),
        (b"[" * (limits.NESTED_LEVELS + 1) + b"]" * (limits.NESTED_LEVELS + 1), True),
        (b"[]," * 1000 + b"[" * limits.NESTED_LEVELS, False),
        (b"[]," * 1000 + b"[" * (limits.NESTED_LEVELS + 1), True),
        (b"[" * 100 + b"]" * 10_000 + b"[" * 150, False),
        (b"[" * 100 + b"]" * 101 + b"[" * 200, False),
    ],
)
def test_what_closes_more_than_it_opened_is_no_json_and_so_not_deep(data: bytes, expected: bool) -> None:
    assert is_deep(data) is expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'{"a": 1,}', "Expecting property name enclosed in double quotes: line 1 column 9 (char 8)"),
        (b'{"a": 1 , \n }', "Expecting property name enclosed in double quotes: line 2 column 2 (char 12)"),
        (b"[1,\n ]", "Expecting value: line 2 column 2 (char 5)"),
        (b'{"a": [1, ], }', "Expecting value: line 1 column 11 (char 10)"),
        (b"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"),
    ],
)
def test_every_python_complains_in_the_same_words(text: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        parse(text)


def test_halves_of_surrogate_pairs_pass_where_they_are_welcome() -> None:
    assert parse(b'"\\ud800"', lone_surrogates=True) == "\ud800"
    assert parse(b'"\\ud83d\\ude00"') == "😀"


def test_an_integer_of_any_length_is_read_without_computing_it() -> None:
    assert parse(b"9" * 100) == int("9" * 100)
    assert parse(b'{"count": ' + b"9" * 1_000_000 + b"}") == {"count": float("inf")}
    assert not isinstance(parse(b"-" + b"9" * 5000), int)


def test_json_itself_agrees_on_the_compact_form() -> None:
    assert json.loads(compact({"a": [1, 2.5, None, True]})) == {"a": [1, 2.5, None, True]}

"""JSON is parsed in one way, whichever library does it, and what is left unparsed says the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.core import wire
from contexthall.core.raw_json import encode, parse, top_level

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.booleans())
def test_both_readers_agree_and_what_is_spelt_reads_the_same(value: object, is_ascii: bool) -> None:
    data = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    try:
        expected = wire.parse(data, lone_surrogates=True, exact=True)
    except ValueError:  # a lone surrogate that is no escape
        with pytest.raises(ValueError, match=r"."):
            parse(data)
        return
    assert json.dumps(parse(data)) == json.dumps(expected)
    assert json.dumps(json.loads(encode(value))) == json.dumps(value)


@given(st.binary())
def test_any_bytes_are_read_as_json_reads_them(data: bytes) -> None:
    def outcome(reader: object) -> str:
        try:
            return json.dumps(reader(data))  # type: ignore[operator]
        except ValueError:
            return "no JSON"

    assert outcome(parse) == outcome(lambda data: wire.parse(data, lone_surrogates=True, exact=True))


@given(st.dictionaries(st.text(), JSON))
def test_the_top_level_of_a_result_says_what_the_result_says(value: dict[str, object]) -> None:
    parts = top_level(json.dumps(value).encode())
    assert json.dumps({key: json.loads(bytes(part)) for key, part in parts.items()}) == json.dumps(value)

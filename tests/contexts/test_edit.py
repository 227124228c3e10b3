"""One field changes, and no byte of another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.edit import GONE, change_fields
from contexthall.core.errors import ContextCorruptError

TEXT = """# a comment at the top
version: 1   # the version

summary: |
  Two
  lines.


# about the exports
exports: # machine
  - a
  # in the middle
  - b
dependencies:
  internal:
    - x
  # by hand
  external: [y, z]  # kept
todos: [1,
  2]
# the end
"""


def test_a_field_is_replaced_by_its_lines() -> None:
    changed = change_fields(TEXT, {"exports": ["c: d"]})
    assert changed == TEXT.replace("exports: # machine\n  - a\n  # in the middle\n  - b\n", "exports:\n- 'c: d'\n")


def test_empty_lines_and_comments_around_a_field_stay() -> None:
    assert change_fields(TEXT, {"summary": "New."}) == TEXT.replace("summary: |\n  Two\n  lines.\n", "summary: New.\n")
    assert change_fields(TEXT, {"todos": GONE}) == TEXT.replace("todos: [1,\n  2]\n", "")


def test_a_text_is_replaced_on_its_line() -> None:
    text = "a: 1\nscope:  'old'   # moved often\nlast_updated: now # c\n"
    changed = change_fields(text, {"scope": "new", "last_updated": "2026-01-01T00:00:00Z"})
    assert changed == "a: 1\nscope:  new   # moved often\nlast_updated: '2026-01-01T00:00:00Z' # c\n"


def test_a_nested_field_is_replaced_within_its_field() -> None:
    changed = change_fields(TEXT, {"dependencies.internal": ["new"]})
    assert changed == TEXT.replace("  internal:\n    - x\n", "  internal:\n  - new\n")
    assert change_fields(TEXT, {"dependencies.internal": GONE}) == TEXT.replace("  internal:\n    - x\n", "")


def test_what_is_emptied_goes_as_well() -> None:
    text = "a: 1\ndependencies:\n  internal: [x]\nb: 2\n"
    assert change_fields(text, {"dependencies.internal": GONE}) == "a: 1\nb: 2\n"


def test_a_new_field_comes_last() -> None:
    assert change_fields(TEXT, {"events": ["e"]}) == TEXT.replace("  2]\n", "  2]\nevents:\n- e\n")
    changed = change_fields("a: 1", {"dependencies.external": ["e"]})
    assert changed == "a: 1\ndependencies:\n  external:\n  - e\n"
    changed = change_fields("dependencies:\n  internal: [i]\n", {"dependencies.external": ["e"]})
    assert changed == "dependencies:\n  internal: [i]\n  external:\n  - e\n"


def test_a_nested_field_of_a_flow_mapping_is_written_with_its_siblings() -> None:
    changed = change_fields("dependencies: {internal: [i], external: [e]}\n", {"dependencies.internal": ["n"]})
    assert yaml_text.read(changed) == {"dependencies": {"internal": ["n"], "external": ["e"]}}


def test_lines_end_as_those_of_the_others() -> None:
    assert change_fields("a: 1\r\nb: 2\r\n", {"a": ["x"]}) == "a:\r\n- x\r\nb: 2\r\n"


def test_what_does_not_change_is_not_written() -> None:
    assert change_fields(TEXT, {"todos": [1, 2], "dependencies.external": ["y", "z"], "nobody": GONE}) == TEXT


@pytest.mark.parametrize("text", ["{a: 1, b: 2}", "a: &x 1\nb: *x\n", "? a\n: 1\n"])
def test_what_cannot_be_changed_alone_is_refused(text: str) -> None:
    with pytest.raises(ContextCorruptError):
        change_fields(text, {"a": 5})


words = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | st.lists(st.text(), max_size=3) | st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_is_written_is_read(value: object) -> None:
    assert yaml_text.read(yaml_text.write({"value": value})) == {"value": value}


def test_a_hidden_line_end_is_not_taken_for_an_escape() -> None:
    assert yaml_text.read('a: "\\ue000 \\uE001"\nb: x\u2028y\n') == {"a": "\ue000 \ue001", "b": "x\u2028y"}
    assert yaml_text.read("a: ! 12\n") == {"a": "12"}


@pytest.mark.parametrize(
    "text", ["12345678", "12e45678", "0o17", "yes", "null", "~", "", "a\u2028b", "a\nb", "\n", " a\n b\n\n"]
)
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    assert yaml_text.read(yaml_text.write([text])) == [text]


fields = st.sampled_from(["a", "b", "c", "d", "e.f", "e.g"])


@settings(max_examples=50)
@given(
    before=st.dictionaries(st.sampled_from("abcde"), values, min_size=1),
    changes=st.dictionaries(fields, values | st.just(GONE), min_size=1, max_size=3),
    comment=st.sampled_from(["", "# c\n", "\n", "\n# c\n\n"]),
)
def test_every_other_line_stays(before: dict[str, object], changes: dict[str, object], comment: str) -> None:
    blocks = {key: comment + yaml_text.write({key: value}) for key, value in before.items()}
    text = "version: 1\n" + "".join(blocks.values())
    try:
        changed = change_fields(text, changes)
    except ContextCorruptError:
        pytest.fail("a block mapping can always be changed")
    touched = {name.split(".")[0] for name in changes}
    assert [block for key, block in blocks.items() if key not in touched and block not in changed] == []
    found = yaml_text.read(changed) or {}
    for name, value in changes.items():
        if "." not in name:
            assert found.get(name, GONE) == value or (value is GONE and name not in found)


def test_a_key_with_a_tag_is_found_where_it_was_read() -> None:
    text = "!!int fingerprint: abc\nscope: .\n"
    assert yaml_text.read(text) == {"fingerprint": "abc", "scope": "."}
    start, end, *_ = yaml_text.find_value(text, "fingerprint")
    assert text[start:end] == "abc"

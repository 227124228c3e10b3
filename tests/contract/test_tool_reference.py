"""The tool reference cannot drift: its tables and examples are what the tools take and answer today."""

import json
from pathlib import Path
from typing import Any

import pytest
from docs.calls import Shown
from docs.generate import PAGE, WIDTH, Answer, fields, generated, kind, outputs, page, spelt
from docs.parts import parts, prose, table, with_parts


def answer(value: dict[str, Any]) -> Answer:
    return Answer(arguments={}, text=json.dumps(value), is_error=False)


def marked(name: str, text: str) -> str:
    return f"Before.\n\n<!-- {name} -->\n\n{text}\n\n<!-- end -->\n\nAfter.\n"


def test_the_reference_is_what_the_tools_take_and_answer(tmp_path: Path) -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert page(written, generated(tmp_path)) == written, "type `make docs`, and look at what changed"


def test_a_field_without_a_meaning_is_named() -> None:
    with pytest.raises(LookupError, match=r"^ask: .* no meaning for b\.c$"):
        outputs("ask", {}, Shown(calls=[], meanings={"a": "one", "b": "two"}), [answer({"a": 1, "b": {"c": 2}})])


def test_a_meaning_without_a_field_is_named() -> None:
    with pytest.raises(LookupError, match=r"^ask: .* a meaning for b, which no answer has$"):
        outputs("ask", {}, Shown(calls=[], meanings={"a": "one", "b": "two"}), [answer({"a": 1})])


def test_a_declared_field_has_its_type_and_meaning_from_the_schema() -> None:
    count = {"type": "integer", "minimum": 1, "description": "how many"}
    items = {"type": "object", "properties": {"b": count}}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": items}}}
    rows = outputs("ask", schema, Shown(calls=[], meanings={"a": "all"}), [answer({"a": [{"b": 2}]})])
    assert rows == [["`a`", "array of objects", "All"], ["`a[].b`", "integer, at least 1", "How many"]]


def test_fields_of_all_answers_are_found_each_below_its_object() -> None:
    values: list[dict[str, Any]] = [{"list": [], "end": "x"}, {"list": [{"a": 1}, {"b": True}], "more": 0.5}]
    assert [*fields(values, leaves=())] == [
        ("list", "array of objects"),
        ("list[].a", "integer"),
        ("list[].b", "boolean"),
        ("end", "string"),
        ("more", "number"),
    ]


def test_what_somebody_else_defined_is_not_looked_into() -> None:
    assert [*fields([{"schema": {"type": "object"}}], leaves=["schema"])] == [("schema", "object")]


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer", "minimum": 1}, "integer, at least 1"),
        ({"type": "integer", "minimum": 1, "maximum": 50}, "integer, from 1 to 50"),
        ({"type": "array", "items": {"type": "string"}}, "array of strings"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}, "array of `a`, `b` or `c`"),
    ],
)
def test_a_type_comes_with_its_limits(schema: dict[str, Any], shown: str) -> None:
    assert kind(schema) == shown


def test_json_is_spread_over_lines_only_where_it_must() -> None:
    value = {"short": [1, 2], "long": [{"text": "a" * 60}, {"text": "b" * 60}]}
    lines = spelt(value).splitlines()
    assert json.loads("".join(lines)) == value
    assert '  "short": [1, 2],' in lines
    assert max(map(len, lines)) <= WIDTH


def test_a_cell_cannot_end_its_column() -> None:
    assert table(["a"], [["x | y"]]).endswith("| x \\| y |")


def test_only_what_stands_between_the_marks_changes() -> None:
    assert with_parts(marked("one", "old"), {"one": "new"}) == marked("one", "new")
    two = marked("one", "old") + marked("two", "old")
    assert with_parts(two, {"two": "new"}) == marked("one", "old") + marked("two", "new")
    assert parts(two) == {"one": "old", "two": "old"}
    assert "old" not in prose(two)


def test_a_page_has_exactly_the_parts_that_are_made() -> None:
    with pytest.raises(LookupError, match="the page has no part two"):
        page(marked("one", "old"), {"one": "new", "two": "new"})
    with pytest.raises(LookupError, match="nothing makes the part one"):
        page(marked("one", "old"), {})

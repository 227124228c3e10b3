"""Arguments are judged by the schema of their tool, also where only their types are looked at."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contexthall.core.arguments import ArgumentCheck

PROPERTIES = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "boolean", "integer", "array"])},
    optional={"description": st.just("of no account"), "minLength": st.just(2), "enum": st.just(["aa", True, 1])},
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), PROPERTIES)},
    optional={
        "required": st.lists(st.sampled_from("abc"), unique=True),
        "additionalProperties": st.booleans(),
        "minProperties": st.just(1),
    },
)
ARGUMENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abcd"), st.sampled_from(["", "aa", True, 1, 1.5, None, [], {}])
)


@given(SCHEMAS, ARGUMENTS)
def test_arguments_are_faulty_where_the_schema_says_so(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    is_valid = Draft202012Validator(schema).is_valid(arguments)
    assert (ArgumentCheck(schema).faults(arguments).complaint == "") == is_valid

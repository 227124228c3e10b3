import re

import pytest

from contexthall.core import errors
from contexthall.core.errors import CODES, HallError, exit_code_of

WIRE_MESSAGES = {
    "cache_missing": "Cache does not exist",
    "cache_invalid": "Cache exists but is invalid",
    "invalid_query": "Query is invalid",
    "invalid_budget": "Budget is invalid",
    "io_error": "I/O error occurred",
    "internal_error": "Internal error",
}


def all_errors(parent: type[HallError] = HallError) -> list[type[HallError]]:
    return [error for child in parent.__subclasses__() for error in (child, *all_errors(child))]


def test_the_wire_messages_are_those_of_the_contract() -> None:
    assert {code: CODES[code].message for code in WIRE_MESSAGES} == WIRE_MESSAGES


def test_the_docstring_is_the_tree() -> None:
    rows = re.findall(r"─ (\w+) +(\w+) +(\d+)  ", errors.__doc__ or "")
    assert rows == [(error.__name__, error.code, str(error.exit_code)) for error in all_errors()]


def test_every_code_has_one_exit_code_and_every_exit_code_one_code() -> None:
    assert sorted(error.exit_code for error in CODES.values()) == list(range(1, 12))


@pytest.mark.parametrize(("code", "expected"), [("cache_missing", 4), (None, 9), ("a code of somebody else", 9)])
def test_a_tools_error_decides_the_exit_code(code: str | None, expected: int) -> None:
    assert exit_code_of(code) == expected


def test_an_error_reads_as_its_message_and_its_detail() -> None:
    assert str(errors.CacheMissingError("handbook")) == "Cache does not exist: handbook"
    assert str(errors.CacheMissingError()) == "Cache does not exist"


@pytest.mark.parametrize(
    ("error", "typed"),
    [
        (errors.CacheMissingError, "`context caches`"),
        (errors.CacheInvalidError, "`context verify --cache CACHE`"),
        (errors.ContextMissingError, "`context init`"),
        (errors.ContextCorruptError, "`context init`"),
        (errors.ScopeError, "path from the project root"),
    ],
)
def test_an_error_whose_way_out_is_always_the_same_says_it(error: type[HallError], typed: str) -> None:
    assert typed in error("whatever was wrong").hint
    assert error("whatever was wrong", hint="another way").hint == "another way"


def test_a_members_failure_reads_as_what_agents_are_told_and_what_else_is_known() -> None:
    assert errors.MemberError("it ended", more="its last words: oh").sentence == "it ended (its last words: oh)"
    assert errors.MemberError("it ended").sentence == "it ended"

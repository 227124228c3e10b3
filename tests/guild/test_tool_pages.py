"""A server's tools come page by page, to the last one, and not for ever."""

from collections.abc import Callable
from typing import Any

import pytest

from contexthall.core.errors import MemberError
from contexthall.guild.lists.tool_pages import ToolPages


def test_pages_are_followed_to_the_last() -> None:
    pages = ToolPages()
    assert pages.params == {}
    pages.take({"tools": [1], "nextCursor": "a"})
    assert pages.params == {"cursor": "a"}
    pages.take({"tools": [2]})
    asked: object = pages.params
    assert (pages.tools, asked) == ([1, 2], None)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ({"tools": {}}, "without a list"),
        ({"tools": [], "nextCursor": "a"}, "never end"),
        ({"tools": [], "nextCursor": 5}, "never end"),
        ({"tools": [0] * 100_001, "nextCursor": "b"}, "more than 100000 tools"),
    ],
)
def test_pages_that_are_none_or_never_end_are_an_error(page: dict[str, Any], sentence: str) -> None:
    pages = ToolPages()
    pages.take({"tools": [], "nextCursor": "a"})
    take: Callable[[dict[str, Any]], None] = pages.take
    with pytest.raises(MemberError, match=sentence):
        take(page)

"""Docstrings become Markdown that adds no heading to a page, and hides none that comes after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.caches.model.markdown import headings
from contexthall.caches.packages.api import ApiMember, ApiPage
from contexthall.caches.packages.docstrings import to_markdown
from contexthall.caches.packages.rendering import render
from contexthall.core import limits

_LINES = st.sampled_from(
    [
        "", "text", "# hash", "   ## hash", "===", "---", "-", "  ---", "```", "````", "~~~", "  ```", "    ```",
        "```py", "<div>", "<!--", "<pre>", "</x", "- item", "  - item", "> quote", ">>> code", "1. one", "    code",
        "\t# tab", "Title\r===", "a\x0b# b", "[x]: y", "\\", "| a |", "***", "`` ` ``", "<?php", "<![CDATA[",
    ]
)  # fmt: skip


@given(st.lists(_LINES, max_size=12))
def test_no_docstring_has_headings_or_hides_the_next(lines: list[str]) -> None:
    page = f"# First\n\n{to_markdown(chr(10).join(lines))}\n\n## Last\n"
    assert [each.text for each in headings(page)] == ["First", "Last"]


@given(st.lists(_LINES, max_size=12))
def test_neither_has_what_is_said_of_a_parameter(lines: list[str]) -> None:
    text = "\n".join(lines)
    member = ApiMember("f", ("def f(x)",), text, (), (("x", text), ("y", text)))
    page = render(ApiPage("m", text, members=(member, member)), "About.", "python")
    assert [each.text for each in headings(page)] == ["m", "f", "f"]


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("One line.", "One line."),
        ("\n    Indented.\n\n        More.\n    ", "Indented.\n\n    More."),
        ("Sum.\n\n    Parameters\n    ----------\n    x : int", "Sum.\n\n**Parameters**\n\nx : int"),
        ("## Example\n```python\n# a comment\n```", "**Example**\n```python\n# a comment\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("add(x)\n--\n\nAdd.", "Add."),
        ("bell\x07 and \ud800", "bell and"),
    ],
)
def test_a_docstring_stays_readable(docstring: str, expected: str) -> None:
    assert to_markdown(docstring) == expected


def test_a_docstring_is_cut_where_nobody_reads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PACKAGE_DOCSTRING_CHARACTERS", 5)
    assert to_markdown("123456") == "12345…"

"""The section of AGENTS.md about the contexts; the rest of the file is not ours.

Pure. The section is between two comments, which dotcontext uses as well. Text from the project cannot end it or
forge it, and it has a bound.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from contexthall.core import limits
from contexthall.core.text import known, truncated

AGENTS_FILE = "AGENTS.md"
_BEGIN, _END = "<!-- dotcontext:agents-section -->", "<!-- dotcontext:agents-section-end -->"
_SECTION = re.compile(
    rf"^{re.escape(_BEGIN)}\r?\n(?:(?!{re.escape(_BEGIN)}).)*?^{re.escape(_END)}\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
"""Both comments on lines of their own, with no other beginning in between: else it is prose that quotes them."""
_SMALL = 4096
_PLAIN = r"\w\s.,;:'()/+@#%&=?!–—…*\"\-"
_NOT_IN_SCOPES = re.compile(rf"[^{_PLAIN}\[\]{{}}$~]")
"""A scope is written as a code span, where brackets are not a link, and a backtick would end it."""
_NOT_IN_SUMMARIES = re.compile(rf"[^{_PLAIN}>`“”‘’]")
_HEADING = "# AGENTS.md\n\n"
_GUIDE = """## Contexts

A `.context.yaml` in a directory says what the directory is for: its summary, decisions with their reasons, constraints
and exports. Over MCP, `list_contexts`, `query_context` and `check_freshness` serve them.

- Before you work in a directory, read its context: `context show DIRECTORY`.
- A stale context describes the directory as it was; `context status` says which are stale.
- After you changed a directory, type `context regen DIRECTORY`: it drafts anew the fields that `derived_fields` names.
- When you write such a field yourself, take its name out of `derived_fields`; all others were written by people.
"""


class Row(NamedTuple):
    """A directory and what it is for."""

    scope: str
    summary: str
    has_words: bool = False
    """Whether people wrote some of its context."""
    size: int = 0
    """Of its source files, in bytes."""


def with_section(text: str, rows: Sequence[Row]) -> str:
    """Return the text of AGENTS.md with a section about these directories, which replaces the one it has."""
    section = _section(rows).replace("\n", "\r\n" if "\r\n" in text else "\n")
    found = _SECTION.search(text)
    if found:
        return text[: found.start()] + section + text[found.end() :]
    if not text.strip():
        return _HEADING + section
    end = "\r\n" if "\r\n" in text else "\n"
    return text.rstrip("\r\n") + end + end + section


def without_section(text: str) -> str:
    """Return what others wrote into AGENTS.md: nothing if there is only our section, below the heading we gave it."""
    rest = _SECTION.sub("", text)
    return "" if rest != text and rest.strip() == _HEADING.strip() else rest


def _section(rows: Sequence[Row]) -> str:
    chosen = sorted(rows, key=_weight)[: limits.AGENTS_ROWS]
    lines = [
        f"| `{_cell(row.scope, _NOT_IN_SCOPES, limits.AGENTS_SCOPE_CHARACTERS)}` "
        f"| {_cell(row.summary, _NOT_IN_SUMMARIES, limits.AGENTS_SUMMARY_CHARACTERS)} |\n"
        for row in chosen
    ]
    more = len(rows) - len(chosen)
    rest = f"\nAnd {more} more: `context status` lists them all.\n" if more else ""
    table = "".join(["\n| directory | what it is for |\n| --- | --- |\n", *lines]) if lines else ""
    return f"{_BEGIN}\n{_GUIDE}{table}{rest}{_END}\n"


def _weight(row: Row) -> tuple[bool, int, str]:
    """Order directories: what people wrote about first, then the large ones.

    Size counts by doublings of 4 KiB: few edits change the order, and branches that both draft merge.
    """
    return not row.has_words, 0 if row.has_words else -(row.size // _SMALL).bit_length(), row.scope


def _cell(text: str, unwanted: re.Pattern[str], longest: int) -> str:
    """Write text from the project so that it stays in its cell: one line, no link, no comment, not too long."""
    return truncated(" ".join(unwanted.sub(" ", known(text)).replace("--", "-").split()), longest)

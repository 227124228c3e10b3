"""Pages of Markdown: one a module, with a heading for each class, function and method.

Pure. A heading is the name by which a reader would ask; the declaration stands below it, then the documentation.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contexthall.caches.packages.api import ApiMember, ApiPage
from contexthall.caches.packages.docstrings import to_markdown

_DEEPEST = 6


class PackagePage(NamedTuple):
    """A page that was found in a package, or made of its source: where it shall be, and its text."""

    path: str
    text: str


def render(page: ApiPage, about: str, language: str) -> str:
    """Return the page of a module; `about` says which package and version it is of."""
    parts = [f"# {page.name}", about, to_markdown(page.doc)]
    if page.attributes:
        parts.append(_fenced(page.attributes, language))
    parts += _notes(page.notes)
    if page.elsewhere:
        parts.append("Also here: " + ", ".join(f"`{name}` ({place})" for name, place in page.elsewhere) + ".")
    for member in page.members:
        parts += _member(member, member.name, 2, language)
    return "\n\n".join(filter(None, parts)) + "\n"


def _member(member: ApiMember, name: str, level: int, language: str) -> Iterator[str]:
    yield f"{'#' * min(level, _DEEPEST)} {name}"
    yield _fenced(member.declarations, language)
    if member.also:
        yield "Also " + ", ".join(f"`{each}`" for each in member.also) + "."
    yield to_markdown(member.doc)
    yield from _notes(member.notes)
    for each in member.members:
        yield from _member(each, f"{name}.{each.name}", level + 1, language)


def _notes(notes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the documentation of parameters and attributes as a list."""
    items = [
        f"- `{name}`: " + to_markdown(text).replace("\n", "\n  ").replace("\n  \n", "\n\n") for name, text in notes
    ]
    if items:
        yield "\n".join(items)


def _fenced(lines: Iterable[str], language: str) -> str:
    return "\n".join([f"```{language}", *lines, "```"])

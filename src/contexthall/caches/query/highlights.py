"""Where the words of a query stand in a text, for people to see. Pure."""

from collections.abc import Collection
from typing import TypeAlias

from contexthall.caches.index.terms import spans

Pieces: TypeAlias = tuple[str, ...]
"""A text in pieces: what matches a query is every second one, from the second on."""


def pieces(text: str, wanted: Collection[str]) -> Pieces:
    """Cut a text where words begin and end that have one of the wanted terms."""
    found, at = list[str](), 0
    for start, end in spans(text, wanted):
        if found and start == at:
            found[-1] += text[start:end]
        else:
            found += text[at:start], text[start:end]
        at = end
    return (*found, text[at:])

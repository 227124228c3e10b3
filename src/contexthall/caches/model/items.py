"""The items of a reply: sections as JSON and as text, and what they cost. Pure."""

import re
from collections.abc import Sequence
from functools import cached_property
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from contexthall.caches.model.document import version_of
from contexthall.core.tokens import BYTES_PER_TOKEN

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NO_MARK = "0" * 8
_NO_VERSION = f"sha256:{'0' * 64}"  # as long as any
_SHORT_DIGITS = 12


class _ItemFields(NamedTuple):
    id: str
    title: str
    first_line: int
    last_line: int
    content: str


class Item(_ItemFields):
    """A section as a reply shows it."""

    @cached_property
    def version(self) -> str:
        return version_of(self.content.encode())

    @cached_property
    def _quoted_content(self) -> str:
        return quoted(self.content)

    @property
    def size(self) -> int:
        """How many bytes the content has."""
        return _size(self.content)

    @property
    def tokens(self) -> int:
        return -(-self.size // BYTES_PER_TOKEN)

    def json(self, middle: str = "", last: str = "") -> str:
        """Return the section as JSON, with more fields before and after its cost."""
        return self._json(self.version, self._quoted_content, middle, last)

    def ranked_json(self, score: object, matched: str) -> str:
        """Return the section as a ranking shows it; `matched` is a list in JSON."""
        return self.json(*_ranked(score, matched))

    def text(self, place: object, mark: str = _NO_MARK) -> str:
        """Return the section for reading."""
        return f"{self._head(place, mark, self.version)}{self.content}{self._ending}"

    def costs(self) -> tuple[int, int]:
        """Return what the section costs as JSON, without score and matches, and as text, without its place."""
        as_json = _size(self._json(_NO_VERSION, "", *_ranked("", ""))) + _size(self._quoted_content)
        as_text = _size(self._head("", _NO_MARK, _NO_VERSION)) + self.size + len(self._ending)
        return as_json + 1, as_text

    def _json(self, version: str, content: str, middle: str, last: str) -> str:
        return (
            f'{{"id":{quoted(self.id)},"version":"{version}","title":{quoted(self.title)},'
            f'"lines":[{self.first_line},{self.last_line}],"content":{content},{middle}"tokens":{self.tokens}{last}}}'
        )

    def _head(self, place: object, mark: str, version: str) -> str:
        short = version[: len("sha256:") + _SHORT_DIGITS]
        lines = f"lines {self.first_line}-{self.last_line}"
        return f"=== {mark} {place} {on_one_line(self.id)} {lines} {short}\n{on_one_line(self.title)}\n\n"

    @property
    def _ending(self) -> str:
        return "\n" if self.content.endswith(("\n", "\r")) else "\n\n"


def _ranked(score: object, matched: str) -> tuple[str, str]:
    return f'"score":{score},', f',"why":{{"matched":{matched}}}'


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def on_one_line(text: str) -> str:
    """Return text without control characters."""
    return _CONTROL.sub(" ", text)


def string_list(values: Sequence[str]) -> str:
    """Return a list of strings as JSON."""
    return f"[{','.join(map(quoted, values))}]"

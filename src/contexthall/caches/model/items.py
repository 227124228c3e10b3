"""The items of a reply: sections as JSON and as text, and what they cost. Pure."""

import re
from collections.abc import Sequence
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from contexthall.caches.model.document import version_of
from contexthall.core.tokens import tokens

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NO_MARK = "0" * 8
_SHORT_DIGITS = 12


class Item(NamedTuple):
    """A section as a reply shows it."""

    id: str
    title: str
    first_line: int
    last_line: int
    content: str

    @property
    def version(self) -> str:
        return version_of(self.content.encode())

    @property
    def tokens(self) -> int:
        return tokens(self.content.encode())

    def json(self, middle: str = "", last: str = "") -> str:
        """Return the section as JSON, with more fields before and after its cost."""
        return (
            f'{{"id":{quoted(self.id)},"version":"{self.version}","title":{quoted(self.title)},'
            f'"lines":[{self.first_line},{self.last_line}],"content":{quoted(self.content)},{middle}'
            f'"tokens":{self.tokens}{last}}}'
        )

    def ranked_json(self, score: object, matched: str) -> str:
        """Return the section as a ranking shows it; `matched` is a list in JSON."""
        return self.json(f'"score":{score},', f',"why":{{"matched":{matched}}}')

    def text(self, place: object, mark: str = _NO_MARK) -> str:
        """Return the section for reading."""
        version = self.version[: len("sha256:") + _SHORT_DIGITS]
        ending = "" if self.content.endswith(("\n", "\r")) else "\n"
        return (
            f"=== {mark} {place} {on_one_line(self.id)} lines {self.first_line}-{self.last_line} {version}\n"
            f"{on_one_line(self.title)}\n\n{self.content}{ending}\n"
        )

    def costs(self) -> tuple[int, int]:
        """Return what the section costs as JSON, without score and matches, and as text, without its place."""
        return len(self.ranked_json("", "").encode()) + 1, len(self.text("").encode())


def on_one_line(text: str) -> str:
    """Return text without control characters."""
    return _CONTROL.sub(" ", text)


def string_list(values: Sequence[str]) -> str:
    """Return a list of strings as JSON."""
    return f"[{','.join(map(quoted, values))}]"

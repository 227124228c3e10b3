"""Redaction of a member's words: values that the hall filled in from its environment are neither shown nor kept.

They may be secrets, and servers print them. Each becomes `${NAME}` again, which says more than stars would. Pure.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import AnyStr
from urllib.parse import quote, quote_plus

# What is shorter is no secret, and stands in many words by chance; of a value of several words, each counts by itself.
_SHORTEST = 4
_SHORTEST_WORD = 8
# What a terminal takes for a colour or a movement may cut a value in two, and so may a lone escape, which a colour that
# is taken out could otherwise complete; the second may be the beginning of one.
_COLOUR = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[ -/]{1,8}[0-~])?")
_COLOUR_IN_TEXT = re.compile(_COLOUR.pattern.decode("ascii"))
_COLOUR_BEGUN = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|[ -/]{1,8})?\Z")


class Redactor:
    """Puts the names of variables in the place of their values."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._names = {form: name for name, value in sorted(values.items()) for form in _forms(value)}
        self._byte_names = {form.encode("utf-8", "surrogateescape"): name for form, name in self._names.items()}
        # An alternation of nothing would match everywhere; the NUL makes this one pass over a text at memchr's speed.
        self._pattern = re.compile("|".join(map(re.escape, _longest_first(self._names))) or "\0(?!)")
        self._byte_pattern = re.compile(b"|".join(map(re.escape, _longest_first(self._byte_names))) or b"\0(?!)")

    def text(self, text: str) -> str:
        """Return a text without the values; it keeps its colours, because it is passed on, unless they hide one."""
        plain = _COLOUR_IN_TEXT.sub("", text)
        if len(self._pattern.findall(plain)) > len(self._pattern.findall(text)):
            text = plain
        return self._pattern.sub(lambda found: f"${{{self._names[found[0]]}}}", text)

    def data(self, data: bytes) -> bytes:
        """Return bytes without the values, and without colours."""
        data = _COLOUR.sub(b"", data)
        return self._byte_pattern.sub(lambda found: f"${{{self._byte_names[found[0]]}}}".encode(), data)

    def settled(self, data: bytes) -> int:
        """Return how many bytes can be judged whatever follows: at the end may be the beginning of a value."""
        end = len(data) - max((_overlap(data, form) for form in self._byte_names), default=0)
        across = (found.start() for found in self._byte_pattern.finditer(data) if found.start() < end < found.end())
        return next(across, end)


class RedactedStream:
    """Bytes that come in pieces, at whose ends values may be cut in two."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on; the beginning of a value is held until it is known what follows."""
        data = self._held + data
        begun = found.start() if (found := _COLOUR_BEGUN.search(data)) is not None else len(data)
        plain = _COLOUR.sub(b"", data[:begun])
        end = self._redactor.settled(plain)
        self._held = plain[end:] + data[begun:]
        return self._redactor.data(plain[:end])

    def finish(self) -> bytes:
        """Return what is left: nothing follows."""
        held, self._held = self._held, b""
        return self._redactor.data(held)


def _longest_first(forms: Mapping[AnyStr, str]) -> list[AnyStr]:
    return sorted(forms, key=lambda form: (-len(form), form))


def _forms(value: str) -> Iterator[str]:
    """Return the ways in which a value may be printed; its lines one by one too, and its longer words."""
    words = [word for word in value.split() if len(word) >= _SHORTEST_WORD]
    parts = (value, value.strip(), *value.splitlines(), *words)
    plain = [_COLOUR.sub(b"", part.encode("utf-8", "surrogateescape")) for part in parts]  # as it is looked for
    for part in dict.fromkeys((*parts, *(each.decode("utf-8", "surrogateescape") for each in plain))):
        if len(part.strip()) >= _SHORTEST:
            yield from (part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1], repr(part)[1:-1])
            data = part.encode("utf-8", "surrogateescape")
            yield from (
                repr(data)[2:-1],
                quote(data),
                quote(data, safe=""),
                quote(data, safe="!'()*"),
                quote_plus(data),
            )


def _overlap(data: bytes, form: bytes) -> int:
    """Return the length of the longest beginning of `form`, short of all of it, with which `data` ends."""
    start = data.find(form[:1], max(0, len(data) - len(form) + 1))
    while start >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start = data.find(form[:1], start + 1)
    return 0

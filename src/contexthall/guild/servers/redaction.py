"""What of a member's words may be shown, logged or kept? All but values that the hall filled in from its environment.

They may be secrets, and servers print them. Each becomes `${NAME}` again, which says more than stars would. Pure.
"""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

# What is shorter is no secret, and stands in many words by chance.
_SHORTEST = 4


class Redactor:
    """Puts the names of variables in the place of their values."""

    def __init__(self, values: Mapping[str, str]) -> None:
        found = {form: name for name, value in sorted(values.items()) for form in _forms(value)}
        self._names = {form.encode("utf-8", "surrogateescape"): name.encode() for form, name in found.items()}
        longest_first = sorted(self._names, key=lambda form: (-len(form), form))
        self._forms = re.compile(b"|".join(map(re.escape, longest_first))) if found else None

    def text(self, text: str) -> str:
        """Return a text without the values."""
        if self._forms is None:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return bytes without the values."""
        return data if self._forms is None else self._forms.sub(lambda found: b"${%s}" % self._names[found[0]], data)

    def stream(self) -> "RedactedStream":
        """Return what does the same to bytes that come in pieces."""
        return RedactedStream(self)

    def settled(self, data: bytes) -> int:
        """Return how many bytes can be judged whatever follows: at the end may be the beginning of a value."""
        if self._forms is None:
            return len(data)
        end = len(data) - max(_overlap(data, form) for form in self._names)
        across = (found.start() for found in self._forms.finditer(data) if found.start() < end < found.end())
        return next(across, end)


class RedactedStream:
    """Bytes that come in pieces, at whose ends values may be cut in two."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on; the beginning of a value is held until it is known what follows."""
        data = self._held + data
        end = self._redactor.settled(data)
        self._held = data[end:]
        return self._redactor.data(data[:end])

    def finish(self) -> bytes:
        """Return what is left: nothing follows."""
        held, self._held = self._held, b""
        return self._redactor.data(held)


def _forms(value: str) -> Iterator[str]:
    """Give the ways in which a value may be printed, its lines one by one too."""
    for part in (value, value.strip(), *value.splitlines()):
        for form in (part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1], repr(part)[1:-1]):
            if len(form.strip()) >= _SHORTEST:
                yield form
        if len(part) >= _SHORTEST:
            yield quote(part, safe="", errors="surrogateescape")


def _overlap(data: bytes, form: bytes) -> int:
    """Return the length of the longest beginning of `form`, short of all of it, with which `data` ends."""
    start = data.find(form[:1], max(0, len(data) - len(form) + 1))
    while start >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start = data.find(form[:1], start + 1)
    return 0

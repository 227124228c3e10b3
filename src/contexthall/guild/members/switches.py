"""Which tools of a member are switched on? Patterns in its manifest, and how they are edited without another change.

Pure. `"tools": {"allow": [...], "deny": [...]}`: a tool is on if `allow` is absent or matches it, and `deny` does not.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from contexthall.core.errors import UsageError

EVERYTHING = "*"
KEY = "tools"
_BLANKS = re.compile(r"[ \t\n\r]*")
_MAGIC = re.compile(r"[*?[]")
_INDENTED = re.compile(r"\{\s*\n([ \t]+)\"")


class Switches(NamedTuple):
    """The patterns of tools that are on, and of those that are off."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def is_on(self, tool: str) -> bool:
        return (self.allow is None or _matches(tool, self.allow)) and not _matches(tool, self.deny)

    def turned_off(self, tools: Iterable[str]) -> "Switches":
        """Return the switches with these tools off, or all if none is named."""
        named = tuple(tools)
        off = [_exactly(tool) for tool in dict.fromkeys(named) if self.is_on(tool)] if named else [EVERYTHING]
        return self._replace(deny=(*self.deny, *(each for each in off if each not in self.deny)))

    def turned_on(self, tools: Iterable[str]) -> "Switches":
        """Return the switches with these tools on, or with all on that no other pattern keeps off.

        UsageError if a pattern keeps off one that is named: to drop it would turn others on.
        """
        wanted = tuple(dict.fromkeys(tools))
        dropped = {EVERYTHING, *wanted, *map(_exactly, wanted)}
        deny = tuple(each for each in self.deny if each not in dropped)
        allow = self.allow
        if wanted and EVERYTHING in self.deny and allow is None:
            allow = ()  # all others stay off
        for tool in wanted:
            if keeping := [each for each in deny if fnmatchcase(tool, each)]:
                raise UsageError(
                    f"{tool} is switched off by the pattern {keeping[0]}",
                    hint=f"edit `{KEY}.deny` in the manifest of the member",
                )
        if allow is not None:
            allow = (*allow, *(_exactly(tool) for tool in wanted if not _matches(tool, allow)))
        return Switches(allow, deny)

    def to_json(self) -> dict[str, list[str]]:
        lists = {"allow": self.allow, "deny": self.deny or None}
        return {key: list(patterns) for key, patterns in lists.items() if patterns is not None}


def edited(manifest: bytes, switches: Switches) -> bytes:
    """Return the bytes of a manifest with other switches; every other character stays."""
    mark = BOM_UTF8 if manifest.startswith(BOM_UTF8) else b""
    text = manifest.removeprefix(BOM_UTF8).decode("utf-8")
    found = _INDENTED.search(text)
    value = json.dumps(switches.to_json(), ensure_ascii=False)
    spans = dict(_spans(text))
    if KEY in spans:
        start, end = spans[KEY]
        text = text[:start] + value + text[end:]
    else:
        _, last = list(spans.values())[-1]
        gap = f",\n{found[1]}" if found else ", "
        text = f"{text[:last]}{gap}{json.dumps(KEY)}: {value}{text[last:]}"
    return mark + text.encode("utf-8")


def _spans(text: str) -> Iterable[tuple[str, tuple[int, int]]]:
    """Yield the keys of a JSON object, which has some, and where their values stand."""
    decode = json.JSONDecoder().raw_decode
    at = _after_blanks(text, 0)
    while text[at] != "}":
        key, at = decode(text, _after_blanks(text, at + 1))  # after the brace or the comma
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        _, end = decode(text, start)
        yield key, (start, end)
        at = _after_blanks(text, end)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _matches(tool: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)


def _exactly(tool: str) -> str:
    """Return the pattern that matches this name alone."""
    return _MAGIC.sub(r"[\g<0>]", tool)

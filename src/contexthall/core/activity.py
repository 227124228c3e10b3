"""What did agents call, and what came of it? Lines of a journal, and what they add up to. Pure.

A line never holds what was asked or answered, unless the journal is kept in full, and a credential not even then.
"""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from contexthall.core import limits
from contexthall.core.secrets import NAME_PATTERN, is_secret_name, may_be_key
from contexthall.core.text import is_printable
from contexthall.core.wire import replace_lone_surrogates

Outcome: TypeAlias = Literal["ok", "error", "unknown", "cancelled", "failed"]
Redact: TypeAlias = Callable[[str], str]
"""Returns a text without the secrets that are known."""
WITHHELD = "(may be a secret)"
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAMED_VALUE = re.compile(
    rf"((?:{NAME_PATTERN})[\w.-]{{0,64}}[\"'\]\\]{{0,4}}\s{{0,8}}[:=]\s{{0,8}})[^\r\n]+", re.IGNORECASE
)
_MARKUP = re.compile(r"(?:<|&lt;|\\u003c)[\w/!?]", re.IGNORECASE)
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\Z"
_COUNT = msgspec.Meta(ge=0, lt=limits.JOURNAL_MOST)


class Activity(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="v", tag=1):
    """One call; the tag is the version of the format."""

    time: Annotated[str, msgspec.Meta(pattern=_TIME)]
    """When it was begun, as RFC 3339 in UTC, to the millisecond."""
    client: str
    tool: str
    """Empty if what was called cannot be a tool's name."""
    ms: Annotated[float, _COUNT]
    bytes: Annotated[int, _COUNT]
    """Of the answer."""
    outcome: Outcome
    cache: str = ""
    scope: str = ""
    ids: tuple[str, ...] = ()
    """Of the sections that the answer holds."""
    arguments: str = ""
    """Like `result` only in a journal that is kept in full; the beginning of a longer one."""
    result: str = ""


_ENCODED = msgspec.json.Encoder().encode
_DECODED = msgspec.json.Decoder(Activity).decode


class ToolSummary(NamedTuple):
    """What the calls of a tool add up to."""

    tool: str
    calls: int
    errors: int
    median_ms: float
    longest_ms: float


def to_line(activity: Activity) -> bytes:
    """Return a line of the journal; what is empty is left out."""
    return _ENCODED(activity) + b"\n"


def parse_line(line: bytes) -> Activity | None:
    """Return what a line says; None for one that was cut, is forged, or is of another version."""
    if len(line) > limits.JOURNAL_LINE_BYTES:
        return None
    try:
        return _DECODED(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1024)  # a call shall cost microseconds, and most names are met again
def tool_name(name: str) -> str:
    """Return a name as the journal keeps it: what cannot be a tool's may be anything, and is left out."""
    return name if _TOOL.fullmatch(name) and not may_be_key(name) else ""


def short(value: object) -> str:
    """Return a text as the journal keeps it: the beginning, printable, and no credential."""
    return _word(value[: limits.JOURNAL_WORD_CHARACTERS]) if isinstance(value, str) else ""


@lru_cache(maxsize=1024)
def _word(text: str) -> str:
    if may_be_key(text):
        return WITHHELD
    return text if is_printable(text) else "".join(each if is_printable(each) else " " for each in text)


def in_full(value: object, redact: Redact = str) -> str:
    """Return a value as a journal that is kept in full has it, without what may be a credential or is known as one."""
    try:
        text = json.dumps(_Withholding(redact).value(value), ensure_ascii=False, default=str)
    except RecursionError:
        return f'"{WITHHELD}"'
    return replace_lone_surrogates(redact(text)[: limits.JOURNAL_TEXT_CHARACTERS])


class _Withholding:
    """Takes out of one value what may be a credential, and leaves out what the journal has no room for."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._room = limits.JOURNAL_TEXT_CHARACTERS
        self._unread = limits.JOURNAL_READ_CHARACTERS

    def value(self, value: object) -> object:
        self._room -= 1  # nothing takes less
        if isinstance(value, dict):
            return {
                (name := self._text(str(key))): WITHHELD if is_secret_name(name) else self.value(each)
                for key, each in takewhile(self._goes_on, value.items())
            }
        if isinstance(value, list | tuple):
            return [self.value(each) for each in takewhile(self._goes_on, value)]
        return self._text(value) if isinstance(value, str) else value

    def _goes_on(self, _each: object) -> bool:
        return self._room > 0 and self._unread > 0

    def _text(self, text: str) -> str:
        """Return the beginning of a text, which may be JSON, without what belongs to the name of a credential."""
        if text.lstrip().startswith(("{", "[")):
            with suppress(ValueError):
                return json.dumps(self.value(json.loads(text)), ensure_ascii=False)
        text = self._redact(text)
        shown = text[: limits.JOURNAL_TEXT_CHARACTERS]
        is_markup = _MARKUP.search(shown) is not None
        if is_markup and len(text) > limits.JOURNAL_READ_CHARACTERS:
            return WITHHELD
        # What is cut in two, such as `://user:password@host`, is recognized by what follows.
        read = text if is_markup else text[: 2 * limits.JOURNAL_TEXT_CHARACTERS]
        self._unread -= len(read)
        if may_be_key(read) or (is_markup and is_secret_name(read)):
            return WITHHELD
        shown = _NAMED_VALUE.sub(rf"\1{WITHHELD}", shown)
        self._room -= len(shown)
        return shown


def summaries(activities: Iterable[Activity]) -> list[ToolSummary]:
    """Return what the calls of each tool add up to, the most called one first."""
    by_tool: dict[str, list[Activity]] = {}
    for activity in activities:
        by_tool.setdefault(activity.tool, []).append(activity)
    found = [_summary(tool, calls) for tool, calls in by_tool.items()]
    return sorted(found, key=lambda each: (-each.calls, each.tool))


def _summary(tool: str, calls: list[Activity]) -> ToolSummary:
    times = sorted(each.ms for each in calls)
    errors = sum(each.outcome not in ("ok", "cancelled") for each in calls)
    return ToolSummary(tool, len(calls), errors, times[(len(times) - 1) // 2], times[-1])

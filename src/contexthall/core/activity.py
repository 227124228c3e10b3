"""What did agents call, and what came of it? Lines of a journal, and what they add up to. Pure.

A line never holds what was asked or answered, unless the journal is kept in full, and a credential not even then.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import asdict

from contexthall.core import limits
from contexthall.core.secrets import NAME_PATTERN, is_secret_name, may_be_key
from contexthall.core.text import is_printable

VERSION = 1
Outcome: TypeAlias = Literal["ok", "error", "unknown", "cancelled", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("ok", "error", "unknown", "cancelled", "failed")
WITHHELD = "(may be a secret)"
_ENCODED = msgspec.json.Encoder().encode
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAMED_VALUE = re.compile(
    rf"((?:{NAME_PATTERN})[\w.-]{{0,64}}[\"'\]]{{0,2}}\s{{0,8}}[:=]\s{{0,8}})[^\r\n]+", re.IGNORECASE
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Activity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="v", tag=VERSION):
    """One call. What is empty has a default, and is left out of its line."""

    time: str
    """When it was begun, as RFC 3339 in UTC, to the millisecond."""
    client: str = ""
    tool: str = ""
    """Empty if what was called cannot be a tool's name."""
    ms: float
    bytes: int
    """Of the answer."""
    outcome: Outcome
    cache: str = ""
    scope: str = ""
    ids: tuple[str, ...] = ()
    """Of the sections that the answer holds."""
    arguments: str = ""
    """Like `result` only in a journal that is kept in full; the beginning of a longer one."""
    result: str = ""


class ToolSummary(NamedTuple):
    """What the calls of a tool add up to."""

    tool: str
    calls: int
    errors: int
    median_ms: float
    longest_ms: float


def to_line(activity: Activity) -> bytes:
    """Return a line of the journal."""
    try:
        return _ENCODED(activity) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which json escapes
        kept = {key: value for key, value in asdict(activity).items() if value or key in ("ms", "bytes")}
        return json.dumps({"v": VERSION} | kept).encode("ascii") + b"\n"


def parse_line(line: bytes) -> Activity | None:
    """Return what a line says; None for one that was cut, is forged, or is of another version."""
    if len(line) > limits.JOURNAL_LINE_BYTES:
        return None
    try:
        kept = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(kept, dict) or kept.pop("v", None) != VERSION or not _is_sound(kept):
        return None
    known = {key: value for key, value in kept.items() if key in Activity.__struct_fields__}
    return Activity(**{**known, "ids": tuple(kept.get("ids", ()))})


def _is_sound(kept: Mapping[str, Any]) -> bool:
    texts = ("client", "tool", "cache", "scope", "arguments", "result")
    ids = kept.get("ids", [])
    return (
        isinstance(kept.get("time"), str)
        and _TIME.fullmatch(kept["time"]) is not None
        and kept.get("outcome") in OUTCOMES
        and all(_is_count(kept.get(key)) for key in ("ms", "bytes"))
        and isinstance(kept.get("bytes"), int)
        and all(isinstance(kept.get(key, ""), str) for key in texts)
        and isinstance(ids, list)
        and all(isinstance(each, str) for each in ids)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < limits.JOURNAL_MOST


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


def in_full(value: object) -> str:
    """Return a value as a journal that is kept in full has it, without what may be a credential."""
    text = json.dumps(_without_secrets(value), ensure_ascii=False, default=str)
    return text[: limits.JOURNAL_TEXT_CHARACTERS]


def _without_secrets(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: WITHHELD if is_secret_name(str(key)) else _without_secrets(each) for key, each in list(value.items())
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(each) for each in value]
    return _text_without_secrets(value) if isinstance(value, str) else value


def _text_without_secrets(text: str) -> str:
    """Return the beginning of a text, which may be JSON, without the rest of lines that name a credential."""
    if may_be_key(text):
        return WITHHELD
    if text.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            text = json.dumps(_without_secrets(json.loads(text)), ensure_ascii=False)
            return text[: limits.JOURNAL_TEXT_CHARACTERS]
    return _NAMED_VALUE.sub(rf"\1{WITHHELD}", text[: limits.JOURNAL_TEXT_CHARACTERS])


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

"""Renderings of the guild: tables and sentences for people, JSON for scripts, and what to type next.

What members say of themselves was written by others: it is escaped before it is printed.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from shlex import quote
from typing import Any

import click

from contexthall.core.catalog import JsonObject
from contexthall.core.wire import compact
from contexthall.faces.cli.output import age, counted, escaped, escaped_json, on_one_line, shortened
from contexthall.faces.cli.tools import tokens
from contexthall.faces.members import facts_of
from contexthall.guild.manager import Event, MemberView, ToolChange

_WIDEST_NAME = 40
_WIDEST_SENTENCE = 100


def members_table(views: Sequence[MemberView], now: datetime) -> str:
    names = [shortened(view.name, _WIDEST_NAME) for view in views]
    width = max(map(len, ["NAME", *names]))
    header = f"{'NAME':<{width}}  {'STATUS':<12}  {'TOOLS':>5}  {'TOKENS':>6}  {'AGE':>6}  WHY"
    lines = (
        f"{name:<{width}}  {view.status:<12}  {len(view.tools):>5}  {view.tokens:>6}  {age(view.cached_at, now):>6}  "
        f"{_reasons(view)}".rstrip()
        for name, view in zip(names, views, strict=True)
    )
    return "\n".join([header, *lines])


def tools_table(definitions: Sequence[JsonObject]) -> str:
    """Return a row for each tool: what it costs, and the beginning of its description."""
    names = [shortened(each["name"], _WIDEST_NAME) for each in definitions]
    width = max(map(len, names))
    beginnings = [shortened(" ".join(each["description"].split()), _WIDEST_SENTENCE) for each in definitions]
    lines = (
        f"{tokens(compact(each)):>6}  {name:<{width}}  {beginning}".rstrip()
        for each, name, beginning in zip(definitions, names, beginnings, strict=True)
    )
    return "\n".join([f"{'TOKENS':>6}  NAME", *lines])


def _reasons(view: MemberView) -> str:
    """Return what is to be known of a member on one line, the gravest first."""
    changes = ", ".join(map(change_summary, view.changes))
    reasons = [view.error, changes and f"{'held' if view.is_held else 'unapproved'}: {changes}"]
    if view.freshness.state != "fresh" and view.version:
        reasons.append(": ".join(filter(None, view.freshness)))
    return shortened("; ".join(filter(None, [*reasons, *view.notes])), _WIDEST_SENTENCE)


def explanation(view: MemberView, difference: str, log: str, now: datetime) -> Iterator[str]:
    """Yield all that is known of a member, sentence by sentence."""
    yield from _about_list(view, now)
    if view.error:
        yield f"Its status is error: {on_one_line(view.error)}."
    yield from (f"Note: {on_one_line(note)}." for note in view.notes)
    yield from _about_changes(view, difference)
    if log:
        yield "The last lines of its log:"
        yield from (f"  {on_one_line(line)}" for line in log.splitlines())


def _about_list(view: MemberView, now: datetime) -> Iterator[str]:
    """Yield where the list comes from, how old it is, and whether it still describes its server."""
    refreshing, reason = command_hint("refresh", view.name), on_one_line(view.freshness.reason)
    if view.cached_at:
        origin = on_one_line(f"tools-cache.json of {view.key}, {view.cached_at}")
        said = f"as its server said {age(view.cached_at, now)} ago"
        yield f"{named(view)} has {counted(len(view.tools), 'tool')}, {said}: {origin}."
    match view.freshness.state:
        case "fresh":
            yield f"The list speaks for version {on_one_line(view.version)}; no change of the server is known since."
        case "outdated":
            yield f"The list is outdated: {reason}. It is offered until {refreshing} has asked again."
        case "missing" if view.version:
            yield f"{named(view)} has no list of tools: {reason}. {refreshing} asks for one."
        case "missing":
            yield f"{named(view)} has no manifest that can be used, in {on_one_line(view.key)}."


def _about_changes(view: MemberView, difference: str) -> Iterator[str]:
    """Yield what changed since it was approved, and what is in force."""
    if not view.changes:
        return
    yield "Since it was approved:"
    yield from (f"  {change_summary(change)}" for change in view.changes)
    yield escaped(difference)
    approving = command_hint("approve", view.name)
    if view.is_held:
        yield f"The approved definitions are held in force until {approving}."
    else:
        yield f"The new definitions are in force; {approving} says that they may be."


def change_summary(change: ToolChange) -> str:
    """Return how a tool changed, and in which fields."""
    fields = f"{', '.join(change.fields)} of " if change.fields else ""
    return on_one_line(f"{change.kind} {fields}{change.tool}")


def named(view: MemberView) -> str:
    return on_one_line(view.name)


def command_hint(command: str, name: str, more: str = "") -> str:
    """Return a command that can be pasted, with --guild if that was typed."""
    guild = click.get_current_context().params.get("guild")
    where = ["--guild", quote(on_one_line(guild))] if guild else []
    return f"`{' '.join(filter(None, ['context guild', command, quote(on_one_line(name)), *where, more]))}`"


def event_line(event: Event) -> str:
    """Return a line about an event; empty if nobody needs to know."""
    match event.kind:
        case "tools_updated":
            return on_one_line(f"{event.member}: {counted(len(event.tools), 'tool')}")
        case "error":
            return on_one_line(f"{event.member}: error: {event.error}")
        case "starting":
            return on_one_line(f"{event.member}: {event.progress}")
        case "started" | "stopped" | "roster_changed":
            return ""


def describe_block(block: JsonObject) -> str:
    """Describe a block that cannot be printed: its type, its address and its size."""
    resource = block.get("resource")
    parts = {**block, **resource} if isinstance(resource, dict) else block
    named = [str(parts[key]) for key in ("mimeType", "uri") if key in parts] or [str(block.get("type"))]
    data = parts.get("data", parts.get("blob"))
    size = [f"{len(data.rstrip('=')) * 3 // 4:,} bytes"] if isinstance(data, str) else []
    return ", ".join([*(shortened(each, _WIDEST_SENTENCE) for each in named), *size])


def summary(view: MemberView) -> dict[str, Any]:
    """Return what is known of a member as JSON has it; of its tools only how many there are."""
    only_here = {"directory": view.key, "tools": len(view.tools), "cachedAt": view.cached_at or None}
    return facts_of(view) | only_here


def to_json(value: object) -> str:
    """Serialise on one line, with escapes for whatever a terminal would obey."""
    return escaped_json(compact(value))

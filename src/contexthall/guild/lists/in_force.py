"""The tools of a member that are in force: a pure function of list, record, version, fingerprint and trust mode."""

from typing import NamedTuple

from contexthall.core.catalog import JsonObject
from contexthall.guild.lists.definitions import ToolChange, as_approved, changes, without_tasks
from contexthall.guild.lists.memory import MemberRecord
from contexthall.guild.lists.tools_cache import CachedTools
from contexthall.guild.members.roster import Freshness


class ToolsInForce(NamedTuple):
    """What an agent gets of a member, and what a person should know of it."""

    freshness: Freshness
    tools: tuple[JsonObject, ...] = ()
    changes: tuple[ToolChange, ...] = ()
    is_held: bool = False
    left_out: tuple[str, ...] = ()
    cached_at: str = ""


def tools_in_force(
    listed: CachedTools | None, record: MemberRecord, version: str, fingerprint: str, *, hold: bool
) -> ToolsInForce:
    """Return which tools of a list are in force; none of a list that is missing or of another version."""
    freshness = judge(listed, record, version, fingerprint)
    if listed is None or freshness.state == "missing":
        return ToolsInForce(freshness)
    reference = reference_of(listed, record, version, hold=hold)
    changed = changes(reference, listed.tools)
    is_held = hold and bool(changed)
    tools, uncallable = without_tasks(as_approved(reference, listed.tools) if is_held else listed.tools)
    return ToolsInForce(
        freshness, tuple(tools), changed, is_held, (*record.left_out, *uncallable), cached_at=listed.cached_at
    )


def judge(listed: CachedTools | None, record: MemberRecord, version: str, fingerprint: str) -> Freshness:
    """Return whether a list still speaks for a server of that version; an empty fingerprint is not compared."""
    if listed is None:
        return Freshness("missing", "its tools cache cannot be used" if record.is_listed else "no list yet")
    if listed.version != version:
        return Freshness("missing", f"written for version {listed.version}, the manifest says {version}")
    if not record.is_listed or record.cache_digest != listed.digest:  # written by others: nothing is known of it
        return Freshness("fresh")
    if changed := _changed_parts(record.fingerprint, fingerprint):
        return Freshness("outdated", f"{changed} changed")
    return Freshness("fresh")


def reference_of(listed: CachedTools, record: MemberRecord, version: str, *, hold: bool) -> tuple[JsonObject, ...]:
    """Return the definitions that a list is compared with.

    Where definitions are held, those that were approved, whatever the version, which the member itself can edit.
    Else those that were first seen of this version, for a new one is trusted.
    """
    if hold:
        return listed.tools if record.approved is None else record.approved
    return record.baseline if record.is_listed and record.version == version else listed.tools


def _changed_parts(recorded: str, found: str) -> str:
    """Return the names of the parts in which two fingerprints differ; empty if one of them is."""
    if not (recorded and found):
        return ""
    pairs = zip(("launch spec", "files"), recorded.split("-"), found.split("-"), strict=False)
    return " and ".join(part for part, before, after in pairs if before != after)

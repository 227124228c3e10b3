"""What all faces tell of a member of the guild, under the same names."""

from typing import Any

from contexthall.guild.manager import MemberView


def facts_of(view: MemberView) -> dict[str, Any]:
    """Return what is known of a member, as JSON has it."""
    return {
        "name": view.name,
        "displayName": view.display_name,
        "description": view.description,
        "version": view.version,
        "transport": view.transport,
        "status": view.status,
        "error": view.error,
        "progress": view.progress,
        "tokens": view.tokens,
        "switchedOff": view.switched_off,
        "freshness": view.freshness.state,
        "reason": view.freshness.reason,
        "notes": view.notes,
        "changes": [change._asdict() for change in view.changes],
        "held": view.is_held,
    }

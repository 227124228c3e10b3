"""Checks of the guild: each member is started, asked for its tools and stopped.

A trial is no refresh: no list is written and nothing is approved. Only what a server says on standard error is logged.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from contexthall.faces.cli.diagnostics.findings import DoctorFinding, command
from contexthall.faces.cli.output import ProgressBar, counted, first_few
from contexthall.hall import Hall

if TYPE_CHECKING:
    from contexthall.guild.manager import MemberView, Trial

CommandHint: TypeAlias = Callable[..., str]
"""Returns a command about the guild, to be typed."""

_ADDING = ("NAME", "--", "COMMAND")


def check_guild(hall: Hall, command_hint: CommandHint, *, starts_members: bool) -> Iterator[DoctorFinding]:
    """Check every member, if a guild is named."""
    path = hall.settings.guild
    adding = command("context", "guild", "add", "--guild", path or "DIR", *_ADDING)
    if not path:
        yield DoctorFinding("note", "guild", "none is named, by --guild or CONTEXT_GUILD", adding)
        return
    place = hall.machine.look_at(path)
    if place.fault or not place.is_there:
        remedy = command("ls", "-ld", path) if place.fault else adding
        yield DoctorFinding("wrong", "guild", f"{path}: {place.fault or 'not there'}", remedy)
        return
    manager = hall.guild
    manager.look_at_files()
    trials = _trials(hall) if starts_members else {}
    for view in manager.snapshot():
        unset = manager.unset_variables(view.name, os.environ)
        yield judge(view, unset, trials.get(view.name), command_hint)
    if not manager.roster:
        yield DoctorFinding("note", "guild", f"{path}: no members yet", adding)
    elif not starts_members:
        yield DoctorFinding("ok", "guild", "nobody was started, because of --no-start")


def _trials(hall: Hall) -> "dict[str, Trial]":
    trials: dict[str, Trial] = {}
    with ProgressBar("starting members") as bar:

        def note(trial: "Trial") -> None:
            trials[trial.member] = trial
            bar.show(len(trials), len(hall.guild.roster))

        asyncio.run(hall.try_members(note))
    return trials


def judge(view: "MemberView", unset: Sequence[str], trial: "Trial | None", command_hint: CommandHint) -> DoctorFinding:
    """Return the gravest finding about a member; without a trial, as far as its files tell."""
    facts: dict[str, Any] = {"list": view.freshness.state, "held": view.is_held, "tools": len(view.tools)}
    if trial is not None and not trial.error:
        facts |= {"seconds": round(trial.seconds, 3), "tools": trial.tools}
    if unset:
        remedy = command("export", *(f"{name}=VALUE" for name in unset))
        return DoctorFinding(
            "wrong", view.name, f"needs {', '.join(unset)}, not set", remedy, {**facts, "unset": [*unset]}
        )
    error = view.error if not view.version else trial.error if trial is not None else ""
    if error:
        return DoctorFinding("wrong", view.name, error, command_hint("why", view.name), {**facts, "error": error})
    count = counted(facts["tools"], "tool")
    text = f"starts in {trial.seconds:.2f} s, {count}" if trial is not None else f"{count} on its list"
    for reason, remedy in _notes(view, command_hint):
        return DoctorFinding("note", view.name, f"{text}; {reason}", remedy, facts)
    return DoctorFinding("ok", view.name, text, facts=facts)


def _notes(view: "MemberView", command_hint: CommandHint) -> Iterator[tuple[str, str]]:
    """Yield what should be looked at though nothing is wrong, and with which command."""
    if view.changes:
        state = "held back" if view.is_held else "not approved"
        yield f"{state}: {first_few([change.tool for change in view.changes])}", command_hint("why", view.name)
    if view.freshness.state != "fresh":
        yield f"its list is {': '.join(filter(None, view.freshness))}", command_hint("refresh", view.name)
    for note in view.notes:
        yield note, command_hint("why", view.name)

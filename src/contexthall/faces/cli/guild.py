"""`context guild` and its commands: `list`, `tools`, `refresh`, `call`, `why`, `logs`, `approve`, `add` and `import`.

What members say of themselves was written by others: it is escaped before anybody reads it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from shlex import quote
from typing import Any

import click

from contexthall.core.catalog import JsonObject, ToolResult
from contexthall.core.errors import CheckFailedError, DiskError, MemberError, ToolFailedError
from contexthall.core.wire import compact
from contexthall.faces.cli.importing import import_members
from contexthall.faces.cli.options import HallChoice, completed_by, guild_options
from contexthall.faces.cli.output import counted, harmless, harmless_json, on_one_line, print_data, print_json, say
from contexthall.faces.cli.tools import ALL_ARGUMENTS, ONE_ARGUMENT, read_arguments, tokens
from contexthall.guild.manager import Change, Event, MCPManager, MemberView

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_MANAGER_LOGGER = "contexthall.guild.manager"
_WIDEST_NAME = 40
_WIDEST_SENTENCE = 100
_LAST_LINES = 5
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


class _AsDeclared(click.Group):
    """A group that lists its commands in the order in which people need them."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_AsDeclared,
    epilog="""\b
Examples:
  context guild add echo --guild guild-members -- python3 server.py
  context guild refresh --guild guild-members
  context guild call echo reverse --arg text=hello --guild guild-members""",
)
@click.pass_context
def guild(context: click.Context) -> None:
    """See, refresh and call the members of the guild.

    A guild is a directory of MCP servers. They are executed, so nothing is a guild until it is named, with --guild or
    CONTEXT_GUILD.
    """
    context.with_resource(_warnings_said())


@guild.command("list")
@_JSON
@guild_options
def list_members(as_json: bool, hall: HallChoice) -> None:
    """Show every member, its tools, and whether they are still true.

    Of each: its status, how many tools it has and what they cost in tokens, how old the list is, and what is to be
    known of it. Nothing is started.
    """
    manager = hall.open().guild
    manager.look_at_files()
    if as_json:
        print_json(_roster(manager))
    elif views := manager.snapshot():
        print_data(_table(views, datetime.now(UTC)))
    else:
        say("the guild has no members\n\nhint: `context guild add NAME -- COMMAND`")


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@_JSON
@guild_options
def tools(member: str, as_json: bool, hall: HallChoice) -> None:
    """Show the tools of a member, and what each costs in tokens.

    With --json, their whole definitions.
    """
    view = hall.open().guild.view(member)
    if as_json:
        print_json(_spelt({"tools": view.tools}))
    elif view.tools:
        print_data(_tools_table(view.tools))
    else:
        say(f"{_named(view)} has no tools that are known\n\nhint: {_typed('why', view.name)}")


@guild.command
@click.argument("members", nargs=-1, metavar="[MEMBER]...", shell_complete=completed_by("members"))
@_JSON
@guild_options
def refresh(members: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Ask members for their tools, and write the answers down.

    Without a MEMBER, all of them. Exits with 8 if one of them fails; it keeps the tools that it had.
    """
    manager = hall.open().guild
    asked = members or tuple(manager.roster)
    _refresh_and_tell(manager, asked, say if as_json else print_data)
    if as_json:
        print_json(_roster(manager))
    failed = [name for name in dict.fromkeys(asked) if manager.view(name).status == "error"]
    if failed:
        raise CheckFailedError(
            f"{len(failed)} of {counted(len(set(asked)), 'member')} failed: {', '.join(map(on_one_line, failed))}",
            hint=_typed("why", failed[0]),
        )


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@click.argument("tool")
@ONE_ARGUMENT
@ALL_ARGUMENTS
@click.option("--raw", is_flag=True, help="Print the whole result as JSON.")
@guild_options
@click.pass_context
def call(
    context: click.Context,
    member: str,
    tool: str,
    pairs: tuple[str, ...],
    json_text: str | None,
    raw: bool,
    hall: HallChoice,
) -> None:
    """Call a tool of a member, and print its answer.

    Its server is started for it, and stopped afterwards. An answer that is an error goes to standard error.
    """
    manager = hall.open().guild
    arguments = read_arguments(_schema(manager.view(member), tool), pairs, json_text)
    whole = asyncio.run(_called(manager, member, tool, arguments))
    result = ToolResult.of_whole(whole)
    if raw:
        print_json(_spelt(whole))
    else:
        _print_result(result)
    if result.is_error:
        context.exit(ToolFailedError.exit_code)


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@_JSON
@guild_options
def why(member: str, as_json: bool, hall: HallChoice) -> None:
    """Say where the tools of a member come from, and what is wrong.

    How old its list is and whether it is still true, its error, the tools left out, what changed since it was
    approved, and the end of its log.
    """
    manager = hall.open().guild
    manager.look_at_files()
    view, difference, log = manager.view(member), manager.difference(member), manager.log_of(member, _LAST_LINES)
    if as_json:
        print_json(_spelt({**_as_json(view), "difference": difference, "log": log.splitlines()}))
        return
    sentences = [*_about_list(view, datetime.now(UTC)), *_about_faults(view), *_about_changes(view, difference)]
    if log:
        sentences += ["The last lines of its log:", *(f"  {on_one_line(line)}" for line in log.splitlines())]
    print_data("\n".join(sentences))


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@click.option("-n", "--lines", type=click.IntRange(1), default=200, show_default=True, help="How many lines at most.")
@guild_options
def logs(member: str, lines: int, hall: HallChoice) -> None:
    """Show what the server of a member said on standard error."""
    manager = hall.open().guild
    if log := manager.log_of(member, lines):
        print_data(harmless(log))
    else:
        say(f"{_named(manager.view(member))} has said nothing on standard error")


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@guild_options
def approve(member: str, hall: HallChoice) -> None:
    """Trust the tools of a member as they are now.

    For those that changed without a new version.
    """
    manager = hall.open().guild
    approved, name = manager.approve(member), _named(manager.view(member))
    for change in approved:
        say(f"{name}: approved: {_change(change)}")
    if not approved:
        say(f"{name}: nothing to approve")


@guild.command
@click.argument("name")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGS]...")
@click.option("--version", default="1.0.0", show_default=True, metavar="TEXT", help="The version of its manifest.")
@guild_options
def add(name: str, command: tuple[str, ...], version: str, hall: HallChoice) -> None:
    """Write the manifest of a new member, a server that COMMAND starts.

    The command runs in the member's directory, DIR/NAME, and speaks over standard input and output.
    """
    hall.open().add_member(name, command, version=version)
    say(f"added {on_one_line(name)}\n\nhint: {_typed('refresh', name)} asks it for its tools")


guild.add_command(import_members)


# What servers do:


def _refresh_and_tell(manager: MCPManager, names: Sequence[str], tell: Callable[[str], None]) -> None:
    """Refresh members and tell of each as it happens; one that cannot even be started is told of at first."""
    unheard: list[OSError | DiskError] = []

    def heed(event: Event) -> None:
        line = _happened(event)
        try:
            if line:
                tell(line)
        except (OSError, DiskError) as error:  # the refresh is worth finishing, for others
            unheard.append(error)

    for view in map(manager.view, dict.fromkeys(names)):
        if view.status == "error":
            heed(Event("error", view.name, error=view.error))
    manager.subscribe(heed)
    asyncio.run(_refreshed(manager, names))
    if unheard:
        raise unheard[0]


async def _refreshed(manager: MCPManager, names: Sequence[str]) -> None:
    async with manager.at_work():
        await manager.refresh_tool_caches(names)


async def _called(manager: MCPManager, member: str, tool: str, arguments: JsonObject) -> JsonObject:
    try:
        async with manager.at_work():
            result: JsonObject = await manager.invoke_tool(member, tool, arguments)
            return result
    except MemberError as error:
        more = f" ({error.more})" if error.more else ""
        hint = f"{_typed('why', member)}, {_typed('logs', member)}"
        raise MemberError(on_one_line(f"{member}: {error.detail}{more}"), hint=hint) from None


def _happened(event: Event) -> str:
    match event.kind:
        case "tools_updated":
            return on_one_line(f"{event.member}: {counted(len(event.tools), 'tool')}")
        case "error":
            return on_one_line(f"{event.member}: error: {event.error}")
        case "started" | "stopped":
            return ""


def _print_result(result: ToolResult) -> None:
    """Print the text of a result as it is, unless a terminal would obey it; what is no text is only named."""
    for block in result.content:
        if block.get("type") != "text":
            say(_note(block))
    if result.is_error:
        say(result.text.rstrip("\n"))
    else:
        print_data(result.text)
    if result.structured is not None and not result.content:
        say("the answer is structured, without a text: --raw shows it")


def _note(block: JsonObject) -> str:
    """Name what cannot be printed: of which kind it is, where, and how large."""
    resource = block.get("resource")
    parts = {**block, **resource} if isinstance(resource, dict) else block
    named = [str(parts[key]) for key in ("mimeType", "uri") if key in parts] or [str(block.get("type"))]
    data = parts.get("data", parts.get("blob"))
    size = [f"{len(data.rstrip('=')) * 3 // 4:,} bytes"] if isinstance(data, str) else []
    return ", ".join([*map(_short, named), *size])


def _schema(view: MemberView, tool: str) -> JsonObject:
    """Give the input schema of a tool; an empty one if it is not listed, for its server may know it all the same."""
    schemas: Iterator[JsonObject] = (each["inputSchema"] for each in view.tools if each["name"] == tool)
    return next(schemas, {})


# What people read:


def age(cached_at: str, now: datetime) -> str:
    """Say how long ago that was, in the largest unit that fits; `-` if it never was."""
    if not cached_at:
        return "-"
    seconds = max(0, int((now - datetime.fromisoformat(cached_at)).total_seconds()))
    return next((f"{seconds // length} {unit}" for length, unit in _UNITS if seconds >= length), f"{seconds} s")


def _table(views: Sequence[MemberView], now: datetime) -> str:
    rows = [
        (_cut(_named(view)), view.status, len(view.tools), view.tokens, age(view.cached_at, now), _reasons(view))
        for view in views
    ]
    width = max(len("NAME"), *(len(row[0]) for row in rows))
    header = f"{'NAME':<{width}}  {'STATUS':<12}  {'TOOLS':>5}  {'TOKENS':>6}  {'AGE':>6}  WHY"
    lines = (
        f"{name:<{width}}  {status:<12}  {count:>5}  {cost:>6}  {old:>6}  {reasons}".rstrip()
        for name, status, count, cost, old, reasons in rows
    )
    return "\n".join([header, *lines])


def _cut(name: str) -> str:
    """Keep a long name from breaking the table."""
    return name if len(name) <= _WIDEST_NAME else name[: _WIDEST_NAME - 1] + "…"


def _tools_table(definitions: Sequence[JsonObject]) -> str:
    names = [_cut(on_one_line(each["name"])) for each in definitions]
    width = max(map(len, names))
    lines = (
        f"{tokens(compact(each)):>6}  {name:<{width}}  {_short(' '.join(each['description'].split()))}".rstrip()
        for name, each in zip(names, definitions, strict=True)
    )
    return "\n".join([f"{'TOKENS':>6}  NAME", *lines])


def _reasons(view: MemberView) -> str:
    """Say shortly what is to be known of a member, the gravest first."""
    changes = ", ".join(map(_change, view.changes))
    reasons = [view.error, changes and f"{'held' if view.is_held else 'unapproved'}: {changes}"]
    if view.freshness.state != "fresh" and view.version:
        reasons.append(": ".join(filter(None, view.freshness)))
    return _short("; ".join(filter(None, [*reasons, *view.notes])))


def _about_list(view: MemberView, now: datetime) -> Iterator[str]:
    """Say where the list comes from, how old it is, and whether it still speaks for its server."""
    refreshing, reason = _typed("refresh", view.name), on_one_line(view.freshness.reason)
    if view.cached_at:
        origin = on_one_line(f"tools-cache.json of {view.key}, {view.cached_at}")
        said = f"as its server said {age(view.cached_at, now)} ago"
        yield f"{_named(view)} has {counted(len(view.tools), 'tool')}, {said}: {origin}."
    match view.freshness.state:
        case "fresh":
            yield f"The list speaks for version {on_one_line(view.version)}; no change of the server is known since."
        case "outdated":
            yield f"The list is outdated: {reason}. It is offered until {refreshing} has asked again."
        case "missing" if view.version:
            yield f"{_named(view)} has no list of tools: {reason}. {refreshing} asks for one."
        case "missing":
            yield f"{_named(view)} has no manifest that can be used, in {on_one_line(view.key)}."


def _about_faults(view: MemberView) -> Iterator[str]:
    if view.error:
        yield f"Its status is error: {on_one_line(view.error)}."
    for note in view.notes:
        yield f"Note: {on_one_line(note)}."


def _about_changes(view: MemberView, difference: str) -> Iterator[str]:
    """Say what changed since somebody trusted it, and what is in force."""
    if not view.changes:
        return
    yield "Since it was approved, without a new version:"
    yield from (f"  {_change(change)}" for change in view.changes)
    yield harmless(difference)
    approving = _typed("approve", view.name)
    if view.is_held:
        yield f"The approved definitions are held in force until {approving}."
    else:
        yield f"The new definitions are in force; {approving} says that they may be."


def _change(change: Change) -> str:
    fields = f"{', '.join(change.fields)} of " if change.fields else ""
    return on_one_line(f"{change.kind} {fields}{change.tool}")


def _named(view: MemberView) -> str:
    return on_one_line(view.name)


def _typed(command: str, member: str) -> str:
    """Give a command that can be pasted: it names the guild if that was typed."""
    named = click.get_current_context().params.get("guild")
    where = f" --guild {quote(on_one_line(named))}" if named else ""
    return f"`context guild {command} {quote(on_one_line(member))}{where}`"


def _short(text: str) -> str:
    shown = on_one_line(text)
    return shown if len(shown) <= _WIDEST_SENTENCE else shown[: _WIDEST_SENTENCE - 1] + "…"


# What machines read:


def _roster(manager: MCPManager) -> str:
    return _spelt({"members": [_as_json(view) for view in manager.snapshot()]})


def _as_json(view: MemberView) -> dict[str, Any]:
    return {
        "name": view.name,
        "directory": view.key,
        "displayName": view.display_name,
        "description": view.description,
        "version": view.version,
        "transport": view.transport,
        "status": view.status,
        "error": view.error,
        "tools": len(view.tools),
        "tokens": view.tokens,
        "cachedAt": view.cached_at or None,
        "freshness": view.freshness.state,
        "reason": view.freshness.reason,
        "notes": view.notes,
        "changes": [change._asdict() for change in view.changes],
        "held": view.is_held,
    }


def _spelt(value: object) -> str:
    """Spell JSON on one line, with escapes for whatever a terminal would obey."""
    return harmless_json(compact(value))


class _Warnings(logging.Handler):
    """Says what the guild warns of, each sentence once; of members that fail, its events tell already."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        words = on_one_line(f"{record.levelname.lower()}: {record.getMessage()}")
        is_told = record.name == _MANAGER_LOGGER and record.levelno == logging.WARNING
        if not is_told and words not in self._said:
            self._said.add(words)
            say(words)


@contextmanager
def _warnings_said() -> Iterator[None]:
    logger, warnings = logging.getLogger("contexthall.guild"), _Warnings()
    logger.addHandler(warnings)
    try:
        yield
    finally:
        logger.removeHandler(warnings)

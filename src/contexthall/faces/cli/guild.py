"""`context guild` and its commands: `list`, `tools`, `refresh`, `call`, `why`, `logs`, `approve`, `add` and `import`.

`guild_report.py` has what they print.
"""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from shlex import quote

import click

from contexthall.core.catalog import JsonObject, ToolResult
from contexthall.core.errors import CheckFailedError, DiskError, MemberError, ToolFailedError, UsageError
from contexthall.faces.cli import guild_report
from contexthall.faces.cli.guild_report import command_hint, named, to_json
from contexthall.faces.cli.importing import import_members
from contexthall.faces.cli.log import warnings_handled
from contexthall.faces.cli.options import JSON, HallChoice, completed_by, guild_options
from contexthall.faces.cli.output import counted, escaped, on_one_line, print_data, print_json, say
from contexthall.faces.cli.tools import ALL_ARGUMENTS, ONE_ARGUMENT, read_arguments
from contexthall.guild.manager import Event, MCPManager, MemberView

_MANAGER_LOGGER = "contexthall.guild.manager"
_LAST_LINES = 5
_REMOVING = ("remove", "delete", "rm", "uninstall")


class _AsDeclared(click.Group):
    """A group that lists its commands in the order in which people need them."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in _REMOVING and not context.resilient_parsing:  # click would ask whether `approve` was meant
            words = f"No such command {args[0]!r}. To remove a member, remove its directory."
            raise click.UsageError(words, context)
        return super().resolve_command(context, args)


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
    context.with_resource(warnings_handled("contexthall.guild", _print_warning))


@guild.command("list")
@JSON
@guild_options
def list_members(as_json: bool, hall: HallChoice) -> None:
    """Show every member, its tools, and whether they are still true.

    Of each: its status, how many tools it has and what they cost in tokens, how old the list is, and what is to be
    known of it. Nothing is started.
    """
    manager = hall.open().guild
    manager.look_at_files()
    if as_json:
        print_json(_roster(manager.snapshot()))
    elif views := manager.snapshot():
        print_data(guild_report.members_table(views, datetime.now(UTC)))
    else:
        adding, importing = command_hint("add", "NAME", "-- COMMAND"), command_hint("import", "FILE")
        say(f"the guild has no members\n\nhint: {adding}, or {importing}")


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@JSON
@guild_options
def tools(member: str, as_json: bool, hall: HallChoice) -> None:
    """Show the tools of a member, and what each costs in tokens.

    With --json, their whole definitions.
    """
    view = hall.open().guild.view(member)
    if as_json:
        print_json(to_json({"tools": view.tools}))
    elif view.tools:
        print_data(guild_report.tools_table(view.tools))
    else:
        say(f"{named(view)} has no tools that are known\n\nhint: {command_hint('why', view.name)}")


@guild.command
@click.argument("members", nargs=-1, metavar="[MEMBER]...", shell_complete=completed_by("members"))
@JSON
@guild_options
def refresh(members: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Ask members for their tools, and write the answers down.

    Without a MEMBER, all of them. Exits with 8 if one of them fails; it keeps the tools that it had.
    """
    manager = hall.open().guild
    asked = members or tuple(manager.roster)
    _refresh_and_print(manager, asked, say if as_json else print_data)
    if as_json:
        print_json(_roster(manager.snapshot()))
    failed = [name for name in dict.fromkeys(asked) if manager.view(name).status == "error"]
    if failed:
        raise CheckFailedError(
            f"{len(failed)} of {counted(len(set(asked)), 'member')} failed: {', '.join(map(on_one_line, failed))}",
            hint=command_hint("why", failed[0]),
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
        print_json(to_json(whole))
    else:
        _print_result(result)
    if result.is_error:
        context.exit(ToolFailedError.exit_code)


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@JSON
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
        print_json(to_json({**guild_report.summary(view), "difference": difference, "log": log.splitlines()}))
    else:
        print_data("\n".join(guild_report.explanation(view, difference, log, datetime.now(UTC))))


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@click.option(
    "-n", "--lines", type=click.IntRange(1), default=200, show_default=True, metavar="N", help="How many lines at most."
)
@guild_options
def logs(member: str, lines: int, hall: HallChoice) -> None:
    """Show what the server of a member said on standard error."""
    manager = hall.open().guild
    if log := manager.log_of(member, lines):
        print_data(escaped(log))
    else:
        say(f"{named(manager.view(member))} has said nothing on standard error")


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@guild_options
def approve(member: str, hall: HallChoice) -> None:
    """Trust the tools of a member as they are now.

    For those that changed without a new version, or with one under --guild-trust hold.
    """
    manager = hall.open().guild
    approved, name = manager.approve(member), named(manager.view(member))
    for change in approved:
        say(f"{name}: approved: {guild_report.change_summary(change)}")
    if not approved:
        say(f"{name}: nothing to approve")


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@guild_options
def enable(member: str, tools: tuple[str, ...], hall: HallChoice) -> None:
    """Switch tools of a member on, or all of them.

    Its manifest is written, and keeps everything else. A hall that serves follows within two seconds.
    """
    _switch(hall, member, tools, on=True)


@guild.command
@click.argument("member", shell_complete=completed_by("members"))
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@guild_options
def disable(member: str, tools: tuple[str, ...], hall: HallChoice) -> None:
    """Switch tools of a member off, or all of them.

    Agents neither see nor call them then. Its manifest is written, and keeps everything else. A hall that serves
    follows within two seconds.
    """
    _switch(hall, member, tools, on=False)


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
    say(f"added {on_one_line(name)}\n\nhint: {command_hint('refresh', name)} asks it for its tools")


guild.add_command(import_members)


@guild.command
@click.argument("action", type=click.Choice(["set"]))
@click.argument("name")
@guild_options
def secret(action: str, name: str, hall: HallChoice) -> None:  # noqa: ARG001 - there is one action
    """Keep a secret in your keyring, for members.

    It is asked for, or read from standard input. A manifest names it: `"env": {"API_KEY": "${keyring:NAME}"}`.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"{name!r} cannot be the name of a secret", hint="letters, digits and `_`")
    is_typed = sys.stdin.isatty()
    value = click.prompt("secret", hide_input=True, err=True) if is_typed else sys.stdin.read().rstrip("\r\n")
    if not value:
        raise UsageError("the secret is empty", hint="nothing was kept")
    hall.open().keep_secret(name, value)
    say(f"kept {name} in the keyring\n\nhint: name it in a manifest as ${{keyring:{name}}}")


def _refresh_and_print(manager: MCPManager, names: Sequence[str], print_line: Callable[[str], None]) -> None:
    """Refresh members and print a line for each as it happens; first for those that cannot even be started."""
    failures: list[OSError | DiskError] = []

    def on_event(event: Event) -> None:
        try:
            if line := guild_report.event_line(event):
                (say if event.kind == "starting" else print_line)(line)
        except (OSError, DiskError) as error:  # the refresh is worth finishing, for others
            failures.append(error)

    for view in map(manager.view, dict.fromkeys(names)):
        if view.status == "error":
            on_event(Event("error", view.name, error=view.error))
    manager.subscribe(on_event)
    asyncio.run(_refreshed(manager, names))
    if failures:
        raise failures[0]


async def _refreshed(manager: MCPManager, names: Sequence[str]) -> None:
    async with manager.running():
        await manager.refresh_tool_caches(names)


async def _called(manager: MCPManager, member: str, tool: str, arguments: JsonObject) -> JsonObject:
    try:
        async with manager.running():
            result: JsonObject = await manager.invoke_tool(member, tool, arguments)
            return result
    except MemberError as error:
        hint = f"{command_hint('why', member)}, {command_hint('logs', member)}"
        if not manager.view(member).is_on(tool):
            hint = command_hint("enable", member, quote(on_one_line(tool)))
        raise MemberError(on_one_line(f"{member}: {error.sentence}"), hint=hint) from None


def _print_result(result: ToolResult) -> None:
    """Print the text of a result as it is, unless a terminal would obey it; what is no text is only named."""
    for block in result.content:
        if block.get("type") != "text":
            say(guild_report.describe_block(block))
    if result.is_error:
        say(result.text.rstrip("\n"))
    else:
        print_data(result.text)
    if result.structured is not None and not result.content:
        say("the answer is structured, without a text: --raw shows it")


def _roster(views: Sequence[MemberView]) -> str:
    return to_json({"members": [guild_report.summary(view) for view in views]})


def _schema(view: MemberView, tool: str) -> JsonObject:
    """Return the input schema of a tool; an empty one if it is not listed, for its server may know it all the same."""
    schemas: Iterator[JsonObject] = (each["inputSchema"] for each in view.tools if each["name"] == tool)
    return next(schemas, {})


def _print_warning(record: logging.LogRecord) -> None:
    """Print a warning of the guild; not about a member that fails, which its events report."""
    if record.name != _MANAGER_LOGGER or record.levelno != logging.WARNING:
        say(on_one_line(f"{record.levelname.lower()}: {record.getMessage()}"))


def _switch(hall: HallChoice, member: str, tools: tuple[str, ...], *, on: bool) -> None:
    view = hall.open().guild.switch(member, tools, on=on)
    off = f"; off: {', '.join(map(on_one_line, view.switched_off))}" if view.switched_off else ""
    say(f"{named(view)}: {counted(len(view.tools), 'tool')} on{off}")

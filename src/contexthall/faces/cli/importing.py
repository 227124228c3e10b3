"""`context guild import`: members from the servers in a client's file."""

from collections.abc import Sequence
from shlex import join, quote

import click

from contexthall.clients.register import ImportedServer
from contexthall.core.errors import DiskError, HallError
from contexthall.faces.cli.guild_report import to_json
from contexthall.faces.cli.options import JSON, HallChoice, completed_by, guild_options
from contexthall.faces.cli.output import counted, on_one_line, print_json, print_lines, say
from contexthall.guild.manager import ALREADY_THERE
from contexthall.hall import Hall

_FAILED = "not written: "


@click.command(
    "import",
    epilog="""\b
Examples:
  context guild import .mcp.json --guild guild-members
  context guild import ~/.codex/config.toml --guild guild-members --write""",
)
@click.argument("file", shell_complete=completed_by("files"))
@click.option("--write", is_flag=True, help="Write the manifests; without it, they are only shown.")
@click.option(
    "--keep", multiple=True, metavar="VARIABLE", help="Copy the value of this variable: it is no secret. Repeatable."
)
@JSON
@guild_options
def import_members(file: str, write: bool, keep: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Make members of the servers that an MCP client's file names.

    FILE is a .mcp.json, claude_desktop_config.json, .cursor/mcp.json, .vscode/mcp.json, settings.json of Gemini CLI or
    config.toml of Codex. What would be written is shown first. Values that may be secrets stay where they are: the
    member gets a reference such as ${GITHUB_TOKEN}, and the hall's environment must have that variable.
    """
    opened = hall.open()
    found = opened.members_in(file, keep=keep)
    if write:
        found = tuple(written(opened, each) for each in found)
    if as_json:
        print_json(to_json({"members": [_as_json(each) for each in found], "written": write}))
    else:
        print_lines(map(_line, found))
    # The same command again, without the guild.
    repeated = join(["context", "guild", "import", file, *(word for name in keep for word in ("--keep", name))])
    _report(found, opened.settings.guild, is_done=write, repeated=repeated)
    if any(each.reason.startswith(_FAILED) for each in found):
        raise DiskError("some members could not be written", hint="mend what their lines say, and type the same again")


def written(hall: Hall, found: ImportedServer) -> ImportedServer:
    """Write a member, unless it cannot be one; a failure is its own, and the others are done."""
    if found.reason not in {"", ALREADY_THERE}:
        return found
    try:
        hall.import_member(found)  # also where one is there, perhaps because we were killed just before the end
    except HallError as error:
        return found._replace(reason=found.reason or f"{_FAILED}{error.detail}")
    return found


def _line(found: ImportedServer) -> str:
    if found.reason:
        return f"-  {found.name}: left out: {found.reason}"
    needs = f"; needs {', '.join(found.needs)}" if found.needs else ""
    return f"+  {found.name}: {found.url or join(found.command)}{needs}"


def _report(found: Sequence[ImportedServer], guild: str, *, is_done: bool, repeated: str) -> None:
    members = [each for each in found if not each.reason]
    where = on_one_line(guild)
    if not members:
        say("nothing to import")
    elif is_done:
        say(f"wrote {counted(len(members), 'member')} to {where}")
        say(f"\nhint: `context guild refresh --guild {quote(where)}` asks them for their tools")
    else:
        say(f"{counted(len(members), 'member')} would be written to {where}; nothing is written yet")
        say(f"\nhint: `{on_one_line(repeated)} --guild {quote(where)} --write`")
    needs = dict.fromkeys(name for each in members for name in each.needs)
    if needs:
        say(f"the hall's environment must have {', '.join(needs)}")


def _as_json(found: ImportedServer) -> dict[str, object]:
    return {**found._asdict(), "env": dict(found.env), "headers": dict(found.headers)}

"""`context connect`: how does an agent get to know this hall?"""

import os
import sys
from shlex import join

import click

from contexthall.clients.register import CLIENTS, NAME, Change, Client, Reach
from contexthall.core.characters import is_printable
from contexthall.core.errors import UsageError
from contexthall.core.paths import absolute
from contexthall.faces.cli.options import HallChoice, completed_by, hall_options
from contexthall.faces.cli.output import print_data, say
from contexthall.faces.web.address import Address
from contexthall.settings import Settings

_PORT = "8321"


@click.command(
    epilog="""\b
Examples:
  context connect claude-code            what to put where
  context connect claude-code --write    put it there
  context connect codex --http --write   share the hall of `context serve --http 8321`
  context connect codex --remove         take it out again"""
)
@click.argument("client", type=click.Choice(list(CLIENTS)), metavar="CLIENT")
@click.option(
    "--write", "action", flag_value="write", help="Put it into the client's file; whatever else the file says stays."
)
@click.option("--remove", "action", flag_value="remove", help="Take it out of the client's file again.")
@click.option("--http", is_flag=True, help="Have the client ask a hall that is served over HTTP.")
@click.option("--at", metavar="[HOST:]PORT", default=_PORT, show_default=True, help="Where that hall listens.")
@click.option("--name", metavar="TEXT", default=NAME, show_default=True, help="What the client shall call the hall.")
@click.option(
    "--file",
    metavar="FILE",
    help="Another file of the client's than the usual one.",
    shell_complete=completed_by("files"),
)
@hall_options
def connect(
    client: str, action: str | None, http: bool, at: str, name: str, file: str | None, hall: HallChoice
) -> None:
    """Tell an agent of the hall: print its configuration, or write it.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, windsurf, gemini-cli or generic.

    By default the configuration is printed: a command with absolute paths that serves this project and this cache
    root, and the guild if one is named. With --write it is merged into the client's own file, and the file as it was
    is kept beside it.
    """
    if not is_printable(name) or not name.strip():
        raise UsageError("the name must be a text that can be shown", hint="leave --name out")
    opened = hall.open()
    chosen, place = CLIENTS[client], absolute(file, opened.settings.working_directory) if file else None
    if action == "remove":
        _tell_removed(opened.clients.forget(chosen, name=name, file=place), name)
        return
    reach = _address(at, opened.settings) if http else _command(hall, opened.settings)
    if action == "write":
        _tell_written(opened.clients.introduce(chosen, reach, name=name, file=place), chosen)
        opened.make_cache_root()
    else:
        print_data(opened.clients.spelling(chosen, reach, name=name))
        _tell_where(place or opened.clients.place(chosen))
    if reach.url:
        say(f"the hall is served there by `{join([*_serving(hall, opened.settings), '--http', at])}`")


def _address(at: str, settings: Settings) -> Reach:
    return Reach(url=f"{Address.read(at).url}mcp", has_token=bool(settings.http_token))


def _command(hall: HallChoice, settings: Settings) -> Reach:
    command, *arguments = _serving(hall, settings)
    return Reach(command, tuple(arguments))


def _serving(hall: HallChoice, settings: Settings) -> list[str]:
    """Give the command that serves this hall from anywhere: whatever decides what it offers is named."""
    options: list[tuple[str, object]] = [
        ("--path", settings.project_root),
        ("--cache-root", settings.cache_root),
        ("--guild", settings.guild),
        ("--toolsets", hall.toolsets and ",".join(settings.toolsets)),
        ("--confine", hall.confine),
        *(("--allow-root", root) for root in settings.allow_roots if hall.allow_root),
        ("--guild-trust", hall.guild_trust),
        ("--guild-budget", None if hall.guild_budget is None else str(hall.guild_budget)),
        *(("--guild-pin", pin) for pin in hall.guild_pin or ()),
    ]
    spelt = [[name] if value is True else [name, str(value)] for name, value in options if value]
    return [*_ourselves(settings.working_directory), "serve", *(word for words in spelt for word in words)]


def _ourselves(working_directory: str) -> list[str]:
    """Give the command that was typed, as it is typed anywhere."""
    program = sys.argv[0]
    if os.path.basename(program) == "context":
        return [absolute(program, working_directory)]
    return [sys.executable, "-m", "contexthall"]


def _tell_where(place: str) -> None:
    if place:
        say(f"\nThis goes into {place}\n\nhint: the same command with --write puts it there")


def _tell_written(change: Change, client: Client) -> None:
    if not change.is_needed:
        say(f"{change.file} says so already")
        return
    kept = f"\nas it was: {change.backup}" if change.backup else ""
    say(f"wrote {change.file}{kept}\n\nnext: {client.next_step}")


def _tell_removed(change: Change, name: str) -> None:
    if not change.is_needed:
        say(f"{change.file} does not name {name}")
        return
    kept = f"as it was: {change.backup}" if change.backup else "which said nothing else, and is gone"
    say(f"took {name} out of {change.file}\n{kept}")

"""`context connect`: print the configuration of an agent, or write it."""

from shlex import join

import click

from contexthall.clients.register import CLIENTS, NAME, Client, FileChange, Reach
from contexthall.config.settings import Settings
from contexthall.core.errors import UsageError
from contexthall.core.paths import absolute
from contexthall.core.text import is_printable
from contexthall.faces.cli.options import PROFILE, HallChoice, completed_by, hall_options
from contexthall.faces.cli.ourselves import command_of_this_hall
from contexthall.faces.cli.output import on_one_line, print_data, print_lines, say
from contexthall.faces.cli.table import load
from contexthall.faces.web.address import DEFAULT_PORT, Address
from contexthall.hall import Hall

*_NAMES, _LAST = CLIENTS
_HOOK_STEPS = {
    "claude-code": "start `claude` in the project; `/hooks` shows them",
    "codex": "start `codex` in the project and trust them in `/hooks`, which it asks for once",
    "gemini-cli": "start `gemini` in the project, and trust the folder when it asks; `/hooks` shows them",
}
_STATES = {
    "this": "knows this hall",
    "gone": "knows a hall that is gone",
    "other": "knows another hall",
    "broken": "file cannot be read",
    "absent": "-",
}
_HELP = f"""Tell an agent of the hall: print its configuration, or write it.

CLIENT is {", ".join(_NAMES)} or {_LAST}.

By default the configuration is printed: a command with absolute paths that serves this project and this cache
root, and the guild if one is named. With --write it is merged into the client's own file, and the file as it was
is kept beside it.
"""


class ClientChoice(click.Choice[str]):
    """The name of a client; of one that is near, it is asked whether that was meant."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        guess = load("meant").question(str(value), self.choices)
        listed = super().get_invalid_choice_message(value, ctx)
        return f"{listed} {guess.capitalize()}" if guess else listed


@click.command(
    help=_HELP,
    epilog="""\b
Examples:
  context connect claude-code            what to put where
  context connect claude-code --write    put it there
  context connect claude-code --hooks    have it brief its model
  context connect cursor --profile review --write
  context connect codex --http --write   share one that is served over HTTP
  context connect codex --remove         take it out again
  context connect --list                 who is here, and who knows the hall""",
)
@click.argument("client", type=ClientChoice(list(CLIENTS)), metavar="CLIENT", required=False)
@click.option("--list", "action", flag_value="list", help="Show which clients are here, and which know the hall.")
@click.option(
    "--write", "action", flag_value="write", help="Put it into the client's file; whatever else the file says stays."
)
@click.option("--remove", "action", flag_value="remove", help="Take it out of the client's file again.")
@click.option(
    "--hooks",
    is_flag=True,
    help="Write, or remove, hooks that brief the client's model, in the project's file.",
)
@click.option("--link", "action", flag_value="link", help="Print a link that installs it: of VS Code or Cursor.")
@click.option("--http", is_flag=True, help="Have the client ask a hall that is served over HTTP.")
@click.option("--at", metavar="[HOST:]PORT", help=f"Where that hall listens.  [default: {DEFAULT_PORT}]")
@click.option("--name", metavar="TEXT", default=NAME, show_default=True, help="What the client shall call the hall.")
@click.option(
    "--file",
    metavar="FILE",
    help="Another file of the client's than the usual one.",
    shell_complete=completed_by("files"),
)
@PROFILE
@hall_options
def connect(  # noqa: PLR0913, PLR0917 - one for each option
    client: str | None,
    action: str | None,
    hooks: bool,
    http: bool,
    at: str | None,
    name: str,
    file: str | None,
    profile: str | None,
    hall: HallChoice,
) -> None:
    _check_options(name, file, at, http=http)
    at = str(DEFAULT_PORT) if at is None else at
    opened = hall.open()
    if action == "list":
        print_lines(_client_lines(opened))
        return
    if client is None:
        raise UsageError(
            "no client is named",
            hint="such as `context connect claude-code`; `context connect --list` shows all of them",
        )
    if hooks:
        _change_hooks(opened, CLIENTS[client], action)
        if action != "write":
            return
    chosen, place = CLIENTS[client], absolute(file, opened.settings.working_directory) if file else None
    if action == "remove":
        _print_removed(opened.clients.disconnect(chosen, name=name, file=place), name)
        return
    opened.check_guild()
    opened.profile(profile)
    command, *arguments = serving_command(hall, opened.settings, None if http else profile)
    if http:
        reach = Reach(
            url=f"{Address.read(at).url}mcp{f'/{profile}' if profile else ''}",
            has_token=bool(opened.settings.http_token),
        )
    else:
        reach = Reach(command, tuple(arguments))
    if action == "link":
        print_data(opened.clients.link(chosen, reach, name=name))
    elif action == "write":
        _print_written(opened.clients.connect(chosen, reach, name=name, file=place), chosen)
        opened.caches.make_root()
    else:
        print_data(opened.clients.snippet(chosen, reach, name=name, file=place))
        _print_where(place or opened.clients.place(chosen))
    if reach.url:
        serving = join([command, *arguments, "--http", at])
        say("\n" + on_one_line(f"serve the hall there with `{serving}`"))


def _change_hooks(hall: Hall, client: Client, action: str | None) -> None:
    """Write the client's hooks into the project's file, or remove them."""
    if action == "remove":
        change = hall.clients.disconnect_hooks(client)
        file = on_one_line(change.file)
        say(f"took the hooks out of {file}" if change.is_needed else f"{file} has no hooks of the hall")
        return
    change = hall.clients.connect_hooks(client, hook_command(hall, client))
    _print_written(change, client._replace(next_step=_HOOK_STEPS[client.name]))


def hook_command(hall: Hall, client: Client) -> str:
    """Return what a client runs at its events."""
    return join([*command_of_this_hall(hall.settings.working_directory), "hook", client.name])


def _client_lines(hall: Hall) -> list[str]:
    """Return a line for each client: its name, whether it is here, whether it knows the hall, and where."""
    here = hall.clients.found(hall.machine.find_command)
    known = sorted(hall.clients.known(port=DEFAULT_PORT), key=lambda each: each.client not in here)
    rows = [("CLIENT", "HERE", "THE HALL", "FILE")] + [
        (each.client, "yes" if each.client in here else "-", _STATES[each.state], each.detail or each.file)
        for each in known
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows]


def _check_options(name: str, file: str | None, at: str | None, *, http: bool) -> None:
    if not is_printable(name) or not name.strip():
        raise UsageError("the name must be a text that can be shown", hint="leave --name out")
    if file == "":  # an unset variable of a script, not the usual one
        raise UsageError("the file has no name", hint="name it with --file FILE, or leave --file out")
    if at is not None and not http:
        raise UsageError("--at is for --http", hint="type both, or neither")


def serving_command(hall: HallChoice, settings: Settings, profile: str | None = None) -> list[str]:
    """Return the command that serves this hall from any directory, with all options that decide what it offers."""
    options: list[tuple[str, object]] = [
        ("--path", settings.project_root),
        ("--cache-root", settings.cache_root),
        ("--reply", "text"),
        ("--guild", settings.guild),
        ("--toolsets", hall.toolsets and ",".join(settings.toolsets)),
        ("--profile", profile),
        ("--confine", hall.confine),
        *(("--allow-root", root) for root in settings.allow_roots if hall.allow_root),
        ("--guild-trust", hall.guild_trust),
        ("--guild-budget", None if hall.guild_budget is None else str(hall.guild_budget)),
        *(("--guild-pin", pin) for pin in hall.guild_pin or ()),
    ]
    flags = [[name] if value is True else [name, str(value)] for name, value in options if value]
    return [*command_of_this_hall(settings.working_directory), "serve", *(word for words in flags for word in words)]


def _print_where(place: str) -> None:
    where, options = (on_one_line(place), "--write") if place else ("your client's own file", "--file FILE --write")
    say(f"\nThis goes into {where}\n\nhint: the same command with {options} puts it there")


def _print_written(change: FileChange, client: Client) -> None:
    file = on_one_line(change.file)
    if not change.is_needed:
        say(f"{file} says so already")
        return
    kept = f"\nkept from before: {on_one_line(change.backup)}" if change.backup else ""
    say(f"wrote {file}{kept}\n\nnext: {client.next_step}")


def _print_removed(change: FileChange, name: str) -> None:
    file = on_one_line(change.file)
    if not change.is_needed:
        say(f"{file} does not name {name}")
        return
    backup = on_one_line(change.backup)
    kept = f"kept from before: {backup}" if backup else "which said nothing else, and is gone"
    whose = f", the hall of {on_one_line(change.whose)}," if change.whose else ""
    say(f"took {name}{whose} out of {file}\n{kept}")

"""Options that several commands share: those that name the hall."""

from collections.abc import Callable
from functools import reduce, wraps
from shlex import quote
from typing import Any, Literal, NamedTuple

import click

from contexthall.core.errors import InvalidBudgetError
from contexthall.core.wire import parse
from contexthall.faces.cli.table import load
from contexthall.hall import GuildChoice, Hall, open_hall


class HallChoice(NamedTuple):
    """What was typed about the hall that is meant; None where nothing was."""

    path: str | None = None
    cache_root: str | None = None
    toolsets: str | None = None
    confine: bool | None = None
    allow_root: tuple[str, ...] | None = None
    reply: str | None = None
    refresh_caches: str | None = None
    guild: str | None = None
    guild_refresh: str | None = None
    guild_budget: int | None = None
    guild_trust: str | None = None
    guild_pin: tuple[str, ...] | None = None
    cluster: str | None = None

    def open(self) -> Hall:
        return open_hall(
            self.path,
            cache_root=self.cache_root,
            toolsets=self.toolsets,
            confine=self.confine,
            allow_root=self.allow_root or None,
            reply=self.reply,
            refresh_caches=self.refresh_caches,
            guild=GuildChoice(
                self.guild, self.guild_refresh, self.guild_budget, self.guild_trust, self.guild_pin or None
            ),
            cluster=self.cluster,
        )


def how_to_get_caches(hall: Hall) -> str:
    """Return what to type where there is no cache: the repository's root, if this is a directory in one."""
    above = hall.project.repository_above()
    if above:
        return f"this is inside of {above}: try again with --path {quote(above)}"
    return "`context setup` builds some of your documents, `context build --sources DIR --cache DIR` one"


def completed_by(kind: Literal["directories", "files", "caches", "members", "scopes"]) -> Callable[..., Any]:
    """Return a completion callback that loads `completion` when it is called."""
    return lambda context, _parameter, _incomplete: load("completion").names_on_disk(kind, context)


def directory_option(*names: str, about: str, required: bool = False, multiple: bool = False) -> Callable[..., Any]:
    """Return an option that names a directory."""
    completion = completed_by("directories")
    return click.option(
        *names, metavar="DIR", help=about, required=required, multiple=multiple, shell_complete=completion
    )


_PATH = directory_option("-p", "--path", about="The project root.  [default: the working directory]")
_CACHE_ROOT = directory_option(
    "--cache-root", about="Where the caches are.  [default: .context/caches in the project root]"
)
_TOOLSETS = click.option("--toolsets", metavar="NAMES", help="Offer only some of caches,contexts,guild.")
_CONFINE = click.option("--confine", is_flag=True, default=None, help="Refuse paths outside the hall's own roots.")
_ALLOW_ROOT = directory_option("--allow-root", about="A directory that confinement allows. Repeatable.", multiple=True)
_GUILD = directory_option("--guild", about="Where the members of the guild are; they are executed.")
_GUILD_TRUST = click.option(
    "--guild-trust",
    type=click.Choice(["warn", "hold"]),
    help="What to do with a tool that changed: `hold` keeps it as it was approved.  [default: warn]",
)
_GUILD_BUDGET = click.option(
    "--guild-budget",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Offer a search in place of the guild's tools if they cost more.",
)
_GUILD_PIN = click.option(
    "--guild-pin",
    multiple=True,
    metavar="MEMBER",
    help="A member that stays listed over the budget. Repeatable.",
    shell_complete=completed_by("members"),
)

CLUSTER = click.option("--cluster", metavar="URL", help="A Dask scheduler, whose workers do it: tls://HOST:8786.")
PROFILE = click.option("--profile", metavar="NAME", help="Offer only what a profile of your settings has.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_FULL = click.option("--full", is_flag=True, help="Say what each file and interface is for as well.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
_NO_AGENTS = click.option("--no-agents", is_flag=True, help="Leave AGENTS.md alone.")


class DraftFlags(NamedTuple):
    """What was typed about how to draft."""

    full: bool
    dry_run: bool
    no_agents: bool


def _gathered(
    name: str, kind: type[HallChoice] | type[DraftFlags], *options: Callable[..., Callable[..., Any]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command, which gets them as one argument."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def gathering(**arguments: object) -> object:
            chosen: dict[str, Any] = {field: arguments.pop(field) for field in kind._fields if field in arguments}
            return command(**{name: kind(**chosen)}, **arguments)

        return reduce(lambda decorated, option: option(decorated), reversed(options), gathering)

    return decorate


drafting_options = _gathered("flags", DraftFlags, _FULL, _DRY_RUN, _NO_AGENTS)
project_options = _gathered("hall", HallChoice, _PATH)
roots_options = _gathered("hall", HallChoice, _PATH, _CACHE_ROOT)
asking_options = _gathered("hall", HallChoice, _PATH, _CACHE_ROOT, CLUSTER)
rooms_options = _gathered("hall", HallChoice, _PATH, _CACHE_ROOT, _GUILD, _GUILD_TRUST)
setup_options = _gathered("hall", HallChoice, _PATH, _CACHE_ROOT, _GUILD)
guild_options = _gathered("hall", HallChoice, _PATH, _GUILD, _GUILD_TRUST)
_ROOTS = (_PATH, _CACHE_ROOT, _TOOLSETS, _CONFINE, _ALLOW_ROOT)
serve_options = _gathered("hall", HallChoice, *_ROOTS, _GUILD, _GUILD_TRUST, _GUILD_BUDGET, _GUILD_PIN, CLUSTER)
hall_options = _gathered("hall", HallChoice, *_ROOTS, _GUILD, _GUILD_TRUST, _GUILD_BUDGET, _GUILD_PIN)


def whole_number(text: str) -> int:
    """Read a budget as the tool would: 4000 and 4000.0 are whole numbers."""
    try:
        number = parse(text.encode("utf-8", "replace"))
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        raise InvalidBudgetError(repr(text), hint="a budget is a whole number of tokens, such as 4000")
    return int(number)

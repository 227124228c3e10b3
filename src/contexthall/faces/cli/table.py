"""The table of commands. Each is imported when it is typed, so that none pays for another.

Also the one place where errors become a message, a hint and an exit code.
"""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from shlex import quote
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import click

from contexthall import __version__
from contexthall.core.errors import DiskError, HallError, InternalError
from contexthall.faces.cli.output import print_error, print_usage, say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXIT_USAGE = 1
_EXTRA = re.compile(r"Got unexpected extra argument \((.+)\)")
_TAKES_DIRECTORY = {"--path", "--sources"}
EXIT_INTERRUPTED = 130

START = "Start here"
DOCUMENTS = "Documents, compiled into caches"
CONTEXTS = "Contexts, which say what directories are for"
GUILD = "The guild, which is other MCP servers"
AGENT = "What an agent sees"
SHELL = "Your shell"


class CommandEntry(NamedTuple):
    """Where a command lives, among which it stands in `context --help`, and its line there."""

    module: str
    group: str
    summary: str


COMMANDS = {
    "setup": CommandEntry("setup", START, "Set the hall up for this project, in one go; or undo that."),
    "connect": CommandEntry("connect", START, "Tell an agent of the hall: print its configuration, or write it."),
    "serve": CommandEntry("serve", START, "Serve the hall over standard input and output, or over HTTP."),
    "doctor": CommandEntry("doctor", START, "Say what is wrong here, and what to type."),
    "build": CommandEntry("caches", DOCUMENTS, "Compile folders of documents into a cache."),
    "refresh": CommandEntry("refreshing", DOCUMENTS, "Build caches again of what their sources are now."),
    "ask": CommandEntry("reading", DOCUMENTS, "Answer a question from the documents, for a person."),
    "read": CommandEntry("reading", DOCUMENTS, "Read a section with its neighbours, or a whole page."),
    "outline": CommandEntry("reading", DOCUMENTS, "List the headings of a cache, of a folder or of a page."),
    "resolve": CommandEntry("caches", DOCUMENTS, "Give the sections that answer a question, within a budget."),
    "caches": CommandEntry("caches", DOCUMENTS, "List the document caches that are there."),
    "inspect": CommandEntry("caches", DOCUMENTS, "Tell the version, document count and size of a cache."),
    "verify": CommandEntry("caches", DOCUMENTS, "Check that a cache is what it says it is."),
    "push": CommandEntry("stores", DOCUMENTS, "Put a cache into an object store."),
    "pull": CommandEntry("stores", DOCUMENTS, "Get a cache from an object store."),
    "cluster": CommandEntry("cluster", DOCUMENTS, "Start workers on this machine, to try a cluster."),
    "init": CommandEntry("drafting", CONTEXTS, "Draft contexts for directories without one, and AGENTS.md."),
    "status": CommandEntry("contexts", CONTEXTS, "Show which contexts and caches are stale."),
    "show": CommandEntry("contexts", CONTEXTS, "Show what is known of a directory, and if it is still true."),
    "brief": CommandEntry("briefing", CONTEXTS, "Tell what people want known before you work on a path."),
    "regen": CommandEntry("drafting", CONTEXTS, "Draft contexts again, and leave what people wrote as it is."),
    "note": CommandEntry("claims", CONTEXTS, "Write down a constraint or a decision, and what it rests on."),
    "check": CommandEntry("claims", CONTEXTS, "Check contexts and claims that changed files concern."),
    "rehash": CommandEntry("contexts", CONTEXTS, "Say that contexts are true again, by a new fingerprint."),
    "validate": CommandEntry("contexts", CONTEXTS, "Check contexts against their schema, and against the code."),
    "watch": CommandEntry("watching", CONTEXTS, "Tell which contexts and caches become stale, while people work."),
    "guild": CommandEntry("guild", GUILD, "See, refresh and call the members of the guild."),
    "tools": CommandEntry("tools", AGENT, "Show the tools an agent would see, and what they cost in tokens."),
    "call": CommandEntry("tools", AGENT, "Call a tool as an agent would, and print its answer."),
    "hook": CommandEntry("briefing", AGENT, "Answer an event of an agent, which runs this by itself."),
    "activity": CommandEntry("activity", AGENT, "Show what agents called, and what came of it."),
    "completion": CommandEntry("completion", SHELL, "Print what teaches your shell to complete commands."),
}
"""By name, in the order in which people need them; those of a group stand together."""

EXAMPLES = (
    "context setup --dry-run",
    "context connect claude-code --write",
    "context build --sources docs --cache .context/caches/handbook",
    'context resolve --cache handbook --query "rotate keys" --budget 4000',
    "context init --dry-run",
)

READ_ON = """\
With --help, each command explains itself. Data goes to standard output, words to standard error. docs/cli.md says all
of it, docs/quickstart.md where to begin."""


def load(module: str, face: str = "cli") -> ModuleType:
    """Import a module of a face on first use."""
    return import_module(f"contexthall.faces.{face}.{module}")


class CommandTable(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(load(COMMANDS[name].module), name)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-") or context.resilient_parsing:
            return super().resolve_command(context, args)
        if name == "help":
            return self.resolve_command(context, [*args[1:2], "--help"])
        meant = load("meant")
        near = [meant.SAME[name]] if name in meant.SAME else meant.nearest(name, COMMANDS)[:1]
        guess = "".join(f" Did you mean {each!r}?" for each in near)
        raise click.UsageError(f"No such command {name!r}.{guess}", context)

    def shell_complete(self, context: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        options = click.Command.shell_complete(self, context, incomplete)
        item = import_module("click.shell_completion").CompletionItem
        return [*(item(name, help=entry.summary) for name, entry in COMMANDS.items()), *options]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(context, formatter)
        click.Command.format_options(self, context, formatter)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for group in dict.fromkeys(entry.group for entry in COMMANDS.values()):
            with formatter.section(group):
                rows = [(name, entry.summary) for name, entry in COMMANDS.items() if entry.group == group]
                formatter.write_dl([(f"{name:<{width}}", summary) for name, summary in rows])

    def format_epilog(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            formatter.write_text("\b\n" + "\n".join(EXAMPLES))
        formatter.write_paragraph()
        formatter.write_text(READ_ON)


@click.group(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND [OPTIONS] [ARGS]...",
    options_metavar="",
)
@click.version_option(__version__, prog_name="context", message="%(prog)s %(version)s")
def context() -> None:
    """Context Hall gives AI agents what this machine has for them, over MCP: documents, code contexts and tools.

    Begin with `context setup` in a project. Whenever something is not as you expect,
    `context doctor` says what is wrong and what to type.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        # Not `context.main()`: click has views of its own on broken pipes and interrupts.
        with context.make_context("context", list(arguments)) as opened:
            context.invoke(opened)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        print_usage(_with_our_option(error), _caches_to_name(error))
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return 0  # the reader of our output has enough
    except Exception as error:  # noqa: BLE001 - nobody catches it after us
        ours = _as_ours(error)
        if ours.known and (guess := load("meant").question(ours.unknown, ours.known)):
            ours.hint = f"{guess} {ours.hint}"
        print_error(ours)
        return ours.exit_code
    return 0


def _with_our_option(error: click.ClickException) -> click.ClickException:
    """Return the error; with our option where one of another program was typed, or a directory without one."""
    if isinstance(error, click.NoSuchOption) and (ours := load("meant").SAME_OPTIONS.get(error.option_name)):
        return click.UsageError(f"No such option {error.option_name!r}. Did you mean {ours!r}?", error.ctx)
    extra = _EXTRA.fullmatch(error.message)
    if extra and isinstance(error, click.UsageError) and error.ctx and _is_directory(extra[1]):
        known = {option for parameter in error.ctx.command.params for option in parameter.opts}
        for option in _TAKES_DIRECTORY & known:
            return click.UsageError(f"{error.message}. Did you mean `{option} {quote(extra[1])}`?", error.ctx)
    return error


def _is_directory(path: str) -> bool:
    try:
        return bool(import_module("contexthall.system.disk").Disk().kind(path) == "directory")
    except HallError:
        return False


def _caches_to_name(error: click.ClickException) -> list[str]:
    """Return the caches that are here, if one should have been named."""
    if not (isinstance(error, click.MissingParameter) and error.ctx and error.param and error.param.name == "cache"):
        return []
    with suppress(HallError):
        return [each.value for each in load("completion").names_on_disk("caches", error.ctx) if each.value]
    return []


def _as_ours(error: Exception) -> HallError:
    if isinstance(error, HallError):
        return error
    if isinstance(error, OSError):  # of standard output: a full disk, for one
        return DiskError(str(error))
    if os.environ.get("CONTEXT_DEBUG"):
        say("".join(import_module("traceback").format_exception(error)))
    return InternalError(repr(error), hint="set CONTEXT_DEBUG=1 to see the trace, and please report it")

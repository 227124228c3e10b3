"""Which commands are there? Each is loaded when it is typed, so that none pays for another.

Also the one place where errors become a message, a hint and an exit code.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import click

from contexthall import __version__
from contexthall.core.errors import DiskError, HallError, InternalError
from contexthall.faces.cli.output import print_error, print_usage, say

EXIT_USAGE = 1
EXIT_INTERRUPTED = 130


class Entry(NamedTuple):
    """Where a command lives, and its line in `context --help`."""

    module: str
    summary: str


COMMANDS = {
    "serve": Entry("serve", "Serve the hall to agents over standard input and output, or to all over HTTP."),
    "tools": Entry("tools", "Show the tools an agent would see, and what they cost in tokens."),
    "call": Entry("tools", "Call a tool as an agent would, and print its answer."),
    "guild": Entry("guild", "See, refresh and call the members of the guild."),
    "build": Entry("caches", "Compile a folder of documents into a cache."),
    "resolve": Entry("caches", "Give the documents that answer a query, best first, within a budget."),
    "verify": Entry("caches", "Check that a cache is what it says it is, and name every violation."),
    "caches": Entry("caches", "List the document caches that are there."),
    "inspect": Entry("caches", "Tell the version, document count and size of a cache."),
    "init": Entry("drafting", "Draft a context for every directory that lacks one, and AGENTS.md."),
    "regen": Entry("drafting", "Draft contexts again, and leave what people wrote as it is."),
    "status": Entry("contexts", "Show which directories have a context, and which of them are stale."),
    "show": Entry("contexts", "Show what is known of a directory, and whether it is still true."),
    "rehash": Entry("contexts", "Say that contexts are true again, by writing new fingerprints into them."),
    "validate": Entry("contexts", "Check contexts against their schema, and against the code."),
    "watch": Entry("contexts", "Tell which contexts become stale, while people work."),
}


def load(module: str) -> ModuleType:
    """Load a module of commands, now that it is needed."""
    return import_module(f"contexthall.faces.cli.{module}")


class CommandTable(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(load(COMMANDS[name].module), name)
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="context", message="%(prog)s %(version)s")
def context() -> None:
    """Documents, code contexts and tools for AI agents, from this machine.

    Data goes to standard output, words to standard error.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and say how it went, as an exit code."""
    try:
        # Not `context.main()`: click has views of its own on broken pipes and interrupts.
        with context.make_context("context", list(arguments)) as opened:
            context.invoke(opened)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        print_usage(error)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return 0  # whoever read our data has enough
    except Exception as error:  # noqa: BLE001 - nobody catches it after us
        ours = _as_ours(error)
        print_error(ours)
        return ours.exit_code
    return 0


def _as_ours(error: Exception) -> HallError:
    if isinstance(error, HallError):
        return error
    if isinstance(error, OSError):  # of standard output: a full disk, for one
        return DiskError(str(error))
    if os.environ.get("CONTEXT_DEBUG"):
        say("".join(import_module("traceback").format_exception(error)))
    return InternalError(repr(error), hint="set CONTEXT_DEBUG=1 to see the trace, and please report it")

"""`context brief`, and the help of `context hook`: what people want known before somebody works on a path."""

import os

import click

from contexthall.contexts.project import DEFAULT_BUDGET
from contexthall.faces.cli.options import HallChoice, completed_by, project_options, whole_number
from contexthall.faces.cli.output import escaped, on_one_line, print_data, print_json, say
from contexthall.faces.hooks.entry import run


@click.command(
    epilog="""\b
Examples:
  context brief src/prices.py
  context brief . --format json"""
)
@click.argument("place", default=".", metavar="[PATH]", shell_complete=completed_by("files"))
@click.option(
    "--budget",
    default=str(DEFAULT_BUDGET),
    show_default=True,
    metavar="TOKENS",
    help="Most tokens that the answer may cost.",
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For reading, or on one line.",
)
@project_options
def brief(place: str, budget: str, layout: str, hall: HallChoice) -> None:
    """Tell what people want known before you work on a path.

    PATH is a file or directory, relative to the project root. First come the constraints and decisions that people
    wrote into contexts, from the root down to it, then the rule files that apply to it: AGENTS.md, CLAUDE.md and
    others. Prints what the tool context.brief gives.
    """
    tokens = whole_number(budget)
    project = hall.open().project
    found = project.brief(place, tokens, "text" if layout == "text" else "json")
    if layout == "json":
        print_json(found.render("json"))
        return
    print_data(escaped(found.render("text")))
    if project.kind(place) is None:
        say(on_one_line(f"{place} is not there yet"))
    unread = project.unread_above(place)
    for scope in unread:
        say(on_one_line(f"the context of {scope} cannot be read; `context validate` says why"))
    if not (found.considered or unread):
        say("nobody has written anything about it yet; `context note` writes something down")


@click.command(epilog="\b\nExample:\n  context connect claude-code --hooks")
@click.argument("client", metavar="CLIENT")
@click.argument("event", metavar="EVENT")
def hook(client: str, event: str) -> None:
    """Answer an event of an agent, which runs this by itself.

    CLIENT is claude-code, codex or gemini-cli, EVENT the name that it gives to one of its events. The event is read
    from standard input, and answered as the client wants it: with the brief of the project at the start, with that of
    a directory when it is first worked in, and with the claims that an edit may have broken. Nothing to say: nothing
    is printed. It never stops an agent: the exit code is 0.
    """
    run([client, event], os.environ)

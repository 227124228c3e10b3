"""`context init` and `context regen`."""

from collections.abc import Callable, Iterator
from functools import partial

import click

from contexthall.contexts.project import Outcome
from contexthall.core.errors import DiskError, UsageError
from contexthall.core.wire import compact
from contexthall.faces.cli.options import JSON, DraftFlags, HallChoice, completed_by, drafting_options, project_options
from contexthall.faces.cli.output import ProgressBar, on_one_line, print_json, print_lines, say, say_unread


@click.command(epilog="\b\nExample:\n  context init --dry-run")
@drafting_options
@JSON
@project_options
@click.pass_context
def init(context: click.Context, flags: DraftFlags, as_json: bool, hall: HallChoice) -> None:
    """Draft contexts for directories without one, and AGENTS.md.

    What is there stays as it is, but for the scope of directories that were moved, and for drafts that name directories
    which are gone or do not name new ones.
    """
    opened = hall.open()
    if hall.path is None and (top := opened.project.repository_above()):
        raise UsageError(
            f"this is a part of the repository at {top}",
            hint=f"type `context init --path {top}`, or `context init --path .` if it is a project of its own",
        )
    _draft(context, opened.init_contexts, flags, as_json=as_json)


@click.command(
    epilog="""\b
Examples:
  context regen --stale --dry-run
  context regen src --full"""
)
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...", shell_complete=completed_by("scopes"))
@click.option("--all", "everything", is_flag=True, help="Every directory that has a context.")
@click.option("--stale", is_flag=True, help="Every directory whose context is stale.  [default]")
@drafting_options
@JSON
@project_options
@click.pass_context
def regen(
    context: click.Context,
    scopes: tuple[str, ...],
    everything: bool,
    stale: bool,
    flags: DraftFlags,
    as_json: bool,
    hall: HallChoice,
) -> None:
    """Draft contexts again, and leave what people wrote as it is.

    A SCOPE is a directory, relative to the project root. Only the fields that derived_fields names are the machine's;
    every other one stays, comments and order included.
    """
    if [bool(scopes), everything, stale].count(True) > 1:
        raise UsageError("scopes, --all and --stale exclude each other", hint="name one of them")
    opened = hall.open()
    wanted = opened.project.places() if everything else [opened.project.locate(scope) for scope in scopes] or None
    _draft(context, partial(opened.regen_contexts, wanted), flags, as_json=as_json)


def _draft(context: click.Context, draft: Callable[..., Outcome], flags: DraftFlags, *, as_json: bool) -> None:
    """Draft, print what was written and why the rest was not, and leave with an error if something failed."""
    dry_run = flags.dry_run
    with ProgressBar("drafting") as bar:
        outcome = draft(full=flags.full, dry_run=dry_run, agents=not flags.no_agents, progress=bar.show)
    if as_json:
        failed = [{"scope": scope, "reason": reason} for scope, reason in outcome.failed]
        print_json(compact(outcome._asdict() | {"failed": failed, "dry_run": dry_run}))
    else:
        print_lines([*outcome.written, *outcome.updated])
    for scope, reason in outcome.failed:
        say(on_one_line(f"{scope}: {reason}"))
    if not as_json:
        say_unread(outcome.unread)
        for words in _whose_words(outcome, dry_run=dry_run):
            say(on_one_line(words))
        say(on_one_line(f"{_counts(outcome, dry_run=dry_run)}; AGENTS.md: {outcome.agents}"))
    if outcome.failed:
        context.exit(DiskError.exit_code)


def _whose_words(outcome: Outcome, *, dry_run: bool) -> Iterator[str]:
    """Yield what was replaced in each context, and what was not because somebody has changed it."""
    for scope in sorted({*outcome.replaced, *outcome.kept}):
        replaced, kept = outcome.replaced.get(scope), outcome.kept.get(scope)
        words = [f"{'would replace' if dry_run else 'replaced'} {', '.join(replaced)}"] if replaced else []
        words += [f"kept {', '.join(kept)}, which somebody has changed"] if kept else []
        yield f"{scope}: {'; '.join(words)}"


def _counts(outcome: Outcome, *, dry_run: bool) -> str:
    done = {"written": outcome.written, "updated": outcome.updated, "unchanged": outcome.unchanged}
    counts = {**{what: len(scopes) for what, scopes in done.items()}, "failed": len(outcome.failed)}
    if not (any(counts.values()) or outcome.missing):
        return "nothing to draft"
    would = "nothing was written; it would be " if dry_run else ""
    text = would + ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"{text}; {len(outcome.missing)} to be written by people" if outcome.missing else text

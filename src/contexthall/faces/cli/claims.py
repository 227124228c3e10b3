"""`context note` and `context check`: writing claims down, and what no longer holds of them."""

import sys
from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

import click

from contexthall.contexts.project import DRIFTS, ChangedReport
from contexthall.core import limits
from contexthall.core.errors import CheckFailedError, UsageError
from contexthall.core.wire import compact
from contexthall.faces.cli.contexts import check_is_directory
from contexthall.faces.cli.options import JSON, HallChoice, completed_by, project_options
from contexthall.faces.cli.output import counted, on_one_line, print_data, print_json, print_lines, say

_MARKDOWN = str.maketrans({each: f"\\{each}" for each in "\\`*_[]<>|#~"})


class ClaimText(NamedTuple):
    """What was typed, or answered, about a claim."""

    constraint: str | None
    decision: str | None
    why: str | None
    cites: tuple[str, ...]
    claim: str | None


@click.command(
    epilog="""\b
Examples:
  context note src --constraint "Never log a key." --cite src/keys.py#rotate
  context note src --decision "One file a key" --why "Rotation touches one"
  context note src --claim decisions/1 --cite src/store.py"""
)
@click.argument("scope", shell_complete=completed_by("scopes"))
@click.option("--constraint", metavar="TEXT", help="Something that must stay so.")
@click.option("--decision", metavar="TEXT", help="Something that was decided; with --why.")
@click.option("--why", metavar="TEXT", help="The reason of the decision.")
@click.option("--claim", metavar="CLAIM", help="One that is there already, such as decisions/1; with --cite.")
@click.option(
    "--cite", "cites", multiple=True, metavar="PATH[#SYMBOL]", help="A file, or a definition in it. Repeatable."
)
@JSON
@project_options
def note(  # noqa: PLR0913 - one for each thing that can be typed
    *,
    scope: str,
    constraint: str | None,
    decision: str | None,
    why: str | None,
    claim: str | None,
    cites: tuple[str, ...],
    as_json: bool,
    hall: HallChoice,
) -> None:
    """Write down a constraint or a decision, and what it rests on.

    SCOPE is the directory, relative to the project root; the words go into its context. What is cited is watched: when
    it changes, the claim is in doubt until somebody says that it holds (`context rehash SCOPE`). Without any of the
    options, a terminal is asked three questions.
    """
    typed = ClaimText(constraint, decision, why, cites, claim)
    if typed == ClaimText(None, None, None, (), None):
        typed = _asked(scope)
    field, value = _value(typed)
    opened = hall.open()
    check_is_directory(opened.project, scope)
    noted = opened.note_claim(scope, field, value, typed.cites)
    if as_json:
        cited = [each.to_json() for each in noted.citations]
        told = {"scope": noted.scope, "claim": noted.claim.name, "place": noted.claim.place, "citations": cited}
        print_json(compact(told | {"new": noted.is_new}))
        return
    print_lines([noted.claim.place])
    targets = ", ".join(each.target for each in noted.citations)
    done = "noted" if noted.is_new else "is there"
    say(on_one_line(f"{noted.claim.place} of {noted.scope} {done}{', which cites ' + targets if targets else ''}"))


def _value(typed: ClaimText) -> tuple[str, object]:
    """Return the field and the value of a claim; for one that is there already, no field and its name."""
    given = [name for name in ("constraint", "decision", "claim") if getattr(typed, name)]
    if len(given) != 1:
        raise UsageError("name one of --constraint, --decision and --claim", hint="`context note --help` has examples")
    if typed.claim:
        if not typed.cites:
            raise UsageError("--claim needs --cite", hint="name what the claim rests on")
        return "", typed.claim
    if typed.constraint:
        if typed.why:
            raise UsageError("a constraint has no --why", hint="write the reason into it, or make it a --decision")
        return "constraints", typed.constraint.strip()
    if not typed.why:
        raise UsageError("a decision needs its --why", hint="without a reason, make it a --constraint")
    return "decisions", {"what": str(typed.decision).strip(), "why": typed.why.strip()}


def _asked(scope: str) -> ClaimText:
    """Ask whoever is at the terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("nothing to note", hint=f'context note {quote(scope)} --constraint "…"')
    what = click.prompt(on_one_line(f"What must somebody know who works in {scope}?"), err=True)
    why = click.prompt("Why was that decided? (nothing: it is a constraint)", default="", show_default=False, err=True)
    cites = click.prompt(
        "Which files show it? PATH or PATH#SYMBOL, blanks between (nothing: none)",
        default="",
        show_default=False,
        err=True,
    )
    cited = tuple(str(cites).split())
    return ClaimText(None, what, why, cited, None) if why else ClaimText(what, None, None, cited, None)


@click.command(epilog="\b\nExample:\n  git diff --name-only main... | context check --changed - --format md")
@click.option(
    "--changed",
    required=True,
    metavar="-",
    help="Read the names of the files that changed from standard input, a line each.",
)
@click.option(
    "--drift",
    type=click.Choice(DRIFTS),
    default="interface",
    show_default=True,
    help="Exit with 8 from this drift on.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "md", "json"]),
    default="text",
    show_default=True,
    help="Of the report.",
)
@project_options
def check(changed: str, drift: str, form: str, hall: HallChoice) -> None:
    """Check contexts and claims that changed files concern.

    Prints what does not hold now: stale contexts of the directories in which files changed, and claims that cite
    changed files. Names are relative to the project root; git is not run.
    """
    if changed != "-":
        raise UsageError(f"--changed takes - and no {changed}", hint="git diff --name-only | context check --changed -")
    report = hall.open().check_changed(_standard_input())
    if form == "json":
        print_json(compact(report.to_json()))
    elif form == "md":
        print_data("\n".join(_as_markdown(report)))
    else:
        print_lines(_as_text(report))
    words = f"{counted(len(report.contexts), 'stale context')}, {counted(len(report.claims), 'claim')} in doubt"
    if report.is_beyond(drift):
        hint = "`context show SCOPE` shows a claim beside what changed; `context rehash SCOPE` says that it holds"
        raise CheckFailedError(words, hint=hint)
    if form == "text":
        say(words)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("standard input is closed", hint="git diff --name-only | context check --changed -")
    data = sys.stdin.buffer.read(limits.CHANGED_NAMES_BYTES + 1)
    if len(data) > limits.CHANGED_NAMES_BYTES:
        raise UsageError(f"more than {limits.CHANGED_NAMES_BYTES} bytes of names", hint="name fewer files")
    return data


def _as_text(report: ChangedReport) -> Iterator[str]:
    for context in report.contexts:
        yield f"{context.drift.level or 'unknown':<9} {context.scope}"
    for claim in report.claims:
        cited = claim.judged
        yield (
            f"{cited.verdict:<9} {claim.scope}: {cited.claim.place} {cited.claim.text} (cites {cited.citation.target})"
        )


def _as_markdown(report: ChangedReport) -> Iterator[str]:
    if not (report.contexts or report.claims):
        yield "All contexts and claims that these files concern hold."
        return
    if report.claims:
        yield from ("### Claims in doubt", "", "| claim | rests on | which is |", "| --- | --- | --- |")
    for scope, (claim, citation, verdict) in report.claims:
        yield f"| {_cell(scope)}: {_cell(claim.text)} | {_cell(citation.target)} | {verdict} |"
    if report.contexts:
        yield from (
            *([""] if report.claims else []),
            "### Stale contexts",
            "",
            "| directory | drift |",
            "| --- | --- |",
        )
    for context in report.contexts:
        yield f"| {_cell(context.scope)} | {context.drift.level or 'unknown'} |"


def _cell(text: str) -> str:
    """Write text from the project so that it stays in its cell, and is no markup."""
    return on_one_line(" ".join(text.split())).translate(_MARKDOWN)

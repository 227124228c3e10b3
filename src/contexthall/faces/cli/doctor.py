"""`context doctor`."""

from collections import Counter
from collections.abc import Sequence

import click

from contexthall.core import limits
from contexthall.core.errors import CheckFailedError
from contexthall.core.wire import compact
from contexthall.faces.cli.diagnostics.checks import Checks
from contexthall.faces.cli.diagnostics.findings import DoctorFinding
from contexthall.faces.cli.options import JSON, HallChoice, rooms_options
from contexthall.faces.cli.output import counted, on_one_line, print_data, print_json, say, shortened
from contexthall.faces.web.address import DEFAULT_PORT

_TITLES = {
    "hall": "The hall",
    "roots": "Roots and settings",
    "caches": "Caches",
    "contexts": "Contexts",
    "guild": "Guild",
    "clients": "Clients",
    "port": "Port",
}
_WIDEST_SUBJECT = 16


@click.command
@click.option("--no-start", is_flag=True, help="Start no member of the guild.")
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    default=DEFAULT_PORT,
    show_default=True,
    metavar="PORT",
    help="Where the hall would listen.",
)
@JSON
@rooms_options
def doctor(no_start: bool, port: int, as_json: bool, hall: HallChoice) -> None:
    """Say what is wrong here, and what to type.

    Looks at the installation, the roots and settings, every cache, context and member of the guild, the clients that
    know the hall, and the port. Members are started, asked for their tools and stopped; but for their logs, nothing is
    written. Exits with 8 if something is wrong; a note is not.
    """
    findings: dict[str, Sequence[DoctorFinding]] = {}
    for name, found in Checks.of(hall, port=port, starts_members=not no_start).sections():
        findings[name] = found
        if not as_json:
            print_data(_section(_TITLES[name], found))
    marks = Counter(each.mark for found in findings.values() for each in found)
    wrong, notes = marks["wrong"], marks["note"]
    if as_json:
        sections = {name: [_as_json(each) for each in found] for name, found in findings.items()}
        print_json(compact({"sound": not wrong, "wrong": wrong, "notes": notes, **sections}))
    if wrong:
        text = f"{wrong} wrong, {counted(notes, 'note')}"
        raise CheckFailedError(text, hint="type what stands below each line that is marked `wrong`")
    if not as_json:
        say(f"nothing is wrong; {counted(notes, 'note')}")


def _section(title: str, findings: Sequence[DoctorFinding]) -> str:
    """Lay out all that is wrong and the first few of the rest, in order; one alone is not worth summing up."""
    rest = [number for number, each in enumerate(findings) if each.mark != "wrong"]
    hidden = rest[limits.DOCTOR_FINDINGS :] if len(rest) > limits.DOCTOR_FINDINGS + 1 else []
    shown = [each for number, each in enumerate(findings) if number not in hidden]
    width = min(_WIDEST_SUBJECT, max((len(on_one_line(each.subject)) for each in shown), default=0))
    lines = [line for each in shown for line in _lines(each, width)]
    if hidden:
        notes = sum(findings[number].mark == "note" for number in hidden)
        summary = f"{notes} with a note" if notes else "all sound"
        lines.append(f"         and {len(hidden)} more, {summary}; --json has all")
    return "\n".join([title, *lines]) + "\n"


def _lines(finding: DoctorFinding, width: int) -> list[str]:
    found = shortened(finding.found, limits.DOCTOR_SENTENCE_CHARACTERS)
    line = f"  {finding.mark:<5}  {on_one_line(finding.subject):<{width}}  {found}"
    return [line, f"         type: {on_one_line(finding.remedy)}"] if finding.remedy else [line]


def _as_json(finding: DoctorFinding) -> dict[str, object]:
    mark, subject, found, remedy, facts = finding
    return {"mark": mark, "subject": subject, "found": found, "type": remedy or None, "facts": dict(facts)}

"""`context status`, `show`, `rehash`, `validate` and `watch`."""

from collections.abc import Sequence

import click

from contexthall.contexts.project import (
    FIELDS,
    FRESH,
    STALE,
    ContextEntry,
    ContextListing,
    FreshnessReport,
    Project,
    StateChange,
    as_yaml,
)
from contexthall.core.errors import CheckFailedError, DiskError, HallError, UsageError
from contexthall.core.paths import shown
from contexthall.core.wire import compact
from contexthall.faces.cli.log import show_log
from contexthall.faces.cli.options import JSON, HallChoice, completed_by, project_options
from contexthall.faces.cli.output import (
    counted,
    escaped,
    on_one_line,
    print_data,
    print_error,
    print_json,
    print_lines,
    say,
    shortened,
)
from contexthall.hall import Hall

_WIDEST_NAME = 40
_WIDEST_SUMMARY = 80
_REMEDY = (
    "`context init` for what is missing; for what is stale `context regen`, or `context rehash` if it is still true"
)


@click.command(epilog="\b\nExample:\n  context status --check")
@click.option("--check", "must_be_fresh", is_flag=True, help="Exit with 8 unless every context is there and fresh.")
@JSON
@project_options
def status(must_be_fresh: bool, as_json: bool, hall: HallChoice) -> None:
    """Show which directories have a context, and which are stale.

    With --json it prints the same JSON as the tool list_contexts.
    """
    project = hall.open().project
    project.config()  # raises if it is bad, which a listing would only mention
    listing = project.list_contexts()
    if listing.error:
        raise DiskError(listing.error)
    if as_json:
        print_json(compact(listing.to_json()))
    else:
        print_data(_tree(project, listing.entries))
    counts = _counts(listing)
    if must_be_fresh and any(entry.state != FRESH for entry in listing.entries):
        raise CheckFailedError(counts, hint=_REMEDY)
    if not as_json:
        say(counts)


@click.command(epilog="\b\nExample:\n  context show src --field summary --field files")
@click.argument("scope", shell_complete=completed_by("scopes"))
@click.option("--field", "fields", multiple=True, metavar="FIELD", help="A field wanted instead of all. Repeatable.")
@JSON
@project_options
def show(scope: str, fields: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Show what is known of a directory, and if it is still true.

    SCOPE is the directory, relative to the project root. With --json it prints the same JSON as the tool
    query_context, called with freshness.
    """
    unknown = [field for field in fields if field not in FIELDS]
    if unknown:
        raise UsageError(f"{unknown[0]} is no field that can be shown", hint=f"the fields are {', '.join(FIELDS)}")
    reading = hall.open().project.query_context(scope, fields, with_freshness=True)
    if reading.freshness is None:
        raise UsageError(reading.error, hint="`context status` shows which directories have a context")
    if as_json:
        print_json(compact(reading.to_json()))
    else:
        print_data(escaped(as_yaml(reading.fields)))
        say(on_one_line(f"{reading.freshness.state}{_changed(reading.freshness)}"))


@click.command(epilog="\b\nExample:\n  context rehash src tests")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...", shell_complete=completed_by("scopes"))
@JSON
@project_options
@click.pass_context
def rehash(context: click.Context, scopes: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Say that contexts are true again, by a new fingerprint.

    A SCOPE is a directory, relative to the project root; without one, all contexts of the project. Nothing else in the
    files is touched.
    """
    opened = hall.open()
    done, errors = _rehash(opened, scopes or opened.project.places())
    for error in errors:
        print_error(error)
    if errors and not any(done.values()):
        context.exit(errors[0].exit_code)
    if as_json:
        print_json(compact(done | {"failed": len(errors)}))
    else:
        print_lines(done["rehashed"])
        say(f"{len(done['rehashed'])} rehashed, {len(done['unchanged'])} unchanged, {len(errors)} failed")
    if errors:
        context.exit(errors[0].exit_code)


@click.command(epilog="\b\nExample:\n  context validate --strict")
@click.option("--strict", is_flag=True, help="Compare files, exports and dependencies with the code as well.")
@JSON
@project_options
def validate(strict: bool, as_json: bool, hall: HallChoice) -> None:
    """Check contexts against their schema, and against the code.

    Exits with 8 if there is a violation; notes break nothing.
    """
    report = hall.open().validate_contexts(strict=strict)
    if as_json:
        findings = [finding._asdict() for finding in report.findings]
        print_json(compact(report._asdict() | {"findings": findings}))
    else:
        print_lines(
            f"{each.severity:<9}  {each.scope}: {each.field + ': ' if each.field else ''}{each.message}"
            for each in report.findings
        )
    counts = f"{report.valid} valid, {report.invalid} invalid, {report.missing} without a context"
    if report.invalid:
        raise CheckFailedError(counts, hint="mend the files that are named, then type `context validate` again")
    if not as_json:
        say(counts)


@click.command
@JSON
@project_options
def watch(as_json: bool, hall: HallChoice) -> None:
    """Tell which contexts become stale, while people work.

    At first every directory that is not fresh, then every change, new directories included. With --json one object a
    line. Ends when it is interrupted.
    """
    opened = hall.open()
    opened.project.config()  # raises if it is bad, which a listing would only mention
    show_log()
    say(on_one_line(f"watching {opened.project.root}; press Ctrl+C to end"))
    for changes in opened.watch_contexts():
        for change in changes:
            if as_json or change.was is not None or change.state != FRESH:
                _print_change(change, as_json=as_json)


def _counts(listing: ContextListing) -> str:
    states = [entry.state for entry in listing.entries]
    text = ", ".join(f"{states.count(state)} {state}" for state in ("fresh", "stale", "missing"))
    return f"{counted(len(states), 'directory')}: {text}; {listing.skipped_directories} too small to count"


def _tree(project: Project, entries: Sequence[ContextEntry]) -> str:
    """Lay the directories out by depth, each with its state and a line about it."""
    rows = [_row(project, entry) for entry in sorted(entries, key=lambda entry: entry.scope.split("/"))]
    width = min(max(len(name) for _, name, _ in rows), _WIDEST_NAME)
    return "\n".join(on_one_line(f"{state:<8} {name:<{width}}  {text}").rstrip() for state, name, text in rows)


def _row(project: Project, entry: ContextEntry) -> tuple[str, str, str]:
    scope, state = entry.scope, entry.state
    name = scope if scope == "." else "  " * (scope.count("/") + 1) + scope.rpartition("/")[2] + "/"
    if entry.error:
        return state, name, f"! {entry.error}"
    changed = _changed(project.check_freshness(scope)) if state == STALE else ""
    summary = " ".join(str(entry.summary if entry.has_summary else "").split())
    return state, name, f"{shortened(summary, _WIDEST_SUMMARY)}{changed}"


def _changed(freshness: FreshnessReport) -> str:
    names = [f"{kind} {', '.join(files)}" for kind, files in freshness.changed.items() if files]
    return f" ({'; '.join(names)})" if names else ""


def _rehash(hall: Hall, scopes: Sequence[str]) -> tuple[dict[str, list[str]], list[HallError]]:
    done: dict[str, list[str]] = {"rehashed": [], "unchanged": []}
    errors: list[HallError] = []
    for scope in scopes:
        try:
            place = hall.project.locate(scope)
            done["rehashed" if hall.rehash_context(place) else "unchanged"].append(shown(place))
        except HallError as error:
            errors.append(error)
    return done, errors


def _print_change(change: StateChange, *, as_json: bool) -> None:
    if as_json:
        print_json(compact(change._asdict()))
        return
    was = f" (was {change.was})" if change.was else ""
    print_data(on_one_line(f"{change.state or 'gone':<8} {change.scope}{was}"))

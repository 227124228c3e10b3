"""`context status`, `show`, `rehash` and `validate`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import click

from contexthall.contexts.project import (
    CONTENT,
    DRIFTS,
    FIELDS,
    FRESH,
    MISSING,
    STALE,
    ContextEntry,
    ContextListing,
    FreshnessReport,
    Project,
    RuleFile,
    as_yaml,
    is_beyond,
)
from contexthall.core.errors import CheckFailedError, DiskError, HallError, UsageError
from contexthall.core.wire import compact
from contexthall.faces.cli.cache_report import count_states, status_rows
from contexthall.faces.cli.options import JSON, HallChoice, completed_by, project_options, roots_options
from contexthall.faces.cli.output import (
    counted,
    escaped,
    on_one_line,
    print_data,
    print_error,
    print_json,
    print_lines,
    say,
    say_unread,
    shortened,
)

if TYPE_CHECKING:
    from contexthall.caches.library import CacheReport, Library

_BECAME = {"changed": "has changed", "gone": "is gone"}
_WIDEST_NAME = 40
_WIDEST_SUMMARY = 80
_HAVE_ONE = "`context status` shows which directories have a context"
_REMEDY = "for what is stale `context regen`, or `context rehash` if it is still true"
_MISSING_REMEDY = "for what is missing `context init`, or words of your own where it has nothing to say"
_CACHES_REMEDY = "`context refresh` for caches that are stale"


@click.command(epilog="\b\nExample:\n  context status --check")
@click.option(
    "--check",
    "must_be_fresh",
    is_flag=True,
    help="Exit with 8 if a context or a cache is stale.",
)
@click.option("--strict", is_flag=True, help="With --check, also if a directory lacks its context.")
@click.option(
    "--drift",
    type=click.Choice(DRIFTS),
    help="With --check: stale contexts fail only from this drift on; unknown drift fails.",
)
@JSON
@roots_options
def status(must_be_fresh: bool, drift: str | None, strict: bool, as_json: bool, hall: HallChoice) -> None:
    """Show which contexts and caches are stale.

    First the directories of the project, then the caches. With --json it prints the same JSON as the tool
    list_contexts; `context caches --long --json` has that of the caches.
    """
    if drift and not must_be_fresh:
        raise UsageError("--drift says what --check accepts", hint="context status --check --drift interface")
    opened = hall.open()
    project = opened.project
    project.config()  # raises if it is bad, which a listing would only mention
    listing = project.list_contexts()
    if listing.error:
        raise DiskError(listing.error)
    caches = _reports(opened.caches) if must_be_fresh or not as_json else {}
    if as_json:
        print_json(compact(listing.to_json()))
    else:
        print_data(_overview(project, listing, status_rows(caches, opened.settings.working_directory)))
    counts = [_counts(listing), *([count_states(caches)] if caches else [])]
    remedies = list(_remedies(listing, caches, drift or CONTENT, strict=strict)) if must_be_fresh else []
    if remedies:
        raise CheckFailedError("; ".join(counts), hint="; ".join(remedies))
    if not as_json:
        say_unread(listing.unread)
        if project.drift.lock().has_conflict:
            say(".context.lock has conflict marks; `context rehash` mends it")
        for words in counts:
            say(words)


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
    project = hall.open().project
    check_is_directory(project, scope)
    reading = project.query_context(scope, fields, with_freshness=True)
    if reading.freshness is None:
        words = f"`context note {quote(scope)} --constraint TEXT` begins a context"
        raise UsageError(reading.error, hint=f"{words}; {_HAVE_ONE}")
    if as_json:
        print_json(compact(reading.to_json()))
    else:
        print_data(escaped(as_yaml(reading.fields)))
        say(on_one_line(f"{reading.freshness.state}{_changed(reading.freshness)}"))
        for words in _doubts(reading.freshness):
            say(on_one_line(words))


def check_is_directory(project: Project, scope: str) -> None:
    """Refuse what is no directory of the project, with what to type instead."""
    kind = project.kind(scope)
    if kind == "file":
        above = os.path.dirname(project.locate(scope)) or "."
        raise UsageError(
            f"{scope} is a file", hint=f"its directory is {above}; `context note {above} --cite` cites files"
        )
    if kind != "directory":
        raise UsageError(f"the project has no directory {scope}", hint=_HAVE_ONE).about(scope, project.places())


@click.command(epilog="\b\nExample:\n  context rehash src tests")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...", shell_complete=completed_by("scopes"))
@JSON
@project_options
@click.pass_context
def rehash(context: click.Context, scopes: tuple[str, ...], as_json: bool, hall: HallChoice) -> None:
    """Say that contexts are true again, by a new fingerprint.

    A SCOPE is a directory, relative to the project root; without one, all contexts of the project. Nothing else in the
    files is touched. In .context.lock, their claims cite what is there now; conflict marks of git are mended.
    """
    rehashed, unchanged, errors = hall.open().rehash_contexts(scopes or None)
    for error in errors:
        print_error(error)
    if errors and not (rehashed or unchanged):
        context.exit(errors[0].exit_code)
    if as_json:
        print_json(compact({"rehashed": rehashed, "unchanged": unchanged, "failed": len(errors)}))
    else:
        print_lines(rehashed)
        say(f"{len(rehashed)} rehashed, {len(unchanged)} unchanged, {len(errors)} failed")
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


def _reports(library: "Library") -> "dict[str, CacheReport]":
    """Return a report on every cache; a root that cannot be listed hides no context."""
    try:
        return library.reports()
    except HallError as error:
        say(on_one_line(f"caches: {error}"))
        return {}


def _remedies(
    listing: ContextListing, caches: "Mapping[str, CacheReport]", level: str, *, strict: bool
) -> Iterator[str]:
    there = [entry for entry in listing.entries if entry.state != MISSING or entry.error]
    if any(is_beyond(entry.state, entry.drift, level) for entry in there):
        yield _REMEDY
    if strict and any(entry.state == MISSING and not entry.error for entry in listing.entries):
        yield _MISSING_REMEDY
    if any(report.freshness.state == "stale" for report in caches.values()):
        yield _CACHES_REMEDY


def _overview(project: Project, listing: ContextListing, caches: Sequence[str]) -> str:
    """Lay out the directories, if any has a context, below them the rule files, and then the caches."""
    tree = [_tree(project, listing.entries)] if _has_any(listing) else []
    rules = [on_one_line(_rule(each)) for each in listing.rules]
    return "\n\n".join([*tree, *("\n".join(rows) for rows in (rules, caches) if rows)])


def _rule(rule: RuleFile) -> str:
    if rule.fault:
        return f"rules    {rule.path}  ! {rule.fault}"
    gone = f" (names {', '.join(rule.gone)}, not there)" if rule.gone else ""
    return f"rules    {rule.path}  for {rule.about}{gone}"


def _has_any(listing: ContextListing) -> bool:
    return any(entry.has_context or entry.error for entry in listing.entries)


def _counts(listing: ContextListing) -> str:
    states = [entry.state for entry in listing.entries]
    if not _has_any(listing):
        return f"{counted(len(states), 'directory')}, none with a context yet; `context init` drafts what it can"
    drifts = {STALE: _drifts(listing)}
    text = ", ".join(f"{states.count(state)} {state}{drifts.get(state, '')}" for state in (FRESH, STALE, MISSING))
    claims = sum(len(entry.claims) for entry in listing.entries)
    doubt = f"; {counted(claims, 'claim')} in doubt" if claims else ""
    return f"{counted(len(states), 'directory')}: {text}{doubt}; {listing.skipped_directories} too small to count"


def _drifts(listing: ContextListing) -> str:
    """Return how many of the stale contexts have drifted how far, if that is known of any."""
    drifts = [entry.drift for entry in listing.entries if entry.state == STALE]
    told = [f"{drifts.count(drift)} {drift or 'unknown'}" for drift in (*DRIFTS, "") if drift in drifts]
    return f" ({', '.join(told)})" if any(drifts) else ""


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
    changed = _changed(project.check_freshness(scope)) if state == STALE or entry.claims else ""
    summary = " ".join(str(entry.summary if entry.has_summary else "").split())
    return state, name, f"{shortened(summary, _WIDEST_SUMMARY)}{changed}"


def _changed(freshness: FreshnessReport) -> str:
    names = [f"{kind} {', '.join(files)}" for kind, files in freshness.changed.items() if files]
    drift = [freshness.drift.level] if freshness.drift.level else []
    return f" ({'; '.join([*drift, *names])})" if drift or names else ""


def _doubts(freshness: FreshnessReport) -> Iterator[str]:
    """Yield each claim that does not hold beside what changed."""
    for claim, citation, verdict in freshness.drift.failing:
        stop = "" if claim.text.endswith((".", "!", "?")) else "."
        yield f"{claim.place} in doubt: {claim.text}{stop} It cites {citation.target}, which {_BECAME[verdict]}."

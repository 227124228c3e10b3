"""The plan of a drafting run: what is known of the project before anything is written.

Values only, because forked workers share it. Every directory is scanned once, and its manifests are read once, for the
plan; its other files are read once, by the worker that drafts it.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from contexthall.contexts.draft.importers import FileImports, imports_of, of_code
from contexthall.contexts.draft.interface import interface
from contexthall.contexts.draft.languages.language import Layout
from contexthall.contexts.draft.languages.table import TITLES, manifest_of
from contexthall.contexts.draft.material import (
    gather,
    language_sizes,
    parse_manifests,
    read_manifests,
    read_sources,
    source_names,
)
from contexthall.contexts.draft.outline import draft
from contexthall.contexts.draft.syntax.sentences import first_sentence
from contexthall.contexts.draft.witnesses import Statement, derived_statement, project_statement, statements
from contexthall.contexts.files.claims import edited_fields
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.drafted_fields import DIGITS, FULL, derived_fields, digests
from contexthall.contexts.files.lock import Lock
from contexthall.contexts.files.writing import scan_to_write
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of, read_context_of
from contexthall.contexts.project import Overview, Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory
from contexthall.core.errors import ContextError, DiskError, HallError, PathMissingError
from contexthall.core.paths import shown


class Order(NamedTuple):
    """The options of a drafting run."""

    now: str
    is_full: bool = False
    is_dry: bool = False
    with_agents: bool = True


class DraftPlan(NamedTuple):
    """The project as it is drafted from."""

    order: Order
    name: str
    """Of the project's directory."""
    language: str
    """The one that most of the code is in; empty if there is none."""
    languages: Sequence[str]
    """Their titles, the one that most of the code is in first."""
    directories: Mapping[str, ScannedDirectory]
    below: Mapping[str, Sequence[str]]
    """Scope → the scopes directly below it that count."""
    manifests: Mapping[str, Mapping[str, bytes]]
    """Scope → name → text."""
    faults: Mapping[str, str]
    """Scope → why it could not be scanned, or its manifests not be read."""
    layout: Layout
    lock: Lock
    """As it was when the run began."""


class Draft(NamedTuple):
    """The drafted fields of a directory but for its summary, and the statements to choose that from."""

    fields: dict[str, Value]
    statements: tuple[Statement, ...]
    """The best first."""
    human_summary: str = ""
    """Its summary if a person wrote it: then it stays."""
    drafted_summary: str = ""
    """Its summary as an earlier run drafted it."""
    interface: str = ""
    """See `draft/interface.py`; empty if it is not known."""
    imports: tuple[FileImports, ...] = ()
    """What its code imports from other directories."""


def make_plan(project: Project, overview: Overview, order: Order, scopes: Sequence[str]) -> DraftPlan:
    """Scan those of `scopes` that do not count, read the manifests of all, and lay out what is where."""
    counted = {each.scope: each for each in overview.directories}
    directories, manifests, faults = {**counted}, dict[str, dict[str, bytes]](), dict[str, str]()
    for scope in dict.fromkeys((*counted, *scopes)):
        try:
            directories[scope] = counted.get(scope) or scan_to_write(project, scope)
            manifests[scope] = read_manifests(project.disk, directories[scope])
        except HallError as error:
            faults[scope] = str(error)
    found = ((scope, each) for scope in counted for each in parse_manifests(manifests.get(scope, {})))
    packages = {name: scope for scope, each in found for name in (each.module, each.name) if name}
    files = {scope: {file.name for file in each.files} for scope, each in counted.items()}
    sizes, name = language_sizes(counted.values()), os.path.basename(project.root)
    return DraftPlan(
        order=order._replace(is_full=order.is_full or overview.config.mode == "full"),
        name=shown(name),
        language=next(iter(sizes), ""),
        languages=[TITLES[each] for each in sizes],
        directories=directories,
        below=below_each(overview),
        manifests=manifests,
        faults=faults,
        layout=Layout(files, packages, name),
        lock=project.drift.lock(),
    )


def below_each(overview: Overview) -> dict[str, list[str]]:
    """Return the scopes that count, by their parent scope."""
    below: dict[str, list[str]] = {}
    for each in overview.census.kept:
        if each.scope != ROOT:
            below.setdefault(os.path.dirname(each.scope) or ROOT, []).append(each.scope)
    return below


def draft_directory(project: Project, plan: DraftPlan, scope: str) -> Draft:
    """Draft a directory, but for the summaries of those below it and the choice of its own."""
    directory = plan.directories[scope]
    values = values_of(project, directory)
    derived = derived_fields(values)
    inherited = {
        name: text
        for name, text in plan.manifests.get(ROOT, {}).items()
        if (kind := manifest_of(name)) and kind.inherits
    }
    material = gather(project, directory, parse_manifests(plan.manifests[scope], inherited))
    stated = tuple(statements(material))
    if scope == ROOT:  # one export says too little about a whole project
        stated = tuple(each for each in stated if len(each.exports) != 1)
        stated = (*stated, project_statement(plan.name, plan.languages))
    imports = imports_of(scope, material.sources, plan.layout)
    fields = draft(
        material,
        imports.values(),
        is_full=plan.order.is_full or any(name in derived for name in FULL),
        name=plan.name,
        language=plan.language if scope == ROOT else "",
        summary=stated[0].text if stated else "",
    )
    is_ours = not values or ("summary" in derived and "summary" not in edited(project, plan, scope, values))
    drafted = Draft(
        fields,
        stated,
        interface=interface(material.scope, material.names, material.sources),
        imports=of_code(scope, imports),
    )
    if not is_ours:
        return drafted._replace(human_summary=first_of(values))
    return drafted._replace(drafted_summary=str(values.get("summary") or ""))


def imports_elsewhere(
    project: Project, plan: DraftPlan, scopes: Iterable[str], wanted: Collection[str]
) -> dict[str, tuple[FileImports, ...]]:
    """Return what other directories import from `wanted` ones, for those whose contexts list that dependency."""
    marks = [shown(scope).encode("utf-8", "surrogateescape") for scope in wanted]
    found = {}
    for scope in scopes if marks else ():
        directory = plan.directories[scope]
        with suppress(HallError):
            _, data = read_bytes_of(project.disk, directory.path)
            if any(mark in data for mark in marks) and not _internal(read_context(data)).isdisjoint(wanted):
                sources = read_sources(project.disk, directory, source_names(directory))
                found[scope] = of_code(scope, imports_of(scope, sources, plan.layout))
    return found


def _internal(values: Mapping[str, Value]) -> set[Value]:
    listed = values.get("dependencies")
    inside = listed.get("internal") if isinstance(listed, dict) else None
    return {each for each in inside if isinstance(each, str)} if isinstance(inside, list) else set()


def derive_again(project: Project, plan: DraftPlan, scope: str) -> Statement | None:
    """Return the derived statement about a directory: what people wrote there is about another one."""
    try:
        return derived_statement(gather(project, plan.directories[scope], ()))
    except HallError:
        return None


def values_of(project: Project, directory: ScannedDirectory) -> Mapping[str, Value]:
    """Return the fields of the context that a directory has; none if it has none that can be read."""
    try:
        return read_context_of(project.disk, directory.path)[1]
    except ContextError as error:
        if isinstance(error.__cause__, DiskError) and not isinstance(error.__cause__, PathMissingError):
            raise
        return {}


def edited(project: Project, plan: DraftPlan, scope: str, values: Mapping[str, Value]) -> set[str]:
    """Return the drafted fields that a person has changed since, whichever machine drafted them.

    Without a lock, the ledger knows what this machine drafted.
    """
    entry = plan.lock.entry(shown(scope))
    if entry is not None:
        return edited_fields(values, entry)
    written = project.ledger.written(scope)
    if written is None or written.last_updated != values["last_updated"]:
        return set()
    return {
        name
        for name, each in digests(values).items()
        if name in written.fields and written.fields[name][:DIGITS] != each
    }


def first_of(values: Mapping[str, Value]) -> str:
    """Return the first sentence of a summary, if there is one."""
    return first_sentence(str(values.get("summary") or ""))

"""The plan of a drafting run: what is known of the project before anything is written.

Frozen, because forked workers share it. A directory's manifests are read once, for the plan; its other files once, by
whoever drafts it.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.languages.language import Layout
from contexthall.contexts.draft.languages.table import MANIFESTS
from contexthall.contexts.draft.material import gather, language_sizes, parse_manifests, read_manifests
from contexthall.contexts.draft.outline import Surroundings, draft
from contexthall.contexts.draft.syntax.prose import first_sentence
from contexthall.contexts.files.merge import FULL, derived_fields, digests
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_context_of
from contexthall.contexts.project import Overview, Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory
from contexthall.core.errors import ContextError, DiskError, PathMissingError
from contexthall.core.paths import shown


class Order(NamedTuple):
    """How drafting shall be done."""

    now: str
    is_full: bool = False
    is_dry: bool = False
    with_agents: bool = True


class DraftPlan(NamedTuple):
    """The project as it is drafted from."""

    project: Project
    order: Order
    is_full: bool
    directories: Mapping[str, ScannedDirectory]
    below: Mapping[str, Sequence[str]]
    """Scope → the scopes directly below it that count."""
    manifests: Mapping[str, Mapping[str, bytes]]
    """Scope → name → text."""
    faults: Mapping[str, str]
    """Scope → why its manifests could not be read."""
    layout: Layout

    @property
    def inherited(self) -> Mapping[str, bytes]:
        """The manifests of the root from which others inherit."""
        root = self.manifests.get(ROOT, {})
        return {name: text for name, text in root.items() if MANIFESTS[name].inherits}


class Draft(NamedTuple):
    """The drafted fields of a directory, and what it will be said to be for, by whomever."""

    fields: dict[str, Value]
    summary: str


def make_plan(project: Project, overview: Overview, order: Order) -> DraftPlan:
    """Read the manifests of a project, and lay out what is where."""
    directories = {each.scope: each for each in overview.directories}
    manifests: dict[str, dict[str, bytes]] = {}
    faults: dict[str, str] = {}
    packages: dict[str, str] = {}
    for scope, directory in directories.items():
        try:
            manifests[scope] = read_manifests(project.disk, directory)
        except DiskError as error:
            faults[scope] = str(error)
            continue
        for manifest in parse_manifests(manifests[scope]):
            packages |= {name: scope for name in (manifest.module, manifest.name) if name}
    files = {scope: {file.name for file in each.files} for scope, each in directories.items()}
    layout = Layout(files, packages, os.path.basename(project.root))
    is_full = order.is_full or overview.config.mode == "full"
    return DraftPlan(project, order, is_full, directories, below_each(overview), manifests, faults, layout)


def below_each(overview: Overview) -> dict[str, list[str]]:
    """Return the scopes that count by the scope directly above them."""
    below: dict[str, list[str]] = {}
    for each in overview.census.kept:
        if each.scope != ROOT:
            below.setdefault(os.path.dirname(each.scope) or ROOT, []).append(each.scope)
    return below


def draft_directory(plan: DraftPlan, scope: str) -> Draft:
    """Draft a directory, but for what is said of those below it."""
    project = plan.project
    directory = plan.directories.get(scope) or project.look(scope)
    values = values_of(project, directory)
    sizes = language_sizes(plan.directories.values()) if scope == ROOT else {}
    around = Surroundings(
        scope=shown(scope),
        layout=plan.layout,
        below=sorted(shown(os.path.basename(each)) for each in plan.below.get(scope, ())),
        name=shown(os.path.basename(project.root)),
        language=max(sizes, key=lambda each: (sizes[each], each)) if sizes else "",
    )
    was_full = any(name in derived_fields(values) for name in FULL)
    texts = plan.manifests[scope] if scope in plan.manifests else read_manifests(project.disk, directory)
    material = gather(project.disk, directory, parse_manifests(texts, plan.inherited))
    fields = draft(material, around, is_full=plan.is_full or was_full)
    is_ours = not values or ("summary" in derived_fields(values) and "summary" not in edited(project, scope, values))
    return Draft(fields, first_of(fields if is_ours else values))


def values_of(project: Project, directory: ScannedDirectory) -> Mapping[str, Value]:
    """Return the fields of the context that a directory has; none if it has none that can be read."""
    try:
        return read_context_of(project.disk, directory.path)[1]
    except ContextError as error:
        if isinstance(error.__cause__, DiskError) and not isinstance(error.__cause__, PathMissingError):
            raise
        return {}


def edited(project: Project, scope: str, values: Mapping[str, Value]) -> set[str]:
    """Return the machine's fields that a person has changed since this machine wrote them."""
    written = project.ledger.written(scope)
    if written is None or written.last_updated != values["last_updated"]:
        return set()
    return {name for name, each in digests(values).items() if name in written.fields and written.fields[name] != each}


def first_of(values: Mapping[str, Value]) -> str:
    """Return the first sentence of a summary, if there is one."""
    return first_sentence(str(values.get("summary") or ""))

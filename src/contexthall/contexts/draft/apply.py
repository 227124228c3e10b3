"""Writing drafts: each context by itself, and nothing that a person wrote.

What is written is decided by the plan, the draft and the file as it is at that moment (compare-and-swap).
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from contexthall.contexts.draft.outline import with_below
from contexthall.contexts.draft.plan import Draft, DraftPlan, Order, edited
from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.claims import drafted_digests
from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.drafted_fields import digests, flatten
from contexthall.contexts.files.edit import change_fields
from contexthall.contexts.files.lock import LockEntry
from contexthall.contexts.files.merge import merge
from contexthall.contexts.files.schema import CONTEXT_FILE, in_order
from contexthall.contexts.files.writing import as_bytes, as_text, put, readable_contents, rewrite
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of
from contexthall.contexts.freshness.ledger import Written
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core.paths import shown


class WrittenDraft(NamedTuple):
    """What became of a context."""

    kind: str
    """The list of the outcome that it belongs in."""
    entry: LockEntry | None = None
    """Its new entry in the lock, but for citations; None if that does not change."""
    replaced: tuple[str, ...] = ()
    """The fields that have another value now, or none."""
    kept: tuple[str, ...] = ()
    """The fields that were drafted, and that a person has changed: they are the person's."""
    moved_from: str = ""
    """The scope that it had, if it has another one now."""


def write_draft(
    project: Project, plan: DraftPlan, drafts: Mapping[str, Draft], summaries: Mapping[str, str], scope: str
) -> WrittenDraft:
    """Write a draft, and return what became of it."""
    directory, fields = plan.directories[scope], fields_of(plan, drafts, summaries, scope)
    if lacks_context(directory):
        kind = _write_new(project, plan.order, directory, fields)
        drafted = LockEntry(drafts[scope].interface, digests(fields))
        return WrittenDraft(kind, drafted if kind == "written" else None)
    _, before = read_bytes_of(project.disk, directory.path)
    values = read_context(before)
    kept = edited(project, plan, scope, values)
    kind, after = _write_again(project, plan.order, directory, before, merge(as_text(before), values, fields, kept))
    was, now = digests(values), digests(after)
    replaced = tuple(name for name in was if now.get(name) != was[name])
    entry = LockEntry(drafts[scope].interface, drafted_digests(after))
    moved_from = values["scope"] if values["scope"] != shown(scope) else ""
    return WrittenDraft(kind, entry, replaced, tuple(sorted(kept)), moved_from)


def fields_of(
    plan: DraftPlan, drafts: Mapping[str, Draft], summaries: Mapping[str, str], scope: str
) -> dict[str, Value]:
    """Return all drafted fields of a directory."""
    below = sorted(plan.below.get(scope, ()))
    named = {shown(os.path.basename(each)): summaries.get(shown(each), "") for each in below}
    return with_below({"summary": summaries.get(shown(scope), ""), **drafts[scope].fields}, scope, named)


def move_context(project: Project, directory: ScannedDirectory, *, is_dry: bool) -> WrittenDraft:
    """Write the scope of a directory that was moved into its context."""
    _, before = read_bytes_of(project.disk, directory.path)
    after = as_bytes(change_fields(as_text(before), {"scope": shown(directory.scope)}), like=before)
    if not is_dry:
        rewrite(project.disk, directory, CONTEXT_FILE, before, after)
    return WrittenDraft("updated", moved_from=read_context(before)["scope"])


def lacks_context(directory: ScannedDirectory) -> bool:
    """Return whether a new context overwrites nothing: drafts are not synced, and a power cut may empty one."""
    found = directory.context
    return found is None or (found.kind == "file" and found.size == 0)


def _write_new(project: Project, order: Order, directory: ScannedDirectory, fields: Mapping[str, Value]) -> str:
    contents = readable_contents(project.disk, directory)
    values = {
        "version": 1,
        "scope": shown(directory.scope),
        "fingerprint": contents.fingerprint,
        "last_updated": order.now,
        "derived_fields": [*flatten(fields)],
        **fields,
    }
    if not order.is_dry:
        data = yaml_text.write(in_order(values)).encode()
        if directory.context is not None:
            rewrite(project.disk, directory, CONTEXT_FILE, b"", data)
        elif not put(project.disk, directory, CONTEXT_FILE, data):
            return "unchanged"  # another process was faster
        written = Written(contents.fingerprint, contents.digests, order.now, digests(fields))
        project.ledger.learn_written(directory.scope, written)
    return "written"


def _write_again(
    project: Project, order: Order, directory: ScannedDirectory, before: bytes, merged: str
) -> tuple[str, dict[str, Value]]:
    """Write a merged context; return the list of the outcome that it belongs in, and its fields."""
    contents, values, scope = readable_contents(project.disk, directory), read_context(before), shown(directory.scope)
    if (merged, values["scope"], values["fingerprint"]) == (as_text(before), scope, contents.fingerprint):
        return "unchanged", values
    changed = change_fields(merged, {"scope": scope, "last_updated": order.now})
    after = replace_fingerprint(as_bytes(changed, like=before), contents.fingerprint)
    values = read_context(after)
    if not order.is_dry:
        rewrite(project.disk, directory, CONTEXT_FILE, before, after)
        written = Written(contents.fingerprint, contents.digests, order.now, drafted_digests(values))
        project.ledger.learn_written(directory.scope, written)
    return "updated", values

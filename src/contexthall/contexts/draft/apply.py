"""Writing drafts: each context by itself, and nothing that a person wrote.

What is written is decided by the plan, the draft and the file as it is at that moment (compare-and-swap).
"""

import os
from collections.abc import Mapping

from contexthall.contexts.draft.outline import with_below
from contexthall.contexts.draft.plan import Draft, DraftPlan, Order, edited
from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.edit import change_fields
from contexthall.contexts.files.merge import derived_fields, digests, flatten, merge
from contexthall.contexts.files.schema import CONTEXT_FILE, in_order
from contexthall.contexts.files.writing import as_bytes, as_text, put, readable_contents, rewrite
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of
from contexthall.contexts.freshness.ledger import Written
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core.paths import shown


def write_draft(
    project: Project, plan: DraftPlan, drafts: Mapping[str, Draft], summaries: Mapping[str, str], scope: str
) -> str:
    """Write a draft, and return in which list of the outcome it belongs."""
    directory, below = plan.directories[scope], sorted(plan.below.get(scope, ()))
    told = {shown(os.path.basename(each)): summaries.get(shown(each), "") for each in below}
    fields = with_below({"summary": summaries.get(shown(scope), ""), **drafts[scope].fields}, scope, told)
    if lacks_context(directory):
        return _write_new(project, plan.order, directory, fields)
    _, before = read_bytes_of(project.disk, directory.path)
    values = read_context(before)
    merged = merge(as_text(before), values, fields, edited(project, scope, values))
    return _write_again(project, plan.order, directory, before, merged)


def move_context(project: Project, directory: ScannedDirectory, *, is_dry: bool) -> str:
    """Write the scope of a directory that was moved into its context."""
    _, before = read_bytes_of(project.disk, directory.path)
    after = as_bytes(change_fields(as_text(before), {"scope": shown(directory.scope)}), like=before)
    if not is_dry:
        rewrite(project.disk, directory, CONTEXT_FILE, before, after)
    return "updated"


def lacks_context(directory: ScannedDirectory) -> bool:
    """Return whether nobody's words are lost by a new context: drafts are not synced, and a power cut may empty one."""
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
            return "unchanged"  # somebody else was faster
        written = Written(contents.fingerprint, contents.digests, order.now, digests(fields))
        project.ledger.learn_written(directory.scope, written)
    return "written"


def _write_again(project: Project, order: Order, directory: ScannedDirectory, before: bytes, merged: str) -> str:
    contents, values, scope = readable_contents(project.disk, directory), read_context(before), shown(directory.scope)
    if (merged, values["scope"], values["fingerprint"]) == (as_text(before), scope, contents.fingerprint):
        return "unchanged"
    changed = change_fields(merged, {"scope": scope, "last_updated": order.now})
    after = replace_fingerprint(as_bytes(changed, like=before), contents.fingerprint)
    if not order.is_dry:
        rewrite(project.disk, directory, CONTEXT_FILE, before, after)
        values = read_context(after)
        listed = derived_fields(values)
        ours = {name: each for name, each in digests(values).items() if {name, name.partition(".")[0]} & {*listed}}
        written = Written(contents.fingerprint, contents.digests, order.now, ours)
        project.ledger.learn_written(directory.scope, written)
    return "updated"

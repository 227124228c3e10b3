"""Writing drafts: each context by itself, and nothing that a person wrote.

What is written is decided by the plan, the draft and the file as it is at that moment.
"""

import os
from collections.abc import Mapping

from contexthall.contexts.draft.outline import with_below
from contexthall.contexts.draft.plan import DraftPlan, edited
from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.edit import change_fields
from contexthall.contexts.files.merge import derived_fields, digests, flatten, merge
from contexthall.contexts.files.schema import CONTEXT_FILE, in_order
from contexthall.contexts.files.writing import as_bytes, as_text, look_at_itself, put, readable_contents, rewrite
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of
from contexthall.contexts.freshness.ledger import Written
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core.paths import shown


def write_draft(plan: DraftPlan, scope: str, fields: Mapping[str, Value], summaries: Mapping[str, str]) -> str:
    """Write a draft, and return in which list of the outcome it belongs."""
    directory = look_at_itself(plan.project, scope)
    below = sorted(plan.below.get(scope, ()))
    fields = with_below(
        fields, scope, {shown(os.path.basename(each)): summaries.get(shown(each), "") for each in below}
    )
    if directory.context is None or is_emptied(directory):
        return _write_new(plan, directory, fields)
    _, before = read_bytes_of(plan.project.disk, directory.path)
    values = read_context(before)
    merged = merge(as_text(before), values, fields, edited(plan.project, scope, values))
    return _write_again(plan, directory, before, merged)


def move_context(plan: DraftPlan, scope: str) -> str:
    """Write the scope of a directory that was moved into its context."""
    directory = look_at_itself(plan.project, scope)
    _, before = read_bytes_of(plan.project.disk, directory.path)
    after = as_bytes(change_fields(as_text(before), {"scope": shown(scope)}), like=before)
    if not plan.order.is_dry:
        rewrite(plan.project.disk, directory, CONTEXT_FILE, before, after)
    return "updated"


def is_emptied(directory: ScannedDirectory) -> bool:
    """Return whether a context holds nobody's words: drafts are not synced, and a power cut may empty one."""
    return directory.context is not None and directory.context.kind == "file" and directory.context.size == 0


def _write_new(plan: DraftPlan, directory: ScannedDirectory, fields: Mapping[str, Value]) -> str:
    disk, now = plan.project.disk, plan.order.now
    contents = readable_contents(disk, directory)
    values = {
        "version": 1,
        "scope": shown(directory.scope),
        "fingerprint": contents.fingerprint,
        "last_updated": now,
        "derived_fields": [*flatten(fields)],
        **fields,
    }
    if not plan.order.is_dry:
        data = yaml_text.write(in_order(values)).encode()
        if directory.context is not None:
            rewrite(disk, directory, CONTEXT_FILE, b"", data)
        elif not put(disk, directory, CONTEXT_FILE, data):
            return "unchanged"  # somebody else was faster
        written = Written(contents.fingerprint, contents.digests, now, digests(fields))
        plan.project.ledger.learn_written(directory.scope, written)
    return "written"


def _write_again(plan: DraftPlan, directory: ScannedDirectory, before: bytes, merged: str) -> str:
    disk, now = plan.project.disk, plan.order.now
    contents, values = readable_contents(disk, directory), read_context(before)
    is_moved = values["scope"] != shown(directory.scope)
    if merged == as_text(before) and not is_moved and values["fingerprint"] == contents.fingerprint:
        return "unchanged"
    changed = change_fields(merged, {"scope": shown(directory.scope), "last_updated": now})
    after = replace_fingerprint(as_bytes(changed, like=before), contents.fingerprint)
    if not plan.order.is_dry:
        rewrite(disk, directory, CONTEXT_FILE, before, after)
        values = read_context(after)
        listed = derived_fields(values)
        ours = {name: each for name, each in digests(values).items() if {name, name.partition(".")[0]} & {*listed}}
        plan.project.ledger.learn_written(directory.scope, Written(contents.fingerprint, contents.digests, now, ours))
    return "updated"

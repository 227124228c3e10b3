"""Merging a draft into a context: `derived_fields` names the machine's fields, all others are a person's.

Pure.
"""

from collections.abc import Collection, Mapping

from contexthall.contexts.files.drafted_fields import ALWAYS, DRAFTED, derived_fields, flatten
from contexthall.contexts.files.edit import GONE, change_fields
from contexthall.contexts.files.yaml_text import Value


def merge(text: str, values: Mapping[str, Value], draft: Mapping[str, Value], edited: Collection[str]) -> str:
    """Return the text of a context with the drafted values of the machine's fields.

    `edited` are drafted fields that a person has changed since: they are the person's from now on. A context without
    `derived_fields` was written by a person, and is returned unchanged.
    """
    listed, flat = derived_fields(values), flatten(draft)
    ours = {name for name in DRAFTED if name in listed or name.partition(".")[0] in listed} - set(edited)
    new = {name for name in flat if listed and name not in {*ours, *edited, *ALWAYS} and not _has(values, name)}
    changes = {name: flat.get(name, GONE) for name in DRAFTED if name in ours | new}
    kept = [name for name in listed if name not in edited and (name not in DRAFTED or name in flat)]
    named = kept + [name for name in flat if name in new]
    return change_fields(text, changes | ({"derived_fields": named or GONE} if named != listed else {}))


def _has(values: Mapping[str, Value], name: str) -> bool:
    field, _, inner = name.partition(".")
    return field in values and (not inner or not isinstance(values[field], dict) or inner in values[field])

"""Merging a draft into a context: `derived_fields` names the machine's fields, all others are a person's.

Pure.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256

from contexthall.contexts.files.edit import GONE, change_fields
from contexthall.contexts.files.yaml_text import Value, finite
from contexthall.core.wire import compact

DIGITS = 8
_ALWAYS = ("summary", "maintenance")
"""What every draft holds: where it is not there, somebody has taken it out."""
FULL = ("files", "interfaces")
"""What only a full one holds."""
_DEPENDENCIES = ("dependencies.internal", "dependencies.external")
DRAFTED = (*_ALWAYS, *FULL, *_DEPENDENCIES, "subdirectories", "exports", "project", "structure")
"""What a draft may hold."""


def flatten(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return the drafted fields by name, those of `dependencies` one by one."""
    inner = fields.get("dependencies")
    both = inner if isinstance(inner, dict) else {}
    flat = {**fields, **{f"dependencies.{kind}": names for kind, names in both.items()}}
    return {name: flat[name] for name in DRAFTED if name in flat}


def derived_fields(values: Mapping[str, Value]) -> list[str]:
    """Return the fields that the machine wrote, as far as a context says so."""
    listed = values.get("derived_fields")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def merge(text: str, values: Mapping[str, Value], draft: Mapping[str, Value], edited: Collection[str]) -> str:
    """Return the text of a context the drafted fields that are the machine's.

    `edited` are fields of the machine's that a person has changed since: they are the person's from now on. A context
    that names no derived fields at all was written by a person, and gets none.
    """
    listed, flat = derived_fields(values), flatten(draft)
    ours = {name for name in DRAFTED if name in listed or name.partition(".")[0] in listed} - set(edited)
    new = {name for name in flat if listed and name not in {*ours, *edited, *_ALWAYS} and not _has(values, name)}
    changes = {name: flat.get(name, GONE) for name in DRAFTED if name in ours | new}
    kept = [name for name in listed if name not in edited and (name not in DRAFTED or name in flat)]
    named = kept + [name for name in flat if name in new]
    return change_fields(text, changes | ({"derived_fields": named or GONE} if named != listed else {}))


def digests(fields: Mapping[str, Value]) -> dict[str, str]:
    """Return eight hex digits for the value of each field that a draft may hold."""
    spelt = {name: compact(finite(value)).encode("utf-8", "surrogatepass") for name, value in flatten(fields).items()}
    return {name: sha256(data).hexdigest()[:DIGITS] for name, data in spelt.items()}


def _has(values: Mapping[str, Value], name: str) -> bool:
    field, _, inner = name.partition(".")
    return field in values and (not inner or not isinstance(values[field], dict) or inner in values[field])

"""The fields that a draft may hold: their names, which of them the machine wrote, and a digest of each.

Pure.
"""

from collections.abc import Mapping
from hashlib import sha256

from contexthall.contexts.files.yaml_text import Value, finite
from contexthall.core.wire import compact

DIGITS = 8
ALWAYS = ("summary", "maintenance")
"""What every draft holds: if it is missing, a person has removed it."""
FULL = ("files", "interfaces")
"""What only a full one holds."""
_DEPENDENCIES = ("dependencies.internal", "dependencies.external")
DRAFTED = (*ALWAYS, *FULL, *_DEPENDENCIES, "subdirectories", "exports", "project", "structure")
"""What a draft may hold."""


def flatten(fields: Mapping[str, Value]) -> dict[str, Value]:
    """Return the drafted fields by name, those of `dependencies` one by one."""
    inner = fields.get("dependencies")
    both = inner if isinstance(inner, dict) else {}
    flat = {**fields, **{f"dependencies.{kind}": names for kind, names in both.items()}}
    return {name: flat[name] for name in DRAFTED if name in flat}


def derived_fields(values: Mapping[str, Value]) -> list[str]:
    """Return the fields that a context lists as written by the machine."""
    listed = values.get("derived_fields")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def digests(fields: Mapping[str, Value]) -> dict[str, str]:
    """Return eight hex digits for the value of each field that a draft may hold."""
    encoded = {name: compact(finite(value)).encode("utf-8", "surrogatepass") for name, value in flatten(fields).items()}
    return {name: sha256(data).hexdigest()[:DIGITS] for name, data in encoded.items()}

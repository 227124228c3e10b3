"""Schema 1: the fields of a context, in the order in which its keys are served and written.

`context.schema.json`, which is shipped beside this file, is the model: it is read once, here.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from contexthall.system.disk import Disk

CONTEXT_FILE: Final = ".context.yaml"
METADATA: Final = ("version", "scope", "fingerprint", "last_updated")
MAINTENANCE: Final = (
    "Correct what is no longer true here when you change this directory, then type `context regen` with its path. "
    "That drafts the fields anew that derived_fields names: take the name of a field out when you write it yourself. "
    "No secrets, please."
)
"""The instructions in a new context, for people and agents who change its directory."""

JSON_SCHEMA: Final[dict[str, Any]] = json.loads(
    Disk().read(os.path.join(os.path.dirname(__file__), "context.schema.json"), follow=True)
)
FIELDS: Final[dict[str, Any]] = JSON_SCHEMA["properties"]
VERSION: Final[int] = FIELDS["version"]["const"]

_NOT_TO_BE_ASKED_FOR = {*METADATA, "derived_fields", "evidence"}
FILTERABLE: Final = tuple(name for name in FIELDS if name not in _NOT_TO_BE_ASKED_FOR)
_PLACES = {name: place for place, name in enumerate(FIELDS)}


def in_order(values: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a context in the order of the schema, those that it does not know last."""
    return dict(sorted(values.items(), key=lambda item: _PLACES.get(item[0], len(_PLACES))))


def select_fields(values: Mapping[str, object], fields: Sequence[str]) -> dict[str, object]:
    """Return the metadata and, of what may be asked for, the `fields` that are there; all of it if none is named."""
    if not fields:
        return in_order(values)
    names = [*METADATA, *(name for name in fields if name in FILTERABLE and name in values)]
    return {name: values[name] for name in names}

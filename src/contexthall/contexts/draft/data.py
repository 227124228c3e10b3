"""What files declare that are data for another program: tables, messages, resources.

Pure. By expressions, since a name at the beginning of a line is all that is wanted.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from contexthall.core import limits


class DataKind(NamedTuple):
    """A kind of data."""

    title: str
    """How the names are introduced in a sentence."""
    pattern: re.Pattern[bytes]
    """With the name as its only group."""

    def names(self, data: bytes) -> Iterator[str]:
        """Yield the names that a file declares."""
        for found in self.pattern.finditer(data):
            name = found[1].decode("utf-8", "replace")
            if len(name) <= limits.SYMBOL_CHARACTERS:
                yield name


_SQL = DataKind(
    "Creates the tables",
    re.compile(
        rb"^\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?[`\"\[]?([A-Za-z_][\w.]*)", re.IGNORECASE | re.MULTILINE
    ),
)
_PROTO = DataKind("Declares", re.compile(rb"^(?:message|service)\s+(\w+)", re.MULTILINE))
_GRAPHQL = DataKind("Declares", re.compile(rb"^(?:type|interface|union|input)\s+(\w+)", re.MULTILINE))
_TERRAFORM = DataKind("Describes the resources", re.compile(rb"^resource\s+\"\w+\"\s+\"([\w-]+)\"", re.MULTILINE))
DATA = {"sql": _SQL, "proto": _PROTO, "graphql": _GRAPHQL, "gql": _GRAPHQL, "tf": _TERRAFORM}
"""Extension → kind."""

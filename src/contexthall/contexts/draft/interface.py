"""The interface of a directory: eight digits that change with what others may use of it, and with nothing else.

The disk is an argument; what files say is read as the drafter reads it.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from contexthall.contexts.draft.file_roles import is_test, is_test_directory
from contexthall.contexts.draft.languages.language import Export, SourceOutline
from contexthall.contexts.draft.languages.table import language_of
from contexthall.contexts.draft.material import read_sources, source_names
from contexthall.contexts.scan.directories import ScannedDirectory, is_code
from contexthall.core.errors import DiskError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

SCHEME: Final = 2
"""Raise it when signatures are spelt otherwise: interfaces of another scheme are not compared. 1 had no methods."""
UNKNOWN: Final = ""
_DIGITS = 8


def interface(scope: str, names: Iterable[str], sources: Mapping[str, SourceOutline]) -> str:
    """Return the interface of the source files of a directory, of which `sources` are those that were parsed.

    UNKNOWN if one of them is code that was not. Prose, configuration and data have but their names, and so have tests,
    of which a draft tells nothing else either.
    """
    files = []
    for name in sorted(names):
        signatures: list[str] = []
        if not _is_test_file(scope, name):
            source = sources.get(name)
            if source is None and is_code(name):
                return UNKNOWN
            if source is not None and not source.is_parsed:
                return UNKNOWN
            signatures = sorted(map(_to_line, source.exports)) if source else []
        files.append("\n".join([name, *signatures]))
    digits = sha256("\n\n".join(files).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{SCHEME}:{digits}"


def interface_of(disk: Disk, directory: ScannedDirectory) -> str:
    """Return the interface of a directory as it is now; UNKNOWN if it cannot be told."""
    scope, names = shown(directory.scope), source_names(directory)
    told = [name for name in names if not _is_test_file(scope, shown(name))]
    if any(is_code(name) and language_of(name) is None for name in told):
        return UNKNOWN
    try:
        return interface(scope, map(shown, names), read_sources(disk, directory, told))
    except DiskError:
        return UNKNOWN


def _to_line(export: Export) -> str:
    return " ".join([*export.signature.split(), *sorted(export.methods)])


def _is_test_file(scope: str, name: str) -> bool:
    return is_test(name) or is_test_directory(scope)

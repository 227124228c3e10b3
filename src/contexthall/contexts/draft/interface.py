"""The interface of a directory: eight digits that change with what others may use of it, and with nothing else.

The disk is an argument; files are parsed as for a draft.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from contexthall.contexts.draft.file_roles import is_configuration, is_test, is_test_directory
from contexthall.contexts.draft.languages.language import Export, SourceOutline
from contexthall.contexts.draft.languages.table import language_of
from contexthall.contexts.draft.material import read_sources, source_names
from contexthall.contexts.freshness.drift import SCHEME, UNKNOWN
from contexthall.contexts.scan.directories import ScannedDirectory, is_code
from contexthall.core.errors import DiskError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

_DIGITS = 8
_NOTHING = SourceOutline()


def interface(scope: str, names: Iterable[str], sources: Mapping[str, SourceOutline]) -> str:
    """Return the interface of the source files of a directory, of which `sources` are those that were parsed.

    UNKNOWN if code is among them that was not. Code counts with its public signatures; prose, configuration and data
    with their names; tests not at all: no code uses them, and drafts leave out what they define.
    """
    files = []
    for name in sorted(_counted(scope, names)):
        source = sources.get(name) if _may_export(name) else _NOTHING
        if source is None or not source.is_parsed:
            return UNKNOWN
        files.append("\n".join([name, *sorted(map(_to_line, source.exports))]))
    return SCHEME + sha256("\n\n".join(files).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def interface_of(disk: Disk, directory: ScannedDirectory) -> str:
    """Return the interface of a directory as it is now; UNKNOWN if it cannot be parsed."""
    scope, names = shown(directory.scope), source_names(directory)
    code = [name for name in _counted(scope, names) if _may_export(name)]
    if not all(map(language_of, code)):
        return UNKNOWN
    try:
        return interface(scope, map(shown, names), read_sources(disk, directory, code))
    except DiskError:
        return UNKNOWN


def _counted(scope: str, names: Iterable[str]) -> list[str]:
    return [] if is_test_directory(scope) else [name for name in names if not is_test(name)]


def _may_export(name: str) -> bool:
    """Return whether what a file defines is an API."""
    return is_code(name) and not is_configuration(name)


def _to_line(export: Export) -> str:
    return " ".join([*export.signature.split(), *sorted(export.methods)])

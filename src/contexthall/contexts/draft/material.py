"""The material of a draft: the files of one directory, read once, as far as they say something.

The disk is an argument; nothing larger than a source file should be is read.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from contexthall.contexts.draft.agents import AGENTS_FILE
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.languages.project_manifest import ProjectManifest
from contexthall.contexts.draft.languages.table import LANGUAGES, MANIFESTS, language_of, read, read_manifest
from contexthall.contexts.draft.project_facts import package_manager
from contexthall.contexts.draft.syntax.prose import readme_sentence
from contexthall.contexts.scan.directories import ScannedDirectory, is_source
from contexthall.core import limits
from contexthall.core.errors import PathMissingError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

_GENERATED = tuple(suffix for language in LANGUAGES for suffix in language.generated_suffixes)
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")


class Material(NamedTuple):
    """What was found in a directory."""

    scope: str
    """As it can be told, like the names."""
    names: tuple[str, ...]
    """Its source files, sorted."""
    sources: Mapping[str, SourceOutline]
    """Those whose language is understood."""
    manifests: tuple[ProjectManifest, ...]
    readme: str
    """The first sentence of its README."""
    package_manager: str


def gather(disk: Disk, directory: ScannedDirectory, manifests: tuple[ProjectManifest, ...]) -> Material:
    """Read a directory, but for its manifests."""
    every_name = sorted(file.name for file in directory.files)
    names = source_names(directory)
    sources = read_sources(disk, directory, names)
    readmes = [name for wanted in _READMES for name in every_name if name.lower() == wanted]
    readme = next((readme_sentence(_read(disk, directory, name), name) for name in readmes), "")
    told = tuple(map(shown, names))
    return Material(shown(directory.scope), told, sources, manifests, readme, package_manager(every_name))


def source_names(directory: ScannedDirectory) -> tuple[str, ...]:
    """Return the names of the source files of a directory, sorted."""
    # AGENTS.md is made of the summaries: it cannot be what one is made of.
    names = sorted(file.name for file in directory.files)
    return tuple(name for name in names if is_source(name) and name != AGENTS_FILE)


def read_sources(disk: Disk, directory: ScannedDirectory, names: Iterable[str]) -> dict[str, SourceOutline]:
    """Read those of the named files whose language is understood."""
    return {shown(name): _read_source(disk, directory, name) for name in names if language_of(name)}


def _read_source(disk: Disk, directory: ScannedDirectory, name: str) -> SourceOutline:
    data = _read_whole(disk, directory, name)
    return SourceOutline(is_parsed=False) if data is None else read(name, data)


def read_manifests(disk: Disk, directory: ScannedDirectory) -> dict[str, bytes]:
    """Return the texts of a directory's manifests by name, the one that says most about it first."""
    present = {file.name for file in directory.files}
    return {name: _read(disk, directory, name) for name in MANIFESTS if name in present}


def parse_manifests(
    texts: Mapping[str, bytes], inherited: Mapping[str, bytes] = MappingProxyType({})
) -> tuple[ProjectManifest, ...]:
    """Return what manifests say; `inherited` are those of the root by name, as far as others inherit from them."""
    return tuple(read_manifest(name, data, inherited.get(name, b"")) for name, data in texts.items())


def language_sizes(directories: Iterable[ScannedDirectory]) -> Mapping[str, int]:
    """Return how many bytes there are of each language."""
    sizes: Counter[str] = Counter()
    for file in (file for directory in directories for file in directory.files):
        if (language := language_of(file.name)) and not file.name.endswith(_GENERATED):
            sizes[language.name] += file.size
    return sizes


def _read(disk: Disk, directory: ScannedDirectory, name: str) -> bytes:
    return _read_whole(disk, directory, name) or b""


def _read_whole(disk: Disk, directory: ScannedDirectory, name: str) -> bytes | None:
    """Read a file; None if it is larger than what people write."""
    try:
        _, data = disk.read_small(os.path.join(directory.path, name), limits.DRAFTED_FILE_BYTES)
    except PathMissingError:
        return b""
    return data if len(data) <= limits.DRAFTED_FILE_BYTES else None

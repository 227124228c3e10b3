"""What is a draft made of? The files of one directory, read once, as far as they say something.

The disk is an argument; nothing larger than a source file should be is read.
"""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from contexthall.contexts.draft.agents import AGENTS_FILE
from contexthall.contexts.draft.languages import table as languages
from contexthall.contexts.draft.languages.source import SourceOutline
from contexthall.contexts.draft.manifest import MANIFESTS, ProjectManifest, package_manager, read_manifest
from contexthall.contexts.draft.prose import readme_sentence
from contexthall.contexts.scan.directories import ScannedDirectory, is_source
from contexthall.core.errors import PathMissingError
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

_LARGEST_FILE = 1 << 20
_NOT_WRITTEN = (".d.ts", ".d.mts", ".d.cts", ".min.js", ".bundle.js")
"""What declares or repeats code rather than being some."""
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")


class Material(NamedTuple):
    """What was found in a directory."""

    names: tuple[str, ...]
    """Its source files, sorted, as they can be told."""
    sources: Mapping[str, SourceOutline]
    """Those whose language is understood."""
    manifests: tuple[ProjectManifest, ...]
    readme: str
    """The first sentence of its README."""
    package_manager: str


def gather(disk: Disk, directory: ScannedDirectory, workspace: bytes = b"") -> Material:
    """Read a directory; `workspace` is the Cargo.toml of the root."""
    every_name = sorted(file.name for file in directory.files)
    # AGENTS.md is made of the summaries: it cannot be what one is made of.
    names = tuple(name for name in every_name if is_source(name) and name != AGENTS_FILE)
    sources = {name: languages.read(name, _read(disk, directory, name)) for name in names if language_of(name)}
    readmes = [name for wanted in _READMES for name in every_name if name.lower() == wanted]
    readme = next((readme_sentence(_read(disk, directory, name), name) for name in readmes), "")
    told = {shown(name): source for name, source in sources.items()}
    manifests = manifests_of(disk, directory, workspace)
    return Material(tuple(map(shown, names)), told, manifests, readme, package_manager(every_name))


def manifests_of(disk: Disk, directory: ScannedDirectory, workspace: bytes = b"") -> tuple[ProjectManifest, ...]:
    """Read the manifests of a directory, the one that says most about it first."""
    present = {file.name for file in directory.files}
    found = [(name, _read(disk, directory, name)) for name in MANIFESTS if name in present]
    return tuple(read_manifest(name, data, workspace) for name, data in found)


def cargo_workspace(disk: Disk, root: ScannedDirectory) -> bytes:
    """Give the Cargo.toml of the root, from which those below may inherit; empty if there is none."""
    return _read(disk, root, "Cargo.toml")


def language_of(name: str) -> str:
    """Say which language a file is written in, by its name; empty if that is none of those that are understood."""
    return languages.NAMES.get(name.rpartition(".")[2].lower(), "")


def language_sizes(directories: Iterable[ScannedDirectory]) -> dict[str, int]:
    """Say how many bytes there are of each language."""
    sizes: dict[str, int] = {}
    for directory in directories:
        for file in directory.files:
            language = language_of(file.name)
            if language and not file.name.endswith(_NOT_WRITTEN):
                sizes[language] = sizes.get(language, 0) + file.size
    return sizes


def _read(disk: Disk, directory: ScannedDirectory, name: str) -> bytes:
    try:
        _, data = disk.read_small(os.path.join(directory.path, name), _LARGEST_FILE)
    except PathMissingError:
        return b""
    return data if len(data) <= _LARGEST_FILE else b""

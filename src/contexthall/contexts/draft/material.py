"""What is a draft made of? The files of one directory, read once, as far as they say something.

The disk is an argument; nothing larger than a source file should be is read.
"""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from contexthall.contexts.draft import languages
from contexthall.contexts.draft.manifest import MANIFESTS, Manifest, package_manager, read_manifest
from contexthall.contexts.draft.prose import readme_sentence
from contexthall.contexts.draft.source import Source
from contexthall.contexts.scan import Directory, is_source
from contexthall.core.errors import DiskError
from contexthall.disk import Disk

_LARGEST_FILE = 1 << 20
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")


class Material(NamedTuple):
    """What was found in a directory."""

    names: tuple[str, ...]
    """Its source files, sorted."""
    sources: Mapping[str, Source]
    """Those whose language is understood."""
    manifests: tuple[Manifest, ...]
    readme: str
    """The first sentence of its README."""
    package_manager: str


def gather(disk: Disk, directory: Directory) -> Material:
    """Read a directory; a file that cannot be read says nothing."""
    every_name = sorted(file.name for file in directory.files)
    names = tuple(name for name in every_name if is_source(name))
    sources = {name: languages.read(name, _read(disk, directory, name)) for name in names if language_of(name)}
    readmes = [name for wanted in _READMES for name in every_name if name.lower() == wanted]
    readme = next((readme_sentence(_read(disk, directory, name), name) for name in readmes), "")
    return Material(names, sources, manifests_of(disk, directory), readme, package_manager(every_name))


def manifests_of(disk: Disk, directory: Directory) -> tuple[Manifest, ...]:
    """Read the manifests of a directory, the one that says most about it first."""
    present = {file.name for file in directory.files}
    return tuple(read_manifest(name, _read(disk, directory, name)) for name in MANIFESTS if name in present)


def language_of(name: str) -> str:
    """Say which language a file is written in, by its name; empty if that is none of those that are understood."""
    return languages.NAMES.get(name.rpartition(".")[2].lower(), "")


def language_sizes(directories: Iterable[Directory]) -> dict[str, int]:
    """Say how many bytes there are of each language."""
    sizes: dict[str, int] = {}
    for directory in directories:
        for file in directory.files:
            if language := language_of(file.name):
                sizes[language] = sizes.get(language, 0) + file.size
    return sizes


def _read(disk: Disk, directory: Directory, name: str) -> bytes:
    try:
        _, data = disk.read_small(os.path.join(directory.path, name), _LARGEST_FILE)
    except DiskError:
        return b""
    return data if len(data) <= _LARGEST_FILE else b""

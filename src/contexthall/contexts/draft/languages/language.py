"""A language: how its files are recognised and read, and where its imports lead.

Pure: a file that does not parse costs its own lines.
"""

from collections.abc import Callable
from typing import NamedTuple

from contexthall.contexts.draft.languages.layout import ImportResolver, Layout
from contexthall.contexts.draft.languages.project_manifest import ManifestFile


class Export(NamedTuple):
    """Something that others may use."""

    name: str
    signature: str
    """The whole of it on one line, from its keyword to where its body begins, such as `def run(x: int = 1) -> str`."""
    doc: str = ""
    """What is written about it, as prose; empty if nothing is."""


class SourceOutline(NamedTuple):
    """What a file says."""

    doc: str = ""
    """What is written about the file as a whole, as prose."""
    exports: tuple[Export, ...] = ()
    """In the order of the file."""
    imports: tuple[str, ...] = ()
    """What it imports, as written, each once, in the order of the file."""


class Language(NamedTuple):
    """A language that drafts understand: one record in a file of its own, and an entry in `table.py`."""

    name: str
    title: str
    """The name as it is written in a sentence."""
    extensions: frozenset[str]
    """In lower case and without the dot."""
    read: Callable[[bytes, str], SourceOutline]
    """Reads a file whose name has the extension that is the second argument."""
    resolver: Callable[[Layout], ImportResolver]
    manifests: tuple[ManifestFile, ...] = ()
    front_files: tuple[str, ...] = ()
    """Files that speak for their directory, the most telling first."""
    has_package_doc: bool = False
    """Whether all files of a directory are one package, whose comment may stand in any of them."""
    stub_suffix: str = ""
    """What the name of a file has at its end where another file declares what it offers."""
    generated_suffixes: tuple[str, ...] = ()
    """How the names of files end that declare or repeat code rather than being some."""

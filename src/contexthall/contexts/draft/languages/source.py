"""What does a source file say of itself? The same few things in every language.

Pure: each language turns the bytes of a file into a `SourceOutline`; a file that does not parse costs its own lines.
"""

from typing import NamedTuple


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

"""How are paths spelt? Paths are strings; these rules look at the text, never at the disk."""

import os
from collections.abc import Callable
from typing import TypeAlias

MayRead: TypeAlias = Callable[[str, str], bool]
"""Whether a caller may name a path, the first one, to a capability whose own root is the second one."""


def absolute(path: str, base: str) -> str:
    """Make `path` absolute, starting at `base`, and normalise it; symlinks stay what they are."""
    normal = os.path.normpath(os.path.join(base, path))
    return "/" + normal.lstrip("/")  # POSIX keeps two leading slashes, which nobody means


def native(text: str) -> str:
    """Make a path of text from the wire: names on disk are UTF-8, whatever encoding the locale asks Python to use."""
    try:
        return os.fsdecode(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # a lone surrogate, which no name on disk has
        return text


def shown(path: str) -> str:
    """Spell `path` for a reader: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")

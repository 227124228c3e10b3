"""What a manifest states about a project, and what the readers of all manifests share.

Pure. What cannot be read is left out. URLs, and the passwords in them, are never repeated.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contexthall.contexts.draft.syntax.markup import one_line, shorten
from contexthall.contexts.draft.syntax.sentences import is_boilerplate
from contexthall.core import limits


class ProjectManifest(NamedTuple):
    """The fields of a manifest."""

    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()
    """What it needs at run time from outside of the repository: `click >=8.2`, in the order of the file."""
    module: str = ""
    """The path by which Go imports it."""


class ManifestFile(NamedTuple):
    """A kind of manifest, known by the name of its file."""

    name: str
    rank: int
    """Of two manifests in a directory, the one of lower rank comes first."""
    read: Callable[[bytes, bytes], ProjectManifest]
    """Parses a manifest; the second argument is the one at the project's root if `inherits`. May raise ValueError."""
    inherits: bool = False
    """Whether a manifest may refer to that of the same name at the project's root."""


_NAME = re.compile(r"@?[A-Za-z0-9_][\w.~/-]*+", re.ASCII)
_SPEC = re.compile(r"[\w.,<>=!~^*|&+ -]{1,80}", re.ASCII)


class Dependencies:
    """Collects dependencies: each name once, the first time, and never the project's `own`."""

    def __init__(self, own: object = "") -> None:
        self._own = normal_name(name_of(own))
        self._found: dict[str, str] = {}

    def add(self, name: str, spec: object = "") -> None:
        """Add a name and, if it is a plain one, its version range."""
        name = name.strip()
        known = normal_name(name)
        is_name = len(name) <= limits.PACKAGE_NAME_CHARACTERS and _NAME.fullmatch(name)
        if not is_name or known == self._own or known in self._found:
            return
        versions = " ".join(spec.split()) if isinstance(spec, str) else ""
        is_plain = versions not in ("", "*") and _SPEC.fullmatch(versions)
        self._found[known] = f"{name} {versions}" if is_plain else name

    def manifest(self, name: object = "", description: object = "", module: str = "") -> ProjectManifest:
        """Return a manifest with these dependencies; name and description may be of any type."""
        line = one_line(description) if isinstance(description, str) else ""
        text = "" if is_boilerplate(line) else shorten(line, limits.PACKAGE_DESCRIPTION_CHARACTERS)
        return ProjectManifest(name_of(name), text, tuple(self._found.values()), module)


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def table_at(value: object, *path: str) -> Mapping[str, object]:
    """Return the table at `path` inside `value`; an empty one if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def name_of(value: object) -> str:
    line = one_line(value) if isinstance(value, str) else ""
    return line if len(line) <= limits.PACKAGE_NAME_CHARACTERS else ""


_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{limits.TOML_KEY_PARTS}}}")


def read_toml(data: bytes) -> dict[str, object]:
    text = data.decode("utf-8-sig")
    return {} if _LONG_KEY.search(text) else tomllib.loads(text)

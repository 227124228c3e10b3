"""Where the directories of a project are, for those who follow imports.

Pure: what is where is an argument.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

ROOT = "."

ImportResolver: TypeAlias = Callable[[str, str], str | None]
"""Import, scope of the importing directory → scope that it leads to; None if it leads out of the project."""


class Layout:
    """The directories of a project with their files, and the names under which manifests publish some of them."""

    def __init__(self, files: Mapping[str, Collection[str]], packages: Mapping[str, str], name: str = "") -> None:
        self.files = files
        self.packages = packages
        """Published name → scope: a package of a workspace, a Go module, a crate."""
        self.name = name
        """Of the root, which may be a package itself."""
        self._resolvers: dict[Callable[[Layout], ImportResolver], ImportResolver] = {}

    def internal(self, resolver: "Callable[[Layout], ImportResolver]", imports: Sequence[str], scope: str) -> list[str]:
        """Return the other directories that a directory's imports lead to, sorted."""
        if resolver not in self._resolvers:
            self._resolvers[resolver] = resolver(self)
        found = {self._resolvers[resolver](each, scope) for each in imports}
        return sorted(place for place in found if place is not None and place != scope)

    def known(self, scope: str) -> str | None:
        """Return a scope if there is such a directory."""
        return scope if scope in self.files else None


def join(scope: str, *parts: str) -> str:
    """Go from a directory to another one, as text; what leaves the project is no directory of it."""
    return os.path.normpath(os.path.join(scope, *parts)) if parts else scope

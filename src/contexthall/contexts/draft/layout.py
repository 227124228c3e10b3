"""Which directory of the project does an import lead to? None, if it leads out of it.

Pure: what is where is an argument. Each language has its own way of naming things.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

ROOT = "."


class Layout:
    """The directories of a project with their files, and the names under which manifests publish some of them."""

    def __init__(self, files: Mapping[str, Collection[str]], packages: Mapping[str, str], name: str = "") -> None:
        self._files = files
        self._packages = packages
        """Published name → scope: a package of a workspace, a Go module, a crate."""
        self._name = name
        """Of the root, which may be a package itself."""
        self._absolute: dict[str, str | None] = {}
        """Where absolute imports of Python lead, which is the same from everywhere."""

    def internal(self, language: str, imports: Sequence[str], scope: str) -> list[str]:
        """Name the other directories that a directory's imports lead to, sorted."""
        resolve = self._resolvers.get(language)
        found = {resolve(each, scope) for each in imports} if resolve else set()
        return sorted(place for place in found if place is not None and place != scope)

    @cached_property
    def _resolvers(self) -> Mapping[str, Callable[[str, str], str | None]]:
        return {
            "python": self._python,
            "typescript": self._javascript,
            "javascript": self._javascript,
            "go": self._go,
            "rust": self._rust,
        }

    @cached_property
    def _python_roots(self) -> list[str]:
        """Where absolute imports may start: directories above packages that are no packages themselves."""
        packages = [scope for scope, names in self._files.items() if "__init__.py" in names]
        above = {_join(scope, "..") for scope in packages}
        return sorted({ROOT, *(scope for scope in above if "__init__.py" not in self._files.get(scope, ()))})

    def _python(self, name: str, scope: str) -> str | None:
        level = len(name) - len(name.lstrip("."))
        parts = [part for part in name.lstrip(".").split(".") if part]
        if level:
            return self._module(_join(scope, *[".."] * (level - 1)), parts)
        if name not in self._absolute:
            self._absolute[name] = self._from_roots(parts)
        return self._absolute[name]

    def _from_roots(self, parts: Sequence[str]) -> str | None:
        if parts[:1] == [self._name] and "__init__.py" in self._files.get(ROOT, ()):
            return self._module(ROOT, parts[1:])
        return next((found for root in self._python_roots if (found := self._module(root, parts))), None)

    def _module(self, base: str, parts: Sequence[str]) -> str | None:
        """Follow a module's name down from `base`, as far as there are directories; the rest is in a file."""
        if base not in self._files:
            return None
        place = base
        for number, part in enumerate(parts):
            below = _join(place, part)
            if below in self._files:
                place = below
            elif f"{part}.py" in self._files[place] or number:
                return place
            else:
                return None
        return place

    def _javascript(self, name: str, scope: str) -> str | None:
        if name.startswith("."):
            target = _join(scope, name)
            return target if target in self._files else self._known(_join(target, ".."))
        published = next((each for each in self._packages if name == each or name.startswith(f"{each}/")), None)
        return self._known(self._packages[published]) if published else None

    def _go(self, name: str, _scope: str) -> str | None:
        for module, scope in self._packages.items():
            if name == module or name.startswith(f"{module}/"):
                return self._known(_join(scope, name[len(module) + 1 :]))
        return None

    def _rust(self, name: str, scope: str) -> str | None:
        first, *parts = name.split("::")
        bases = {"crate": self._crate(scope), "self": scope, "super": _join(scope, "..")}
        base = bases.get(first, self._packages.get(first.replace("_", "-"), self._packages.get(first)))
        if base is None or base not in self._files:
            return None
        for part in parts if first in bases else ():
            below = _join(base, part)
            if below not in self._files:
                break
            base = below
        return base

    def _crate(self, scope: str) -> str | None:
        while not {"lib.rs", "main.rs"} & set(self._files.get(scope, ())):
            if scope == ROOT:
                return None
            scope = _join(scope, "..")
        return scope

    def _known(self, scope: str) -> str | None:
        return scope if scope in self._files else None


def _join(scope: str, *parts: str) -> str:
    """Go from a directory to another one, as text; what leaves the project is no directory of it."""
    return os.path.normpath(os.path.join(scope, *parts)) if parts else scope

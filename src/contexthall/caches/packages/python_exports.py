"""Where the names of a Python package are public: what is defined in a private module is shown where it is exported.

Pure. Public is a module none of whose names begins with an underscore, and in it every such name, and what `__all__`
lists.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from contexthall.caches.packages.api import ApiMember, ApiPage, Module
from contexthall.caches.packages.python_syntax import is_private
from contexthall.core import limits


class _QualifiedName(NamedTuple):
    """A name in a module."""

    module: str
    name: str

    @property
    def distance(self) -> tuple[int, str, str]:
        """How far a reader has to go: of several places, the one to name is the nearest."""
        return self.module.count("."), self.module, self.name


def public_pages(modules: Mapping[str, Module]) -> Iterator[ApiPage]:
    """Yield a page for each public module of a package, by name."""
    exports = _Exports(modules)
    for name in sorted(modules):
        if not is_hidden(name):
            page = exports.page(name)
            if page.doc or page.members or page.attributes or page.elsewhere:
                yield page


def is_hidden(module: str) -> bool:
    """Return whether a module is private: by its own name, or by that of a package that it is in."""
    return any(map(is_private, module.split(".")))


def passed_on(module: Module) -> Iterator[str]:
    """Yield the modules whose names a module may export, as well as those that may be none."""
    yield from (*module.stars, *module.listed_from)
    if module.is_package or module.listed is not None or is_hidden(module.name):
        for target in module.imports.values():
            yield from (target, target.rpartition(".")[0])


class _Exports:
    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._names: dict[str, dict[str, None]] = {}
        self._steps = 0
        self._own = {name.partition(".")[0] for name in modules}

    def page(self, name: str) -> ApiPage:
        """Return what is shown of a public module: what it defines, and what it alone makes public."""
        module, lines = self._modules[name], dict[str, str]()
        members: list[ApiMember] = []
        elsewhere: list[tuple[str, str]] = []
        for public, home in self._shown_in[name]:
            shown_at = self._shown_at[home]
            source = self._modules[home.module]
            if shown_at != _QualifiedName(name, public):
                elsewhere.append((public, f"{shown_at.module}.{shown_at.name}"))
            elif home.name in source.members:
                others = [each for each in self._exported_at[home] if each != shown_at]
                members.append(_as_shown(source.members[home.name], public, others))
            else:
                lines[public] = dict(source.attributes)[home.name]
        return ApiPage(name, module.doc, tuple(lines.values()), module.notes, tuple(members), tuple(elsewhere))

    @cached_property
    def _shown_in(self) -> dict[str, list[tuple[str, _QualifiedName]]]:
        """The names of each public module, with the places that define them."""
        found: dict[str, list[tuple[str, _QualifiedName]]] = {}
        for module in sorted(self._modules):
            if not is_hidden(module):
                names = dict.fromkeys((*self._defined(module), *self._exported(module)))
                homes = ((name, self._home(_QualifiedName(module, name))) for name in names)
                found[module] = [(name, home) for name, home in homes if home is not None]
        return found

    @cached_property
    def _exported_at(self) -> dict[_QualifiedName, list[_QualifiedName]]:
        """The public places of each definition, the nearest first."""
        found: dict[_QualifiedName, list[_QualifiedName]] = {}
        for module, names in self._shown_in.items():
            for name, home in names:
                found.setdefault(home, []).append(_QualifiedName(module, name))
        return {home: sorted(places, key=lambda place: place.distance) for home, places in found.items()}

    @cached_property
    def _shown_at(self) -> dict[_QualifiedName, _QualifiedName]:
        """The one place where each definition is shown: where it is defined, if that is public, else the nearest."""
        return {home: home if home in places else places[0] for home, places in self._exported_at.items()}

    def _defined(self, name: str) -> Iterator[str]:
        module = self._modules[name]
        for each in (*module.members, *(attribute for attribute, _ in module.attributes)):
            if not is_private(each):
                yield each

    def _exported(self, name: str) -> dict[str, None]:
        """Return the names that a module offers to who imports all of it, in order."""
        if name not in self._modules or self._steps > limits.PACKAGE_EXPORT_STEPS:
            return {}
        if name not in self._names:
            self._names[name] = {}  # for a module that, in the end, imports itself
            self._steps += 1
            self._names[name] = dict.fromkeys(self._offered(name, self._modules[name]))
            self._steps -= 1
        return self._names[name]

    def _offered(self, name: str, module: Module) -> Iterator[str]:
        if module.listed is not None or module.listed_from:
            yield from module.listed or ()
            for other in module.listed_from:
                yield from self._exported(other)
            return
        yield from self._defined(name)
        if module.is_package:
            for local, target in module.imports.items():
                if not is_private(local) and target.partition(".")[0] in self._own:
                    yield local
        for other in module.stars:
            yield from self._exported(other)

    def _home(self, place: _QualifiedName) -> _QualifiedName | None:
        """Follow imports to the module that defines a name; None for a module, or what another package defines."""
        for _ in range(limits.PACKAGE_EXPORT_STEPS):
            module = self._modules.get(place.module)
            if module is None:
                return None
            if place.name in module.members or any(place.name == name for name, _ in module.attributes):
                return place
            if place.name in module.imports:
                target = module.imports[place.name]
                if target in self._modules:
                    return None
                place = _QualifiedName(*target.rpartition(".")[::2])
                continue
            star = next((each for each in module.stars if place.name in self._exported(each)), None)
            if star is None:
                return None
            place = _QualifiedName(star, place.name)
        return None


def _as_shown(member: ApiMember, name: str, others: list[_QualifiedName]) -> ApiMember:
    return member._replace(name=name, also=tuple(f"{each.module}.{each.name}" for each in others[:3]))

"""Which directories import what from which, by the imports that drafting resolves.

Pure. Tests do not count: they use everything.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.exports_sentence import NotableExport
from contexthall.contexts.draft.file_roles import is_test, is_test_directory
from contexthall.contexts.draft.languages.language import ROOT, Layout, SourceOutline
from contexthall.contexts.draft.languages.table import language_of

_PARTS = re.compile(r"\.|::|\\\\|/")


class FileImports(NamedTuple):
    """What one file imports from other directories of the project."""

    places: tuple[str, ...]
    """Their scopes, sorted."""
    names: frozenset[str]
    """The names it imports, from any of them."""


def imports_of(scope: str, sources: Mapping[str, SourceOutline], layout: Layout) -> dict[str, FileImports]:
    """Return what each file of a directory imports from other directories; files that import nothing are left out."""
    known: dict[tuple[str, str], str | None] = {}
    found = {}
    for name, source in sources.items():
        language = language_of(name)
        if language is None:
            continue
        places = set()
        for each in source.imports:
            key = (language.name, each)
            if key not in known:
                known[key] = language.resolver(layout, each, scope)
            places.add(known[key])
        if inside := sorted(place for place in places if place is not None and place != scope):
            last = (_PARTS.split(each)[-1] for each in source.imports)
            found[name] = FileImports(tuple(inside), source.names.union(last))
    return found


def of_code(scope: str, found: Mapping[str, FileImports]) -> tuple[FileImports, ...]:
    """Return the imports of the files that are not tests."""
    return () if is_test_directory(scope) else tuple(each for name, each in found.items() if not is_test(name))


class Importers:
    """What the directories of a project import from each other."""

    def __init__(self, imports: Mapping[str, Iterable[FileImports]], scopes: Collection[str]) -> None:
        self._by_place: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._ends = Counter(end for scope in scopes if not is_test_directory(scope) for end in _ends(scope))
        for scope in sorted(imports):
            for each in imports[scope]:
                for place in each.places:
                    self._by_place.setdefault(place, []).append((scope, each.names))

    def counts(self, scope: str, exports: Iterable[NotableExport]) -> dict[str, int]:
        """Return how many files import each of a directory's exports, by its whole name."""
        by_last = {each.last: each.name for each in exports if "." not in each.name}
        taken = Counter(name for _, names in self._by_place.get(scope, ()) for name in names & by_last.keys())
        return {by_last[name]: count for name, count in taken.items()}

    def users(self, scope: str) -> list[str]:
        """Return the directories that import from one, most files first, by their shortest unambiguous paths."""
        files = Counter(user for user, _ in self._by_place.get(scope, ()) if user != ROOT)
        return [self._short_path(user) for user in sorted(files, key=lambda user: (-files[user], user))]

    def _short_path(self, scope: str) -> str:
        return next((end for end in _ends(scope) if self._ends[end] <= 1), scope)


def _ends(scope: str) -> Iterator[str]:
    """Yield the last part of a path, the last two, and so on."""
    parts: Sequence[str] = scope.split("/")
    yield from ("/".join(parts[at:]) for at in range(len(parts) - 1, -1, -1))

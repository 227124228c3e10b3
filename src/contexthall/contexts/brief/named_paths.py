"""The paths that a rule file names and that are gone. In doubt none: a wrong "is gone" costs more than a missing one.

The disk is an argument. Most names are found where they should be; only for the others the project is walked.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from os.path import dirname, join, normpath
from typing import NamedTuple

from contexthall.contexts.brief.rule_text import RuleText, has_extension, matches
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.core.generated import is_generated
from contexthall.system.disk import Disk

_IGNORE_FILE = ".gitignore"
_HEAD = re.compile(r"(?:\.{1,2}/)*[^/]+")
_NOT_FROM_HERE = re.compile(r"\.(?!/)")
"""Begins like a hidden file, or like a path from a parent directory."""


class _Homes(NamedTuple):
    """The directories of a project, by name."""

    by_name: Mapping[str, Sequence[str]]
    """Name of a directory → the directories that have one of that name."""
    is_whole: bool
    """Whether all directories were listed, within the limit."""


class NamedPaths:
    """Looks for named paths in one project."""

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root
        self._ignoring: dict[str, tuple[str, ...]] = {}

    def judge(self, read: RuleText, own: str, base: str, *, with_imports: bool) -> tuple[bool, tuple[str, ...]]:
        """Return whether a text names any path, and those that are gone.

        Its file is in the directory `own`, and about `base`.
        """
        near, far = (own, base, ROOT), (base, own, ROOT)
        links = [(name, near) for name in read.links if has_extension(name) or self._begins(name, near)]
        spans = [(name, far) for name in read.spans if self._is_ours(name, far)]
        named = [each for each in (*links, *spans) if _targets(*each)]
        imports = [(name, (own,)) for name in read.imports if with_imports and _is_import(name, own)]
        gone = [name for name, places in named if self._is_gone(name, places)]
        gone += [f"@{name}" for name, places in imports if self._is_gone(name, places)]
        return bool(named or imports), tuple(dict.fromkeys(gone))

    def _is_ours(self, name: str, places: Sequence[str]) -> bool:
        """Return whether a code span is meant as a file of the project."""
        return self._begins(name, places) or (has_extension(name) and not _NOT_FROM_HERE.match(name))

    def _begins(self, name: str, places: Sequence[str]) -> bool:
        """Return whether the first part of a path exists."""
        head = _HEAD.match(name)
        return head is not None and any(map(self._is_there, _targets(head[0], places)))

    def _is_gone(self, name: str, places: Sequence[str]) -> bool:
        targets = _targets(name, places)
        if any(map(self._is_there, targets)) or any(map(self._is_ignored, targets)):
            return False
        # It may be relative to another directory, such as a package of a monorepo.
        plain = normpath(name)
        if any(self._is_there(join(home, plain)) for home in self._homes.by_name.get(plain.split("/")[0], ())):
            return False
        return self._homes.is_whole or self._begins(name, places)

    @cached_property
    def _homes(self) -> _Homes:
        found: dict[str, list[str]] = {}
        waiting = deque([ROOT])
        for _ in range(limits.RULE_DIRECTORIES):
            if not waiting:
                break
            folder = waiting.popleft()
            for name in self._directories_in(folder):
                found.setdefault(name, []).append(folder)
                waiting.append(normpath(join(folder, name)))
        return _Homes(found, not waiting)

    def _directories_in(self, folder: str) -> list[str]:
        with suppress(DiskError):
            entries = self._disk.list(join(self._root, folder))
            names = [each.name for each in entries if each.kind == "directory" and not each.name.startswith(".")]
            return [name for name in names if not is_generated(name)]
        return []

    def _is_ignored(self, target: str) -> bool:
        """Return whether git ignores a file: it may be generated or local, and is not in every clone."""
        place = target
        while place:
            place = dirname(place)
            if matches(self._ignored_in(place), target[len(place) + 1 :] if place else target):
                return True
        return False

    def _ignored_in(self, directory: str) -> tuple[str, ...]:
        if directory not in self._ignoring:
            self._ignoring[directory] = ()
            with suppress(DiskError):
                path = join(self._root, directory, _IGNORE_FILE)
                _, data = self._disk.read_small(path, limits.RULE_FILE_BYTES)
                self._ignoring[directory] = tuple(data.decode("utf-8", "surrogateescape").splitlines())
        return self._ignoring[directory]

    def _is_there(self, path: str) -> bool:
        with suppress(DiskError):
            return self._disk.kind(join(self._root, path), follow=False) is not None
        return True  # unknown, so not reported as gone


def _is_import(name: str, own: str) -> bool:
    return has_extension(name) and bool(_targets(name, (own,)))


def _targets(name: str, places: Sequence[str]) -> list[str]:
    """Return the possible targets of a path, relative to these places, that are in the project."""
    paths = [normpath(join(place, name)) for place in places]
    return [] if name.startswith("~") else [path for path in paths if not path.startswith(("..", "/"))]

"""Which files become the pages of a cache of format 2: by their names, by patterns, by git's own rules.

The walk lists and looks, and opens nothing but `.gitignore` files; what it saw of a file goes with it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contexthall.caches.build.convert.registry import TEXT, converter_of, ending_of, is_missing
from contexthall.caches.build.sources import SourceFile, checked, source_file
from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.core.generated import VIRTUAL_ENVIRONMENT, is_generated
from contexthall.core.ignore import Level, Rules, is_ignored, parse_rules
from contexthall.system.disk import Disk, Seen

_NAMED = re.compile(r"([a-z0-9._-]+)=(.*)", re.DOTALL)
_IGNORE_FILE = ".gitignore"
_REPOSITORY = ".git"
_SPHINX_CONFIGURATION = "conf.py"
HIDDEN, GENERATED, IGNORED, NO_ENDING = "hidden folder", "generated folder", "ignored by git", "without an ending"


class SourceFolder(NamedTuple):
    """A folder of documents, and the name that their ids begin with; "" for none."""

    path: str
    name: str = ""


class Choice(NamedTuple):
    """Which files are wanted: patterns as git reads them, and whether hidden, generated and ignored ones count too."""

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    everything: bool = False


EVERY_FORMAT = Choice()


class FoundSources(NamedTuple):
    """The files that become pages, by ascending id, and how many others were passed over, by kind."""

    files: list[SourceFile]
    passed_over: Mapping[str, int]
    walked: frozenset[str] = frozenset()
    """The folders in which a name that comes, goes or changes may be another result."""
    links: tuple[str, ...] = ()
    """Those of the files that are symlinks, which may lead anywhere."""


def parse_folders(sources: str | Sequence[str]) -> list[SourceFolder]:
    """Read `DIR` or `NAME=DIR`, one or several; no two may have the same name, or none."""
    if not sources and not isinstance(sources, str):
        raise UsageError("there is nothing to build from", hint="name a folder with --sources DIR, or add --packages")
    folders = [_parse_folder(each) for each in ([sources] if isinstance(sources, str) else sources)]
    counts = Counter(folder.name for folder in folders)
    if counts[""] > 1:
        hint = "such as --sources guide=docs/guide --sources api=docs/api"
        raise UsageError("of several sources, at most one goes without a name", hint=hint)
    for name, count in counts.items():
        if count > 1:
            raise UsageError(f"two sources are called {name}", hint="give each a name of its own")
    return folders


def _parse_folder(text: str) -> SourceFolder:
    named = _NAMED.fullmatch(text)
    folder = SourceFolder(named[2], named[1]) if named else SourceFolder(text)
    if named and not named[1].strip("."):
        raise UsageError(f"{named[1]!r} is no name for a source", hint="take letters a-z, digits, '.', '_' and '-'")
    if not folder.path:  # an unset variable of a script, not the working directory
        raise UsageError("the sources have no name", hint="name a folder with --sources DIR")
    return folder


def select(disk: Disk, folders: Sequence[SourceFolder], choice: Choice) -> FoundSources:
    """Find the files below the folders that are wanted."""
    walk = _Walk(disk, choice)
    files = [file for folder in folders for file in walk.files(folder)]
    return FoundSources(checked(files), walk.passed_over, frozenset(walk.walked), tuple(walk.links))


def _patterns(option: str, patterns: Sequence[str]) -> Rules | None:
    for pattern in patterns:
        if "\n" in pattern or parse_rules([os.fsencode(pattern)]) is None:
            hint = "write it as in a .gitignore file, such as '*.md' or 'guide/**'"
            raise UsageError(f"{option} {pattern!r} is no pattern", hint=hint)
    return parse_rules([os.fsencode("\n".join(patterns))])


class _Folder(NamedTuple):
    """A folder that is to be walked: its path, what rules hold in it, whether all in it is wanted."""

    place: str
    below: str
    """Its path from its source."""
    levels: tuple[Level, ...]
    is_wanted: bool


class _Walk:
    """Walks over folders, and counts what it passes over."""

    def __init__(self, disk: Disk, choice: Choice) -> None:
        self.passed_over: Counter[str] = Counter()
        self.walked: list[str] = []
        self.links: list[str] = []
        self._disk = disk
        self._include = _patterns("--include", choice.include)
        self._exclude = _patterns("--exclude", choice.exclude)
        self._everything = choice.everything

    def files(self, source: SourceFolder) -> Iterator[SourceFile]:
        """Yield the wanted files of a source."""
        base, levels = ("", ()) if self._everything else self._rules_above(source.path)
        waiting = [_Folder(os.path.join(source.path, ""), "", levels, self._include is None)]
        while waiting:
            folder = waiting.pop()
            self.walked.append(folder.place.rstrip("/") or "/")
            seen = self._survey(folder.place)
            names = {each.name for each in seen}
            if folder.below and VIRTUAL_ENVIRONMENT in names and not self._everything:
                self.passed_over[GENERATED] += 1
                continue
            levels = self._with_own_rules(base, folder, names)
            for each in seen:
                path = folder.below + each.name
                if self._is_left_out(source, base, path, each, levels):
                    continue
                if each.kind == "directory":
                    below = f"{folder.place}{each.name}/"
                    waiting.append(_Folder(below, f"{path}/", levels, self._is_included(path, each, folder)))
                elif file := self._file(source, path, each, folder):
                    yield file

    def _survey(self, place: str) -> Sequence[Seen]:
        """Look at a folder. One that may not be read fails the build: nobody knows how many pages it would cost."""
        try:
            return self._disk.survey(place).seen
        except DiskError as error:
            if isinstance(error.__cause__, PermissionError):
                error.hint = "let it be read, or leave it out with --exclude"
            raise

    def _file(self, source: SourceFolder, path: str, seen: Seen, folder: _Folder) -> SourceFile | None:
        """Return a file that is wanted and can be converted."""
        converter = converter_of(seen.name)
        if not self._is_included(path, seen, folder):
            return None
        if converter is None and (self._include is None or is_missing(path)):
            self.passed_over[ending_of(path) or NO_ENDING] += 1
            return None
        place = f"{folder.place}{seen.name}"
        found = self._behind(place) if seen.kind == "symlink" else seen
        if found is None or found.kind != "file":
            return None
        if found is not seen:
            self.links.append(place)
        name = f"{source.name}/{path}" if source.name else path
        return source_file(place, name, source.name, converter or TEXT, found.size, found.stamp)

    def _is_included(self, path: str, seen: Seen, folder: _Folder) -> bool:
        if self._include is None:
            return True
        verdict = self._include.judge(path, seen.name, is_directory=seen.kind == "directory")
        return folder.is_wanted if verdict is None else verdict

    def _is_left_out(self, source: SourceFolder, base: str, path: str, seen: Seen, levels: tuple[Level, ...]) -> bool:
        """Return whether somebody excluded this, or nobody wants it who does not say so."""
        name, is_directory = seen.name, seen.kind == "directory"
        if name == _REPOSITORY or (self._exclude and self._exclude.judge(path, name, is_directory=is_directory)):
            return True
        if self._everything:
            return False
        kind = ""
        if is_directory and name.startswith("."):
            kind = HIDDEN
        elif is_directory and is_generated(name) and not self._is_sphinx_source(source, path):
            kind = GENERATED
        elif levels and is_ignored(levels, base + path, name, is_directory=is_directory):
            kind = IGNORED
        if kind:
            self.passed_over[kind] += 1
        return bool(kind)

    def _is_sphinx_source(self, source: SourceFolder, path: str) -> bool:
        """Return whether Sphinx reads documents there; some projects write theirs in `doc/build`."""
        return self._disk.is_there(os.path.join(source.path, path, _SPHINX_CONFIGURATION))

    def _behind(self, path: str) -> Seen | None:
        """Return what a symlink leads to; None for nothing."""
        try:
            kind, size, stamp = self._disk.look(path)
        except PathMissingError:
            return None
        except DiskError as error:
            if not isinstance(error.__cause__, PermissionError):
                raise
            return Seen(os.path.basename(path), "file", 0, ())  # reading it will say that it may not be read
        return Seen(os.path.basename(path), kind, size, stamp[1:])

    def _rules_above(self, folder: str) -> tuple[str, tuple[Level, ...]]:
        """Return the way from the repository that `folder` is in, and the rules of the folders on that way."""
        root = folder
        while not self._disk.is_there(os.path.join(root, _REPOSITORY)):
            parent = os.path.dirname(root)
            if parent == root:
                return "", ()
            root = parent
        way = "" if root == folder else os.path.relpath(folder, root)
        levels: tuple[Level, ...] = ()
        parts = way.split("/") if way else []
        for depth in range(len(parts)):
            above = "".join(f"{part}/" for part in parts[:depth])
            self.walked.append(os.path.join(root, above).rstrip("/") or "/")
            levels += self._own_rules(os.path.join(root, above), len(above))
        return (f"{way}/" if way else ""), levels

    def _with_own_rules(self, base: str, folder: _Folder, names: set[str]) -> tuple[Level, ...]:
        if self._everything or _IGNORE_FILE not in names:
            return folder.levels
        return folder.levels + self._own_rules(folder.place, len(base + folder.below))

    def _own_rules(self, path: str, base_length: int) -> tuple[Level, ...]:
        """Return the rules of one folder; a symlink is no ignore file, for git neither."""
        try:
            _, text = self._disk.read_small(os.path.join(path, _IGNORE_FILE), limits.IGNORE_FILE_BYTES)
        except PathMissingError:
            return ()
        if len(text) > limits.IGNORE_FILE_BYTES:
            raise UsageError(f"{os.path.join(path, _IGNORE_FILE)} is too large", hint="shorten it, or use --all")
        rules = parse_rules([text])
        return (Level(base_length, rules),) if rules else ()

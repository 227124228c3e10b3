"""The rule files of a project: what each is about by the rules of its agent, and which named paths are gone.

They are read, never written or converted. `docs/contexts.md` lists the documentation of each rule.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from os.path import dirname, join, normpath
from typing import Literal, NamedTuple

from contexthall.contexts.brief.named_paths import NamedPaths
from contexthall.contexts.brief.rule_text import RuleText, matches, read_rule, split_patterns
from contexthall.contexts.draft.agents import AGENTS_FILE, without_section
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.system.disk import Disk

CLAUDE_FILES = ("CLAUDE.md", ".claude/CLAUDE.md")
CLAUDE_RULES, CURSOR_RULES = ".claude/rules", ".cursor/rules"
COPILOT_FILE, COPILOT_RULES = ".github/copilot-instructions.md", ".github/instructions"
_read = lru_cache(maxsize=32)(read_rule)

Reach = Literal["all", "some", "request"]
"""The scope of a rule file: all of its directory, what its patterns match, or only requests for it."""


class RuleFile(NamedTuple):
    """A rule file of the project."""

    path: str
    """From the project root, as are all paths here."""
    base: str
    """The directory that it is about."""
    reach: Reach = "all"
    patterns: tuple[str, ...] = ()
    """The files in `base` that it is about, as git reads patterns."""
    text: str = ""
    gone: tuple[str, ...] = ()
    """The paths that it names and that are gone."""
    names_paths: bool = False
    """Whether it names any path: if not, it cannot be checked."""
    also: tuple[str, ...] = ()
    """Files that import it, and symlinks to it."""
    fault: str = ""
    """Why it could not be read."""

    @property
    def about(self) -> str:
        """What it is about, for people."""
        where = "the project" if self.base == ROOT else f"{self.base}/"
        match self.reach:
            case "all":
                return where
            case "some":
                return f"{', '.join(self.patterns)} in {where}"
            case "request":
                return "what somebody asks it for"

    def why(self, path: str, names: Collection[str] | None) -> str:
        """Return why it applies to `path`, or to one of `names` if that is a directory with them; empty if not."""
        below = _below(self.base, path)
        if below is None or self.reach == "request":
            return ""
        where = "the project" if self.base == ROOT else f"{self.base}/"
        if self.reach == "all":
            return f"it is about all of {where}"
        candidates = [below] if names is None else [join(below, name) if below else name for name in sorted(names)]
        found = next((each for each in candidates if matches(self.patterns, each)), None)
        return f"its patterns match {join(self.base, found) if self.base != ROOT else found}" if found else ""

    def to_json(self) -> dict[str, object]:
        entry: dict[str, object] = {"path": self.path, "about": self.about}
        if self.names_paths:
            entry["gone"] = list(self.gone[: limits.RULE_GONE])
        return entry | ({"error": self.fault} if self.fault else {})


def find_rules(disk: Disk, root: str, directories: Iterable[str]) -> list[RuleFile]:
    """Return the rule files of these directories, in the order of a brief; none twice."""
    finder = _Finder(disk, root)
    for directory in directories:
        finder.look_in(directory)
    return finder.rules()


def _below(base: str, path: str) -> str | None:
    """Return `path` relative to `base`; None if it is not below it."""
    if base == ROOT:
        return "" if path == ROOT else path
    return path[len(base) + 1 :] if f"{path}/".startswith(f"{base}/") else None


class _Kind(NamedTuple):
    """A kind of rule file, and the meaning of its settings."""

    place: int
    """Its place among the kinds, in the order of a brief."""
    setting: str = ""
    """The setting that has the patterns."""
    without: Reach = "all"
    """What it is about if there are no patterns."""
    is_anchored: bool = False
    """Whether a pattern without a slash is about one directory only."""
    imports: bool = False


_NESTED = _Kind(0)
_MEMORY = _Kind(0, imports=True)
_FOLDERS = {
    CLAUDE_RULES: (_Kind(1, "paths", imports=True), ".md"),
    CURSOR_RULES: (_Kind(2, "globs", without="request"), ".mdc"),
}
_COPILOT = _Kind(3, "applyTo", without="request", is_anchored=True)
_WHOLE_REPOSITORY = _Kind(4)


class _Finder:
    """Finds rule files, directory by directory."""

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root
        self._named = NamedPaths(disk, root)
        self._found: dict[str, tuple[int, RuleFile]] = {}

    def rules(self) -> list[RuleFile]:
        in_order = sorted(self._found.values(), key=lambda each: (each[0], _depth(each[1].base)))
        return [rule for _, rule in in_order]

    def look_in(self, directory: str) -> None:
        self._add(_in(directory, AGENTS_FILE), directory, _NESTED)
        for name in CLAUDE_FILES:
            self._add(_in(directory, name), directory, _MEMORY)
        for folder, (kind, ending) in _FOLDERS.items():
            for path in self._files_below(_in(directory, folder), ending):
                self._add(path, directory, kind)
        if directory == ROOT:
            for path in self._files_below(COPILOT_RULES, ".instructions.md"):
                self._add(path, ROOT, _COPILOT)
            self._add(COPILOT_FILE, ROOT, _WHOLE_REPOSITORY)

    def _files_below(self, folder: str, ending: str, level: int = 0) -> Iterator[str]:
        try:
            entries = self._disk.list(join(self._root, folder))
        except DiskError:
            return
        for entry in entries[: limits.RULE_FILES]:
            path = join(folder, entry.name)
            if entry.kind == "directory" and level < limits.RULE_FOLDER_LEVELS:
                yield from self._files_below(path, ending, level + 1)
            elif entry.kind in {"file", "symlink"} and entry.name.endswith(ending):
                yield path

    def _add(self, path: str, directory: str, kind: _Kind, importers: tuple[str, ...] = ()) -> None:
        real = self._real(path)
        if real is None:
            return
        also = (*importers, *([path] if real != path else []))
        if real in self._found:
            place, known = self._found[real]
            self._found[real] = place, known._replace(also=tuple(dict.fromkeys((*known.also, *also))))
            return
        if len(self._found) >= limits.RULE_FILES:
            return
        rule, text = self._rule(real, directory, kind)
        if rule is None:
            return
        self._found[real] = kind.place, rule._replace(also=also)
        if text is not None and kind.imports and len(importers) < limits.RULE_IMPORT_LEVELS:
            for each in self._imported(real, text):
                self._add(each, directory, kind._replace(setting=""), (*importers, path))

    def _real(self, path: str) -> str | None:
        """Return the real path of a file, from the root; None if it does not exist, or is not in the project."""
        whole = join(self._root, path)
        with suppress(DiskError):
            if not self._disk.is_there(whole):
                return None
            real, base = self._disk.real(whole), self._root.rstrip("/") + "/"
            return real[len(base) :] if real.startswith(base) else None
        return None

    def _rule(self, path: str, directory: str, kind: _Kind) -> tuple[RuleFile | None, RuleText | None]:
        """Read a rule file; None if it has no text but our section."""
        try:
            _, data = self._disk.read_small(join(self._root, path), limits.RULE_FILE_BYTES)
        except DiskError:
            return RuleFile(path, directory, fault="it cannot be read"), None
        if len(data) > limits.RULE_FILE_BYTES:
            return RuleFile(path, directory, fault=f"it is larger than {limits.RULE_FILE_BYTES >> 10} KiB"), None
        read = _read(without_section(data.decode("utf-8", "replace")))
        if not read.body.strip():
            return None, None
        reach, patterns = _reach(read, kind)
        named, gone = self._named.judge(read, dirname(path), directory, with_imports=kind.imports)
        return RuleFile(path, directory, reach, patterns, read.body.strip("\n"), gone, named), read

    def _imported(self, path: str, read: RuleText) -> Iterator[str]:
        """Yield the files of the project that a text imports."""
        for name in read.imports:
            target = _within(join(dirname(path), name))
            if target and self._is_file(target):
                yield target

    def _is_file(self, path: str) -> bool:
        with suppress(DiskError):
            return self._disk.kind(join(self._root, path)) == "file"
        return False


def _reach(read: RuleText, kind: _Kind) -> tuple[Reach, tuple[str, ...]]:
    """Return what a rule file is about, by its settings."""
    if read.settings.get("alwaysApply") == ("true",) and kind.setting == "globs":
        return "all", ()
    patterns = split_patterns(read.settings.get(kind.setting, ()))
    if not patterns:
        return kind.without, ()
    if kind.is_anchored:
        patterns = tuple(each if each.startswith(("/", "**/")) else f"/{each}" for each in patterns)
    return "some", tuple(f"\\{each}" if each.startswith("#") else each for each in patterns)


def _in(directory: str, name: str) -> str:
    return name if directory == ROOT else join(directory, name)


def _depth(directory: str) -> tuple[int, str]:
    return (0, "") if directory == ROOT else (directory.count("/") + 1, directory)


def _within(path: str) -> str:
    """Return a path from the root, normalised; empty if it leads out of the project."""
    normal = normpath(path)
    return "" if normal.startswith(("..", "/")) else normal

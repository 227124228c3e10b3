"""The directories of a project that count: those with source files or a context, down to a configured depth.

The disk is an argument; pure rules judge what was seen on it.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from contexthall.contexts.files.config import CONFIG_FILE, Config
from contexthall.contexts.files.lock import LOCK_FILE
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.core.generated import VIRTUAL_ENVIRONMENT, is_generated
from contexthall.core.ignore import Level, is_ignored, parse_rules
from contexthall.core.paths import shown
from contexthall.core.tokens import BYTES_PER_TOKEN
from contexthall.system.disk import TEMPORARY_PREFIX, Disk, Seen, Status, Survey, is_temporary

ROOT = "."
RULE_NAMES = frozenset({"AGENTS.md", "CLAUDE.md", ".claude", ".cursor", ".github"})
"""A directory that has none of these has no rule file."""
IGNORE_FILES = (".gitignore", ".contextignore")
"""In the order in which they are read: of two rules in one directory the later one decides."""
UNREADABLE = 'Cannot read the directory at scope "{scope}"'
SMALL_PROJECT = 64
"""In a project of up to this many directories each one counts, unless the project configures `min_tokens`."""
MIN_TOKENS = 4096
"""How much source a directory of a larger project must hold to count."""
_CACHE_TAG = "CACHEDIR.TAG"
"""A directory with a file of this name is a cache that can be made again."""
_CONTEXT_CACHE = frozenset(["manifest.json", "index.json", "documents"])
"""The files and folders of a cache of documents."""
_UNCOUNTED = frozenset([LOCK_FILE, ".mcp.json", ".mcp.json.before-context-hall"])
"""Files of the hall, or about it: they are not about their directory."""
_rules = lru_cache(maxsize=256)(parse_rules)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CODE = _words(
    "ts tsx mts cts js jsx mjs cjs vue svelte astro py pyi pyx rs go java kt kts scala groovy clj cljs c cc cpp cxx h "
    "hh hpp hxx m mm cu cs fs vb swift dart rb php pl pm lua r jl ex exs erl hs ml mli elm nim zig v sol asm s sql sh "
    "bash zsh fish ps1 bat graphql gql proto thrift prisma"
)
_OTHERS = _words(
    "ipynb gradle tf hcl nix cmake mk bzl dockerfile html css scss sass less yaml yml json jsonc json5 toml xml ini "
    "cfg conf properties md mdx txt rst adoc org tex"
)
_SOURCE_NAMES = _words("Dockerfile Makefile Rakefile Gemfile Procfile Justfile Jenkinsfile Vagrantfile go.mod")


class ScannedDirectory(NamedTuple):
    """A directory as it was scanned."""

    scope: str
    path: str
    survey: Survey = Survey((), ())
    above: tuple[Level, ...] = ()
    """The ignore rules of the directories above it."""
    levels: tuple[Level, ...] = ()
    """Those that hold in it."""
    every_file: Sequence[Seen] = ()
    """Its regular files, but for the context."""
    files: Sequence[Seen] = ()
    """Those of them that are not ignored."""
    subdirectories: Sequence[str] = ()
    """The names of those that may be entered."""
    context: Seen | None = None
    """The entry called `.context.yaml`, unless it is a symlink."""
    error: str = ""
    """Which part of it could not be read."""
    cause: str = ""
    """The error of the operating system, for people; if there is one, nothing is written here."""
    has_rules: bool = False
    """Whether something in it has the name of a rule file, or of a folder for them."""

    @property
    def uncounted(self) -> list[Seen]:
        """Files that count in no fingerprint; they did in those that earlier versions wrote."""
        return [file for file in self.every_file if file.name in _UNCOUNTED]

    def must_be(self, found: Status) -> None:
        """Refuse to go on if another directory has replaced it since the scan."""
        if found.stamp[1] != self.survey.stamp[0]:
            raise UsageError(f"something else has come to be at {self.path}", hint="try again")


class Census(NamedTuple):
    """The directories that are kept, and how many others would have counted."""

    kept: list[ScannedDirectory]
    skipped: int


def scan(
    disk: Disk, root: str, scope: str, above: tuple[Level, ...], known: ScannedDirectory | None = None
) -> ScannedDirectory:
    """Scan one directory; `above` are the ignore rules from above. If nothing has changed, `known` is returned."""
    path = _path(root, scope)
    survey = disk.survey(path, known.survey if known else None)
    if known is not None and survey is known.survey and above == known.above:
        return known
    seen = sorted(survey.seen)  # by name, so that nothing depends on the order of the file system
    context = next((each for each in seen if each.name == CONTEXT_FILE and each.kind != "symlink"), None)
    every_file = [each for each in seen if each.kind == "file" and _is_counted(each.name)]
    names = [each.name for each in seen if each.kind == "directory" and is_entered(each.name)]
    levels, error, cause = _with_own_rules(disk, path, scope, [each.name for each in every_file], above)
    # In a worktree `.git` is a file, which differs between clones and is never committed.
    files = [each for each in every_file if each.name not in _UNCOUNTED and each.name != ".git"]
    base = _base(scope)
    if levels:
        files = [each for each in files if not is_ignored(levels, base + each.name, each.name, is_directory=False)]
        names = [name for name in names if not is_ignored(levels, base + name, name, is_directory=True)]
    has_rules = any(each.name in RULE_NAMES for each in seen)
    return ScannedDirectory(
        scope, path, survey, above, levels, every_file, files, names, context, error, cause, has_rules
    )


def scan_one(disk: Disk, root: str, scope: str) -> ScannedDirectory:
    """Scan one directory by the ignore rules of those above it, which are not scanned; none of them is a symlink."""
    levels: tuple[Level, ...] = ()
    faults = []
    for parent in _above(scope):
        levels, error, cause = _with_own_rules(disk, _path(root, parent), parent, IGNORE_FILES, levels)
        faults += [(error, cause)] if cause else []
    directory = scan(disk, root, scope, levels)
    return directory if directory.error or not faults else directory._replace(error=faults[0][0], cause=faults[0][1])


def walk(
    disk: Disk,
    root: str,
    config: Config,
    known: Mapping[str, ScannedDirectory] = MappingProxyType({}),
    repositories: list[str] | None = None,
) -> Iterator[ScannedDirectory]:
    """Scan the root, which is not a symlink, and every directory below it that may be entered, parents first.

    A directory that is unchanged since it became `known` is not listed again. Other repositories are not entered, and
    added to `repositories`.
    """
    unwanted = _rules(tuple(pattern.encode() for pattern in config.ignore))
    waiting: list[tuple[str, tuple[Level, ...], int]] = [(ROOT, (), 0)]
    while waiting:
        scope, above, depth = waiting.pop()
        directory = _scan_if_there(disk, root, scope, above, known.get(scope))
        if directory is None or (scope != ROOT and _is_elsewhere(directory)):
            if directory is not None and repositories is not None and is_repository(directory):
                repositories.append(scope)
            continue
        yield directory
        for name in reversed(directory.subdirectories) if depth < config.max_depth else ():
            below = _base(scope) + name
            if not (unwanted and unwanted.judge(below, name, is_directory=True)):
                waiting.append((below, directory.levels, depth + 1))


def count(directories: Sequence[ScannedDirectory], config: Config) -> Census:
    """Decide which of the `directories`, parents first, are kept."""
    qualifying = _with_parents(directories, [_is_noted(each) or _has_source(each) for each in directories])
    min_tokens = config.min_tokens
    if min_tokens is None:
        min_tokens = MIN_TOKENS if len(qualifying) > SMALL_PROJECT else 0
    if min_tokens == 0:
        return Census(qualifying, 0)
    least = min_tokens * BYTES_PER_TOKEN
    kept = _with_parents(qualifying, [_is_noted(each) or source_bytes(each) >= least for each in qualifying])
    return Census(kept, len(qualifying) - len(kept))


def is_entered(name: str) -> bool:
    """Return whether a directory of this name may be entered: it is neither hidden nor generated."""
    return not (name.startswith(".") or is_generated(name))


def is_source(name: str) -> bool:
    """Return whether a file is source, configuration or prose, by its name."""
    _, dot, extension = name.rpartition(".")
    is_known = extension.lower() in _CODE or extension.lower() in _OTHERS
    return (bool(dot) and is_known and name != CONFIG_FILE) or name in _SOURCE_NAMES


def is_code(name: str) -> bool:
    """Return whether a file is written in a programming language, by its name."""
    _, dot, extension = name.rpartition(".")
    return bool(dot) and extension.lower() in _CODE


def _with_parents(directories: Sequence[ScannedDirectory], are_wanted: Sequence[bool]) -> list[ScannedDirectory]:
    """Choose the wanted directories, every directory above one of them, and the root."""
    chosen, parents = [], {ROOT}
    for directory, is_wanted in zip(reversed(directories), reversed(are_wanted), strict=True):
        if is_wanted or directory.scope in parents:
            chosen.append(directory)
            parents.add(directory.scope.rpartition("/")[0] or ROOT)
    return chosen[::-1]


def _is_noted(directory: ScannedDirectory) -> bool:
    """Return whether a directory counts whatever its size: it has a context, or an error."""
    return directory.context is not None or bool(directory.error)


def _has_source(directory: ScannedDirectory) -> bool:
    return any(is_source(file.name) for file in directory.files)


def source_bytes(directory: ScannedDirectory) -> int:
    """Return the total size of the source files of a directory."""
    return sum(file.size for file in directory.files if is_source(file.name))


def _scan_if_there(
    disk: Disk, root: str, scope: str, above: tuple[Level, ...], known: ScannedDirectory | None
) -> ScannedDirectory | None:
    """Scan a directory; None if it is gone or a virtual environment. Only the root must be readable."""
    try:
        directory = scan(disk, root, scope, above, known)
    except DiskError as error:
        if scope == ROOT:
            raise
        if isinstance(error, PathMissingError):
            return None
        sentence = UNREADABLE.format(scope=shown(scope))
        return ScannedDirectory(scope, _path(root, scope), levels=above, error=sentence, cause=error.detail)
    is_environment = scope != ROOT and any(file.name == VIRTUAL_ENVIRONMENT for file in directory.every_file)
    return None if is_environment else directory


def is_repository(directory: ScannedDirectory) -> bool:
    """Return whether a directory is the top of a git repository, a submodule or a worktree."""
    return any(each.name == ".git" for each in directory.survey.seen)


def _is_elsewhere(directory: ScannedDirectory) -> bool:
    """Return whether a directory is not part of the project around it: another repository, or a cache."""
    names = {each.name for each in directory.survey.seen}
    return ".git" in names or _CACHE_TAG in names or names >= _CONTEXT_CACHE


def _with_own_rules(
    disk: Disk, path: str, scope: str, names: Collection[str], above: tuple[Level, ...]
) -> tuple[tuple[Level, ...], str, str]:
    """Add the rules of the ignore files among `names` to those from above; return what could not be read, and why."""
    texts, error, cause = [], "", ""
    for name in IGNORE_FILES:
        if name in names:
            try:
                _, text = disk.read_small(os.path.join(path, name), limits.IGNORE_FILE_BYTES)
            except PathMissingError:  # also a symlink, which git does not follow either
                continue
            except DiskError as refusal:
                error, cause = f"Cannot read {name}", refusal.detail
                continue
            texts.append(text)
            error = f"{name} is too large" if len(text) > limits.IGNORE_FILE_BYTES else error
    rules = _rules(tuple(texts)) if texts and not error else None
    return ((*above, Level(len(_base(scope)), rules)) if rules else above), error, cause


def _is_counted(name: str) -> bool:
    return name != CONTEXT_FILE and not (name.startswith(TEMPORARY_PREFIX) and is_temporary(name))


def _path(root: str, scope: str) -> str:
    return root if scope == ROOT else os.path.join(root, scope)


def _base(scope: str) -> str:
    """Return the prefix of the paths in a directory."""
    return "" if scope == ROOT else scope + "/"


def _above(scope: str) -> list[str]:
    """Return the directories above `scope`, the root first."""
    parts = [] if scope == ROOT else scope.split("/")
    return [ROOT, *("/".join(parts[:end]) for end in range(1, len(parts)))] if parts else []

"""The material of a draft: what the files of one directory state, each read once.

The disk is an argument; files too large for source code are not read.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from contexthall.contexts.draft.agents import AGENTS_FILE
from contexthall.contexts.draft.data import DATA
from contexthall.contexts.draft.file_roles import is_page, is_test, is_test_directory
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.languages.project_manifest import ProjectManifest
from contexthall.contexts.draft.languages.table import LANGUAGES, language_of, manifest_of, read, read_manifest
from contexthall.contexts.draft.project_facts import package_manager
from contexthall.contexts.draft.syntax.readme import is_off_topic, page_title, readme_sentence
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory, is_source
from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.core.parsing import words
from contexthall.core.paths import shown
from contexthall.system.disk import Disk

_GENERATED = tuple(suffix for language in LANGUAGES for suffix in language.generated_suffixes)
_READMES = (
    "readme.md",
    "readme.markdown",
    "readme.rst",
    "readme.txt",
    "readme",
    "readme.adoc",
    "package.md",
    "module.md",
)
_HOSTED = ".github/README.md"
"""Where GitHub looks for the README of a project first."""
_NAME = re.compile(rb"[A-Za-z_]\w{2,}")
_TEST_BASE = re.compile(r"Test(?:Case|Base|Helpers?|Utils?)\.\w+$")
_TEST_INSIDE = re.compile(r"[a-z0-9][_-]tests?[_-][a-z]")
"""As in `make_test_certificates.sh`, which holds no test unless it shows one."""
_TEST_FIRST = re.compile(r"Tests?[A-Z]")
"""As in `TestApplication.java`, which may be what tests are run with."""
_ANNOTATED = (".cs", ".java")
"""Of languages that mark each test: what is called `CartTest` there may be what tests are about."""
_HELPING = words("support helpers helper shared common utils util")
"""Directories of what tests share: what looks like a test there is run by others."""
_HEADERS = (".h", ".hpp", ".hh")
_LETTERS = re.compile(r"[^a-z0-9]")
_LAST = re.compile(r"[.:]+")
_TESTING = re.compile(
    rb"^\s*(?:@(?:\w*Test|TestFactory|TestTemplate)\b|@test [\"']"
    rb"|\[(?:\w*Fact|\w*Theory|Test|TestCase|TestMethod)\b|#\[(?:tokio::)?test"
    rb"|TEST(?:_[FP])?\(|(?:async )?def test_|func Test|(?:public )?function test|public (?:final )?void test"
    rb"|(?:describe|it|test|suite)(?:\.\w+)?[ (][\"'`]|(?:should|specify) [\"'].*do$|TEST_CASE\("
    rb"|class \w+.*XCTestCase|test\(\")",
    re.MULTILINE,
)
"""How a line begins in a file of tests."""


class Material(NamedTuple):
    """What was found in a directory."""

    scope: str
    """As it is shown, like the names: without bytes that are not UTF-8."""
    names: tuple[str, ...]
    """Its source files, sorted."""
    sources: Mapping[str, SourceOutline]
    """Those whose language is understood."""
    manifests: tuple[ProjectManifest, ...]
    readme: str
    """The first sentence of its README, or its title."""
    package_manager: str
    mentions: Callable[[], Mapping[str, int]] = dict
    """Returns exported name → how many other files mention it. What is callable here is read on demand."""
    tests: tuple[str, ...] = ()
    """The files that hold tests, the largest first."""
    titles: Callable[[], Mapping[str, str]] = dict
    """Returns page → its title."""
    declared: Callable[[], Mapping[str, Sequence[str]]] = dict
    """Returns kind, such as `tables` → the names that data files declare."""


def gather(project: Project, directory: ScannedDirectory, manifests: tuple[ProjectManifest, ...]) -> Material:
    """Read a directory, but for its manifests."""
    disk = project.disk
    every_name = sorted(file.name for file in directory.files)
    names = source_names(directory)
    texts = {name: _read(disk, directory, name) for name in names if language_of(name)}
    sources = {shown(name): read(name, data, is_test=is_test(name)) for name, data in texts.items()}
    pages = [name for name in names if is_page(directory.scope, name)]
    sizes = {file.name: file.size for file in directory.files}
    # The shell grammar does not know `@test`: of a file for bats, only the name counts.
    named = {**dict.fromkeys((name for name in every_name if name.endswith(".bats")), b""), **texts}
    tests = sorted(
        (name for name, data in named.items() if _holds_tests(directory.scope, name, data)), key=sizes.__getitem__
    )
    return Material(
        scope=shown(directory.scope),
        names=tuple(map(shown, names)),
        sources=sources,
        manifests=manifests,
        readme=_readme(project, directory),
        package_manager=package_manager(every_name),
        mentions=partial(_mentions, texts, sources),
        tests=tuple(map(shown, reversed(tests))),
        titles=partial(_titles, disk, directory, pages),
        declared=partial(_declared, disk, directory, names),
    )


def _readme(project: Project, directory: ScannedDirectory) -> str:
    """Return the sentence of the README, which may be a symlink to another file of the project."""
    seen = {each.name: each.kind for each in directory.survey.seen if each.kind in {"file", "symlink"}}
    for name in (name for wanted in _READMES for name in sorted(seen) if name.lower() == wanted):
        data = _read(project.disk, directory, name) if seen[name] == "file" else _linked(project, directory, name)
        if sentence := readme_sentence(data, name) or _title_of(data, name, directory):
            return sentence
    return readme_sentence(_read(project.disk, directory, _HOSTED), _HOSTED) if directory.scope == ROOT else ""


def _title_of(data: bytes, name: str, directory: ScannedDirectory) -> str:
    """Return the title of a README without a sentence, if it says more than the name of the directory."""
    title = page_title(data, name)
    called = _LETTERS.sub("", os.path.basename(directory.path).lower())
    return title if " " in title and not is_off_topic(title) and _LETTERS.sub("", title.lower()) != called else ""


def _titles(disk: Disk, directory: ScannedDirectory, pages: Sequence[str]) -> dict[str, str]:
    return {shown(name): page_title(_read(disk, directory, name), name) for name in pages}


def _declared(disk: Disk, directory: ScannedDirectory, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the names that schemas, resources and the like declare, by kind."""
    found: dict[str, dict[str, None]] = {}
    for name in names:
        if kind := DATA.get(name.rpartition(".")[2].lower()):
            text = _read(disk, directory, name)
            found.setdefault(kind.title, {}).update(dict.fromkeys(kind.names(text)))
    return {title: tuple(each) for title, each in found.items() if each}


def _linked(project: Project, directory: ScannedDirectory, name: str) -> bytes:
    """Read the target of a symlink, if it is in the project."""
    try:
        place = project.disk.real(os.path.join(directory.path, name))
        inside = f"{place}".startswith(project.base.rstrip("/") + "/")
        return project.disk.read_small(place, limits.DRAFTED_FILE_BYTES)[1] if inside else b""
    except DiskError:
        return b""


def _holds_tests(scope: str, name: str, data: bytes) -> bool:
    if _TEST_BASE.search(name) or name.endswith(_HEADERS):
        return False
    must_show = _TEST_INSIDE.search(name) or _TEST_FIRST.match(name) or name.endswith(_ANNOTATED)
    is_certain = is_test(name) and not must_show
    may_be = is_test(name) or (is_test_directory(scope) and os.path.basename(scope).lower() not in _HELPING)
    return is_certain or (may_be and _TESTING.search(data) is not None)


def _mentions(texts: Mapping[str, bytes], sources: Mapping[str, SourceOutline]) -> dict[str, int]:
    """Count for each exported name the other files that mention it; tests do not count."""
    code = {name: data for name, data in texts.items() if not is_test(name)}
    if len(code) <= 1:
        return {}
    exports = (each for source in sources.values() for each in (*source.exports, *source.inner))
    lasts = {each.name: _LAST.split(each.name)[-1].encode() for each in exports}
    wanted = frozenset(lasts.values())
    seen = Counter(word for data in code.values() for word in wanted.intersection(_NAME.findall(data)))
    return {name: seen[last] - 1 for name, last in lasts.items() if last in seen}


def source_names(directory: ScannedDirectory) -> tuple[str, ...]:
    """Return the names of the source files of a directory, sorted."""
    # AGENTS.md is made of the summaries, so no summary may be made of it.
    names = sorted(file.name for file in directory.files)
    return tuple(name for name in names if is_source(name) and name != AGENTS_FILE)


def read_sources(disk: Disk, directory: ScannedDirectory, names: Iterable[str]) -> dict[str, SourceOutline]:
    """Parse the named files, of those whose language is understood."""
    return {shown(name): _read_source(disk, directory, name) for name in names if language_of(name)}


def _read_source(disk: Disk, directory: ScannedDirectory, name: str) -> SourceOutline:
    data = _read_whole(disk, directory, name)
    return SourceOutline(is_parsed=False) if data is None else read(name, data)


def read_manifests(disk: Disk, directory: ScannedDirectory) -> dict[str, bytes]:
    """Return the contents of a directory's manifests by name, by ascending rank."""
    kinds = {file.name: kind for file in directory.files if (kind := manifest_of(file.name))}
    return {name: _read(disk, directory, name) for name in sorted(kinds, key=lambda name: (kinds[name].rank, name))}


def parse_manifests(
    texts: Mapping[str, bytes], inherited: Mapping[str, bytes] = MappingProxyType({})
) -> tuple[ProjectManifest, ...]:
    """Parse manifests; `inherited` are those of the root by name, of the kinds that others inherit from."""
    return tuple(read_manifest(name, data, inherited.get(name, b"")) for name, data in texts.items())


def language_sizes(directories: Iterable[ScannedDirectory]) -> Mapping[str, int]:
    """Return how many bytes there are of each language, the largest first."""
    sizes: Counter[str] = Counter()
    for file in (file for directory in directories for file in directory.files):
        if (language := language_of(file.name)) and not file.name.endswith(_GENERATED):
            sizes[language.name] += file.size
    return {name: sizes[name] for name in sorted(sizes, key=lambda name: (sizes[name], name), reverse=True)}


def _read(disk: Disk, directory: ScannedDirectory, name: str) -> bytes:
    return _read_whole(disk, directory, name) or b""


def _read_whole(disk: Disk, directory: ScannedDirectory, name: str) -> bytes | None:
    """Read a file; None if it is larger than what people write."""
    try:
        _, data = disk.read_small(os.path.join(directory.path, name), limits.DRAFTED_FILE_BYTES)
    except PathMissingError:
        return b""
    return data if len(data) <= limits.DRAFTED_FILE_BYTES else None

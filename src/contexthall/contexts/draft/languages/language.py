"""A language: how its files are recognised and read, and where its imports lead.

Pure: a file that does not parse costs its own lines, and what is where is an argument.
"""

import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from contexthall.contexts.draft.languages.project_manifest import ManifestFile
from contexthall.core import limits
from contexthall.core.parsing import Grammar, Piece, pieces

ROOT = "."


class Export(NamedTuple):
    """Something that others may use."""

    name: str
    signature: str
    """The whole of it on one line, from its keyword to where its body begins, such as `def run(x: int = 1) -> str`."""
    doc: str = ""
    """What is written about it, as prose; empty if nothing is."""
    methods: tuple[str, ...] = ()
    """The names of the public methods of a type, in the order of the file."""


class SourceOutline(NamedTuple):
    """What a file says."""

    doc: str = ""
    """What is written about the file as a whole, as prose."""
    exports: tuple[Export, ...] = ()
    """In the order of the file."""
    imports: tuple[str, ...] = ()
    """What it imports, as written, each once, in the order of the file."""
    names: frozenset[str] = frozenset()
    """Which names it takes from what it imports, as far as they stand beside an import and not in it."""
    inner: tuple[Export, ...] = ()
    """Types that only the code around them may use: they are not exported, but tell what a directory is about."""
    is_parsed: bool = True
    """False if it was too large, took too long, or broke its reader: then what it says is not known."""


def outline(doc: str, exports: Iterable[Export], imports: Iterable[str], names: Iterable[str] = ()) -> SourceOutline:
    """Return an outline with each name once, without what has a syntax error or a name that nobody writes."""
    by_name: dict[str, Export] = {}
    for export in exports:
        if export.signature and 0 < len(export.name) <= limits.SYMBOL_CHARACTERS:
            by_name.setdefault(export.name, export)
    written = dict.fromkeys(name for name in imports if 0 < len(name) <= limits.SYMBOL_CHARACTERS)
    return SourceOutline(doc, tuple(by_name.values()), tuple(written), frozenset(names))


@dataclass(frozen=True, eq=False)
class Layout:
    """The directories of a project with their files, and the names under which manifests publish some of them."""

    files: Mapping[str, Collection[str]]
    packages: Mapping[str, str]
    """Published name → scope: a package of a workspace, a Go module, a crate."""
    name: str = ""
    """Of the root, which may be a package itself."""

    def ending_with(self, path: str) -> str | None:
        """Return the directory whose path ends with another one: the main code's before that of tests."""
        found = self._by_name.get(path.rpartition("/")[2], ()) if path else ()
        return next((scope for scope in found if scope == path or scope.endswith(f"/{path}")), None)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[str]]:
        by_name: dict[str, list[str]] = {}
        for scope in sorted(self.files, key=lambda scope: ("test" in scope.lower(), scope)):
            by_name.setdefault(scope.rpartition("/")[2], []).append(scope)
        return by_name

    def known(self, scope: str) -> str | None:
        """Return a scope if there is such a directory."""
        return scope if scope in self.files else None


ImportResolver: TypeAlias = Callable[[Layout, str, str], str | None]
"""Import, scope of the importing directory → scope that it leads to; None if it leads out of the project."""


def join(scope: str, *parts: str) -> str:
    """Go from a directory to another one, as text; what leaves the project is no directory of it."""
    return os.path.normpath(os.path.join(scope, *parts)) if parts else scope


_FIRST_DECLARATION = re.compile(
    rb"^(?:(?:public|final|abstract|sealed|internal|private|open|static|export|async|data|case)[ \t]+)*"
    rb"(?:class|def|func|fn|fun|function|interface|struct|impl|object|trait|extension|enum|record|module"
    rb"|describe|it|test|suite|context|RSpec)\b|^@(?!file|testable|import)\w|^#\[",
    re.MULTILINE,
)


class Language(NamedTuple):
    """A language that drafts understand: one record in a file of its own, and an entry in `table.py`."""

    name: str
    title: str
    """The name as it is written in a sentence."""
    extensions: Mapping[str, Grammar]
    """In lower case and without the dot, each with its parser."""
    keywords: re.Pattern[bytes]
    """How lines begin that begin a statement: a file with syntax errors is cut there."""
    outline: Callable[[Iterable[Piece]], SourceOutline]
    """Reads a file, piece by piece."""
    resolver: ImportResolver
    manifests: tuple[ManifestFile, ...] = ()
    front_files: tuple[str, ...] = ()
    """Files that speak for their directory, the most telling first."""
    has_package_doc: bool = False
    """Whether all files of a directory are one package, whose comment may stand in any of them."""
    stub_suffix: str = ""
    """What the name of a file has at its end where another file declares what it offers."""
    generated_suffixes: tuple[str, ...] = ()
    """How the names of files end that declare or repeat code rather than being some."""
    needs_whole_file: bool = False
    """Whether of a file with a syntax error nothing is told."""
    unexported: frozenset[str] = frozenset()
    """Extensions of files whose declarations nobody else sees: they are read as far as `preamble` goes."""
    preamble: re.Pattern[bytes] | None = None
    """What stands above the first declaration of a file: comments and imports."""
    macros: re.Pattern[bytes] | None = None
    """What is no part of the language, behind the group that is: it is blanked before a file is parsed."""

    def read(self, data: bytes, extension: str = "", *, is_test: bool = False) -> SourceOutline:
        """Read a file whose name has this extension; of one with tests, what stands above them."""
        grammar = self.extensions.get(extension) or next(iter(self.extensions.values()))
        parsed: list[int] = []
        is_hidden = extension in self.unexported or is_test
        if self.preamble is not None and extension in self.unexported and (above := self.preamble.match(data)):
            data = above[0]
        elif is_test and (first := _FIRST_DECLARATION.search(data)):
            data = data[: first.start()]
        if self.macros is not None:
            data = self.macros.sub(lambda found: found[1] + b" " * (len(found[0]) - len(found[1])), data)
        found = pieces(grammar, data, self.keywords)
        whole = takewhile(lambda piece: not piece.is_damaged, found) if self.needs_whole_file else found
        outline = self.outline(_counted(whole, parsed))
        told = outline._replace(is_parsed=sum(parsed) == len(data.removeprefix(BOM_UTF8)))
        return told._replace(exports=(), inner=()) if is_hidden else told


def _counted(pieces: Iterable[Piece], sizes: list[int]) -> Iterator[Piece]:
    """Yield pieces, and note how many bytes each has: a parser may give up before the end."""
    for piece in pieces:
        sizes.append(len(piece.data))
        yield piece

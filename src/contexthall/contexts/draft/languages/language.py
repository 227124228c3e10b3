"""A language: how its files are recognised and read, and where its imports lead.

Pure: the layout of the project is an argument. A syntax error costs only the lines around it.
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
    """On one line, from its keyword to where its body begins, such as `def run(x: int = 1) -> str`."""
    doc: str = ""
    """Its doc comment as prose; empty if it has none."""
    methods: tuple[str, ...] = ()
    """The names of the public methods of a type, in the order of the file."""


class SourceOutline(NamedTuple):
    """What a source file states and declares."""

    doc: str = ""
    """The comment or docstring about the file as a whole, as prose."""
    exports: tuple[Export, ...] = ()
    """In the order of the file."""
    imports: tuple[str, ...] = ()
    """What it imports, as written, each once, in the order of the file."""
    names: frozenset[str] = frozenset()
    """The names that it takes from its imports, where they are written apart from the path of the import."""
    inner: tuple[Export, ...] = ()
    """Types that only the project may use: they are not exported, but show what a directory is about."""
    is_parsed: bool = True
    """False if it was too large, took too long, or crashed its reader: then its content is not known."""


def outline(doc: str, exports: Iterable[Export], imports: Iterable[str], names: Iterable[str] = ()) -> SourceOutline:
    """Return an outline with each name once, without exports that have a syntax error or too long a name."""
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
        """Return the directory whose path ends with `path`: one of main code before one of tests."""
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
    """Join paths and normalise the result, which may be outside of the project."""
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
    """The name for a sentence."""
    extensions: Mapping[str, Grammar]
    """In lower case and without the dot, each with its parser."""
    keywords: re.Pattern[bytes]
    """The beginnings of lines that begin a statement: a file with syntax errors is cut there."""
    outline: Callable[[Iterable[Piece]], SourceOutline]
    """Reads a file, piece by piece."""
    resolver: ImportResolver
    manifests: tuple[ManifestFile, ...] = ()
    front_files: tuple[str, ...] = ()
    """Files whose comment is about their directory, the most informative first."""
    has_package_doc: bool = False
    """Whether all files of a directory are one package, whose comment may be in any of them."""
    stub_suffix: str = ""
    """What is added to the name of a file for the stub that declares its exports."""
    generated_suffixes: tuple[str, ...] = ()
    """Ends of the names of files that declare or repeat code that is elsewhere."""
    needs_whole_file: bool = False
    """Whether a file with a syntax error is not read at all."""
    unexported: frozenset[str] = frozenset()
    """Extensions of files whose declarations are not visible elsewhere: only their preamble is read."""
    preamble: re.Pattern[bytes] | None = None
    """The comments and imports above the first declaration of a file."""
    macros: re.Pattern[bytes] | None = None
    """Macros, after a group that is kept: they are blanked before a file is parsed."""

    def read(self, data: bytes, extension: str = "", *, is_test: bool = False) -> SourceOutline:
        """Return the outline of a file with this extension; of a test file, only what is above the first test."""
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
        outline = outline._replace(is_parsed=sum(parsed) == len(data.removeprefix(BOM_UTF8)))
        return outline._replace(exports=(), inner=()) if is_hidden else outline


def _counted(pieces: Iterable[Piece], sizes: list[int]) -> Iterator[Piece]:
    """Yield pieces, and record the size of each: a parser may give up before the end."""
    for piece in pieces:
        sizes.append(len(piece.data))
        yield piece

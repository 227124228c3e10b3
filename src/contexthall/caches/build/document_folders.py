"""Which folders of a project hold documents, so that each is worth a cache?

Pure, but for the count of what a build takes. A folder counts if it is called as such folders are, or if most of what
is in it and below it are documents. Of two that lie in each other the upper one is taken, and beside them what stands
at the top of the project (README, changelog). If there is no such folder, the project itself is taken.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contexthall.caches.build.convert.registry import converter_of, ending_of
from contexthall.caches.build.selection import Choice, SourceFolder, select
from contexthall.core.errors import HallError
from contexthall.core.paths import absolute
from contexthall.system.disk import Disk

_NAMES = frozenset(
    {"adr", "adrs", "book", "doc", "docs", "documentation", "guide", "guides", "handbook", "manual", "notes", "rfcs"}
    | {"runbook", "runbooks", "specs", "wiki"}
)
_TESTS = frozenset({"fixtures", "spec", "test", "testdata", "tests", "vectors"})
_TEMPLATES = frozenset(
    {"_includes", "_layouts", "_templates", "jinja", "jinja2", "layouts", "partials", "static", "templates"}
)
"""What is in them are pieces of pages, which say nothing by themselves."""
_BESIDE = frozenset({".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".json", ".png", ".svg", ".webp", ".yaml", ".yml"})
"""Pictures and the like, which stand beside documents and beside code."""
_FEWEST = 2
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".rest", ".adoc", ".asciidoc")
"""What a document at the top ends with: other files there are pages of an application, or lists of packages."""
_RULE_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Agents load them themselves; and the hall writes into the first."""
ROOT = "."


class DocumentFolder(NamedTuple):
    """A folder of documents."""

    scope: str
    """Its path from the project root; `.` for that itself."""
    documents: int
    """How many it has, as far as names tell."""
    is_top: bool = False
    """Whether only what stands in the folder itself is meant, and nothing below it."""
    cache: str = ""
    """A name for its cache, which no other folder of the project has."""

    @property
    def choice(self) -> Choice:
        """Which of its files become pages."""
        if self.is_top:
            return Choice([f"/*{ending}" for ending in _PROSE], [*_RULE_FILES, "/*/"])
        return Choice(exclude=_RULE_FILES)


def find_folders(files: Mapping[str, Sequence[str]]) -> list[DocumentFolder]:
    """Return the folders of documents of a project, by the names of the files in each of its directories.

    What stands at the top comes first, then those with most documents.
    """
    documents, others = Counter[str](), Counter[str]()
    for scope, names in files.items():
        texts = 0 if _TEMPLATES & set(scope.lower().split("/")) else sum(map(is_document, names))
        rest = sum(not is_document(name) and ending_of(name) not in _BESIDE for name in names)
        for above in _and_above(scope):
            documents[above] += texts
            others[above] += rest
    chosen = [scope for scope in sorted(files) if scope != ROOT and _is_chosen(scope, documents[scope], others[scope])]
    topmost = [scope for scope in chosen if not any(above in chosen for above in [*_and_above(scope)][1:])]
    if not topmost:
        return _named([DocumentFolder(ROOT, documents[ROOT])] if documents[ROOT] else [])
    largest = sorted(topmost, key=lambda scope: (-documents[scope], scope))
    at_top = sum(is_document(name) and ending_of(name) in _PROSE for name in files.get(ROOT, ()))
    top = [DocumentFolder(ROOT, at_top, is_top=True)] if at_top else []
    return _named([*top, *(DocumentFolder(scope, documents[scope]) for scope in largest)])


def _named(folders: Sequence[DocumentFolder]) -> list[DocumentFolder]:
    """Return the folders with names for their caches; if several would have one name, all but one get a number."""
    names: dict[DocumentFolder, str] = {}
    taken: set[str] = set()
    for folder in sorted(folders, key=lambda each: (each.is_top, each.scope)):
        plain = "project" if folder.is_top else folder.scope.replace("/", "-").strip("-. ") or "documents"
        candidates = [plain, *(f"{plain}-{number}" for number in range(2, len(folders) + 1))]
        name = next(name for name in candidates if name.lower() not in taken)
        names[folder] = name
        taken.add(name.lower())  # some file systems know no case
    return [folder._replace(cache=names[folder]) for folder in folders]


def count_documents(disk: Disk, root: str, folder: DocumentFolder) -> DocumentFolder:
    """Return the folder with the number of files that a build takes of it."""
    try:
        found = select(disk, [SourceFolder(absolute(folder.scope, root))], folder.choice)
    except HallError:  # the build will say it
        return folder
    return folder._replace(documents=len(found.files))


def is_document(name: str) -> bool:
    """Return whether a file is a document by its name; plain text is more often data."""
    return ending_of(name) != ".txt" and name not in _RULE_FILES and converter_of(name) is not None


def _and_above(scope: str) -> Iterable[str]:
    """Yield a directory, those above it, and the root."""
    while scope not in {"", ROOT}:
        yield scope
        scope = scope.rpartition("/")[0]
    yield ROOT


def _is_chosen(scope: str, documents: int, others: int) -> bool:
    parts = scope.lower().split("/")
    if _TESTS & set(parts):
        return False
    return (parts[-1] in _NAMES and documents > 0) or (documents >= _FEWEST and documents > others)

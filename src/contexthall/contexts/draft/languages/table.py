"""The languages that drafts understand.

Pure. A file that cannot be read, for whatever reason, is left out: a draft must not depend on any one file.
"""

import re

from contexthall.contexts.draft.languages.c import CPP, C
from contexthall.contexts.draft.languages.csharp import CSHARP
from contexthall.contexts.draft.languages.go import GO
from contexthall.contexts.draft.languages.java import JAVA
from contexthall.contexts.draft.languages.kotlin import KOTLIN
from contexthall.contexts.draft.languages.language import Language, SourceOutline
from contexthall.contexts.draft.languages.php import PHP
from contexthall.contexts.draft.languages.project_manifest import ManifestFile, ProjectManifest
from contexthall.contexts.draft.languages.python import PYTHON
from contexthall.contexts.draft.languages.ruby import RUBY
from contexthall.contexts.draft.languages.rust import RUST
from contexthall.contexts.draft.languages.scala import SCALA
from contexthall.contexts.draft.languages.shell import SHELL
from contexthall.contexts.draft.languages.swift import SWIFT
from contexthall.contexts.draft.languages.typescript import JAVASCRIPT, TYPESCRIPT
from contexthall.core import limits
from contexthall.core.parsing import Grammar

_NOTHING = re.compile(rb"(?!)")
LANGUAGES: tuple[Language, ...] = (
    *(PYTHON, GO, RUST, TYPESCRIPT, JAVASCRIPT),
    *(JAVA, KOTLIN, SCALA, CSHARP, C, CPP, RUBY, PHP, SWIFT, SHELL),
)
"""If several have a front file in a directory, that of the first one is preferred."""

TITLES: dict[str, str] = {each.name: each.title for each in LANGUAGES}
BY_EXTENSION: dict[str, Language] = {extension: each for each in LANGUAGES for extension in each.extensions}
FRONT_FILES: tuple[str, ...] = tuple(name for each in LANGUAGES for name in each.front_files)
MANIFESTS: dict[str, ManifestFile] = {
    each.name: each
    for each in sorted((each for language in LANGUAGES for each in language.manifests), key=lambda each: each.rank)
}
"""By the name of the file, by ascending rank."""


def language_of(name: str) -> Language | None:
    """Return the language of a file by its name; None if it is not supported."""
    return BY_EXTENSION.get(_extension(name))


def grammar_of(name: str) -> tuple[Grammar | None, re.Pattern[bytes]]:
    """Return the grammar of a file, by its name, and the keywords of its language; None if it is not supported."""
    language = language_of(name)
    return (language.extensions[_extension(name)], language.keywords) if language else (None, _NOTHING)


def read(name: str, data: bytes, *, is_test: bool = False) -> SourceOutline:
    """Return the outline of a file, without exports if it holds tests; empty if its language is not supported."""
    language = language_of(name)
    if language is None or not data:
        return SourceOutline()
    try:
        return language.read(data, _extension(name), is_test=is_test)
    except Exception:  # noqa: BLE001 - a file that breaks its reader costs its own lines
        return SourceOutline(is_parsed=False)


def manifest_of(name: str) -> ManifestFile | None:
    """Return the kind of a manifest, by its name; None if it is not one."""
    return MANIFESTS.get(name) or MANIFESTS.get(f"*.{name.rpartition('.')[2]}")


def read_manifest(name: str, data: bytes, root: bytes = b"") -> ProjectManifest:
    """Parse the manifest in a file called `name`; an empty one if it cannot be read.

    `root` is the manifest of the same name at the project's root, from which some inherit.
    """
    kind = manifest_of(name)
    if kind is None or max(len(data), len(root)) > limits.DRAFTED_FILE_BYTES:
        return ProjectManifest()
    try:
        return kind.read(data, root)
    # tomllib recurses, so a deeply nested file ends in a RecursionError.
    except (ValueError, RecursionError):
        return ProjectManifest()


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()

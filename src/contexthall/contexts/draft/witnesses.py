"""Statements of what a directory is for, each from a witness: a kind of source, such as the README or the exports.

Pure. A statement is a whole sentence about the directory itself. What people wrote comes before what code, tests and
pages show. A directory without a statement gets no summary: an empty phrase would hide that nothing is known.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.exports_sentence import NotableExport, aside, compose, exports_sentence, listed, select
from contexthall.contexts.draft.file_roles import (
    is_configuration,
    is_documentation,
    is_fixture,
    is_prose,
    is_test,
    is_test_data,
    is_test_directory,
)
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.languages.table import FRONT_FILES, language_of
from contexthall.contexts.draft.material import Material
from contexthall.contexts.draft.syntax.sentences import usable_sentence
from contexthall.core import limits
from contexthall.core.parsing import words

MANIFEST, PACKAGE, README, MODULES, EXPORTS, TESTS, PAGES, DATA, PROJECT = WITNESSES = (
    *("manifest", "package comment", "README", "module comments", "exports", "tests", "pages", "data", "project"),
)
WRITTEN = frozenset({MANIFEST, PACKAGE, README})
"""Those in which people describe the directory as a whole."""
_HELPERS = words(
    "conftest __init__ index helpers helper utils util setup common support fixtures base mod main lib testing types "
    "test_helper spec_helper tests test run run_all all runner suite package-info constants mocks mock data"
)
_OF_TESTS = re.compile(
    r"^(?:tests?|spec)[._-]|[._-](?:tests?|spec|unittest|suite)(?=\.|$)|^test(?=[a-z])(?!ing|er)", re.IGNORECASE
)
_CAMEL_OF_TESTS = re.compile(r"(?<=\w)(?:Tests?|Spec|Suite)$|(?<=[a-z])IT$|^Tests?(?=[A-Z])")
_GENERATED = re.compile(r"\.gen(?:erated)?\.|[._]pb(?:2|\.)")
_NUMBERED = re.compile(r"^\d+[._-]+(?=[A-Za-z])")
_FILE_NAMED = re.compile(r"^[\w.-]+\.\w{1,5}(?:\s*[-–—:]+\s+|\s+--\s+)")


class Statement(NamedTuple):
    """A sentence about a directory, and the witness that it comes from."""

    text: str
    witness: str
    exports: tuple[NotableExport, ...] = ()
    """The notable ones, for a statement about exports: it is written again once their importers are known."""


def statements(material: Material) -> Iterator[Statement]:
    """Yield the statements about a directory, the best first; what its files show only if people wrote nothing."""
    written = [
        *((each.description, MANIFEST) for each in material.manifests),
        *((material.sources[name].doc, PACKAGE) for name in FRONT_FILES if name in material.sources),
        (material.readme, README),
        *((doc, MODULES) for doc in _package_docs(material)),
    ]
    found = [Statement(sentence, witness) for text, witness in written if (sentence := usable_sentence(text))]
    yield from found or filter(None, [derived_statement(material)])


def derived_statement(material: Material) -> Statement | None:
    """Return the first statement that can be derived from code, tests, pages or data."""
    code, tests, pages = [_modules, _exports], [_tests], [_pages]
    if is_test_directory(material.scope):
        order = [*tests, *pages, _data, *code]
    else:
        order = [*pages, *code] if is_documentation(material.scope) else [*code, *tests, *pages]
        order += [*tests, _data]
    return next(filter(None, (derive(material) for derive in order)), None)


def _package_docs(material: Material) -> list[str]:
    """Return the comments of files that are about the whole directory.

    With only one file, its comment is; in some languages the package comment may be in any file.
    """
    code = dict(_code(material))
    languages = [language_of(name) for name in code]
    is_about_all = len(code) == 1 or all(language is not None and language.has_package_doc for language in languages)
    return [_without_file_name(source.doc) for source in code.values() if source.doc] if is_about_all else []


def _without_file_name(doc: str) -> str:
    return _FILE_NAMED.sub("", doc, count=1)


def _code(material: Material) -> list[tuple[str, SourceOutline]]:
    """Return the files that are neither tests nor configuration."""
    every = sorted(material.sources.items())
    return [(name, source) for name, source in every if not (is_test(name) or is_configuration(name))]


def _modules(material: Material) -> Statement | None:
    """List several files with their own comments, if most have one; a comment that is repeated counts for none."""
    if is_fixture(material.scope):
        return None
    code = [(name, source) for name, source in _code(material) if name not in FRONT_FILES]
    repeated = Counter(source.doc for _, source in code)
    own = [(name.rpartition(".")[0], source.doc) for name, source in code if source.doc and repeated[source.doc] == 1]
    fewest = max(2, len(code) / 2)
    asides = {name: text for name, doc in own if len(own) >= fewest and (text := aside(_without_file_name(doc)))}
    if len(asides) < fewest:
        return None
    return _statement(compose("Contains", [*asides.items()], len(code)), MODULES)


def _statement(text: str, witness: str) -> Statement | None:
    return Statement(text, witness) if text else None


def _exports(material: Material) -> Statement | None:
    """Describe the directory by its exports, or else by the types that only its own project sees."""
    if is_test_data(material.scope):
        return None
    is_of_tests = is_test_directory(material.scope)
    code = [each for each in _code(material) if not (is_of_tests and _GENERATED.search(each[0]))]
    public = [(name, export) for name, source in code for export in source.exports]
    inner = [(name, export) for name, source in code for export in source.inner]
    mentions = material.mentions() if public or inner else {}
    for exports in (select(public, mentions), select([*public, *inner], mentions)):
        if text := exports_sentence(exports):
            return Statement(text, EXPORTS, exports)
    return None


def _tests(material: Material) -> Statement | None:
    """List what is tested, by the names of the test files."""
    tests = [name for name in material.tests if _subject(name)]
    code, is_data = len(_code_names(material)), is_test_data(material.scope)
    fewest = code if is_data else 0 if is_test_directory(material.scope) else code / 2
    if not tests or len(tests) < fewest or is_fixture(material.scope):
        return None
    subjects = [*dict.fromkeys(map(_subject, tests))]
    return Statement(f"Tests {listed(subjects[: limits.DRAFT_NAMES], len(subjects))}.", TESTS)


def _code_names(material: Material) -> list[str]:
    return [name for name in material.sources if not is_configuration(name)]


def _subject(name: str) -> str:
    """Return the subject of a test file, by its name."""
    stem = name.rpartition(".")[0]
    stem = _CAMEL_OF_TESTS.sub("", _OF_TESTS.sub("", stem))
    if stem.lower() in _HELPERS or not re.search(r"[A-Za-z]{2}", stem):
        return ""
    stem = _NUMBERED.sub("", stem) or stem
    is_code = re.search(r"[a-z][A-Z]|^[A-Z]|[.$]", stem)
    return f"`{stem}`" if is_code else re.sub(r"[_-]+", " ", stem)


def _pages(material: Material) -> Statement | None:
    """List the titles of pages, in a directory of documentation."""
    pages = {} if is_fixture(material.scope) else material.titles()
    code = [name for name in material.names if not (is_prose(name) or name in pages)]
    titles = [*dict.fromkeys(filter(None, pages.values()))]
    if not titles or len(code) > len(titles):
        return None
    quoted = [f"“{title}”" for title in titles[: limits.DRAFT_NAMES]]
    return Statement(f"Documentation: {listed(quoted, len(titles))}.", PAGES)


def _data(material: Material) -> Statement | None:
    """List what data files declare, if they are all of one kind."""
    declared = {} if is_test_data(material.scope) else material.declared()
    if len(declared) != 1:
        return None
    title, names = next(iter(declared.items()))
    quoted = [f"`{name}`" for name in names[: limits.DRAFT_NAMES]]
    text = f"{title if len(names) > 1 else title.removesuffix('s')} {listed(quoted, len(names))}."
    return _statement(text if len(text) <= limits.SUMMARY_CHARACTERS else "", DATA)


def project_statement(name: str, languages: Sequence[str]) -> Statement:
    """Return the statement about a root that has no other."""
    kind = f", written in {listed(languages[:3], len(languages[:3]))}" if languages else ""
    return Statement(f"The project {name}{kind}.", PROJECT)

"""Who says what a directory is for: people in their own words first, then what the code, the tests and the pages show.

Pure. A statement is a whole sentence about the directory itself. Where nobody speaks, nothing is said: a summary that
says nothing hides that nothing is known.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.exports_sentence import Offer, aside, exports_sentence, listed, offers, told
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
from contexthall.contexts.draft.syntax.sentences import telling
from contexthall.core import limits
from contexthall.core.parsing import words

MANIFEST, PACKAGE, README, MODULES, EXPORTS, TESTS, PAGES, DATA, PROJECT = WITNESSES = (
    *("manifest", "package comment", "README", "module comments", "exports", "tests", "pages", "data", "project"),
)
WRITTEN = frozenset({MANIFEST, PACKAGE, README})
"""In somebody's own words about a directory as a whole."""
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
    """What can be said of a directory, and who says so."""

    text: str
    witness: str
    offers: tuple[Offer, ...] = ()
    """What a statement about exports is made of: told again once it is known who imports them."""


def statements(material: Material) -> Iterator[Statement]:
    """Yield what can be said of a directory, the best first; what is shown only where nobody says anything."""
    said = [
        *((each.description, MANIFEST) for each in material.manifests),
        *((material.sources[name].doc, PACKAGE) for name in FRONT_FILES if name in material.sources),
        (material.readme, README),
        *((doc, MODULES) for doc in _package_docs(material)),
    ]
    spoken = [Statement(sentence, witness) for text, witness in said if (sentence := telling(text))]
    yield from spoken or filter(None, [what_shows(material)])


def what_shows(material: Material) -> Statement | None:
    """Return what code, tests, pages or data show, whichever is the first to do so."""
    code, tests, pages = [_modules, _exports], [_tests], [_pages]
    if is_test_directory(material.scope):
        order = [*tests, *pages, _data, *code]
    else:
        order = [*pages, *code] if is_documentation(material.scope) else [*code, *tests, *pages]
        order += [*tests, _data]
    return next(filter(None, (tell(material) for tell in order)), None)


def _package_docs(material: Material) -> list[str]:
    """Return the comments of files that speak for the whole directory.

    One file does, as does any file of a package whose comment may stand in any of them.
    """
    code = dict(_code(material))
    languages = [language_of(name) for name in code]
    speaks = len(code) == 1 or all(language is not None and language.has_package_doc for language in languages)
    return [_without_file_name(source.doc) for source in code.values() if source.doc] if speaks else []


def _without_file_name(doc: str) -> str:
    return _FILE_NAMED.sub("", doc, count=1)


def _code(material: Material) -> list[tuple[str, SourceOutline]]:
    """Return the files that are neither tests nor configuration."""
    every = sorted(material.sources.items())
    return [(name, source) for name, source in every if not (is_test(name) or is_configuration(name))]


def _modules(material: Material) -> Statement | None:
    """Tell of several files what each says of itself, if most of them do; what several say alike is of none."""
    if is_fixture(material.scope):
        return None
    code = [(name, source) for name, source in _code(material) if name not in FRONT_FILES]
    repeated = Counter(source.doc for _, source in code)
    own = [(name.rpartition(".")[0], source.doc) for name, source in code if source.doc and repeated[source.doc] == 1]
    fewest = max(2, len(code) / 2)
    spoken = {name: said for name, doc in own if len(own) >= fewest and (said := aside(_without_file_name(doc)))}
    if len(spoken) < fewest:
        return None
    return _stated(told("Contains", [*spoken.items()], len(code)), MODULES)


def _stated(text: str, witness: str, offers: tuple[Offer, ...] = ()) -> Statement | None:
    return Statement(text, witness, offers) if text else None


def _exports(material: Material) -> Statement | None:
    """Tell what the directory offers to others, or else to its own project, as far as the names say something."""
    if is_test_data(material.scope):
        return None
    is_of_tests = is_test_directory(material.scope)
    code = [each for each in _code(material) if not (is_of_tests and _GENERATED.search(each[0]))]
    public = [(name, export) for name, source in code for export in source.exports]
    inner = [(name, export) for name, source in code for export in source.inner]
    mentions = material.mentions() if public or inner else {}
    for offered in (offers(public, mentions), offers([*public, *inner], mentions)):
        if text := exports_sentence(offered):
            return Statement(text, EXPORTS, offered)
    return None


def _tests(material: Material) -> Statement | None:
    """Tell what is tested, by the names of the files that hold tests."""
    tests = [name for name in material.tests if _subject(name)]
    code, is_data = len(_spoken_code(material)), is_test_data(material.scope)
    fewest = code if is_data else 0 if is_test_directory(material.scope) else code / 2
    if not tests or len(tests) < fewest or is_fixture(material.scope):
        return None
    subjects = [*dict.fromkeys(map(_subject, tests))]
    return Statement(f"Tests {listed(subjects[: limits.DRAFT_NAMES], len(subjects))}.", TESTS)


def _spoken_code(material: Material) -> list[str]:
    return [name for name in material.sources if not is_configuration(name)]


def _subject(name: str) -> str:
    """Return what a file of tests is about."""
    stem = name.rpartition(".")[0]
    stem = _CAMEL_OF_TESTS.sub("", _OF_TESTS.sub("", stem))
    if stem.lower() in _HELPERS or not re.search(r"[A-Za-z]{2}", stem):
        return ""
    stem = _NUMBERED.sub("", stem) or stem
    is_code = re.search(r"[a-z][A-Z]|^[A-Z]|[.$]", stem)
    return f"`{stem}`" if is_code else re.sub(r"[_-]+", " ", stem)


def _pages(material: Material) -> Statement | None:
    """Tell the titles of pages, where a directory is one of documentation."""
    pages = {} if is_fixture(material.scope) else material.titles()
    code = [name for name in material.names if not (is_prose(name) or name in pages)]
    titles = [*dict.fromkeys(filter(None, pages.values()))]
    if not titles or len(code) > len(titles):
        return None
    quoted = [f"“{title}”" for title in titles[: limits.DRAFT_NAMES]]
    return Statement(f"Documentation: {listed(quoted, len(titles))}.", PAGES)


def _data(material: Material) -> Statement | None:
    """Tell what data declares, if there is one kind of it."""
    declared = {} if is_test_data(material.scope) else material.declared()
    if len(declared) != 1:
        return None
    title, names = next(iter(declared.items()))
    told = [f"`{name}`" for name in names[: limits.DRAFT_NAMES]]
    text = f"{title if len(names) > 1 else title.removesuffix('s')} {listed(told, len(names))}."
    return _stated(text if len(text) <= limits.SUMMARY_CHARACTERS else "", DATA)


def project_statement(name: str, languages: Sequence[str]) -> Statement:
    """Return what is said of a root where nobody says anything."""
    kind = f", written in {listed(languages[:3], len(languages[:3]))}" if languages else ""
    return Statement(f"The project {name}{kind}.", PROJECT)

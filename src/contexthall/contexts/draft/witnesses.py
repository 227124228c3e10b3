"""Who says what a directory is for: people in their own words first, then what the code, the tests and the pages show.

Pure. A statement is a whole sentence about the directory itself. Where nobody speaks, nothing is said: a summary that
says nothing hides that nothing is known.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from contexthall.contexts.draft.file_roles import is_configuration, is_prose, is_test, is_test_data, is_test_directory
from contexthall.contexts.draft.languages.language import Export, SourceOutline
from contexthall.contexts.draft.languages.table import FRONT_FILES, language_of
from contexthall.contexts.draft.material import Material
from contexthall.contexts.draft.syntax.prose import first_sentence, is_boilerplate, is_out_of_context
from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, words
from contexthall.core.secrets import may_be_key
from contexthall.core.text import is_name

MANIFEST, PACKAGE, README, MODULES, EXPORTS, TESTS, PAGES, DATA, PROJECT = WITNESSES = (
    *("manifest", "package comment", "README", "module comments", "exports", "tests", "pages", "data", "project"),
)
_DESCRIBED = 3
"""Names in a sentence that are told with what is written about them."""
_TYPE = re.compile(
    r"(?:^|\s)(?:class|interface|struct|trait|enum|protocol|record|object|module|union|actor|type|@interface)\s"
)
_CONSTANT = re.compile(r"[A-Z0-9_]+")
_TELLS_NOTHING = words(
    "main run app default index module exports version config configuration settings options logger log usage help die "
    "error warn info debug test tests setup teardown setUp tearDown register init initialize handler router create get "
    "Program Startup App Application Main Config Configuration Constants Utils Util Helper Helpers Version Options "
    "Settings Error Exception Foo Bar Baz foo bar baz"
)
_HELPERS = words(
    "conftest __init__ index helpers helper utils util setup common support fixtures base mod main lib testing types "
    "test_helper spec_helper tests test run run_all all runner suite package-info constants mocks mock data"
)
_OF_TESTS = re.compile(
    r"^(?:tests?|spec)[._-]|[._-](?:tests?|spec|unittest|suite)(?=\.|$)|^test(?=[a-z])", re.IGNORECASE
)
_CAMEL_OF_TESTS = re.compile(r"(?<=\w)(?:Tests?|Spec|Suite)$|(?<=[a-z])IT$|^Tests?(?=[A-Z])")
_SPECIFIC = re.compile(r"[a-z][A-Z]|^[A-Z][a-z]{3}|_|\d|\w{9}")
"""A name that is more than one common word."""
_SHORTEST_NAME = 3
_COMMON = re.compile(r"[a-z]{1,6}")
_FILE_NAMED = re.compile(r"^[\w.-]+\.\w{1,5}(?:\s*[-–—:]+\s+|\s+--\s+)")


_Reading: TypeAlias = tuple[Callable[[Material], str], str]


class Statement(NamedTuple):
    """What can be said of a directory, and who says so."""

    text: str
    witness: str


def statements(material: Material) -> Iterator[Statement]:
    """Yield what can be said of a directory, the best first: what is shown only where nobody says anything."""
    said = [
        *((each.description, MANIFEST) for each in material.manifests),
        *((material.sources[name].doc, PACKAGE) for name in FRONT_FILES if name in material.sources),
        (material.readme, README),
        *((doc, MODULES) for doc in _package_docs(material)),
    ]
    spoken = [Statement(sentence, witness) for text, witness in said if (sentence := telling(text))]
    yield from spoken or filter(None, [_shown(material)])


def _shown(material: Material) -> Statement | None:
    """Return what code, tests, pages or data show, whichever is the first to do so."""
    code: list[_Reading] = [] if is_test_directory(material.scope) else [(_modules, MODULES), (_exports, EXPORTS)]
    readings: list[_Reading] = [*code, (_tests, TESTS), (_pages, PAGES), (_data, DATA)]
    found = (Statement(text, witness) for tell, witness in readings if (text := tell(material)))
    return next(found, None)


def telling(text: str) -> str:
    """Return the first sentence of what somebody wrote; nothing if it is cut, out of context, empty or a secret."""
    sentence = first_sentence(text, limits.SUMMARY_CHARACTERS)
    is_cut = sentence.endswith((LEFT_OUT, "...", ":", ",", ";"))
    useless = is_cut or is_boilerplate(sentence) or is_out_of_context(sentence) or may_be_key(sentence)
    return "" if useless else sentence


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


def _modules(material: Material) -> str:
    """Tell of several files what each says of itself, if most of them do."""
    code = [(name, source) for name, source in _code(material) if name not in FRONT_FILES]
    docs = {name.rpartition(".")[0]: _aside(_without_file_name(source.doc)) for name, source in code}
    spoken = {name: doc for name, doc in docs.items() if doc}
    if len(spoken) <= 1 or 2 * len(spoken) < len(code):
        return ""
    return _told("Contains", [*spoken.items()], len(code))


def _exports(material: Material) -> str:
    """Tell the names that matter most here, with what is written about them."""
    if is_test_data(material.scope):
        return ""
    found = [(export, name) for name, source in _code(material) for export in source.exports if _is_worth(export)]
    by_name = {export.name: (export, name) for export, name in reversed(found)}
    if len(by_name) == 1:
        return _only(found[0][0])
    mentions = material.mentions() if found else {}
    ranked = sorted(by_name.values(), key=lambda each: _rank(mentions, *each))
    docs = [(each.name, _aside(_without_name(each)) if at < _DESCRIBED else "") for at, (each, _) in enumerate(ranked)]
    says_something = any(doc or _SPECIFIC.search(name) for name, doc in docs)
    return _told("Defines", docs, len(docs)) if says_something else ""


def _without_name(export: Export) -> str:
    """Return what is written about a name without the name itself, which stands before it."""
    name = re.escape(re.split(r"[.:]+", export.name)[-1])
    return re.sub(rf"^[`\[]*{name}[`\]]*(?: (?:is|are)\b)?\s+(?=\w)", "", export.doc, count=1)


def _only(export: Export) -> str:
    """Tell the one name that a directory defines, if there is something to tell of it."""
    if doc := telling(export.doc):
        return f"Defines `{export.name}`: {doc}"
    methods = [f"`{name}`" for name in export.methods if is_name(name)][: limits.DRAFT_NAMES]
    return f"Defines `{export.name}` with {listed(methods, len(export.methods))}." if len(methods) > 1 else ""


def _is_worth(export: Export) -> bool:
    """Return whether a name says something by itself."""
    last = re.split(r"[.:]+", export.name)[-1]
    is_plain = all(is_name(part) for part in re.split(r"\.|::", export.name))
    return is_plain and len(last) >= _SHORTEST_NAME and last not in _TELLS_NOTHING and not _CONSTANT.fullmatch(last)


def _rank(mentions: Mapping[str, int], export: Export, file: str) -> tuple[object, ...]:
    """Sort what other files of the directory mention first, then types, then what is described."""
    is_type = _TYPE.search(export.signature) is not None
    is_common = _COMMON.fullmatch(export.name) is not None
    return is_common, not is_type, -mentions.get(export.name, 0), not export.doc, "." in export.name, file


def _aside(doc: str) -> str:
    """Return what is written about a name, short enough to stand in parentheses behind it."""
    sentence = telling(doc).rstrip(".!。")
    is_plain = not re.search(r"[()]|[.!?] ", sentence) and sentence.count("`") % 2 == 0
    return sentence if len(sentence) <= limits.ASIDE_CHARACTERS and is_plain else ""


def _told(verb: str, names: Sequence[tuple[str, str]], total: int) -> str:
    """Write a sentence about names: three with what is said of them, else as many as can be read."""
    chief = [f"`{name}` ({_lowered(doc)})" if doc else f"`{name}`" for name, doc in names[:_DESCRIBED]]
    if not any(doc for _, doc in names[:_DESCRIBED]):
        chief = [f"`{name}`" for name, _ in names[: limits.DRAFT_NAMES]]
    while len(text := f"{verb} {listed(chief, total)}.") > limits.SUMMARY_CHARACTERS and len(chief) > 1:
        chief.pop()
    return text if len(text) <= limits.SUMMARY_CHARACTERS else ""


def _lowered(doc: str) -> str:
    """Begin what stands inside a sentence with a small letter, where the first word is no name."""
    return doc[0].lower() + doc[1:] if re.match(r"(?:An?|The|This|These|All|Some|Any) ", doc) else doc


def listed(names: Sequence[str], total: int) -> str:
    """List names as one would in a sentence, and say how many more there are."""
    if total > len(names):
        return f"{', '.join(names)} and {total - len(names)} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _tests(material: Material) -> str:
    """Tell what is tested, by the names of the files that hold tests."""
    tests = [name for name in material.tests if _subject(name)]
    if not tests or is_test_data(material.scope) or 2 * len(tests) < len(_spoken_code(material)):
        return ""
    subjects = [*dict.fromkeys(map(_subject, tests))]
    return f"Tests {listed(subjects[: limits.DRAFT_NAMES], len(subjects))}."


def _spoken_code(material: Material) -> list[str]:
    return [name for name in material.sources if not is_configuration(name)]


def _subject(name: str) -> str:
    """Return what a file of tests is about."""
    stem = name.rpartition(".")[0]
    stem = _CAMEL_OF_TESTS.sub("", _OF_TESTS.sub("", stem))
    if stem.lower() in _HELPERS or not re.search(r"[A-Za-z]{2}", stem):
        return ""
    is_code = re.search(r"[a-z][A-Z]|^[A-Z]|[.$]", stem)
    return f"`{stem}`" if is_code else re.sub(r"[_-]+", " ", stem)


def _pages(material: Material) -> str:
    """Tell the titles of pages, where a directory is one of documentation."""
    pages = material.titles()
    code = [name for name in material.names if not (is_prose(name) or name in pages)]
    titles = [*dict.fromkeys(filter(None, pages.values()))]
    if not titles or len(code) > len(titles):
        return ""
    quoted = [f"“{title}”" for title in titles[: limits.DRAFT_NAMES]]
    if len(titles) == 1:
        return f"Documentation: {quoted[0]}."
    return f"Documentation: {listed(quoted, len(titles))}."


def _data(material: Material) -> str:
    """Tell what data declares, if there is one kind of it."""
    declared = {} if is_test_data(material.scope) else material.declared()
    if len(declared) != 1:
        return ""
    title, names = next(iter(declared.items()))
    told = [f"`{name}`" for name in names[: limits.DRAFT_NAMES]]
    text = f"{title if len(names) > 1 else title.removesuffix('s')} {listed(told, len(names))}."
    return text if len(text) <= limits.SUMMARY_CHARACTERS else ""


def project_statement(name: str, languages: Sequence[str]) -> Statement:
    """Return what is said of a root where nobody says anything."""
    kind = f", written in {listed(languages[:3], len(languages[:3]))}" if languages else ""
    return Statement(f"The project {name}{kind}.", PROJECT)

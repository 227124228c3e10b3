"""The role of a file in its directory, by its name: test, configuration or prose; else it is code.

Pure.
"""

import re
from functools import lru_cache

from contexthall.core.parsing import words

_TEST = re.compile(
    r"(?:^|[._-])(?:tests?|spec|conftest|unittest)(?:[._-]|$)"
    r"|\.bats$|(?-i:(?:[a-z0-9](?:Tests?|Spec|Suite|TestCase|TestBase)|[a-z]IT)\.\w+$|^Tests?[A-Z])",
    re.IGNORECASE,
)
_TEST_DIRECTORY = re.compile(
    r"_*(?:tests?|specs?|e2e|testing|testdata|unittests?)_*|.+[._-](?:tests?|specs?)|(?:integration|unit|functional)[_-]?tests?",
    re.IGNORECASE,
)
_TEST_SOURCE_SET = re.compile(r"[a-z][A-Za-z0-9]*Tests?|[A-Z][A-Za-z0-9.]*[a-z.]Tests?")
_FIXTURES = words("fixtures fixture testdata snapshots golden corpus")
_DATA_DIRECTORY = words("data resources assets mocks mock stubs") | _FIXTURES
_CONFIGURATION = re.compile(
    r"\.|(?:.*[._-])?(?:config|conf|rc)\.\w+$|(?:setup|conf|conftest|noxfile|fabfile|manage|wsgi|asgi|setupbase|versioneer"
    r"|hatch_build)\.py$|(?:grunt|gulp|jake|rake|vite|karma)file\b|Package(?:@swift-[\d.]+)?\.swift$|.*\.(?:gradle|sbt|kts)$"
    r"|(?:scaladoc|webpack|rollup|babel|jest|vite|vitest|eslint|prettier|tailwind|postcss)\b.*\.[cm]?[jt]s$|build\.rs$"
    r"|AssemblyInfo\.cs$|GlobalUsings\.cs$",
    re.IGNORECASE,
)
_DOCUMENTATION = words("docs doc documentation manual guide guides book javadoc apidocs")
_PROSE = re.compile(r".*\.(?:md|mdx|markdown|rst|adoc|asciidoc|org)$", re.IGNORECASE)
_HOUSEKEEPING = re.compile(
    r"(?:readme|license|licence|copying|notice|authors|contributors|contributing|maintainers|code[_-]of[_-]conduct"
    r"|security|support|change(?:s|log)|history|news|releases?|release[_-]notes|agents|claude|gemini|_?sidebar|_navbar"
    r"|_coverpage|pull_request_template|issue_template|todo|index|summary|governance|codeowners|404|search|undocumented)\b.*",
    re.IGNORECASE,
)


@lru_cache(1 << 14)
def is_test(name: str) -> bool:
    """Return whether a file holds tests."""
    return _TEST.search(name) is not None


@lru_cache(1 << 14)
def is_configuration(name: str) -> bool:
    """Return whether a file configures tools: what it defines is not an API."""
    return _CONFIGURATION.match(name) is not None


def is_prose(name: str) -> bool:
    """Return whether a file is a page of documentation."""
    return _PROSE.fullmatch(name) is not None


def is_documentation(scope: str) -> bool:
    """Return whether a directory is one of documentation, by its path."""
    return not _DOCUMENTATION.isdisjoint(scope.lower().split("/"))


def is_page(scope: str, name: str) -> bool:
    """Return whether a file is a page about the subject, and not about the project's housekeeping.

    HTML is a page in directories of documentation only: elsewhere it may be a template, or what a program shows.
    """
    is_html = name.lower().endswith((".html", ".htm")) and is_documentation(scope)
    return (is_prose(name) or is_html) and _HOUSEKEEPING.fullmatch(name) is None


@lru_cache(1 << 14)
def is_test_directory(scope: str) -> bool:
    """Return whether a directory is one of tests, by its path."""
    return any(_TEST_DIRECTORY.fullmatch(part) or _TEST_SOURCE_SET.fullmatch(part) for part in scope.split("/"))


def is_test_data(scope: str) -> bool:
    """Return whether a directory holds what tests read, by its path."""
    return not _DATA_DIRECTORY.isdisjoint(_below_tests(scope))


def is_fixture(scope: str) -> bool:
    """Return whether a directory holds only what tests read: what looks like a test there is not one."""
    return not _FIXTURES.isdisjoint(_below_tests(scope))


def _below_tests(scope: str) -> list[str]:
    parts = scope.split("/")
    places = [at for at, part in enumerate(parts) if is_test_directory(part)]
    return [part.lower().strip("_") for part in parts[places[0] :]] if places else []

"""Is what is declared what is imported?"""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.release.making import PYPROJECT, REPOSITORY


def normalized(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name, maxsplit=1)[0]).lower()


def imported(folder: Path) -> Iterator[str]:
    """The top-level packages that the files of a folder import, wherever in them."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def test_every_package_that_is_imported_is_declared_and_no_other() -> None:
    homes = packages_distributions()
    others = set(imported(REPOSITORY / "src")) - set(sys.stdlib_module_names) - {"contexthall"}
    needed = {normalized(home) for package in others for home in homes[package]}
    extras = PYPROJECT["project"]["optional-dependencies"]
    optional = {normalized(each) for extra in ("formats", "store", "cluster") for each in extras[extra]}
    assert {normalized(each) for each in PYPROJECT["project"]["dependencies"]} | optional == needed


def test_every_dependency_has_its_exact_version_by_name() -> None:
    pinned = {normalized(line) for line in (REPOSITORY / "constraints.txt").read_text().splitlines()}
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    declared = [*PYPROJECT["project"]["dependencies"], *(each for extra in extras for each in extra)]
    assert {normalized(each) for each in declared} - pinned == set()

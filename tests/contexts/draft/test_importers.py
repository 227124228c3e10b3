"""A sentence about exports begins with what other directories import, and names these directories."""

from pathlib import Path
from typing import Any

import pytest
from tests.contexts.making import open_project, quietly, write_files

from contexthall.contexts.draft.drafting import Order, draft_again, draft_missing
from contexthall.contexts.draft.importers import FileImports, Importers
from contexthall.contexts.draft.languages.table import read
from contexthall.contexts.files import yaml_text

ROUTES = "class Mount:\n    'A place.'\nclass Route: ...\nclass Router: ...\n"
PYTHON: dict[str, str | bytes] = {
    "web/__init__.py": "",
    "web/routing/__init__.py": "",
    "web/routing/routes.py": ROUTES,
    "web/apps/__init__.py": "",
    "web/apps/one.py": "from web.routing.routes import Router, Route\nclass FirstApp: ...\n",
    "web/apps/two.py": "from web.routing.routes import Router\nclass SecondApp: ...\n",
    "web/pages/__init__.py": "",
    "web/pages/page.py": "from ..routing.routes import Router\nclass HomePage: ...\nclass OtherPage: ...\n",
    "tests/test_routes.py": "from web.routing.routes import Mount\n",
}
TOLD = "Defines `Router`, `Route` and `Mount` (a place); used by `apps` and `pages`."


def summaries(root: Path) -> dict[str, str]:
    found: dict[str, Any] = {
        str(path.parent.relative_to(root)): yaml_text.read(path.read_text()) for path in root.rglob(".context.yaml")
    }
    return {scope: values["summary"] for scope, values in found.items()}


def init(root: Path) -> dict[str, str]:
    draft_missing(open_project(root), Order("2026-01-01T00:00:00Z", with_agents=False), quietly)
    return summaries(root)


def test_exports_are_told_by_who_imports_them(tmp_path: Path) -> None:
    write_files(tmp_path, PYTHON)
    assert init(tmp_path)["web/routing"] == TOLD


def test_one_directory_drafted_again_says_what_all_said_when_drafted_together(tmp_path: Path) -> None:
    write_files(tmp_path, PYTHON)
    before = init(tmp_path)
    for scope in before:
        draft_again(open_project(tmp_path), [scope], Order("2027-01-01T00:00:00Z", with_agents=False), quietly)
        assert summaries(tmp_path) == before, scope


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("a.py", "from x import Router as R, Route\n", {"Router", "Route"}),
        ("a.ts", 'import Base, { type Router, Route as R } from "./x";\n', {"Base", "Router", "Route", "R"}),
        ("a.go", 'package a\nimport "example.com/x"\nvar r = x.NewRouter(x.Route{})\n', {"NewRouter", "Route"}),
        ("a.rs", "use crate::x::{Router, Route as R};\n", {"Router", "Route"}),
    ],
)
def test_a_file_says_which_names_it_takes(name: str, text: str, taken: set[str]) -> None:
    assert read(name, text.encode()).names == taken


def test_who_imports_is_named_as_short_as_can_be_told_apart() -> None:
    imports = {scope: [FileImports(("x",), frozenset())] for scope in ("a/core/db", "b/core/db", "b/web")}
    assert Importers(imports, ["x", *imports, "tests/web"]).users("x") == ["a/core/db", "b/core/db", "web"]

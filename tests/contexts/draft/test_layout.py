"""An import leads to a directory of the project, or out of it."""

import pytest

from contexthall.contexts.draft.importers import imports_of
from contexthall.contexts.draft.languages.language import Layout, SourceOutline
from contexthall.contexts.draft.languages.table import LANGUAGES

PYTHON = Layout(
    {
        ".": ["setup.py"],
        "src": [],
        "src/shop": ["__init__.py", "app.py"],
        "src/shop/core": ["__init__.py", "errors.py"],
        "src/shop/data": ["table.csv"],
        "tests": ["conftest.py", "helpers.py"],
        "tests/unit": ["test_app.py"],
    },
    {},
)
SCRIPT = Layout(
    {
        ".": ["package.json"],
        "packages/api": ["package.json"],
        "packages/api/src": ["index.ts"],
        "packages/api/src/routes": ["index.ts", "users.ts"],
        "packages/shared": ["package.json", "index.ts"],
    },
    {"@shop/shared": "packages/shared", "@shop/api": "packages/api"},
)
GO = Layout({".": ["go.mod"], "internal/store": ["store.go"], "cmd/shop": ["main.go"]}, {"example.com/shop": "."})
RUST = Layout(
    {
        "crates/core/src": ["lib.rs", "parse.rs"],
        "crates/core/src/model": ["mod.rs"],
        "crates/core/src/model/user": ["mod.rs"],
        "crates/core": ["Cargo.toml"],
        "crates/cli/src": ["main.rs"],
    },
    {"shop-core": "crates/core"},
)


JAVA = Layout({"src/main/java/shop/kotlin/reflect": ["A.kt"], "src/main/java/shop/carts": ["Cart.java"]}, {})


@pytest.mark.parametrize(
    ("layout", "language", "scope", "name", "expected"),
    [
        (PYTHON, "python", "tests/unit", "shop.core.errors", ["src/shop/core"]),
        (PYTHON, "python", "tests/unit", "shop.core", ["src/shop/core"]),
        (PYTHON, "python", "tests/unit", "shop", ["src/shop"]),
        (PYTHON, "python", "tests/unit", "shop.app", ["src/shop"]),
        (PYTHON, "python", "tests/unit", "tests.helpers", ["tests"]),
        (PYTHON, "python", "src/shop", ".core.errors", ["src/shop/core"]),
        (PYTHON, "python", "src/shop/core", "..app", ["src/shop"]),
        (PYTHON, "python", "src/shop/core", ".errors", []),
        (PYTHON, "python", "src/shop", "os.path", []),
        (PYTHON, "python", "src/shop", "corey", []),
        (PYTHON, "python", "src/shop", "....up", []),
        (SCRIPT, "typescript", "packages/api/src", "./routes/users.js", ["packages/api/src/routes"]),
        (SCRIPT, "typescript", "packages/api/src", "./routes", ["packages/api/src/routes"]),
        (SCRIPT, "typescript", "packages/api/src/routes", "../index.js", ["packages/api/src"]),
        (SCRIPT, "javascript", "packages/api/src", "@shop/shared", ["packages/shared"]),
        (SCRIPT, "javascript", "packages/api/src", "@shop/shared/deep", ["packages/shared"]),
        (SCRIPT, "javascript", "packages/api/src", "@shop/sharedness", []),
        (SCRIPT, "javascript", "packages/api/src", "react", []),
        (SCRIPT, "javascript", "packages/api/src", "../../../../etc/passwd", []),
        (GO, "go", "cmd/shop", "example.com/shop/internal/store", ["internal/store"]),
        (GO, "go", "cmd/shop", "example.com/shop", ["."]),
        (GO, "go", "cmd/shop", "example.com/shopping", []),
        (GO, "go", "cmd/shop", "example.com/shop-internal/store", []),
        (GO, "go", "cmd/shop", "fmt", []),
        (RUST, "rust", "crates/core/src/model/user", "crate::parse", ["crates/core/src"]),
        (RUST, "rust", "crates/core/src", "crate::model::user", ["crates/core/src/model/user"]),
        (RUST, "rust", "crates/core/src/model", "self::user", ["crates/core/src/model/user"]),
        (RUST, "rust", "crates/core/src/model/user", "super::thing", ["crates/core/src/model"]),
        (RUST, "rust", "crates/cli/src", "shop_core::parse", ["crates/core"]),
        (RUST, "rust", "crates/cli/src", "serde::Serialize", []),
        (JAVA, "kotlin", "src/main/java/shop/carts", "shop.kotlin.reflect.A", ["src/main/java/shop/kotlin/reflect"]),
        (JAVA, "kotlin", "src/main/java/shop/carts", "kotlin.reflect.KClass", []),
        (JAVA, "java", "src/main/java/shop/kotlin/reflect", "shop.carts.Cart", ["src/main/java/shop/carts"]),
        (Layout({".": ["__init__.py"], "db": ["__init__.py"]}, {}, "shop"), "python", ".", "shop.db", ["db"]),
    ],
)
def test_an_import_leads_to_a_directory(
    layout: Layout, language: str, scope: str, name: str, expected: list[str]
) -> None:
    (record,) = [each for each in LANGUAGES if each.name == language]
    file = f"a.{next(iter(record.extensions))}"
    found = imports_of(scope, {file: SourceOutline(imports=(name,))}, layout)
    assert [place for each in found.values() for place in each.places] == expected

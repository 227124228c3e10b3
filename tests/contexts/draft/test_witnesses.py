"""A summary is a whole sentence from the best witness; without a statement, nothing is written."""

from pathlib import Path
from typing import Any

import pytest
from tests.contexts.making import open_project, quietly, write_files

from contexthall.contexts.draft.drafting import Order, draft_again, draft_missing
from contexthall.contexts.files import yaml_text
from contexthall.contexts.project import Outcome

NOW = "2026-01-01T00:00:00Z"


def drafted(root: Path, files: dict[str, str | bytes]) -> Outcome:
    write_files(root, files)
    return draft_missing(open_project(root), Order(NOW, with_agents=False), quietly)


def summary(root: Path, scope: str) -> str:
    path = root / scope / ".context.yaml"
    values: Any = yaml_text.read(path.read_text()) if path.exists() else {}
    return str(values.get("summary", ""))


CART = '"""Carts of things."""\n'
SUMMARIES: dict[str, tuple[dict[str, str | bytes], str]] = {
    "a manifest": (
        {"d/package.json": '{"description": "Sells things to people"}', "d/README.md": "Something else is said.\n"},
        "Sells things to people",
    ),
    "a package comment": ({"d/__init__.py": CART, "d/README.md": "Something else is said.\n"}, "Carts of things."),
    "package-info.java": ({"d/package-info.java": "/** Carts of things. */\npackage d;\n"}, "Carts of things."),
    "a module of Rust": ({"d/mod.rs": "//! Carts of things.\n\npub fn add() {}\n"}, "Carts of things."),
    "doc.go": ({"d/doc.go": "// Package d has carts of things.\npackage d\n"}, "Package d has carts of things."),
    "a README": (
        {
            "d/README.md": "# D\n\n[![badge](a)](b)\n\n> [!NOTE]\n> Beware of it.\n\nNote: read this.\n\n"
            "Install it with pip.\n\nCarts of things. More.\n"
        },
        "Carts of things.",
    ),
    "the name in a README": (
        {"d/README.md": "# Cart\n\nBuying is what people do.\n\nCart is a library of carts.\n"},
        "Cart is a library of carts.",
    ),
    "the title of a README": ({"d/README.md": "# Carts of things\n"}, "Carts of things"),
    "the only module": ({"d/cart.py": CART + "def add_thing(): ...\n"}, "Carts of things."),
    "the comments of modules": (
        {"d/cart.py": CART, "d/shop.py": '"""The shop that has carts."""\n', "d/money.py": "CENTS = 1\n"},
        "Contains `cart` (Carts of things), `shop` (the shop that has carts) and 1 more.",
    ),
    "exports": (
        {
            "d/a.py": "class Cart:\n    'A cart.'\ndef helper_of_all(): ...\n",
            "d/b.py": "from a import Cart\nclass Shop: ...\n",
        },
        "Defines `Cart` (a cart), `Shop` and `helper_of_all`.",
    ),
    "what is mentioned most": (
        {
            "d/a.py": "class Aardvark: ...\n",
            "d/b.py": "class Zebra: ...\n",
            "d/c.py": "from b import Zebra\nclass Mule: ...\n",
        },
        "Defines `Zebra`, `Aardvark` and `Mule`.",
    ),
    "the only export": (
        {"d/a.go": "package d\n\n// Cart is a cart.\ntype Cart struct{}\n"},
        "Defines `Cart`: A cart.",
    ),
    "methods": (
        {"d/Cart.java": "public class Cart { public void add() {} public void drop() {} }\n"},
        "Defines `Cart` with `add` and `drop`.",
    ),
    "tests": (
        {
            "tests/test_cart_size.py": "def test_x(): ...\n" * 2,
            "tests/ShopTest.java": "  @Test void x() {}\n",
            "tests/conftest.py": "",
        },
        "Tests cart size and `Shop`.",
    ),
    "tests by what they hold": ({"test/res.json.js": "describe('res', () => {})\n"}, "Tests `res.json`."),
    "pages": (
        {
            "docs/a.md": "# How to buy\n",
            "docs/b.md": "---\ntitle: How to sell\n---\nText.\n",
            "docs/CHANGELOG.md": "# 1.0\n",
        },
        "Documentation: “How to buy” and “How to sell”.",
    ),
    "tables": (
        {"d/schema.sql": "CREATE TABLE carts (id INT);\ncreate table if not exists things (id INT);\n"},
        "Creates the tables `carts` and `things`.",
    ),
    "what helps tests": (
        {"tests/server.py": "class FakeServer:\n    'Answers at once.'\nclass FakeClient: ...\n"},
        "Defines `FakeServer` (Answers at once) and `FakeClient`.",
    ),
    "pages rather than scripts, where documentation is": (
        {"docs/a.md": "# Buying\n", "docs/b.md": "# Selling\n", "docs/make_pages.py": "def make_all_pages(): ...\n"},
        "Documentation: “Buying” and “Selling”.",
    ),
    "tests among what they need": (
        {"tests/test_cart.py": "def test_it(): ...\n", "tests/a.py": "x = 1\n", "tests/b.py": "x = 1\n"},
        "Tests cart.",
    ),
    "the title of a Maven module": (
        {"d/pom.xml": "<project><artifactId>cart</artifactId><name>Carts of Things</name></project>"},
        "Carts of Things",
    ),
    "types that only the project sees, where nothing is public": (
        {
            "d/CartSink.cs": "namespace D;\n/// <summary>Puts things into carts.</summary>\nsealed class CartSink {}\n",
            "d/ShopSink.cs": "namespace D;\ninternal class ShopSink { private class Till {} }\n",
        },
        "Defines `CartSink` (Puts things into carts) and `ShopSink`.",
    ),
    "types of a package of Java": (
        {"d/A.java": "package d;\n/** A cart of things. */\nfinal class CartOfThings {}\n"},
        "Defines `CartOfThings`: A cart of things.",
    ),
    "internal types of Kotlin": (
        {"d/A.kt": "package d\n\n/** A cart of things. */\ninternal class CartOfThings\n\nprivate class Till\n"},
        "Defines `CartOfThings`: A cart of things.",
    ),
    "exports rather than types that only the project sees": (
        {"d/A.cs": "/// <summary>A cart of things.</summary>\npublic class CartOfThings {}\nclass Till {}\n"},
        "Defines `CartOfThings`: A cart of things.",
    ),
    "a module of Ruby whose methods are its own": (
        {"d/cart.rb": "# Carts of things.\nmodule CartOfThings\n  class << self\n    def add; end\n  end\nend\n"},
        "Defines `CartOfThings`: Carts of things.",
    ),
    "code below the banner of a project": (
        {"d/Cart.php": "<?php\n/** Shop (https://shop.example) */\n\n/** A cart of things. */\nclass ShopCart {}\n"},
        "Defines `ShopCart`: A cart of things.",
    ),
    "a README below an announcement": (
        {"d/README.md": "> ## Shop v2 Feedback\n>\n> Tell us more.\n\nCarts of things.\n"},
        "Carts of things.",
    ),
    "a README below what it requires": (
        {"d/README.md": "# Carts of Things\n\nUse of Java 17\n\nRequires a shop.\n"},
        "Carts of Things",
    ),
    "a README that begins with a name": (
        {"d/README.md": "cartRPC lets you sell things.\n"},
        "cartRPC lets you sell things.",
    ),
    "a package whose comment is about an annotation": (
        {
            "d/package-info.java": "/** Apply CheckReturn by default to every method in this package. */\npackage d;\n",
            "d/Cart.java": "/** A cart of things. */\npublic class ShopCart {}\n",
        },
        "Defines `ShopCart`: A cart of things.",
    ),
    "what tests are run with": (
        {
            "testing/TestCartApplication.java": "public class TestCartApplication {}\n",
            "testing/CartRule.java": "/** A rule of carts. */\npublic class CartRule {}\n",
        },
        "Defines `CartRule`: A rule of carts.",
    ),
    "types of a package of Scala": (
        {"d/A.scala": "package d\n\n/** A cart of things. */\nprivate[d] trait CartOfThings\n\nprivate class Till\n"},
        "Defines `CartOfThings`: A cart of things.",
    ),
    "an export beside types that only the project sees": (
        {"d/A.kt": "class CartOfThings\n\n/** A till. */\ninternal class ShopTill\n"},
        "Defines `ShopTill` (a till) and `CartOfThings`.",
    ),
    "code without the title of a section": (
        {"d/a.sh": "# === Functions of all ===\ncart_of_things() { :; }\n\n# Opens the till.\nopen_till() { :; }\n"},
        "Defines `cart_of_things` and `open_till` (Opens the till).",
    ),
    "a README below a warning": (
        {"d/README.md": "# D\n\n⚠️ this is a part of another shop, visit it.\n\nCarts of things.\n"},
        "Carts of things.",
    ),
    "a README for the host": (
        {"./a.py": "x = 1\n", ".github/README.md": "# D\n\nCarts of things.\n"},
        "Carts of things.",
    ),
    "what tests have in common": (
        {
            "spec/support/shared.rb": "# Carts of things.\nclass SharedCarts\n  def add\n    it 'adds'\n  end\nend\n",
            "spec/support/a.rb": "# A till.\nclass ShopTill; end\n",
        },
        "Defines `ShopTill` (a till) and `SharedCarts` (Carts of things).",
    ),
    "what tests are about": (
        {
            "Shop.Tests/TestObjects/CartTest.cs": "public class CartTest {}\n",
            "Shop.Tests/TestObjects/Till.cs": "/// <summary>A till of a shop.</summary>\npublic class ShopTill {}\n",
        },
        "Defines `ShopTill`: A till of a shop.",
    ),
    "pages below a licence": (
        {"docs/a.md": "<!--- Copyright somebody --->\n\n# How to buy\n"},
        "Documentation: “How to buy”.",
    ),
    "tests by what begins or ends their names": (
        {"tests/testing.py": "def test_it(): ...\n", "tests/make_test_carts.py": "", "tests/cart_test.py": ""},
        "Tests cart.",
    ),
}


@pytest.mark.parametrize("witness", SUMMARIES)
def test_the_best_witness_speaks(witness: str, tmp_path: Path) -> None:
    files, expected = SUMMARIES[witness]
    drafted(tmp_path, files)
    assert summary(tmp_path, next(iter(files)).rpartition("/")[0]) == expected


SILENT: dict[str, dict[str, str | bytes]] = {
    "no words": {"d/a.py": "x = 1\n", "d/b.json": "{}"},
    "a chain": {"d/e/a.py": CART},
    "one common name": {"d/a.js": "exports.update = function () {}\nexports.list = function () {}\n"},
    "configuration": {"d/vite.config.ts": "export const serverOptions = {}\nexport class Thing {}\n"},
    "test data": {"tests/fixtures/test_x.py": "def test_x(): ...\nclass Cart: ...\nclass Shop: ...\n"},
    "snapshots": {
        "tests/snapshots/a.sh": "# compdef a-test\n",
        "tests/snapshots/b.sh": "# The other one.\n",
        "tests/snapshots/c.md": "# How to buy\n",
    },
    "a licence": {"d/README.md": "Copyright (c) somebody. All rights reserved.\n"},
    "half a sentence": {"d/README.md": "This directory contains files such as\n\n- a\n"},
    "what leads elsewhere": {"d/README.md": "For carts of things, see the `cart` of another shop.\n"},
    "what stands above a detail": {"d/a.h": "/*\n * By default, carts are small.\n */\n#undef LARGE\n"},
    "a leaning sentence": {"d/README.md": "It does this because of that.\n"},
    "a long sentence": {"d/README.md": "Carts of " + "very " * 100 + "large things.\n"},
    "a cut comment": {"d/a.py": f'"""Carts {"of things " * 300}."""\n'},
    "a secret": {"d/a.py": '"""Talks to postgres://u:p4ss@h/db."""\n'},
    "an instruction": {"d/README.md": "Run the tests before you push.\n"},
    "a broken link": {"d/a.py": ""},
}


@pytest.mark.parametrize("case", SILENT)
def test_where_no_witness_speaks_no_context_is_written(case: str, tmp_path: Path) -> None:
    files = SILENT[case]
    scope = next(iter(files)).rpartition("/")[0] if case != "a chain" else "d"
    if case == "a broken link":
        (tmp_path / "d").mkdir()
        (tmp_path / "d/README.md").symlink_to("nowhere")
    outcome = drafted(tmp_path, files)
    assert scope in outcome.missing
    assert not (tmp_path / scope / ".context.yaml").exists()
    assert summary(tmp_path, ".")  # the root always has one
    again = draft_missing(open_project(tmp_path), Order(NOW, with_agents=False), quietly)
    assert (again.written, again.updated, again.missing) == ([], [], outcome.missing)


def test_a_directory_never_says_what_is_said_above_it(tmp_path: Path) -> None:
    readme = "# Shop\n\nThe shop has carts of things.\n"
    outcome = drafted(tmp_path, {"README.md": readme, "d/README.md": readme, "e/README.md": readme, "e/a.py": CART})
    assert outcome.missing == ["d"]
    assert summary(tmp_path, "e") == "Carts of things."


def test_what_is_written_in_two_directories_is_about_the_first(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{name}/README.md": "Sells things to people.\n" for name in ("a", "b", "c")})
    drafted(tmp_path, {"b/cart.py": "class ShopCart:\n    'A cart.'\n"})
    assert [summary(tmp_path, name) for name in "abc"] == [
        "Sells things to people.",
        "Defines `ShopCart`: A cart.",
        "",
    ]


def test_a_readme_may_be_a_symlink_inside_the_project(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    write_files(outside, {"README.md": "Nobody else may read this.\n"})
    write_files(root, {"docs/about.md": "# Shop\n\nCarts of things.\n", "d/a.py": "", "e/a.py": ""})
    (root / "d/README.md").symlink_to("../docs/about.md")
    (root / "e/README.md").symlink_to(outside / "README.md")
    outcome = drafted(root, {})
    assert summary(root, "d") == "Carts of things."
    assert "e" in outcome.missing


def test_what_was_drafted_before_stays_where_nobody_speaks_any_more(tmp_path: Path) -> None:
    drafted(tmp_path, {"d/a.py": CART})
    write_files(tmp_path, {"d/a.py": "x = 1\n"})
    outcome = draft_again(open_project(tmp_path), ["d"], Order(NOW, with_agents=False), quietly)
    assert (outcome.updated, outcome.missing, summary(tmp_path, "d")) == (["d"], [], "Carts of things.")


def test_a_directory_that_begins_to_speak_is_named_above(tmp_path: Path) -> None:
    drafted(tmp_path, {"README.md": "The shop has carts.\n", "d/a.py": "x = 1\n"})
    outcome = drafted(tmp_path, {"d/a.py": CART})
    assert (outcome.written, outcome.updated) == (["d"], ["."])
    assert "Carts of things." in (tmp_path / ".context.yaml").read_text()

"""Does the page show which contexts are still true?"""

import json
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.browser.making import Grounds, examples, visit
from tests.faces.web.serving import HttpHall


def test_the_project_is_a_tree_with_counts(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/contexts") as page:
        expect(page.locator(".tree-label")).to_have_text(["shop", "shop", "tests"])
        summary = hall.get("/api/contexts")["entries"][0]["summary"]
        expect(page.locator(".tree-summary").first).to_have_text(summary)
        expect(page.get_by_role("button", name="all 3")).to_be_visible()
        expect(page.get_by_role("button", name="fresh 3")).to_be_visible()
        expect(page.get_by_role("button", name="stale 0")).to_be_visible()


def test_an_address_leads_to_a_directory_that_is_seen_in_its_tree(browser: Browser, tmp_path: Path) -> None:
    grounds = examples(tmp_path)
    deep = grounds.project / "shop" / "orders"
    deep.mkdir()
    (deep / "order.py").write_text('"""Orders."""\n')
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/contexts/shop%2Forders") as page:
        expect(page.locator('[data-scope="shop/orders"]')).to_have_attribute("aria-current", "true")


def test_rule_files_are_listed_with_what_they_name_in_vain(browser: Browser, tmp_path: Path) -> None:
    grounds = examples(tmp_path)
    (grounds.project / "CLAUDE.md").write_text("See `shop/old.py`.")
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/contexts") as page:
        told = ["CLAUDE.md for the project names shop/old.py, not there", ".claude/rules/money.md for shop/prices.py, "]
        expect(page.locator(".rule-files li")).to_contain_text(told)
        tree, rules = page.locator(".tree").bounding_box(), page.locator(".rule-files").bounding_box()
        assert tree is not None
        assert rules is not None
        assert 8 <= rules["y"] - (tree["y"] + tree["height"]) <= 32


def test_a_context_is_shown_field_by_field(hall: HttpHall, browser: Browser) -> None:
    told = hall.get("/api/contexts/show", scope="shop")["context"]
    with visit(browser, f"{hall.url}/#/contexts") as page:
        page.locator('[data-scope="shop"]').click()
        expect(page.locator(".detail h2")).to_have_text("shop")
        expect(page.locator(".detail .fields > dd").first).to_have_text(told["summary"])
        expect(page.locator(".detail .values > li")).to_have_text(told["exports"])


def test_a_context_that_becomes_stale_says_so_and_what_changed(browser: Browser, tmp_path: Path) -> None:
    grounds = examples(tmp_path)
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/contexts/shop") as page:
        expect(page.locator(".detail .state-pill")).to_have_text("fresh")
        orders = grounds.project / "shop" / "orders.py"
        orders.write_text(orders.read_text() + "\n# Changed.\n")
        page.get_by_role("button", name="Look again").click()
        expect(page.locator('[data-scope="shop"] .state')).to_have_text("stale")
        expect(page.locator(".detail .state-pill")).to_have_text("stale")
        expect(page.get_by_label("What changed").locator("li.modified")).to_contain_text("orders.py")
        page.get_by_role("button", name="fresh 2").click()
        expect(page.locator('[data-scope="shop"]')).to_have_count(0)


def test_a_big_project_is_drawn_as_far_as_it_is_opened(browser: Browser, tmp_path: Path) -> None:
    grounds = Grounds(tmp_path)
    for number in range(300):
        directory = grounds.project / "packages" / f"p{number:03}"
        directory.mkdir(parents=True)
        metadata = f"version: 1\nscope: packages/p{number:03}\nfingerprint: '00000000'\nlast_updated: '2026-01-01'\n"
        (directory / ".context.yaml").write_text(f"{metadata}summary: One.\n")
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/contexts") as page:
        expect(page.get_by_role("button", name="stale 300")).to_be_visible()
        assert page.locator(".tree-name").count() == 2
        page.get_by_role("button", name="Directories in packages").click()
        expect(page.locator(".tree-name")).to_have_count(202)
        page.get_by_role("button", name="Show 100 more of 100").click()
        expect(page.locator(".tree-name")).to_have_count(302)
        page.get_by_label("Find a directory").fill("p123")
        expect(page.locator(".tree-label")).to_have_text(["shop", "packages", "p123"])


def test_a_hostile_context_is_only_text_in_which_nothing_hides(browser: Browser, tmp_path: Path) -> None:
    grounds, attack = Grounds(tmp_path), "<img src=x onerror=window.taken=1>\u202e"
    grounds.project.mkdir()
    context = {"version": 1, "scope": ".", "fingerprint": attack, "last_updated": attack, "summary": attack, attack: 1}
    (grounds.project / ".context.yaml").write_text(json.dumps(context))  # JSON is YAML
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/contexts") as page:
        detail = page.locator(".detail")
        expect(detail.locator(".unseen")).to_have_text(["U+202E"] * 3)
        assert page.evaluate("window.taken") is None
        assert page.locator("main img").count() == 0

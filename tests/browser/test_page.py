"""Can everybody use the page: by keyboard, on a telephone, in the dark, with a token, while the hall goes away?"""

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.making import NARROW, STATIC, WIDE, Grounds, Scheme, examples, visit
from tests.faces.web.serving import HttpHall
from tests.processes import run_context

MOST_BYTES = 150_000
VIEWS = ("caches", "contexts", "tools", "guild", "activity")
# Read at once: what a test sees of the environment is emptied.
SHOTS = os.environ.get("CONTEXT_SCREENSHOTS")


def show(page: Page, hall: HttpHall, view: str) -> None:
    page.goto(f"{hall.url}/#/{view}")
    expect(page.locator(f"#{view}[data-ready]")).to_be_visible()
    expect(page.locator(f"#{view} .skeleton")).to_have_count(0)


def focus_by_tab(page: Page, selector: str, most: int = 60) -> None:
    """Press Tab until what is selected has the focus, and can be seen to have it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    pytest.fail(f"the keyboard does not reach {selector}")


def test_the_page_weighs_little_and_parses_nothing() -> None:
    files = [file for file in STATIC.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org)"
    )
    assert [file.name for file in files if forbidden.search(file.read_text())] == []


def test_everything_is_done_by_keyboard_alone(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/") as page:
        expect(page.locator(".place").first).to_be_visible()
        focus_by_tab(page, "#question")
        page.keyboard.type("rotate keys")
        focus_by_tab(page, "#budget-slider")
        page.keyboard.press("Home")
        expect(page.locator(".place:not(.skipped)")).to_have_count(0)
        focus_by_tab(page, ".place-head")
        page.keyboard.press("Enter")
        expect(page.locator(".document")).to_be_visible()

        page.keyboard.press("Control+Home")
        page.locator("#skip").focus()
        focus_by_tab(page, '[data-view="guild"]')
        page.keyboard.press("Enter")
        expect(page.locator('[data-member="echo"] .member-count')).to_contain_text("2 tools")
        focus_by_tab(page, '[data-member="echo"] > button')
        page.keyboard.press("Enter")
        focus_by_tab(page, '[data-tool="reverse"] > button')
        page.keyboard.press("Space")
        expect(page.get_by_label("text required")).to_be_visible()
        focus_by_tab(page, "textarea")
        page.keyboard.type("hall")
        page.keyboard.press("Enter")
        expect(page.locator(".result .answer").first).to_have_text("llah")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_at_360_pixels(hall: HttpHall, browser: Browser, view: str) -> None:
    with visit(browser, f"{hall.url}/#/{view}", width=NARROW) as page:
        show(page, hall, view)
        for head in page.locator(f"#{view} .place-head, #{view} .member-head").all():
            head.click()
        if view == "guild":
            page.locator(".tool-head").first.click()
            expect(page.get_by_role("button", name="Invoke")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_the_address_takes_to_a_view_and_a_scope(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/contexts/shop") as page:
        expect(page.locator(".detail h2")).to_have_text("shop")
        page.get_by_role("link", name="Guild").click()
        expect(page).to_have_url(re.compile("#/guild$"))
        page.go_back()
        expect(page.locator(".detail h2")).to_be_visible()


def test_colours_follow_the_system_until_somebody_chooses(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/", scheme="dark") as page:
        paper = "getComputedStyle(document.documentElement).backgroundColor"
        dark = page.evaluate(paper)
        page.get_by_role("button", name="Use light colours").click()
        light = page.evaluate(paper)
        assert light != dark
        page.reload()
        assert page.evaluate(paper) == light


def test_an_empty_hall_says_what_to_type(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    with HttpHall("--path", "shop", cwd=tmp_path) as hall, visit(browser, f"{hall.url}/") as page:
        expect(page.locator("#caches")).to_contain_text("context build --sources")
        show(page, hall, "contexts")
        expect(page.locator("#contexts")).to_contain_text("context init")
        show(page, hall, "guild")
        expect(page.locator("#guild")).to_contain_text("context guild add")


def test_the_page_says_how_an_agent_is_connected(hall: HttpHall, browser: Browser, tmp_path: Path) -> None:
    with visit(browser, f"{hall.url}/", width=NARROW) as page:
        page.get_by_role("button", name="Connect an agent").click()
        expect(page.locator("#connect pre").first).to_be_visible()
        command, address = page.locator("#connect pre").all_inner_texts()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    program, *arguments = shlex.split(command)
    assert program == "context"
    assert run_context(*arguments, cwd=tmp_path).returncode == 0
    servers = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"context-hall": {"type": "http", "url": address}}
    assert address == f"{hall.url}/mcp"


def test_a_token_comes_from_the_address_and_leaves_it(browser: Browser, tmp_path: Path) -> None:
    grounds = Grounds(tmp_path)
    grounds.project.mkdir()
    with grounds.served("--token", "open-sesame") as hall:
        with visit(browser, hall.address) as page:
            expect(page.locator("#project")).to_have_text("shop")
            assert "sesame" not in page.url
            page.get_by_role("button", name="Connect an agent").click()
            expect(page.locator("#connect")).to_contain_text("CONTEXT_HTTP_TOKEN")
        with visit(browser, f"{hall.url}/") as page:
            page.locator("#locked input").fill("close-sesame")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_have_text("The token that was given is not that of this hall.")
            page.locator("#locked input").fill("open-sesame")
            page.keyboard.press("Enter")
            expect(page.locator("#project")).to_have_text("shop")


def test_an_address_with_a_token_opens_a_page_that_is_locked(browser: Browser, tmp_path: Path) -> None:
    grounds = Grounds(tmp_path)
    grounds.project.mkdir()
    with grounds.served("--token", "open-sesame") as hall, visit(browser, f"{hall.url}/") as page:
        expect(page.locator("#live")).to_have_text("Locked")
        page.goto(hall.address)
        expect(page.locator("#project")).to_have_text("shop")
        assert "sesame" not in page.url


def test_a_hall_that_goes_away_is_missed_and_found_again(browser: Browser, tmp_path: Path) -> None:
    grounds = examples(tmp_path)
    with grounds.served("--guild-refresh", "never") as first:
        port = first.url.rpartition(":")[2]
        with visit(browser, f"{first.url}/#/guild") as page:
            expect(page.locator("#live")).to_have_text("Live")
            assert first.stop(signal.SIGTERM) == 0
            expect(page.locator("#banner")).to_contain_text("The hall does not answer")
            expect(page.locator(".member")).to_have_count(2)
            page.get_by_role("link", name="Caches").click()
            expect(page.get_by_role("alert").filter(visible=True).last).to_contain_text("still running?")
            with HttpHall("--path", "shop", "--guild", "guild-members", cwd=tmp_path, http=port):
                expect(page.locator("#banner")).to_be_hidden()
                expect(page.locator("#live")).to_have_text("Live")
                expect(page.locator("#caches")).to_contain_text("No cache yet")
                page.get_by_role("link", name="Guild").click()
                page.locator('[data-member="echo"] > button').click()
                page.get_by_role("button", name="Refresh", exact=True).click()
                expect(page.locator('[data-member="echo"] .tool-name')).to_have_text(["echo", "reverse"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_views_are_kept_as_pictures(hall: HttpHall, browser: Browser, tmp_path: Path, scheme: Scheme) -> None:
    shots = Path(SHOTS) if SHOTS else tmp_path
    with visit(browser, f"{hall.url}/", scheme=scheme, width=WIDE) as page:
        for view in VIEWS:
            show(page, hall, view)
            if view == "caches":
                page.get_by_label("What do you want to know?").fill("rotate keys")
                page.locator("#budget").fill("150")
                expect(page.locator(".verdict")).to_contain_text("of 150 tokens")
            if view == "guild":
                expect(page.locator(".member-count")).to_contain_text(["2 tools", "2 tools"])
            shot = page.screenshot(path=shots / f"{view}-{scheme}.png", full_page=True)
            assert shot.startswith(b"\x89PNG")

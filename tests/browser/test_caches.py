"""Does the page show what an agent would get from a cache?"""

from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.making import Grounds, build_cache, visit
from tests.faces.web.serving import HttpHall

PAINTING_MS = 50_000
"""As long as a test may take: what is painted is a matter of seconds, on a machine that has nothing else to do."""


def ask(page: Page, question: str, budget: int) -> None:
    page.get_by_label("What do you want to know?").fill(question)
    page.locator("#budget").fill(str(budget))


def fitting(page: Page) -> list[str]:
    return page.locator(".place:not(.skipped) .place-id").all_inner_texts()


def test_a_question_ranks_the_documents_as_the_tool_does(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "rotate keys", 150)
        told = hall.get("/api/caches/ranking", cache="handbook", query="rotate keys", budget=150)
        expect(page.locator(".verdict")).to_contain_text(f"{told['tokens_used']} of 150 tokens")
        assert page.locator(".place-id").all_inner_texts() == [place["id"] for place in told["places"]]
        assert fitting(page) == [place["id"] for place in told["places"] if place["fits"]]
        assert page.locator(".budget-bar span").count() == told["selected"]


def test_the_slider_changes_what_is_selected(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches") as page:
        ask(page, "rotate keys", 100)
        expect(page.locator(".verdict")).to_contain_text("of 100 tokens")
        few = fitting(page)
        page.get_by_label("Budget, in tokens").focus()
        page.keyboard.press("End")
        expect(page.locator(".skipped")).to_have_count(0)
        assert len(few) < len(fitting(page))
        page.keyboard.press("Home")
        expect(page.locator(".place:not(.skipped)")).to_have_count(0)
        assert page.locator("#budget").input_value() == "0"


def test_a_document_opens_with_the_words_of_the_question_marked(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "KEYS", 4000)
        expect(page.locator(".verdict")).to_contain_text("of 4,000 tokens")
        page.locator('[data-id="runbooks/expired-keys.md"] > button').click()
        marks = page.locator('[data-id="runbooks/expired-keys.md"] mark')
        expect(marks.first).to_be_visible()
        assert {mark.lower() for mark in marks.all_inner_texts()} == {"keys"}


def test_what_is_open_stays_open_and_follows_the_question(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "keys", 4000)
        row = page.locator('[data-id="security.md"]')
        expect(row).to_contain_text("4 of 46 words")  # else the click might meet the list of another question
        row.locator("> button").click()
        expect(row.locator(".document")).to_be_visible()
        ask(page, "the", 4000)
        expect(row.locator("mark").first).to_have_text("the", ignore_case=True)
        expect(row.locator(".document")).to_be_visible()


def test_why_not_is_answered_in_sentences(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "rotate keys", 60)
        page.get_by_label("Why not this document?").fill("deployment.md")
        page.keyboard.press("Enter")
        told = hall.get("/api/caches/why", cache="handbook", query="rotate keys", budget=60, id="deployment.md")
        expect(page.locator("form .why li")).to_have_text(told["sentences"])
        page.get_by_label("Why not this document?").fill("nowhere.md")
        page.keyboard.press("Enter")
        expect(page.locator("form .fault")).to_contain_text("nowhere.md")


def test_the_exact_call_is_there_to_copy(hall: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "it's here", 77)
        page.get_by_role("button", name="The exact call").click()
        command = page.get_by_label("on the command line", exact=True)
        expect(command).to_have_text(r"context resolve --cache handbook --query 'it'\''s here' --budget 77")
        expect(page.get_by_label("over MCP", exact=True)).to_contain_text('"context.resolve"')


def test_an_answer_that_comes_late_is_dropped(hall: HttpHall, browser: Browser) -> None:
    late = hall.get("/api/caches/ranking", cache="handbook", query="deployment", budget=150)
    wanted = hall.get("/api/caches/ranking", cache="handbook", query="rotate", budget=150)
    assert late["places"][0]["id"] != wanted["places"][0]["id"]
    with visit(browser, f"{hall.url}/#/caches/handbook") as page:
        ask(page, "", 150)
        expect(page.locator(".verdict")).to_contain_text("of 150 tokens")
        held: list[Route] = []
        page.route("**/api/caches/ranking?*query=deployment*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
        with page.expect_request("**/api/caches/ranking?*query=deployment*"):
            ask(page, "deployment", 150)
        ask(page, "rotate", 150)
        expect(page.locator(".place-id").first).to_have_text(wanted["places"][0]["id"])
        held[0].fulfill(json=late)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert page.locator(".place-id").all_inner_texts() == [place["id"] for place in wanted["places"]]


def test_a_hostile_document_is_only_text(browser: Browser, tmp_path: Path) -> None:
    grounds, sources = Grounds(tmp_path), tmp_path / "sources"
    sources.mkdir()
    attack = '<script>window.taken = 1</script> <img src=x onerror="window.taken = 1"> keys\u202e'
    (sources / "<img src=x onerror=window.taken=1>\u202e.md").write_text(attack)
    grounds.project.mkdir()
    build_cache(grounds, "hostile", sources)
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/caches/hostile") as page:
        ask(page, "keys <script>window.taken", 4000)
        page.locator(".place-head").click()
        expect(page.locator(".document")).to_contain_text("<script>window.taken = 1</script>")
        expect(page.locator(".document")).to_contain_text("U+202E")
        expect(page.locator(".document + p")).to_contain_text(">U+202E.md")
        assert page.evaluate("window.taken") is None
        assert page.locator("main script, main img").count() == 0


def test_a_document_that_is_all_terms_is_marked_to_its_end(browser: Browser, tmp_path: Path) -> None:
    grounds, sources, many = Grounds(tmp_path), tmp_path / "sources", 200_000
    sources.mkdir()
    (sources / "keys.md").write_text("keys " * many)
    grounds.project.mkdir()
    build_cache(grounds, "keys", sources)
    with grounds.served() as hall, visit(browser, f"{hall.url}/#/caches/keys") as page:
        ask(page, "keys", 4000)
        page.locator(".place-head").click()
        expect(page.locator(".document mark")).to_have_count(many, timeout=PAINTING_MS)

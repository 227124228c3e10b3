"""Does the page show what an agent would get from a cache of format 2, and can a person read on from there?"""

import re
import shutil
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.making import EXAMPLES, NARROW, Grounds, build_cache, context, examples, visit, want_chromium
from tests.browser.test_caches import ask, fitting
from tests.browser.test_page import focus_by_tab
from tests.caches.making import write_sources
from tests.caches.test_explaining import GUIDE
from tests.faces.web.serving import HttpHall

QUESTION = "How do I rotate the signing keys, Bob?"
ASKED = "q=rotate+signing+keys"
SHORT = {"cache": "guides", "query": "rotate signing keys"}


def served(root: Path, documents: dict[str, str], *flags: str) -> HttpHall:
    """Serve documents as the cache `guides`, of format 2, beside the handbook, of format 1."""
    grounds = Grounds(root)
    grounds.project.mkdir()
    build_cache(grounds, "guides", write_sources(root / "sources", documents), form=2)
    build_cache(grounds, "handbook", EXAMPLES / "handbook", form=1)
    return grounds.served(*flags)


@pytest.fixture(scope="module")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpHall]:
    want_chromium()
    with served(tmp_path_factory.mktemp("guides"), GUIDE) as hall:
        yield hall


def ranked(page: Page) -> list[str | None]:
    return [row.get_attribute("data-id") for row in page.locator(".place").all()]


def test_sections_are_shown_with_their_way_their_matches_and_what_they_cost(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides") as page:
        expect(page.locator(".verdict")).to_have_text("Nothing is asked yet.")
        expect(page.locator(".place")).to_have_count(0)
        expect(page.get_by_role("region", name="What this cache holds").locator("ol > li")).to_have_count(3)
        ask(page, QUESTION, 200)
        expect(page.get_by_role("region", name="What this cache holds")).to_be_hidden()
        told = guides.get("/api/caches/ranking", cache="guides", query=QUESTION, budget=200)
        expect(page.locator(".verdict")).to_have_text(
            f"{told['tokens_used']} of 200 tokens · 1 of 4 sections fits · 3 skipped"
        )
        assert ranked(page) == [place["id"] for place in told["places"]]
        assert fitting(page) == ["Keys › Rotate"]
        first, second = page.locator(".place").all()[:2]
        expect(first.locator(".place-id mark")).to_have_text(["Keys", "Rotate"])
        expect(first.locator(".place-main .where")).to_have_text("guide/keys.md · lines 5–7")
        expect(first.locator(".score-number")).to_have_text("302,826 · rotate, signing, keys")
        expect(second.locator(".place-fit")).to_have_text(
            f"{told['places'][1]['cost']} tokensskipped, {told['places'][1]['left_before']} left"
        )
        expect(page.locator(".words li")).to_have_text(["No section has: bob", "Too common to count: how, do, i, the"])


def test_pages_with_headings_and_without_stand_at_one_distance(browser: Browser, tmp_path: Path) -> None:
    pages = {name: f"# {name}\n\nText.\n" for name in ("a.md", "b.md", "c.md", "d.md")}
    pages["b.md"] = "# b.md\n\n## More\n\nText.\n"
    with served(tmp_path, pages) as hall, visit(browser, f"{hall.url}/#/caches/guides") as page:
        expect(page.locator(".contents > li")).to_have_count(4)
        tops = [box["y"] for row in page.locator(".contents > li").all() if (box := row.bounding_box())]
    steps = [later - sooner for sooner, later in pairwise(tops)]
    assert max(steps) - min(steps) <= 4


def test_a_section_opens_with_its_reasons_and_its_words_marked(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?{ASKED}&budget=100") as page:
        row = page.locator('[data-id="guide/keys.md#rotate"]')
        row.locator("> button").click()
        expect(row.locator(".document mark")).to_have_text(["Rotate", "Rotating", "signing", "keys"])
        asked: dict[str, Any] = {**SHORT, "budget": 100, "id": "guide/keys.md#rotate"}
        expect(row.locator(".why li")).to_have_text(guides.get("/api/caches/why", **asked)["sentences"])
        ask(page, "hour", 4000)
        expect(row.locator(".document mark")).to_have_text(["hour"])
        expect(row.locator(".why li").last).to_contain_text("It was taken")


def test_a_section_is_rendered_and_its_exact_text_is_one_step_away(browser: Browser, tmp_path: Path) -> None:
    text = "# Keys\n\nRotate **keys** [here](https://example.org/), not [there](x.md).\n\n|a|b|\n|---|---|\n|1|2|\n"
    with served(tmp_path, {"keys.md": text}) as hall, visit(browser, f"{hall.url}/#/caches/guides?q=keys") as page:
        page.locator(".place-head").click()
        prose = page.get_by_role("region", name="Text of keys.md#keys")
        expect(prose.locator("strong mark")).to_have_text("keys")
        expect(prose.get_by_role("cell")).to_have_text(["1", "2"])
        expect(prose.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
        expect(prose.get_by_role("link")).to_have_text("here")
        page.get_by_role("button", name="Exact text").click()
        expect(page.locator("pre.document")).to_have_text(text)
        expect(page.locator("pre.document mark")).to_have_text(["Keys", "keys"])
        page.locator(".onward").click()
        expect(page.locator("article pre.document")).to_have_text(text)
        page.locator("article").get_by_role("button", name="Rendered").click()
        expect(page.locator("article .prose strong")).to_have_text("keys")


def test_what_is_said_to_beginners_makes_room_once_something_is_asked(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides") as page:
        expect(page.locator("#question-hint")).to_be_visible()
        expect(page.locator(".contents a").first).to_be_visible()
        expect(page.get_by_role("button", name="What an agent gets")).to_be_hidden()
        expect(page.locator(".budget-bar")).to_be_hidden()
        ask(page, "rotate keys", 4000)
        expect(page.locator(".place").first).to_be_visible()
        expect(page.locator("#question-hint")).to_be_hidden()
        expect(page.get_by_role("button", name="What an agent gets")).to_be_visible()
        expect(page.get_by_label("What do you want to know?")).to_have_accessible_description(re.compile("^Ask in"))


def test_why_not_is_answered_for_sections_and_pages(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?{ASKED}") as page:
        page.get_by_label("Why not this section, or this page?").fill("guide/deploy.md")
        page.keyboard.press("Enter")
        expect(page.locator("form .why li").first).to_have_text(
            "guide/deploy.md is not in the order: it has no word of the query."
        )
        page.get_by_label("Why not this section, or this page?").fill("faq.md#nowhere")
        page.keyboard.press("Enter")
        expect(page.locator("form .fault")).to_contain_text("faq.md#nowhere")


def test_what_an_agent_gets_is_shown_and_copied_to_the_letter(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?{ASKED}&budget=150") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="What an agent gets").click()
        texts = {}
        for form, name in (("json", "JSON"), ("text", "Text")):
            page.get_by_role("button", name=name, exact=True).click()
            asked: dict[str, Any] = {**SHORT, "budget": 150, "format": form}
            texts[form] = guides.get("/api/caches/reply", **asked)["text"]
            shown = page.get_by_label("the answer", exact=True)
            expect(shown).to_contain_text(texts[form][:40])
            assert shown.evaluate("node => node.textContent") == texts[form]
            page.get_by_role("button", name="Copy the answer").click()
            expect(page.get_by_role("button", name="Copy the answer")).to_have_text("Copied")
            assert page.evaluate("navigator.clipboard.readText()") == texts[form]
        assert texts["text"].startswith("context guides@")
        expect(page.locator(".place:not(.skipped)")).to_have_count(texts["text"].count("\n=== "))
        page.get_by_role("button", name="The exact call").click()
        expect(page.get_by_label("on the command line", exact=True)).to_contain_text("--format text")
        expect(page.get_by_label("over MCP", exact=True)).to_contain_text('"format": "text"')
        ask(page, "hour", 150)
        expect(page.get_by_label("the answer", exact=True)).to_contain_text("query: hour")


def test_the_usual_form_is_that_of_the_hall(browser: Browser, tmp_path: Path) -> None:
    with (
        served(tmp_path, GUIDE, "--reply", "text") as hall,
        visit(browser, f"{hall.url}/#/caches/guides?q=keys") as page,
    ):
        expect(page.get_by_role("button", name="Text", exact=True)).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="JSON", exact=True).click()
        expect(page).to_have_url(re.compile(r"\?q=keys&form=json$"))


def test_the_question_stands_in_the_address_and_the_back_button_asks_the_one_before(
    guides: HttpHall, browser: Browser
) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides") as page:
        question = page.get_by_label("What do you want to know?")
        question.press_sequentially("rotate")
        question.press("Enter")
        expect(page).to_have_url(re.compile(r"#/caches/guides\?q=rotate$"))
        question.fill("")
        question.press_sequentially("lost & found?")
        page.locator("#budget").fill("300")
        page.locator("#budget").press("Enter")
        expect(page).to_have_url(re.compile(r"\?q=lost\+%26\+found%3F&budget=300$"))
        shared = page.url
        page.go_back()
        expect(page.locator("#budget")).to_have_value("4000")
        expect(page.locator(".verdict")).to_contain_text("of 4,000 tokens")
        expect(question).to_have_value("lost & found?")
        page.go_back()
        expect(question).to_have_value("rotate")
        page.go_back()
        expect(question).to_have_value("")
        expect(page.locator(".verdict")).to_have_text("Nothing is asked yet.")
        page.go_forward()
        expect(question).to_have_value("rotate")
    with visit(browser, shared) as page:
        expect(page.get_by_label("What do you want to know?")).to_have_value("lost & found?")
        expect(page.locator(".verdict")).to_contain_text("of 300 tokens")
        assert ranked(page)[0] == "faq.md#lost"


def test_the_same_is_asked_of_another_cache_of_either_format(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?q=rotate+keys&form=text") as page:
        expect(page.locator(".place").first).to_be_visible()
        page.get_by_role("link", name="handbook").click()
        expect(page.get_by_label("What do you want to know?")).to_have_value("rotate keys")
        expect(page.locator("#question-hint")).to_contain_text("Documents rank by the share")
        expect(page.get_by_role("group", name="What an agent gets")).to_be_hidden()
        expect(page.get_by_label("Why not this document?")).to_be_visible()
        assert ranked(page)[0] == "security.md"
        page.get_by_role("link", name="Guild").click()
        page.get_by_role("link", name="Caches").click()
        expect(page.get_by_label("What do you want to know?")).to_have_value("rotate keys")
        page.get_by_role("link", name="guides").click()
        expect(page.get_by_role("button", name="Text", exact=True)).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".place-id").first).to_have_text("Keys › Rotate")


def test_a_section_is_read_on_its_page_and_its_neighbours_are_one_step_away(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?{ASKED}") as page:
        row = page.locator('[data-id="faq.md#lost"]')
        row.locator("> button").click()
        row.get_by_role("link", name="Read on in its page").click()
        reader = page.get_by_role("article")
        expect(reader.get_by_role("heading", level=2)).to_have_text("Questions › Lost")
        expect(reader.get_by_role("heading", level=2)).to_be_focused()
        expect(reader.locator(".document mark")).to_have_text(["signing", "keys", "rotated"])
        expect(page.locator(".places")).to_be_hidden()
        outline = page.get_by_role("navigation", name="Outline of the page")
        expect(outline.get_by_role("link")).to_have_text([re.compile("^Questions"), re.compile("^Lost")])
        expect(outline.locator("[aria-current]")).to_contain_text("Lost")
        page.get_by_role("navigation", name="Neighbours").get_by_role("link").click()
        expect(reader.get_by_role("heading", level=2)).to_have_text("Questions")
        expect(page).to_have_url(re.compile(r"&read=faq\.md%23questions$"))
        page.go_back()
        expect(reader.get_by_role("heading", level=2)).to_have_text("Questions › Lost")
        page.get_by_role("link", name="Back to the answer").click()
        expect(reader).to_be_hidden()
        expect(row.locator(".document")).to_be_visible()


def test_what_is_typed_outlives_a_hall_that_is_started_anew(browser: Browser, tmp_path: Path) -> None:
    flags = ("--guild-refresh", "never")
    with served(tmp_path, GUIDE, *flags) as first, visit(browser, f"{first.url}/#/caches/guides?q=keys") as page:
        expect(page.locator("#live")).to_have_text("Live")
        ask(page, "who may rotate", 300)
        expect(page).to_have_url(re.compile(r"\?q=who\+may\+rotate&budget=300$"))
        assert first.stop(signal.SIGTERM) == 0
        expect(page.locator("#banner")).to_contain_text("The hall does not answer")
        with HttpHall("--path", "shop", "--cache-root", "caches", cwd=tmp_path, http=first.url.rpartition(":")[2]):
            expect(page.locator("#banner")).to_be_hidden()  # the page tries again by itself
            expect(page.locator(".verdict")).to_contain_text("of 300 tokens")
            expect(page.get_by_label("What do you want to know?")).to_have_value("who may rotate")


def test_a_section_that_is_gone_is_said_to_be(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?q=keys&read=gone.md%23top") as page:
        expect(page.get_by_role("article").get_by_role("alert")).to_contain_text("gone.md#top")
        page.get_by_role("link", name="Back to the answer").click()
        expect(page.locator(".place").first).to_be_visible()


def test_reading_on_is_done_by_keyboard_alone(guides: HttpHall, browser: Browser) -> None:
    with visit(browser, f"{guides.url}/#/caches/guides?{ASKED}") as page:
        expect(page.locator(".place").first).to_be_visible()
        focus_by_tab(page, ".place-head")
        page.keyboard.press("Enter")
        expect(page.locator(".onward").first).to_be_visible()
        focus_by_tab(page, ".onward")
        page.keyboard.press("Enter")
        expect(page.locator("article h2")).to_be_focused()
        focus_by_tab(page, ".neighbours a")
        page.keyboard.press("Enter")
        expect(page.locator("article h2")).to_have_text("Keys")


def test_no_section_is_cut_off_at_360_pixels(browser: Browser, tmp_path: Path) -> None:
    long = "unbroken" * 40
    documents = {f"{long[:90]}.md": f"# {long}\n\nkeys {long}\n\n## {long} keys\n\n### keys\n\n{long}\n"}
    with (
        served(tmp_path, documents) as hall,
        visit(browser, f"{hall.url}/#/caches/guides?q=keys", width=NARROW) as page,
    ):
        expect(page.locator(".place")).to_have_count(3)
        for head in page.locator(".place-head").all():
            head.click()
        page.get_by_role("button", name="What an agent gets").click()
        expect(page.get_by_label("the answer", exact=True)).to_be_visible()
        expect(page.locator(".onward")).to_have_count(3)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        page.locator(".onward").last.click()
        expect(page.locator("article h2")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


ATTACK = '<script>window.taken = 1</script> <img src=x onerror="window.taken = 1"> [x](javascript:window.taken=1)'


def test_hostile_sections_are_only_text(browser: Browser, tmp_path: Path) -> None:
    name = "javascript:window.taken=1;<img src=x onerror=window.taken=1>\u202e.md"
    documents = {name: f"# {ATTACK}\n\nkeys \u202e\x1b]0;taken\x07\n\n## {ATTACK} \u202e\n\n{ATTACK} keys\n"}
    with served(tmp_path, documents) as hall, visit(browser, f"{hall.url}/#/caches/guides") as page:
        ask(page, f"keys {ATTACK}", 4000)
        expect(page.locator(".place")).to_have_count(2)
        for head in page.locator(".place-head").all():
            head.click()
        expect(page.locator(".document").first).to_contain_text("<script>")
        expect(page.locator(".document", has_text="U+001B")).to_contain_text("U+202E")
        expect(page.locator(".place-main .where").first).to_contain_text(">U+202E.md")
        page.get_by_role("button", name="What an agent gets").click()
        expect(page.get_by_label("the answer", exact=True)).to_contain_text("<script>")
        expect(page.locator(".words")).not_to_contain_text("undefined")
        page.locator(".onward").first.click()
        expect(page.locator("article h2")).to_contain_text("<script>")
        links = page.locator("main a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
        assert len(links) > 4
        assert all(link.startswith("#/caches/") for link in links)
        page.locator(".outline a").last.click()
        expect(page.locator(".outline a").last).to_have_attribute("aria-current", "true")
        assert page.evaluate("window.taken") is None
        assert page.locator("main script, main img").count() == 0


@pytest.mark.parametrize(
    "address",
    [
        "#/caches/guides?q=%3Cimg%20src=x%20onerror=window.taken=1%3E&read=javascript:window.taken=1",
        "#/caches/guides?budget=-1&form=xml&q=%FF%E0",
        "#/caches/guides?budget=99999999999999999999&q=keys",
        "#/caches/%3Cimg%20src=x%20onerror=window.taken=1%3E?q=keys",
        "#/caches/guides?????",
    ],
)
def test_a_hostile_address_asks_nothing_harmful(guides: HttpHall, browser: Browser, address: str) -> None:
    with visit(browser, f"{guides.url}/{address}") as page:
        expect(page.locator("#caches[data-ready]")).to_be_visible()
        expect(page.locator(".verdict")).not_to_have_text("")
        assert page.evaluate("window.taken") is None
        assert page.locator("main img").count() == 0


def test_each_cache_shows_whether_it_is_fresh_and_follows_its_sources(browser: Browser, tmp_path: Path) -> None:
    grounds = examples(tmp_path)
    docs = tmp_path / "docs"  # outside the project, so that nobody refreshes the cache meanwhile
    shutil.copytree(EXAMPLES / "handbook", docs)
    build_cache(grounds, "guides", docs, form=2)
    served = grounds.served("--allow-root", str(docs))
    with served as hall, visit(browser, f"{hall.url}/#/caches/guides?q=keys") as page:
        guides, handbook = page.locator('a[data-cache="guides"]'), page.locator('a[data-cache="handbook"]')
        expect(guides.locator(".state-pill")).to_have_text("fresh")
        expect(guides).to_contain_text("5 documents")
        expect(guides.locator("time")).to_be_visible()
        expect(handbook.locator(".state-pill")).to_have_text("unknown")
        question = page.get_by_label("What do you want to know?")
        question.fill("zebra")
        expect(page.locator(".words")).to_contain_text("zebra")
        (docs / "security.md").write_text("# Zebra\n\nA zebra has stripes.\n")
        expect(guides.locator(".state-pill")).to_have_text("stale (1 changed)")
        expect(page.get_by_label("What changed")).to_contain_text("context refresh guides")
        context(grounds, "refresh", str(grounds.root / "caches" / "guides"))
        expect(guides.locator(".state-pill")).to_have_text("fresh")
        expect(page.get_by_label("What changed")).to_have_count(0)
        expect(page.locator(".verdict")).to_contain_text("1 of 1 section fits")
        expect(question).to_be_focused()
        assert question.input_value() == "zebra"
        handbook.click()
        expect(question).to_have_value("zebra")

"""Can everybody perceive the page? axe looks at every view, in both schemes, on a telephone and on a desk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.making import EXAMPLES, NARROW, WIDE, Scheme, build_cache, examples, visit, want_chromium
from tests.faces.web.serving import HttpHall
from tests.machine import must_be_here

AXE = Path(__file__).parents[2] / ".artefacts" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = {
    "caches/handbook?q=rotate+keys": ".place",
    "caches/guides": ".contents a",
    "caches/guides?q=rotate+keys": ".place mark",
    "caches/guides?q=rotate+keys&read=security.md%23rotate-keys": "article .prose",
    "contexts": "#contexts[data-ready]",
    "tools/context.resolve": ".caller",
    "guild": "#guild[data-ready]",
    "activity": "#activity[data-ready]",
}
"""Each view, and what is there once it is drawn."""
RUN = (
    "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])"
)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpHall]:
    """The examples, with a cache of either format."""
    want_chromium()
    grounds = examples(tmp_path_factory.mktemp("hall"))
    build_cache(grounds, "guides", EXAMPLES / "handbook", form=2)
    with grounds.served() as served:
        yield served


def violations(page: Page) -> list[object]:
    page.evaluate(AXE.read_text())
    found: list[object] = page.evaluate(RUN)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW), ("dark", WIDE)])
def test_axe_finds_nothing_in_any_view(hall: HttpHall, browser: Browser, scheme: Scheme, width: int) -> None:
    must_be_here(AXE.exists(), "NO AXE: it is not below .artefacts; type `make validators`")
    with visit(browser, f"{hall.url}/", width=width, scheme=scheme) as page:
        for view, shown in VIEWS.items():
            page.goto(f"{hall.url}/#/{view}")
            expect(page.locator(shown).first).to_be_visible()
            expect(page.locator(".skeleton:visible")).to_have_count(0)
            assert violations(page) == [], view

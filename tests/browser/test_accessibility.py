"""Can everybody perceive the page? axe looks at every view, in both schemes, on a telephone and on a desk."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.making import NARROW, WIDE, Scheme, visit
from tests.faces.web.serving import HttpHall
from tests.machine import must_be_here

AXE = Path(__file__).parents[2] / ".artefacts" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
RUN = (
    "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])"
)


def violations(page: Page) -> list[object]:
    page.evaluate(AXE.read_text())
    found: list[object] = page.evaluate(RUN)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW), ("dark", WIDE)])
def test_axe_finds_nothing_in_any_view(hall: HttpHall, browser: Browser, scheme: Scheme, width: int) -> None:
    must_be_here(AXE.exists(), "NO AXE: it is not below .artefacts; type `make validators`")
    with visit(browser, f"{hall.url}/", width=width, scheme=scheme) as page:
        for view in ("caches?query=rotate+keys", "contexts", "guild"):
            page.goto(f"{hall.url}/#/{view}")
            expect(page.locator(f"#{view.partition('?')[0]}[data-ready]")).to_be_visible()
            expect(page.locator(".skeleton:visible")).to_have_count(0)
            assert violations(page) == [], view

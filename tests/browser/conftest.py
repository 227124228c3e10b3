"""One browser for the tests of a file, and one hall that is only read for all of them.

Playwright holds an event loop while it is there; no test of another file may run meanwhile, so it ends with the file.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.browser.making import chromium, examples, want_chromium
from tests.faces.web.serving import HttpHall


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpHall]:
    want_chromium()
    with examples(tmp_path_factory.mktemp("hall")).served() as served:
        yield served

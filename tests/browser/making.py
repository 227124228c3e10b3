"""Halls to look at: example documents, an example project and members, and a browser that forgives nothing."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright
from tests.faces.web.serving import HttpHall
from tests.guild.making import make_member, write_cache
from tests.machine import must_be_here
from tests.processes import run_context

EXAMPLES = Path(__file__).parents[2] / "examples"
STATIC = Path(__file__).parents[2] / "src/contexthall/faces/web/static"
CHROMIUM = os.environ.get("CONTEXT_CHROMIUM", "/usr/bin/chromium")
Scheme: TypeAlias = Literal["light", "dark"]
PATIENCE_MS = 15_000
WIDE, NARROW = 1200, 360

expect.set_options(timeout=PATIENCE_MS)


class Grounds(NamedTuple):
    """Where a hall finds what it serves."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "shop"

    @property
    def guild(self) -> Path:
        return self.root / "guild-members"

    def served(self, *flags: str) -> HttpHall:
        self.guild.mkdir(exist_ok=True)
        roots = ("--path", str(self.project), "--cache-root", str(self.root / "caches"), "--guild", str(self.guild))
        return HttpHall(*roots, *flags, cwd=self.root)


def examples(root: Path) -> Grounds:
    """Lay out what `make run` serves, but for the slow one: the handbook as a cache, the shop, echo and clock."""
    grounds = Grounds(root)
    shutil.copytree(EXAMPLES / "shop", grounds.project, ignore=shutil.ignore_patterns(".context.yaml", "AGENTS.md"))
    left_out = shutil.ignore_patterns("tools-cache*", "__pycache__", "thesaurus")
    shutil.copytree(EXAMPLES / "guild-members", grounds.guild, ignore=left_out)
    build_cache(grounds, "handbook", EXAMPLES / "handbook")
    context(grounds, "init", "--path", str(grounds.project))
    return grounds


def build_cache(grounds: Grounds, name: str, sources: Path, *, form: int = 1) -> None:
    (grounds.root / "caches").mkdir(exist_ok=True)
    cache = str(grounds.root / "caches" / name)
    context(grounds, "build", "--format", str(form), "--sources", str(sources), "--cache", cache)


def context(grounds: Grounds, *arguments: str) -> None:
    ran = run_context(*arguments, cwd=grounds.root, env={"HOME": str(grounds.root)})
    assert ran.returncode == 0, ran.stderr


def member_with(grounds: Grounds, name: str, *tools: dict[str, Any], flags: tuple[str, ...] = ()) -> Path:
    """Add a member that offers `tools`, and whose list is cached already; give the file it takes them from."""
    file = grounds.root / f"{name}-tools.json"
    file.write_text(json.dumps(tools))
    directory = make_member(grounds.guild, name, "--tools-file", str(file), *flags)
    write_cache(directory, *tools)
    return file


def want_chromium() -> None:
    """Say loudly where there is no browser on this machine, and fail where nothing may be skipped."""
    sentence = f"NO BROWSER: there is no Chromium at {CHROMIUM}, so the page is not tested; type `make browser`"
    must_be_here(os.access(CHROMIUM, os.X_OK), sentence)


@contextmanager
def chromium() -> Iterator[Browser]:
    want_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, address: str, *, width: int = WIDE, scheme: Scheme = "light") -> Iterator[Page]:
    """Open an address; a script's error or a breach of the security policy fails the test at the end."""
    size = ViewportSize(width=width, height=800)
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    page.on("console", lambda message: _note(complaints, message))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    page.goto(address)
    yield page
    page.close()
    assert complaints == []


def _note(complaints: list[str], message: ConsoleMessage) -> None:
    # A hall that has gone away, and an answer that is a refusal, are told by the browser too.
    if message.type == "error" and not message.text.startswith("Failed to load resource"):
        complaints.append(message.text)

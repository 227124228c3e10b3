"""Caches of installed packages: built, asked, judged and refreshed, through the hall and the command line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.caches.packages.installing import environment, install, write

from contexthall.caches.build import package_builder
from contexthall.caches.packages.environment import InstalledPackage
from contexthall.caches.packages.pages import package_pages
from contexthall.caches.packages.rendering import PackagePage
from contexthall.core.errors import UsageError
from contexthall.faces.cli.caches import build
from contexthall.hall import Hall, open_hall
from contexthall.system.disk import Disk

VECTORS = {
    "kit/__init__.py": "",
    "kit/deep/vectors.py": "def rotate(angle: float, *, origin=None): '''Turns a vector.'''",
}
CACHE = ".context/caches/packages"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packages are installed; the project asks for two of the three that are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write(tmp_path, {"pyproject.toml": '[project]\ndependencies = ["kit", "tool"]', "docs/own.md": "# Our own guide\n"})
    site = environment(tmp_path)
    install(site, "kit", "1.0", VECTORS, readme="# Kit\n\nFor vectors.")
    install(site, "tool", "2.0", {"tool.py": "class Tool:\n  def use(self, hand: str): '''Use it.'''"})
    install(site, "unasked", "3.0", {"unasked.py": "def unasked(): ..."})
    return site


def ids(hall: Hall, query: str) -> list[str]:
    reply = json.loads(hall.caches.resolve(hall.caches.find(CACHE), query, 4000).text)
    return [document["id"] for document in reply["documents"]]


def freshness(hall: Hall) -> object:
    reply = json.loads(hall.caches.resolve(hall.caches.find(CACHE), "rotate", 4000).text)
    return reply["selection"]["freshness"]


def files_in(cache: Path) -> dict[str, bytes]:
    names = ("manifest.json", "index.json", "documents")
    return {
        str(path): path.read_bytes()
        for name in names
        for path in [cache / name, *(cache / name).glob("*")]
        if path.is_file()
    }


def test_the_signature_of_a_nested_module_is_found_at_its_version(site: Path) -> None:
    hall = open_hall()
    built = hall.build_cache([], CACHE, packages=True)
    assert not built.warnings
    assert ids(hall, "signature of rotate in kit.deep.vectors")[0] == "kit@1.0/api/kit/deep/vectors.md#rotate"
    reply = hall.caches.resolve(hall.caches.find(CACHE), "rotate", 4000).text
    assert "def rotate(angle: float, *, origin=None)" in reply
    assert ids(hall, "unasked") == []
    hall.build_cache([], CACHE, all_packages=True, force=True)
    assert ids(open_hall(), "unasked") == ["unasked@3.0/api/unasked.md#unasked", "unasked@3.0/api/unasked.md#unasked-2"]
    del site


def test_packages_and_folders_may_share_a_cache(site: Path) -> None:
    hall = open_hall()
    hall.build_cache(["docs"], CACHE, python=str(site.parents[2]))
    assert ids(hall, "our own guide")[0] == "own.md#our-own-guide"
    assert ids(hall, "use tool")[0] == "tool@2.0/api/tool.md#tooluse"


def test_another_version_makes_a_cache_stale_until_it_is_refreshed(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hall = open_hall()
    hall.build_cache([], CACHE, packages=True)
    assert freshness(hall) == {"state": "fresh", "changed": 0}
    shutil.rmtree(site / "kit")
    shutil.rmtree(site / "kit-1.0.dist-info")
    source = "def rotate(degrees: float, *, around=None): '''Turns a vector.'''"
    install(site, "kit", "1.1", {"kit/__init__.py": "", "kit/deep/vectors.py": source})
    stale = freshness(open_hall())
    assert isinstance(stale, dict)
    assert stale["state"] == "stale"
    made: list[str] = []

    def pages(disk: Disk, package: InstalledPackage, warnings: list[str]) -> Iterator[PackagePage]:
        made.append(package.key)
        return package_pages(disk, package, warnings)

    monkeypatch.setattr("contexthall.caches.packages.pages.package_pages", pages)
    monkeypatch.setattr(package_builder, "_WORKERS", 1)
    refreshed = open_hall().refresh_cache(hall.caches.find(CACHE))
    assert made == ["kit@1.1"]
    assert refreshed.changes.added == ("kit@1.1/api/kit/deep/vectors.md",)
    assert "degrees: float" in open_hall().caches.resolve(hall.caches.find(CACHE), "rotate", 4000).text
    assert freshness(open_hall()) == {"state": "fresh", "changed": 0}
    open_hall().build_cache([], "whole", packages=True)
    whole, cache = files_in(tmp_path / "whole"), files_in(tmp_path / CACHE)
    assert sorted(whole.values()) == sorted(cache.values())


def test_a_package_that_is_installed_again_as_it_was_changes_nothing(site: Path) -> None:
    hall = open_hall()
    hall.build_cache([], CACHE, packages=True)
    shutil.rmtree(site / "tool-2.0.dist-info")
    install(site, "tool", "2.0", {"tool.py": (site / "tool.py").read_text()})
    assert freshness(open_hall()) == {"state": "fresh", "changed": 0}
    assert open_hall().refresh_cache(hall.caches.find(CACHE)).built is None


def test_a_cache_whose_environment_is_gone_does_not_know(site: Path) -> None:
    hall = open_hall()
    hall.build_cache([], CACHE, packages=True)
    shutil.rmtree(site.parents[2])
    assert freshness(open_hall()) == {"state": "unknown", "changed": 0}
    with pytest.raises(UsageError, match="the packages are not there any more"):
        open_hall().refresh_cache(hall.caches.find(CACHE))


def test_the_command_line_says_what_is_not_installed(site: Path) -> None:
    shutil.rmtree(site / "tool-2.0.dist-info")
    result = CliRunner().invoke(build, ["--packages", "--cache", CACHE])
    assert result.exit_code == 0
    assert "warning: not installed: tool\n" in result.output
    assert "built 2 documents" in result.output


def test_packages_are_for_format_2(site: Path) -> None:
    with pytest.raises(UsageError, match="--packages is for format 2"):
        open_hall().build_cache([], CACHE, packages=True, format=1)
    with pytest.raises(UsageError, match="there is nothing to build from"):
        open_hall().build_cache([], CACHE)
    del site

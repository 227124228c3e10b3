"""Caches are watched: who becomes stale is known, refreshed if it may be, and nothing else is touched."""

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.caches.making import CREATED_AT, compile_folder, library_of, write_sources
from tests.waiting import wait_until

from contexthall.caches import watching
from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.build.package_sources import PackageChoice
from contexthall.caches.query.question import SourcesState
from contexthall.caches.query.scorers import SECTIONS
from contexthall.caches.refresh_rules import RefreshResult
from contexthall.caches.refreshing import CacheRefresher
from contexthall.caches.watching import CacheWatcher
from contexthall.core import limits
from contexthall.core.errors import DiskError, HallError
from contexthall.system.disk import Disk

FRESH, UNKNOWN = SourcesState("fresh"), SourcesState()
PATIENCE_SECONDS = 90.0


def builder() -> CacheBuilder:
    return CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write_sources(root, {"docs/a.md": "# A\n\nred\n", "docs/deep/b.md": "# B\n\ngreen\n"})
    builder().build(str(root / "docs"), str(root / "caches" / "handbook"))
    return root


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOURCES_POLL_SECONDS", 0.2)
    monkeypatch.setattr(limits, "REFRESH_BACK_OFF_SECONDS", 0.05)


class Watching:
    """A watcher that is stepped through, round by round."""

    def __init__(self, project: Path) -> None:
        disk = Disk()
        self.stop = Event()
        self.library = library_of(project / "caches")
        self.watcher = CacheWatcher(self.library, lambda real: disk.is_within(real, str(project)))
        self.rounds = self.watcher.rounds(self.stop)

    def until(self, **states: SourcesState) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.watcher.states != states:
            next(self.rounds)
            assert time.monotonic() < deadline, self.watcher.states


@pytest.fixture
def watch(project: Path) -> Iterator[Watching]:
    watching = Watching(project)
    yield watching
    watching.rounds.close()  # type: ignore[attr-defined]


EDITS: dict[str, tuple[Callable[[Path], object], int]] = {
    "edited": (lambda docs: (docs / "deep" / "b.md").write_text("# B\n\nblue\n"), 1),
    "added": (lambda docs: (docs / "c.md").write_text("# C\n"), 1),
    "added in a new folder": (lambda docs: write_sources(docs, {"new/er/c.md": "# C\n"}), 1),
    "removed": (lambda docs: (docs / "a.md").unlink(), 1),
    "moved": (lambda docs: (docs / "deep").rename(docs / "deeper"), 2),
    "ignored now": (lambda docs: (docs / ".gitignore").write_text("a.md\n"), 1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_change_of_the_sources_is_seen(edit: str, watch: Watching, project: Path) -> None:
    (project / ".git").mkdir()
    watch.until(handbook=FRESH)
    change, expected = EDITS[edit]
    change(project / "docs")
    watch.until(handbook=SourcesState("stale", expected))
    builder().refresh(str(project / "caches" / "handbook"))
    watch.until(handbook=FRESH)


def test_folders_that_come_later_are_watched_as_well(watch: Watching, project: Path) -> None:
    watch.until(handbook=FRESH)
    write_sources(project / "docs", {"new/er/c.md": "# C\n"})
    watch.until(handbook=SourcesState("stale", 1))
    (project / "docs" / "new" / "er" / "d.md").write_text("# D\n")
    watch.until(handbook=SourcesState("stale", 2))


def test_caches_that_come_go_and_are_replaced_are_followed(watch: Watching, project: Path) -> None:
    watch.until(handbook=FRESH)
    builder().build(str(project / "docs"), str(project / "caches" / "other"))
    watch.until(handbook=FRESH, other=FRESH)
    shutil.rmtree(project / "caches" / "handbook")
    watch.until(other=FRESH)
    write_sources(project, {"more/x.md": "# X\n"})
    builder().build(str(project / "more"), str(project / "caches" / "other"), force=True)
    (project / "more" / "x.md").write_text("# Y\n")
    watch.until(other=SourcesState("stale", 1))


def test_a_folder_that_is_gone_and_comes_back_is_watched_again(watch: Watching, project: Path) -> None:
    watch.until(handbook=FRESH)
    (project / "docs").rename(project / "away")
    watch.until(handbook=UNKNOWN)
    (project / "away").rename(project / "docs")
    watch.until(handbook=FRESH)
    (project / "docs" / "a.md").write_text("# A\n\nblue\n")
    watch.until(handbook=SourcesState("stale", 1))


def record_of(project: Path) -> Path:
    return project / "caches" / "handbook" / "sources.json"


def lead_out(project: Path) -> None:
    (project / "docs").rename(project.parent / "outside")
    (project / "docs").symlink_to(project.parent / "outside")


def link_out(project: Path) -> None:
    (project.parent / "secret.md").write_text("# Secret\n")
    (project / "docs" / "c.md").symlink_to(project.parent / "secret.md")


def to_format_1(project: Path) -> None:
    record = record_of(project).read_bytes()
    compile_folder(project / "docs", project / "caches" / "handbook", force=True)
    record_of(project).write_bytes(record)


@pytest.mark.parametrize(
    "spoil",
    [lead_out, link_out, to_format_1, lambda project: record_of(project).unlink()],
    ids=["sources outside", "a symlink that leads out", "format 1", "no sources"],
)
def test_what_is_not_to_be_refreshed_is_not_even_watched(spoil: Callable[[Path], object], project: Path) -> None:
    spoil(project)
    (project / "docs" / "a.md").write_text("# A\n\nblue\n")
    watching = Watching(project)
    watching.until(handbook=UNKNOWN)
    for folder in watching.watcher._folders():
        assert os.path.realpath(folder).startswith(f"{os.path.realpath(project)}/")


def test_packages_are_watched_where_they_are_installed(
    watch: Watching, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INSTALLATION_QUIET_SECONDS", 0.1)
    site = project / ".venv" / "lib" / "python3.11" / "site-packages"
    write_sources(project, {"pyproject.toml": '[project]\nname = "p"\nversion = "1"\ndependencies = ["one", "two"]\n'})
    install(site, "one", "1.0")
    packages = PackageChoice(str(project), str(project / ".venv"))
    builder().build([], str(project / "caches" / "handbook"), packages=packages, force=True)
    watch.until(handbook=FRESH)
    install(site, "two", "2.0")
    watch.until(handbook=SourcesState("stale", 1))
    shutil.rmtree(site / "two-2.0.dist-info")
    watch.until(handbook=FRESH)


def install(site: Path, name: str, version: str) -> None:
    record = f"{name}.py,,\n"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n# {name}\n"
    site.mkdir(parents=True, exist_ok=True)
    write_sources(site, {f"{info}/METADATA": metadata, f"{info}/RECORD": record, f"{name}.py": '"""Words."""\n'})


def test_where_the_system_cannot_watch_sources_are_looked_at_and_that_is_said_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> Iterator[frozenset[str]]:
        raise DiskError("no space left")

    monkeypatch.setattr(watching, "changed_paths", refuse)
    monkeypatch.setattr(limits, "CACHE_ROOT_SECONDS", 0.05)
    watch = Watching(project)
    watch.until(handbook=FRESH)
    for number in range(3):
        write_sources(project / "docs", {f"{number}/new.md": "# New\n"})
        watch.until(handbook=SourcesState("stale", number + 1))
    assert [record.message for record in caplog.records if record.name == watching.__name__] == [
        "no space left; the sources of caches are looked at every 0.2 seconds instead"
    ]


def test_what_an_answer_finds_changed_is_seen_though_the_system_tells_nobody(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> Iterator[frozenset[str]]:
        while True:
            yield frozenset()

    monkeypatch.setattr(watching, "changed_paths", silent)
    monkeypatch.setattr(limits, "JUDGING_PAUSE_SECONDS", 0.0)
    watch = Watching(project)
    watch.until(handbook=FRESH)
    for _ in range(3):  # once more after the watch stands
        next(watch.rounds)
    (project / "docs" / "a.md").write_text("# A\n\nblue\n")
    for _ in range(20):
        next(watch.rounds)
    assert watch.watcher.states == {"handbook": FRESH}
    watch.library.resolve(watch.library.locate("handbook"), "red", 1000)
    watch.until(handbook=SourcesState("stale", 1))


class Refreshing(Watching):
    """A thread that keeps caches fresh, and what it did."""

    def __init__(self, project: Path) -> None:
        super().__init__(project)
        self.project = project
        self.results: list[RefreshResult] = []
        self.fail = ""
        self.thread = Thread(target=CacheRefresher(self.watcher, self.refresh).run, args=(self.stop,))

    def refresh(self, name: str) -> RefreshResult:
        self.results.append(self._refreshed(name))
        return self.results[-1]

    def _refreshed(self, name: str) -> RefreshResult:
        if self.fail:
            return RefreshResult(is_done=False, failure=self.fail)
        try:
            return RefreshResult(builder().refresh(str(self.project / "caches" / name)).built is not None)
        except HallError as error:
            return RefreshResult(is_done=False, failure=str(error))

    def answer(self, query: str) -> list[str]:
        ref = self.library.locate("handbook")
        return [each["id"] for each in json.loads(self.library.resolve(ref, query, 2000).text)["documents"]]


@pytest.fixture
def refreshing(project: Path) -> Iterator[Refreshing]:
    refreshing = Refreshing(project)
    refreshing.thread.start()
    wait_until(lambda: refreshing.watcher.states == {"handbook": FRESH})
    yield refreshing
    refreshing.stop.set()
    refreshing.thread.join(PATIENCE_SECONDS)
    assert not refreshing.thread.is_alive()


def test_a_burst_is_one_refresh_or_one_and_another(refreshing: Refreshing, project: Path) -> None:
    prepared = write_sources(project / "prepared", {f"{each}.md": f"# Page {each}\n" for each in range(2000)})
    wait_until(lambda: refreshing.watcher.states == {"handbook": FRESH})
    for each in range(2000):
        (prepared / f"{each}.md").rename(project / "docs" / f"{each}.md")
    wait_until(lambda: refreshing.answer("1999") and refreshing.watcher.states == {"handbook": FRESH})
    assert 1 <= len(refreshing.results) <= 2


def test_the_next_answer_is_new_and_says_so(refreshing: Refreshing, project: Path) -> None:
    assert refreshing.answer("blue") == []
    (project / "docs" / "a.md").write_text("# A\n\nblue\n")
    wait_until(lambda: refreshing.answer("blue") == ["a.md#a"])
    text = refreshing.library.resolve(refreshing.library.locate("handbook"), "blue", 2000, "text").text
    assert text.splitlines()[0].endswith("| fresh")


def test_a_failure_is_told_once_per_cause_and_tried_again(
    refreshing: Refreshing, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for cause in ("the disk is full", "it is on fire"):
        refreshing.fail = cause
        (project / "docs" / "a.md").write_text(f"# A\n\n{cause}\n")
        refreshing.results.clear()
        wait_until(lambda: len(refreshing.results) >= 3)
        assert refreshing.answer("red") == ["a.md#a"]
    refreshing.fail = ""
    wait_until(lambda: refreshing.answer("fire") == ["a.md#a"])
    told = [record.message for record in caplog.records if record.name == "contexthall.caches.refreshing"]
    assert told == [f"cannot refresh the cache handbook: {cause}" for cause in ("the disk is full", "it is on fire")]


def test_a_cache_that_others_refreshed_meanwhile_is_no_failure(
    refreshing: Refreshing, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    real, entered = refreshing._refreshed, Event()

    def too_late(name: str) -> RefreshResult:
        entered.set()
        assert real(name).is_done
        return real(name)

    refreshing._refreshed = too_late  # type: ignore[method-assign]
    (project / "docs" / "a.md").write_text("# A\n\nblue\n")
    wait_until(lambda: refreshing.results == [RefreshResult(is_done=False)])
    wait_until(lambda: refreshing.watcher.states == {"handbook": FRESH})
    assert caplog.records == []

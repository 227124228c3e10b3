"""Whether a cache still says what its sources say."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.caches.making import CREATED_AT, library_of, write_sources

from contexthall.caches import freshness
from contexthall.caches.build import changes
from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.freshness import SourceJudge, state_of
from contexthall.caches.library import CacheRef, Library
from contexthall.caches.query.question import SourcesState
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core import limits
from contexthall.system.disk import Disk

PAGES = {"a.md": "# A\n\nred apple\n", "b/b.rst": "B\n=\n\ngreen apple\n"}
FRESH, UNKNOWN = SourcesState("fresh"), SourcesState()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    write_sources(tmp_path / "sources", PAGES)
    CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).build(str(tmp_path / "sources"), str(tmp_path / "cache"))
    return tmp_path / "cache"


def judge(cache: Path, may_read: Callable[[str], bool] = lambda _real: True, disk: Disk | None = None) -> SourceJudge:
    disk = disk or Disk()
    return SourceJudge(disk, disk.enter(str(cache)), may_read)


def state(cache: Path) -> SourcesState:
    return state_of(judge(cache).changes())


def link_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


EDITS: dict[str, tuple[Callable[[Path], object], int]] = {
    "nothing": (lambda _sources: None, 0),
    "touched": (lambda sources: os.utime(sources / "a.md", (1, 1)), 0),
    "written again as it was": (lambda sources: (sources / "a.md").write_text(PAGES["a.md"]), 0),
    "modified": (lambda sources: (sources / "a.md").write_text("# A\n\nred apples"), 1),
    "of the same length": (lambda sources: (sources / "a.md").write_text("# A\n\nred grape\n"), 1),
    "added": (lambda sources: (sources / "c.txt").write_text("new"), 1),
    "of no known kind": (lambda sources: (sources / "c.xyz").write_text("new"), 0),
    "removed": (lambda sources: (sources / "a.md").unlink(), 1),
    "moved": (lambda sources: (sources / "a.md").rename(sources / "z.md"), 2),
    "replaced by a symlink to nothing": (lambda sources: link_to_nothing(sources / "a.md"), 1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_content_decides(edit: str, cache: Path) -> None:
    change, expected = EDITS[edit]
    change(cache.parent / "sources")
    assert state(cache) == (SourcesState("stale", expected) if expected else FRESH)


def test_a_source_that_is_too_large_is_never_read(cache: Path) -> None:
    large = cache.parent / "sources" / "large.html"
    for size in (17 << 20, 2 << 30):
        with large.open("wb") as file:
            file.truncate(size)
        CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).refresh(str(cache))
        os.utime(large, (1, 1))
        assert state(cache) == FRESH
        assert CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).refresh(str(cache)).built is None


def test_another_converter_counts_as_a_change(cache: Path) -> None:
    record = json.loads((cache / "sources.json").read_text())
    record["files"][0][1] = "text 0"
    (cache / "sources.json").write_text(json.dumps(record))
    assert state(cache) == SourcesState("stale", 1)


def test_another_splitter_counts_as_a_change_of_every_file(cache: Path) -> None:
    record = json.loads((cache / "sources.json").read_text())
    record["split"] = "headings-0"
    (cache / "sources.json").write_text(json.dumps(record))
    assert state(cache) == SourcesState("stale", len(PAGES))
    refreshed = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).refresh(str(cache))
    assert sorted(refreshed.changes.modified) == sorted(PAGES)
    assert state(cache) == FRESH


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cache: (cache / "sources.json").unlink(),
        lambda cache: (cache / "sources.json").write_text("{"),
        lambda cache: (cache.parent / "sources").rename(cache.parent / "gone"),
    ],
    ids=["never recorded", "not understood", "gone"],
)
def test_what_cannot_be_looked_at_is_unknown(spoil: Callable[[Path], object], cache: Path) -> None:
    spoil(cache)
    assert state(cache) == UNKNOWN


def test_folders_are_judged_by_authority_on_real_paths_before_they_are_looked_at(cache: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def refuse(real: str) -> bool:
        asked.append(real)
        return False

    assert judge(cache, refuse).changes() is None
    assert asked == [str((tmp_path / "sources").resolve())]
    record = json.loads((cache / "sources.json").read_text())
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    record["folders"] = [["", "../link"]]
    (cache / "sources.json").write_text(json.dumps(record))
    assert judge(cache, refuse).changes() is None
    assert asked[1:] == [str((tmp_path / "secret").resolve())]


def test_an_answer_says_it_and_never_anything_else_because_of_it(cache: Path) -> None:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    before = json.loads(library.resolve(ref, "apple", 400).text)
    assert before["selection"].pop("freshness") == {"state": "fresh", "changed": 0}
    (cache.parent / "sources" / "a.md").write_text("# A\n\nyellow pear\n")
    after = json.loads(library_of(cache.parent).resolve(ref, "apple", 400).text)
    assert after["selection"].pop("freshness") == {"state": "stale", "changed": 1}
    assert after == before
    header = library.resolve(ref, "apple", 400, "text").text.splitlines()[0]
    assert header.endswith((" | fresh", " | stale (1 changed)"))


def test_a_look_that_takes_long_holds_nobody_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGING_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(limits, "JUDGING_SECONDS", 0.05)
    go_on, looking = threading.Event(), judge(cache)
    find_recorded = changes.find_recorded

    def slowly(*arguments: object) -> object:
        assert go_on.wait(30)
        return find_recorded(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(freshness, "find_recorded", slowly)
    assert looking.state() == UNKNOWN
    assert looking.state() == UNKNOWN
    thread = looking._looking
    go_on.set()
    assert thread is not None
    thread.join(30)
    assert looking._verdict == FRESH


def test_of_many_sources_the_first_answer_does_not_wait(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JUDGED_AT_ONCE_BYTES", 10)
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    assert json.loads(library.resolve(ref, "apple", 400).text)["selection"]["freshness"]["state"] == "unknown"
    looking = judge(cache)
    assert looking.state() in {UNKNOWN, FRESH}
    while thread := looking._looking:
        thread.join(30)
    assert looking._verdict == FRESH


class CountingDisk(Disk):
    """Counts the files that are read."""

    reads = 0

    def read(self, path: str, *, follow: bool = False) -> bytes:
        self.reads += 1
        return super().read(path, follow=follow)


def test_what_was_read_once_and_is_settled_is_not_read_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (cache.parent / "sources").rglob("*.*"):
        os.utime(path, (1, 1))  # so that the times that are recorded do not tell
    disk = CountingDisk()
    looking = judge(cache, disk=disk)
    for expected in (len(PAGES), 2 * len(PAGES)):  # too recent to be known again
        assert state_of(looking.changes()) == FRESH
        assert disk.reads == expected
    monkeypatch.setattr(freshness, "is_settled", lambda *_: True)
    for _ in range(3):
        assert state_of(looking.changes()) == FRESH
    assert disk.reads == 3 * len(PAGES)


def test_a_cache_of_format_1_is_never_judged(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    CacheBuilder(Disk(), CREATED_AT).build(str(tmp_path / "sources"), str(tmp_path / "cache"))
    library: Library = library_of(tmp_path)
    assert "freshness" not in library.resolve(CacheRef(str(tmp_path / "cache")), "apple", 400).text

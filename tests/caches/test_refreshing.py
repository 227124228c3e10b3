"""A cache that is refreshed is the cache that a whole build makes, and only what changed is looked at."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.caches.making import CREATED_AT, disturbed, library_of, write_sources
from tests.faults.scale import scaled

from contexthall.caches.build import section_compiler
from contexthall.caches.build.builder import CacheBuilder, Refreshed
from contexthall.caches.build.changes import read_record
from contexthall.caches.library import CacheRef
from contexthall.caches.model import sections
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core import limits
from contexthall.core.errors import DiskError, UsageError
from contexthall.system.disk import Disk

PAGES = {"a.md": "# A\n\nred apple\n", "b/b.md": "# B\n\ngreen apple\n\n## More\n\nred\n", "c.txt": "plain words\n"}
QUERIES = ("red apple", "more", "plain", "b", "nothing")


def builder(disk: Disk | None = None) -> CacheBuilder:
    return CacheBuilder(disk or Disk(), CREATED_AT, scorer=SECTIONS, clock=later)


def later() -> int:
    """A moment from which everything that is there looks old."""
    return time.time_ns() + 10_000_000_000


def build(root: Path, name: str = "cache") -> Path:
    builder().build(str(root / "sources"), str(root / name), force=True)
    return root / name


def refresh(cache: Path, disk: Disk | None = None) -> Refreshed:
    return builder(disk).refresh(str(cache))


def bytes_of(cache: Path) -> dict[str, bytes]:
    """What two caches of the same sources have in common: all but the segments, and where they came from."""
    return {
        str(path.relative_to(cache)): path.read_bytes()
        for path in cache.rglob("*")
        if path.is_file() and not path.name.startswith(("segment", "sources"))
    }


def answers(cache: Path) -> list[str]:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    texts = [library.resolve(ref, query, 2_000).text for query in QUERIES]
    replies = [json.loads(text) for text in texts]
    for reply in replies:
        del reply["selection"]["freshness"]
    return [json.dumps(reply) for reply in replies] + [library.outline(ref).text]


def assert_whole(cache: Path) -> None:
    whole = build(cache.parent, "whole")
    assert bytes_of(cache) == bytes_of(whole)
    assert answers(cache) == answers(whole)
    assert library_of(cache.parent).verify(CacheRef(str(cache))) == ()


def test_a_refresh_records_when_files_were_changed_that_were_too_recent_for_the_build(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = tmp_path / "cache"
    CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, clock=lambda: 0).build(str(tmp_path / "sources"), str(cache))
    before = bytes_of(cache)
    assert {each[3] for each in recorded_files(cache)} == {()}
    assert refresh(cache).built is None
    assert all(each[3] for each in recorded_files(cache))
    assert bytes_of(cache) == before
    written = (cache / "sources.json").stat()
    assert refresh(cache).built is None
    assert (cache / "sources.json").stat().st_ino == written.st_ino


def recorded_files(cache: Path) -> list[tuple[object, ...]]:
    with Disk().enter(str(cache)) as directory:
        return [*read_record(directory).files]


@pytest.mark.parametrize("damaged", ["index.json", "documents"])
def test_a_damaged_cache_is_made_again_as_a_whole_with_the_choices_that_are_recorded(
    tmp_path: Path, damaged: str
) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    file = next((cache / damaged).iterdir()) if damaged == "documents" else cache / damaged
    file.write_bytes(b"{}")
    assert library_of(tmp_path).verify(CacheRef(str(cache))) != ()
    assert builder().refresh(str(cache), whole=True).built is not None
    assert_whole(cache)


def test_where_nothing_changed_nothing_is_done(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    assert refresh(cache).built is None
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before


EDITS: dict[str, Callable[[Path], object]] = {
    "edited": lambda sources: (sources / "a.md").write_text("# A\n\nyellow apple\n"),
    "added in the middle": lambda sources: (sources / "b" / "a.md").write_text("# New\n\nred\n"),
    "removed": lambda sources: (sources / "c.txt").unlink(),
    "renamed": lambda sources: (sources / "a.md").rename(sources / "z.md"),
    "all blank": lambda sources: [path.write_text("") for path in sources.rglob("*.*")],
    "blank now": lambda sources: (sources / "a.md").write_text(""),
    "a twin, with the same content": lambda sources: (sources / "0.md").write_text(PAGES["a.md"]),
    "not to be converted any more": lambda sources: (sources / "n.ipynb").write_text("{"),
    "of a name that is not UTF-8": lambda sources: (sources / os.fsdecode(b"caf\xe9.md")).write_text("# New"),
    "swapped": lambda sources: [
        (sources / "a.md").write_text(PAGES["b/b.md"]),
        (sources / "b" / "b.md").write_text(PAGES["a.md"]),
    ],
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_refreshed_cache_is_that_of_a_whole_build(edit: str, tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    EDITS[edit](tmp_path / "sources")
    assert refresh(cache).built is not None
    assert_whole(cache)
    assert refresh(cache).built is None


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_page_goes_with_the_permission_to_read_it_and_comes_back_with_it(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, page = build(tmp_path), tmp_path / "sources" / "a.md"
    page.chmod(0)
    refreshed = refresh(cache)
    assert refreshed.changes.modified == ("a.md",)
    assert refreshed.built is not None
    assert list(refreshed.built.failures) == ["a.md"]
    assert_whole(cache)
    assert refresh(cache).built is None
    page.chmod(0o644)
    assert refresh(cache).changes.modified == ("a.md",)
    assert_whole(cache)


NAMES = st.sampled_from([os.fsdecode(b"caf\xe9.md"), "a.md", "b.md", "c/a.md", "c/d/e.md", "f.txt", "g.rst", "h.html"])
TEXTS = st.lists(
    st.sampled_from(["red ", "apple\n", "# Head\n\n", "## More\n", "plain", "<h2>Part</h2>", "\n\n"]), max_size=6
).map("".join)
STEPS = st.lists(st.dictionaries(NAMES, st.none() | TEXTS, max_size=3), min_size=1, max_size=14)


@settings(max_examples=scaled(10, 30, 400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_after_any_edits_a_refreshed_cache_is_that_of_a_whole_build(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, str | None]]
) -> None:
    root = tmp_path_factory.mktemp("random")
    write_sources(root / "sources", PAGES)
    cache = build(root)
    for step in steps:
        for name, text in step.items():
            if text is None:
                (root / "sources" / name).unlink(missing_ok=True)
            else:
                write_sources(root / "sources", {name: text})
        refresh(cache)
    assert_whole(cache)
    assert len(list(cache.glob("segment-*.bin"))) <= limits.SMALL_SEGMENTS + 1


class CountingDisk(Disk):
    """Notes which files are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.read_files: list[str] = []

    def read(self, path: str, *, follow: bool = False) -> bytes:
        self.read_files.append(os.path.basename(path))
        return super().read(path, follow=follow)


@pytest.fixture
def split_pages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pages: list[str] = []
    split = sections.split

    def noted(content: str, source: str) -> Any:
        pages.append(source)
        return split(content, source)

    monkeypatch.setattr(section_compiler, "split", noted)
    return pages


def test_unchanged_files_are_neither_opened_nor_split_again(tmp_path: Path, split_pages: list[str]) -> None:
    write_sources(tmp_path / "sources", {**PAGES, **{f"{number}.md": f"# {number}\n" for number in range(50)}})
    cache = build(tmp_path)
    split_pages.clear()
    (tmp_path / "sources" / "a.md").write_text("# A\n\nyellow apple\n")
    disk = CountingDisk()
    refresh(cache, disk)
    assert split_pages == ["a.md"]
    assert {*disk.read_files} - {"manifest.json"} == {"a.md"}


@pytest.mark.parametrize("text", ["# A\n\nviolet plum!\n", "# A\n\na plum\n"])
def test_a_file_that_changes_before_it_is_read_is_there_as_it_was_read_or_counts_as_modified(
    text: str, tmp_path: Path
) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, page = build(tmp_path), tmp_path / "sources" / "a.md"
    page.write_text("# A\n\nyellow plum!\n")
    refresh(cache, disturbed(os.open, "a.md", lambda: page.write_text(text)))
    again = refresh(cache)
    assert again.changes.modified in ((), ("a.md",))
    assert refresh(cache).built is None
    assert_whole(cache)


def test_a_file_that_vanishes_before_it_is_read_leaves_the_old_cache_as_it_was(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, page = build(tmp_path), tmp_path / "sources" / "a.md"
    before = bytes_of(cache)
    page.write_text("# A\n\nyellow apple\n")
    with pytest.raises(DiskError, match=r"a\.md"):
        refresh(cache, disturbed(os.open, "a.md", page.unlink))
    assert bytes_of(cache) == before
    assert refresh(cache).changes.removed == ("a.md",)
    assert_whole(cache)


def test_documents_are_linked_and_not_copied(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    inodes = {path.stat().st_ino for path in (cache / "documents").iterdir()}
    (tmp_path / "sources" / "a.md").write_text("# A\n\nyellow apple\n")
    refresh(cache)
    assert len(inodes & {path.stat().st_ino for path in (cache / "documents").iterdir()}) == len(PAGES) - 1


def test_a_cache_may_move_with_its_sources(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    write_sources(tmp_path / "here" / "sources", PAGES)
    build(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "there" / "sources" / "a.md").write_text("# A\n\nyellow apple\n")
    assert refresh(tmp_path / "there" / "cache").changes.modified == ("a.md",)
    assert_whole(tmp_path / "there" / "cache")


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    (cache / "segments.bin").write_bytes(b"nonsense")
    assert refresh(cache).built is not None
    assert_whole(cache)


@pytest.mark.parametrize("record", [None, b"", b"{}", b'{"format":1}', b"[]", b'{"format":1,"files":[[1]]}', b"\xff"])
def test_a_cache_that_does_not_know_its_sources_says_so(record: bytes | None, tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    (cache / "sources.json").unlink()
    if record is not None:
        (cache / "sources.json").write_bytes(record)
    with pytest.raises(UsageError, match="does not say where it came from"):
        refresh(cache)


def test_sources_that_are_gone_are_named_and_the_cache_stays(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    before = bytes_of(cache)
    (tmp_path / "sources").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="the sources are not there any more"):
        refresh(cache)
    assert bytes_of(cache) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_sources_in_which_the_cache_lies_are_refused(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache = build(tmp_path)
    record = json.loads((cache / "sources.json").read_text())
    record["folders"], record["everything"] = [["", ".."]], True
    (cache / "sources.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match="overlap"):
        refresh(cache)

"""Resolving: the oracle's answer, with the index and without, on whole caches, damaged ones and swapped ones."""

import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.caches.making import build_cache, compile_folder, library_of, write_sources
from tests.contract import oracle

from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.index.postings import DamagedPostingsError, PostingsReader
from contexthall.caches.library import CacheRef, Library
from contexthall.caches.model.format import POSTINGS
from contexthall.caches.query.explanation import RankingPage
from contexthall.caches.query.ranking import Query
from contexthall.caches.query.reader import OpenCache
from contexthall.caches.query.scorers import SCORERS
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    HallError,
    InvalidBudgetError,
    InvalidQueryError,
    UsageError,
)
from contexthall.system.disk import Disk

HANDBOOK = {
    "keys.md": "Rotate the keys every month. Keys are secret.",
    "guides/deploy.md": "Deploy on Friday, never rotate on Friday.",
    "empty.md": "",
    "Copy.md": "Rotate the keys every month. Keys are secret.",
    "long.md": "rotate " * 500,
    "unicode.md": "ΟΔΟΣ İstanbul straße 😀\u2028new\x1fline",
}

vocabulary = st.sampled_from(["a", "b", "c", "A", "rotate", "Σ", "ΑΣ", "é", "\x1f", "\ufeff", "x" * 300])
texts = st.lists(vocabulary, max_size=12).map(" ".join)
names = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3).map(lambda letters: "/".join(letters) + ".md")
corpora = st.dictionaries(names, texts, max_size=8)


def answers(cache: Path, query: str, budget: int) -> set[str]:
    """The answers with the index, warm and fresh, and without it."""
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    found = {library.resolve(ref, query, budget).text for _ in range(2)}
    (cache / POSTINGS).rename(cache.parent / "aside")
    found |= {each.resolve(ref, query, budget).text for each in (library, library_of(cache.parent))}
    (cache.parent / "aside").rename(cache / POSTINGS)
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(corpora, texts, st.integers(0, 60))
def test_the_answer_is_that_of_the_oracle(tmp_path: Path, corpus: dict[str, str], query: str, budget: int) -> None:
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    cache = build_cache(tmp_path, corpus)
    assert answers(cache, query, budget) == {oracle.resolve(corpus, query, budget)}


@pytest.mark.parametrize(
    "query", ["", "rotate", "rotate keys", "nothing of it", "οδος", "friday, every line", "the " * 50]
)
@pytest.mark.parametrize("budget", [0, 1, 11, 12, 13, 40, 10**6, 2**63 - 1])
def test_the_handbook(tmp_path: Path, query: str, budget: int) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    assert answers(cache, query, budget) == {oracle.resolve(HANDBOOK, query, budget)}


def test_common_and_rare_terms_over_many_documents(tmp_path: Path) -> None:
    corpus = {
        f"{number:03}.md": "the " * (number % 7 + 1) + f"word{number % 90} " + "filler " * (number % 50)
        for number in range(160)
    } | {"huge.md": "the " * 70_000}
    cache = build_cache(tmp_path, corpus)
    for query in ("the filler", "the word3 word89", "word1 word2 absent", "filler"):
        assert answers(cache, query, 3000) == {oracle.resolve(corpus, query, 3000)}


@pytest.mark.parametrize("query", ["\ud800", "a\udcff"])
def test_a_query_that_is_no_text_is_invalid(tmp_path: Path, query: str) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    with pytest.raises(InvalidQueryError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), query, 1)


@pytest.mark.parametrize("budget", [-1, 2**63])
def test_a_budget_out_of_range_is_invalid(tmp_path: Path, budget: int) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    with pytest.raises(InvalidBudgetError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", budget)


def test_faults_are_judged_in_the_order_query_budget_cache(tmp_path: Path) -> None:
    library = library_of(tmp_path)
    with pytest.raises(InvalidQueryError):
        library.resolve(CacheRef("/nowhere"), "\ud800", -1)
    with pytest.raises(InvalidBudgetError):
        library.resolve(CacheRef("/nowhere"), "a", -1)
    with pytest.raises(CacheMissingError):
        library.resolve(CacheRef("/nowhere"), "a", 1)


def test_nothing_is_written_by_resolving(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate", 100)
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_flipped_byte_anywhere_in_the_index_never_gives_another_answer(tmp_path: Path) -> None:
    corpus = {"a.md": "rotate keys", "b.md": "keys keys", "c.md": "the rest"}
    cache = build_cache(tmp_path, corpus)
    expected = {query: oracle.resolve(corpus, query, 9) for query in ("keys rotate", "absent", "the")}
    whole = (cache / POSTINGS).read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF if position % 2 else 1
        (cache / POSTINGS).write_bytes(damaged)
        query = list(expected)[position % 3]
        assert library_of(tmp_path).resolve(CacheRef(str(cache)), query, 9).text == expected[query]


def test_a_flipped_byte_in_a_large_index_is_seen_or_without_effect(tmp_path: Path) -> None:
    corpus = {f"{number:03}.md": "the keys " + f"word{number % 3} " * (number % 5) for number in range(200)}
    cache = build_cache(tmp_path, corpus)
    manifest = hashlib.sha256((cache / "manifest.json").read_bytes()).digest()
    queries = (["the"], ["keys", "word1"], ["absent"])

    def look() -> list[object]:
        reader = PostingsReader(Disk().enter(str(cache)).open(POSTINGS), manifest, SCORERS[0])
        tallies: list[object] = [reader.match_table(query).matches.tolist() for query in queries]
        return [*tallies, reader.files(), [reader.listed(number) for number in (0, 70, 199)]]

    whole, expected = (cache / POSTINGS).read_bytes(), look()
    for position in range(0, len(whole), 13):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        (cache / POSTINGS).write_bytes(damaged)
        with suppress(DamagedPostingsError):
            assert look() == expected


@pytest.mark.parametrize("size", [0, 7, 100, 500])
def test_an_index_that_was_cut_off_is_not_believed(tmp_path: Path, size: int) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    (cache / POSTINGS).write_bytes((cache / POSTINGS).read_bytes()[:size])
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate", 99).text == oracle.resolve(
        HANDBOOK, "rotate", 99
    )


def test_the_index_of_another_cache_is_not_believed(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    other = build_cache(tmp_path, {"other.md": "rotate"}, name="other")
    shutil.copy(other / POSTINGS, cache / POSTINGS)
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate", 99).text == oracle.resolve(
        HANDBOOK, "rotate", 99
    )


def test_an_index_that_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    (cache / POSTINGS).unlink()
    os.mkfifo(cache / POSTINGS)
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate", 99).text == oracle.resolve(
        HANDBOOK, "rotate", 99
    )


def failing(call: Callable[..., Any], number: int, when: Callable[[str], bool]) -> Disk:
    """A disk on which a call fails as long as `when` says so."""

    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if each is call and when(str(arguments[0])):
            raise OSError(number, os.strerror(number))
        return each(*arguments, **options)

    return Disk(perform)


def is_read_through_the_index(library: Library, cache: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Say whether an answer is given without a scan."""
    with monkeypatch.context() as watching:
        watching.setattr("contexthall.caches.query.reader._scan", None)
        try:
            library.resolve(CacheRef(str(cache)), "rotate", 99)
        except TypeError:
            return False
    return True


def test_an_index_that_cannot_be_opened_for_a_moment_is_used_again_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    failures = [True]
    disk = failing(os.open, errno.EMFILE, lambda name: name == POSTINGS and failures.pop() if failures else False)
    library = library_of(tmp_path, disk)
    assert library.resolve(CacheRef(str(cache)), "rotate", 99).text == oracle.resolve(HANDBOOK, "rotate", 99)
    assert failures == []
    assert is_read_through_the_index(library, cache, monkeypatch)


def test_an_index_that_cannot_be_read_for_a_moment_is_used_again_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    failures: list[bool] = []
    library = library_of(tmp_path, failing(os.pread, errno.EIO, lambda _: bool(failures)))
    assert is_read_through_the_index(library, cache, monkeypatch)
    failures.append(True)
    assert library.resolve(CacheRef(str(cache)), "keys", 99).text == oracle.resolve(HANDBOOK, "keys", 99)
    failures.clear()
    assert is_read_through_the_index(library, cache, monkeypatch)


def test_an_index_that_another_thread_finds_damaged_meanwhile_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = OpenCache(Disk().enter(str(build_cache(tmp_path, HANDBOOK))))
    index = cache._index
    assert index is not None
    look = index.match_table

    def meanwhile(terms: list[str]) -> MatchTable:
        cache._index = None
        return look(terms)

    monkeypatch.setattr(index, "match_table", meanwhile)
    monkeypatch.setattr("contexthall.caches.query.reader._scan", None)
    ranking = cache.rank(Query("keys", 99, slice(0, 1)))
    assert ([each.id for each in ranking.listed], len(ranking.table.matches)) == (["copy.md"], len(HANDBOOK))


def test_a_term_that_another_thread_lets_go_of_meanwhile_is_still_found(tmp_path: Path) -> None:
    cache = OpenCache(Disk().enter(str(build_cache(tmp_path, HANDBOOK))))

    class Forgetful(dict[str, Any]):
        def __setitem__(self, word: str, term: Any) -> None:
            pass

    assert cache._index is not None
    cache._index._remembered = Forgetful()
    assert sum(cache._index.match_table(["rotate"]).matches) == 503


def test_a_warm_index_remembers_no_more_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 20_000
    monkeypatch.setattr("contexthall.core.limits.KEPT_TERMS_BYTES", limit)
    cache = OpenCache(Disk().enter(str(build_cache(tmp_path, HANDBOOK))))
    assert cache._index is not None
    for number in range(100):
        cache._index.match_table([f"{number}" * 500, "rotate", "x" * 2 * limit])
        assert 0 < sum(map(len, cache._index._remembered)) <= limit


def test_a_warm_index_knows_no_more_documents_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.core.limits.KEPT_LISTED_DOCUMENTS", 2)
    index = OpenCache(Disk().enter(str(build_cache(tmp_path, HANDBOOK))))._index
    assert index is not None
    for _ in range(2):
        assert [index.listed(number).id for number in range(len(HANDBOOK))] == sorted(map(str.lower, HANDBOOK))
        assert 0 < len(index._listed) <= 2


def document_file(cache: Path, identifier: str) -> Path:
    return next(path for path in (cache / "documents").iterdir() if f'"id":"{identifier}"' in path.read_text())


@pytest.mark.parametrize("index", [True, False])
def test_a_document_that_is_gone_makes_the_cache_invalid_even_if_it_is_not_asked_for(
    tmp_path: Path, index: bool
) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    library = library_of(tmp_path)
    library.resolve(CacheRef(str(cache)), "rotate", 20)
    if not index:
        (cache / POSTINGS).unlink()
    document_file(cache, "unicode.md").unlink()
    with pytest.raises(CacheInvalidError):
        library.resolve(CacheRef(str(cache)), "rotate", 20)


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("damage", ["content", "swap", "json", "symlink", "directory", "fifo", "socket", "deep"])
def test_a_damaged_document_that_is_asked_for_makes_the_cache_invalid(tmp_path: Path, index: bool, damage: str) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    if not index:
        (cache / POSTINGS).unlink()
    file = document_file(cache, "keys.md")
    text = file.read_text()
    file.unlink()
    if damage == "content":
        file.write_text(text.replace("secret", "sacred"))
    elif damage == "swap":
        file.write_text(document_file(cache, "guides/deploy.md").read_text())
    elif damage == "json":
        file.write_text(text[:-1])
    elif damage == "deep":
        file.write_text("[" * 100_000)
    elif damage == "symlink":
        (tmp_path / "elsewhere").write_text(text)
        file.symlink_to(tmp_path / "elsewhere")
    elif damage == "fifo":
        os.mkfifo(file)
    elif damage == "socket":
        os.mknod(file, stat.S_IFSOCK | 0o600)
    else:
        file.mkdir()
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate keys", 100)


MANIFEST_DAMAGE = {
    "not JSON": ("{", "{{"),
    "a list": None,
    "no documents": ('"documents"', '"dokumente"'),
    "a wrong count": ('"document_count": 6', '"document_count": 7'),
    "a count that is true": ('"document_count": 6', '"document_count": true'),
    "a huge count": ('"document_count": 6', '"document_count": ' + "9" * 5000),
    "a version of nothing": ('"cache_version": "sha256:', '"cache_version": "sha256:0'),
    "an unknown format": ('"version": "1"', '"version": "2"'),
    "a number for a file": ('"file": "documents', '"file": 5, "x": "documents'),
    "a file outside": ('"file": "documents/', '"file": "../documents/'),
    "an absolute file": ('"file": "documents/', '"file": "/documents/'),
    "an id twice": ('"id": "keys.md"', '"id": "long.md"'),
}


@pytest.mark.parametrize("damage", MANIFEST_DAMAGE)
def test_a_damaged_manifest_makes_the_cache_invalid(tmp_path: Path, damage: str) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    manifest = cache / "manifest.json"
    change = MANIFEST_DAMAGE[damage]
    manifest.write_text(manifest.read_text().replace(*change, 1) if change else "[]")
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "rotate", 100)


def scatter(cache: Path) -> None:
    """Give every document's file a folder of its own, as other builders may."""
    manifest = json.loads((cache / "manifest.json").read_text())
    for number, each in enumerate(manifest["documents"]):
        file, each["file"] = cache / each["file"], f"documents/{number}/deeper/file.json"
        (cache / each["file"]).parent.mkdir(parents=True)
        file.rename(cache / each["file"])
    (cache / "manifest.json").write_text(json.dumps(manifest))


def test_a_file_below_more_folders_than_python_recurses_makes_the_cache_invalid(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, {"a.md": "a"})
    manifest = cache / "manifest.json"
    manifest.write_text(manifest.read_text().replace("documents/", f"documents/{'d/' * 2000}"))
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 9)
    assert any("the file of a.md is not there" in each for each in library_of(tmp_path).verify(CacheRef(str(cache))))


def test_of_many_folders_only_a_few_are_open_at_a_time(tmp_path: Path) -> None:
    corpus = {f"{number}.md": f"word{number}" for number in range(60)}
    cache = build_cache(tmp_path, corpus)
    scatter(cache)
    open_files = []

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        answer = call(*arguments, **options)
        if call is os.open:
            open_files.append(len(os.listdir("/dev/fd")))
        return answer

    library = library_of(tmp_path, Disk(perform))
    assert library.resolve(CacheRef(str(cache)), "word7", 99).text == oracle.resolve(corpus, "word7", 99)
    assert max(open_files) - min(open_files) < 30


def test_what_has_no_regular_manifest_is_invalid_and_what_is_no_directory_missing(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    (cache / "manifest.json").rename(tmp_path / "manifest.json")
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 1)
    (cache / "manifest.json").symlink_to(tmp_path / "manifest.json")
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 1)
    with pytest.raises(CacheMissingError):
        library_of(tmp_path).resolve(CacheRef(str(tmp_path / "manifest.json")), "a", 1)


@pytest.mark.usefixtures("bound_by_permissions")
def test_what_the_system_refuses_is_an_io_error(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    (cache / "manifest.json").chmod(0)
    with pytest.raises(DiskError, match="Permission denied"):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 1)


def test_a_swapped_cache_is_noticed_on_the_next_call(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    library = library_of(tmp_path)
    for round_ in range(3):
        corpus = {"only.md": f"rotate {round_}"}
        shutil.rmtree(tmp_path / "next", ignore_errors=True)
        compile_folder(write_sources(tmp_path / "next", corpus), cache, force=True)
        assert library.resolve(CacheRef(str(cache)), "rotate", 100).text == oracle.resolve(corpus, "rotate", 100)


def test_many_caches_can_be_asked_in_turn(tmp_path: Path) -> None:
    library = library_of(tmp_path)
    corpora = {f"cache {number}": {"a.md": f"word{number}"} for number in range(12)}
    for name, corpus in corpora.items():
        build_cache(tmp_path, corpus, name=name)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        for name, corpus in corpora.items():
            assert library.resolve(CacheRef(str(tmp_path / name)), "word1", 9).text == oracle.resolve(
                corpus, "word1", 9
            )
    assert len(os.listdir("/proc/self/fd")) <= before + 8


def test_an_explanation_says_where_a_document_stands_and_why(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    library = library_of(tmp_path)
    explanation = library.explain(CacheRef(str(cache)), "rotate KEYS friday", 20, "guides/deploy.md")
    assert explanation.matched_terms == ("rotate",)
    assert explanation.considered == len(HANDBOOK)
    assert (explanation.place.rank, explanation.place.fits) == (4, False)
    assert explanation.place.tokens > explanation.place.left_before
    with pytest.raises(UsageError, match=r"nope\.md"):
        library.explain(CacheRef(str(cache)), "rotate", 20, "nope.md")


def test_every_place_of_a_ranking_can_be_told(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    page = library_of(tmp_path).places(CacheRef(str(cache)), "rotate", 50, 0, 99)
    assert isinstance(page, RankingPage)
    places = list(page.places)
    assert [place.rank for place in places] == list(range(1, len(HANDBOOK) + 1))
    assert len([place for place in places if place.fits]) == page.selected
    assert places == sorted(places, key=lambda place: (-place.score, place.id))
    part = library_of(tmp_path).places(CacheRef(str(cache)), "rotate", 50, 2, 2)
    assert part == page._replace(places=page.places[2:4])


def test_every_error_has_a_sentence_for_people(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, HANDBOOK)
    document_file(cache, "keys.md").write_text("{}")
    (cache / POSTINGS).unlink()
    with pytest.raises(HallError) as caught:
        library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 1)
    assert "keys.md" in caught.value.detail


def test_a_warm_cache_reads_a_document_again_only_if_its_file_is_another(tmp_path: Path) -> None:
    opened: list[str] = []

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is os.open and str(arguments[0]).endswith(".json"):
            opened.append(arguments[0])
        return call(*arguments, **options)

    cache = build_cache(tmp_path, HANDBOOK)
    library = library_of(tmp_path, Disk(perform))
    expected = oracle.resolve(HANDBOOK, "keys", 99)
    assert library.resolve(CacheRef(str(cache)), "keys", 99).text == expected
    assert library.resolve(CacheRef(str(cache)), "keys", 99).text == expected
    opened.clear()
    assert library.resolve(CacheRef(str(cache)), "keys", 99).text == expected
    assert opened  # too new to be sure of
    much_later = time.time_ns() + 10_000_000_000
    library = Library(Disk(perform), root="/", root_is_named=True, working_directory="/", clock=lambda: much_later)
    for _ in range(2):
        assert library.resolve(CacheRef(str(cache)), "keys", 99).text == expected
    opened.clear()
    assert library.resolve(CacheRef(str(cache)), "keys", 99).text == expected
    assert opened == []
    name = json.loads(expected)["documents"][0]["id"]
    file = document_file(cache, name)
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b'"content":"', b'"content":"X', 1)[: before.st_size])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CacheInvalidError):
        library.resolve(CacheRef(str(cache)), "keys", 99)

"""A sharded cache gives the answers of one that is not, byte for byte, or says that it is damaged."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.caches.making import CREATED_AT, library_of, write_sources
from tests.caches.test_refreshing import bytes_of, later
from tests.faults.scale import scaled

from contexthall.caches.build.builder import CacheBuilder, Refreshed
from contexthall.caches.build.cuts import between_shards, halves
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.library import CacheRef
from contexthall.caches.model.shards import by_shard, shard_of
from contexthall.caches.query.opening import index_doubts, open_cache
from contexthall.caches.query.question import Question, ReplyFormat
from contexthall.caches.query.scorers import SCORERS, SECTIONS
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DiskError, DocumentMissingError, InvalidBudgetError, UsageError
from contexthall.system.disk import Disk

PAGES = {
    "keys.md": "# Keys\nRotate the keys.\n\n## Rotate\nEvery month, rotate keys.\n",
    "deploy.rst": "Deploy\n======\n\nOn Friday, rotate keys.\n",
    "long.md": "".join(f"## Part {n}\nrotate {'word ' * n}\n" for n in range(20)),
    "a/twin.md": "keys",
    "b/twin.md": "keys",
    "blank.md": "\n",
}
QUERIES = ("rotate keys", "word friday part", "twin", "nothing of it", "")


def build(root: Path, name: str, shards: int, disk: Disk | None = None) -> Path:
    """Build a cache of `root/sources` in a folder of its own, so that all caches have one name."""
    (root / name).mkdir(exist_ok=True)
    builder = CacheBuilder(disk or Disk(), CREATED_AT, scorer=SECTIONS, clock=later, shards=shards)
    builder.build(str(root / "sources"), str(root / name / "cache"), force=True)
    return root / name / "cache"


def refresh(cache: Path) -> Refreshed:
    return CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, clock=later).refresh(str(cache))


def answered(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (DocumentMissingError, InvalidBudgetError, UsageError) as error:
        return repr(error)


def answers(cache: Path, question: Question, page: str = "long.md") -> list[str]:
    """Everything that can be asked, of a cache that was just opened."""
    opened, budget = open_cache(Disk(), str(cache)), question.budget
    question = question._replace(name="cache", version=opened.version)
    asked: list[Callable[[], Any]] = [
        lambda: opened.resolve(question).text,
        lambda: opened.read(question._replace(query=page), 0, None).text,
        lambda: opened.read(question._replace(query="keys.md#rotate"), 2, None).text,
        lambda: opened.outline(question, None, None, None).text,
        lambda: "\n".join(opened.explain(question, page).sentences(budget)),
        lambda: str(opened.places(question, slice(0, 9))),
        lambda: str(opened.section("keys.md#rotate", question.query)),
        lambda: str(opened.find(page)[1]),
    ]
    return [answered(each) for each in asked]


def all_answers(cache: Path) -> list[str]:
    return [each for query in QUERIES for each in answers(cache, Question(query, 400, "text"))]


def verified(cache: Path) -> tuple[str, ...]:
    return library_of(cache.parent).verify(CacheRef(str(cache)))


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    write_sources(tmp_path / "sources", PAGES)
    return build(tmp_path, "three", 3)


def test_the_version_and_the_configuration_are_those_of_an_unsharded_cache(tmp_path: Path, sharded: Path) -> None:
    whole = json.loads((build(tmp_path, "one", 1) / "manifest.json").read_text())
    parts = json.loads((sharded / "manifest.json").read_text())
    assert [parts[name] for name in list(whole)[:4]] == [whole[name] for name in list(whole)[:4]]
    assert list(parts)[4:] == ["sums", "shards", "digest"]
    assert [each["path"] for each in parts["shards"]] == ["shard-000", "shard-001", "shard-002"]
    assert {each.name for each in sharded.iterdir() if each.is_file()} == {"manifest.json", "sources.json"}


def test_a_shard_is_a_cache_of_the_pages_whose_ids_hash_to_it(sharded: Path) -> None:
    assert [shard_of(page, 3) for page in ("keys.md", "deploy.rst", "long.md")] == [2, 0, 2]
    for number in range(3):
        shard = sharded / f"shard-{number:03}"
        listed = json.loads((shard / "manifest.json").read_text())["documents"]
        assert {each["id"] for each in listed} == {page for page in PAGES if shard_of(page, 3) == number}
        assert verified(shard) == ()


WORDS = st.sampled_from(["red ", "apple\n", "# Head\n\n", "## More\n", "plain ", "\n\n", "straße ", "long line " * 40])
NAMES = st.sampled_from(["a.md", "b.md", "c/a.md", "c/d/e.md", "f.txt", "g.rst", "keys.md", "long.md"])
TEXTS = st.lists(WORDS, max_size=8).map("".join)
EDITS = st.dictionaries(NAMES, st.none() | TEXTS, max_size=4)
QUESTIONS = st.builds(
    Question,
    st.lists(st.sampled_from(["red", "apple", "head", "plain", "straße", "long", "f", "none"]), max_size=4).map(
        " ".join
    ),
    st.integers(0, 900),
    st.sampled_from(list[ReplyFormat](["json", "text"])),
)


@settings(max_examples=scaled(10, 20, 600), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TEXTS), st.lists(EDITS, max_size=4), st.integers(2, 7), st.lists(QUESTIONS, min_size=3))
def test_shards_answer_as_one_cache_does_and_so_they_do_after_any_edits(
    tmp_path_factory: pytest.TempPathFactory,
    pages: dict[str, str],
    steps: list[dict[str, str | None]],
    shards: int,
    questions: list[Question],
) -> None:
    root = tmp_path_factory.mktemp("random")
    sources = write_sources(root / "sources", pages)
    cache = build(root, "sharded", shards)
    for step in [{}, *steps]:
        for name, text in step.items():
            if text is None:
                (sources / name).unlink(missing_ok=True)
            else:
                write_sources(sources, {name: text})
        refresh(cache)
        whole = build(root, "one", 1)
        for question in questions:
            assert answers(cache, question) == answers(whole, question)
    assert bytes_of(cache) == bytes_of(build(root, "again", shards))
    assert verified(cache) == ()


@pytest.mark.parametrize("shards", [2, 3, 5])
def test_a_large_build_in_two_processes_is_that_of_one(tmp_path: Path, shards: int) -> None:
    texts = {f"{n}.md": f"# Page {n}\n\nword{n % 7} of {n % 13}\n" for n in range(600)}
    write_sources(tmp_path / "sources", {**PAGES, **texts})
    cache, whole = build(tmp_path, "sharded", shards), build(tmp_path, "one", 1)
    assert all_answers(cache) == all_answers(whole)
    assert len(list(cache.glob("*/segment-*.bin"))) == shards
    assert verified(cache) == ()


def test_a_build_writes_the_same_bytes_whatever_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sources(tmp_path / "sources", PAGES | {f"p{n}.md": f"Page {n}\n" for n in range(40)})
    monkeypatch.setattr("contexthall.caches.build.cuts._WORTH_SHARING", 2)
    built = []
    for processes in (1, 2, 5, 8):
        monkeypatch.setattr("contexthall.caches.build.builder.most_workers", lambda most=processes: most)
        built.append(bytes_of(build(tmp_path, f"by{processes}", 5)))
    assert built == [built[0]] * 4


@pytest.mark.parametrize(
    ("sizes", "cut"), [([1] * 6, 3), ([0] * 6, 3), ([90, 1, 1, 1, 1, 1], 1), ([1, 1, 1, 1, 1, 90], 5), ([0, 0], 1)]
)
def test_a_build_is_cut_where_half_of_the_bytes_are(
    sizes: list[int], cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [SourceFile(f"{n}.md", f"{n}.md", f"/{n}.md", size=size) for n, size in enumerate(sizes)]
    monkeypatch.setattr("contexthall.caches.build.cuts._WORTH_SHARING", 2)
    assert halves(sources) == [0, cut, len(sizes)]
    assert halves(sources[:1]) == [0, 1]


def test_shards_are_shared_whole_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contexthall.caches.build.cuts._WORTH_SHARING", 2)
    found = [SourceFile(f"{n}.md", f"{n}.md", f"/{n}.md") for n in range(50)]
    sources = [source for some in by_shard(found, 7) for source in some]
    for processes in (1, 2, 3, 7, 20):
        edges = between_shards(sources, 7, processes)
        assert (edges[0], edges[-1], len(edges)) == (0, 50, min(7, processes) + 1)
        shards = [{shard_of(each.id, 7) for each in sources[start:end]} for start, end in pairwise(edges)]
        assert sum(map(len, shards)) == 7


def test_a_refresh_makes_only_what_changed(tmp_path: Path, sharded: Path) -> None:
    assert refresh(sharded).built is None
    before = {path.stat().st_ino for path in sharded.glob("*/documents/*")}
    (tmp_path / "sources" / "keys.md").write_text("# Keys\nBury them.\n")
    assert refresh(sharded).changes.modified == ("keys.md",)
    assert len(before & {path.stat().st_ino for path in sharded.glob("*/documents/*")}) == len(PAGES) - 1
    assert bytes_of(sharded) == bytes_of(build(tmp_path, "again", 3))


def test_a_shard_whose_index_is_damaged_is_made_anew(tmp_path: Path, sharded: Path) -> None:
    (sharded / "shard-002" / "segments.bin").unlink()
    assert "there is none" in index_doubts(Disk().enter(str(sharded)))
    (tmp_path / "sources" / "new.md").write_text("new")
    assert refresh(sharded).built is not None
    assert index_doubts(Disk().enter(str(sharded))) == ""
    assert bytes_of(sharded) == bytes_of(build(tmp_path, "again", 3))


def test_an_answer_opens_the_documents_that_it_returns_and_no_others(sharded: Path) -> None:
    for document in sharded.glob("*/documents/*"):
        if "Friday" not in document.read_text():
            document.write_text("nobody reads this")
    reply = library_of(sharded.parent).resolve(CacheRef(str(sharded)), "friday", 1000).text
    assert [each["id"] for each in json.loads(reply)["documents"]] == ["deploy.rst#deploy"]


def test_several_caches_are_asked_as_one_with_a_sharded_one_among_them(tmp_path: Path, sharded: Path) -> None:
    write_sources(tmp_path / "others", {"other.md": "# Other\nRotate keys elsewhere.\n"})
    other = str(tmp_path / "other")
    CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS).build(str(tmp_path / "others"), other)
    library, whole = library_of(tmp_path), build(tmp_path, "one", 1)
    asked = [library.ask([CacheRef(str(each)), CacheRef(other)], "rotate keys") for each in (sharded, whole)]
    assert asked[0] == asked[1]


# Damage: the right answer, or none.


def right_or_none(cache: Path, expected: list[str]) -> bool:
    try:
        assert all_answers(cache) == expected
    except CacheInvalidError:
        return False
    return True


def test_every_flipped_byte_gives_the_right_answer_or_none(sharded: Path) -> None:
    expected = all_answers(sharded)
    (sharded / "sources.json").unlink()
    for file in sorted(path for path in sharded.rglob("*") if path.is_file()):
        whole = file.read_bytes()
        step = max(1, len(whole) // scaled(2, 3, 400))
        for at in range(0, len(whole), step):
            file.write_bytes(whole[:at] + bytes((whole[at] ^ (0x01, 0x80, 0xFF)[at % 3],)) + whole[at + 1 :])
            right_or_none(sharded, expected)
        file.write_bytes(whole)
    assert right_or_none(sharded, expected)


def test_a_cut_manifest_of_the_cache_or_of_a_shard_is_invalid(sharded: Path) -> None:
    expected = all_answers(sharded)
    for file in (sharded / "manifest.json", sharded / "shard-001" / "manifest.json"):
        whole = file.read_bytes()
        for length in range(0, len(whole), 40):
            file.write_bytes(whole[:length])
            assert not right_or_none(sharded, expected), length
        file.write_bytes(whole)


def edited(cache: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest as somebody would who does not know of its digest."""
    fields = json.loads((cache / "manifest.json").read_text())
    edit(fields)
    (cache / "manifest.json").write_text(json.dumps(fields, indent=2))


def swap(one: Path, other: Path) -> None:
    one.rename(one.with_suffix(".aside"))
    other.rename(one)
    one.with_suffix(".aside").rename(other)


INVALID: dict[str, Callable[[Path], object]] = {
    "a shard is missing": lambda cache: shutil.rmtree(cache / "shard-001"),
    "a shard is a file": lambda cache: shutil.copy(
        cache / "manifest.json", (cache / "shard-001").rename(cache.parent / "aside").with_name("cache") / "shard-001"
    ),
    "a shard is a symlink": lambda cache: (cache / "shard-001").symlink_to(
        (cache / "shard-001").rename(cache.parent / "elsewhere")
    ),
    "a shard has no manifest": lambda cache: (cache / "shard-001" / "manifest.json").unlink(),
    "a shard has no documents": lambda cache: shutil.rmtree(cache / "shard-000" / "documents"),
    "a page has no file": lambda cache: next((cache / "shard-000" / "documents").iterdir()).unlink(),
    "two shards are swapped": lambda cache: swap(cache / "shard-000", cache / "shard-002"),
    "another shard's manifest": lambda cache: shutil.copy(
        cache / "shard-000" / "manifest.json", cache / "shard-002" / "manifest.json"
    ),
    "the cache's own manifest in a shard": lambda cache: shutil.copy(
        cache / "manifest.json", cache / "shard-002" / "manifest.json"
    ),
    "a shard's manifest for the cache's": lambda cache: shutil.copy(
        cache / "shard-002" / "manifest.json", cache / "manifest.json"
    ),
    "the last shard is not listed": lambda cache: edited(cache, lambda fields: fields["shards"].pop()),
    "no shard is listed": lambda cache: edited(cache, lambda fields: fields["shards"].clear()),
    "too many are listed": lambda cache: edited(
        cache, lambda fields: fields["shards"].extend(fields["shards"] * limits.SHARDS)
    ),
    "shards are in another order": lambda cache: edited(cache, lambda fields: fields["shards"].reverse()),
    "a shard is outside": lambda cache: edited(cache, lambda fields: fields["shards"][0].update(path="../x")),
    "a shard has no path": lambda cache: edited(cache, lambda fields: fields["shards"][0].pop("path")),
    "a shard is a number": lambda cache: edited(cache, lambda fields: fields.update(shards=[1])),
    "shards are no list": lambda cache: edited(cache, lambda fields: fields.update(shards={})),
    "documents are listed too": lambda cache: edited(cache, lambda fields: fields.update(documents=[])),
    "another version": lambda cache: edited(cache, lambda fields: fields.update(cache_version="sha256:0")),
    "another count": lambda cache: edited(cache, lambda fields: fields.update(document_count=2)),
    "format 1": lambda cache: edited(cache, lambda fields: fields.update(build_config=SCORERS[0].build_config)),
}


@pytest.mark.parametrize("damage", INVALID)
def test_what_is_not_whole_is_invalid(damage: str, sharded: Path) -> None:
    INVALID[damage](sharded)
    with pytest.raises(CacheInvalidError):
        all_answers(sharded)
    assert verified(sharded)
    with suppress(CacheInvalidError, DiskError):
        assert refresh(sharded).built is None
    assert verified(sharded)


@pytest.mark.parametrize("field", ["sums", "digest"])
def test_sums_that_are_wrong_are_not_believed_but_found_by_a_verification(field: str, sharded: Path) -> None:
    expected = all_answers(sharded)
    edited(sharded, lambda fields: fields.update({field: {}}))
    assert all_answers(sharded) == expected
    assert any(field in violation for violation in verified(sharded))


def test_a_shard_that_is_damaged_while_the_cache_is_open_is_noticed(sharded: Path) -> None:
    library, ref = library_of(sharded.parent), CacheRef(str(sharded))
    library.resolve(ref, "rotate", 1000)
    shutil.rmtree(sharded / "shard-001")
    with pytest.raises(CacheInvalidError):
        library.resolve(ref, "rotate", 1000)


def test_a_verification_names_what_is_wrong_in_which_shard(sharded: Path) -> None:
    document = next((sharded / "shard-002" / "documents").iterdir())
    document.write_text("{}")
    (sharded / "shard-000" / "documents" / "orphan.json").touch()
    (sharded / "shard-007").mkdir()
    (sharded / "documents").mkdir()
    violations = verified(sharded)
    assert [each.partition(":")[0] for each in violations[:2]] == ["shard-000", "shard-002"]
    assert violations[2:] == ("no shard has the name documents", "no shard has the name shard-007")


def test_a_verification_names_a_missing_shard_once(sharded: Path) -> None:
    shutil.rmtree(sharded / "shard-001")
    assert verified(sharded) == ("shard-001 is not there",)


def test_a_page_in_the_shard_of_another_is_found(sharded: Path) -> None:
    swap(sharded / "shard-000", sharded / "shard-002")
    versions = [each["cache_version"] for each in json.loads((sharded / "manifest.json").read_text())["shards"]]
    edited(sharded, lambda fields: fields["shards"][0].update(cache_version=versions[2]))
    edited(sharded, lambda fields: fields["shards"][2].update(cache_version=versions[0]))
    assert "keys.md does not belong in shard-000" in verified(sharded)
    with pytest.raises(CacheInvalidError):
        refresh(sharded)

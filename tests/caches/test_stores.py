"""A cache in an object store gives the answers of one on this machine, byte for byte, or an error."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore
from tests.caches.making import library_of, write_sources
from tests.caches.store_server import (
    SECRET,
    FaultyStore,
    fails,
    gives_half,
    is_missing,
    is_refused,
    is_slow,
    lies,
    running_store,
)
from tests.caches.test_refreshing import bytes_of
from tests.caches.test_shards import EDITS, NAMES, PAGES, QUERIES, QUESTIONS, TEXTS, answered, build, refresh
from tests.faults.scale import scaled

from contexthall.caches.library import CacheRef
from contexthall.caches.query.opening import AnyCache, open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.store.root import ROOT
from contexthall.caches.store.stores import Stores
from contexthall.core import limits
from contexthall.core.errors import (
    CacheInvalidError,
    CacheMissingError,
    DiskError,
    HallError,
    SettingsError,
    UsageError,
)
from contexthall.core.store_url import is_below, parse_url
from contexthall.hall import Hall, open_hall
from contexthall.system.disk import Disk
from contexthall.system.objects import Objects, Traffic

URL = "s3://bucket/teams/handbook"


class Shop:
    """Stores in memory, by URL, and a count of the calls that put something there."""

    def __init__(self, tmp_path: Path) -> None:
        self.user_cache = str(tmp_path / "user")
        self.objects: dict[str, MemoryStore] = {}
        self.opened: list[Objects] = []

    def connect(self, url: str, _environment: object, *, make: bool = False) -> Objects:
        del make
        self.opened.append(Objects(url, self.objects.setdefault(url, MemoryStore())))
        return self.opened[-1]

    def stores(self, *, user_cache: str | None = None) -> Stores:
        return Stores(Disk(), {}, self.user_cache if user_cache is None else user_cache, self.connect)

    def push(self, cache: Path, url: str = URL, *, force: bool = False) -> None:
        with Disk().enter(str(cache)) as directory:
            self.stores().push(directory, url, force=force, progress=lambda _done, _total: None)

    @property
    def traffic(self) -> Traffic:
        return self.opened[-1].traffic


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    write_sources(tmp_path / "sources", PAGES)
    return build(tmp_path, "one", 1)


def replies(opened: AnyCache, question: Question, page: str = "long.md") -> list[str]:
    """Everything that can be asked of an open cache."""
    question, budget = question._replace(name="cache", version=opened.version), question.budget
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


@settings(max_examples=scaled(10, 20, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TEXTS), st.lists(EDITS, max_size=2), st.integers(1, 3), st.lists(QUESTIONS, min_size=3))
def test_a_cache_in_a_store_answers_as_it_does_here_whatever_its_segments_and_shards(
    tmp_path_factory: pytest.TempPathFactory,
    pages: dict[str, str],
    steps: list[dict[str, str | None]],
    shards: int,
    questions: list[Question],
) -> None:
    root = tmp_path_factory.mktemp("random")
    sources, shop = write_sources(root / "sources", pages), Shop(root)
    cache = build(root, "cache", shards)
    for step in steps:
        for name, text in step.items():
            if text is None:
                (sources / name).unlink(missing_ok=True)
            else:
                write_sources(sources, {name: text})
        refresh(cache)
    shop.push(cache)
    here, there = open_cache(Disk(), str(cache)), shop.stores().open(URL)
    for question in questions:
        assert replies(there, question) == replies(here, question)


def test_a_cold_question_takes_few_requests_and_a_warm_one_none(tmp_path: Path, shop: Shop) -> None:
    words = [f"word{n}" for n in range(300)]
    chosen = random.Random(21)
    texts = {
        f"{n // 20}/{n}.md": f"# Page {n}\n"
        + "".join(f"\n## Part {part}\n{' '.join(chosen.choices(words, k=80))}\n" for part in range(3))
        for n in range(600)
    }
    write_sources(tmp_path / "sources", texts)
    shop.push(build(tmp_path, "many", 4))
    question = Question("word1 word2 word3 word4 word5 word6", 4000, "json")
    opened = shop.stores().open(URL)
    opened.resolve(question)
    cold = shop.traffic
    assert cold.rounds == 4
    assert cold.requests <= 60  # of four shards, which ask for each word four times
    opened.resolve(question)
    assert shop.traffic == cold
    again = shop.stores().open(URL)
    assert again.resolve(question) == opened.resolve(question)
    assert shop.traffic.requests == 1  # the root; everything else is on this machine


def test_a_cache_comes_back_from_a_store_byte_for_byte(tmp_path: Path, shop: Shop) -> None:
    write_sources(tmp_path / "sources", PAGES)
    for shards in (1, 3):
        built = build(tmp_path, f"of{shards}", shards)
        url = f"{URL}{shards}"
        shop.push(built, url)
        target = tmp_path / f"back{shards}"
        shop.stores().pull(url, str(target), force=False, progress=lambda _done, _total: None)
        expected = {name: data for name, data in bytes_of(built).items() if name != "sources.json"}
        assert bytes_of(target) == expected
        assert library_of(tmp_path).verify(CacheRef(str(target))) == ()
        assert shop.stores().verify(url, lambda: None) == ()


def test_over_http_everything_works_as_the_commands_have_it(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    with running_store() as store:

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "contexthall", *arguments]
            return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=50)

        hall = open_hall(tmp_path)
        url = "s3://bucket/by/commands"
        hall.push_cache(str(cache), url)
        assert store.requests[-1] == "PUT /bucket/by/commands/root.json"
        asked = ("--query", "rotate keys", "--budget", "300")
        there = run("resolve", "--cache", url, *asked)
        assert (there.returncode, there.stderr) == (0, "")
        here = hall.caches.resolve(CacheRef(str(cache)), "rotate keys", 300).text
        assert json.loads(there.stdout)["documents"] == json.loads(here)["documents"]
        verified = run("verify", "--cache", url)
        assert (verified.returncode, verified.stderr) == (0, "the cache is sound\n")
        again = run("push", str(cache), url)
        assert again.returncode == UsageError.exit_code
        assert "--force" in again.stderr
        assert hall.caches.inspect(CacheRef(url)).document_count == len(PAGES)
        hall.build_cache(str(tmp_path / "sources"), "s3://bucket/built", shards=2)
        assert (
            hall.caches.inspect(CacheRef("s3://bucket/built")).cache_version == open_cache(Disk(), str(cache)).version
        )
        hall.pull_cache(url, str(tmp_path / "back"))
        assert bytes_of(tmp_path / "back")["manifest.json"] == bytes_of(cache)["manifest.json"]
        assert not list((tmp_path / "user" / "contexthall" / "work").iterdir())


@pytest.fixture(scope="module")
def faulty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyStore]:
    root = tmp_path_factory.mktemp("faulty")
    write_sources(root / "sources", PAGES)
    with running_store() as store:
        stores = Stores(Disk(), os.environ, str(root / "user"))
        with Disk().enter(str(build(root, "one", 1))) as directory:
            stores.push(directory, URL, force=False, progress=lambda _done, _total: None)
        yield store


@pytest.mark.parametrize(
    ("fault", "at_root", "in_packs"),
    [
        (fails, DiskError, DiskError),
        (is_missing, CacheMissingError, CacheInvalidError),
        (is_refused, DiskError, DiskError),
        (is_slow, DiskError, DiskError),
        (lies, CacheInvalidError, CacheInvalidError),
        (gives_half, CacheInvalidError, DiskError),
    ],
)
@pytest.mark.parametrize("where", ["root", "packs"])
def test_a_store_that_fails_is_an_error_and_the_next_answer_is_right(
    faulty_store: FaultyStore,
    fault: Any,
    at_root: type[HallError],
    in_packs: type[HallError],
    where: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "STORE_SECONDS", 0.5 if fault is is_slow else 20.0)
    monkeypatch.setattr(limits, "STORE_RETRIES", 0 if fault is is_slow else 1)
    faulty_store.fault, faulty_store.matching = fault, ROOT if where == "root" else "/packs/"
    faulty_store.released.clear()
    stores = Stores(Disk(), os.environ, str(tmp_path / "user"))
    question = Question("rotate keys", 400, "json")
    try:
        with pytest.raises(at_root if where == "root" else in_packs) as raised:
            stores.open(URL).resolve(question)
    finally:
        faulty_store.fault = None
        faulty_store.released.set()
    assert SECRET not in f"{raised.value} {raised.value.hint}"
    monkeypatch.setattr(limits, "STORE_SECONDS", 20.0)
    fresh = Stores(Disk(), os.environ, str(tmp_path / "user"))
    assert "Every month" in fresh.open(URL).resolve(question).text


def test_a_pack_that_lies_once_is_asked_again(faulty_store: FaultyStore, tmp_path: Path) -> None:
    def lies_once(environ: Any, start_response: Any, store: FaultyStore) -> Any:
        store.fault = None
        return lies(environ, start_response, store)

    faulty_store.fault, faulty_store.matching = lies_once, "/packs/"
    opened = Stores(Disk(), os.environ, str(tmp_path / "user")).open(URL)
    assert "Every month" in opened.resolve(Question("rotate keys", 400, "json")).text


@pytest.mark.parametrize("name", ["packs/", ROOT])
def test_a_push_that_fails_leaves_nothing_or_what_was_there(
    tmp_path: Path, shop: Shop, cache: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Objects, each: str, data: Any) -> Any:
        if each.startswith(name):
            raise DiskError("the store fails")
        return put(self, each, data)

    put = Objects.put
    for before in (False, True):
        if before:
            shop.push(cache)
        write_sources(tmp_path / "sources", {f"new{before}.md": "# New\n"})
        changed = build(tmp_path, f"changed{before}", 1)
        with monkeypatch.context() as patched:
            patched.setattr(Objects, "put", refuse)
            patched.setattr(Objects, "create", refuse)
            with pytest.raises(DiskError):
                shop.push(changed, force=before)
        if before:
            assert shop.stores().open(URL).version == open_cache(Disk(), str(cache)).version
        else:
            with pytest.raises(CacheMissingError):
                shop.stores().open(URL)


def test_a_folder_that_is_no_store_is_not_pushed_into(tmp_path: Path, cache: Path) -> None:
    before = bytes_of(cache)
    hall = open_hall(tmp_path)
    for force in (False, True):
        with pytest.raises(UsageError, match="not the folder of a store"):
            hall.push_cache(str(cache), f"file://{cache}", force=force)
    assert bytes_of(cache) == before
    url = f"file://{tmp_path}/store"
    hall.push_cache(str(cache), url)
    hall.push_cache(str(cache), url, force=True)
    (tmp_path / "store" / ROOT).unlink()  # as a push leaves it that was killed
    hall.push_cache(str(cache), url)
    assert hall.caches.verify(CacheRef(url)) == ()


def test_force_mends_a_pack_that_is_damaged(tmp_path: Path, cache: Path) -> None:
    hall, url = open_hall(tmp_path), f"file://{tmp_path}/store"
    hall.push_cache(str(cache), url)
    (pack,) = (tmp_path / "store" / "packs").iterdir()
    sound = pack.read_bytes()
    pack.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    assert hall.caches.verify(CacheRef(url)) != ()
    hall.push_cache(str(cache), url, force=True)
    assert pack.read_bytes() == sound
    assert hall.caches.verify(CacheRef(url)) == ()


def test_a_forced_push_sends_the_shards_that_changed_and_all_if_none_did(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, url, packs = build(tmp_path, "four", 4), f"file://{tmp_path}/store", tmp_path / "store" / "packs"
    hall = open_hall(tmp_path)
    hall.push_cache(str(cache), url)
    before = {*packs.iterdir()}
    write_sources(tmp_path / "sources", {"new.md": "# Novelty\nnever seen\n"})
    refresh(cache)

    def pushed() -> int:
        return hall.push_cache(str(cache), url, force=True).bytes - (tmp_path / "store" / ROOT).stat().st_size

    sent = pushed()
    (made,) = {*packs.iterdir()} - before
    assert sent == made.stat().st_size
    (tmp_path / "store" / ROOT).write_text("{")
    everything = pushed()
    assert everything > sent
    assert pushed() == everything
    assert hall.caches.verify(CacheRef(url)) == ()


def test_a_build_into_a_store_is_refused_before_it_begins(tmp_path: Path, cache: Path) -> None:
    hall, url, other = open_hall(tmp_path), f"file://{tmp_path}/store", f"file://{tmp_path}/sources"
    hall.push_cache(str(cache), url)
    for force, place, reason in ((False, url, "a cache is there already"), (True, other, "not the folder of a store")):
        with pytest.raises(UsageError, match=reason):
            hall.build_cache(str(tmp_path / "not there"), place, force=force)


def test_who_has_opened_a_cache_goes_on_when_it_is_replaced_and_a_hall_notices(
    tmp_path: Path, shop: Shop, cache: Path
) -> None:
    shop.push(cache)
    stores = shop.stores(user_cache="")
    old = stores.open(URL)
    before = old.version
    write_sources(tmp_path / "sources", {"new.md": "# Novelty\nnever seen\n"})
    shop.push(build(tmp_path, "new", 1), force=True)
    assert stores.open(URL, old) is old
    assert "Every month" in old.resolve(Question("rotate keys", 400, "json")).text
    looking = stores.look_again(URL)
    assert looking is not None
    looking.join(30)
    newer = stores.open(URL, old)
    assert newer.version != before
    assert "Novelty" in newer.resolve(Question("novelty", 400, "json")).text
    assert stores.open(URL, newer) is newer


def test_the_local_store_is_checked_and_bounded(
    tmp_path: Path, shop: Shop, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.push(cache)
    question = Question("rotate keys", 400, "json")
    expected = shop.stores().open(URL).resolve(question)
    kept = tmp_path / "user" / "store"
    files = sorted(kept.iterdir())
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert shop.stores().open(URL).resolve(question) == expected
    assert shop.traffic.requests > 1
    monkeypatch.setattr(limits, "LOCAL_STORE_BYTES", 1)
    monkeypatch.setattr(limits, "LOCAL_STORE_WRITES", 1)
    for file in kept.iterdir():
        file.write_bytes(b"damaged")
    assert shop.stores().open(URL).resolve(question) == expected
    assert len(list(kept.iterdir())) <= 1


def test_where_nothing_can_be_kept_answers_are_the_same(tmp_path: Path, shop: Shop, cache: Path) -> None:
    shop.push(cache)
    (tmp_path / "file").write_bytes(b"")
    for place in ("", str(tmp_path / "file")):
        opened = shop.stores(user_cache=place).open(URL)
        assert replies(opened, Question("rotate keys", 400, "text")) == replies(
            open_cache(Disk(), str(cache)), Question("rotate keys", 400, "text")
        )


def _changed(root: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *way, last = path.split(".")
    place: Any = root
    for name in way:
        place = place[int(name) if name.isdigit() else name]
    place[last] = value
    return root


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", "contexthall-store-9"),
        ("document_count", "5"),
        ("document_count", 4),
        ("sums.sections", 1),
        ("parts", []),
        ("parts.0.path", "../elsewhere"),
        ("parts.0.pack", "../../etc/passwd"),
        ("parts.0.size", 10),
        ("parts.0.head.at", -1),
        ("parts.0.head.length", 2**40),
        ("parts.0.head.size", 2**40),
        ("parts.0.head.digest", "0" * 64),
        ("parts.0.key", "f" * 64),
        ("parts.0.files.0.name", "../../manifest.json"),
        ("parts.0.files", []),
        ("build_config", {"version": "1", "hash_algorithm": "sha256"}),
    ],
)
@pytest.mark.parametrize("mends_digest", [True, False])
def test_a_forged_root_is_refused(shop: Shop, cache: Path, path: str, value: Any, mends_digest: bool) -> None:
    from contexthall.caches.store import root as roots  # noqa: PLC0415 - its digest is made here as it makes it

    shop.push(cache)
    store = shop.objects[URL]
    fields = _changed(json.loads(bytes(store.get(ROOT).bytes())), path, value)
    if mends_digest:
        fields.pop("digest")
        fields["digest"] = roots._digest(fields)
    store.put(ROOT, json.dumps(fields).encode())
    with pytest.raises((CacheInvalidError, DiskError)):
        shop.stores(user_cache="").open(URL).resolve(Question("rotate keys", 400, "json"))
    assert shop.stores().verify(URL, lambda: None)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"null", b"{" * 5000, b"\xff\xfe", b'{"format":"contexthall-store-1"}']
)
def test_what_is_no_root_is_refused(shop: Shop, data: bytes) -> None:
    shop.connect(URL, {})
    shop.objects[URL].put(ROOT, data)
    with pytest.raises(CacheInvalidError):
        shop.stores().open(URL)
    assert not shop.stores().inspect(URL).valid


def test_a_verification_finds_an_index_that_is_not_that_of_its_pages(shop: Shop, cache: Path) -> None:
    """A pack may hold another cache's index, with digests that fit."""
    from contexthall.caches.store import packing  # noqa: PLC0415 - to forge with it

    class Liar(packing.Packer):
        def _block(self, payload: bytes, name: str) -> None:
            super()._block(payload if name != "bucket 1" else b"\0\0\0", name)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("contexthall.caches.store.publishing.Packer", Liar)
        shop.push(cache)
    (found,) = shop.stores().verify(URL, lambda: None)
    assert "its index says what its pages do not" in found


@pytest.mark.parametrize("damage", ["manifest", "document", "segment", "format 1"])
def test_a_cache_that_is_damaged_or_of_another_format_is_not_pushed(tmp_path: Path, shop: Shop, damage: str) -> None:
    from tests.caches.making import build_cache  # noqa: PLC0415 - for one case

    write_sources(tmp_path / "sources", PAGES)
    cache = build_cache(tmp_path, PAGES, name="first") if damage == "format 1" else build(tmp_path, "one", 1)
    if damage == "manifest":
        (cache / "manifest.json").write_bytes((cache / "manifest.json").read_bytes().replace(b"keys.md", b"kays.md"))
    if damage == "document":
        next((cache / "documents").iterdir()).write_bytes(b"{}")
    if damage == "segment":
        next(cache.glob("segment-*")).unlink()
    with pytest.raises((CacheInvalidError, UsageError)):
        shop.push(cache)
    with pytest.raises(CacheMissingError):
        shop.stores().open(URL)


@pytest.mark.parametrize(
    "url",
    [
        f"s3://hall:{SECRET}@bucket/cache",
        f"s3://bucket/cache?AWSAccessKeyId={SECRET}",
        f"https://bucket.s3.amazonaws.com/cache#{SECRET}",
        "s3://",
        "s3://bucket/../other",
        "s3://bucket/./cache",
        "s3://bucket//cache",
        "s3://bucket/%2e%2e/other",
        "s3://bucket/a b",
        "file://relative",
        "file://host/path?x",
        "S3://bucket/cache",
        "ftp://bucket/cache",
        "memory:///cache",
    ],
)
def test_what_is_no_url_of_a_cache_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    hall = open_hall(tmp_path)
    with pytest.raises(UsageError) as raised:
        hall.caches.find(url)
    assert SECRET not in f"{raised.value} {raised.value.hint}"
    with pytest.raises(CacheMissingError):
        hall.caches.locate(url)
    with pytest.raises(SettingsError) as refused:
        open_hall(tmp_path, allow_root=[url])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "root", "expected"),
    [
        ("s3://bucket/a/b", "s3://bucket/a", True),
        ("s3://bucket/a", "s3://bucket/a/", True),
        ("s3://bucket/ab", "s3://bucket/a", False),
        ("s3://bucket2/a", "s3://bucket", False),
        ("gs://bucket/a", "s3://bucket", False),
    ],
)
def test_a_url_is_below_another_by_whole_names(url: str, root: str, expected: bool) -> None:
    assert is_below(parse_url(url), parse_url(root)) is expected


@pytest.mark.parametrize("over_http", [True, False])
def test_an_agent_names_only_urls_that_were_allowed(tmp_path: Path, cache: Path, over_http: bool) -> None:
    shared, outside = tmp_path / "shared", tmp_path / "outside"
    for place in (shared, outside):
        open_hall(tmp_path).push_cache(str(cache), f"file://{place}/cache")
    (shared / "link").symlink_to(outside)

    def ask(hall: Hall, url: str) -> str:
        caller = hall.confined_caller if over_http else hall.caller
        found = hall.caches.locate(url, may_read=caller.may_read)
        return hall.caches.resolve(found, "rotate keys", 400).text

    closed, opened = open_hall(tmp_path), open_hall(tmp_path, allow_root=[f"file://{shared}"])
    with pytest.raises(CacheMissingError):
        ask(closed, f"file://{shared}/cache")
    assert "Every month" in ask(opened, f"file://{shared}/cache")
    for url in (f"file://{outside}/cache", f"file://{shared}/link/cache", f"file://{shared}/none", URL):
        with pytest.raises(CacheMissingError):
            ask(opened, url)


def test_commands_that_need_a_directory_refuse_a_url(tmp_path: Path) -> None:
    hall = open_hall(tmp_path)
    with pytest.raises(UsageError):
        hall.refresh_cache(hall.caches.find(URL))
    with pytest.raises(UsageError):
        hall.push_cache(URL, URL)


def test_one_machine_pays_nothing(tmp_path: Path, cache: Path) -> None:
    script = (
        "import sys; from contexthall.faces.cli.table import run; "
        f"run(['resolve', '--cache', {str(cache)!r}, '--query', 'rotate keys']); "
        "found = [name for name in sys.modules if name.split('.')[0] in {'obstore', 'dask', 'distributed'} "
        "or name.startswith('contexthall.caches.store')]; sys.exit(repr(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_extra_a_url_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    hall = open_hall(tmp_path)
    with pytest.raises(UsageError) as raised:
        hall.caches.resolve(hall.caches.find(URL), "rotate keys", 400)
    assert "contexthall[store]" in raised.value.hint


def test_queries_of_every_kind_are_the_same_there(shop: Shop, cache: Path) -> None:
    shop.push(cache)
    here, there = open_cache(Disk(), str(cache)), shop.stores().open(URL)
    for query in QUERIES:
        for form in ("json", "text"):
            question = Question(query, 400, "json" if form == "json" else "text")
            assert replies(there, question) == replies(here, question)

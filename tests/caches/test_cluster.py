"""A cluster builds and answers the same bytes as this machine alone, whichever workers are lost on the way."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import dask
import pytest
from distributed import Security
from tests.caches.making import CREATED_AT, library_of, write_sources
from tests.caches.test_refreshing import bytes_of, later
from tests.caches.test_shards import PAGES
from tests.processes import CONTEXT, RawServer, free_port, run_context
from tests.waiting import wait_until

from contexthall.caches.build import cluster_shares
from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.build.choices import choose_builder
from contexthall.caches.build.cuts import for_workers
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.cluster.cluster_sections import ClusterSections
from contexthall.caches.cluster.shard_holder import ShardHolder
from contexthall.caches.library import CacheRef, Library
from contexthall.caches.model.shards import shard_of
from contexthall.caches.query import section_reader
from contexthall.caches.query.opening import open_cache
from contexthall.caches.query.question import Question, ReplyFormat
from contexthall.caches.query.scorers import SECTIONS
from contexthall.caches.query.section_reader import OpenSections
from contexthall.core import limits
from contexthall.core.cluster_url import parse_scheduler
from contexthall.core.errors import CacheInvalidError, DiskError, SourcesError, UsageError
from contexthall.hall import open_hall
from contexthall.system.cluster import Cluster, Holders
from contexthall.system.disk import Disk


class Started(NamedTuple):
    """`context cluster up`, as a process."""

    process: "subprocess.Popen[str]"
    url: str


def start(home: Path, workers: int = 2, port: int = 0) -> Started:
    command = [*CONTEXT, "cluster", "up", "--workers", str(workers), "--port", str(port)]
    environment = {**os.environ, "HOME": str(home)}
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return Started(process, process.stdout.readline().strip())


def stop(started: Started) -> None:
    started.process.terminate()
    started.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    started = start(tmp_path_factory.mktemp("home"))
    yield started.url
    stop(started)


@pytest.fixture
def cluster(url: str) -> Iterator[Cluster]:
    found = Cluster(url)
    wait_until(lambda: len(found.workers()) == 2)  # those that a test killed are started again
    yield found
    found.close()


def processes_of(cluster: Cluster) -> list[int]:
    return sorted(cluster.client.run(os.getpid).values())


def build(root: Path, name: str, shards: int = 1, cluster: Cluster | None = None) -> Path:
    """Build a cache of `root/sources` in a folder of its own, so that all caches have one name."""
    (root / name).mkdir(exist_ok=True)
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, clock=later, shards=shards, cluster=cluster)
    builder.build(str(root / "sources"), str(root / name / "cache"), force=True)
    return root / name / "cache"


def without_segments(cache: Path) -> dict[str, bytes]:
    """What a cache is: how many segments its pages are in depends on who counted them."""
    return {path: data for path, data in bytes_of(cache).items() if "segment" not in path}


def test_a_cluster_builds_the_bytes_that_this_machine_builds(tmp_path: Path, cluster: Cluster) -> None:
    write_sources(
        tmp_path / "sources", {**PAGES, **{f"more/{n}.md": f"# Number {n}\nkeys {n % 3}\n" for n in range(40)}}
    )
    for shards in range(1, 8):
        here, there = build(tmp_path, "here", shards), build(tmp_path, "there", shards, cluster)
        assert without_segments(there) == without_segments(here)
        assert library_of(tmp_path).verify(CacheRef(str(there))) == ()
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["cache"]


def test_files_that_cannot_be_converted_are_told_as_they_are_here(tmp_path: Path, cluster: Cluster) -> None:
    write_sources(tmp_path / "sources", {"a.ipynb": "no notebook", "b.md": "b", "c.ipynb": "{", "d.md": "d"})
    told = [
        CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, cluster=each).build(
            str(tmp_path / "sources"), str(tmp_path / "cache"), force=True
        )
        for each in (None, cluster)
    ]
    assert told[0] == told[1]
    assert len(told[0].failures) == 2
    errors = []
    for each in (None, cluster):
        with pytest.raises(SourcesError) as caught:
            CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, cluster=each).build(
                str(tmp_path / "sources"), str(tmp_path / "strict"), strict=True
            )
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "sources"]


def test_shares_are_the_shards_or_parts_of_them_where_there_are_more_workers() -> None:
    files = [SourceFile(f"{n}.md", f"{n}.md", f"/{n}.md") for n in range(30)]
    assert [len(some) for _, some, _ in for_workers(files, 1, 2)] == [15, 15]
    assert [shard for shard, *_ in for_workers(files, 3, 2)] == [0, 1, 2]
    shares = for_workers(sorted(files, key=lambda file: shard_of(file.id, 2)), 2, 3)
    assert [shard for shard, *_ in shares] == [0, 0, 1, 1]
    assert [first for *_, first in shares] == [sum(len(some) for _, some, _ in shares[:n]) for n in range(4)]


def write_much(sources: Path) -> None:
    """Write sources that take a worker a second or so."""
    text = "".join(f"## Part {n}\n" + f"word{n} and keys of the handbook number {n}\n" * 40 for n in range(20))
    write_sources(sources, {f"{n}.md": f"# Page {n}\n{text}" for n in range(120)})


def begun(root: Path, name: str) -> list[Path]:
    """The folders in which workers have begun to write documents."""
    with suppress(FileNotFoundError):  # one has just been cleared away
        return [path for path in (root / name).glob(".contexthall-cache/run-*/*/new/documents") if any(path.iterdir())]
    return []


def attempts(root: Path, name: str) -> set[str]:
    """The names of all folders of shares that are there; they begin with the number of the share's first page."""
    with suppress(FileNotFoundError):
        return {path.name for path in (root / name).glob(".contexthall-cache/run-*/*")}
    return set()


def test_a_worker_that_is_killed_costs_its_share_only(tmp_path: Path, cluster: Cluster) -> None:
    write_much(tmp_path / "sources")
    here, worker = build(tmp_path, "here", 4), processes_of(cluster)[0]
    building = Thread(target=build, args=(tmp_path, "there", 4, cluster))
    building.start()
    wait_until(lambda: len(begun(tmp_path, "there")) >= 2)
    os.kill(worker, signal.SIGKILL)
    seen = attempts(tmp_path, "there")
    begun_by_then = len(seen)  # two, unless this process was held up
    while building.is_alive():
        seen |= attempts(tmp_path, "there")
        building.join(0.01)
    assert without_segments(tmp_path / "there" / "cache") == without_segments(here)
    assert len({each.partition("-")[0] for each in seen}) == 4
    assert len(seen) <= 4 + begun_by_then - 1  # of which the other worker has begun one at least


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.long
def test_a_build_without_workers_or_scheduler_is_an_error_and_leaves_the_old_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    monkeypatch.setattr(limits, "CLUSTER_IDLE_SECONDS", 1.0)
    write_much(tmp_path / "sources")
    started, failed, old = start(tmp_path / "home"), list[str](), bytes_of(build(tmp_path, "there"))
    cluster = Cluster(started.url)
    building = Thread(target=lambda: failed.append(_error_of(tmp_path, "there", cluster)))
    building.start()
    wait_until(lambda: begun(tmp_path, "there"))
    started.process.send_signal(ending)
    building.join()
    cluster.close()
    started.process.communicate(timeout=60)
    assert "no workers" in failed[0] or "no scheduler answers" in failed[0]
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["cache"]
    assert bytes_of(tmp_path / "there" / "cache") == old


def _error_of(root: Path, name: str, cluster: Cluster) -> str:
    with pytest.raises(DiskError) as caught:
        build(root, name, 4, cluster)
    return str(caught.value)


def test_workers_that_do_not_see_the_place_of_the_cache_are_told_with_their_address(
    tmp_path: Path, cluster: Cluster
) -> None:
    write_sources(tmp_path / "sources", PAGES)
    elsewhere = _hiding(tmp_path / "hidden", cluster)
    with pytest.raises(DiskError, match=r"the worker tcp://127.0.0.1:\d+ .* does not see") as caught:
        build(tmp_path, "hidden", 2, elsewhere)
    assert "shared disk" in caught.value.hint


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_worker_that_may_not_read_a_source_is_told_instead_of_leaving_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Here(Cluster):
        def __init__(self) -> None: ...

        def workers(self) -> list[str]:
            return ["here"]

        def run(self, tasks: Sequence[Callable[..., Any]], report: object) -> list[Any]:
            return [task(report) for task in tasks]

    monkeypatch.setattr(cluster_shares, "worker_name", lambda: "the worker here")
    sources = write_sources(tmp_path / "sources", PAGES)
    next(iter(sources.rglob("*.md"))).chmod(0)
    with pytest.raises(DiskError, match=r"the worker here may not read .*\.md"):
        build(tmp_path, "there", 2, Here())


def _hiding(folder: Path, cluster: Cluster) -> Cluster:
    """A cluster whose workers begin when the folder of the shares was taken away."""

    class Elsewhere(Cluster):
        def __init__(self) -> None:
            self.url, self._connecting, self._connected = cluster.url, cluster._connecting, cluster._connected

        def run(self, tasks: Sequence[object], report: object) -> list[object]:
            for run in folder.glob(".contexthall-cache/run-*"):
                run.rename(run.with_name("run-hidden"))
            return super().run(tasks, report)  # type: ignore[arg-type]

    return Elsewhere()


def asked(
    cache: Path, cluster: Cluster | None, questions: Sequence[Question], holders: Holders | None = None
) -> list[str]:
    """The answers of a cache that was just opened, here or on a cluster."""
    held = holders or (Holders(cluster, ShardHolder) if cluster else None)
    opened = open_cache(Disk(), str(cache), holders=held)
    assert isinstance(opened, ClusterSections) == (held is not None)
    return [opened.resolve(each._replace(name="cache", version=opened.version)).text for each in questions]


def write_many(sources: Path, pages: int = 90) -> None:
    """Write more sections than are ever put in order, many of which score the same, and pages whose ids interleave."""
    chosen = random.Random(7)
    words = [f"word{n}" for n in range(30)] + ["rotate", "keys", "rotate keys", "on friday"]
    texts = {
        f"{chosen.choice('abc')}/{n}.md": "".join(
            f"## {chosen.choice(words)}\n{' '.join(chosen.choices(words, k=chosen.randrange(1, 40)))}\n"
            for _ in range(chosen.randrange(1, 12))
        )
        for n in range(pages)
    }
    write_sources(sources, {**PAGES, **texts, "twins/a.md": "rotate keys", "twins/b.md": "rotate keys"})


def many_questions(count: int) -> list[Question]:
    chosen, formats = random.Random(11), list[ReplyFormat](["json", "text"])
    words = [f"word{n}" for n in range(30)] + ["rotate", "keys", "friday", "the", "unheard", "Twin", "handbook"]
    return [
        Question(" ".join(chosen.choices(words, k=chosen.randrange(6))), chosen.choice([0, 60, 900, 4000]), form)
        for form in formats
        for _ in range(count // 2)
    ]


@pytest.mark.long
def test_answers_of_a_cluster_are_those_of_this_machine(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources")
    questions = many_questions(30)
    for shards in range(1, 8):
        cache = build(tmp_path, "cache", shards)
        assert asked(cache, cluster, questions) == asked(cache, None, questions)


def test_ids_that_interleave_are_in_the_order_of_this_machine(tmp_path: Path, cluster: Cluster) -> None:
    names = ["p", "p.md#b", "p.md#q", "p#b", "a b", "z"]
    write_sources(tmp_path / "sources", {f"{name}.md": "## b\nkeys\n## a\nkeys\n## z\nkeys\n" for name in names})
    questions = [Question("keys", budget, "json") for budget in range(200, 2000, 300)]
    for shards in (1, 2, 5):
        cache = build(tmp_path, "cache", shards)
        assert asked(cache, cluster, questions) == asked(cache, None, questions)


def test_what_is_no_question_is_read_here(tmp_path: Path, cluster: Cluster) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, question = build(tmp_path, "cache", 3), Question("keys.md", 400, "json")
    here = open_cache(Disk(), str(cache))
    there = open_cache(Disk(), str(cache), holders=Holders(cluster, ShardHolder))
    assert there.read(question, 0, None).text == here.read(question, 0, None).text
    assert there.outline(question, None, None, None).text == here.outline(question, None, None, None).text
    assert there.places(question, slice(0, 9)) == here.places(question, slice(0, 9))


def test_who_asks_while_the_cache_is_being_opened_here_counts_no_pages(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sources(tmp_path / "sources", PAGES)
    opened = open_cache(Disk(), str(build(tmp_path, "cache", 3)), holders=Holders(cluster, ShardHolder))
    assert isinstance(opened, ClusterSections)
    opening, may_open, counted, open_segments = Event(), Event(), list[object](), OpenSections.open_segments

    def open_slowly(self: OpenSections) -> None:
        opening.set()
        may_open.wait()
        open_segments(self)

    monkeypatch.setattr(OpenSections, "open_segments", open_slowly)
    monkeypatch.setattr(section_reader, "count_pages", lambda *pages: counted.append(pages))
    threads = [Thread(target=opened.ask, args=(lambda sections: sections,)) for _ in range(2)]
    threads[0].start()
    opening.wait()
    threads[1].start()
    threads[1].join(0.2)
    may_open.set()
    for each in threads:
        each.join()
    assert counted == []


def test_a_damaged_index_gives_the_same_answers(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources", 20)
    cache, questions = build(tmp_path, "cache", 3), many_questions(6)
    expected = asked(cache, None, questions)
    (cache / "shard-001" / "segments.bin").unlink()
    assert asked(cache, cluster, questions) == expected
    manifest = json.loads((cache / "manifest.json").read_text())
    manifest["sums"]["bodies"] += 1
    (cache / "manifest.json").write_text(json.dumps(manifest))
    assert asked(cache, cluster, questions) == asked(cache, None, questions)


def test_a_cache_that_is_replaced_is_asked_anew(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources", 20)
    cache, questions = build(tmp_path, "cache", 3), many_questions(10)
    libraries = [
        Library(Disk(), root=str(tmp_path), root_is_named=True, working_directory=str(tmp_path), holders=holders)
        for holders in (None, Holders(cluster, ShardHolder))
    ]
    for edit in ("first", "another keys"):
        answers = [
            [each.resolve(CacheRef(str(cache)), asked.query, asked.budget).text for asked in questions]
            for each in libraries
        ]
        assert answers[0] == answers[1]
        (tmp_path / "sources" / "keys.md").write_text(f"# Keys\n{edit}\n")
        build(tmp_path, "cache", 3)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_cache_that_is_built_again_of_the_same_sources_is_asked_anew(
    tmp_path: Path, cluster: Cluster, shards: int
) -> None:
    write_many(tmp_path / "sources", 20)
    questions, holders = many_questions(40), Holders(cluster, ShardHolder)
    for number, text in enumerate(["a", "a", "b", "a"]):
        (tmp_path / "sources" / "keys.md").write_text(f"# Keys\n{text}\n")
        cache, some = build(tmp_path, "cache", shards), questions[number::4]  # other ones: what was read is kept
        assert asked(cache, cluster, some, holders) == asked(cache, None, some)


def test_a_worker_that_is_killed_is_asked_elsewhere(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources", 30)
    cache, questions, holders = build(tmp_path, "cache", 4), many_questions(8), Holders(cluster, ShardHolder)
    expected = asked(cache, None, questions)
    assert asked(cache, cluster, questions, holders) == expected
    os.kill(processes_of(cluster)[0], signal.SIGKILL)
    assert asked(cache, cluster, questions, holders) == expected


@pytest.mark.long
def test_workers_that_are_killed_one_after_the_other_cost_no_answer(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources", 30)
    cache, questions, holders = build(tmp_path, "cache", 4), many_questions(12), Holders(cluster, ShardHolder)
    expected, killed = asked(cache, None, questions), set[int]()
    for _ in range(4):
        wait_until(lambda: len(cluster.workers()) == 2)
        killed.add(oldest := processes_of(cluster)[0])
        os.kill(oldest, signal.SIGKILL)
        assert asked(cache, cluster, questions, holders) == expected
    assert len(killed) == 4


def test_a_worker_that_is_silent_is_asked_elsewhere(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLUSTER_SLOW_SECONDS", 0.1)
    write_many(tmp_path / "sources", 30)
    cache, questions, holders = build(tmp_path, "cache", 4), many_questions(4), Holders(cluster, ShardHolder)
    expected = asked(cache, None, questions)
    assert asked(cache, cluster, questions, holders) == expected
    wait_until(lambda: holders.count() == 2)
    stopped = processes_of(cluster)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert asked(cache, cluster, questions, holders) == expected
    finally:
        os.kill(stopped, signal.SIGCONT)


@pytest.mark.long
def test_if_one_worker_is_lost_and_the_other_silent_whoever_comes_in_its_place_is_asked(
    tmp_path: Path, cluster: Cluster
) -> None:
    write_many(tmp_path / "sources", 30)
    cache, questions, holders = build(tmp_path, "cache", 4), many_questions(2), Holders(cluster, ShardHolder)
    expected = asked(cache, None, questions)
    wait_until(lambda: holders.count() == 2)
    killed, stopped = processes_of(cluster)
    os.kill(stopped, signal.SIGSTOP)
    os.kill(killed, signal.SIGKILL)
    try:
        assert asked(cache, cluster, questions, holders) == expected
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_workers_that_are_all_silent_are_an_error_in_time(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLUSTER_SECONDS", 2.0)
    write_many(tmp_path / "sources", 5)
    cache, questions, holders = build(tmp_path, "cache", 2), many_questions(2), Holders(cluster, ShardHolder)
    wait_until(lambda: holders.count() == 2)
    stopped = processes_of(cluster)
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    begun = time.monotonic()
    try:
        with pytest.raises(DiskError, match="too long"):
            asked(cache, cluster, questions, holders)
    finally:
        for each in stopped:
            os.kill(each, signal.SIGCONT)
    assert time.monotonic() - begun < 15


def test_a_worker_that_was_overtaken_holds_up_one_question_only(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLUSTER_LOOK_SECONDS", 1000.0)
    monkeypatch.setattr(limits, "CLUSTER_SLOW_SECONDS", 0.1)
    write_many(tmp_path / "sources", 30)
    cache, questions, holders = build(tmp_path, "cache", 4), many_questions(4), Holders(cluster, ShardHolder)
    expected = asked(cache, None, questions)
    wait_until(lambda: holders.count() == 2)
    stopped = processes_of(cluster)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert asked(cache, cluster, questions[:1], holders) == expected[:1]
        monkeypatch.setattr(limits, "CLUSTER_SLOW_SECONDS", limits.CLUSTER_SECONDS)  # to wait for it is an error
        assert asked(cache, cluster, questions[1:], holders) == expected[1:]
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_a_shard_that_cannot_be_had_is_an_error_and_never_a_part(tmp_path: Path, cluster: Cluster) -> None:
    write_many(tmp_path / "sources", 20)
    cache, questions = build(tmp_path, "cache", 4), [Question("rotate keys", 4000, "json")]
    (cache / "shard-002").rename(cache / "away")
    with pytest.raises(DiskError, match="does not see"):
        asked(cache, cluster, questions)


@pytest.mark.long
def test_a_scheduler_that_is_restarted_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_many(tmp_path / "sources", 20)
    cache, questions, port = build(tmp_path, "cache", 3), many_questions(6), free_port()
    expected, started = asked(cache, None, questions), start(tmp_path / "home", port=port)
    cluster = Cluster(started.url)
    holders = Holders(cluster, ShardHolder)
    assert asked(cache, cluster, questions, holders) == expected
    stop(started)
    with monkeypatch.context() as impatient:
        impatient.setattr(limits, "CLUSTER_CONNECT_SECONDS", 0.5)
        with pytest.raises(DiskError):
            asked(cache, cluster, questions, holders)
    started = start(tmp_path / "home", port=port)
    assert asked(cache, cluster, questions, holders) == expected
    cluster.close()
    stop(started)


def test_a_hall_serves_from_a_cluster(tmp_path: Path, url: str) -> None:
    write_sources(tmp_path / "sources", PAGES)
    build(tmp_path, "caches", 3)
    call = {"name": "context.resolve", "arguments": {"cache": "cache", "query": "rotate keys", "budget": 400}}
    answers = []
    for options in ((), ("--cluster", url)):
        with RawServer("--cache-root", "caches", *options, cwd=tmp_path) as server:
            server.initialize()
            answers.append(server.request(1, "tools/call", call)["result"])
    assert answers[0] == answers[1]
    typed = ("resolve", "--cache", "caches/cache", "--query", "rotate keys")
    here, there = run_context(*typed, cwd=tmp_path), run_context(*typed, "--cluster", url, cwd=tmp_path)
    assert (here.returncode, there.returncode) == (0, 0)
    assert here.stdout == there.stdout


def test_a_hall_that_is_closed_leaves_the_cluster_until_it_is_asked_again(tmp_path: Path, cluster: Cluster) -> None:
    def clients() -> int:
        return int(cluster.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.clients)))

    write_sources(tmp_path / "sources", PAGES)
    before, cache, hall = clients(), build(tmp_path, "cache"), open_hall(tmp_path, cluster=cluster.url)
    for _ in range(2):
        assert hall.resolve(cache, "rotate keys").documents
        assert clients() == before + 1
        hall.close()
        wait_until(lambda: clients() == before)
    open_hall(tmp_path).close()


def test_who_uses_a_cluster_still_hears_asyncio(cluster: Cluster) -> None:
    assert cluster.workers()
    assert logging.getLogger("asyncio").level == logging.NOTSET


def test_format_1_is_built_here(cluster: Cluster) -> None:
    with pytest.raises(UsageError, match="format 2"):
        choose_builder(Disk(), CREATED_AT, "", number=1, cluster=cluster)


@pytest.mark.parametrize(
    "text", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://10.0.0.7:8786", "tls://dask:1"]
)
def test_a_scheduler_is_on_this_machine_or_behind_tls(text: str) -> None:
    assert parse_scheduler(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tcp://10.0.0.7:8786", "without TLS"),
        ("tcp://dask.example:8786", "without TLS"),
        ("tcp://0.0.0.0:8786", "without TLS"),
        ("tcp://127.0.0.1", "no URL"),
        ("tcp://127.0.0.1:0", "no URL"),
        ("tcp://127.0.0.1:70000", "no URL"),
        ("http://127.0.0.1:8786", "no URL"),
        ("127.0.0.1:8786", "no URL"),
        ("tcp://me:word@127.0.0.1:8786", "no URL"),
    ],
)
def test_other_urls_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_scheduler(text)


def test_a_scheduler_that_announces_an_open_address_is_refused_by_any_name(tmp_path: Path) -> None:
    program = (
        "import asyncio; from distributed import Scheduler\n"
        "class Open(Scheduler):\n"  # it listens on the loopback address, and only says that it does not
        "    def identity(self, *args, **options):\n"
        "        return {**super().identity(*args, **options), 'address': 'tcp://192.0.2.7:8786'}\n"
        "async def main():\n"
        "    async with Open(host='127.0.0.1', port=0, dashboard=False) as scheduler:\n"
        "        print(scheduler.address, flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            assert parse_scheduler(url) == url
            with pytest.raises(UsageError, match=r"without TLS .* tcp://192\.0\.2\.7:8786"):
                Cluster(url)
        finally:
            process.kill()


def test_tls_without_certificates_says_so() -> None:
    with pytest.raises(UsageError, match="needs certificates") as caught:
        Cluster("tls://127.0.0.1:8786")
    assert "distributed.comm.tls" in caught.value.hint


def test_without_dask_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError) as caught:
        Cluster("tcp://127.0.0.1:8786")
    assert caught.value.hint == "pip install 'contexthall[cluster]'"


def test_a_scheduler_that_is_not_there_is_an_error_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLUSTER_CONNECT_SECONDS", 0.2)
    with pytest.raises(DiskError, match="no scheduler answers"):
        Cluster(f"tcp://127.0.0.1:{free_port()}")
    write_sources(tmp_path / "sources", PAGES)
    done = run_context("build", "--sources", "sources", "--cache", "c", "--cluster", "tcp://9.9.9.9:1", cwd=tmp_path)
    assert done.returncode == 1
    assert b"tls://HOST:PORT" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cluster_ends_with_its_command_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    started = start(tmp_path, workers=1)
    cluster = Cluster(started.url)
    (worker,) = processes_of(cluster)
    cluster.close()
    os.killpg(started.process.pid, number)  # as a terminal does
    _, words = started.process.communicate(timeout=60)
    assert started.process.returncode == 0
    assert words == f"1 worker at {started.url}; Ctrl-C ends them\n"
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_port_that_is_taken_is_an_error(tmp_path: Path, url: str) -> None:
    done = run_context("cluster", "up", "--port", url.rpartition(":")[2], cwd=tmp_path)
    assert done.returncode == DiskError.exit_code
    assert b"--port" in done.stderr


def test_a_cluster_without_the_hall_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; sys.modules['contexthall'] = None; from distributed import Scheduler, Worker\n"
        "async def main():\n"
        "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False) as scheduler:\n"
        "        async with Worker(scheduler.address, host='127.0.0.1', nthreads=1):\n"
        "            print(scheduler.address, flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    write_sources(tmp_path / "sources", PAGES)
    cache, command, pipe = build(tmp_path, "cache", 2), [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        cluster = Cluster(process.stdout.readline().strip())
        with pytest.raises(UsageError, match="another installation"):
            build(tmp_path, "there", 2, cluster)
        with pytest.raises(UsageError, match="another installation"):
            asked(cache, cluster, [Question("keys", 400, "json")])
        cluster.close()
        process.kill()


def certificates(folder: Path) -> dict[str, str]:
    """Make an authority, and what Dask has to be told so that all sides have a certificate of it."""
    made, names = Security.temporary(), {}
    folder.mkdir()
    for name in ("tls_ca_file", "tls_client_cert", "tls_client_key"):
        names[name] = str(folder / name)
        Path(names[name]).write_text(getattr(made, name))
    return {
        f"distributed.comm.tls.{key}": names[name]
        for key, name in [
            ("ca-file", "tls_ca_file"),
            *((f"{role}.cert", "tls_client_cert") for role in ("client", "scheduler", "worker")),
            *((f"{role}.key", "tls_client_key") for role in ("client", "scheduler", "worker")),
        ]
    }


def test_a_scheduler_is_spoken_to_over_tls_with_the_certificates_that_dask_is_told(tmp_path: Path) -> None:
    settings, others = certificates(tmp_path / "ours"), certificates(tmp_path / "theirs")
    program = (
        "import asyncio, sys, dask; from distributed import Scheduler, Worker\n"
        "async def main():\n"
        "    async with Scheduler(host='127.0.0.1', protocol='tls', port=0, dashboard=False) as scheduler:\n"
        "        async with Worker(scheduler.address, host='127.0.0.1', nthreads=1):\n"
        "            print(scheduler.address, flush=True); await asyncio.sleep(60)\n"
        f"dask.config.set({settings!r}); asyncio.run(main())"
    )
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with (
        subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process,
        dask.config.set(settings),
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("tls://")
        cluster = Cluster(url)
        assert cluster.run([lambda _: "done"], lambda _: None) == ["done"]
        cluster.close()
        with dask.config.set(others), pytest.raises(DiskError, match="no scheduler answers") as caught:
            Cluster(url)
        assert "certificates" in caught.value.hint
        for name, what in ((str(tmp_path / "nowhere"), "No such file"), (__file__, "certificate")):
            with dask.config.set({"distributed.comm.tls.ca-file": name}), pytest.raises(UsageError) as refused:
                Cluster(url)
            assert what.lower() in str(refused.value).lower()
            assert "distributed.comm.tls" in refused.value.hint
        process.kill()


@pytest.mark.parametrize("shards", [1, 3])
def test_a_cluster_answers_from_a_store_as_this_machine_does(tmp_path: Path, cluster: Cluster, shards: int) -> None:
    write_sources(tmp_path / "sources", PAGES)
    cache, place = build(tmp_path, "here", shards), (tmp_path / "store" / "cache").as_uri()
    open_hall().push_cache(str(cache), place)
    here, there = open_hall(allow_root=[place]), open_hall(allow_root=[place], cluster=cluster.url)
    for query in ("rotate keys", "how do I install it", "nothing at all has this", "KEYS keys key", ""):
        for budget in (0, 60, 500, 4000):
            assert there.resolve(place, query, budget=budget) == here.resolve(place, query, budget=budget)
    assert there.store_traffic()[0] == 1  # the root: all else was fetched by the workers
    there.close()


def test_a_store_that_lacks_a_pack_gives_an_error_and_no_part_of_an_answer(tmp_path: Path, cluster: Cluster) -> None:
    write_sources(tmp_path / "sources", {f"{n}.md": f"# Lost {n}\nrotate keys {n}\n" for n in range(9)})  # kept nowhere
    cache, store = build(tmp_path, "here", 3), tmp_path / "store" / "cache"
    open_hall().push_cache(str(cache), store.as_uri())
    next((store / "packs").iterdir()).unlink()
    hall = open_hall(allow_root=[store.as_uri()], cluster=cluster.url)
    with pytest.raises(CacheInvalidError):
        hall.resolve(store.as_uri(), "rotate keys")
    hall.close()

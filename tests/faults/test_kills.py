"""What does `kill -9` leave behind, at whatever moment? The old or the new, whole; and nobody.

Moments are drawn from a seed and spread over the measured course of each command: some by the clock, some from the
moment at which it begins to write. Only the process itself is killed; that its helpers end is what is to be shown.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache, disturbed, library_of, without_times, write_sources
from tests.contexts.making import write_files
from tests.faces.web.serving import HttpHall, RawSession
from tests.faults.killing import (
    GONE_SECONDS,
    TOKEN,
    Family,
    arguments_of,
    bytes_below,
    course_of,
    family_of,
    is_lock_free,
    kill_at,
    launch,
    launch_runaway,
    leftovers,
    moments,
    pass_time,
    run,
    running,
    undisturbed_port,
)
from tests.faults.scale import record, scaled
from tests.guild.making import make_member, read_cache, tool, write_cache
from tests.processes import CONTEXT, HANDSHAKE_2025, PATIENCE_SECONDS, RawServer
from tests.waiting import wait_until

from contexthall.caches.library import CacheRef
from contexthall.contexts.freshness.heads import MANY, SecondReader
from contexthall.core import limits
from contexthall.system import kernel

BUILDS = scaled(1, 3, 45)
REBUILDS = scaled(2, 4, 45)
DRAFTS = scaled(1, 2, 20)
REFRESHES = scaled(1, 1, 20)
CACHE_REFRESHES = scaled(2, 4, 45)
HALLS = scaled(1, 1, 20)
PIECES = scaled(1, 1, 5)
SECOND_READER_SECONDS = 0.5


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    with family_of(tmp_path) as family:
        yield family


# A build:


def corpus(word: str, count: int = 620) -> dict[str, str]:
    """So many documents that two workers share them; what they say depends on one word."""
    return {f"{number % 7}/{number}.md": f"{word}{number % 50} shared " * 40 for number in range(count)}


def test_a_build_that_is_killed_leaves_a_whole_cache_or_none_and_the_next_one_starts_at_once(
    tmp_path: Path, family: Family
) -> None:
    write_sources(tmp_path / "sources", corpus("word"))
    build = ("build", "--sources", "sources", "--cache", "cache")
    cache, workshop = tmp_path / "cache", tmp_path / ".contexthall-cache"
    course = course_of(family, *build, cwd=tmp_path, has_begun=workshop.exists)
    whole = bytes_below(cache)
    for moment in moments("build", BUILDS):
        shutil.rmtree(cache, ignore_errors=True)
        with running(family, *build, cwd=tmp_path) as process:
            kill_at(process, moment, course, workshop.exists)
        assert bytes_below(cache) in ({}, whole), moment
        wait_until(lambda: is_lock_free(workshop), GONE_SECONDS)
        family.ends_in_time()
    shutil.rmtree(cache, ignore_errors=True)
    assert run(family, *build, cwd=tmp_path).code == 0
    assert bytes_below(cache) == whole
    assert leftovers(tmp_path) == []
    record("kills", "a build", BUILDS)


# A forced rebuild, while readers resolve:

QUERIES = ("old1 new1", "shared", "nothing shared")
BUDGET = 400
# They only read: a hall that refreshed the cache itself would be one more writer.
_SERVED = ("--cache-root", ".", "--refresh-caches", "never")


class Readers:
    """A warm server over pipes and one over HTTP, and commands; all of them ask for the same cache."""

    def __init__(self, tmp_path: Path, family: Family, stack: ExitStack) -> None:
        self._cwd = tmp_path
        self._family = family
        self._server = stack.enter_context(RawServer(*_SERVED, cwd=tmp_path, env=family.environment()))
        self._server.initialize()
        hall = stack.enter_context(HttpHall(*_SERVED, cwd=tmp_path, env=family.environment()))
        self._session = RawSession(hall)
        self._session.initialize()
        self._stack = stack
        self._turn = 0

    def ask_the_warm(self) -> list[tuple[str, str]]:
        """Ask both servers one of the questions each."""
        self._turn += 1
        name, arguments = questions()[self._turn % len(questions())]
        over_pipes = self._server.request(self._turn, "tools/call", {"name": name, "arguments": arguments})["result"]
        over_http = self._session.request("tools/call", {"name": name, "arguments": arguments})
        return [(question(name, arguments), text_of(answer)) for answer in (over_pipes, over_http)]

    def ask_all(self) -> dict[str, str]:
        """Ask both servers everything, which they must agree on."""
        answers = {each for _ in questions() for each in self.ask_the_warm()}
        assert len(answers) == len(questions())
        return dict(answers)

    def start_a_cold_one(self) -> "subprocess.Popen[bytes]":
        self._turn += 1
        query = QUERIES[self._turn % len(QUERIES)]
        return self._stack.enter_context(
            subprocess.Popen(
                [*CONTEXT, "resolve", "--cache", "cache", "--query", query, "--budget", str(BUDGET)],
                cwd=self._cwd,
                env=self._family.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
        )


def questions() -> list[tuple[str, dict[str, Any]]]:
    resolving = [("context.resolve", {"cache": "cache", "query": query, "budget": BUDGET}) for query in QUERIES]
    return [*resolving, ("context.inspect_cache", {"cache": "cache"}), ("context.list_caches", {})]


def question(name: str, arguments: dict[str, Any]) -> str:
    return f"{name} {arguments.get('query', '')}"


def text_of(answer: dict[str, Any]) -> str:
    assert not answer.get("isError"), answer
    return without_times(str(answer["content"][0]["text"]))


def heard_cold(process: "subprocess.Popen[bytes]") -> tuple[str, str]:
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    arguments = process.args
    assert isinstance(arguments, list)
    return f"context.resolve {arguments[arguments.index('--query') + 1]}", without_times(said.decode())


def test_whoever_reads_during_rebuilds_that_are_killed_gets_the_old_answers_or_the_new_ones(
    tmp_path: Path, family: Family
) -> None:
    for name in ("old", "new"):
        write_sources(tmp_path / name, corpus(name))
    build = {name: ("build", "--sources", name, "--cache", "cache", "--force") for name in ("old", "new")}
    workshop = tmp_path / ".contexthall-cache"
    heard: list[tuple[str, str]] = []
    with ExitStack() as stack:
        assert run(family, *build["new"], cwd=tmp_path).code == 0
        readers = Readers(tmp_path, family, stack)
        answers = {"new": readers.ask_all()}
        course = course_of(family, *build["old"], cwd=tmp_path, has_begun=workshop.exists)
        answers["old"] = readers.ask_all()
        allowed = {(asked, answer) for name in answers for asked, answer in answers[name].items()}
        assert len(allowed) == len(questions()) * 2 - 1  # only the list of caches is the same
        for number, moment in enumerate(moments("rebuild", REBUILDS)):
            with running(family, *build["new" if number % 2 == 0 else "old"], cwd=tmp_path) as process:
                cold = readers.start_a_cold_one()
                kill_at(process, moment, course, workshop.exists, lambda: heard.extend(readers.ask_the_warm()))
            heard.append(heard_cold(cold))
            assert readers.ask_all() in answers.values(), moment
            wait_until(lambda: is_lock_free(workshop), GONE_SECONDS)
        assert not set(heard) - allowed
    assert run(family, *build["new"], cwd=tmp_path).code == 0
    assert library_of(tmp_path).verify(CacheRef(str(tmp_path / "cache"))) == ()
    assert leftovers(tmp_path) == []
    family.ends_in_time()
    record("kills", "a forced rebuild while readers resolve", REBUILDS)
    record("kills", "answers read meanwhile, each the old or the new", len(heard))


def compared(cache: Path) -> dict[str, bytes]:
    """What a refreshed cache has in common with a whole build: all but the segments."""
    return {name: data for name, data in bytes_below(cache).items() if not name.startswith("segment")}


def test_a_cache_whose_refresh_is_killed_is_the_old_one_or_the_new_one_for_readers_too(
    tmp_path: Path, family: Family
) -> None:
    pages = {name: corpus("same") | {f"{name}.md": f"{name}1"} | corpus(name, 330) for name in ("old", "new")}
    sources, workshop, refresh = tmp_path / "sources", tmp_path / ".contexthall-cache", ("refresh", "cache")
    build = ("build", "--sources", "sources", "--cache", "cache")

    def become(name: str) -> None:
        shutil.rmtree(sources, ignore_errors=True)
        write_sources(sources, pages[name])

    heard: list[tuple[str, str]] = []
    with ExitStack() as stack:
        become("new")
        assert run(family, *build, cwd=tmp_path).code == 0
        readers, wholes = Readers(tmp_path, family, stack), {"new": compared(tmp_path / "cache")}
        answers = {"new": readers.ask_all()}
        become("old")
        course = course_of(family, *refresh, cwd=tmp_path, has_begun=workshop.exists)
        answers["old"], wholes["old"] = readers.ask_all(), compared(tmp_path / "cache")
        allowed = {(asked, answer) for name in answers for asked, answer in answers[name].items()}
        for number, moment in enumerate(moments("refresh of a cache", CACHE_REFRESHES)):
            become("new" if number % 2 == 0 else "old")
            with running(family, *refresh, cwd=tmp_path) as process:
                kill_at(process, moment, course, workshop.exists, lambda: heard.extend(readers.ask_the_warm()))
            assert compared(tmp_path / "cache") in wholes.values(), moment
            assert library_of(tmp_path).verify(CacheRef(str(tmp_path / "cache"))) == (), moment
            wait_until(lambda: is_lock_free(workshop), GONE_SECONDS)
        assert not {each for each in heard if "inspect_cache" not in each[0]} - allowed  # which counts segments too
    become("new")
    assert run(family, *refresh, cwd=tmp_path).code == 0
    assert compared(tmp_path / "cache") == wholes["new"]
    assert leftovers(tmp_path) == []
    family.ends_in_time()
    record("kills", "a refresh of a cache while readers resolve", CACHE_REFRESHES)


def test_a_cache_that_is_replaced_while_it_is_inspected_is_not_counted_in_part(tmp_path: Path) -> None:
    old, new = build_cache(tmp_path, {"a.md": "a"}, name="old"), build_cache(tmp_path, {"b.md": "b " * 99}, name="new")
    wholes = {library_of(tmp_path).inspect(CacheRef(str(cache))) for cache in (old, new)}

    def replace() -> None:
        kernel.exchange(str(old), str(new))
        (new / "index.json").unlink()  # of the old one, which has this name now

    assert library_of(tmp_path, disturbed(os.listdir, "", replace)).inspect(CacheRef(str(old))) in wholes


# Contexts:

WORDS = "# Ask Ada before you touch this.\ndecisions:\n- what: Nobody is paid twice.\n  why: It happened once.\n"


def make_shop(root: Path) -> Path:
    """A project in which two workers have to share, and a person has written one context."""
    write_files(root, {".context.config.yaml": "min_tokens: 0\n"})
    write_files(
        root,
        {
            f"d{number}/x.py": f'"""Counts what was sold at place {number}."""\n\ndef f{number}(): ...\n'
            for number in range(110)
        },
    )
    human = 'version: 1\nscope: people\nfingerprint: "00000000"\nlast_updated: "2026-01-01T00:00:00Z"\n'
    write_files(
        root, {"people/pay.py": "", "people/.context.yaml": f"{human}summary: Pay.\nmaintenance: None.\n{WORDS}"}
    )
    return root


def texts(root: Path) -> dict[str, bytes]:
    """What `init` and `regen` write."""
    return {name: data for name, data in bytes_below(root).items() if name.endswith((".context.yaml", "AGENTS.md"))}


def put_back(root: Path, before: dict[str, bytes]) -> None:
    """Let files be what they were; what is half made stays."""
    for name in bytes_below(root).keys() - before.keys():
        if ".contexthall-" not in name:
            (root / name).unlink()
    for name, data in before.items():
        (root / name).write_bytes(data)


def kill_drafting(tmp_path: Path, family: Family, command: str, change: Callable[[Path], object]) -> None:
    """Let a command be killed in one project, and work undisturbed in another one of the same name."""
    reference, shop = (make_shop(tmp_path / place / "shop") for place in ("reference", "killed"))
    for root in (reference, shop):
        change(root)
    before, everything = texts(shop), bytes_below(shop)
    home = Path(os.environ["HOME"])  # where the ledger is, which tells what the machine wrote from what people did
    remembered = bytes_below(home)

    def has_begun(root: Path = shop) -> bool:
        first = root / "d0" / ".context.yaml"
        return first.exists() and first.read_bytes() != before.get("d0/.context.yaml")

    course = course_of(family, command, cwd=reference, has_begun=lambda: has_begun(reference))
    after = texts(reference)
    assert len(after) == 110 + 3
    for moment in moments(command, DRAFTS):
        put_back(shop, everything)
        put_back(home, remembered)
        with running(family, command, cwd=shop) as process:
            kill_at(process, moment, course, has_begun)
        family.ends_in_time()
        for name, data in texts(shop).items():
            assert data in (before.get(name), after[name]), (moment, name)
        assert texts(shop).keys() >= before.keys()
    assert WORDS.encode() in texts(shop)["people/.context.yaml"]
    assert run(family, command, cwd=shop).code == 0
    assert texts(shop) == after
    assert leftovers(shop, home) == []
    record("kills", f"`context {command}`", DRAFTS)


def test_when_init_is_killed_every_context_is_whole_or_not_there_and_the_next_one_finishes(
    tmp_path: Path, family: Family
) -> None:
    kill_drafting(tmp_path, family, "init", lambda _: None)


@pytest.mark.long
def test_when_regen_is_killed_every_context_is_the_old_or_the_new_and_the_next_one_finishes(
    tmp_path: Path, family: Family
) -> None:
    def change(root: Path) -> None:
        assert run(family, "init", cwd=root).code == 0
        write_files(
            root, {f"d{number}/y.py": f'"""Counts what came back to place {number}."""\n' for number in range(110)}
        )
        write_files(root, {"README.md": "# Shop\n\nSells things.\n", "people/more.py": ""})

    kill_drafting(tmp_path, family, "regen", change)


# A refresh of ten members:


@pytest.mark.long
def test_when_a_refresh_is_killed_every_list_is_the_old_or_the_new_and_nothing_is_left(
    tmp_path: Path, family: Family
) -> None:
    guild, names = tmp_path / "guild", [f"m{number}" for number in range(10)]
    for number, name in enumerate(names):
        make_member(guild, name, **(launch_runaway if number == 0 else launch)(family, "--tools", "40"))
    old = [tool("before")]
    refresh = ("guild", "refresh", "--guild", "guild")

    def tools_of(name: str) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = read_cache(guild / name)["tools"]
        return tools

    def begin() -> None:
        for name in names:
            write_cache(guild / name, *old)

    def has_begun() -> bool:
        return any(tools_of(name) != old for name in names)

    begin()
    course = course_of(family, *refresh, cwd=tmp_path, has_begun=has_begun)
    new = tools_of("m1")
    assert len(new) == 41
    for moment in moments("refresh", REFRESHES):
        begin()
        with running(family, *refresh, cwd=tmp_path) as process:
            kill_at(process, moment, course, has_begun)
        family.ends_in_time()
        assert all(tools_of(name) in (old, new) for name in names), moment
    assert run(family, *refresh, cwd=tmp_path).code == 0
    assert all(tools_of(name) == new for name in names)
    assert leftovers(guild, Path(os.environ["HOME"])) == []
    family.ends_in_time()
    record("kills", "a refresh of ten members", REFRESHES)


# The hall, with members running:


def make_guild(tmp_path: Path, family: Family) -> None:
    """Members that hang in a call, cannot be asked to end, bear children or let them run away, or never get started."""
    stubborn = ("--ignore-term", "--grandchild", "--hang-in-call")
    members = {
        "plain": launch(family),
        "stubborn": launch(family, *stubborn),
        "runaway": launch_runaway(family, *stubborn),
        "starting": launch(family, *stubborn, "--start-delay", "60"),
        "deaf": launch(family, "--port", "${PORT}", "--ignore-term", "--call-delay", "60", program="http_member.py"),
    }
    for name, mcp in members.items():
        directory = make_member(tmp_path / "guild", name, **mcp)
        write_cache(directory, tool("echo"))
    manifest = json.loads((tmp_path / "guild" / "deaf" / "plugin.json").read_text())
    (tmp_path / "guild" / "deaf" / "plugin.json").write_text(json.dumps({**manifest, "transport": "http"}))


MEMBERS = ("plain", "stubborn", "runaway", "starting", "deaf")


def are_all_there(family: Family) -> bool:
    """Whether all servers run, and their children, those that ran away too, and who watches over them."""
    return (
        len(family.find("member.py")) >= len(MEMBERS) * 2 + 3  # a watcher each, and three children
        and len(runaways(family)) == 3
        and bool(family.find("context-hall", "CONTEXTHALL_MARK="))
    )


def runaways(family: Family) -> list[int]:
    return [each for each in family.find("sleep 600") if arguments_of(each)[:1] == [b"sleep"]]


def call_of(name: str, identifier: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": {"name": f"{name}__echo"}}


def serving(tmp_path: Path, family: Family) -> RawServer:
    choices = ("--guild", "guild", "--guild-refresh", "never")
    return RawServer(*choices, cwd=tmp_path, env=family.environment())


class PatientSession(RawSession):
    """One that can ask and not wait for the answer."""

    def begin(self, message: dict[str, Any]) -> socket.socket:
        url, body = self._hall.http.base_url, json.dumps(message).encode()
        lines = {**self._headers, "Host": f"{url.host}:{url.port}", "Content-Type": "application/json"}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection = socket.create_connection((url.host, url.port), PATIENCE_SECONDS)
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return connection


def kill_hall(hall: subprocess.Popen[bytes], family: Family, moment: float | None) -> None:
    """Kill a hall after so many seconds, or as soon as all its members run; nobody outlives it."""
    if moment is None:
        wait_until(lambda: are_all_there(family))
    else:
        pass_time(moment, hall)
    hall.kill()
    hall.wait()
    family.ends_in_time()


def test_when_a_hall_over_pipes_is_killed_nobody_outlives_it(tmp_path: Path, family: Family) -> None:
    make_guild(tmp_path, family)
    for number, moment in enumerate(moments("stdio hall", HALLS)):
        with serving(tmp_path, family) as server:
            server.initialize()
            server.send(*(call_of(name, identifier) for identifier, name in enumerate(MEMBERS)))
            kill_hall(server.process, family, moment if number % 2 else None)
    record("kills", "a hall over pipes, members running", HALLS)


@pytest.mark.long
def test_when_a_hall_over_http_is_killed_nobody_outlives_it_and_its_port_is_free(
    tmp_path: Path, family: Family
) -> None:
    make_guild(tmp_path, family)
    port = str(undisturbed_port())
    for number, moment in enumerate(moments("HTTP hall", HALLS)):
        choices = ("--guild", "guild", "--guild-refresh", "never")
        with HttpHall(*choices, cwd=tmp_path, http=port, env=family.environment()) as hall, ExitStack() as calls:
            session = PatientSession(hall)
            session.initialize()
            for identifier, name in enumerate(MEMBERS):
                calls.enter_context(session.begin(call_of(name, identifier)))
            kill_hall(hall.process, family, moment if number % 2 else None)
    with HttpHall(cwd=tmp_path, http=port, env=family.environment()) as hall:
        assert hall.get("/api/hall")
    record("kills", "a hall over HTTP, members running", HALLS)


def is_whole(family: Family) -> bool:
    """Whether two servers run, who watches over them, and the children of one: one at home, and three who are not."""
    return (len(family.find("member.py")), len(runaways(family))) == (5, 3)


def test_a_hall_takes_all_of_its_own_with_it_and_nobody_of_another_hall(tmp_path: Path, family: Family) -> None:
    make_guild(tmp_path, family)
    with serving(tmp_path, family) as staying, serving(tmp_path, family) as leaving:
        staying.initialize()
        staying.send(call_of("runaway", 1))
        staying.request(2, "tools/call", {"name": "plain__echo"})
        leaving.initialize()
        wait_until(lambda: is_whole(family))
        before = set(family.alive())
        leaving.send(*(call_of(name, number) for number, name in enumerate(MEMBERS)))
        wait_until(lambda: len(runaways(family)) == 6)
        leaving.process.terminate()
        assert leaving.process.wait(GONE_SECONDS) == 0
        wait_until(lambda: set(family.alive()) <= before, GONE_SECONDS)
        assert is_whole(family)
        assert "isError" not in staying.request(3, "tools/call", {"name": "plain__echo"})["result"]
        staying.process.kill()
        staying.process.wait()
        family.ends_in_time()


# Single pieces:


def test_a_worker_ends_with_its_master_even_if_it_has_nothing_to_report(tmp_path: Path, family: Family) -> None:
    program = (
        "import time; from contexthall.system.processes import run_parallel; "
        "run_parallel([lambda _: time.sleep(600)] * 2, print)"
    )
    master = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=family.environment())
    wait_until(lambda: len(family.find("run_parallel")) == 3)
    master.kill()
    master.wait()
    family.ends_in_time()
    record("kills", "the master of workers that have nothing to report", 1)


@pytest.mark.parametrize(
    "said", [b"", b"\x05\0\0", b"\x05\0\0\0\0\0\0\0K"], ids=["nothing", "half a length", "half a report"]
)
def test_a_worker_that_is_killed_while_it_reports_is_one_error(tmp_path: Path, family: Family, said: bytes) -> None:
    program = f"""
import os, signal
from contexthall.core.errors import InternalError
from contexthall.system.processes import run_parallel

def die(_):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, {said!r})
        except OSError:
            pass
    os.kill(os.getpid(), signal.SIGKILL)

try:
    run_parallel([die, lambda _: None], lambda _: None)
except InternalError as error:
    print(error.detail)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=family.environment(), capture_output=True, check=True
    )
    assert done.stdout == b"a worker died\n"


def test_a_build_whose_worker_is_killed_fails_and_leaves_the_old_cache(tmp_path: Path, family: Family) -> None:
    write_sources(tmp_path / "old", {"a.md": "a"})
    write_sources(tmp_path / "new", corpus("word", 2000))
    assert run(family, "build", "--sources", "old", "--cache", "cache", cwd=tmp_path).code == 0
    before = bytes_below(tmp_path)
    build = [*CONTEXT, "build", "--sources", "new", "--cache", "cache", "--force"]
    with subprocess.Popen(build, cwd=tmp_path, env=family.environment(), stderr=subprocess.PIPE) as master:
        wait_until(lambda: len(family.find("--force")) == 3)
        os.kill(max(set(family.find("--force")) - {master.pid}), signal.SIGKILL)
        _, said = master.communicate(timeout=PATIENCE_SECONDS)
    assert master.returncode == 7
    assert b"a worker died" in said
    assert bytes_below(tmp_path) == before
    family.ends_in_time()
    record("kills", "one of two workers of a build", 1)


SETTLED_SECONDS = 2.2


def many_contexts(root: Path, text: str) -> Path:
    """So many contexts that a second process reads them; old enough for what is seen of them to be believed."""
    fields = 'scope: d\nfingerprint: "00000000"\nlast_updated: "2026-01-01T00:00:00Z"\nmaintenance: M.\n'
    write_files(root, {"text": f"version: 1\n{fields}{text}"})
    for number in range(MANY + 50):
        (root / f"d{number}").mkdir()
        (root / f"d{number}" / ".context.yaml").hardlink_to(root / "text")
    made = time.monotonic()
    wait_until(lambda: time.monotonic() > made + SETTLED_SECONDS)
    return root


@contextmanager
def listing(family: Family, root: Path, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A listing by a process that remembers nothing."""
    with subprocess.Popen(
        [*CONTEXT, "status", "--json"],
        cwd=root,
        env=family.environment(HOME=str(home)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        yield process


def second_reader(family: Family) -> int:
    found = 0

    def is_found() -> int:
        nonlocal found
        found = next(iter(family.find("freshness.heads")), 0)
        return found

    wait_until(is_found)
    return found


def test_a_listing_whose_second_reader_is_killed_is_the_same(tmp_path: Path, family: Family) -> None:
    root = many_contexts(tmp_path / "project", "summary: S.\n" + "todos:\n" + "- Say it once.\n" * 300)
    heard = []
    for number, moment in enumerate((None, *moments("second reader", PIECES))):
        with listing(family, root, tmp_path / f"home{number}") as process:
            reader = second_reader(family)
            if moment is not None:
                pass_time(moment * SECOND_READER_SECONDS, process)
                with suppress(ProcessLookupError):  # it may have done its work
                    os.kill(reader, signal.SIGKILL)
            heard.append(process.communicate(timeout=PATIENCE_SECONDS)[0])
            assert process.returncode == 0
    assert heard[0].count(b'"has_context":true') == MANY + 50
    assert set(heard) == {heard[0]}
    record("kills", "the second process that reads contexts", PIECES)


@pytest.mark.long
def test_a_second_reader_does_not_go_on_reading_for_one_who_is_gone(tmp_path: Path, family: Family) -> None:
    root = many_contexts(tmp_path / "project", "todos:\n" + "- Say it once.\n" * 30_000)
    with listing(family, root, tmp_path / "home") as process:
        second_reader(family)
        process.kill()
        process.wait()
        family.ends_in_time()
    record("kills", "a listing whose contexts are read by a second process", 1)


def test_a_second_reader_that_somebody_has_stopped_is_not_waited_for(
    tmp_path: Path, family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, family.token)
    monkeypatch.setattr(limits, "READER_SECONDS", 0.5)
    with SecondReader() as second:
        for number in range(MANY):
            second.ask_for(str(tmp_path / str(number)))
        os.kill(second_reader(family), signal.SIGSTOP)
        assert second.answers() == {}
    family.ends_in_time()


def make_lone_member(tmp_path: Path, family: Family, *flags: str, **mcp: Any) -> None:
    flags = (*flags, "--record", str(tmp_path / "record"))
    directory = make_member(tmp_path / "guild", "lone", **{**launch(family, *flags), **mcp})
    write_cache(directory, tool("echo"))


def servers(family: Family) -> list[int]:
    """Who serves: the leaders of their groups, once they are Python."""
    return [each for each in family.find("member.py") if os.getpgid(each) == each and b"-c" not in arguments_of(each)]


def watchers(family: Family) -> list[int]:
    return family.find("/bin/sh -c", "context-hall", "member.py")


def wait_for_call(tmp_path: Path, count: int = 1) -> None:
    record_file = tmp_path / "record"
    wait_until(lambda: record_file.exists() and record_file.read_text().count("call echo") == count)


def test_a_server_that_is_killed_in_a_call_costs_that_call_alone(tmp_path: Path, family: Family) -> None:
    make_lone_member(tmp_path, family, "--call-delay", "0.5", "--grandchild")
    with serving(tmp_path, family) as server:
        server.initialize()
        for turn in range(1, PIECES + 1):
            server.send(call_of("lone", turn))
            wait_for_call(tmp_path, 2 * turn - 1)
            (pid,) = servers(family)
            os.kill(pid, signal.SIGKILL)
            result = server.receive()["result"]
            assert result["isError"] is True
            assert result["content"][0]["text"].startswith("lone: the server was ended by signal 9 during the call")
            assert server.request("again", "tools/call", {"name": "lone__echo"})["result"].get("isError") is None
            os.kill(servers(family)[0], signal.SIGKILL)
            wait_until(lambda: not family.find("member.py"))
    record("kills", "a member's server, in the middle of a call and idle", 2 * PIECES)


def test_a_server_that_is_stopped_and_goes_on_answers_late(tmp_path: Path, family: Family) -> None:
    make_lone_member(tmp_path, family)
    with serving(tmp_path, family) as server:
        server.initialize()
        server.request(1, "tools/call", {"name": "lone__echo"})
        os.kill(servers(family)[0], signal.SIGSTOP)
        server.send(call_of("lone", 2))
        assert server.request(3, "ping")["result"] == {}
        os.kill(servers(family)[0], signal.SIGCONT)
        assert server.receive()["id"] == 2
        assert len(servers(family)) == 1


@pytest.mark.parametrize("number", scaled([signal.SIGKILL], [signal.SIGKILL], [signal.SIGKILL, signal.SIGTERM]))
@pytest.mark.parametrize("what", ["killed", "stopped"])
def test_nobody_outlives_a_hall_whose_watchers_are_out_of_action(
    tmp_path: Path, family: Family, what: str, number: signal.Signals
) -> None:
    make_lone_member(tmp_path, family, "--ignore-term", "--grandchild")
    with serving(tmp_path, family) as server:
        server.initialize()
        server.request(1, "tools/call", {"name": "lone__echo"})
        (watcher,) = watchers(family)
        if what == "killed":
            os.kill(watcher, signal.SIGKILL)
        else:
            os.killpg(watcher_group := os.getpgid(watcher), signal.SIGSTOP)
            assert watcher_group in servers(family)
        server.process.send_signal(number)
        assert server.process.wait(GONE_SECONDS) == (-number if number == signal.SIGKILL else 0)
        family.ends_in_time()
    kills = (what == "killed") + (number == signal.SIGKILL)
    record("kills", f"a watcher is {what}, then its hall gets {number.name}", kills)


def test_an_orphan_reaper_that_is_killed_is_replaced_with_the_next_server(tmp_path: Path, family: Family) -> None:
    mcp = launch_runaway(family, "--ignore-term")
    for name in ("one", "two"):
        write_cache(make_member(tmp_path / "guild", name, **mcp), tool("echo"))
    with serving(tmp_path, family) as server:
        server.initialize()
        server.request(1, "tools/call", {"name": "one__echo"})
        (reaper,) = family.find("CONTEXTHALL_MARK=", "/proc/")
        os.kill(reaper, signal.SIGKILL)
        wait_until(lambda: reaper not in family.alive())
        server.request(2, "tools/call", {"name": "two__echo"})
        wait_until(lambda: len(runaways(family)) == 6)
        server.process.kill()
        server.process.wait()
        family.ends_in_time()
    record("kills", "an orphan reaper, then its hall", 2)


def test_the_group_of_a_server_ends_with_it_although_nobody_watches(tmp_path: Path, family: Family) -> None:
    make_lone_member(tmp_path, family, "--grandchild", idleSeconds=0.5)
    with serving(tmp_path, family) as server:
        server.initialize()
        server.request(1, "tools/call", {"name": "lone__echo"})
        (watcher,) = watchers(family)
        assert len(family.find("member.py")) == 3
        os.kill(watcher, signal.SIGKILL)
        wait_until(lambda: not family.find("member.py"))
        assert server.request(2, "ping")["result"] == {}
    record("kills", "a watcher, then idleness ends the server", 1)


@pytest.mark.long
def test_a_hall_that_is_killed_while_it_ends_leaves_nobody(tmp_path: Path, family: Family) -> None:
    make_guild(tmp_path, family)
    for moment in moments("ending", PIECES):
        with serving(tmp_path, family) as server:
            server.initialize()
            server.send(*(call_of(name, number) for number, name in enumerate(MEMBERS)))
            wait_until(lambda: are_all_there(family))
            server.process.terminate()
            pass_time(moment, server.process)
            server.process.kill()
            server.process.wait()
            family.ends_in_time()
    record("kills", "a hall while it ends", PIECES)


@pytest.mark.parametrize("in_flight", scaled([True], [True], [True, False]))
def test_when_the_agent_is_killed_its_hall_ends_and_so_does_everybody(
    tmp_path: Path, family: Family, in_flight: bool
) -> None:
    make_lone_member(tmp_path, family, "--ignore-term", "--grandchild", *(["--hang-in-call"] if in_flight else []))
    program = (
        "import subprocess, sys; pipe = subprocess.PIPE; "
        "hall = subprocess.Popen(sys.argv[2:], stdin=pipe, stdout=pipe); "
        "hall.stdin.write(sys.argv[1].encode()); hall.stdin.flush(); hall.wait()"
    )
    client = {"protocolVersion": HANDSHAKE_2025, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call_of("lone"),
    ]
    lines = "".join(json.dumps(message) + "\n" for message in asked)
    hall = (*CONTEXT, "serve", "--guild", "guild", "--guild-refresh", "never")
    command = [sys.executable, "-c", program, lines, *hall]
    with subprocess.Popen(command, cwd=tmp_path, env=family.environment()) as agent:
        wait_for_call(tmp_path)
        agent.kill()
        agent.wait()
        family.ends_in_time()
    record("kills", f"the agent of a hall over pipes, {'a call in flight' if in_flight else 'idle'}", 1)

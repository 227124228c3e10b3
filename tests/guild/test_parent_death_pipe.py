"""Does anything outlive the hall? No: whatever ends it, and at whatever moment, its members and their children end.

`context serve` as a real process with real members, most of which ignore SIGTERM and the end of input.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.guild.making import make_http_member, make_member, tool, write_cache
from tests.processes import RawServer
from tests.waiting import until, wait_until

from contexthall.guild.servers.process import MemberProcess, OrphanReaper

GONE_SECONDS = 30.0
STUBBORN = ("--ignore-term", "--grandchild")

Begin = Callable[[RawServer, Path], None]


def stdio_member(tmp_path: Path, name: str = "stubborn", *flags: str) -> None:
    """Make a member that ends by force alone, and so does the child that it forks."""
    record = str(tmp_path / "record")
    write_cache(make_member(tmp_path / "guild", name, *STUBBORN, "--record", record, *flags), tool("echo"))


def http_member(tmp_path: Path, name: str = "stubborn", *flags: str) -> None:
    record = str(tmp_path / "record")
    write_cache(make_http_member(tmp_path / "guild", name, "--ignore-term", "--record", record, *flags), tool("echo"))


def serve(tmp_path: Path, refresh: str = "never") -> RawServer:
    return RawServer("--guild", "guild", "--guild-refresh", refresh, cwd=tmp_path)


def call(identifier: int, name: str = "stubborn__echo") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": {"name": name}}


def recorded(tmp_path: Path, *beginnings: str) -> list[str]:
    record = tmp_path / "record"
    text = record.read_text() if record.exists() else ""
    return [line for line in text.splitlines() if line.startswith(beginnings)]


def family(tmp_path: Path) -> set[int]:
    """Find who runs on behalf of the guild: servers, their children and who watches over them.

    All of them have the name of the record among their arguments; one that has ended, and that nobody has waited for
    yet, has none.
    """
    return {int(entry.name) for entry in processes() if os.fsencode(tmp_path / "record") in arguments(entry)}


def processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def arguments(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def all_recorded_run(tmp_path: Path) -> bool:
    pids = {int(line.split()[1]) for line in recorded(tmp_path, "started", "grandchild")}
    return bool(pids) and pids < family(tmp_path)  # there is a watcher, too


# Moments at which the hall may end:


def starting(server: RawServer, tmp_path: Path) -> None:
    server.send(call(1))
    wait_until(lambda: len(recorded(tmp_path, "started", "grandchild")) >= (2 if is_stdio(tmp_path) else 1))


def idle(server: RawServer, tmp_path: Path) -> None:
    assert "result" in server.request(1, "tools/call", {"name": "stubborn__echo"})
    assert recorded(tmp_path, "call") == ["call echo"]


def calling(server: RawServer, tmp_path: Path) -> None:
    server.send(call(1))
    wait_until(lambda: recorded(tmp_path, "call") == ["call echo"])


def is_stdio(tmp_path: Path) -> bool:
    return "--grandchild" in (tmp_path / "guild" / "stubborn" / "plugin.json").read_text()


STAGES = [
    pytest.param(stdio_member, ("--start-delay", "60"), starting, id="stdio starting"),
    pytest.param(http_member, ("--start-delay", "60"), starting, id="http starting"),
    pytest.param(stdio_member, (), idle, id="stdio idle"),
    pytest.param(http_member, (), idle, id="http idle"),
    pytest.param(stdio_member, ("--hang-in-call",), calling, id="stdio calling"),
    pytest.param(http_member, ("--call-delay", "60"), calling, id="http calling"),
]


@contextmanager
def serving(tmp_path: Path, reach: Begin) -> Iterator[RawServer]:
    """A hall that has reached such a moment, and everybody with it."""
    with serve(tmp_path) as server:
        server.initialize()
        reach(server, tmp_path)
        assert all_recorded_run(tmp_path)
        yield server


@pytest.mark.long
@pytest.mark.parametrize(("make", "flags", "reach"), STAGES)
def test_after_the_hall_was_killed_nothing_is_left(
    tmp_path: Path, make: Callable[..., None], flags: tuple[str, ...], reach: Begin
) -> None:
    make(tmp_path, "stubborn", *flags)
    with serving(tmp_path, reach) as server:
        server.process.kill()
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


@pytest.mark.parametrize(("make", "flags", "reach"), STAGES)
def test_when_the_hall_is_told_to_end_nothing_is_left(
    tmp_path: Path, make: Callable[..., None], flags: tuple[str, ...], reach: Begin
) -> None:
    make(tmp_path, "stubborn", *flags)
    with serving(tmp_path, reach) as server:
        server.process.terminate()
        assert server.process.wait(GONE_SECONDS) == 0
        assert server.errors_so_far() == b""
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


@pytest.mark.parametrize("make", [stdio_member, http_member])
def test_when_the_agent_is_gone_nothing_is_left(tmp_path: Path, make: Callable[..., None]) -> None:
    make(tmp_path)
    with serving(tmp_path, idle) as server:
        server.close_input()
        assert server.process.wait(GONE_SECONDS) == 0
        assert server.errors_so_far() == b""
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


def test_a_server_that_does_not_even_listen_holds_up_no_end(tmp_path: Path) -> None:
    http_member(tmp_path)
    with serving(tmp_path, idle) as server:
        for line in recorded(tmp_path, "started"):
            os.kill(int(line.split()[1]), signal.SIGSTOP)
        server.process.terminate()
        assert server.process.wait(GONE_SECONDS) == 0
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_hall_ends_while_it_refreshes_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("a", "b", "c"):
        stdio_member(tmp_path, name, "--start-delay", "60")
        http_member(tmp_path, f"http-{name}", "--start-delay", "60")
    with serve(tmp_path, "all") as server:
        server.initialize()
        assert len(server.request(1, "tools/list")["result"]["tools"]) > 6
        wait_until(lambda: len(recorded(tmp_path, "started")) == 4)  # no more at a time
        assert all_recorded_run(tmp_path)
        server.process.send_signal(number)
        assert server.process.wait(GONE_SECONDS) == (-number if number == signal.SIGKILL else 0)
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


def test_a_server_that_ended_by_itself_leaves_nobody_behind(tmp_path: Path) -> None:
    stdio_member(tmp_path, "stubborn", "--die-in-call")
    with serve(tmp_path) as server:
        server.initialize()
        assert server.request(1, "tools/call", {"name": "stubborn__echo"})["result"]["isError"] is True
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)
        assert server.request(2, "ping")["result"] == {}


def test_an_idle_server_is_stopped_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    record = tmp_path / "record"
    directory = make_member(tmp_path / "guild", "sleepy", "--record", str(record), idleSeconds=0.2)
    write_cache(directory, tool("echo"))
    with serve(tmp_path) as server:
        server.initialize()
        for turn in (1, 2):
            assert "result" in server.request(turn, "tools/call", {"name": "sleepy__echo"})
            assert len(recorded(tmp_path, "started")) == turn
            wait_until(lambda turn=turn: len(recorded(tmp_path, "stopped")) == turn)  # type: ignore[misc]
        wait_until(lambda: not family(tmp_path), GONE_SECONDS)


def test_a_call_that_takes_longer_than_idleness_is_not_cut_off(tmp_path: Path) -> None:
    flags = ("--call-delay", "0.6", "--record", str(tmp_path / "record"))
    write_cache(make_member(tmp_path / "guild", "slow", *flags, idleSeconds=0.1), tool("echo"))
    with serve(tmp_path) as server:
        server.initialize()
        assert "result" in server.request(1, "tools/call", {"name": "slow__echo"})
        wait_until(lambda: len(recorded(tmp_path, "stopped")) == 1)
        assert len(recorded(tmp_path, "started")) == 1


def test_thirty_three_calls_to_one_of_ten_sleeping_members_start_one_process(tmp_path: Path) -> None:
    for number in range(10):
        flags = ("--start-delay", "0.2", "--record", str(tmp_path / "record"))
        write_cache(make_member(tmp_path / "guild", f"m{number}", *flags), tool("echo"))
    with serve(tmp_path) as server:
        server.initialize()
        server.send(*(call(number, "m7__echo") for number in range(33)))
        answers = [server.receive() for _ in range(33)]
        assert sorted(answer["id"] for answer in answers) == list(range(33))
        assert all("result" in answer for answer in answers)
        assert len(recorded(tmp_path, "started")) == 1
        assert recorded(tmp_path, "call") == ["call echo"] * 33


WRAPPED = """trap : TERM
sh -c 'trap "echo asked >asked; exit" TERM; echo >ready; while :; do sleep 0.02; done' &
while kill -0 $!; do wait $!; done"""


def test_what_a_server_started_is_asked_to_end_as_well(tmp_path: Path) -> None:
    """Many a command only starts the real server and waits for it; that one gets a moment to tidy up."""

    async def work() -> None:
        reaper = OrphanReaper()  # who would end everybody if nobody held on to it
        process = await MemberProcess.start(
            ["/bin/sh", "-c", WRAPPED],
            directory=str(tmp_path),
            environment={"PATH": os.environ["PATH"]},
            reaper=reaper,
            on_stderr=lambda _words: None,
            port=80,  # it reads no input
        )
        await until((tmp_path / "ready").exists)
        await process.stop()

    asyncio.run(work())
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_a_server_is_waited_for_even_if_it_gets_no_time_to_end_by_itself(tmp_path: Path) -> None:
    async def work() -> None:
        reaper = OrphanReaper()
        process = await MemberProcess.start(
            ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.02; done"],
            directory=str(tmp_path),
            environment={"PATH": os.environ["PATH"]},
            reaper=reaper,
            on_stderr=lambda _words: None,
        )
        stop = asyncio.create_task(process.stop())
        await asyncio.sleep(0)
        stop.cancel()
        await asyncio.wait([stop])
        assert process.ended.result() == -signal.SIGKILL

    asyncio.run(work())

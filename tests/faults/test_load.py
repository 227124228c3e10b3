"""Many who ask at once, who do not read, who cancel and who hang up: every answer is right, and nothing is left behind.

The engine, and the long form with its figures, is benchmarks/load.py.
"""

import asyncio
import gc
import threading
from collections.abc import Awaitable
from pathlib import Path

import anyio
import pytest
from benchmarks.load import (
    QUESTIONS,
    SLOW,
    Pipe,
    Question,
    Watched,
    Web,
    furnish,
    over_http,
    over_pipes,
    right_answers,
    served,
    until_idle,
)
from tests.faults.scale import record, scaled
from tests.guild.making import make_member, tool, write_cache
from tests.processes import RawServer
from tests.waiting import until

from contexthall.core import limits
from contexthall.faces.workers import Workers

PING = QUESTIONS[0]
# Beside those that work: the loop's own, one for each of two members' processes that is waited for, and those that look
# at the sources of caches and of the one that is asked.
OTHER_THREADS = 6


@pytest.fixture
def home(tmp_path: Path) -> Path:
    furnish(tmp_path)
    return tmp_path


def carried_out(work: Awaitable[None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(230):
            await work

    asyncio.run(within())


def test_many_clients_over_http_get_right_answers_only_and_leave_nothing_behind(home: Path) -> None:
    async def ask() -> None:
        questions = await right_answers(home)
        tally, watched = await over_http(home, questions, clients=64, calls=scaled(160, 320, 6400))
        assert tally.wrong == []
        assert tally.swaps
        assert tally.pings
        # At the end all have left, but for the pipes to two members and the connections that idle for a moment.
        assert watched.seen[-1][1].descriptors < 64
        assert max(figures.threads for _, figures in watched.seen) <= limits.TOOL_THREADS + OTHER_THREADS
        record("load", "calls over HTTP, all answers right", tally.answered)

    carried_out(ask())


def test_pipelined_requests_are_all_answered_rightly(home: Path) -> None:
    async def ask() -> None:
        questions = await right_answers(home)
        tally, watched = await over_pipes(home, questions, requests=scaled(400, 800, 10_000))
        assert tally.wrong == []
        assert tally.answered == scaled(400, 800, 10_000)
        assert max(figures.threads for _, figures in watched.seen) <= limits.TOOL_THREADS + OTHER_THREADS
        record("load", "requests pipelined over stdio, all answers right", tally.answered)

    carried_out(ask())


def test_a_client_that_writes_everything_before_it_reads_anything_is_answered(home: Path) -> None:
    async def ask() -> None:
        async with Pipe.opened(home, guild=False) as pipe:
            numbers = {pipe.send(PING) for _ in range(2000)}
            await pipe.flush()
            assert {(await pipe.receive())["id"] for _ in range(2000)} == numbers

    carried_out(ask())


def test_a_client_that_does_not_read_is_held_back_and_then_gets_everything(home: Path) -> None:
    large = Question("tools/call", {"name": "context.inspect_cache", "arguments": {"cache": "x" * 8000}})

    async def ask() -> None:
        async with Pipe.opened(home, guild=False) as pipe:
            watched = Watched(pipe.process.pid)
            await pipe.ask(large)
            before = watched.look().resident
            with pipe.unread():
                numbers = {pipe.send(large) for _ in range(3500)}
                writing = asyncio.create_task(pipe.flush())
                await until_idle(watched)
                is_held_back, growth = not writing.done(), watched.look().resident - before
            assert is_held_back
            assert growth < 64 << 20
            assert {(await pipe.receive())["id"] for _ in range(3500)} == numbers

    carried_out(ask())


def test_a_log_that_nobody_reads_holds_up_nobody(tmp_path: Path) -> None:
    # Every call is refused by the system, which is logged, and nobody reads the pipe that the log goes to.
    with RawServer("--cache-root", str(tmp_path / "nothing"), cwd=tmp_path) as server:
        server.initialize()
        for number in range(800):
            answer = server.request(number, "tools/call", {"name": "context.list_caches", "arguments": {}})
            assert "io_error" in answer["result"]["content"][0]["text"]


def test_over_pipes_a_ping_overtakes_calls_and_a_cancelled_call_never_gets_its_turn(home: Path) -> None:
    async def ask() -> None:
        async with Pipe.opened(home) as pipe:
            slow = [pipe.send(SLOW) for _ in range(2 * limits.REQUESTS_UNDER_WAY)]
            ping = pipe.send(PING)
            assert (await pipe.receive())["id"] == ping
            last = pipe.send(QUESTIONS[3])
            for number in slow:
                pipe.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            assert (await pipe.receive())["id"] == last

    carried_out(ask())


@pytest.mark.parametrize("waiting", [0, 1])
def test_over_pipes_pings_are_answered_while_every_place_for_a_call_is_taken(tmp_path: Path, waiting: int) -> None:
    """Whether calls wait for a place as well, and the ping overtakes them, or none does."""
    record_file = tmp_path / "record"
    lazy = make_member(tmp_path / "guild", "lazy", "--call-delay", "40", "--record", str(record_file))
    write_cache(lazy, tool("slow"))

    def calls_begun() -> int:
        return record_file.read_text().count("call slow") if record_file.exists() else 0

    async def ask() -> None:
        async with Pipe.opened(tmp_path) as pipe:
            for _ in range(limits.REQUESTS_UNDER_WAY + waiting):
                pipe.send(SLOW)
            await until(lambda: calls_begun() == limits.REQUESTS_UNDER_WAY)
            for _ in range(3):
                async with asyncio.timeout(20):
                    assert (await pipe.ask(PING))["result"] == {}
            assert calls_begun() == limits.REQUESTS_UNDER_WAY

    carried_out(ask())


def test_over_pipes_a_call_that_waits_is_cancelled_though_all_before_it_go_on(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    lazy = make_member(tmp_path / "guild", "lazy", "--call-delay", "40", "--record", str(calls))
    write_cache(lazy, tool("slow"))

    def calls_begun() -> int:
        return calls.read_text().count("call slow") if calls.exists() else 0

    async def ask() -> None:
        async with Pipe.opened(tmp_path) as pipe:
            first, *_, waiting = [pipe.send(SLOW) for _ in range(limits.REQUESTS_UNDER_WAY + 1)]
            await until(lambda: calls_begun() == limits.REQUESTS_UNDER_WAY)
            for number in (waiting, first):  # the second makes room
                pipe.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            async with asyncio.timeout(20):
                assert (await pipe.ask(QUESTIONS[3]))["result"]
            assert calls_begun() == limits.REQUESTS_UNDER_WAY

    carried_out(ask())


def test_over_http_a_ping_is_answered_while_slow_calls_wait(home: Path) -> None:
    async def ask() -> None:
        async with served(home) as (url, _):
            clients = [Web(url) for _ in range(40)]
            for client in clients:
                await client.open()
            waiting = [asyncio.create_task(client.ask(SLOW)) for client in clients[1:]]
            for _ in range(20):
                assert (await clients[0].ask(PING))["result"] == {}
                assert (await clients[0].ask(QUESTIONS[3]))["result"]
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            for client in clients:
                await client.hang_up()

    carried_out(ask())


def test_what_a_client_that_hung_up_had_asked_for_is_cancelled(tmp_path: Path) -> None:
    journal, calls = tmp_path / "cancelled", tmp_path / "calls"
    flags = ("--call-delay", "30", "--cancelled-file", str(journal), "--record", str(calls))
    write_cache(make_member(tmp_path / "guild", "lazy", *flags), tool("slow"))

    async def ask() -> None:
        async with served(tmp_path) as (url, _):
            client = Web(url)
            await client.open()
            await client.abandon(SLOW, until(lambda: calls.exists() and "call" in calls.read_text()))
            await until(journal.exists)
            assert (await client.ask(PING))["result"] == {}
            await client.hang_up()

    carried_out(ask())


def test_calls_that_are_cancelled_as_fast_as_they_come_start_no_more_threads() -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        gate.wait()

    async def ask() -> None:
        workers = Workers(60.0, most=2)
        for number in range(8):
            asking = asyncio.create_task(workers.run(hang))
            if number < 2:
                await asyncio.to_thread(begun.acquire)
            await asyncio.wait([asking], timeout=0.05)  # so that a thread could have started
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        assert not begun.acquire(blocking=False)
        gate.set()
        assert await workers.run(lambda: "free again") == "free again"

    carried_out(ask())


def test_a_call_for_which_no_thread_is_free_runs_out_of_time() -> None:
    gate = threading.Event()

    async def ask() -> None:
        workers = Workers(0.05, most=1)
        with pytest.raises(TimeoutError):
            await workers.run(gate.wait)
        with pytest.raises(TimeoutError):
            await workers.run(lambda: None)
        gate.set()
        await is_free(workers)

    carried_out(ask())


async def is_free(workers: Workers) -> None:
    """Wait until the only thread has ended what it did."""
    with anyio.fail_after(90):
        while True:
            try:
                return await workers.run(lambda: None)
            except TimeoutError:
                continue


def test_a_call_that_fails_when_nobody_waits_for_it_any_more_bothers_nobody() -> None:
    gate = threading.Event()
    complaints: list[object] = []

    def fail() -> None:
        gate.wait()
        raise RuntimeError("too late")

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        workers = Workers(0.05, most=1)
        with pytest.raises(TimeoutError):
            await workers.run(fail)
        gate.set()
        await is_free(workers)
        gc.collect()

    carried_out(ask())
    assert complaints == []

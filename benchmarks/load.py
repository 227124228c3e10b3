"""Claim: under load every answer is right, memory and descriptors stay as they are, and nobody who pings has to wait.

    python -m benchmarks.load [--clients 64] [--calls 25000] [--pipelined 20000]

First a quiet hall answers every question once with each of two caches; these are the right answers. Then clients of all
kinds ask a hall over HTTP, some of them cancel or hang up, while the cache is replaced under them all the time; another
hall gets its requests over standard input without pause. What one hostile message may cost is in tests/faults.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.faults.scale import SEED, record
from tests.guild.making import make_member, tool, write_cache

from benchmarks.report import claims_table, publish
from benchmarks.runner import Claim, Sample, megabytes, next_to_target
from contexthall.caches.build.builder import CacheBuilder
from contexthall.system.disk import Disk

Json: TypeAlias = dict[str, Any]

HALL = (sys.executable, "-m", "contexthall", "serve")
GUILD = ("--guild", "guild", "--guild-refresh", "never")
PROTOCOL = "2025-11-25"
READY = b"Context Hall at "
PATIENCE_SECONDS = 60
SDK_CLIENTS = 4
SWAP_SECONDS, PING_SECONDS, WATCH_SECONDS = 1.0, 0.05, 0.25
SETTLED_CALLS = 10_000
IN_FLIGHT = 200
# What was promised: seconds, and how far memory and descriptors may move once ten thousand calls are answered.
PING, GROWTH = 0.25, 1.10
CANCELLED = -32800

SOURCES = (
    {f"doc-{number}.md": f"alpha beta {'gamma ' * number}" for number in range(24)},
    {f"doc-{number}.md": f"beta {'alpha ' * number} delta" for number in range(30)},
)


class Question(NamedTuple):
    """A request, and every answer to it that is right."""

    method: str
    params: Json
    answers: frozenset[str] = frozenset()

    @property
    def bare(self) -> str:
        return json.dumps([self.method, self.params], sort_keys=True)


def _call(name: str, **arguments: Any) -> Question:
    return Question("tools/call", {"name": name, "arguments": arguments})


QUESTIONS = (
    Question("ping", {}),
    Question("tools/list", {}),
    Question("tools/list", {"cursor": "another"}),
    _call("context.list_caches"),
    _call("context.list_caches", root="/"),
    _call("context.inspect_cache", cache="handbook"),
    _call("context.inspect_cache", cache="../handbook"),
    _call("context.resolve", cache="handbook", query="alpha gamma", budget=200),
    _call("context.resolve", cache="handbook", query="delta", budget=10_000),
    _call("context.resolve", cache="handbook", query="", budget=10**30),
    _call("context.resolve", cache="handbook", query=5, budget=1),
    _call("context.resolve", cache="missing", query="alpha", budget=1),
    _call("list_contexts"),
    _call("query_context", scope="."),
    _call("query_context", scope="../.."),
    _call("check_freshness", scope="src"),
    _call("check_freshness", scope="nowhere"),
    _call("zoo__echo", text="größe 😀"),
    _call("unknown"),
    _call("context.list_caches", unknown=1),
)
SLOW = _call("lazy__slow", text="x")


@dataclass
class Tally:
    """What was done, and what came of it."""

    answered: int = 0
    wrong: list[str] = field(default_factory=list)
    cancelled: int = 0
    hung_up: int = 0
    swaps: int = 0
    pings: list[float] = field(default_factory=list)

    def judge(self, question: Question, answer: Json) -> None:
        self.answered += 1
        if spelt(answer) not in question.answers:
            self.wrong.append(f"{question.bare[:200]}: {json.dumps(answer)[:500]}")


def spelt(answer: Json) -> str:
    """Spell an answer so that it can be compared: without its id."""
    return json.dumps({name: value for name, value in answer.items() if name != "id"}, sort_keys=True)


# The place:


def furnish(home: Path) -> None:
    """Make a project with a cache, a context and a guild."""
    for number, documents in enumerate(SOURCES):
        (home / f"sources-{number}").mkdir(parents=True)
        for name, content in documents.items():
            (home / f"sources-{number}" / name).write_text(content)
    (home / ".context" / "caches").mkdir(parents=True)
    swap_cache(home, 0)
    (home / "src").mkdir()
    (home / "src" / "main.py").write_text("print(1)\n")
    context = 'version: 1\nscope: .\nfingerprint: "00000000"\nlast_updated: 2026-01-01\nsummary: A place.\n'
    (home / ".context.yaml").write_text(context)
    write_cache(make_member(home / "guild", "zoo"), tool("echo"))
    write_cache(make_member(home / "guild", "lazy", "--call-delay", "30"), tool("slow"))


def swap_cache(home: Path, version: int) -> None:
    """Put another cache in the place of the one that is there."""
    target = home / ".context" / "caches" / "handbook"
    builder = CacheBuilder(Disk(), f"2026-01-01T00:00:0{version}Z")
    builder.build(str(home / f"sources-{version}"), str(target), force=True)


async def right_answers(home: Path, questions: Iterable[Question] = QUESTIONS) -> list[Question]:
    """Ask a quiet hall, with each of the caches."""
    known: dict[str, set[str]] = {}
    asked = list(questions)
    for version in range(len(SOURCES)):
        swap_cache(home, version)
        async with Pipe.opened(home, "--confine") as pipe:
            for question in asked:
                known.setdefault(question.bare, set()).add(spelt(await pipe.ask(question)))
    return [question._replace(answers=frozenset(known[question.bare])) for question in asked]


# Those who ask:


class Pipe:
    """A hall over standard input and output, and its only client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._numbers = count(1)

    @classmethod
    @asynccontextmanager
    async def opened(cls, home: Path, *flags: str, guild: bool = True) -> AsyncIterator["Pipe"]:
        process = await asyncio.create_subprocess_exec(
            *(*HALL, *(GUILD if guild else ()), *flags),
            cwd=home,
            env=environment(home),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 27,
        )
        pipe = cls(process)
        try:
            await pipe.ask(Question("initialize", _hello()))
            pipe.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
            yield pipe
        finally:
            await ended(process)

    def write(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def send(self, question: Question, number: int | None = None) -> int:
        number = next(self._numbers) if number is None else number
        self.write({"jsonrpc": "2.0", "id": number, "method": question.method, "params": question.params})
        return number

    async def flush(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.drain()

    @contextmanager
    def unread(self) -> Iterator[None]:
        """While this is entered, nothing is read of what the hall says."""
        stdout = self.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined] # there is no other way
        stdout.pause_reading()
        try:
            yield
        finally:
            stdout.resume_reading()

    async def receive(self) -> Json:
        """Give the next answer; what the hall says unasked is passed over."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                line = await self.process.stdout.readline()
                if not line:
                    raise SystemExit("the hall is gone")
                message: Json = json.loads(line)
                if "method" not in message:
                    return message

    async def ask(self, question: Question) -> Json:
        number = self.send(question)
        answer = await self.receive()
        if answer["id"] != number:
            raise SystemExit(f"an answer to nothing that was asked: {answer}")
        return answer


class Web:
    """A client over HTTP: one session over one connection, opened anew when it has to be."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url)
        self._session = ""
        self._numbers = count(1)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        head, _ = await self._exchange(self._spelt("initialize", _hello()))
        while head.startswith("HTTP/1.1 503"):  # busy, if only with those who have just left
            await self.hang_up()
            await asyncio.sleep(PING_SECONDS)
            head, _ = await self._exchange(self._spelt("initialize", _hello()))
        self._session = next(line for line in head.splitlines() if line.lower().startswith("mcp-session-id:"))
        await self._exchange(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    async def ask(self, question: Question) -> Json:
        _, body = await self._exchange(self._spelt(question.method, question.params))
        return _message(body)

    async def cancel(self, question: Question) -> Json:
        """Ask, and cancel that by way of another connection before it is answered; give the answer all the same."""
        number = next(self._numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": question.method, "params": question.params}
        asking = asyncio.create_task(self._exchange(json.dumps(body).encode()))
        other = Web(self._place.geturl())
        other._session = self._session
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        while not asking.done():
            await other._exchange(json.dumps(cancelled).encode())
            await asyncio.wait([asking], timeout=PING_SECONDS)
        await other.hang_up()
        return _message((await asking)[1])

    async def abandon(self, question: Question, moment: Awaitable[None] | None = None) -> None:
        """Ask, and hang up at some moment without waiting for the answer."""
        _, writer = await self._connected()
        writer.write(self._request("POST", self._spelt(question.method, question.params)))
        await writer.drain()
        if moment is not None:
            await moment
        await self.hang_up()

    async def hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def leave(self) -> None:
        await self._exchange(b"", "DELETE")
        await self.hang_up()

    def _spelt(self, method: str, params: Json) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}).encode()

    def _request(self, method: str, body: bytes) -> bytes:
        session = f"{self._session}\r\nMcp-Protocol-Version: {PROTOCOL}\r\n" if self._session else ""
        head = (
            f"{method} /mcp HTTP/1.1\r\nHost: {self._place.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{session}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def _exchange(self, body: bytes, method: str = "POST") -> tuple[str, bytes]:
        """Send a request; give head and body of the answer. One that is closed for idleness is opened once more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(2):
                reader, writer = await self._connected()
                writer.write(self._request(method, body))
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    return await _answer(reader)
                await self.hang_up()
        raise SystemExit("the hall does not answer")

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._place.hostname, self._place.port, limit=1 << 27)
        return self._streams


async def _answer(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if "transfer-encoding: chunked" not in head.lower():
        length = next((line for line in head.splitlines() if line.lower().startswith("content-length:")), ":0")
        return head, await reader.readexactly(int(length.partition(":")[2]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return head, body


def _message(body: bytes) -> Json:
    """Read the answer out of an event stream, or out of a body that is one."""
    data = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
    message: Json = json.loads(data[-1] if data else body)
    return message


def _hello() -> Json:
    return {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}


# The hall, from outside:


class Figures(NamedTuple):
    """What a process holds."""

    resident: int
    private: int
    descriptors: int
    threads: int


class Watched:
    """A process, and what it held from time to time."""

    def __init__(self, process_id: int) -> None:
        self._place = Path(f"/proc/{process_id}")
        self.seen: list[tuple[int, Figures]] = []

    def look(self) -> Figures:
        rollup = self._fields("smaps_rollup")
        return Figures(
            rollup["Rss"] << 10,
            rollup["Private_Clean"] + rollup["Private_Dirty"] << 10,
            len(list((self._place / "fd").iterdir())),
            self._fields("status")["Threads"],
        )

    @property
    def peak(self) -> int:
        """The most that it ever held, or since it was last forgotten."""
        return self._fields("status")["VmHWM"] << 10

    def forget_peak(self) -> None:
        (self._place / "clear_refs").write_text("5")

    def ticks(self) -> int:
        """How long it has worked."""
        numbers = (self._place / "stat").read_text().rpartition(")")[2].split()
        return int(numbers[11]) + int(numbers[12])

    def _fields(self, name: str) -> dict[str, int]:
        lines = (line.split() for line in (self._place / name).read_text().splitlines())
        return {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}

    async def watch(self, tally: Tally) -> None:
        while True:
            self.seen.append((tally.answered, self.look()))
            await asyncio.sleep(WATCH_SECONDS)

    def growth(self, figure: Callable[[Figures], int], settled: int = SETTLED_CALLS) -> float:
        """Say how far a figure rose above what it was when so many calls were answered."""
        later = [figure(figures) for answered, figures in self.seen if answered >= settled]
        return max(later[1:], default=0) / later[0] if later else 1.0

    def drift(self, figure: Callable[[Figures], int], settled: int = SETTLED_CALLS) -> float:
        """Say how far the median of a figure rose once so many calls were answered."""
        before = [figure(figures) for answered, figures in self.seen if answered < settled]
        later = [figure(figures) for answered, figures in self.seen if answered >= settled]
        return statistics.median(later) / statistics.median(before) if before and later else 1.0


async def until_idle(watched: Watched) -> None:
    """Wait until a process has nothing to do: it is blocked, or waits."""
    calm, before = 0, watched.ticks()
    while calm < 5:
        await asyncio.sleep(0.1)
        calm, before = (calm + 1 if watched.ticks() == before else 0), watched.ticks()


def environment(home: Path) -> dict[str, str]:
    """What a hall is told: nothing of the developer's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONTEXT_", "XDG_"))}
    return {**kept, "HOME": str(home)}


@asynccontextmanager
async def served(home: Path, *flags: str) -> AsyncIterator[tuple[str, Watched]]:
    """Run a hall over HTTP; give its address, and the process."""
    process = await asyncio.create_subprocess_exec(
        *(*HALL, "--http", "0", *GUILD, *flags),
        cwd=home,
        env=environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        line = b""
        while not line.startswith(READY):
            line = await asyncio.wait_for(process.stderr.readline(), PATIENCE_SECONDS)
            if not line:
                raise SystemExit("the hall does not listen")
        spilling = asyncio.create_task(process.stderr.read())
        yield line.decode().removeprefix(READY.decode()).strip(), Watched(process.pid)
    finally:
        await ended(process)
        await asyncio.wait([spilling])


async def ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), PATIENCE_SECONDS / 3)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise SystemExit("the hall did not end when it was asked to") from None


# The load:


async def ask_over_http(url: str, questions: Sequence[Question], tally: Tally, *, clients: int, calls: int) -> None:
    """Let clients ask until so many calls are answered, each in its own random order."""
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            dice = random.Random(SEED * 1000 + number)
            group.create_task(_behave(Web(url), questions, tally, dice, calls // clients))


async def _behave(client: Web, questions: Sequence[Question], tally: Tally, dice: random.Random, calls: int) -> None:
    await client.open()
    for _ in range(calls):
        luck = dice.random()
        if luck < 0.01:
            await client.abandon(dice.choice([*questions, SLOW]))
            tally.hung_up += 1
        elif luck < 0.02:
            answer = await client.cancel(SLOW)
            tally.cancelled += 1
            if answer.get("error", {}).get("code") != CANCELLED:
                tally.wrong.append(f"cancelled: {answer}")
        else:
            question = dice.choice(questions)
            tally.judge(question, await client.ask(question))
    await client.leave()


async def ask_with_the_sdk(url: str, questions: Sequence[Question], tally: Tally, calls: int) -> None:
    """Ask as the SDK's own client does."""
    asked = [each for each in questions if each.method == "tools/call" and each.params["name"].startswith("context.")]
    dice = random.Random(SEED)
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http,
        Client(streamable_http_client(f"{url}mcp", http_client=http), mode="legacy") as client,
    ):
        for _ in range(calls):
            question = dice.choice([each for each in asked if "unknown" not in each.params["name"]])
            result = await client.call_tool(question.params["name"], question.params["arguments"])
            tally.answered += 1
            if not any(_text(result) in answer for answer in question.answers):
                tally.wrong.append(f"{question.bare}: {result}")


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return json.dumps(block.text)


async def swap(home: Path, tally: Tally) -> None:
    """Replace the cache again and again."""
    for number in count(1):
        await asyncio.to_thread(swap_cache, home, number % len(SOURCES))
        tally.swaps += 1
        await asyncio.sleep(SWAP_SECONDS)


@asynccontextmanager
async def pinged(url: str, tally: Tally) -> AsyncIterator[None]:
    """Let another process ask again and again whether the hall is there."""
    pinger = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.pinger", url, str(PING_SECONDS)),
        cwd=Path(__file__).parents[1],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield
    finally:
        said, _ = await asyncio.wait_for(pinger.communicate(b""), PATIENCE_SECONDS)
    tally.pings += json.loads(said)


async def over_http(home: Path, questions: Sequence[Question], *, clients: int, calls: int) -> tuple[Tally, Watched]:
    """Load a hall over HTTP; then let everybody go, and look at it once more."""
    tally = Tally()
    async with served(home) as (url, watched):
        beside = [asyncio.create_task(each) for each in (swap(home, tally), watched.watch(tally))]
        async with pinged(url, tally), asyncio.TaskGroup() as group:
            group.create_task(ask_over_http(url, questions, tally, clients=clients, calls=calls))
            for _ in range(SDK_CLIENTS):
                group.create_task(ask_with_the_sdk(url, questions, tally, calls // clients))
        for task in beside:
            task.cancel()
        for outcome in await asyncio.gather(*beside, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        watched.seen.append((tally.answered, watched.look()))
    return tally, watched


async def over_pipes(
    home: Path, questions: Sequence[Question], *, requests: int, swapping: bool = True
) -> tuple[Tally, Watched]:
    """Write requests without a pause, and read all answers."""
    tally, dice = Tally(), random.Random(SEED)
    async with Pipe.opened(home, "--confine") as pipe:
        watched = Watched(pipe.process.pid)
        asked = {number: dice.choice(questions) for number in range(requests)}
        beside = [asyncio.create_task(watched.watch(tally))]
        beside += [asyncio.create_task(swap(home, tally))] if swapping else []
        pings: dict[int, float] = {}
        writing = asyncio.create_task(_pipeline(pipe, asked, pings))
        while tally.answered < requests or len(tally.pings) < len(pings) or not writing.done():
            answer = await pipe.receive()
            if answer["id"] in asked:
                tally.judge(asked.pop(answer["id"]), answer)
            else:
                tally.pings.append(time.perf_counter() - pings[answer["id"]])
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        watched.seen.append((tally.answered, watched.look()))
    return tally, watched


async def _pipeline(pipe: Pipe, asked: dict[int, Question], pings: dict[int, float]) -> None:
    """Write everything, and a ping from time to time until all is answered, whose number is known by its sign."""

    async def ping() -> float:
        pings[-1 - len(pings)] = time.perf_counter()
        pipe.send(QUESTIONS[0], -len(pings))
        await pipe.flush()
        return time.perf_counter() + PING_SECONDS

    due = 0.0
    for number, question in list(asked.items()):
        pipe.send(question, number)
        await pipe.flush()
        if time.perf_counter() > due:
            due = await ping()
    while asked:
        await asyncio.sleep(PING_SECONDS)
        await ping()


def claims(name: str, tally: Tally, watched: Watched) -> Iterator[Claim]:
    yield next_to_target(f"{name}, calls answered", tally.answered, None, show=_number)
    yield next_to_target(f"{name}, calls cancelled or hung up on", tally.cancelled + tally.hung_up, None, show=_number)
    yield next_to_target(f"{name}, caches replaced meanwhile", tally.swaps, None, show=_number)
    yield Claim(measure=f"{name}, wrong answers", ours=len(tally.wrong), base=1, at_most=0, show=_number)
    yield next_to_target(f"{name}, ping, p50", Sample(tuple(tally.pings)).median, None)
    yield next_to_target(f"{name}, ping, p99", Sample(tuple(tally.pings)).percentile(99), PING)
    last = watched.seen[-1][1]
    yield next_to_target(f"{name}, resident at the end", last.resident, None, show=megabytes)
    for what, figure in (("resident", _resident), ("private", _private)):
        growth = watched.growth(figure)
        yield next_to_target(f"{name}, {what}, highest / after {SETTLED_CALLS:,}", growth, GROWTH, show=_ratio)
    opened = watched.drift(_descriptors)
    yield next_to_target(f"{name}, descriptors, median after {SETTLED_CALLS:,} / before", opened, GROWTH, show=_ratio)
    yield next_to_target(f"{name}, threads at most", max(each.threads for _, each in watched.seen), None, show=_number)


def _resident(figures: Figures) -> int:
    return figures.resident


def _private(figures: Figures) -> int:
    return figures.private


def _descriptors(figures: Figures) -> int:
    return figures.descriptors


def _number(figure: float) -> str:
    return f"{figure:,.0f}"


def _ratio(figure: float) -> str:
    return f"{figure:.2f}"


async def _all(home: Path, chosen: argparse.Namespace) -> list[Claim]:
    questions = await right_answers(home)
    found: list[Claim] = []
    loads = (
        ("HTTP", over_http(home, questions, clients=chosen.clients, calls=chosen.calls)),
        ("stdio", over_pipes(home, questions, requests=chosen.pipelined)),
    )
    for name, load in loads:
        print(name, file=sys.stderr, flush=True)
        begun = time.perf_counter()
        tally, watched = await load
        rate = tally.answered / (time.perf_counter() - begun)
        found += [*claims(name, tally, watched), next_to_target(f"{name}, calls per second", rate, None, show=_number)]
        print(*tally.wrong[:5], sep="\n", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64, help="clients over HTTP (default: 64)")
    parser.add_argument("--calls", type=int, default=25_000, help="calls of all of them (default: 25000)")
    parser.add_argument("--pipelined", type=int, default=20_000, help="requests over stdio (default: 20000)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        furnish(Path(directory))
        found = asyncio.run(_all(Path(directory), chosen))
    publish(claims_table("Load", found))
    for claim in found:
        record("load", claim.measure, claim.show(claim.ours))
    if any(claim.is_met is False for claim in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

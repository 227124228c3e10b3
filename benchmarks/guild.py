"""Claim: a guild costs next to nothing until one of its tools is called, and little then.

    python -m benchmarks.guild [--rounds 21] [--calls 1000] [--only refresh] [--write docs/performance.md]

Every member is a process of its own, the zoo's of the tests, and writes down its start. "Directly" is the same member
without a hall in between. FastMCP's proxy is measured where `.bench-peers` has it.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.client import Client
from benchmarks.report import Table, publish
from benchmarks.runner import Measure, Sample, Show, _family, command_line, duration, megabytes, process, take_turns
from benchmarks.steps import choose_steps, take_steps

PART = "benchmarks.guild"
HEADERS = ["measure", "hall", "next to", "above it", "at most", "met"]
REPOSITORY = Path(__file__).parents[1]
MEMBER = (sys.executable, str(REPOSITORY / "tests" / "guild" / "zoo" / "member.py"))
PEER = REPOSITORY / ".bench-peers" / "bin" / "python"
PEER_RECIPE = "FastMCP is not here: make .bench-peers/installed"
PROXY_NAME = "FastMCP's proxy"
PROXY = """
import sys
from fastmcp.server import create_proxy
server = {"command": sys.argv[1], "args": sys.argv[2:]}
create_proxy({"mcpServers": {"member": server}}).run(show_banner=False, log_level="ERROR")
"""

# What was promised, in seconds above what it stands next to.
FIRST_LIST, WARM_P50, WARM_P99, FIRST_CALL, RELOAD, JOURNAL = 0.030, 0.0004, 0.005, 0.050, 0.020, 30e-6
# Times the direct call, and times the line.
LARGE_TIME, LARGE_PEAK = 2.5, 3
LARGE_BYTES = 10_000_000
CACHED_MEMBERS, TOOLS = 100, 5
CALLED_MEMBERS, IN_FLIGHT = 10, 33
JOURNAL_TURN, JOURNAL_TIMES = 50, 4
RELOADS, RELOADED_TOOLS, SETTLING_SECONDS = 10, 20, 0.3
SLOW_MEMBERS, SLOW_START, STARTS_AT_A_TIME, SLACK = 50, 0.3, 4, 1.5
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A figure of the hall's, what it stands next to, and how far above that it may be."""

    measure: str
    ours: float
    peer: str = ""
    base: float = 0.0
    at_most: float | None = None
    show: Show = duration

    @property
    def row(self) -> list[str]:
        above = self.ours - self.base
        return [
            self.measure,
            self.show(self.ours),
            f"{self.peer} {self.show(self.base)}" if self.peer else "",
            self.show(above) if self.peer else "",
            "" if self.at_most is None else self.show(self.at_most),
            "" if self.at_most is None else {True: "yes", False: "no"}[above <= self.at_most],
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guild:
    """Members on disk, and the file in which they write down that they started."""

    directory: Path
    record: Path

    def started(self) -> int:
        return self.record.read_text().count("started ")

    def forget_starts(self) -> None:
        self.record.write_text("")

    def forget_tools(self) -> None:
        for cache in self.directory.glob("*/tools-cache.json"):
            cache.unlink()

    def serve(self, refresh: str = "never", *more: str) -> tuple[str, ...]:
        return command_line("serve", "--guild", str(self.directory), "--guild-refresh", refresh, *more)


class Agent(Client):
    """A client that says when it is ready, and reads past what it did not ask for."""

    def __init__(self, *command: str, cwd: Path) -> None:
        super().__init__(*command, cwd=cwd)
        self.changes = 0
        """How often the server said that its list has changed."""
        assert self.process.stdin is not None
        self.process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Give the next answer, whichever request it is to; one that is an error ends the benchmark."""
        while line := self.read_line():
            message = json.loads(line)
            self.changes += message.get("method") == "notifications/tools/list_changed"
            if "id" in message and "method" not in message:
                result: dict[str, Any] = message.get("result", {"isError": True})
                if result.get("isError"):
                    raise SystemExit(f"a request failed: {line[:500].decode()}")
                return result
        raise SystemExit("the server closed its output")

    def tools(self) -> Iterator[dict[str, Any]]:
        """List every tool, page by page."""
        page: dict[str, Any] = {"nextCursor": None}
        while "nextCursor" in page:
            self.send("tools/list", {} if page["nextCursor"] is None else {"cursor": page["nextCursor"]})
            page = self.answer()
            yield from page["tools"]

    def processor_seconds(self) -> float:
        """Read how long the first thread of the server has run. Linux only."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def children_before(self, moment: float) -> int:
        """Count the processes below the server that were there at `moment`, in seconds since the machine started."""
        below = [process_id for process_id in _family(self.process.pid) if process_id != self.process.pid]
        return sum(_latest_start(process_id) <= moment for process_id in below)


def _latest_start(process_id: int) -> float:
    """Say when a process had certainly started: the kernel rounds down to a tick. Linux only."""
    try:
        ticks = int(Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return math.inf
    return (ticks + 1) / os.sysconf("SC_CLK_TCK")


def write_guild(directory: Path, members: int, *flags: str, tools: int = 1, with_caches: bool = True) -> Guild:
    """Write members of `tools` tools each, and what a hall that has seen them run would keep of them."""
    guild = Guild(directory=directory / "members", record=directory / "record")
    arguments = [MEMBER[1], "--tools", str(tools - 1), *flags]
    with closing(Agent(MEMBER[0], *arguments, cwd=REPOSITORY)) as agent:
        listed = list(agent.tools())
    cache = {"version": "1.0.0", "tools": listed, "cachedAt": "2026-11-01T00:00:00Z"}
    for number in range(members):
        home = guild.directory / member(number)
        home.mkdir(parents=True)
        mcp = {"command": MEMBER[0], "args": [*arguments, "--record", str(guild.record)]}
        (home / "plugin.json").write_text(json.dumps({"name": home.name, "version": "1.0.0", "mcp": mcp}))
        if with_caches:
            (home / "tools-cache.json").write_text(json.dumps(cache))
    guild.forget_starts()
    return guild


def member(number: int) -> str:
    return f"m{number:03d}"


def first_list(scratch: Path, rounds: int, _calls: int) -> Iterator[Excess]:
    """Measure from the start of a process to its whole list, with a hundred members and with none."""
    guild = write_guild(scratch, CACHED_MEMBERS, tools=TOOLS)
    early: list[int] = []
    alone = _whole_list(command_line("serve"), scratch, [])
    with closing(Agent(*command_line("serve"), cwd=scratch)) as agent:
        native = len(list(agent.tools()))

    def beside(refresh: str) -> Measure:
        return _whole_list(guild.serve(refresh), scratch, early, guild, native + CACHED_MEMBERS * TOOLS)

    samples = take_turns({"none": alone, "never": beside("never"), "all": beside("all")}, rounds=rounds)
    what = f"start and first list, {CACHED_MEMBERS} cached members of {TOOLS} tools"
    for refresh in ("never", "all"):
        yield Excess(
            measure=f"{what}, refresh {refresh}",
            ours=samples[refresh].median,
            peer="no guild",
            base=samples["none"].median,
            at_most=FIRST_LIST,
        )
    yield Excess(measure="processes started before that answer, at worst", ours=max(early), at_most=0, show=_number)


def _whole_list(
    command: tuple[str, ...], cwd: Path, early: list[int], guild: Guild | None = None, tools: int | None = None
) -> Measure:
    """Time a process until its list is here; note how many members it had started by then."""

    def measure() -> float:
        if guild is not None:
            guild.forget_starts()
        begun = time.perf_counter()
        with closing(Agent(*command, cwd=cwd)) as agent:
            listed = list(agent.tools())
            seconds, moment = time.perf_counter() - begun, time.clock_gettime(time.CLOCK_BOOTTIME)
            # One that has only just started has written nothing down, one that has ended is no longer there.
            early.append(max(agent.children_before(moment), guild.started() if guild is not None else 0))
        if tools is not None and len(listed) != tools:
            raise SystemExit(f"{len(listed)} tools are listed instead of {tools}")
        return seconds

    return measure


def warm_call(scratch: Path, rounds: int, calls: int) -> Iterator[Excess]:
    """Measure calls to a member that runs: directly, through the hall, through FastMCP's proxy; by turns."""
    guild = write_guild(scratch, 1)
    commands = {"directly": MEMBER, "hall": guild.serve()}
    if PEER.exists():
        commands[PROXY_NAME] = (str(PEER), "-c", PROXY, *MEMBER)
    latencies: dict[str, list[float]] = {name: [] for name in commands}
    with ExitStack() as stack:
        agents = {name: stack.enter_context(closing(Agent(*commands[name], cwd=scratch))) for name in commands}
        peers = {name: _call(agent, _echo(0) if name == "hall" else "echo") for name, agent in agents.items()}
        take_turns({name: _many(peers[name], calls // rounds, latencies[name]) for name in peers}, rounds=rounds)
    # The first turn warms up: a member starts in it.
    samples = {name: Sample(tuple(taken[calls // rounds :])) for name, taken in latencies.items()}
    for name, percent, at_most in (("p50", 50, WARM_P50), ("p99", 99, WARM_P99)):
        what, ours = f"warm call, {name}", samples["hall"].percentile(percent)
        base = samples["directly"].percentile(percent)
        yield Excess(measure=what, ours=ours, peer="directly", base=base, at_most=at_most)
        if PROXY_NAME in samples:
            yield Excess(measure=what, ours=ours, peer=PROXY_NAME, base=samples[PROXY_NAME].percentile(percent))


def _many(measure: Measure, times: int, taken: list[float]) -> Measure:
    """Measure so many times in a row, so that what one peer still does after an answer falls on its own next call."""

    def measure_all() -> float:
        taken.extend(measure() for _ in range(times))
        return sum(taken[-times:])

    return measure_all


def _call(agent: Agent, tool: str) -> Measure:
    def measure() -> float:
        begun = time.perf_counter()
        agent.call(tool, text="hello")
        agent.answer()
        return time.perf_counter() - begun

    return measure


def large_result(scratch: Path, rounds: int, _calls: int) -> Iterator[Excess]:
    """Measure a result of many bytes until its client has parsed it, and what the hall holds of it at most."""
    result = scratch / "result.json"
    result.write_text(json.dumps({"content": [{"type": "text", "text": "x" * LARGE_BYTES}]}))
    flags = ("--result-file", str(result))
    guild = write_guild(scratch, 1, *flags)
    with (
        closing(Agent(*MEMBER, *flags, cwd=scratch)) as direct,
        closing(Agent(*guild.serve(), cwd=scratch)) as hall,
    ):
        list(hall.tools())
        before = _kilobytes(hall, "VmHWM")
        peers = {"directly": _call(direct, "echo"), "hall": _call(hall, _echo(0))}
        samples = take_turns(peers, rounds=rounds)
        peak = 1024 * (_kilobytes(hall, "VmHWM") - before)
    what, base = f"a result of {megabytes(LARGE_BYTES)}, parsed by its client", samples["directly"].median
    at_most = (LARGE_TIME - 1) * base
    yield Excess(measure=what, ours=samples["hall"].median, peer="directly", base=base, at_most=at_most)
    peak_at_most = (LARGE_PEAK - 1) * LARGE_BYTES
    yield Excess(
        measure="the hall's peak of memory meanwhile, above its list",
        ours=peak,
        peer="the line",
        base=LARGE_BYTES,
        at_most=peak_at_most,
        show=megabytes,
    )


def _kilobytes(agent: Agent, field: str) -> int:
    """Read a figure of a server's process. Linux only."""
    lines = Path(f"/proc/{agent.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def first_call(scratch: Path, rounds: int, _calls: int) -> Iterator[Excess]:
    """Measure a call to a member that sleeps, next to starting it by hand, shaking hands and calling."""
    guild = write_guild(scratch, rounds + 1)

    def directly() -> float:
        begun = time.perf_counter()
        with closing(Agent(*MEMBER, cwd=scratch)) as agent:
            _call(agent, "echo")()
            return time.perf_counter() - begun

    with closing(Agent(*guild.serve(), cwd=scratch)) as agent:
        list(agent.tools())
        # One more than the rounds, for the warm-up.
        asleep = iter([_call(agent, _echo(number)) for number in range(rounds + 1)])

        def through_the_hall() -> float:
            return next(asleep)()

        samples = take_turns({"directly": directly, "hall": through_the_hall}, rounds=rounds)
    yield Excess(
        measure="first call to a sleeping member",
        ours=samples["hall"].median,
        peer="start it and call directly",
        base=samples["directly"].median,
        at_most=FIRST_CALL,
    )


def one_start(scratch: Path, _rounds: int, _calls: int) -> Iterator[Excess]:
    """Count the processes that calls in flight at once start, all to one member of several."""
    guild = write_guild(scratch, CALLED_MEMBERS)
    with closing(Agent(*guild.serve(), cwd=scratch)) as agent:
        for _ in range(IN_FLIGHT):
            agent.call(_echo(CALLED_MEMBERS // 2), text="hello")
        for _ in range(IN_FLIGHT):
            agent.answer()
    what = f"processes started by {IN_FLIGHT} calls at once to one of {CALLED_MEMBERS} members"
    yield Excess(measure=what, ours=guild.started(), at_most=1, show=_number)


def reload(scratch: Path, _rounds: int, _calls: int) -> Iterator[Excess]:
    """Measure calls to a member that runs while another one comes or goes, next to as long a time without that."""
    guild = write_guild(scratch, CACHED_MEMBERS + 1, tools=RELOADED_TOOLS)
    inside, outside = guild.directory / member(CACHED_MEMBERS), scratch / "outside"
    (inside / "tools-cache.json").unlink()  # so that it is started once it is there
    inside.rename(outside)
    busy: list[float] = []
    quiet: list[float] = []
    noticed: list[float] = []
    with closing(Agent(*guild.serve("stale"), cwd=scratch)) as agent:
        list(agent.tools())
        call = _call(agent, _echo(0))
        _calls_for(call, 2 * SETTLING_SECONDS)
        for turn in range(RELOADS):
            begun = time.perf_counter()
            outside.rename(inside) if turn % 2 == 0 else inside.rename(outside)
            taken = _calls_until_change(agent, call)
            noticed.append(time.perf_counter() - begun)
            busy.append(max(taken + _calls_for(call, SETTLING_SECONDS)))
            quiet.append(max(_calls_for(call, noticed[-1] + SETTLING_SECONDS)))
    what = f"slowest call while a guild of {CACHED_MEMBERS} members of {RELOADED_TOOLS} tools is reloaded"
    for name, percent in ((f"median of {RELOADS} reloads", 50), ("slowest of all", 100)):
        yield Excess(
            measure=f"{what}, {name}",
            ours=Sample(tuple(busy)).percentile(percent),
            peer="no reload",
            base=Sample(tuple(quiet)).percentile(percent),
            at_most=RELOAD,
        )
    yield Excess(measure="from the change of a directory to the word of it, at worst", ours=max(noticed), at_most=2.0)


def _calls_for(call: Measure, seconds: float) -> list[float]:
    deadline = time.perf_counter() + seconds
    taken: list[float] = []
    while time.perf_counter() < deadline:
        taken.append(call())
    return taken


def _calls_until_change(agent: Agent, call: Measure) -> list[float]:
    """Call again and again until the server says that its list has changed."""
    before, deadline = agent.changes, time.perf_counter() + PATIENCE_SECONDS
    taken: list[float] = []
    while agent.changes == before:
        if time.perf_counter() > deadline:
            raise SystemExit("a change of the guild is never noticed")
        taken.append(call())
    return taken


def journal(scratch: Path, _rounds: int, calls: int) -> Iterator[Excess]:
    """Measure calls to a member that runs, with a journal and without, by short turns: it is about microseconds."""
    guild = write_guild(scratch, 1)
    latencies: dict[str, list[float]] = {"off": [], "brief": []}
    processor: dict[str, list[float]] = {"off": [], "brief": []}
    with ExitStack() as stack:
        peers = {}
        for mode, taken in latencies.items():
            agent = stack.enter_context(closing(Agent(*guild.serve("never", "--journal", mode), cwd=scratch)))
            many = _many(_call(agent, _echo(0)), JOURNAL_TURN, taken)
            peers[mode] = _with_processor_time(agent, many, processor[mode])
        take_turns(peers, rounds=JOURNAL_TIMES * calls // JOURNAL_TURN)
    for what, figures, first in (("p50", latencies, JOURNAL_TURN), ("its processor time in the hall", processor, 1)):
        # The first turn warms up.
        ours, base = (Sample(tuple(figures[mode][first:])).median for mode in ("brief", "off"))
        measure = f"warm call that is recorded in the journal, {what}"
        yield Excess(measure=measure, ours=ours, peer="--journal off", base=base, at_most=JOURNAL)


def _with_processor_time(agent: Agent, measure: Measure, taken: list[float]) -> Measure:
    """Note also what the thread of the server's event loop needs for a call."""

    def measure_both() -> float:
        before = agent.processor_seconds()
        seconds = measure()
        taken.append((agent.processor_seconds() - before) / JOURNAL_TURN)
        return seconds

    return measure_both


def refresh(scratch: Path, _rounds: int, _calls: int) -> Iterator[Excess]:
    """Measure a refresh of many slow members, and the lists that are asked for while one is under way."""
    guild = write_guild(scratch, SLOW_MEMBERS, "--start-delay", str(SLOW_START), with_caches=False)
    with closing(Agent(*guild.serve(), cwd=scratch)) as agent:
        quiet = Sample(tuple(_list(agent) for _ in range(200)))
    behind = take_turns({"serve": lambda: _refresh_behind(guild, scratch)}, rounds=3, warm_up=0)["serve"]
    command = command_line("guild", "refresh", "--guild", str(guild.directory))
    typed = take_turns({"typed": process(*command, cwd=scratch)}, rounds=3, warm_up=0)["typed"]
    what = f"{SLOW_MEMBERS} members that need {SLOW_START} s each"
    ideal = SLOW_MEMBERS * SLOW_START / STARTS_AT_A_TIME
    yield Excess(measure=f"refresh by serve, {what}", ours=behind.median, at_most=ideal * SLACK)
    yield Excess(measure="the same by `context guild refresh`, its own start included", ours=typed.median)
    busy = _lists_meanwhile(guild, scratch)
    for name, percent in (("median", 50), ("slowest", 100)):
        yield Excess(
            measure=f"tools/list while serve refreshes them, {name} of {len(busy.seconds)}",
            ours=busy.percentile(percent),
            peer="no refresh",
            base=quiet.percentile(percent),
        )


def _refresh_behind(guild: Guild, cwd: Path) -> float:
    """Time what follows the first list, with no list on disk, until every member's tools are listed."""
    guild.forget_tools()
    with closing(Agent(*guild.serve("all"), cwd=cwd)) as agent:
        native = len(list(agent.tools()))
        begun = time.perf_counter()
        while len(list(agent.tools())) < native + SLOW_MEMBERS:
            if time.perf_counter() - begun > PATIENCE_SECONDS:
                raise SystemExit("the members' tools are never all listed")
            time.sleep(0.02)
        return time.perf_counter() - begun


def _lists_meanwhile(guild: Guild, cwd: Path) -> Sample:
    """Time one list after the other until the last member has been started, with no list on disk at first."""
    guild.forget_starts()
    guild.forget_tools()
    taken: list[float] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    with closing(Agent(*guild.serve("all"), cwd=cwd)) as agent:
        while guild.started() < SLOW_MEMBERS:
            if time.monotonic() > deadline:
                raise SystemExit(f"only {guild.started()} of {SLOW_MEMBERS} members were started")
            taken.append(_list(agent))
            time.sleep(0.005)
    return Sample(tuple(taken))


def _list(agent: Agent) -> float:
    begun = time.perf_counter()
    list(agent.tools())
    return time.perf_counter() - begun


def _echo(number: int) -> str:
    """Name a member's `echo` as the hall does."""
    return f"{member(number)}__echo"


def _number(figure: float) -> str:
    return f"{figure:.0f}"


STEPS = (first_list, warm_call, journal, large_result, first_call, one_start, reload, refresh)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guild", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21, help="turns of what starts a process (default: 21)")
    parser.add_argument("--calls", type=int, default=1000, help="warm calls to each peer (default: 1000)")
    chosen = choose_steps(parser, STEPS)
    rows = [excess.row for excess in take_steps(STEPS, chosen)]
    if not PEER.exists() and chosen.only in {None, warm_call.__name__}:
        print(PEER_RECIPE)
        rows.append(["warm call", "", f"{PROXY_NAME}: not installed", "", "", ""])
    publish(Table("A guild of stdio members", HEADERS, rows), PART, chosen.write)


if __name__ == "__main__":
    main()

"""A hall that serves keeps its caches fresh: people work on the sources, and ask.

`context serve` as a real process; each refresh is a process of its own.
"""

import json
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import write_sources
from tests.faces.web.serving import HttpHall, RawSession
from tests.processes import RawServer, run_context
from tests.waiting import wait_until

from contexthall.core import limits
from contexthall.faces.serve import refreshing
from contexthall.hall import open_hall

PAGES = {"a.md": "# A\n\nred\n", "deep/b.md": "# B\n\ngreen\n"}
MANY = 2000


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_sources(tmp_path / "docs", PAGES)
    return build(tmp_path)


def build(root: Path, *flags: str) -> Path:
    built = run_context("build", "--sources", "docs", "--cache", ".context/caches/handbook", *flags, cwd=root)
    assert built.returncode == 0, built.stderr
    return root


class Agent(RawServer):
    """An agent that asks the hall it started."""

    asked = 0

    def ask(self, query: str, cache: str = "handbook") -> dict[str, Any]:
        self.asked += 1
        call = {"name": "context.resolve", "arguments": {"cache": cache, "query": query, "budget": 1000}}
        answer: dict[str, Any] = json.loads(
            self.request(self.asked, "tools/call", call)["result"]["content"][0]["text"]
        )
        return answer

    def finds(self, query: str) -> list[str]:
        return [each["id"] for each in self.ask(query)["documents"]]

    def end(self) -> bytes:
        """Close its input, and return what it said."""
        self.close_input()
        assert self.wait() == 0
        return self.errors_so_far()


@pytest.fixture
def agent(project: Path) -> Iterator[Agent]:
    with Agent(cwd=project) as agent:
        agent.initialize()
        yield agent


def test_a_cache_in_shards_is_refreshed_too(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", PAGES)
    with Agent(cwd=build(tmp_path, "--shards", "3")) as agent:
        agent.initialize()
        assert agent.finds("red") == ["a.md#a"]
        (tmp_path / "docs" / "new.md").write_text("# New\n\nred paint\n")
        wait_until(lambda: agent.finds("paint") == ["new.md#new"])
        agent.end()
    assert (tmp_path / ".context" / "caches" / "handbook" / "shard-002").is_dir()


def workers(of: int) -> list[int]:
    """Find the processes that refresh caches for a hall."""
    return [pid for pid in children(of) if b"refresh_worker" in arguments(pid)]


def children(of: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{of}/task").glob("*"):
        try:
            found += [int(pid) for pid in (thread / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_whatever_happens_to_the_sources_the_answer_becomes_new_and_says_so(agent: Agent, project: Path) -> None:
    docs = project / "docs"
    assert agent.finds("red") == ["a.md#a"]
    (docs / "a.md").write_text("# A\n\nyellow\n")
    wait_until(lambda: agent.finds("yellow") == ["a.md#a"])
    assert agent.finds("red") == []
    (docs / "new").mkdir()
    (docs / "new" / "c.md").write_text("# C\n\npurple\n")
    wait_until(lambda: agent.finds("purple") == ["new/c.md#c"])
    (docs / "new" / "c.md").rename(docs / "d.md")
    wait_until(lambda: agent.finds("purple") == ["d.md#c"])
    shutil.rmtree(docs / "deep")
    wait_until(lambda: agent.finds("green") == [])
    wait_until(lambda: agent.ask("purple")["selection"]["freshness"] == {"state": "fresh", "changed": 0})
    assert run_context("verify", "--cache", "handbook", cwd=project).returncode == 0
    assert agent.end() == b""


def test_a_cache_that_was_stale_before_the_hall_began_is_refreshed(project: Path) -> None:
    (project / "docs" / "a.md").write_text("# A\n\nyellow\n")
    with Agent(cwd=project) as agent:
        agent.initialize()
        wait_until(lambda: agent.finds("yellow") == ["a.md#a"])


def test_a_cache_that_comes_while_the_hall_serves_is_kept_fresh(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", PAGES)
    with Agent(cwd=tmp_path) as agent:
        agent.initialize()
        build(tmp_path)
        wait_until(lambda: agent.finds("red") == ["a.md#a"])
        (tmp_path / "docs" / "a.md").write_text("# A\n\nyellow\n")
        wait_until(lambda: agent.finds("yellow") == ["a.md#a"])


def test_a_folder_of_sources_that_is_gone_and_comes_back(agent: Agent, project: Path) -> None:
    assert agent.finds("red") == ["a.md#a"]
    (project / "docs").rename(project / "away")
    wait_until(lambda: agent.ask("red")["selection"]["freshness"]["state"] == "unknown")
    assert agent.finds("red") == ["a.md#a"]
    (project / "away" / "a.md").write_text("# A\n\nyellow\n")
    (project / "away").rename(project / "docs")
    wait_until(lambda: agent.finds("yellow") == ["a.md#a"])


def test_over_http_too(project: Path) -> None:
    with HttpHall(cwd=project) as hall:
        session = RawSession(hall)
        session.initialize()

        def finds(query: str) -> list[str]:
            call = {"name": "context.resolve", "arguments": {"cache": "handbook", "query": query, "budget": 1000}}
            answer = json.loads(session.request("tools/call", call)["content"][0]["text"])
            return [each["id"] for each in answer["documents"]]

        (project / "docs" / "a.md").write_text("# A\n\nyellow\n")
        wait_until(lambda: finds("yellow") == ["a.md#a"])
        assert hall.stop(signal.SIGTERM) == 0


def test_never_refreshes_nothing(project: Path) -> None:
    # One that refreshes shows when this one would have: it looks after the same time, and later.
    with Agent("--refresh-caches", "never", cwd=project) as agent:
        agent.initialize()
        before = (project / ".context" / "caches" / "handbook").stat().st_ino
        write_sources(project / "other", {"x.md": "# X\n"})
        built = run_context("build", "--sources", "other", "--cache", "caches/other", cwd=project)
        assert built.returncode == 0
        (project / "docs" / "a.md").write_text("# A\n\nyellow\n")
        with Agent("--cache-root", "caches", cwd=project) as other:
            other.initialize()
            (project / "other" / "x.md").write_text("# X\n\norange\n")
            wait_until(lambda: other.ask("orange", "other")["documents"] != [])
        assert (project / ".context" / "caches" / "handbook").stat().st_ino == before
        assert workers(agent.process.pid) == []
        assert agent.finds("red") == ["a.md#a"]


def test_a_project_cannot_say_whether_its_caches_are_refreshed(project: Path) -> None:
    (project / "contexthall.toml").write_text('refresh_caches = "auto"\n')
    served = run_context("serve", cwd=project)
    assert served.returncode == 1
    assert b"may not be set by a project" in served.stderr


def test_sources_outside_of_the_project_are_left_alone(project: Path) -> None:
    inner = project / "inner"
    write_sources(inner, {"docs/x.md": "# X\n\norange\n"})
    caches = inner / ".context" / "caches"
    for sources, name in ((project / "docs", "outside"), (inner / "docs", "inside")):
        built = run_context("build", "--sources", str(sources), "--cache", str(caches / name), cwd=inner)
        assert built.returncode == 0
    with Agent(cwd=inner) as agent:
        agent.initialize()
        (project / "docs" / "a.md").write_text("# A\n\nyellow\n")
        (inner / "docs" / "x.md").write_text("# X\n\nblack\n")
        wait_until(lambda: agent.ask("black", "inside")["documents"] != [])
        assert agent.ask("yellow", "outside")["documents"] == []
        assert agent.ask("red", "outside")["selection"]["freshness"] == {"state": "stale", "changed": 1}


def many_pages(project: Path, word: str) -> None:
    """Change so much that a refresh takes a while."""
    write_sources(project / "docs", {f"many/{each}.md": f"# Page {each}\n\n{word}\n" * 3 for each in range(MANY)})


def test_a_worker_has_a_low_priority_and_does_not_outlive_a_hall_that_is_killed(agent: Agent, project: Path) -> None:
    assert agent.finds("red") == ["a.md#a"]
    many_pages(project, "yellow")
    wait_until(lambda: workers(agent.process.pid))
    (worker,) = workers(agent.process.pid)
    own = os.getpriority(os.PRIO_PROCESS, agent.process.pid)
    wait_until(lambda: os.getpriority(os.PRIO_PROCESS, worker) == min(own + 10, 19))
    agent.process.kill()
    agent.process.wait()
    wait_until(lambda: not arguments(worker))
    with Agent(cwd=project) as another:
        another.initialize()
        assert another.finds("red") == ["a.md#a"]
        wait_until(lambda: another.finds("yellow"))


def test_a_hall_ends_although_it_refreshes(agent: Agent, project: Path) -> None:
    many_pages(project, "yellow")
    wait_until(lambda: workers(agent.process.pid))
    (worker,) = workers(agent.process.pid)
    assert agent.end() == b""
    wait_until(lambda: not arguments(worker))


def test_a_worker_that_is_killed_leaves_the_old_cache_and_the_next_one_refreshes_it(
    agent: Agent, project: Path
) -> None:
    assert agent.finds("red") == ["a.md#a"]
    many_pages(project, "yellow")
    wait_until(lambda: workers(agent.process.pid))
    (worker,) = workers(agent.process.pid)
    os.kill(worker, signal.SIGKILL)
    assert agent.finds("red") == ["a.md#a"]
    assert agent.finds("yellow") == []
    (project / "docs" / "a.md").write_text("# A\n\nred and yellow\n")
    wait_until(lambda: agent.finds("yellow"))
    assert agent.end().count(b"cannot refresh the cache handbook") == 1


def all_find(agents: Sequence[Agent], word: str) -> bool:
    return all(each.finds(word) for each in agents)


def is_fresh(agent: Agent) -> bool:
    return bool(agent.ask("yellow")["selection"]["freshness"] == {"state": "fresh", "changed": 0})


@pytest.mark.long
def test_two_halls_do_not_fight_over_a_cache(agent: Agent, project: Path) -> None:
    with Agent(cwd=project) as other:
        other.initialize()
        both = (agent, other)
        for word in ("blue", "purple", "orange"):
            (project / "docs" / "a.md").write_text(f"# A\n\n{word}\n")
            wait_until(partial(all_find, both, word))
        many_pages(project, "yellow")
        wait_until(partial(all_find, both, "yellow"))
        wait_until(lambda: all(is_fresh(each) for each in both))
        assert (agent.end(), other.end()) == (b"", b"")
    assert run_context("verify", "--cache", "handbook", cwd=project).returncode == 0


def test_a_burst_of_changes_is_at_most_two_refreshes(agent: Agent, project: Path) -> None:
    prepared = write_sources(project / "prepared", {f"{each}.md": f"# Page {each}\n" for each in range(MANY)})
    assert agent.finds("red") == ["a.md#a"]
    seen, cache = set(), project / ".context" / "caches" / "handbook"

    def is_new() -> bool:
        seen.add(cache.stat().st_ino)
        return agent.finds(f"{MANY - 1}") == [f"{MANY - 1}.md#page-{MANY - 1}"]

    assert not is_new()
    for each in range(MANY):
        (prepared / f"{each}.md").rename(project / "docs" / f"{each}.md")
    wait_until(is_new)
    wait_until(lambda: is_fresh(agent))
    assert is_new()
    assert len(seen) <= 1 + 2


def test_a_refresh_that_fails_disturbs_no_answer_and_is_told_once(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", PAGES)
    notebook = tmp_path / "docs" / "n.ipynb"
    with Agent(cwd=build(tmp_path, "--strict")) as agent:
        agent.initialize()
        notebook.write_text("{")
        assert agent.process.stderr is not None
        assert b"cannot refresh the cache handbook" in agent.process.stderr.readline()
        assert agent.finds("red") == ["a.md#a"]
        notebook.write_text('{"cells": [{"cell_type": "markdown", "metadata": {}, "source": "# N\\n\\nwhite"}]}')
        wait_until(lambda: agent.finds("white") == ["n.ipynb#n"])
        assert agent.end() == b""


@pytest.mark.parametrize(
    ("program", "failure", "logged"),
    [
        ("print('[true, \"\"]'); print('a model\\n\\nis slow', file=sys.stderr)", "", ["a model", "is slow"]),
        ("raise SystemExit('no such library')", "it ended with 1", ["no such library"]),
        ("print('[true, \"\"]', flush=True); sys.stderr.write('x\\n' * 100_000)", "", ["x"] * limits.WORKER_LOG_LINES),
    ],
)
def test_what_a_worker_says_on_its_standard_error_is_logged(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    program: str,
    failure: str,
    logged: list[str],
) -> None:
    monkeypatch.setattr(refreshing, "_PROGRAM", f"import sys; sys.stdin.readline(); {program}")
    result = refreshing.RefreshWorker(open_hall(project)).refresh("handbook")
    assert result.is_done is not bool(failure)
    assert failure in result.failure
    assert caplog.messages == [f"refreshing the cache handbook: {line}" for line in logged]

"""What does the hall say, all in all? Every answer of every room, from one process, as JSON on standard output.

Run as a program, so that whatever a process inherits can be another: the seed, the locale, the time zone, the Python.
What is asked more than once must be answered in the same way at once; the rest is for whoever reads it to compare.
"""

import argparse
import asyncio
import hashlib
import io
import json
import locale
import logging
import os
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

from tests.caches.making import without_times
from tests.faults.furnished import BUDGETS, LATER, QUERIES
from tests.processes import NOBODY

from contexthall.caches.build import cuts
from contexthall.caches.model.format import POSTINGS, SEGMENTS, SOURCES
from contexthall.contexts.draft import drafting
from contexthall.contexts.freshness import heads
from contexthall.core.wire import compact
from contexthall.faces.cli.table import run
from contexthall.hall import GuildChoice, Hall, open_hall
from contexthall.system import disk

Call: TypeAlias = tuple[str, dict[str, Any]]

EPOCH = "1700000000"
SCOPES = (".", "shop", "pages/src", "Äpfel", "stale", "corrupt", "future", "nowhere", "..", f"later{LATER[0]}", "\0")
BOOKS = {"book": SEGMENTS, "whole": POSTINGS}
"""A cache of each format, and the file without which its index is not believed."""
CACHES = (*BOOKS, "comma", "half", "later", "ünlü", "", "..", "nul\0", LATER)
RESOLVING: list[Call] = [
    ("context.resolve", {"cache": cache, "query": query, "budget": budget})
    for cache in BOOKS
    for query in QUERIES
    for budget in BUDGETS
]
CALLS: list[Call] = [
    ("context.list_caches", {}),
    *RESOLVING,
    *(("context.resolve", {"cache": each, "query": "a", "budget": 1}) for each in CACHES),
    *(("context.inspect_cache", {"cache": each}) for each in CACHES),
    *(("query_context", {"scope": each, "freshness": True}) for each in SCOPES),
    ("query_context", {"scope": "stale", "filter": ["odd", "summary", "maintenance", LATER]}),
    *(("check_freshness", {"scope": each}) for each in SCOPES),
    *(("list_contexts", each) for each in ({}, {"states": ["stale", "missing"]}, {"under": "pages", "limit": 1})),
    *(("guild_find_tools", {"query": each}) for each in ("read files", "FILE", "file status", "ölçmek", LATER, "İ")),
    ("guild_describe_tool", {"name": LATER}),
    ("guild_describe_tool", {"name": "files__write"}),
    # What is wrong is told in the same words, too.
    ("context.resolve", {LATER: 1, "z": 1, "a": 1}),
    ("context.resolve", {"cache": LATER, "query": LATER, "budget": LATER}),
    ("context.inspect_cache", {"cache": [LATER], "b": {}, "a": {}}),
    ("context.inspect_cache", {LATER: LATER, "b": {}, "a": {}}),
    ("list_contexts", {"states": [LATER], "limit": 0}),
    ("list_contexts", {"limit": LATER}),
]
COMMANDS: list[list[str]] = [
    ["caches"],
    ["caches", "--root", "caches"],
    ["inspect", "--cache", "caches/book"],
    ["resolve", "--cache", "caches/book", "--query", f"keys {LATER}", "--budget", "900"],
    ["resolve", "--cache", "caches/book", "--query", "keys", "--budget", "900", "--format", "pretty"],
    ["resolve", "--cache", "caches/book", "--query", "keys", "--budget", "1", "--why-not", "long.md"],
    ["resolve", "--cache", f"caches/{LATER}", "--query", "keys", "--budget", "1"],
    ["resolve", "--cache", "caches/book", "--query", "keys", "--budget", LATER],
    *(["verify", "--cache", f"caches/{each}", "--json"] for each in (*BOOKS, "comma", "half", "list", "deep")),
    ["verify", "--cache", "caches/comma"],
    *(["status", "--path", "project", *more] for more in ([], ["--json"], ["--check"])),
    *(["show", each, "--path", "project", *more] for each in SCOPES[:-1] for more in ([], ["--json"])),
    ["validate", "--path", "project"],
    ["validate", "--path", "project", "--strict", "--json"],
    ["tools", "--path", "project"],
    ["tools", "--path", "project", "--json"],
    ["call", "context.inspect_cache", "--json", '{"cache": "book"}'],
    ["call", LATER],
    ["guild", "list", "--json"],
    *(["guild", "tools", each, *more] for each in ("files", "größe", "git", LATER) for more in ([], ["--json"])),
    *(["guild", "why", each, "--json"] for each in ("faulty comma", "faulty list", "faulty deep", "git")),
    ["nonsense"],
]
"""What is typed; nothing of it tells how old something is."""


class Answers:
    """What was said, by what was asked; a question has one answer."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}

    def note(self, asked: str, said: str) -> None:
        if "book" in asked:  # times and inodes are in its size, and whether it is fresh may come too late
            said = without_times(said)
        known = self.said.setdefault(asked, said)
        assert known == said, f"{asked!r} was answered in two ways:\n{known!r}\n{said!r}"

    def type(self, command: Sequence[str]) -> None:
        """Run a command in this process: what it prints, and its exit code."""
        logging.getLogger().handlers.clear()  # those of the command before print where nobody listens any more
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            code = run(command)
            out.flush()
            err.flush()
        printed = [stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in (out, err)]
        # How long something took is about the machine; asyncio tells it in Python's development mode.
        timeless = re.sub(r"^WARNING asyncio: Executing .* took .* seconds\n", "", printed[1], flags=re.MULTILINE)
        without_duration = re.sub(r", in \d+\.\d s\n", ", in no time\n", timeless)
        self.note(f"$ context {' '.join(command)}", f"{printed[0]}\n{without_duration}\n{code}")

    def ask(self, hall: Hall, calls: Sequence[Call], when: str = "") -> None:
        for name, arguments in calls:
            self.note(f"{when}{name} {json.dumps(arguments)}", ask(hall, name, arguments))

    def ask_at_once(self, hall: Hall, calls: Sequence[Call], how_many: int) -> None:
        with ThreadPoolExecutor(how_many) as pool:
            said = list(pool.map(lambda call: ask(hall, *call), calls))
        for (name, arguments), answer in zip(calls, said, strict=True):
            self.note(f"{name} {json.dumps(arguments)}", answer)

    def look(self, folder: Path, when: str) -> None:
        """Note every file below a folder: its text, or its digest.

        But not what tells of this very place and moment, nor segments: of these there are as many as workers.
        """
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != SOURCES and not path.name.startswith("segment"):
                self.note(f"{when}: {path.relative_to(folder)}", _content(path.read_bytes()))


def ask(hall: Hall, name: str, arguments: dict[str, Any]) -> str:
    result = asyncio.run(hall.catalog.call(name, arguments, hall.caller))
    return compact([result.content, result.structured, result.is_error, result.code])


def _content(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()}"


def answers(work: Path, *, at_once: int = 1, times: int = 1) -> dict[str, str]:
    """Build, draft and ask, in a furnished place that is changed by it."""
    os.chdir(work)
    roots = {"CONTEXT_CACHE_ROOT": str(work / "caches"), "CONTEXT_GUILD": str(work / "guild")}
    os.environ |= {"SOURCE_DATE_EPOCH": EPOCH, **roots}
    found = Answers()
    found.type(["build", "--sources", "sources", "--cache", "caches/book"])
    found.type(["build", "--sources", "sources", "--cache", "caches/whole", "--format", "1"])
    for book in BOOKS:
        found.look(work / "caches" / book, f"{book} built")
    for faulty in ("invalid", "colliding"):
        found.type(["build", "--sources", faulty, "--cache", "caches/never"])
    _draft(found, work / "project")
    for command in COMMANDS:
        found.type(command)
    found.note("definitions", compact([tool.definition() for tool in open_hall("project").catalog.tools]))
    found.note("instructions", open_hall("project").catalog.instructions)
    _ask_in_every_way(found, work, at_once, times)
    return {asked: said.replace(str(work), "$HALL") for asked, said in found.said.items()}


def _draft(found: Answers, project: Path) -> None:
    found.ask(open_hall("project"), [("list_contexts", {}), ("query_context", {"scope": "stale"})], "before init: ")
    found.type(["init", "--path", "project", "--full", "--json"])
    found.look(project, "after init")
    (project / "shop" / "a.py").write_text('"""Changed."""\n\n\ndef changed(b: int) -> str: ...\n')
    (project / "shop" / "new.py").write_text('"""New."""\n')
    found.ask(open_hall("project"), [("check_freshness", {"scope": "shop"})], "after a change: ")
    for command in (["regen", "--json"], ["regen", "--all", "--json"], ["rehash", "stale", "--json"]):
        found.type([*command, "--path", "project"])
    found.look(project, "after regen")


def _ask_in_every_way(found: Answers, work: Path, at_once: int, times: int) -> None:
    """Ask cold, warm, many at once, for the hundredth time, of a copy, and without the index."""
    hall = open_hall("project", guild=GuildChoice(guild_budget=0))
    found.ask(hall, CALLS)
    again = CALLS * min(at_once, 2)
    random.Random(8).shuffle(again)
    found.ask_at_once(hall, again, at_once)
    for _ in range(times):
        found.ask(hall, [RESOLVING[5], ("check_freshness", {"scope": "shop"})])
    for book in BOOKS:
        shutil.copytree(work / "caches" / book, work / "elsewhere" / book)
    found.ask(open_hall("project", cache_root=str(work / "elsewhere")), RESOLVING)
    for book, index in BOOKS.items():
        (work / "elsewhere" / book / index).unlink()
    found.ask(open_hall("project", cache_root=str(work / "elsewhere")), RESOLVING)


def shuffle_listings(seed: int) -> None:
    """Let every listing of a directory come in an order that no file system promises."""
    dice, plain, as_it_was = random.Random(seed), disk.perform, disk.Disk.__init__

    def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        found = plain(call, *arguments, **options)
        if isinstance(found, disk.Survey):
            return found._replace(seen=tuple(dice.sample(found.seen, len(found.seen))))
        return dice.sample(found, len(found)) if isinstance(found, list) else found

    def begin(self: disk.Disk, perform: disk.Perform = perform, *more: Any) -> None:
        as_it_was(self, perform, *more)

    disk.Disk.__init__ = begin  # type: ignore[method-assign, assignment]


def share_work(workers: int) -> Callable[[], int]:
    """Let all that can be shared be shared, or nothing; give how many processes were forked for it."""
    worth, fork, forked = (2 if workers > 1 else sys.maxsize), os.fork, [0]
    for module, name in ((cuts, "_WORTH_SHARING"), (drafting, "_WORTH_SHARING"), (heads, "MANY")):
        assert hasattr(module, name), f"{module.__name__} shares its work in another way by now"
        setattr(module, name, worth)

    def counted() -> int:
        forked[0] += 1
        return fork()

    os.fork = counted
    return lambda: forked[0]


def settle_in() -> None:
    """Let the C library be as foreign as the environment says, and make sure that it is."""
    wanted = locale.setlocale(locale.LC_ALL, "")
    if wanted.startswith("tr_TR"):
        assert time.strftime("%A", (2026, 11, 16, 0, 0, 0, 0, 0, 0)) == "Pazartesi", wanted
    if wanted.startswith("en_US"):
        assert locale.localeconv()["thousands_sep"] == ",", wanted
    if os.environ.get("TZ", "").startswith("<+14>"):
        assert time.timezone == -14 * 3600


def become_nobody(before: Path) -> None:
    """Say everything once, so that all is loaded which nobody could not read, and be nobody from then on."""
    remembering = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith("XDG_")}
    answers(before)
    os.environ |= remembering
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--umask", type=lambda text: int(text, 8), default=0o022)
    parser.add_argument("--as-nobody", type=Path, metavar="PLACE", help="say all that once before, at another place")
    chosen = parser.parse_args()
    settle_in()
    os.umask(chosen.umask)
    if chosen.shuffle is not None:
        shuffle_listings(chosen.shuffle)
    forked = share_work(chosen.workers)
    if chosen.as_nobody is not None:
        become_nobody(chosen.as_nobody)
    said = answers(chosen.work, at_once=chosen.at_once, times=chosen.times)
    assert (forked() > 0) == (chosen.workers > 1)
    sys.stdout.buffer.write(json.dumps(said).encode())


if __name__ == "__main__":
    main()

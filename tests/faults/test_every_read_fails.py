"""Is an answer ever wrong when one call to the disk fails? It is the same, or it says what went wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import CREATED_AT, build_cache
from tests.contexts.making import make_project, write_files
from tests.faults.failing import BROKEN, BUSY, GONE, REFUSED, SHORT, Fault, World, attempt, descriptors, happenings
from tests.faults.scale import IS_LONG, record, sampled

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.library import CacheRef, Library
from contexthall.caches.query.scorers import SECTIONS
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.project import Project
from contexthall.guild.lists.memory import Memory
from contexthall.guild.lists.tool_lists import ToolLists
from contexthall.guild.lists.tools_cache import ToolsCaches
from contexthall.guild.manager import discover_guild_members
from contexthall.system.disk import Disk

pytestmark = pytest.mark.timeout(240 if IS_LONG else 60)

ECHO = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}


def library_at(root: Path, disk: Disk) -> Library:
    return Library(disk, root=str(root), root_is_named=True, working_directory=str(root))


def resolve(root: Path, disk: Disk) -> Any:
    library = library_at(root, disk)
    return json.loads(library.resolve(library.locate("cache"), "rotate keys", 100).text)


def resolve_twice(root: Path, disk: Disk) -> Any:
    """The second answer of a server, which knows the cache by then."""
    library = library_at(root, disk)
    library.resolve(CacheRef(str(root / "cache")), "keys", 100)
    return json.loads(library.resolve(CacheRef(str(root / "cache")), "rotate keys", 100).text)


def resolve_without_index(root: Path, disk: Disk) -> Any:
    (root / "cache" / "postings.bin").unlink(missing_ok=True)
    return resolve(root, disk)


def resolve_shards(root: Path, disk: Disk) -> Any:
    library = library_at(root, disk)
    return json.loads(library.resolve(library.locate("shards"), "rotate keys", 400).text)


def verify_shards(root: Path, disk: Disk) -> Any:
    violations = library_at(root, disk).verify(CacheRef(str(root / "shards")))
    return {"error": violations} if violations else "sound"


def inspect(root: Path, disk: Disk) -> Any:
    library = library_at(root, disk)
    found = library.inspect(library.locate("cache"))
    return found._asdict() if found.valid else {"error": "not valid"}


def verify(root: Path, disk: Disk) -> Any:
    violations = library_at(root, disk).verify(CacheRef(str(root / "cache")))
    return {"error": violations} if violations else "sound"


def list_caches(root: Path, disk: Disk) -> Any:
    found = library_at(root, disk).list_caches()
    # By contract, one that cannot be looked into has no manifest.
    return [each.path for each in found]


def project_at(root: Path, disk: Disk) -> Project:
    return Project(disk, str(root / "p"), Ledger(disk, "", lambda: 0))


def list_contexts(root: Path, disk: Disk) -> Any:
    return project_at(root, disk).list_contexts().to_json()


def check_freshness(root: Path, disk: Disk) -> Any:
    return project_at(root, disk).check_freshness("src/core").to_json()


def query_context(root: Path, disk: Disk) -> Any:
    return project_at(root, disk).query_context("src/core", with_freshness=True).to_json()


def load_guild(root: Path, disk: Disk) -> Any:
    """The tools of a member that changed what it offers, which somebody has yet to approve."""
    (member,) = discover_guild_members(str(root / "guild"), disk).values() or [None]
    if member is None or member.status == "error":
        return {"error": "no member"}
    ToolLists(disk, ToolsCaches(disk), Memory(disk, str(root / "state")), hold=True).load(member)
    return member.tools or {"error": "no tools"}


def prepare(root: Path) -> None:
    build_cache(root, {"a.md": "rotate the keys", "b.md": "keys, again", "c.md": "something else"})
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS, shards=2)
    builder.build(str(root / "cache sources"), str(root / "shards"))
    (root / "shards" / "sources.json").unlink()
    make_project(root / "p", {"README.md": "Hello.", "src/core/x.py": "1", "src/core/y.log": "2"})
    write_files(root / "p", {".gitignore": "*.log\n", "src/.gitignore": "*.tmp\n"})
    write_files(root, {"guild/echo/plugin.json": '{"name": "echo", "version": "1.0", "mcp": {"command": "server"}}'})
    (member,) = discover_guild_members(str(root / "guild")).values()
    lists = ToolLists(Disk(), ToolsCaches(Disk()), Memory(Disk(), str(root / "state")), hold=True)
    for description in ("Say it again.", "Say it twice."):
        lists.load(member)
        lists.adopt(member, lists.write_down(member, [{**ECHO, "description": description}], "aa-bb", "2026-01-01"))
    assert member.tools == [ECHO]


QUESTIONS: dict[str, tuple[Callable[[Path, Disk], Any], tuple[Fault, ...]]] = {
    "resolve": (resolve, (BROKEN, REFUSED, GONE, BUSY, SHORT)),
    "resolve, warm": (resolve_twice, (BROKEN, REFUSED, GONE, SHORT)),
    "resolve, without an index": (resolve_without_index, (BROKEN, REFUSED, GONE, SHORT)),
    "resolve, from shards": (resolve_shards, (BROKEN, REFUSED, GONE, BUSY, SHORT)),
    "verify, in shards": (verify_shards, (BROKEN, REFUSED, GONE, SHORT)),
    "inspect": (inspect, (BROKEN, REFUSED, SHORT)),
    "verify": (verify, (BROKEN, REFUSED, GONE, SHORT)),
    "list caches": (list_caches, (BROKEN, REFUSED, SHORT)),
    "list contexts": (list_contexts, (BROKEN, REFUSED, SHORT)),
    "check freshness": (check_freshness, (BROKEN, REFUSED, SHORT)),
    "query a context": (query_context, (BROKEN, REFUSED, SHORT)),
    "load the guild": (load_guild, (BROKEN, REFUSED, BUSY, SHORT)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_whatever_call_fails_the_answer_is_the_same_or_says_that_something_did(tmp_path: Path, name: str) -> None:
    ask, faults = QUESTIONS[name]
    prepare(tmp_path)
    calm = World()
    expected = ask(tmp_path, calm.disk())
    assert "error" not in json.dumps(expected)
    world, met, before = World(), 0, descriptors()
    for fault, place in sampled([*happenings(calm.trace, faults)], 40):
        world = World(fault, place)
        ending = attempt(lambda world=world: ask(tmp_path, world.disk()))  # type: ignore[misc] # bound at once
        told = f"call {place}, {calm.trace[place - 1]}, {fault}: {ending}"
        assert world.was_met, told
        if ending.answer != expected:
            assert ending.errors or "error" in json.dumps(ending.answer), told
        met += 1
    del world  # it knows the paths, and those know who may open them
    assert descriptors() <= before
    assert met >= 5
    record("I/O faults", f"{name}, answers", met)

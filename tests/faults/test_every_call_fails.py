"""Is anything lost, half done or left behind when one call to the disk fails, or is the last one?

Every operation that writes is run once undisturbed, which gives the calls that it makes and the new state. Then it is
run again from the old state for every call and every fault that can happen to it.
"""

import errno
import json
import operator
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.caches.making import CREATED_AT, compile_folder, write_sources
from tests.clients.making import CLAUDE_DESKTOP, FILES, of, reach_in, register_in, write_file
from tests.contexts.making import Code, quietly, write_files
from tests.faults.failing import (
    CRASHES,
    FAULTS,
    FULL,
    PLAIN,
    SHORT,
    CrashError,
    Ending,
    Entry,
    Fault,
    Tree,
    World,
    attempt,
    descriptors,
    restore,
    snapshot,
    thinned,
    without_leftovers,
)
from tests.faults.scale import record, sampled, scaled

from contexthall.caches.build import cuts
from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.query.scorers import SECTIONS
from contexthall.contexts.draft import drafting
from contexthall.contexts.draft.drafting import Order, draft_again, draft_missing
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.writing import rehash
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.project import Outcome, Project
from contexthall.faces.cli.importing import written
from contexthall.guild.lists.memory import Memory
from contexthall.guild.lists.tool_lists import ToolLists
from contexthall.guild.lists.tools_cache import ToolsCaches
from contexthall.guild.manager import ALREADY_THERE, Member, discover_guild_members
from contexthall.hall import GuildChoice, open_hall
from contexthall.system.disk import Disk

DOCUMENTS = {"a.md": "rotate the keys", "b.md": "keys, again"}
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
PROJECT = {
    ".gitignore": "*.log\n/out/\n",
    "README.md": "# Shop\n\nSells things.\n",
    "out/generated.py": "",
    "src/orders.py": '"""Orders of the shop."""\n\ndef place() -> None: ...\n',
}
ECHO = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}
CHANGED = {**ECHO, "description": "Say it twice."}
MANIFEST = '{"name": "echo", "version": "1.0", "mcp": {"command": "server"}}'
MINE = {"version", "scope", "constraints"}
MEMORY = "memory"
"""Where an operation keeps what it could find out again: whatever stands there must be whole, old or new."""


class Operation(NamedTuple):
    """Something that writes below a directory: what is there before, and what is done."""

    prepare: Callable[[Path], object]
    run: Callable[[Path, Disk], object]
    """Gives a list of the errors it reports, or raises or logs them."""
    is_one_step: bool = True
    """Whether all of it is old or all of it is new; else that is so for every file."""
    accepts: Callable[[Entry | None, Entry], bool] = lambda _new, _found: False
    """What else a file may hold, if not the old or the new."""
    agrees: Callable[[Entry, Entry], bool] = operator.eq
    """Whether what a later run gave is what an undisturbed one gives."""
    is_done_again: Callable[[Ending], bool] = lambda ending: not ending.errors
    """What a later run answers."""


class Trial(NamedTuple):
    """An operation, with the state before and after it."""

    operation: Operation
    root: Path
    pristine: Path
    before: Tree
    old: Tree
    """The same, without what saves work only."""
    new: Tree

    def run(self, disk: Disk) -> Ending:
        return attempt(lambda: self.operation.run(self.root, disk))

    def judge(self, ending: Ending, fault: Fault) -> None:
        """See that the state is whole, and that what was reported is so."""
        found = lasting(without_leftovers(snapshot(self.root)))
        if self.operation.is_one_step:
            assert found in (self.old, self.new)
        else:
            is_told = bool(ending.errors)
            assert [path for path in {*found, *self.old} if not self.is_whole(path, found.get(path), is_told)] == []
        if not ending.errors and not ending.was_killed:
            assert found == self.new
        if ending.errors and fault in PLAIN:
            told = "\n".join(ending.errors)
            assert os.strerror(fault.number) in told
            assert any(name in told for name in ("/", ".context.config.yaml", "the working directory"))

    def is_whole(self, path: str, found: Entry | None, is_told: bool) -> bool:
        """Say whether something is as it was, or as it shall be, or as it must be where something is known to fail."""
        is_known = found in (self.old.get(path), self.new.get(path))
        # The lock is written ahead: while a run is under way, it holds for the old and for the new.
        is_told = is_told or path.endswith(".context.lock")
        return is_known or (is_told and found is not None and self.operation.accepts(self.new.get(path), found))

    def do_again(self) -> None:
        """See that a later run finds nothing in its way and leaves nothing behind."""
        ending = self.run(World().disk())
        assert self.operation.is_done_again(ending), ending
        found = snapshot(self.root)
        assert [path for path in found if path not in self.new and not path.startswith(MEMORY)] == []
        assert without_leftovers(found) == found
        assert [path for path in self.new if not self.operation.agrees(found[path], self.new[path])] == []


def lasting(tree: Tree) -> Tree:
    """Leave out what saves work only, once it is seen to be whole."""
    for path, (kind, _, content) in tree.items():
        if path.startswith(MEMORY) and kind == "file":
            json.loads(content)
    return {path: entry for path, entry in tree.items() if not path.startswith(MEMORY)}


def trial_of(operation: Operation, place: Path) -> tuple[Trial, World]:
    """Prepare a trial, and make the operation once with nothing in its way."""
    root, pristine, calm = place / "root", place / "pristine", World()
    root.mkdir()
    operation.prepare(root)
    shutil.copytree(root, pristine, symlinks=True)
    before = snapshot(root)
    ending = attempt(lambda: operation.run(root, calm.disk()))
    assert not ending.errors
    return Trial(operation, root, pristine, before, lasting(before), lasting(snapshot(root))), calm


def build(root: Path, disk: Disk) -> None:
    compile_folder(root / "sources", root / "cache", force=(root / "cache").exists(), disk=disk)


def build_deep(root: Path, disk: Disk) -> None:
    compile_folder(root / "sources", root / "x" / "y" / "cache", force=(root / "x/y/cache").exists(), disk=disk)


def sections_builder(disk: Disk) -> CacheBuilder:
    """Build format 2, as if all had just been written: what is recorded then has no times in it."""
    return CacheBuilder(disk, CREATED_AT, scorer=SECTIONS, clock=lambda: 0)


def build_sections(root: Path, disk: Disk) -> None:
    sections_builder(disk).build(str(root / "sources"), str(root / "cache"), force=(root / "cache").exists())


def build_shards(root: Path, disk: Disk) -> None:
    builder = sections_builder(disk)._replace(shards=2)
    builder.build(str(root / "sources"), str(root / "cache"), force=(root / "cache").exists())


def refresh_cache(root: Path, disk: Disk) -> None:
    sections_builder(disk).refresh(str(root / "cache"))


def prepare_sections(root: Path) -> None:
    prepare_sources(root)
    build_sections(root, Disk())
    write_sources(root / "sources", {"a.md": "# Rotate\n\nthem", "c.md": "# Keys\n\nrotate the keys"})


def prepare_shards(root: Path) -> None:
    prepare_sources(root)
    build_shards(root, Disk())
    write_sources(root / "sources", {"a.md": "# Rotate\n\nthem", "c.md": "# Keys\n\nrotate the keys"})


def prepare_sources(root: Path) -> None:
    write_sources(root / "sources", DOCUMENTS)


def prepare_cache(root: Path) -> None:
    prepare_sources(root)
    build(root, Disk())


def prepare_changed_sources(root: Path) -> None:
    prepare_cache(root)
    write_sources(root / "sources", {"a.md": "rotate them", "c.md": "rotate the keys"})


def project_at(root: Path, disk: Disk) -> Project:
    later = 1 << 62  # everything is old enough to be remembered
    ledger = Ledger(disk, str(root / MEMORY / "ledger"), lambda: later)
    return Project(disk, str(root / "project"), ledger, code=Code())


def told_by(outcome: Outcome) -> list[str]:
    is_well = outcome.agents in {"created", "updated", "unchanged", "left alone"}
    return [reason for _, reason in outcome.failed] + ([] if is_well else [outcome.agents])


def init(root: Path, disk: Disk) -> list[str]:
    return told_by(draft_missing(project_at(root, disk), Order(NOW), quietly))


def regen(root: Path, disk: Disk) -> list[str]:
    return told_by(draft_again(project_at(root, disk), None, Order(LATER), quietly))


def rehash_root(root: Path, disk: Disk) -> None:
    rehash(project_at(root, disk), ".")


LOCK_LINE = b'{"scope":'


def told_in_lock(data: bytes) -> list[object]:
    """Give the lines of a lock, but for what another directory was said to be while it could not be read."""
    entries = [json.loads(line) for line in data.splitlines()]
    return [entry | {"drafted": entry["drafted"] | {"subdirectories": "", "structure": ""}} for entry in entries]


def is_whole_text(new: Entry | None, found: Entry) -> bool:
    """Say whether a context or AGENTS.md is whole and has a person's words, though it may lack another directory."""
    if new is None or found[:2] != new[:2]:
        return False
    if new[2].startswith(LOCK_LINE):
        return all(json.loads(line)["scope"] for line in found[2].splitlines())
    if b"<!--" in new[2]:
        return found[2].startswith(new[2].partition(b"<!--")[0]) and found[2].rstrip().endswith(b"-->")
    return not any(
        read_context(found[2]).get(name) != each for name, each in read_context(new[2]).items() if name in MINE
    )


def is_same_context(found: Entry, new: Entry) -> bool:
    """Compare, but for the order of fields, and what another directory was said to be while it could not be read."""
    if new[2].startswith(LOCK_LINE):
        return found[:2] == new[:2] and told_in_lock(found[2]) == told_in_lock(new[2])
    if found == new or b"scope:" not in new[2]:
        return found == new
    one, other = (read_context(each[2]) | {"subdirectories": [], "structure": []} for each in (found, new))
    return bool(
        one | {"derived_fields": {*one["derived_fields"]}} == other | {"derived_fields": {*other["derived_fields"]}}
    )


def prepare_project(root: Path) -> None:
    write_files(root / "project", PROJECT)


def prepare_agents(root: Path) -> None:
    prepare_project(root)
    write_files(root / "project", {"AGENTS.md": "# Rules\n\nBe kind.\n"})
    (root / "project" / "AGENTS.md").chmod(0o640)


def prepare_contexts(root: Path) -> None:
    prepare_agents(root)
    init(root, Disk())
    context = root / "project" / "src" / ".context.yaml"
    context.write_text("# Mind this.\n" + context.read_text() + "constraints:\n  - never sell at a loss\n")


def prepare_stale_contexts(root: Path) -> None:
    prepare_contexts(root)
    write_files(root / "project", {"README.md": "# Shop\n\nSells more.\n", "src/goods.py": '"""Goods."""\n'})


def prepare_new_directory(root: Path) -> None:
    prepare_contexts(root)
    write_files(root / "project", {"web/README.md": "# Web\n\nThe pages of the shop, as people see them.\n"})


def prepare_member(root: Path) -> None:
    write_files(root, {"guild/echo/plugin.json": MANIFEST})


def lists_of(root: Path, disk: Disk) -> tuple[ToolLists, Memory, Member]:
    memory = Memory(disk, str(root / "state" / "guild"))
    member = discover_guild_members(str(root / "guild"))["echo"]
    return ToolLists(disk, ToolsCaches(disk), memory, hold=True), memory, member


def refresh(root: Path, disk: Disk, tool: dict[str, Any] = CHANGED) -> None:
    """What a refresh does with the list that a server gave."""
    lists, memory, member = lists_of(root, disk)
    lists.load(member)
    lists.adopt(member, lists.write_down(member, [tool], "aa-bb", NOW))
    # What was approved cannot be read: then nothing is trusted, and nothing written over it.
    assert [each["name"] for each in member.tools] == ["echo"] or memory.has_lost(member)


def is_kept_in_memory(new: Entry | None, found: Entry) -> bool:
    """Say whether a list that could not be written beside its member is remembered in full all the same."""
    if new is None or not new[2].startswith(b'{"format"'):
        return False
    return bool({**json.loads(new[2]), "cache_digest": ""} == json.loads(found[2]))


def prepare_known_member(root: Path) -> None:
    prepare_member(root)
    refresh(root, Disk(), ECHO)


def prepare_changed_member(root: Path) -> None:
    prepare_known_member(root)
    refresh(root, Disk(), CHANGED)


def approve(root: Path, disk: Disk) -> None:
    lists, _, member = lists_of(root, disk)
    lists.load(member)
    lists.approve(member)


def note_failure(root: Path, disk: Disk) -> None:
    _, memory, member = lists_of(root, disk)
    memory.note_failure(member, "it broke")


def prepare_failure(root: Path) -> None:
    prepare_member(root)
    note_failure(root, Disk())


def add_member(root: Path, disk: Disk) -> None:
    hall = open_hall(str(root), guild=GuildChoice(guild=str(root / "guild")), disk=disk)
    hall.add_member("echo", ["server"], version="1.0")


def is_added(ending: Ending) -> bool:
    return not ending.errors or "has a member echo already" in ending.errors[0]


def connect(client: str) -> Callable[[Path, Disk], object]:
    return lambda root, disk: register_in(root, disk).connect(of(client), reach_in(root))


def disconnect(client: str) -> Callable[[Path, Disk], object]:
    return lambda root, disk: register_in(root, disk).disconnect(of(client))


def prepare_client(client: str) -> Callable[[Path], object]:
    """Have the file of a client as people have it, which others may not read."""
    return lambda root: write_file(root, of(client), FILES[client]).chmod(0o600)


def prepare_introduced(client: str, *, alone: bool = False) -> Callable[[Path], object]:
    def prepare(root: Path) -> None:
        if not alone:
            prepare_client(client)(root)
        connect(client)(root, Disk())

    return prepare


def import_members(root: Path, disk: Disk) -> list[str]:
    hall = open_hall(str(root), guild=GuildChoice(guild=str(root / "guild")), disk=disk)
    done = [written(hall, found) for found in hall.members_in(str(root / "mcp.json"))]
    return [each.reason for each in done if each.reason not in {"", ALREADY_THERE}]


def prepare_servers(root: Path) -> None:
    write_files(root, {"mcp.json": CLAUDE_DESKTOP})


def prepare_guild(root: Path) -> None:
    (root / "guild").mkdir()


def prepare_nothing(_root: Path) -> None:
    """Leave the directory empty."""


DRAFTING: dict[str, Any] = {"is_one_step": False, "accepts": is_whole_text, "agrees": is_same_context}
OPERATIONS = {
    "build": Operation(prepare_sources, build),
    "build where no directory is": Operation(prepare_sources, build_deep, is_one_step=False),
    "build over the same": Operation(prepare_cache, build),
    "build over another": Operation(prepare_changed_sources, build),
    "build sections": Operation(prepare_sources, build_sections),
    "build sections over others": Operation(prepare_sections, build_sections),
    "refresh a cache": Operation(prepare_sections, refresh_cache),
    "build shards over a cache": Operation(prepare_sections, build_shards),
    "refresh shards": Operation(prepare_shards, refresh_cache),
    "init": Operation(prepare_project, init, **DRAFTING),
    "init beside AGENTS.md": Operation(prepare_agents, init, **DRAFTING),
    "init of a new directory": Operation(prepare_new_directory, init, **DRAFTING),
    "regen": Operation(prepare_stale_contexts, regen, **DRAFTING),
    "rehash": Operation(prepare_stale_contexts, rehash_root),
    "first refresh": Operation(prepare_member, refresh, is_one_step=False, accepts=is_kept_in_memory),
    "refresh": Operation(prepare_known_member, refresh, is_one_step=False, accepts=is_kept_in_memory),
    "approve": Operation(prepare_changed_member, approve),
    "note a failure": Operation(prepare_known_member, note_failure),
    "refresh after a failure": Operation(prepare_failure, refresh, is_one_step=False, accepts=is_kept_in_memory),
    "add a member": Operation(prepare_guild, add_member, is_one_step=False, is_done_again=is_added),
    "add the first member": Operation(prepare_nothing, add_member, is_one_step=False, is_done_again=is_added),
    "import members": Operation(prepare_servers, import_members, is_one_step=False),
    "connect a new client": Operation(prepare_nothing, connect("cursor"), is_one_step=False),
    "connect a client": Operation(prepare_client("cursor"), connect("cursor"), is_one_step=False),
    "connect Codex": Operation(prepare_client("codex"), connect("codex"), is_one_step=False),
    "disconnect a client": Operation(prepare_introduced("codex"), disconnect("codex"), is_one_step=False),
    "disconnect the only one": Operation(
        prepare_introduced("cursor", alone=True), disconnect("cursor"), is_one_step=False
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_call_fails_the_state_is_the_old_or_the_new_one_and_the_next_run_mends_the_rest(
    tmp_path: Path, name: str
) -> None:
    trial, calm = trial_of(OPERATIONS[name], tmp_path)
    met, before = Counter[str](), descriptors()
    for fault, place in sampled([*thinned(calm.trace, FAULTS, every=scaled(5, 5, 1))], 50):
        restore(trial.root, trial.pristine, trial.before)
        world = World(fault, place)
        ending = trial.run(world.disk())
        try:
            assert world.was_met
            trial.judge(ending, fault)
            if snapshot(trial.root) != trial.before:  # else the next run is like the first
                trial.do_again()
        except AssertionError as error:
            raise AssertionError(f"call {place}, {calm.trace[place - 1]}, {fault}: {ending}") from error
        met[fault.way] += 1
    assert descriptors() <= before
    assert met["fails"] >= 1
    assert met["dies after"] >= 1
    record("I/O faults", name, met.total())


@pytest.mark.usefixtures("_may_fork")
@pytest.mark.parametrize("name", ["build", "init"])
def test_whatever_happens_to_the_workers_the_state_is_the_old_or_the_new_one(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two forked workers meets the fault at its n-th call; one that dies leaves the master alive."""
    monkeypatch.setattr(cuts, "_WORTH_SHARING", 2)
    monkeypatch.setattr(drafting, "_WORTH_SHARING", 1)
    trial, _ = trial_of(OPERATIONS[name], tmp_path)
    met, most = 0, 200
    for fault in (FULL, SHORT, *CRASHES):
        for place in range(1, most, scaled(10, 6, 1)):
            restore(trial.root, trial.pristine, trial.before)
            world = World(fault, place, of_workers=True)
            ending = trial.run(world.disk())
            trial.judge(ending._replace(was_killed=fault.is_deadly), fault)
            if snapshot(trial.root) != trial.before:
                trial.do_again()
            met += world.was_met
            if fault == FULL and not world.was_met:
                most = place
                break
    assert met >= 4
    record("I/O faults", f"{name}, in workers", met)


def test_words_that_somebody_saved_at_the_moment_of_a_crash_get_their_name_back(tmp_path: Path) -> None:
    """They save between our last look and the exchange of names, and we die right after it."""
    prepare_stale_contexts(tmp_path)
    context = tmp_path / "project" / ".context.yaml"
    words = context.read_bytes() + b"todos:\n  - mine\n"
    is_over = False

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal is_over
        if is_over and call.__name__ != "close":
            raise CrashError
        if call.__name__ == "exchange":
            (tmp_path / "saved").write_bytes(words)
            (tmp_path / "saved").rename(context)
            is_over = True
        return call(*arguments, **options)

    with pytest.raises(CrashError):
        rehash_root(tmp_path, Disk(perform))
    assert context.read_bytes() != words
    rehash_root(tmp_path, Disk())
    assert b"todos:\n  - mine\n" in context.read_bytes()
    assert without_leftovers(snapshot(tmp_path)) == snapshot(tmp_path)


def test_nobody_clears_away_what_another_is_about_to_name(tmp_path: Path) -> None:
    """While one writer holds its file, others write to the same directory, for the first time in their lives."""
    ours: list[str] = []

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call.__name__ == "rename" and not ours:
            ours.append(str(arguments[0]))
            with Disk().enter(str(tmp_path)) as other:
                other.replace("theirs", b"2")
                assert not other.tidy()
        return call(*arguments, **options)

    (tmp_path / ".contexthall-1-0123abcd").touch()
    with Disk(perform).enter(str(tmp_path)) as opened:
        opened.replace("ours", b"1")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"ours": b"1", "theirs": b"2"}


def test_where_no_file_can_have_two_names_a_new_one_is_put_there_all_the_same(tmp_path: Path) -> None:
    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call.__name__ == "link":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        return call(*arguments, **options)

    with Disk(perform).enter(str(tmp_path)) as opened:
        assert opened.put("new", b"1")
        assert not opened.put("new", b"2")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"new": b"1"}


def test_approvals_that_cannot_be_read_are_not_given_and_not_written_over(tmp_path: Path) -> None:
    prepare_changed_member(tmp_path)
    before = snapshot(tmp_path / "state")

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call.__name__ == "open" and str(arguments[0]).endswith(".json") and "state" in str(arguments[0]):
            raise OSError(errno.EIO, "Input/output error")
        return call(*arguments, **options)

    lists, _, member = lists_of(tmp_path, Disk(perform))
    lists.load(member)
    assert (member.tools, member.is_held) == ([], True)
    lists.adopt(member, lists.write_down(member, [CHANGED], "aa-bb", NOW))
    assert (member.tools, snapshot(tmp_path / "state")) == ([], before)
    lists, _, member = lists_of(tmp_path, Disk())
    lists.load(member)
    assert member.tools == [ECHO]

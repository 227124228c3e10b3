"""Which tools are in force: a table of list, record, version, fingerprint and trust mode."""

from typing import Any

import pytest

from contexthall.core.catalog import JsonObject
from contexthall.guild.lists.definitions import ToolChange
from contexthall.guild.lists.in_force import ToolsInForce, judge, tools_in_force
from contexthall.guild.lists.memory import MemberRecord
from contexthall.guild.lists.tools_cache import CachedTools
from contexthall.guild.members.roster import Freshness


def tool(name: str, description: str = "", **more: Any) -> JsonObject:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def listed(*tools: JsonObject, version: str = "1.0", digest: str = "ours") -> CachedTools:
    return CachedTools(version=version, tools=tools, cached_at="then", digest=digest)


def record(*approved: JsonObject, **more: Any) -> MemberRecord:
    known = MemberRecord("1.0", "aa-bb", "ours", "then", approved=approved, baseline=approved, current=approved)
    return known._replace(**more)


READS, WRITES, ADDED = tool("a", "Reads"), tool("a", "Writes"), tool("b")
TASK = tool("t", execution={"taskSupport": "required"})
CHANGED = ToolChange("a", "changed", ("description",))
FIRST, NEW, GONE = ToolChange("a", "added"), ToolChange("b", "added"), ToolChange("a", "removed")
NOT_CALLABLE = 'tool "t" is left out: it can only be called as a task, which the hall does not pass on'
NEVER = MemberRecord()
FAILED = MemberRecord(failure="failed at noon: it broke")
LOST = MemberRecord(approved=())
"""Of a record that cannot be read where definitions are held."""
READ_1 = record(READS)
READ_THEN_WRITES_2 = record(READS, version="2.0", baseline=(WRITES,), current=(WRITES,))


@pytest.mark.parametrize(
    ("of_list", "of_record", "version", "trust", "tools", "changes", "is_held"),
    [
        # list                             record             manifest  trust   tools            changes         held
        (None,                             NEVER,              "1.0", "warn", (),              (),             False),
        (None,                             READ_1,             "1.0", "warn", (),              (),             False),
        (listed(READS),                    NEVER,              "1.0", "warn", (READS,),        (),             False),
        (listed(READS),                    NEVER,              "1.0", "hold", (READS,),        (),             False),
        (listed(READS),                    FAILED,             "1.0", "hold", (READS,),        (),             False),
        (listed(READS),                    LOST,               "1.0", "hold", (),              (FIRST,),       True),
        (listed(READS),                    READ_1,             "1.0", "warn", (READS,),        (),             False),
        (listed(READS),                    READ_1,             "1.0", "hold", (READS,),        (),             False),
        (listed(WRITES),                   READ_1,             "1.0", "warn", (WRITES,),       (CHANGED,),     False),
        (listed(WRITES),                   READ_1,             "1.0", "hold", (READS,),        (CHANGED,),     True),
        (listed(WRITES, ADDED),            READ_1,             "1.0", "warn", (WRITES, ADDED), (CHANGED, NEW), False),
        (listed(WRITES, ADDED),            READ_1,             "1.0", "hold", (READS,),        (CHANGED, NEW), True),
        (listed(),                         READ_1,             "1.0", "warn", (),              (GONE,),        False),
        (listed(),                         READ_1,             "1.0", "hold", (),              (GONE,),        True),
        (listed(WRITES, digest="theirs"),  READ_1,             "1.0", "hold", (READS,),        (CHANGED,),     True),
        (listed(READS),                    READ_1,             "2.0", "warn", (),              (),             False),
        (listed(READS),                    READ_1,             "2.0", "hold", (),              (),             False),
        (listed(WRITES, version="2.0"),    READ_1,             "2.0", "warn", (WRITES,),       (),             False),
        (listed(WRITES, version="2.0"),    READ_1,             "2.0", "hold", (READS,),        (CHANGED,),     True),
        (listed(WRITES, version="2.0"),    READ_THEN_WRITES_2, "2.0", "warn", (WRITES,),       (),             False),
        (listed(WRITES, version="2.0"),    READ_THEN_WRITES_2, "2.0", "hold", (READS,),        (CHANGED,),     True),
        (listed(READS, version="2.0"),     READ_THEN_WRITES_2, "2.0", "warn", (READS,),        (CHANGED,),     False),
        (listed(READS, version="2.0"),     READ_THEN_WRITES_2, "2.0", "hold", (READS,),        (),             False),
        (listed(READS, TASK),              record(READS, TASK), "1.0", "hold", (READS,),       (),             False),
    ],
)  # fmt: skip
def test_the_tools_in_force(
    of_list: CachedTools | None,
    of_record: MemberRecord,
    version: str,
    trust: str,
    tools: tuple[JsonObject, ...],
    changes: tuple[ToolChange, ...],
    is_held: bool,
) -> None:
    force = tools_in_force(of_list, of_record, version, "", hold=trust == "hold")
    assert (force.tools, force.changes, force.is_held) == (tools, changes, is_held)


def test_what_was_left_out_when_it_was_listed_is_told_with_what_cannot_be_called() -> None:
    force = tools_in_force(listed(READS, TASK), record(READS, TASK, left_out=("x",)), "1.0", "aa-dd", hold=False)
    assert force == ToolsInForce(
        Freshness("outdated", "files changed"), (READS,), left_out=("x", NOT_CALLABLE), cached_at="then"
    )


MISSING, FRESH = Freshness("missing", "no list yet"), Freshness("fresh")
UNUSABLE = Freshness("missing", "its tools cache cannot be used")
BOTH = Freshness("outdated", "launch spec and files changed")


@pytest.mark.parametrize(
    ("of_list", "of_record", "fingerprint", "expected"),
    [
        # list                    record                   fingerprint  freshness
        (None,                    NEVER,                    "aa-bb", MISSING),
        (None,                    FAILED,                   "aa-bb", MISSING),
        (None,                    READ_1,                   "aa-bb", UNUSABLE),
        (listed(),                NEVER,                    "aa-bb", FRESH),
        (listed(),                READ_1,                   "aa-bb", FRESH),
        (listed(digest="theirs"), READ_1,                   "cc-dd", FRESH),
        (listed(),                READ_1,                   "cc-bb", Freshness("outdated", "launch spec changed")),
        (listed(),                READ_1,                   "aa-dd", Freshness("outdated", "files changed")),
        (listed(),                READ_1,                   "cc-dd", BOTH),
        (listed(),                READ_1,                   "",      FRESH),
        (listed(),                record(fingerprint=""),   "aa-bb", FRESH),
        (listed(digest=""),       record(cache_digest=""),  "aa-dd", Freshness("outdated", "files changed")),
    ],
)  # fmt: skip
def test_whether_a_list_speaks_for_its_server(
    of_list: CachedTools | None, of_record: MemberRecord, fingerprint: str, expected: Freshness
) -> None:
    """REQ-MCP-TOOL-9, REQ-MCP-TOOL-11: compared before it is used."""
    assert judge(of_list, of_record, "1.0", fingerprint) == expected


@pytest.mark.parametrize("version", ["1.1", "1.0.0", "1", ""])
def test_a_list_of_another_version_is_as_good_as_none(version: str) -> None:
    """REQ-MCP-TOOL-9, REQ-MCP-TOOL-10: whatever is recorded."""
    expected = Freshness("missing", f"written for version 1.0, the manifest says {version}")
    assert judge(listed(READS), NEVER, version, "") == expected
    assert judge(listed(READS), READ_1, version, "aa-bb") == expected
